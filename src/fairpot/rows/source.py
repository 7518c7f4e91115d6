"""RowSource: rows in files, on standard input or from a query, and which columns play which part."""

from __future__ import annotations

import codecs
import fnmatch
import glob
import itertools
import os
import shutil
import stat
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO, ClassVar, Self, cast

from fairpot._arguments import argument
from fairpot._log import telling
from fairpot._validation import wording
from fairpot.exceptions import InputFileError
from fairpot.rows.formats import (
    FORMATS,
    WORKBOOKS,
    Format,
    Layout,
    format_of_bytes,
    format_of_name,
    known_endings,
    parquet,
    read_layout,
)
from fairpot.rows.formats.xlsx import convert
from fairpot.rows.output import scratch_folder
from fairpot.rows.roles import Kind, Roles, find_column

# How files are read, beside the parts of their columns.
READING = ("format", "sql", "delimiter", "decimal", "encoding", "sheet")
_LEAST_BYTES = 4  # that a row of text takes
Paths = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]


@dataclass(frozen=True)
class RowSource(Roles):
    """Name rows in files, on standard input or from a query, and the part each column plays.

    Parameters
    ----------
    path : path, sequence of paths or None
        Files, folders or patterns such as ``"scores/*.parquet"``; ``"-"`` is standard input. Parquet, CSV
        and TSV, JSON lines (also ``.gz`` and ``.zst``), Arrow IPC or Feather; sheets of Excel workbooks (with
        the extra ``excel``).
    score, label, weight, cluster, time, event : str
        The columns with the score, the outcome, the weight, what rows that belong together have in common, until when
        each was followed, and how that ended.
    groups : str or sequence of str, default ()
        The columns with the group; several form intersections.
    weights, lower_is_riskier, high_score_means, pos_label, horizon, competing, leaving
        What they mean, see :func:`fairpot.score_table`.
    grouping : Grouping or None, default None
        What is said of values of the group columns: ``Grouping.of(bands, unknown, missing_group)``.
    format : str or None, default None
        "parquet", "csv", "tsv", "arrow" or "jsonl", where names of files do not say.
    sql : str or None, default None
        A SELECT instead of files, in DuckDB's dialect.
    delimiter : str or None, default None
        What stands between the fields of CSV; None finds ``,`` ``;`` tab or ``|`` in the first line.
    decimal : {".", ","}, default "."
        The decimal mark of scores and weights in CSV.
    encoding : str or None, default None
        Of CSV, such as "latin-1"; None is UTF-8.
    sheet : str or None, default None
        The sheet of an Excel workbook; without it, a workbook with several is an error that names them.

    Examples
    --------
    >>> from fairpot.rows import RowSource
    >>> source = RowSource("scores.parquet", score="risk", label="outcome", groups="sex")
    >>> source.groups
    ('sex',)
    """

    path: Paths | None = None
    _: KW_ONLY
    format: str | None = None
    sql: str | None = None
    delimiter: str | None = None
    decimal: str = "."
    encoding: str | None = None
    sheet: str | None = None

    reader: ClassVar[str] = "duckdb"

    def __post_init__(self) -> None:
        if (self.path is None) == (self.sql is None):
            raise InputFileError("rows come either from files or from sql: give one of the two.")
        if self.format is not None and self.format not in FORMATS:
            raise InputFileError(f"format must be one of {', '.join(map(repr, FORMATS))}, got {self.format!r}.")
        _check_reading(self.delimiter, self.decimal, self.encoding)
        super().__post_init__()

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
        return {}  # what temporary files are called in messages

    @cached_property
    def _named(self) -> list[Path]:
        return [] if self.path in (None, "-") else expanded(self.path, self.format is not None)

    @cached_property
    def files(self) -> dict[Path, Layout]:
        """The files and what each looks like; standard input is put into a file first."""
        named = None if self.path is None else [os.fspath(path) for path in listed(self.path)]
        with telling("opened", files=named, sql=self.sql) as told, self.by_name():
            found = self._found_files()
            if found:
                told |= {"format": {each.format for each in found.values()}.pop(), "found": len(found)}
                told["bytes"] = sum(path.stat().st_size for path in found)
            return found

    def _found_files(self) -> dict[Path, Layout]:
        if self.sql is not None:
            return {}
        if isinstance(self.path, str) and self.path == "-":
            if sys.stdin is None:
                raise InputFileError("there is no standard input to read from.\nHint: name a file.")
            paths = [self._spooled("standard input", sys.stdin.buffer)]
        else:
            paths = [self._at_hand(path) for path in self._named]
        formats = {p: cast(Format, self.format) or format_of_name(p) or _sniffed(p) for p in paths}
        if len(set(formats.values())) > 1:
            kinds = ", ".join(sorted(set(formats.values())))
            raise InputFileError(f"the files have different formats: {kinds}.\nHint: one format at a time.")
        layouts = {p: read_layout(p, f, self) for p, f in formats.items()}
        _check_alike(layouts, self.roles)
        return layouts

    @property
    def inputs(self) -> list[Path]:
        """Every file that is read, which no output may be."""
        return [*dict.fromkeys([*self.files, *self._named])]

    @property
    def kind(self) -> Kind:
        """How values of label and group columns come out: typed, as text or as JSON."""
        layout = next(iter(self.files.values()), None)
        return "typed" if layout is None else layout.kind

    @property
    def where(self) -> str:
        """What to call the place of the rows in an error."""
        if self.sql is not None:
            return "the query"
        return ", ".join(self._spooled_as.get(path, str(path)) for path in [*self.files][:3])

    def known_rows(self) -> int | None:
        """Read the number of rows from the footers of the files; None where they do not say it."""
        if not self.files or any(layout.format != "parquet" for layout in self.files.values()):
            return None
        return sum(map(parquet.count_rows, self.files))

    def most_rows(self) -> int | None:
        """Return a number that there are surely no more rows than; None for a query."""
        known = self.known_rows()
        if known is not None or self.sql is not None:
            return known
        factor = 1000 if any(layout.packed for layout in self.files.values()) else 1
        total = sum(path.stat().st_size for path in self.files)
        return total * factor // (1 if self.kind == "typed" else _LEAST_BYTES)

    def but(self, **parts: Any) -> Self:
        """Return the same rows with other parts; files are not looked at, nor input read, again."""
        other = super().but(**parts)
        if self.sql is None:
            kept = {"files": self.files, "_named": self._named, "_spooled_as": self._spooled_as}
            other.__dict__.update(kept, _keeps=self)  # what was spooled lives as long as either
        return other

    def _at_hand(self, path: Path) -> Path:
        """Return a file that can be read again and again: what is a pipe is kept first, what is no table made one."""
        if not path.is_file():
            with path.open("rb") as stream:
                return self._spooled(str(path), stream)
        workbook = path.suffix.lower() in WORKBOOKS
        if self.sheet is not None and not workbook:
            raise InputFileError(f"{path} is not a workbook, and has no sheet {self.sheet!r}.\nHint: leave it out.")
        if self.format is None and workbook:
            place = scratch_folder(self) / f"{path.name}.jsonl"
            self._spooled_as[place] = str(path)
            convert(path, place, self.sheet)
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
    try:  # Python knows others, which make text of text or bytes of bytes
        return isinstance(b"a".decode(name, "ignore"), str) and codecs.getincrementaldecoder(name) is not None
    except (LookupError, ValueError):
        return False


