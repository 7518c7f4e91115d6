"""Rows in their order as Arrow record batches, a bounded number of bytes at a time."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol

from fairpot._optional import import_optional
from fairpot.engines.values import Kind
from fairpot.exceptions import InputFileError
from fairpot.files.layout import Layout, unreadable


class Batches(Protocol):
    """An Arrow schema, and batches that keep to it."""

    schema: Any
    kind: Kind
    exact_types: bool  # False where types were found by looking, so that groups may read otherwise than in fit

    def __iter__(self) -> Iterator[Any]:
        """Yield record batches in the order of the rows."""


def same_columns(files: dict[Path, Layout]) -> Layout:
    """Insist that files which become one have the same columns in the same order."""
    [first, layout], *rest = files.items()
    for path, other in rest:
        if other.all_columns != layout.all_columns or other.types != layout.types:
            odd = sorted(set(other.all_columns) ^ set(layout.all_columns)) or "their order or types"
            raise InputFileError(
                f"{first} and {path} differ in their columns: {odd}.\n"
                "Hint: files that become one need the same columns in the same order; apply to each by itself."
            )
    return layout


def guarded(batches: Iterator[Any], path: Path, what: str) -> Iterator[Any]:
    """Turn what goes wrong while reading into our own error."""
    pa = import_optional("pyarrow", "cli")
    try:
        yield from batches
    except InputFileError:
        raise
    except (pa.ArrowException, OSError, EOFError, UnicodeError, zlib.error, MemoryError) as error:
        raise unreadable(path, what, error) from error


def with_partitions(batch: Any, layout: Layout, schema: Any) -> Any:
    """Give a batch the names of a schema, and the columns that the names of folders make."""
    pa = import_optional("pyarrow", "cli")
    constant = [pa.repeat(pa.scalar(value, pa.string()), batch.num_rows) for _, value in layout.partitions]
    return pa.RecordBatch.from_arrays([*batch.columns, *constant], schema=schema)


def partitioned(schema: Any, layout: Layout) -> Any:
    """Add to a schema the columns that the names of folders make."""
    pa = import_optional("pyarrow", "cli")
    for name, _ in layout.partitions:
        schema = schema.append(pa.field(name, pa.string()))
    return schema
