"""One file a format: ``layout`` or ``schema_of`` (its columns), ``read`` and ``batches`` (its rows), and ``Writer``.

Here is what they share: formats are told by names or first bytes, and rows come and go in batches.
"""

from __future__ import annotations

import hashlib
import io
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from csv import Error as CSVError
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from fairpot._arguments import argument
from fairpot._lineage import KEY
from fairpot._optional import Lazy
from fairpot._validation import wording
from fairpot.exceptions import InputFileError, OutputFileError
from fairpot.rows.database import Allowed
from fairpot.rows.decoding import as_arrow, numbers, plain
from fairpot.rows.roles import LONGEST_NAME, NUMBERS, Kind, Roles, find_column
from fairpot.rows.streams import MOST_AT_ONCE, PACKED, arrow_file, longest_cell, not_text, open_bytes
from fairpot.transport import Floats

if TYPE_CHECKING:
    from fairpot.rows.readers import Applying

pa = Lazy("pyarrow", "cli")

Format = Literal["parquet", "csv", "tsv", "arrow", "jsonl", "xlsx"]
FORMATS: tuple[Format, ...] = ("parquet", "csv", "tsv", "arrow", "jsonl")
OUTPUTS: tuple[Format, ...] = (*FORMATS, "xlsx")  # a workbook that is read becomes JSON lines first
TEXT: tuple[Format, ...] = ("csv", "tsv")
EXTENSIONS: dict[str, Format] = {
    **dict.fromkeys((".parquet", ".pq"), "parquet"),
    ".csv": "csv",
    **dict.fromkeys((".tsv", ".tab"), "tsv"),
    **dict.fromkeys((".arrow", ".feather", ".ipc", ".arrows"), "arrow"),
    **dict.fromkeys((".jsonl", ".ndjson"), "jsonl"),
}
WORKBOOKS = (".xlsx", ".xlsm")
# Files that are met under the name of a text file, by their first bytes, and what to do with them.
_OTHERS = {
    b"PK\x03\x04": ("a zip archive, as Excel workbooks are", "name it .xlsx if it is a workbook, or unpack it"),
    b"\xd0\xcf\x11\xe0": ("an old Excel or Word file", "save the sheet as .xlsx or .csv"),
    b"%PDF": ("a PDF", "save the table that is in it as .csv"),
    b"PAR1": ("Parquet", "name it .parquet"),
    b"ARROW1": ("Arrow IPC", "name it .arrow"),
}
_LOOK = 1 << 16
_LONGEST = 300  # characters of somebody else's error message


@dataclass(frozen=True)
class Layout:
    """What a file looks like: its format and its columns, in order."""

    format: Format
    columns: tuple[str, ...]
    types: tuple[str, ...] = ()  # only where the file itself says
    delimiter: str = ","
    decimal: str = "."
    encoding: str | None = None
    packed: bool = False

    @property
    def kind(self) -> Kind:
        """How values come out."""
        return "typed" if self.types else "json" if self.format == "jsonl" else "text"

    def places(self, roles: Mapping[str, str]) -> dict[str, int]:
        """Find the column of each part."""
        known = bool(set(roles.values()) & set(self.columns))
        return {role: find_column(name, self.columns, "the input", role, known) for role, name in roles.items()}


def format_of_name(path: Path) -> Format | None:
    """Tell the format from a file's name; None if the name does not say."""
    suffixes = [s.lower() for s in path.suffixes]
    if suffixes and suffixes[-1] in PACKED:
        found = EXTENSIONS.get(suffixes[-2]) if len(suffixes) > 1 else None
        return found if found in ("csv", "tsv", "jsonl") else None
    return EXTENSIONS.get(suffixes[-1]) if suffixes else None


