"""Arrow IPC, as a file (Feather) or as a stream; every batch is validated before anything looks into it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairpot._optional import import_optional
from fairpot.engines.adjusting import joined, with_column
from fairpot.engines.naming import Kind
from fairpot.files.formats.messages import check_messages
from fairpot.files.layout import Layout, guarded, partitioned, same_columns, with_partitions
from fairpot.files.streams import arrow_file, portions

_ROWS = 1 << 18


def layout(path: Path) -> Layout:
    """Read the schema."""
    with opened(path) as file:
        schema = file.schema
    return Layout("arrow", tuple(schema.names), tuple(map(str, schema.types)))


def opened(path: Path) -> Any:
    """Open Arrow IPC, whether written as a file (Feather) or as a stream.

    The file is read, not mapped into memory: one that is cut while it is read must be an error, not a signal.
    """
    pa = import_optional("pyarrow", "cli")
    with path.open("rb") as stream:
        as_file = stream.read(6) == b"ARROW1"
    source = arrow_file(path)
    return pa.ipc.open_file(source) if as_file else pa.ipc.open_stream(source)


def read(path: Path, places: Sequence[int] | None = None) -> Iterator[Any]:
    """Yield the batches, of all columns or of those at some places.

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


class ArrowBatches:
    """Arrow IPC files, batch by batch as they were written."""

    kind: Kind = "typed"
    exact_types = True

    def __init__(self, files: dict[Path, Layout]) -> None:
        self.files = files
        layout = same_columns(files)
        with opened(next(iter(files))) as file:
            self.schema = partitioned(file.schema, layout)

    def __iter__(self) -> Iterator[Any]:
        """Yield record batches in the order of the rows."""
        for path, layout in self.files.items():
            for batch in guarded(read(path), path, "arrow"):
                yield with_partitions(batch, layout, self.schema)


class ArrowSink:
    """Arrow IPC; ``.feather`` is packed with LZ4, as Feather is."""

    def __init__(self, place: Path, schema: Any, column: str | None, *, packed: bool) -> None:
        pa = import_optional("pyarrow", "cli")
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
