"""RowSource: where rows come from, which columns play which part, and those columns as Arrow batches."""

from __future__ import annotations

import codecs
import fnmatch
import glob
import itertools
import json
import os
import shutil
import stat
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import KW_ONLY, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO, cast
from urllib.parse import unquote

from fairpot._arguments import argument
from fairpot._defaults import Meaning
from fairpot._leftovers import scratch_folder
from fairpot._optional import import_optional
from fairpot._validation import wording
from fairpot.counting import check_meaning, check_weights_word
from fairpot.engines.duckdb.scan import LONGEST_NAME, Relation
from fairpot.engines.naming import Kind, find_column, number_from_json, numbers_from_text
from fairpot.exceptions import InputFileError
from fairpot.files.converting import CONVERTED, convert, converts
from fairpot.files.formats import arrow, csv, jsonl, parquet, read_layout
from fairpot.files.layout import (
    FORMATS,
    TEXT,
    Format,
    Layout,
    Reading,
    format_of_bytes,
    format_of_name,
    guarded,
    known_endings,
    way_out,
)
from fairpot.files.streams import MOST_AT_ONCE, longest_cell

_KINDS: dict[str, Kind] = {"csv": "text", "tsv": "text", "jsonl": "json"}
_LEAST_BYTES = 4  # that a row of text takes
_DEEPEST = 100  # folders inside of each other
Paths = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]