def format_of_bytes(path: Path) -> Format:
    """Tell the format from the first bytes of a file."""
    with open_bytes(path) as stream:
        head = stream.read(_LOOK)
    if head[:4] == b"PAR1":
        return "parquet"
    if head[:6] == b"ARROW1" or head[:4] == b"\xff\xff\xff\xff":
        return "arrow"
    first = head.lstrip(b"\xef\xbb\xbf \t\r\n").split(b"\n")[0]
    if first[:1] == b"[":
        raise InputFileError(
            f"{path} is a JSON array.\nHint: one object a line is read: jq -c '.[]' OLD.json > NEW.jsonl"
        )
    if first[:1] == b"{":
        return "jsonl"
    return "tsv" if first.count(b"\t") > first.count(b",") else "csv"


def refuse_others(path: Path, what: str) -> None:
    """Refuse, as what it is, a file that is no text but is named so."""
    with path.open("rb") as stream:
        head = stream.read(8)
    for magic, (known, hint) in _OTHERS.items():
        if head.startswith(magic):
            raise InputFileError(f"{path} is {known}, not {what}.\nHint: {hint}.")


def unreadable(path: Path | str, what: str, error: BaseException) -> InputFileError:
    """Say why a file cannot be read, in one line and a hint."""
    if isinstance(error, PermissionError):
        return InputFileError(f"{path} cannot be opened: permission denied.\nHint: check who may read it.")
    if isinstance(error, UnicodeError) and what in (*TEXT, "jsonl"):
        return InputFileError(not_text(path, None))
    if isinstance(error, UnicodeError):
        error = ValueError("a name or a text in it is not UTF-8")
    lines = [line for line in str(error).splitlines() if line.strip()] or [type(error).__name__]
    return InputFileError(
        f"{path} cannot be read as {what}: {wording.without_quotes(lines[0].strip())[:_LONGEST]}\n"
        "Hint: the file may be damaged, cut short or of another format; name the format "
        f"({argument('format', ...)}) if its name does not say."
    )


def known_endings() -> str:
    """List the endings of names that say a format."""
    return ", ".join([*EXTENSIONS, ".xlsx", *(f".{f}{packed}" for f in ("csv", "tsv", "jsonl") for packed in PACKED)])


@dataclass(frozen=True)
class Batches:
    """Rows as Arrow batches that keep to a schema, in their order; columns of text may come with a dictionary."""

    schema: Any
    read: Callable[[], Iterator[Any]]
    kind: Kind = "typed"  # how values of score and group columns come
    columns: Sequence[str] | None = None  # where the schema does not name them: batches hold lines, kept as they are
    files: Mapping[Path, Layout] = field(default_factory=dict)  # none for a query
    numbers: frozenset[int] = frozenset()  # places of columns of text that a workbook holds as numbers
    mixed: frozenset[int] = frozenset()  # places of columns of JSON, whose values have no type in common

    def __iter__(self) -> Iterator[Any]:
        return self.read()

    def kind_of(self, place: int) -> Kind:
        """How the values of a column come."""
        return "json" if place in self.mixed else self.kind

    @property
    def layout(self) -> Layout | None:
        """What the files look like, the first of them."""
        return next(iter(self.files.values()), None)


def file_batches(
    files: dict[Path, Layout], schema: Any, read: Callable[[Path, Layout], Iterator[Any]], kind: Kind = "typed"
) -> Batches:
    """Read one file after the other."""

    def batches() -> Iterator[Any]:
        for path, layout in files.items():
            for batch in guarded(read(path, layout), path, layout.format):
                yield pa.RecordBatch.from_arrays(batch.columns, names=schema.names)

    return Batches(schema, batches, kind, files=files)


def same_columns(files: dict[Path, Layout]) -> Layout:
    """Insist that files which become one have the same columns in the same order."""
    [first, layout], *rest = files.items()
    for path, other in rest:
        if other.columns != layout.columns or other.types != layout.types:
            odd = sorted(set(other.columns) ^ set(layout.columns))
            told = odd if odd and wording.names_are_shown() else f"{len(odd)} of them" if odd else "order or types"
            raise InputFileError(
                f"{first} and {path} differ in their columns: {told}.\n"
                "Hint: files that become one need the same columns in the same order; apply to each by itself."
            )
    return layout


