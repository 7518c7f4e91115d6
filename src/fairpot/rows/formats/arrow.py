"""Arrow IPC, as a file (Feather) or as a stream; every batch is validated before anything looks into it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairpot._optional import Lazy
from fairpot.rows.formats.layout import (
    Batches,
    Format,
    Layout,
    Reading,
    file_batches,
    guarded,
    joined,
    partitioned,
    same_columns,
    with_column,
)
from fairpot.rows.formats.messages import check_messages
from fairpot.rows.streams import arrow_file, portions

pa = Lazy("pyarrow", "cli")

_ROWS = 1 << 18


def layout(path: Path, what: Format, reading: Reading) -> Layout:
    """Read the schema."""
    schema = schema_of(path)
    return Layout("arrow", tuple(schema.names), tuple(map(str, schema.types)))


def schema_of(path: Path) -> Any:
    """Read the schema as Arrow has it."""
    with opened(path) as file:
        return file.schema


def opened(path: Path) -> Any:
    """Open Arrow IPC, whether written as a file (Feather) or as a stream.

    The file is read, not mapped into memory: one that is cut while it is read must be an error, not a signal.
    """
    with path.open("rb") as stream:
        as_file = stream.read(6) == b"ARROW1"
    source = arrow_file(path)
    return pa.ipc.open_file(source) if as_file else pa.ipc.open_stream(source)


def read(path: Path, layout: Layout | None = None, places: Sequence[int] | None = None) -> Iterator[Any]:
    """Yield the batches, of all columns or of those at some places."""
    yield from guarded(_validated(path, places), path, "arrow")


def _validated(path: Path, places: Sequence[int] | None) -> Iterator[Any]:
    """Look at every batch before anything else does.

    A damaged or forged file can claim lengths, offsets and codes that lead out of its own bytes: the full validation
    looks at every value (about 0.02 s a million rows).
    """
    check_messages(path)
    with opened(path) as file:
        count = getattr(file, "num_record_batches", None)
        for batch in file if count is None else map(file.get_batch, range(count)):
            batch.validate(full=True)
            chosen = batch if places is None else batch.select(list(places))
            for start in range(0, chosen.num_rows, _ROWS):
                yield from portions(chosen.slice(start, _ROWS))


def batches(files: dict[Path, Layout]) -> Batches:
    """Read files batch by batch as they were written."""
    layout = same_columns(files)
    schema = partitioned(schema_of(next(iter(files))), layout)
    return file_batches(files, schema, read)


class ArrowSink:
    """Arrow IPC; ``.feather`` is packed with LZ4, as Feather is."""

    def __init__(self, place: Path, schema: Any, column: str | None, *, packed: bool) -> None:
        self.column, self.schema, self._place = column, with_column(schema, column), place
        options = pa.ipc.IpcWriteOptions(compression="lz4" if packed else None)
        self.file = arrow_file(place, "wb")
        self.writer = pa.ipc.new_file(self.file, self.schema, options=options)
        self.rows = 0

    def write(self, batch: Any, values: NDArray[np.float64] | None) -> None:
        """Write a batch."""
        made = joined(batch, values, self.schema, self.column)
        self.rows += made.num_rows
        self.writer.write_batch(made)

    def close(self) -> None:
        """Write the footer."""
        self.writer.close()
        self.file.close()
