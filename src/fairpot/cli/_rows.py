"""Options that say where the rows are and which columns play which part, and the scan they lead to."""

from __future__ import annotations

import difflib
import functools
import math
import re
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, TypeVar

import click

from fairpot._validation import wording
from fairpot.cli._errors import Failure
from fairpot.cli._printing import Output, shown
from fairpot.cli._settings import settings_option
from fairpot.files import CountedRows, RowSource, count_rows
from fairpot.files.layout import FORMATS
from fairpot.files.output import ending_cleanly
from fairpot.table import GroupCounts, ScoreTable
from fairpot.transport import ScoreMap


class Number(click.ParamType):  # type: ignore[type-arg]
    """A finite number in a range."""

    name = "number"

    def __init__(self, low: float = 0.0, high: float = math.inf, *, above: bool = False) -> None:
        self.low, self.high, self.above = low, high, above

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Read a number, or say what it should have been."""
        try:
            found = float(value)
        except (TypeError, ValueError):
            self.fail(f"{value!r} is not a number.", param, ctx)
        inside = self.low < found if self.above else self.low <= found
        if not (math.isfinite(found) and inside and found <= self.high):
            self.fail(f"{value} is not {self.rule}.", param, ctx)
        return found

    @property
    def rule(self) -> str:
        """Say what is allowed."""
        if self.high == math.inf:
            return f"a finite number {'above' if self.above else 'from'} {self.low:g}{'' if self.above else ' on'}"
        return f"in {'(' if self.above else '['}{self.low:g}, {self.high:g}]"


class Size(click.ParamType):  # type: ignore[type-arg]
    """An amount of memory, such as 2GB."""

    name = "size"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Check how a size is written."""
        if not re.fullmatch(r"[0-9]+(\.[0-9]+)? ?([KMGT]i?)?B", str(value), re.IGNORECASE):
            self.fail(f"{value!r} is not a size such as 500MB or 2GB.", param, ctx)
        return str(value)


SHARE = Number(0, 1)
TOP_SHARE = Number(0, 1, above=True)
FACTOR = Number(0, above=True)
LIMIT = Number(0)
SCORE = Number(-1e300, 1e300)
LEVEL = Number(0.5, 0.999999, above=True)
SIZE = Size()


def check_spark_options(rows: RowOptions) -> None:
    """Insist on files that Spark itself can open."""
    if rows.engine != "spark":
        if rows.master is not None:
            raise click.UsageError("--master says where Spark runs: it needs --engine spark.")
        return
    if rows.sql is not None or rows.database is not None:
        raise click.UsageError("--sql and --database ask DuckDB, not --engine spark.")
    if not rows.inputs or "-" in rows.inputs:
        raise click.UsageError("--engine spark needs the names of files that all workers can read.")


def spark_rows(rows: RowOptions, *, labelled: bool = True) -> Any:
    """Start the session and name the files; nothing is read yet."""
    from fairpot.engines.spark import SparkRows, spark_session

    session = spark_session(rows.master or "local[*]")
    roles = {"score": rows.score, "label": rows.label, "groups": rows.groups, "weight": rows.weight}
    found = SparkRows.read(session, list(rows.inputs), format=rows.format, **roles)
    return found if labelled else found.bare()


def count_on_spark(rows: RowOptions, *, labelled: bool) -> CountedRows:
    """Count the rows on the cluster."""
    from fairpot.engines.spark import SparkEngine

    return SparkEngine().count(spark_rows(rows, labelled=labelled), positive=rows.positive, several=labelled)


def thresholds_on_spark(rows: RowOptions, alpha: float, region: Any, counted: CountedRows) -> dict[Hashable, float]:
    """Find where the top-alpha region of the rows begins, on the cluster."""
    from fairpot.engines.spark import SparkEngine

    return SparkEngine().thresholds(spark_rows(rows, labelled=False), alpha, region=region, counted=counted)


