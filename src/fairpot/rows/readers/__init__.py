"""What every reader of rows does, and which there are: count rows into a score table, and give them adjusted scores.

A reader is chosen once by its name: DuckDB for files, memory for frames, Spark and others by entry points. A package
provides one with an entry point of the group ``fairpot.readers`` that leads to a class which keeps the protocol;
Spark's is fairpot's own.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, cast

from fairpot._arguments import argument
from fairpot._defaults import ADJUSTED, Unmapped
from fairpot.exceptions import InputFileError, OutputFileError
from fairpot.rows.database import Allowed
from fairpot.rows.roles import Roles
from fairpot.table import QuantisationBound, ScoreTable
from fairpot.transport import ScoreMap

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

MOST_DISTINCT = 20_000_000  # with more of them a table is quantised, unless the caller says otherwise
Namer = Callable[[tuple[Any, ...]], Hashable]  # what a combination of values of the group columns is called
Progress = Callable[[float], object]  # told how far a scan is, from 0 to 1
RowsDone = Callable[[int, int | None], object]  # told the rows done, and those there are in all where that is known
_SIZE = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*(?:([KMGT])(i?))?B\s*", re.IGNORECASE)
_PROGRAM = 340_000_000  # what Python and the libraries of a fit take before a row is read: 270 to 340 MB were seen
_LEAST = 350_000_000  # that can be kept, with the smallest table
# What the largest work on a table (a fit with its effect, a comparison, a report) takes for each entry, at its peak;
# and for each row, where rows belong together and are kept one by one.
_PER_ENTRY, _PER_CLUSTERED_ROW = 320, 740
# A table of so many entries is kept whatever the limit is, and the scan may hold so much.
_LEAST_ENTRIES, _LEAST_SCAN = 50_000, 100_000_000
DEFAULT_MEMORY = "2GB"
_MOST_SCAN = 10**15  # more is no number that DuckDB takes


@dataclass(frozen=True)
class Memory:
    """An amount of memory for the whole process, libraries included, in bytes."""

    size: int

    @classmethod
    def of(cls, text: str) -> Memory:
        """Read a size such as "500MB", "2GB" or "1.5GiB"."""
        found = _SIZE.fullmatch(str(text))
        if found is None:
            raise InputFileError(
                f"{argument('memory_limit')} is an amount of memory, and {text!r} is not one.\n"
                f"Hint: {argument('memory_limit', '2GB')}, or 500MB."
            )
        number, prefix, binary = found.groups()
        power = "KMGT".index(prefix.upper()) + 1 if prefix else 0
        return cls(int(float(number) * (1024 if binary else 1000) ** power))

    def check_least(self) -> None:
        """Refuse less than the libraries take before a row is read."""
        if self.size < _LEAST:
            asked, least = (argument("memory_limit", f"{size // 10**6}MB") for size in (self.size, _LEAST))
            raise InputFileError(
                f"{asked} is less than the libraries that read rows take.\nHint: {least} is the least that can be kept."
            )

    def allowed(self, threads: int | None) -> Allowed:
        """What each of DuckDB's connections may take: a quarter before it spills, as the table grows beside it."""
        return Allowed(f"{min(max(self.size // 4, _LEAST_SCAN), _MOST_SCAN)}B", threads)

    @property
    def entries(self) -> int:
        """How many distinct scores of all groups together a table may have, with room for the work on it."""
        return max((self.size - _PROGRAM) // _PER_ENTRY, _LEAST_ENTRIES)

    @property
    def clustered_rows(self) -> int:
        """How many rows that belong together a table may keep, with room for the work on it."""
        return max((self.size - _PROGRAM) // _PER_CLUSTERED_ROW, _LEAST_ENTRIES)

    @staticmethod
    def for_clustered(rows: int) -> str:
        """Return a size, in whole gigabytes, in which so many rows that belong together fit."""
        return f"{-(-(rows * _PER_CLUSTERED_ROW + _PROGRAM) // 10**9)}GB"


@dataclass(frozen=True, eq=False)
class CountedRows:
    """Hold what a scan found."""

    table: ScoreTable
    rows: int
    quantisation: QuantisationBound | None = None  # how far numbers can be off, if there were too many distinct scores
    dropped: dict[str, int] | None = None  # where asked for: rows with missing values, in all ("rows") and by column


@dataclass(frozen=True)
class Counting:
    """What is asked of a count, see :func:`fairpot.rows.count_rows`."""

    memory_limit: str | None = None
    threads: int | None = None
    max_distinct: int = MOST_DISTINCT
    several: bool = True
    drop_missing: bool = False
    called: Namer | None = None
    progress: Progress | None = None

    def __post_init__(self) -> None:
        if self.max_distinct < 2:
            raise ValueError(f"max_distinct must be at least 2, got {self.max_distinct!r}.")

    @property
    def memory(self) -> Memory:
        """What the process may use; as good as everything, where nothing is said."""
        return Memory(10**15) if self.memory_limit is None else Memory.of(self.memory_limit)

    @property
    def distinct(self) -> int:
        """So many distinct scores are kept as they are."""
        return min(self.max_distinct, self.memory.entries)

    @property
    def combinations(self) -> int:
        """So many combinations of group, label, score and weight are fetched."""
        return min(2 * self.max_distinct, self.memory.entries)


@dataclass(frozen=True)
class Applying:
    """What is asked of an apply, see :func:`fairpot.apply`."""

    output: str | Path | None = None
    column: str | None = None
    replace: bool = False
    unknown_group: Unmapped = "error"
    missing_group: Unmapped = "error"
    drop_missing: bool = False
    overwrite: bool = False
    output_format: str | None = None
    neutralise_formulas: bool = False
    changes: str | Path | None = None
    threshold: float | None = None
    keep: Sequence[str] = ()
    memory_limit: str | None = None
    threads: int | None = None
    progress: RowsDone | None = None
    # What is said of those of a group who are moved, and of those of a group in which nobody is.
    words: Callable[[], Mapping[Hashable, tuple[str, ...]]] | None = None
    # Told the lowest and the highest score, and how many of all rows are far outside, before an output is in place.
    judge: Callable[[float, float, int, int], object] | None = None
    far: tuple[float, float] = (float("-inf"), float("inf"))  # scores below the first and above the second are outside
    inputs: Sequence[str | Path] = ()  # further files that no output may replace: that of the model
    made_by: Callable[[], str] | None = None  # what outputs are to say of themselves

    @property
    def memory(self) -> str:
        """What the process may use."""
        return self.memory_limit or DEFAULT_MEMORY

    @property
    def allowed(self) -> Allowed:
        """What each connection that reads the rows may take."""
        return Memory.of(self.memory).allowed(self.threads)

    def new_column(self, rows: Roles, columns: Sequence[str], where: str) -> str:
        """Return the name of the new column, which takes the place of another only if that was asked for."""
        column = self.column or f"{rows.score}{ADJUSTED}"
        if columns.count(column) > 1 or (column in columns and not self.replace):
            hint = f"Hint: choose another name, or {argument('replace', True)}."
            raise OutputFileError(f"{where} has a column {column!r} already.\n{hint}")
        if column in rows.group_columns:
            raise OutputFileError(f"the column {column!r} is the group: it cannot hold the score.")
        return column

    def refuse_others(self, known: Sequence[str], where: str) -> None:
        """Refuse what was asked for and is not among ``known``."""
        own = ("output", "memory_limit", "threads", "progress", "words", "judge", "far", "inputs", "made_by", *known)
        asked = [f.name for f in fields(self) if f.name not in own and getattr(self, f.name) != f.default]
        if asked:
            raise TypeError(
                f"{where} with their adjusted score alone, without {argument(asked[0])}.\n"
                "Hint: leave it out, or write files and adjust those."
            )


@dataclass(frozen=True)
class AppliedRows:
    """Hold what :func:`fairpot.apply` did."""

    rows: int
    moved: int | None  # rows whose score changed; None of rows on a cluster, where they are not compared
    column: str  # with the adjusted score
    ranks_exact: bool = True  # those of the changes file are, unless there were too many distinct scores
    score_range: tuple[float, float] | None = None
    unknown: int = 0  # rows whose group the maps do not know; without ``unknown_group`` they are an error
    missing: int = 0  # rows that have no group; without ``missing_group`` they are an error
    dropped: int = 0
    notes: tuple[str, ...] = ()  # what is worth knowing before the adjusted scores are used
    made_by: str | None = None  # which fairpot, map file, run and input the outputs are of
    sha256: str | None = None  # of the output, where it is text that is not packed
    changes_sha256: str | None = None


class Reader(Protocol):
    """Count and adjust rows where they are.

    Equal rows give equal tables, to the last bit, and a bad row is an error in the words of
    ``fairpot._validation.wording``, with the number of rows. A package provides a reader with an entry point of the
    group ``fairpot.readers``, by whose name ``fairpot audit --engine NAME`` and sources (``reader``) find it.
    """

    where: ClassVar[str]  # its rows are: "in files", as messages say
    options: ClassVar[tuple[str, ...]]  # that ``open`` takes, and those of Counting that are not for all readers
    writes_folders: ClassVar[bool]  # whether an output is a folder of files

    def open(self, rows: Any, parts: Mapping[str, Any], options: Mapping[str, Any]) -> Roles:
        """Return rows, as they were handed in, with the parts of their columns; nothing is counted yet."""

    def count(self, rows: Any, how: Counting) -> CountedRows:
        """Count rows into a score table."""

    def apply(self, rows: Any, maps: Mapping[Hashable, ScoreMap], how: Applying) -> Any:
        """Write the rows with the adjusted score as one column more; without an output, return them so."""


GROUP = "fairpot.readers"
_OWN = {"duckdb": ("duckdb", "DuckDBReader"), "memory": ("frames", "FrameReader")}


def names() -> tuple[str, ...]:
    """List the names of all readers without loading them."""
    return (*_OWN, *_others())


def reader(name: str) -> Reader:
    """Load a reader by its name."""
    if name in _OWN:
        module, kind = _OWN[name]
        return cast(Reader, getattr(import_module(f"fairpot.rows.readers.{module}"), kind)())
    if name not in _others():
        import difflib

        near = difflib.get_close_matches(name, names(), n=1)
        hint = f"did you mean {near[0]!r}?" if near else "packages that are installed provide others."
        raise InputFileError(
            f"{argument('engine', name)} is not a reader of rows; known are {', '.join(names())}.\nHint: {hint}"
        )
    return cast(Reader, _others()[name].load()())


@cache
def _others() -> dict[str, EntryPoint]:
    from importlib.metadata import entry_points  # which takes long, and DuckDB is not looked for

    return {found.name: found for found in entry_points(group=GROUP) if found.name not in _OWN}