def _refuse_devices(stream: BinaryIO, name: str) -> None:
    """Refuse a device, which may never end; a terminal does."""
    try:
        mode = os.fstat(stream.fileno()).st_mode
    except OSError:  # a stream of bytes in memory
        return
    if (stat.S_ISCHR(mode) or stat.S_ISBLK(mode)) and not stream.isatty():
        raise InputFileError(f"{name} is a device, not a file or a pipe.\nHint: name a file, or pipe one into it.")


def _sniffed(path: Path) -> Format:
    """Look into a file whose name does not say what it is, unless the name says it is something else."""
    if path.suffix and path.suffix.lower() != ".gz" and path.suffix.lower() not in (".txt", ".dat", ".json"):
        raise InputFileError(
            f"{path} has a name that does not say its format.\n"
            f"Hint: known are {known_endings()}. Save what another program wrote as .xlsx or .csv, unpack an archive, "
            f"or name the format, {argument('format', ...)}."
        )
    try:
        return format_of_bytes(path)
    except (OSError, EOFError) as error:
        raise InputFileError(f"{path} cannot be opened: {error}.\nHint: check who may read it.") from error


def _check_alike(layouts: dict[Path, Layout], roles: dict[str, str]) -> None:
    """Insist that every file has the columns that are used, and of one type."""
    first: tuple[Path, list[str]] | None = None
    for path, layout in layouts.items():
        known = bool(set(roles.values()) & set(layout.columns))
        places = [find_column(name, layout.columns, str(path), role, known) for role, name in roles.items()]
        types = [layout.types[i] for i in places if i < len(layout.types)]
        if first is None:
            first = path, types
        for name, mine, other in zip(roles.values(), types, first[1]):
            if mine != other:
                raise InputFileError(
                    f"the column {name!r} is {other} in {first[0]} but {mine} in {path}.\n"
                    "Hint: bring the files to one type first."
                )