@dataclass(frozen=True)
class RowSource:
    """Name rows in files, on standard input or from a query, and the part each column plays.

    Parameters
    ----------
    path : path, sequence of paths or None
        Files, folders or patterns such as ``"scores/*.parquet"``; ``"-"`` is standard input. Parquet, CSV
        and TSV, JSON lines (also ``.gz`` and ``.zst``), Arrow IPC or Feather; JSON arrays, and the first sheet of
        Excel workbooks (with the extra ``excel``).
    score : str
        The column with the score.
    label : str or None, default None
        The column with the outcome.
    groups : str or sequence of str, default ()
        The columns with the group; several form intersections.
    weight : str or None, default None
        The column with the weight of a row.
    weights : {"frequency", "importance"} or None, default None
        What a weight means: a number of rows, or how much a row counts. None takes whole numbers for the first and
        others for the second.
    cluster : str or None, default None
        The column with what rows have in common that are not independent: the patient of each visit.
    lower_is_riskier : bool, default False
        Whether a low score means high risk; scores are then counted with a minus.
    high_score_means : {"help", "harm"} or None, default None
        What a high score does to the person who has it.
    pos_label : default None
        The positive value of a label that is not 0/1 or boolean.
    format : str or None, default None
        One of "parquet", "csv", "tsv", "arrow", "jsonl", where names of files do not say.
    sql : str or None, default None
        A SELECT instead of files, in DuckDB's dialect.
    database : path or None, default None
        The DuckDB file that ``sql`` asks; it is opened for reading only, and nothing in it can reach other files than
        those that ``sql`` itself names.
    delimiter : str or None, default None
        What stands between the fields of CSV; None finds ``,`` ``;`` tab or ``|`` in the first line.
    decimal : {".", ","}, default "."
        The decimal mark of scores and weights in CSV.
    encoding : str or None, default None
        Of CSV, such as "latin-1"; None is UTF-8.
    partitions : bool, default False
        Whether folders named such as ``sex=F`` make a column. A column of that name in a file is an error.
    follow_links : bool, default False
        Whether links inside folders and among what a pattern fits are followed; else they are an error.

    Examples
    --------
    >>> from fairpot.files import RowSource
    >>> source = RowSource("scores.parquet", score="risk", label="outcome", groups="sex")
    >>> source.groups
    ('sex',)
    """

    path: Paths | None = None
    _: KW_ONLY
    score: str
    label: str | None = None
    groups: str | Sequence[str] = ()
    weight: str | None = None
    weights: str | None = None
    cluster: str | None = None
    lower_is_riskier: bool = False
    high_score_means: Meaning | None = None
    pos_label: Any = None
    format: str | None = None
    sql: str | None = None
    database: str | os.PathLike[str] | None = None
    delimiter: str | None = None
    decimal: str = "."
    encoding: str | None = None
    partitions: bool = False
    follow_links: bool = False

    def __post_init__(self) -> None:
        groups = (self.groups,) if isinstance(self.groups, str) else tuple(self.groups)
        object.__setattr__(self, "groups", groups)
        if (self.path is None) == (self.sql is None):
            raise InputFileError("rows come either from files or from sql: give one of the two.")
        if self.database is not None and self.sql is None:
            raise InputFileError(f"a database needs a query.\nHint: {argument('sql', ...)}.")
        if self.format is not None and self.format not in FORMATS:
            raise InputFileError(f"format must be one of {', '.join(map(repr, FORMATS))}, got {self.format!r}.")
        _check_reading(self.delimiter, self.decimal, self.encoding)
        if len(set(groups)) < len(groups):
            raise InputFileError(f"the groups name a column twice: {list(groups)}.")
        check_weights_word(self.weights)
        check_meaning(self.high_score_means)

    @property
    def group_columns(self) -> tuple[str, ...]:
        """The columns with the group."""
        return cast(tuple[str, ...], self.groups)

    @property
    def roles(self) -> dict[str, str]:
        """The part each column plays: "score", "label", "weight", "group0", ..."""
        named = {"score": self.score, "label": self.label, "weight": self.weight, "cluster": self.cluster}
        named |= {f"group{i}": name for i, name in enumerate(self.group_columns)}
        return {role: name for role, name in named.items() if name is not None}

    @contextmanager
    def by_name(self) -> Iterator[None]:
        """Let errors name standard input, pipes and workbooks, not the temporary files that they are kept in."""
        try:
            yield
        except (ValueError, TypeError) as error:
            said = str(error)
            for place, name in self._spooled_as.items():
                said = said.replace(str(place), name)
            if said == str(error) or isinstance(error, UnicodeError):
                raise
            raise type(error)(said) from error

    @cached_property
    def _spooled_as(self) -> dict[Path, str]:
        """What temporary files are called in messages."""
        return {}

    @cached_property
    def files(self) -> dict[Path, Layout]:
        """The files and what each looks like; standard input is put into a file first."""
        with self.by_name():
            return self._found_files()

    def _found_files(self) -> dict[Path, Layout]:
        if self.sql is not None:
            return {}
        if isinstance(self.path, str) and self.path == "-":
            if sys.stdin is None:
                raise InputFileError("there is no standard input to read from.\nHint: name a file.")
            paths = [self._spooled("standard input", sys.stdin.buffer)]
        else:
            named = _expanded(cast(Paths, self.path), self.format is not None, self.follow_links)
            self.__dict__["_named"] = named
            paths = [self._at_hand(path) for path in named]
        formats = {p: cast(Format, self.format) or format_of_name(p) or _sniffed(p) for p in paths}
        if len(set(formats.values())) > 1:
            kinds = ", ".join(sorted(set(formats.values())))
            raise InputFileError(f"the files have different formats: {kinds}.\nHint: one format at a time.")
        reading = Reading(self.delimiter, self.decimal, self.encoding, self.partitions)
        layouts = {p: _with_folders(p, read_layout(p, f, reading), self.partitions) for p, f in formats.items()}
        _check_alike(layouts, self.roles)
        return layouts

    @property
    def inputs(self) -> list[Path]:
        """Every file that is read, which no output may be."""
        files = list(self.files)  # those that were named are known once they are looked for
        named = self.__dict__.get("_named", [])
        return [*dict.fromkeys([*files, *named]), *([] if self.database is None else [Path(self.database)])]

    @property
    def named(self) -> str:
        """The files, folders and patterns as they were named."""
        given = [self.path] if isinstance(self.path, str | os.PathLike) else list(self.path or ())
        return ", ".join(str(each) for each in given[:3])

    def would_read(self, path: str | os.PathLike[str]) -> bool:
        """Whether a new file would be among the rows the next time: it lies in a folder, or fits a pattern, of these.

        Links are followed both ways. A file that is named itself is not asked about: ``inputs`` has it.
        """
        given = [self.path] if isinstance(self.path, str | os.PathLike) else list(self.path or ())
        places = {os.path.abspath(path), os.path.realpath(path)}
        return any(_takes_in(os.fspath(item), place) for item in given for place in places)

    @property
    def total_bytes(self) -> int:
        """Size of all files."""
        return sum(p.stat().st_size for p in self.files)

    @property
    def kind(self) -> Kind:
        """How values of label and group columns come out: typed, as text or as JSON."""
        layout = next(iter(self.files.values()), None)
        return "typed" if layout is None else _KINDS.get(layout.format, "typed")

    @property
    def where(self) -> str:
        """What to call the place of the rows in an error."""
        if self.sql is not None:
            return "the query"
        return ", ".join(self._spooled_as.get(path, str(path)) for path in [*self.files][:3])

    def relations(self) -> list[Relation]:
        """Say how DuckDB reads the files; nothing for a query."""
        return relations(self.files, self.roles)

    def most_rows(self) -> int | None:
        """Return a number that there are surely no more rows than; None for a query."""
        if self.sql is not None:
            return None
        if all(layout.format == "parquet" for layout in self.files.values()):
            return sum(map(parquet.count_rows, self.files))
        factor = 1000 if any(layout.packed for layout in self.files.values()) else 1
        return self.total_bytes * factor // (1 if self.kind == "typed" else _LEAST_BYTES)

    def bare(self) -> RowSource:
        """Return the same rows without label, weight and cluster; files are not looked at, nor input read, again."""
        return self.but(label=None, weight=None, cluster=None)

    def but(self, **parts: Any) -> RowSource:
        """Return the same rows with other parts; files are not looked at, nor input read, again."""
        other = replace(self, **parts)
        if self.sql is None:
            other.__dict__.update(
                files=self.files, _keeps=self, _named=self.__dict__.get("_named", []), _spooled_as=self._spooled_as
            )  # what was spooled lives as long as either
        return other

    def _at_hand(self, path: Path) -> Path:
        """Return a file that can be read again and again: what is a pipe is kept first, what is no table made one."""
        if not path.is_file():
            with path.open("rb") as stream:
                return self._spooled(str(path), stream)
        if self.format is None and converts(path):
            place = scratch_folder(self) / f"{path.name}.jsonl"
            self._spooled_as[place] = str(path)
            convert(path, place)
            return place
        return path

    def _spooled(self, name: str, stream: BinaryIO) -> Path:
        _refuse_devices(stream, name)
        place = scratch_folder(self) / "input"
        self._spooled_as[place] = name
        try:
            with place.open("wb") as out:
                shutil.copyfileobj(stream, out, 1 << 20)
        except OSError as error:
            raise InputFileError(
                f"{name} could not be kept in {place.parent.parent}: {error.strerror}.\n"
                "Hint: point TMPDIR to a disk with more room, or name a file."
            ) from error
        if place.stat().st_size == 0:
            raise InputFileError(f"{name} is empty.\nHint: pipe a file into it, or name one.")
        return place


