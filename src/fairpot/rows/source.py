"""RowSource: rows in files, on standard input or from a query, and which columns play which part."""

from __future__ import annotations

import codecs
import os
import shutil
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO, ClassVar, Self, cast

from fairpot._arguments import argument
from fairpot._leftovers import scratch_folder
from fairpot._log import telling
from fairpot._validation import wording
from fairpot.exceptions import InputFileError
from fairpot.rows.folders import Paths, expanded, listed
from fairpot.rows.formats import parquet, read_layout
from fairpot.rows.formats.layout import (
    FORMATS,
    WORKBOOKS,
    Format,
    Layout,
    format_of_bytes,
    format_of_name,
    known_endings,
)
from fairpot.rows.formats.xlsx import convert
from fairpot.rows.roles import Kind, Roles, find_column

# How files are read, beside the parts of their columns.
READING = ("format", "sql", "database", "delimiter", "decimal", "encoding", "sheet", "follow_links")
_LEAST_BYTES = 4  # that a row of text takes


@dataclass(frozen=True)
class RowSource(Roles):
    """Name rows in files, on standard input or from a query, and the part each column plays.

    Parameters
    ----------
    path : path, sequence of paths or None
        Files, folders or patterns such as ``"scores/*.parquet"``; ``"-"`` is standard input. Parquet, CSV
        and TSV, JSON lines (also ``.gz`` and ``.zst``), Arrow IPC or Feather; sheets of Excel workbooks (with
        the extra ``excel``).
    score, label, weight, cluster : str
        The columns with the score, the outcome, the weight, and what rows that belong together have in common.
    groups : str or sequence of str, default ()
        The columns with the group; several form intersections.
    weights, lower_is_riskier, high_score_means, pos_label
        What they mean, see :func:`fairpot.score_table`.
    format : str or None, default None
        "parquet", "csv", "tsv", "arrow" or "jsonl", where names of files do not say.
    sql : str or None, default None
        A SELECT instead of files, in DuckDB's dialect.
    database : path or None, default None
        The DuckDB file that ``sql`` asks, opened for reading only; it reaches no other files than ``sql`` names.
    delimiter : str or None, default None
        What stands between the fields of CSV; None finds ``,`` ``;`` tab or ``|`` in the first line.
    decimal : {".", ","}, default "."
        The decimal mark of scores and weights in CSV.
    encoding : str or None, default None
        Of CSV, such as "latin-1"; None is UTF-8.
    sheet : str or None, default None
        The sheet of an Excel workbook; without it, a workbook with several is an error that names them.
    follow_links : bool, default False
        Whether links inside folders and among what a pattern fits are followed; else they are an error.

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
    database: str | os.PathLike[str] | None = None
    delimiter: str | None = None
    decimal: str = "."
    encoding: str | None = None
    sheet: str | None = None
    follow_links: bool = False

    reader: ClassVar[str] = "duckdb"

    def __post_init__(self) -> None:
        if (self.path is None) == (self.sql is None):
            raise InputFileError("rows come either from files or from sql: give one of the two.")
        if self.database is not None and self.sql is None:
            raise InputFileError(f"a database needs a query.\nHint: {argument('sql', ...)}.")
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
    def files(self) -> dict[Path, Layout]:
        """The files and what each looks like; standard input is put into a file first."""
        named = None if self.path is None else [os.fspath(path) for path in listed(self.path)]
        with telling("opened", files=named, sql=self.sql, database=self.database) as told, self.by_name():
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
            named = expanded(cast(Paths, self.path), self.format is not None, self.follow_links)
            self.__dict__["_named"] = named
            paths = [self._at_hand(path) for path in named]
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
        files = list(self.files)  # those that were named are known once they are looked for
        named = self.__dict__.get("_named", [])
        return [*dict.fromkeys([*files, *named]), *([] if self.database is None else [Path(self.database)])]

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
            other.__dict__.update(
                files=self.files, _keeps=self, _named=self.__dict__.get("_named", []), _spooled_as=self._spooled_as
            )  # what was spooled lives as long as either
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