def apply_on_spark(
    rows: RowOptions, maps: Mapping[Hashable, ScoreMap], output: str, *, column: str | None, force: bool, **others: Any
) -> dict[str, Any]:
    """Write the rows with their adjusted score to a folder; return what there is to say about it."""
    from fairpot.engines.spark import SparkEngine

    context = click.get_current_context()
    asked = click.core.ParameterSource.COMMANDLINE
    wanted = [name for name in others if context.get_parameter_source(name) is asked]
    if wanted:
        named = ", ".join(f"--{name.replace('_', '-')}" for name in wanted)
        raise click.UsageError(f"--engine spark writes the adjusted rows alone, without {named}.")
    column = column or f"{rows.score}_fair"
    written = SparkEngine().write(spark_rows(rows, labelled=False), maps, output, column=column, overwrite=force)
    return {"rows": written, "column": column}


_MOST_GROUPS = 250
Command = TypeVar("Command", bound=Callable[..., Any])


@dataclass(frozen=True)
class RowOptions:
    """What the options of a command say about its rows."""

    inputs: tuple[str, ...]
    score: str
    groups: tuple[str, ...]
    label: str | None = None
    weight: str | None = None
    weights: str = "frequency"
    positive: str | None = None
    format: str | None = None
    sql: str | None = None
    database: str | None = None
    delimiter: str | None = None
    decimal: str = "."
    encoding: str | None = None
    partitions: bool = False
    drop_missing: bool = False
    memory: str = "2GB"
    threads: int | None = None
    engine: str = "duckdb"
    master: str | None = None

    @functools.cached_property
    def source(self) -> RowSource:
        """The rows as the engine takes them; made once, since standard input can be read once."""
        self._check()
        path = self.inputs[0] if len(self.inputs) == 1 else list(self.inputs)
        return RowSource(
            path if self.inputs else None,
            score=self.score,
            label=self.label,
            groups=self.groups,
            weight=self.weight,
            weights=self.weights,
            format=self.format,
            sql=self.sql,
            database=self.database,
            delimiter={"tab": "\t", "\\t": "\t"}.get(self.delimiter or "", self.delimiter),
            decimal=self.decimal,
            encoding=self.encoding,
            partitions=self.partitions,
        )

    def named_by(self, columns: dict[str, Any] | None) -> RowOptions:
        """Fill in the names of columns that were not given, from a model file or else the usual ones."""
        known = columns or {"score": "score", "group": ["group"]}
        changed = {"score": self.score or known["score"], "groups": self.groups or tuple(known["group"])}
        return RowOptions(**{f.name: getattr(self, f.name) for f in fields(self)} | changed)

    def elsewhere(self, inputs: Sequence[str]) -> RowOptions:
        """Return the same columns of other files."""
        changed = {"inputs": tuple(inputs), "sql": None, "database": None}
        return RowOptions(**{f.name: getattr(self, f.name) for f in fields(self)} | changed)

    def counted(self, out: Output, what: str = "counting rows", *, labelled: bool = True) -> CountedRows:
        """Count the rows into a score table, with a bar that shows how far it is."""
        self._check()
        with out.progress(what, known=self.engine == "duckdb") as progress:
            counted = (
                count_on_spark(self, labelled=labelled)
                if self.engine == "spark"
                else count_rows(
                    self.source if labelled else self.source.bare(),
                    positive=self.positive,
                    memory_limit=self.memory,
                    threads=self.threads,
                    several=labelled,
                    drop_missing=self.drop_missing,
                    progress=progress,
                )
            )
        if counted.dropped is not None and counted.dropped["rows"]:
            out.warning(wording.dropped_rows(counted.dropped, counted.rows))
        groups = len(counted.table.groups)
        if groups > _MOST_GROUPS:
            raise Failure(
                f"{' x '.join(map(repr, self.groups))} makes {groups:,} groups; at most {_MOST_GROUPS} are compared.\n"
                "Hint: was a column of identifiers or of numbers named? Put its values into a few bands first."
            )
        return counted

    def files(self) -> list[Path]:
        """List the files that are read, which no output may replace; Spark's are its own affair."""
        return [] if self.engine == "spark" else self.source.inputs

    def describe(self) -> str:
        """Say which columns are used."""
        named = [f"score {self.score!r}"]
        named += [f"label {self.label!r}"] if self.label is not None else []
        named.append("group " + " x ".join(map(repr, self.groups)))
        named += [f"weight {self.weight!r}"] if self.weight is not None else []
        return ", ".join(named)

    def as_options(self) -> list[str]:
        """Return what was said of the rows beyond their columns, for a command that reads them again."""
        named = {
            "--positive": self.positive,
            "--weight": self.weight,
            "--format": self.format,
            "--delimiter": self.delimiter,
            "--decimal": None if self.decimal == "." else self.decimal,
            "--encoding": self.encoding,
        }
        words = [word for option, value in named.items() if value is not None for word in (option, value)]
        flags = [("--partitions", self.partitions), ("--drop-missing", self.drop_missing)]
        return [*words, *(option for option, given in flags if given)]

    def columns(self) -> dict[str, Any]:
        """Return the columns by the part they play, for JSON."""
        return {"score": self.score, "label": self.label, "group": list(self.groups), "weight": self.weight}

    def _check(self) -> None:
        check_spark_options(self)
        if any(not name.strip() for name in self.inputs):
            raise click.UsageError("a file is named by an empty text.")
        if self.inputs and self.sql is not None:
            raise click.UsageError("rows come either from files or from --sql, not both.")
        if not self.inputs and self.sql is None:
            raise click.UsageError("no file is named (and no --sql).")
        if self.database is not None and self.sql is None:
            raise click.UsageError("--database needs a query, --sql 'select ...'.")
        if "-" in self.inputs and len(self.inputs) > 1:
            raise click.UsageError("standard input (-) cannot be mixed with files.")
        named = [self.score, self.label, self.weight, *self.groups]
        twice = sorted({n for n in named if n is not None and named.count(n) > 1})
        if twice:
            raise click.UsageError(f"the column {twice[0]!r} cannot play two parts.")