def _check_reading(delimiter: str | None, decimal: str, encoding: str | None) -> None:
    if delimiter is not None and (len(delimiter) != 1 or not delimiter.isascii() or delimiter in '"\r\n'):
        raise InputFileError(
            f"delimiter must be one character of ASCII, no quote and no line end, got {wording.quoted(delimiter)}.\n"
            f"Hint: {argument('delimiter', ';')}, or leave it out: it is found in the first line."
        )
    if decimal not in (".", ","):
        raise InputFileError(
            f"decimal must be '.' or ',', got {wording.quoted(decimal)}.\nHint: {argument('decimal', ',')}."
        )
    if not _is_encoding(encoding or "utf-8"):
        raise InputFileError(
            f"there is no encoding {wording.quoted(encoding)}.\nHint: such as 'utf-8', 'latin-1', 'cp1252', 'utf-16'."
        )


def _is_encoding(name: str) -> bool:
    """Whether bytes become text by it; Python knows others, which make text of text or bytes of bytes."""
    try:
        return isinstance(b"a".decode(name, "ignore"), str) and codecs.getincrementaldecoder(name) is not None
    except (LookupError, ValueError):
        return False


def _with_folders(path: Path, layout: Layout, wanted: bool) -> Layout:
    """Add the columns that the names of folders make."""
    if not wanted:
        return layout
    pairs = [part.split("=", 1) for part in path.parent.parts if "=" in part[1:]]
    found = tuple((unquote(name), unquote(value)) for name, value in pairs)
    clash = [name for name, _ in found if name in layout.columns]
    if clash:
        raise InputFileError(
            f"{path} has a column {clash[0]!r}, and a folder of that name.\nHint: leave partitions out, or rename one."
        )
    return replace(layout, partitions=found)


