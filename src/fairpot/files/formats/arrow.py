"""Arrow IPC, as a file (Feather) or as a stream."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairpot._optional import import_optional
from fairpot.engines.columns import find_column
from fairpot.engines.duckdb.relation import Relation, pick
from fairpot.engines.mapper import joined, with_column
from fairpot.engines.values import Kind
from fairpot.files.batches import guarded, same_columns
from fairpot.files.layout import Layout

_ROWS = 1 << 18


def layout(path: Path) -> Layout:
    """Read the schema."""
    schema = arrow_file(path).schema
    return Layout("arrow", tuple(schema.names), tuple(map(str, schema.types)))


def arrow_file(path: Path) -> Any:
    """Open Arrow IPC, whether written as a file (Feather) or as a stream."""
    pa = import_optional("pyarrow", "cli")
    with path.open("rb") as stream:
        as_file = stream.read(6) == b"ARROW1"
    source = pa.memory_map(str(path))
    return pa.ipc.open_file(source) if as_file else pa.ipc.open_stream(source)


def relation(found: Layout, paths: list[Path], roles: Mapping[str, str], prefix: str) -> Relation:
    """Hand the files to DuckDB as a stream."""
    places = {role: find_column(name, found.columns, "the input") for role, name in roles.items()}
    name = f"fairpot_{prefix}arrow"

    def stream() -> Iterator[Any]:
        for path in paths:
            yield from _record_batches(path)

    def opened() -> Any:
        pa = import_optional("pyarrow", "cli")
        return pa.RecordBatchReader.from_batches(arrow_file(paths[0]).schema, stream())

    return Relation(pick(name, places, found.columns), {}, {name: opened})


def _record_batches(path: Path) -> Iterator[Any]:
    opened = arrow_file(path)
    count = getattr(opened, "num_record_batches", None)
    yield from opened if count is None else map(opened.get_batch, range(count))


class ArrowBatches:
    """Arrow IPC files, batch by batch as they were written."""

    kind: Kind = "typed"
    exact_types = True

    def __init__(self, files: dict[Path, Layout]) -> None:
        self.files = [*files]
        same_columns(files)
        self.schema = arrow_file(self.files[0]).schema

    def __iter__(self) -> Iterator[Any]:
        """Yield record batches in the order of the rows."""
        for path in self.files:
            yield from guarded(self._read(path), path, "arrow")

    def _read(self, path: Path) -> Iterator[Any]:
        for batch in _record_batches(path):
            yield from (batch.slice(start, _ROWS) for start in range(0, batch.num_rows, _ROWS))


class ArrowSink:
    """Arrow IPC; ``.feather`` is packed with LZ4, as Feather is."""

    def __init__(self, place: Path, schema: Any, column: str | None, *, packed: bool) -> None:
        pa = import_optional("pyarrow", "cli")
        self.column, self.schema = column, with_column(schema, column)
        options = pa.ipc.IpcWriteOptions(compression="lz4" if packed else None)
        self.file = pa.OSFile(str(place), "wb")
        self.writer = pa.ipc.new_file(self.file, self.schema, options=options)

    def write(self, batch: Any, values: NDArray[np.float64] | None) -> None:
        """Write a batch."""
        self.writer.write_batch(joined(batch, values, self.schema, self.column))

    def close(self) -> None:
        """Write the footer."""
        self.writer.close()
        self.file.close()