def row_options(*, labelled: bool = True) -> Callable[[Command], Callable[..., Any]]:
    """Add the options to a command, which then takes them as one argument, ``rows``."""

    def decorate(command: Command) -> Callable[..., Any]:
        @functools.wraps(command)
        def inner(**values: Any) -> Any:
            names = {f.name for f in fields(RowOptions)} & set(values)
            rows = RowOptions(**{name: values.pop(name) for name in names})
            return command(rows=rows, **values)

        chosen: Callable[..., Any] = inner
        columns = [*_COLUMNS, *_OUTCOME] if labelled else _NAMED_BY_MAP
        for option in reversed([*columns, *_PLACES, settings_option]):
            chosen = option(chosen)
        return chosen

    return decorate


_COLUMNS = [
    click.argument("inputs", nargs=-1, metavar="[FILE]..."),
    click.option("--score", default="score", show_default=True, metavar="COLUMN", help="Column with the score."),
    click.option(
        "--group",
        "groups",
        multiple=True,
        default=("group",),
        show_default="group",
        metavar="COLUMN",
        help="Column with the group; give it several times for intersections.",
    ),
]
_NAMED_BY_MAP = [
    click.argument("inputs", nargs=-1, metavar="[FILE]..."),
    click.option("--score", default="", metavar="COLUMN", help="Column with the score; default: as in `fit`."),
    click.option(
        "--group", "groups", multiple=True, metavar="COLUMN", help="Column with the group; default: as in `fit`."
    ),
]
_OUTCOME = [
    click.option("--label", default="label", show_default=True, metavar="COLUMN", help="Column with the outcome."),
    click.option("--positive", metavar="VALUE", help="The positive label, where labels are not 0/1 or true/false."),
    click.option("--weight", metavar="COLUMN", help="Column with the weight of each row."),
    click.option(
        "--weights",
        type=click.Choice(["frequency", "importance"]),
        default="frequency",
        show_default=True,
        help="What weights mean for intervals: how many rows a row is, or how much it counts.",
    ),
]
_PLACES = [
    click.option("--format", type=click.Choice(FORMATS), help="Format of the files, where names do not say."),
    click.option("--sql", metavar="SELECT", help="Take the rows of a DuckDB query instead of files."),
    click.option("--database", metavar="FILE", help="The DuckDB file that --sql asks; it is only read."),
    click.option("--delimiter", metavar="CHARACTER", help="Between fields of CSV, or `tab`; default: found."),
    click.option("--decimal", type=click.Choice([".", ","]), default=".", help="Decimal mark of scores in CSV."),
    click.option("--encoding", metavar="NAME", help="Encoding of CSV, such as latin-1 or cp1252; default: utf-8."),
    click.option("--partitions", is_flag=True, help="Take folders named such as sex=F for columns."),
    click.option("--drop-missing", is_flag=True, help="Leave out rows with missing values, and say how many."),
    click.option("--memory", type=SIZE, default="2GB", show_default=True, metavar="SIZE", help="Memory of the scan."),
    click.option("--threads", type=click.IntRange(1), metavar="N", help="Threads of the scan; default: all cores."),
    click.option(
        "--engine",
        type=click.Choice(["duckdb", "spark"]),
        default="duckdb",
        show_default=True,
        help="What reads the rows: this machine, or a Spark cluster.",
    ),
    click.option("--master", metavar="URL", help="Where Spark runs, such as spark://host:7077; default: local[*]."),
]