def guarded(batches: Iterator[Any], path: Path, what: str) -> Iterator[Any]:
    """Turn what goes wrong while reading into our own error."""
    try:
        yield from batches
    except InputFileError:
        raise
    except (pa.ArrowException, OSError, EOFError, UnicodeError, zlib.error, MemoryError) as error:
        raise unreadable(path, what, error) from error


class Target(NamedTuple):
    """A file to be written, and the column that its rows get."""

    place: Path
    name: Path  # what it will be called, which says how it is packed
    format: Format
    column: str | None = None
    score: str | None = None
    neutralise: bool = False  # whether text that a spreadsheet would run is marked
    made_by: Callable[[], str] | None = None  # what it is to say of itself, which may grow while it is written


class Sink:
    """Take batches and, where a column is added, its values."""

    def __init__(self, stream: Any, batches: Batches, target: Target) -> None:
        self.stream, self.column, self.made_by = stream, target.column, target.made_by
        self.sha256: str | None = None  # of text that is not packed, once it is closed
        schema = batches.schema
        if target.column is not None:
            new = pa.field(target.column, pa.float64())
            there = target.column in schema.names
            schema = schema.set(schema.names.index(target.column), new) if there else schema.append(new)
        self.names = schema.names  # made anew whenever it is asked for, which tells with thousands of columns
        self.place = -1 if self.column is None else self.names.index(self.column)
        known = {key: value for key, value in (schema.metadata or {}).items() if not key.startswith(KEY.encode())}
        self.schema = schema.with_metadata(known if self.made_by is None else known | {KEY: self.made_by()})

    def write(self, batch: Any, values: Floats | None) -> None:
        """Write a batch; where a value is NaN, the new column has none."""
        raise NotImplementedError

    def columns(self, batch: Any, values: Floats | None) -> list[Any]:
        """Put the values of the new column among those of a batch."""
        arrays = list(batch.columns)
        if self.column is not None and values is not None:
            arrays[self.place : self.place + 1] = [as_arrow(values)]
        return arrays

    def joined(self, batch: Any, values: Floats | None) -> Any:
        """Put the values of the new column into a batch that keeps to the schema."""
        made = [plain(array, field.type) for array, field in zip(self.columns(batch, values), self.schema)]
        return pa.RecordBatch.from_arrays(made, schema=self.schema)

    def close(self) -> None:
        """Finish the file."""
        self.stream.close()
        if isinstance(self.stream, io.BufferedWriter):
            with open(self.stream.name, "rb") as written:
                self.sha256 = hashlib.file_digest(written, "sha256").hexdigest()


def format_of_output(target: Path) -> Format:
    """Tell the format of an output from its name."""
    found = "xlsx" if target.suffix.lower() == ".xlsx" else format_of_name(target)
    if found is None:
        raise OutputFileError(
            f"the name of {target} does not say its format.\nHint: it must end in one of {known_endings()}."
        )
    return found


def byte_stream(target: Target) -> Any:
    """Open a stream of bytes, zipped where the target's name says so."""
    packing = PACKED.get(target.name.suffix.lower())
    if packing is None:
        return target.place.open("wb")
    return pa.CompressedOutputStream(arrow_file(target.place, "wb"), packing)


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
        found: Layout
        if what in ("parquet", "arrow"):
            schema = _file(what).schema_of(path)
            found = Layout(what, tuple(schema.names), tuple(map(str, schema.types)))
        else:
            found = _file(what).layout(path, what, source)
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


def role_batches(path: Path, layout: Layout, roles: Mapping[str, str], allowed: Allowed) -> Iterator[Any]:
    """Yield the columns that play a part, named by their part, in the order of the rows."""
    schema, places = role_schema(path, layout, roles), layout.places(roles)
    rows = _file(layout.format).read(path, layout, list(places.values()), allowed)
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