def _expanded(path: Paths, any_name: bool, follow_links: bool) -> list[Path]:
    """List the files behind paths, folders and patterns, sorted and each once."""
    given = [path] if isinstance(path, str | os.PathLike) else list(path)
    found = [file for item in given for file in _files_of(os.fspath(item), any_name, follow_links)]
    if not found:
        raise InputFileError("no file is named.\nHint: give a path, a folder or a pattern.")
    return list(dict.fromkeys(found))


def _files_of(item: str, any_name: bool, follow_links: bool) -> list[Path]:
    path = Path(item)
    if path.is_dir():
        files = files_inside(path, any_name=any_name, follow_links=follow_links)
        if not files:
            raise InputFileError(f"the folder {item} holds no file to read.\nHint: known are {known_endings()}.")
        return files
    if path.exists():
        return [path]
    if not glob.has_magic(item):
        raise InputFileError(f"{item} was not found.\nHint: check the path; it is taken from {Path.cwd()}.")
    fixed = sum(1 for _ in itertools.takewhile(lambda part: not glob.has_magic(part), path.parts))
    try:
        matched = sorted(Path(p) for p in glob.glob(item, recursive=True) if not Path(p).is_dir())
    except RecursionError:
        raise InputFileError(f"{item!r} leads through too many folders.\nHint: name the folder itself.") from None
    if not matched:
        raise InputFileError(f"no file matches {item!r}.\nHint: check the path; it is taken from {Path.cwd()}.")
    _refuse_links([] if follow_links else [p for p in matched if _is_linked(p, fixed)], item)
    _refuse_special([p for p in matched if not p.is_file()], item)
    return matched


def files_inside(folder: Path, *, any_name: bool, follow_links: bool) -> list[Path]:
    """List the files of a folder that are read, sorted; a link and what is no file are errors, if they would be.

    A stranger's link leads to any file of the reader's, and a pipe that nobody writes to has no end.
    """
    found, links, seen = [], [], {os.path.realpath(folder)}
    for here, inside, names in os.walk(folder, onerror=_refuse_unread, followlinks=follow_links):
        if len(Path(here).parts) - len(folder.parts) > _DEEPEST:
            raise InputFileError(
                f"{folder} has folders nested deeper than {_DEEPEST}.\nHint: name the folder that holds the files."
            )
        inside[:] = sorted(name for name in inside if not name.startswith((".", "_")))
        links += [Path(here, name) for name in inside if os.path.islink(os.path.join(here, name))]
        if follow_links:  # a folder that was seen before may lead to itself
            inside[:] = [name for name in inside if _new(os.path.realpath(os.path.join(here, name)), seen)]
        paths = [Path(here, name) for name in names if not name.startswith((".", "_"))]
        found += [p for p in paths if any_name or format_of_name(p) or _may_convert(p)]
    _refuse_links([] if follow_links else [*links, *(p for p in found if p.is_symlink())], str(folder))
    _refuse_special([p for p in found if not p.is_file()], str(folder))
    return sorted(p for p in found if any_name or format_of_name(p) or converts(p))


def _refuse_unread(error: OSError) -> None:
    """Refuse a folder that cannot be looked into: its rows would be left out without a word."""
    raise InputFileError(
        f"the folder {error.filename} cannot be read: {error.strerror}.\nHint: look who may read it, or remove it."
    ) from error


def _new(place: str, seen: set[str]) -> bool:
    before = len(seen)
    seen.add(place)
    return len(seen) > before


def _may_convert(path: Path) -> bool:
    return path.suffix.lower() in CONVERTED


def _is_linked(path: Path, fixed: int) -> bool:
    """Whether a path that a pattern fits is a link, or lies behind one, in the parts that the pattern left open."""
    return any(Path(*path.parts[:end]).is_symlink() for end in range(fixed + 1, len(path.parts) + 1))


