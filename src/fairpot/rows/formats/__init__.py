"""One file a format: ``layout`` (its columns), ``read`` and ``batches`` (its rows), ``Writer`` and ``schema_of``."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping
from csv import Error as CSVError
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from fairpot._optional import Lazy
from fairpot._validation import wording
from fairpot.exceptions import InputFileError
from fairpot.rows.decoding import numbers, plain
from fairpot.rows.formats.layout import TEXT, Batches, Format, Layout, Sink, Target, guarded, refuse_others, unreadable
from fairpot.rows.roles import LONGEST_NAME, NUMBERS, Roles
from fairpot.rows.streams import MOST_AT_ONCE, longest_cell

if TYPE_CHECKING:
    from fairpot.rows.readers.protocol import Applying

pa = Lazy("pyarrow", "cli")


def _file(what: Format) -> ModuleType:
    """Return the file of a format, which is called like it; TSV is CSV with tabs."""
    return import_module(f"{__name__}.{'csv' if what in TEXT else what}")


def read_layout(path: Path, what: Format, source: Any) -> Layout:
    """Read what is needed to know a file's columns, and complain if it is not what it says."""
    try:
        if path.stat().st_size == 0:
            raise InputFileError(f"{path} is empty.\nHint: a file needs at least its column names and a row.")
        if what in (*TEXT, "jsonl"):
            refuse_others(path, what)
        found: Layout = _file(what).layout(path, what, source)
    except InputFileError as error:
        raise error if str(path) in str(error) else InputFileError(f"{path}: {error}") from error
    except (OSError, EOFError, ValueError, NotImplementedError, zlib.error, MemoryError, CSVError) as error:
        raise unreadable(path, what, error) from error
    return found


def open_rows(files: dict[Path, Layout], wanted: Format, source: Roles, how: Applying) -> Batches:
    """Read so that nothing is lost on the way to the wanted format: what is text stays text, what is typed its type."""
    [what] = {_file(layout.format) for layout in files.values()}
    found: Batches = what.batches(files, wanted, source, how)
    return found


def open_sink(batches: Batches, target: Target) -> Sink:
    """Open a file for ``batches`` and a column more."""
    found: Sink = _file(target.format).Writer(batches, target)
    return found


def role_schema(path: Path, layout: Layout, roles: Mapping[str, str]) -> Any:
    """Return the schema of :func:`role_batches`."""
    types: dict[str, Any] = {role: pa.float64() if role in NUMBERS else pa.string() for role in roles}
    if layout.types:
        own = _file(layout.format).schema_of(path)
        for role, place in layout.places(roles).items():
            types[role] = _taken(own.field(place).type)
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
    rows = _file(layout.format).read(path, layout, list(places.values()))
    for batch in guarded(rows, path, layout.format):
        columns = dict(zip(places, batch.columns))
        for role in [role for role in places if role in NUMBERS and layout.kind != "typed"]:
            columns[role] = numbers(columns[role], layout.kind, f"column {roles[role]!r}", layout.decimal)
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
