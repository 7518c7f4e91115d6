"""What takes adjusted rows: one class a format, each adding the new column to what it is given."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from fairpot._optional import import_optional
from fairpot.exceptions import OutputFileError
from fairpot.files.layout import Format, format_of_name, known_endings
from fairpot.files.streams import PACKED

Floats = NDArray[np.float64]


class Sink(Protocol):
    """Takes batches and, where a column is added, its values."""

    def write(self, batch: Any, values: Floats | None) -> None:
        """Write a batch; where a value is NaN, the new column has none."""

    def close(self) -> None:
        """Finish the file."""

    @property
    def rows(self) -> int:
        """Rows in the finished file."""


def format_of_output(target: Path) -> Format:
    """Tell the format of an output from its name."""
    found = format_of_name(target)
    if found is None:
        raise OutputFileError(
            f"the name of {target} does not say its format.\nHint: it must end in one of {known_endings()}."
        )
    return found


def byte_stream(place: Path, target: Path) -> Any:
    """Open a stream of bytes, zipped where the target's name says so."""
    pa = import_optional("pyarrow", "cli")
    file = pa.OSFile(str(place), "wb")
    packing = PACKED.get(target.suffix.lower())
    return file if packing is None else pa.CompressedOutputStream(file, packing)