def _refuse_links(links: Sequence[Path], where: str) -> None:
    if links:
        raise InputFileError(
            f"{where} holds {wording.counted(len(links), 'link')}, such as {links[0]}: a link may lead to any file.\n"
            f"Hint: remove it, name the file itself, or {argument('follow_links', True)} to follow links."
        )


def _refuse_special(files: Sequence[Path], where: str) -> None:
    if files:
        raise InputFileError(
            f"{where} holds what is no file, such as {files[0]}: a pipe, a socket, a device or a broken link.\n"
            "Hint: remove it; a pipe can be named by itself."
        )


def _refuse_devices(stream: BinaryIO, name: str) -> None:
    """Refuse a device, which may never end; a terminal does."""
    try:
        mode = os.fstat(stream.fileno()).st_mode
    except OSError:  # a stream of bytes in memory
        return
    if (stat.S_ISCHR(mode) or stat.S_ISBLK(mode)) and not stream.isatty():
        raise InputFileError(f"{name} is a device, not a file or a pipe.\nHint: name a file, or pipe one into it.")


def _takes_in(item: str, place: str) -> bool:
    """Whether a folder holds a place, or a pattern fits it, as they are named or with links followed."""
    if os.path.isdir(item):
        return any(Path(place).is_relative_to(folder) for folder in (os.path.abspath(item), os.path.realpath(item)))
    if os.path.exists(item) or not glob.has_magic(item):
        return False
    parts = Path(os.path.abspath(item)).parts
    plain = next(i for i, part in enumerate(parts) if glob.has_magic(part))
    heads = {Path(*parts[:plain]), Path(os.path.realpath(Path(*parts[:plain])))}
    return any(_fits([*head.parts, *parts[plain:]], Path(place).parts) for head in heads)


def _fits(pattern: Sequence[str], parts: Sequence[str]) -> bool:
    """Whether the parts of a path fit those of a pattern, in which ``**`` is any number of folders."""
    if not pattern or not parts:
        return not parts and all(part == "**" for part in pattern)
    if pattern[0] == "**":
        return _fits(pattern[1:], parts) or _fits(pattern, parts[1:])
    same = fnmatch.fnmatchcase(parts[0], pattern[0]) if glob.has_magic(pattern[0]) else parts[0] == pattern[0]
    return same and _fits(pattern[1:], parts[1:])


def _sniffed(path: Path) -> Format:
    """Look into a file whose name does not say what it is, unless the name says it is something else."""
    if path.suffix and path.suffix.lower() != ".gz" and path.suffix.lower() not in (".txt", ".dat", ".json"):
        raise InputFileError(f"{path} has a name that does not say its format.\nHint: {way_out(path)}.")
    try:
        return format_of_bytes(path)
    except (OSError, EOFError) as error:
        raise InputFileError(f"{path} cannot be opened: {error}.\nHint: check who may read it.") from error


def _check_alike(layouts: dict[Path, Layout], roles: dict[str, str]) -> None:
    """Insist that every file has the columns that are used, and of one type."""
    first: tuple[Path, list[str]] | None = None
    for path, layout in layouts.items():
        places = [find_column(name, layout.all_columns, str(path), role) for role, name in roles.items()]
        types = [layout.types[i] for i in places if i < len(layout.types)]
        if first is None:
            first = path, types
        for name, mine, other in zip(roles.values(), types, first[1]):
            if mine != other:
                raise InputFileError(
                    f"the column {name!r} is {other} in {first[0]} but {mine} in {path}.\n"
                    "Hint: bring the files to one type first."
                )


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
    return {role: find_column(name, layout.all_columns, "the input", role) for role, name in roles.items()}


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
        return parquet.schema_of(path)
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
        lengths = {role: longest_cell(column) for role, column in columns.items()}
        for role in lengths.keys() - set(NUMBERS):
            if lengths[role] > LONGEST_NAME:
                raise InputFileError(wording.long_text(f"column {roles[role]!r}", LONGEST_NAME))
        step = max(MOST_AT_ONCE // (sum(lengths.values()) + 1), 1)
        for begin in range(0, batch.num_rows, step):  # a text that a dictionary holds once may be in every row
            made = [_cast(columns[field.name].slice(begin, step), field.type) for field in schema]
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
