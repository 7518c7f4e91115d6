"""One file a format: its columns, its rows as Arrow batches, and its writing."""

from __future__ import annotations

import csv as csv_module
import json
import zlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from fairpot._optional import Lazy
from fairpot._validation import wording
from fairpot.exceptions import InputFileError
from fairpot.rows.decoding import numbers, plain
from fairpot.rows.formats import arrow, csv, jsonl, parquet
from fairpot.rows.formats.layout import (
    TEXT,
    Batches,
    Format,
    Layout,
    Reading,
    Sink,
    byte_stream,
    refuse_others,
    unreadable,
)
from fairpot.rows.roles import LONGEST_NAME, NUMBERS, Roles
from fairpot.rows.streams import MOST_AT_ONCE, longest_cell

__all__ = ["Layout", "csv", "open_rows", "open_sink", "parquet", "read_layout", "role_batches", "role_schema"]

pa = Lazy("pyarrow", "cli")
_FILES: dict[Format, ModuleType] = {"parquet": parquet, "arrow": arrow, "csv": csv, "tsv": csv, "jsonl": jsonl}


def read_layout(path: Path, what: Format, reading: Reading) -> Layout:
    """Read what is needed to know a file's columns, and complain if it is not what it says."""
    try:
        if path.stat().st_size == 0:
            raise InputFileError(f"{path} is empty.\nHint: a file needs at least its column names and a row.")
        if what in (*TEXT, "jsonl"):
            refuse_others(path, what)
        found: Layout = _FILES[what].layout(path, what, reading)
    except InputFileError as error:
        raise error if str(path) in str(error) else InputFileError(f"{path}: {error}") from error
    except (OSError, EOFError, ValueError, NotImplementedError, zlib.error, MemoryError, csv_module.Error) as error:
        raise unreadable(path, what, error) from error
    return found


def open_rows(files: dict[Path, Layout], wanted: Format, source: Roles, keep: Sequence[str], types: str) -> Batches:
    """Read so that nothing is lost on the way to the wanted format.

    Text stays text, unless ``types`` are to be found, JSON lines stay the lines they are where they become JSON lines
    again, and otherwise have the types of JSON; Parquet and Arrow keep their types. Of lines, score, groups and what is
    to ``keep`` are looked at.
    """
    [what] = {"csv" if layout.format in TEXT else layout.format for layout in files.values()}
    if what == "csv" and types == "auto" and wanted not in TEXT:
        return csv.typed_batches(files, source.score)
    if what == wanted == "jsonl" and not any(layout.partitions for layout in files.values()):
        return jsonl.line_batches(files, [source.score, *source.group_columns, *keep])
    if what == "parquet":
        return parquet.batches(files, source.group_columns)
    found: Batches = _FILES[what].batches(files)
    return found


def open_sink(
    place: Path,
    name: Path,
    wanted: Format,
    batches: Batches,
    column: str | None,
    *,
    score: str | None = None,
    neutralise: bool = False,
) -> Sink:
    """Open the file ``place`` in a format, for ``batches`` and a column more; ``name`` says how it is packed."""
    if wanted == "parquet":
        return parquet.ParquetSink(place, batches, column, score)
    if wanted == "arrow":
        return arrow.ArrowSink(place, batches.schema, column, packed=name.suffix.lower() == ".feather")
    stream, layout = byte_stream(place, name), batches.layout
    if wanted == "jsonl":
        raw = batches.columns is not None
        return jsonl.LineSink(stream, column) if raw else jsonl.JsonSink(stream, batches.schema, column)
    delimiter, decimal = "\t" if wanted == "tsv" else ",", "."
    if layout is not None and layout.format in TEXT:
        decimal = layout.decimal
        delimiter = layout.delimiter if layout.format == wanted else delimiter
    return csv.TextSink(stream, batches.schema, column, delimiter, decimal=decimal, neutralise=neutralise)


def role_schema(path: Path, layout: Layout, roles: Mapping[str, str]) -> Any:
    """Return the schema of :func:`role_batches`."""
    types: dict[str, Any] = {role: pa.float64() if role in NUMBERS else pa.string() for role in roles}
    if layout.types:
        own = _FILES[layout.format].schema_of(path)
        for role, place in layout.places(roles).items():
            types[role] = _taken(own.field(place).type) if place < len(layout.columns) else pa.string()
    return pa.schema([pa.field(role, type_) for role, type_ in types.items()])


def _taken(type_: Any) -> Any:
    """Return the type under which DuckDB takes a column: text for what it does not know."""
    if pa.types.is_dictionary(type_):
        return _taken(type_.value_type)
    if pa.types.is_decimal256(type_) or pa.types.is_float16(type_):
        return pa.float64()
    return type_


def role_batches(path: Path, layout: Layout, roles: Mapping[str, str]) -> Iterator[Any]:
    """Yield the columns that play a part, named by their part, in the order of the rows."""
    schema, places = role_schema(path, layout, roles), layout.places(roles)
    own = {role: place for role, place in places.items() if place < len(layout.columns)}
    for batch in _FILES[layout.format].read(path, layout, list(own.values())):
        columns = dict(zip(own, batch.columns))
        for role in [role for role in own if role in NUMBERS and layout.kind != "typed"]:
            columns[role] = numbers(columns[role], layout.kind, f"column {roles[role]!r}", layout.decimal)
        for role in places.keys() - own.keys():
            value = layout.constant(places[role])
            value = json.dumps(value) if layout.format == "jsonl" else value
            columns[role] = pa.repeat(pa.scalar(value, pa.string()), batch.num_rows)
        lengths = {role: longest_cell(column) for role, column in columns.items()}
        for role in lengths.keys() - set(NUMBERS):
            if lengths[role] > LONGEST_NAME:
                raise InputFileError(wording.long_text(f"column {roles[role]!r}", LONGEST_NAME))
        step = max(MOST_AT_ONCE // (sum(lengths.values()) + 1), 1)
        for begin in range(0, batch.num_rows, step):  # a text that a dictionary holds once may be in every row
            made = [_cast(columns[field.name].slice(begin, step), field.type) for field in schema]
            yield pa.RecordBatch.from_arrays(made, schema=schema)


def _cast(column: Any, type_: Any) -> Any:
    column = plain(column)
    through_text = pa.types.is_decimal(column.type) and column.type != type_  # which rounds correctly
    return plain(column.cast(pa.string()) if through_text else column, type_)