# Files behind paths, folders and patterns; links and what is no file are refused.

_DEEPEST = 100  # folders inside of each other


def expanded(path: Paths, any_name: bool) -> list[Path]:
    """List the files behind paths, folders and patterns, sorted and each once."""
    found = [file for item in listed(path) for file in _files_of(os.fspath(item), any_name)]
    if not found:
        raise InputFileError("no file is named.\nHint: give a path, a folder or a pattern.")
    return list(dict.fromkeys(found))


def _files_of(item: str, any_name: bool) -> list[Path]:
    path = Path(item)
    if path.is_dir():
        files = files_inside(path, any_name=any_name)
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
    _refuse_others([p for p in matched if _is_linked(p, fixed)], matched, item)
    return matched


def files_inside(folder: Path, *, any_name: bool) -> list[Path]:
    """List the files of a folder that are read, sorted; a link, and what is no file, is an error."""
    found, links = [], []
    for here, inside, names in os.walk(folder, onerror=_refuse_unread):
        if len(Path(here).parts) - len(folder.parts) > _DEEPEST:
            raise InputFileError(
                f"{folder} has folders nested deeper than {_DEEPEST}.\nHint: name the folder that holds the files."
            )
        inside[:] = sorted(name for name in inside if not name.startswith((".", "_")))
        links += [Path(here, name) for name in inside if os.path.islink(os.path.join(here, name))]
        paths = [Path(here, name) for name in names if not name.startswith((".", "_"))]
        found += [p for p in paths if any_name or format_of_name(p) or p.suffix.lower() in WORKBOOKS]
    _refuse_others([*links, *(p for p in found if p.is_symlink())], found, str(folder))
    return sorted(found)


def _refuse_unread(error: OSError) -> None:
    raise InputFileError(
        f"the folder {error.filename} cannot be read: {error.strerror}.\nHint: look who may read it, or remove it."
    ) from error


def _is_linked(path: Path, fixed: int) -> bool:
    """Whether a path that a pattern fits is a link, or lies behind one, in the parts that the pattern left open."""
    return any(Path(*path.parts[:end]).is_symlink() for end in range(fixed + 1, len(path.parts) + 1))


def _refuse_others(links: Sequence[Path], paths: Sequence[Path], where: str) -> None:
    """Refuse links, and among all paths what is no file."""
    if links:
        raise InputFileError(
            f"{where} holds {wording.counted(len(links), 'link')}, such as {links[0]}: a link may lead to any file.\n"
            "Hint: remove it, or name the file itself."
        )
    if special := [path for path in paths if not path.is_file()]:
        raise InputFileError(
            f"{where} holds something that is not a file, such as {special[0]}: a pipe, a socket, a device or a "
            "broken link.\nHint: remove it; a pipe can be named by itself."
        )


def would_read(paths: Paths | None, target: str | os.PathLike[str]) -> bool:
    """Whether a new file would be among the rows the next time: it lies in a folder, or fits a pattern, of these."""
    places = {os.path.abspath(target), os.path.realpath(target)}
    return any(_takes_in(os.fspath(item), place) for item in listed(paths) for place in places)


def listed(paths: Paths | None) -> list[str | os.PathLike[str]]:
    """List paths, of which there may be one, several or none."""
    return [paths] if isinstance(paths, str | os.PathLike) else list(paths or ())


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