def output_options(command: Command) -> Callable[..., Any]:
    """Add --json, --quiet and --debug to a command, which then takes an ``out``."""

    @functools.wraps(command)
    def inner(*, as_json: bool, quiet: bool, debug: bool, **values: Any) -> Any:
        with ending_cleanly(), wording.showing_values(debug):
            return command(out=Output(as_json=as_json, quiet=quiet), **values)

    chosen: Callable[..., Any] = inner
    chosen = click.option("--debug", is_flag=True, help="Show where an error came from, and what rows hold.")(chosen)
    chosen = click.option("-q", "--quiet", is_flag=True, help="Print nothing but errors.")(chosen)
    return click.option("--json", "as_json", is_flag=True, help="Print JSON on standard output.")(chosen)


def named_group(text: str | None, groups: Iterable[Hashable]) -> Hashable | None:
    """Find the group that was named: on a command line a number or a boolean is text as well."""
    if text is None:
        return None
    known = list(groups)
    for group in known:
        if str(group) == text or (isinstance(group, bool) and str(group).lower() == text.lower()):
            return group
    near = difflib.get_close_matches(text, list(map(str, known)), n=1)
    hint = f"did you mean {near[0]!r}?" if near else "names are compared letter by letter."
    raise Failure(f"there is no group {text!r}: the groups are {', '.join(map(shown, known))}.\nHint: {hint}")


def known_as(group: Hashable, known: Sequence[Hashable]) -> Hashable | None:
    """Find what a group of a file is called elsewhere: one may say 1 where the other says "1"; None if nothing."""
    return next((k for k in known if k == group or str(k) == str(group)), None)


def with_groups_of(table: ScoreTable, known: Sequence[Hashable], what: str, *, all_known: bool = True) -> ScoreTable:
    """Call the groups of a table as others are called; one file may say 1 where the other says "1".

    A group that is not known is an error, or, if not all have to be known, left out.
    """
    named: dict[Hashable, GroupCounts] = {}
    for group, counts in zip(table.groups, table.counts):
        same = known_as(group, known)
        if same is None and not all_known:
            continue
        if same is None:
            raise Failure(
                f"{what} has {int(counts.weight.sum())} rows with a group that is not in the map: {shown(group)} "
                f"(known: {', '.join(map(shown, known))}).\nHint: fit with those rows, or drop them."
            )
        named[same] = counts
    kept = table.only([group for group in table.groups if known_as(group, known) is not None])
    return kept.renamed(tuple(named))


def group_options(command: Command) -> Callable[..., Any]:
    """Add --min-group and --groups."""
    chosen: Callable[..., Any] = click.option(
        "--groups", "only", metavar="A,B", help="Compare these groups only; the others stay as they are."
    )(command)
    return click.option(
        "--min-group",
        type=click.IntRange(0),
        default=0,
        metavar="ROWS",
        help="Leave groups with fewer rows out of the comparison; they stay as they are.",
    )(chosen)


def listed_groups(text: str | None, groups: Iterable[Hashable]) -> list[Hashable] | None:
    """Find the groups that were named, with commas between them."""
    if text is None:
        return None
    known = list(groups)
    return [group for name in text.split(",") if (group := named_group(name.strip(), known)) is not None]
