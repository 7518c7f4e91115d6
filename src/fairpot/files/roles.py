"""The columns that play a part, as Arrow batches named by their part: what is counted, whatever the format.

Scores and weights of text and JSON come as doubles: null where they are missing, NaN where a word is no number. So
there is one reading of every value, for those who count and for those who adjust.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from fairpot._optional import import_optional
from fairpot.engines.columns import find_column
from fairpot.engines.duckdb.relation import Relation
from fairpot.engines.values import number_from_json, numbers_from_text
from fairpot.files.batches import guarded
from fairpot.files.formats import arrow, csv, jsonl, parquet
from fairpot.files.layout import TEXT, Layout

NUMBERS = ("score", "weight")


def relations(files: Mapping[Path, Layout], roles: Mapping[str, str]) -> list[Relation]:
    """Say how DuckDB gets the rows: it reads Parquet itself, everything else is read for it."""
    alike: dict[Layout, list[Path]] = {}
    for path, layout in files.items():
        alike.setdefault(layout, []).append(path)
    made = []
    for number, (layout, paths) in enumerate(alike.items()):
        found = None
        if layout.format == "parquet":
            found = parquet.relation(paths, layout, places_of(layout, roles), f"p{number}_")
        made.append(found or _streamed(paths, layout, roles, f"fairpot_p{number}"))
    return made


def places_of(layout: Layout, roles: Mapping[str, str]) -> dict[str, int]:
    """Find the column of each part."""
    return {role: find_column(name, layout.all_columns, "the input") for role, name in roles.items()}


def _streamed(paths: list[Path], layout: Layout, roles: Mapping[str, str], name: str) -> Relation:
    def stream() -> Iterator[Any]:
        for path in paths:
            yield from role_batches(path, layout, roles)

    def opened() -> Any:
        return import_optional("pyarrow", "cli").RecordBatchReader.from_batches(schema, _kept(stream()))

    schema = role_schema(paths[0], layout, roles)
    failures: list[BaseException] = []

    def _kept(batches: Iterator[Any]) -> Iterator[Any]:
        """Keep what goes wrong: DuckDB would make a text of it."""
        failures.clear()
        try:
            yield from batches
        except Exception as error:
            failures.append(error)
            raise

    return Relation(f"SELECT {', '.join(roles)} FROM {name}", streams={name: opened}, failures=failures)


def role_schema(path: Path, layout: Layout, roles: Mapping[str, str]) -> Any:
    """Return the schema of :func:`role_batches`."""
    pa = import_optional("pyarrow", "cli")
    places = places_of(layout, roles)
    types: dict[str, Any] = {role: pa.float64() if role in NUMBERS else pa.string() for role in roles}
    if layout.format in ("arrow", "parquet"):
        own = _own_schema(path, layout)
        types = {
            role: _taken(own.field(place).type) if place < len(layout.columns) else pa.string()
            for role, place in places.items()
        }
    return pa.schema([pa.field(role, type_) for role, type_ in types.items()])


def _own_schema(path: Path, layout: Layout) -> Any:
    if layout.format == "parquet":
        return import_optional("pyarrow.parquet", "cli").read_schema(path)
    with arrow.opened(path) as file:
        return file.schema


def _taken(type_: Any) -> Any:
    """Return the type under which DuckDB takes a column: text for what it does not know."""
    pa = import_optional("pyarrow", "cli")
    if pa.types.is_dictionary(type_):
        return _taken(type_.value_type)
    if pa.types.is_decimal256(type_) or pa.types.is_float16(type_):
        return pa.float64()
    return type_


def role_batches(path: Path, layout: Layout, roles: Mapping[str, str]) -> Iterator[Any]:
    """Yield the columns that play a part, named by their part, in the order of the rows."""
    pa = import_optional("pyarrow", "cli")
    schema = role_schema(path, layout, roles)
    places = places_of(layout, roles)
    own = {role: place for role, place in places.items() if place < len(layout.columns)}
    for batch in _OPENED[layout.format](path, layout, own, roles):
        columns = dict(zip(own, batch.columns))
        for role, place in places.items():
            if role not in own:
                value = layout.partitions[place - len(layout.columns)][1]
                value = json.dumps(value) if layout.format == "jsonl" else value
                columns[role] = pa.repeat(pa.scalar(value, pa.string()), batch.num_rows)
        made = [_cast(columns[field.name], field.type) for field in schema]
        yield pa.RecordBatch.from_arrays(made, schema=schema)


def _cast(column: Any, type_: Any) -> Any:
    pa = import_optional("pyarrow", "cli")
    if column.type == type_:
        return column
    if pa.types.is_dictionary(column.type):
        return _cast(column.cast(column.type.value_type), type_)
    return column.cast(pa.string()).cast(type_) if pa.types.is_decimal(column.type) else column.cast(type_)


def _text(path: Path, layout: Layout, own: dict[str, int], roles: Mapping[str, str]) -> Iterator[Any]:
    pa = import_optional("pyarrow", "cli")
    for batch in csv.checked(path, layout, list(own.values())):
        columns = [
            numbers_from_text(column, f"column {roles[role]!r}", layout.decimal) if role in NUMBERS else column
            for role, column in zip(own, batch.columns)
        ]
        yield pa.RecordBatch.from_arrays(columns, names=list(own))


def _json(path: Path, layout: Layout, own: dict[str, int], roles: Mapping[str, str]) -> Iterator[Any]:
    columns = [(roles[role], _number(roles[role]) if role in NUMBERS else jsonl.as_json) for role in own]
    schema = role_schema(path, layout, {role: roles[role] for role in own})
    yield from guarded(jsonl.read(path, columns, schema), path, "jsonl")


def _number(name: str) -> Callable[[Any], float | None]:
    return lambda value: number_from_json(value, f"column {name!r}")


def _arrow(path: Path, layout: Layout, own: dict[str, int], roles: Mapping[str, str]) -> Iterator[Any]:
    yield from guarded(arrow.read(path, list(own.values())), path, "arrow")


def _parquet(path: Path, layout: Layout, own: dict[str, int], roles: Mapping[str, str]) -> Iterator[Any]:
    for batch in guarded(parquet.read(path, [roles[role] for role in own]), path, "parquet"):
        yield batch.select([roles[role] for role in own])


_OPENED: dict[str, Callable[[Path, Layout, dict[str, int], Mapping[str, str]], Iterator[Any]]] = {
    **dict.fromkeys(TEXT, _text),
    "jsonl": _json,
    "arrow": _arrow,
    "parquet": _parquet,
}
