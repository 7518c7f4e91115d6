"""Parquet: types as in the file, packed as the input was."""

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
from fairpot.files.batches import Batches, guarded, same_columns
from fairpot.files.layout import Layout, duckdb_path

_BYTES = 48 << 20  # of a batch, about
_ROWS = 1 << 18


def layout(path: Path) -> Layout:
    """Read the schema."""
    schema = import_optional("pyarrow.parquet", "cli").read_schema(path)
    return Layout("parquet", tuple(schema.names), tuple(map(str, schema.types)))


def count_rows(path: Path) -> int:
    """Read the number of rows from the footer."""
    return int(import_optional("pyarrow.parquet", "cli").read_metadata(path).num_rows)


def relation(found: Layout, paths: list[Path], roles: Mapping[str, str], prefix: str) -> Relation:
    """Let DuckDB read the files."""
    places = {role: find_column(name, found.columns, "the input") for role, name in roles.items()}
    table = f"read_parquet(${prefix}files, hive_partitioning = false)"
    return Relation(pick(table, places, found.columns), {f"{prefix}files": [duckdb_path(p) for p in paths]})


class ParquetBatches:
    """Parquet files, a part of a row group at a time."""

    kind: Kind = "typed"
    exact_types = True

    def __init__(self, files: dict[Path, Layout]) -> None:
        self.files = [*files]
        same_columns(files)
        first = self._open(self.files[0])
        self.schema, self.metadata = first.schema_arrow, first.metadata

    def _open(self, path: Path) -> Any:
        return import_optional("pyarrow.parquet", "cli").ParquetFile(path, buffer_size=1 << 20, pre_buffer=False)

    def __iter__(self) -> Iterator[Any]:
        """Yield record batches in the order of the rows."""
        for path in self.files:
            with self._open(path) as file:
                yield from guarded(file.iter_batches(batch_size=_batch_rows(file.metadata)), path, "parquet")


def _batch_rows(metadata: Any) -> int:
    """Take fewer rows at a time where rows are wide."""
    size = sum(metadata.row_group(i).total_byte_size for i in range(metadata.num_row_groups))
    each = max(size / max(metadata.num_rows, 1), 1)
    return int(min(max(_BYTES / each, 1024), _ROWS))


class ParquetSink:
    """Parquet, packed the way the input was where that was Parquet too."""

    def __init__(self, place: Path, batches: Batches, column: str | None) -> None:
        self.column, self.schema = column, with_column(batches.schema, column)
        options: dict[str, Any] = {}
        if isinstance(batches, ParquetBatches):
            options = _like(batches.metadata)
        parquet = import_optional("pyarrow.parquet", "cli")
        self.writer = parquet.ParquetWriter(place, self.schema, **options)

    def write(self, batch: Any, values: NDArray[np.float64] | None) -> None:
        """Write a batch as a row group."""
        if batch.num_rows:
            self.writer.write_batch(joined(batch, values, self.schema, self.column))

    def close(self) -> None:
        """Write the footer."""
        self.writer.close()


def _like(metadata: Any) -> dict[str, Any]:
    """Use the codec of the input, and dictionaries for the columns that have them there."""
    if metadata.num_row_groups == 0 or metadata.num_columns == 0:
        return {}
    group = metadata.row_group(0)
    columns = [group.column(i) for i in range(group.num_columns)]
    codec = columns[0].compression
    coded = [c.path_in_schema for c in columns if c.has_dictionary_page]
    return {
        "compression": "none" if codec == "UNCOMPRESSED" else codec.lower().removesuffix("_raw"),
        "use_dictionary": coded or False,
    }
