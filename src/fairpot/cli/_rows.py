"""What can be said of rows, declared once: options, settings, JSON and the next command follow from one list."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_type_hints

import click

from fairpot._defaults import MEANINGS
from fairpot._validation import wording
from fairpot.cli._errors import Failure
from fairpot.cli._options import SECTIONS, SIZE, Command, Placed, with_options
from fairpot.cli._printing import Output, shown
from fairpot.cli._settings import drop_idle, settings_option, tell_settings
from fairpot.rows.door import count_rows
from fairpot.rows.formats.layout import FORMATS
from fairpot.rows.readers import CountedRows, Reader, reader
from fairpot.rows.roles import Roles
from fairpot.table import ScoreTable

_MOST_GROUPS = 250
_COUNTING = ("memory_limit", "threads")  # what readers are told when they count, not when rows are opened
# What a command does with rows: names columns of somebody else's, reads scores and groups, counts outcomes. Each has
# the options of those before it.
Reads = Literal["names", "scores", "outcomes"]
_READS: tuple[Reads, ...] = ("names", "scores", "outcomes")
# Where an option stands in the settings file and in JSON; the scan's are at the top of the file and in no document,
# as they change no number.
Section = Literal["columns", "files", "scan"]


class RowOption(NamedTuple):
    """One thing that can be said of rows, and all it is known by."""

    name: str  # of the field of RowOptions
    flag: str  # on the command line
    key: str  # in the settings file and in JSON
    section: Section
    reads: Reads  # the first kind of command that it means something to
    map_decides: bool  # where rows meet a map, nobody is asked
    source: str | None  # what readers call it
    default: Any
    help: str
    more: Mapping[str, Any]  # that click is told

    @property
    def is_column(self) -> bool:
        """Whether it names a column."""
        return self.more.get("metavar") == "COLUMN"

    def option(self, reads: Reads) -> Callable[..., Any]:
        """Make the click option for a command; where rows meet a map, it knows what columns were called."""
        default, text, more = self.default, self.help, dict(self.more)
        if self.reads == "names" and reads != "outcomes":
            default, text = type(default)(), f"{text.partition(';')[0].rstrip('.')}; default: as in `fit`."
        elif default and not more.get("is_flag"):
            more["show_default"] = ", ".join(default) if isinstance(default, tuple) else True
        section = SECTIONS[1] if self.section == "columns" else SECTIONS[2]
        return click.option(self.flag, self.name, cls=Placed, section=section, default=default, help=text, **more)

    def words(self, value: Any) -> list[str]:
        """Say it again on a command line; nothing, where nothing is said."""
        if not value or (value == self.default and not self.is_column):
            return []
        if value is True:
            return [self.flag]
        return [word for each in (value if isinstance(value, tuple) else (value,)) for word in (self.flag, str(each))]


def _said(
    text: str,
    default: Any = None,
    *,
    section: Section = "columns",
    reads: Reads = "outcomes",
    map_decides: bool = False,
    key: str | None = None,
    source: str | None = "",
    **more: Any,
) -> Any:
    """Declare an option of rows; ``source`` is None for what readers are not told when rows are opened."""
    said = (key, section, reads, map_decides, source, default, text, more)
    return field(default=default, metadata={"said": said})


_column = functools.partial(_said, metavar="COLUMN")
_file = functools.partial(_said, section="files", reads="scores")
_scan = functools.partial(_said, section="scan", reads="scores", source=None)


@dataclass(frozen=True)
class RowsSaid:
    """What was said of rows, as documents have it."""

    columns: Mapping[str, Any]
    inputs: tuple[str, ...]
    files: Mapping[str, Any]


@dataclass(frozen=True)
class RowOptions:
    """What is said of a command's rows: every field but the first is an option of every command that it fits."""

    inputs: tuple[str, ...] = ()
    score: str = _column("Column with the score.", "score", reads="names")
    label: str | None = _column("Column with the outcome.", "label")
    positive: str | None = _said(
        "Value that means the outcome happened, if it is not 0/1 or true/false.", metavar="VALUE", source="pos_label"
    )
    groups: tuple[str, ...] = _column(
        "Column with the group; give it several times for intersections.",
        ("group",),
        reads="names",
        key="group",
        multiple=True,
    )
    weight: str | None = _column("Column with the weight of each row.")
    weights: str | None = _said(
        "What a weight is: how much a row counts (importance, unless you ask), or how many rows it is (frequency).",
        type=click.Choice(["frequency", "importance"]),
    )
    cluster: str | None = _column("Column that says which rows belong together, such as the patient.")
    lower_is_riskier: bool = _said(
        "A low score means high risk, as with credit scores.", False, reads="names", map_decides=True, is_flag=True
    )
    high_score_means: str | None = _said(
        "What a high score does to the person: help (an offer, a place) or harm (a denial, an arrest).",
        reads="names",
        map_decides=True,
        type=click.Choice(MEANINGS),
    )
    format: str | None = _file("Format of the files, where names do not say.", type=click.Choice(FORMATS))
    sql: str | None = _file("Take the rows of a DuckDB query instead of files.", metavar="SELECT")
    database: str | None = _file("DuckDB file that the query of --sql reads; it is not changed.", metavar="FILE")
    delimiter: str | None = _file(
        "Character between the fields of CSV, or `tab`; default: found in the file.", metavar="CHARACTER"
    )
    decimal: str = _file("Decimal mark of scores in CSV.", ".", type=click.Choice([".", ","]))
    encoding: str | None = _file("Encoding of CSV, such as latin-1 or cp1252; default: utf-8.", metavar="NAME")
    sheet: str | None = _file("Sheet of an Excel workbook that has several.", metavar="NAME")
    follow_links: bool = _file("Follow links inside folders; without it, a link is an error.", False, is_flag=True)
    drop_missing: bool = _file(
        "Leave out rows with missing values, and say how many.", False, is_flag=True, source=None
    )
    memory: str = _scan("Memory of the whole process.", "2GB", type=SIZE, metavar="SIZE", source="memory_limit")
    threads: int | None = _scan(
        "Threads of the scan; default: all cores.", type=click.IntRange(1), metavar="N", source="threads"
    )
    engine: str = _scan(
        "What reads the rows: duckdb on this machine, spark on a cluster, or another that is installed.",
        "duckdb",
        metavar="NAME",
    )
    master: str | None = _scan(
        "Where Spark runs, such as spark://host:7077; default: this machine, all cores.", metavar="URL", source="master"
    )

    @functools.cached_property
    def reader(self) -> Reader:
        """What reads the rows, chosen here and nowhere else."""
        self._check()
        return reader(self.engine)

    @functools.cached_property
    def source(self) -> Roles:
        """The rows and the parts of their columns; made once, since standard input can be read once."""
        known = self.reader.options
        for option, value in self._given():
            if option.section != "columns" and option.source not in (None, *known) and value != option.default:
                raise click.UsageError(f"{option.flag} is not an option of --engine {self.engine}.")
        said = self._told("files", "scan")
        said["delimiter"] = {"tab": "\t", "\\t": "\t"}.get(self.delimiter or "", self.delimiter)
        reading = {name: value for name, value in said.items() if name in known and name not in _COUNTING}
        path: Any = self.inputs[0] if len(self.inputs) == 1 else list(self.inputs)
        return self.reader.open(path if self.inputs else None, self._told("columns"), reading)

    def _told(self, *sections: Section) -> dict[str, Any]:
        """Return what readers are told, by the names that they know."""
        told = [each for each in ROW_OPTIONS if each.section in sections and each.source is not None]
        return {str(each.source): getattr(self, each.name) for each in told}

    def of_map(self, model: Any) -> RowOptions:
        """Take from a map what was not given: the names of columns, which way scores run, what a high one does."""
        known = model.columns_ or {"score": "score", "group": ["group"]}
        if self.lower_is_riskier and not model.lower_is_riskier_:
            raise Failure(
                "the map was fitted without --lower-is-riskier, so it takes a high score for high risk.\n"
                "Hint: leave --lower-is-riskier out, or fit the map again with it."
            )
        known_meaning = model.high_score_means_
        if self.high_score_means is not None and known_meaning not in (None, self.high_score_means):
            raise Failure(
                f"the map was fitted with --high-score-means {known_meaning}, and this is --high-score-means "
                f"{self.high_score_means}.\nHint: leave it out, or fit the map again."
            )
        return replace(
            self,
            score=known["score"] if _left_open("score") else self.score,
            groups=tuple(known["group"]) if _left_open("groups") else self.groups,
            lower_is_riskier=model.lower_is_riskier_,
            high_score_means=known_meaning or self.high_score_means,
        )

    def elsewhere(self, inputs: Sequence[str]) -> RowOptions:
        """Return the same columns of other files."""
        return replace(self, inputs=tuple(inputs), sql=None, database=None)

    def counted(self, out: Output, what: str = "counting rows") -> CountedRows:
        """Count the rows into a score table, with a bar that shows how far it is."""
        source = self.source
        with out.progress(what, known="threads" in self.reader.options) as progress:
            how = {name: value for name, value in self._told("scan").items() if name in _COUNTING}
            how = {name: value for name, value in how.items() if name in self.reader.options}
            counted = count_rows(source, drop_missing=self.drop_missing, progress=progress, **how)
        if counted.dropped is not None and counted.dropped["rows"]:
            out.note(wording.dropped_rows(counted.dropped, counted.rows))
        groups = len(counted.table.groups)
        if groups > _MOST_GROUPS:
            raise Failure(
                f"{' x '.join(map(repr, self.groups))} makes {groups:,} groups; at most {_MOST_GROUPS} are compared.\n"
                "Hint: was a column of identifiers or of numbers named? Put its values into a few bands first."
            )
        return counted

    def apply(self, model: Any, output: str, out: Output, **options: Any) -> dict[str, Any]:
        """Write the rows with their adjusted score; return what there is to say about it."""
        from fairpot.rows.applying import apply  # most commands write no rows

        source = self.source
        with out.progress("adjusting") as bar:
            done = apply(
                model,
                source,
                output,
                drop_missing=self.drop_missing,
                memory_limit=self.memory,
                threads=self.threads,
                progress=None if bar is None else lambda done, total: bar(done / max(total, 1)),
                **options,
            )
        return dict(vars(done))

    def files(self) -> list[Path]:
        """List the files that are read, which no output may replace; those of a cluster are its own affair."""
        return self.source.inputs

    def at(self, threshold: float | None) -> float | None:
        """Return where a threshold of the user's stands among scores that are counted with a minus."""
        return -threshold if self.lower_is_riskier and threshold is not None else threshold

    def describe(self) -> str:
        """Say which columns are used."""
        return ", ".join(f"{option.key} {_listed(value)}" for option, value in self._given() if option.is_column)

    def as_options(self, *, of_map: bool = False) -> list[str]:
        """Return what was said of the rows, for a command that reads them again, or others with a map of them."""
        wanted = ("scores",) if of_map else _READS
        return [word for option, value in self._given() if option.reads in wanted for word in option.words(value)]

    def said(self, reads: Reads = "outcomes") -> RowsSaid:
        """Return what was said of the rows, for JSON."""
        said: dict[str, dict[str, Any]] = {"columns": {}, "files": {}, "scan": {}}
        for option in _meant_for(reads):
            said[option.section][option.key] = _plain(getattr(self, option.name))
        return RowsSaid(said["columns"], self.inputs, said["files"])

    def _given(self) -> list[tuple[RowOption, Any]]:
        return [(option, value) for option in ROW_OPTIONS if (value := getattr(self, option.name))]

    def _check(self) -> None:
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
        if self.weight is None and self.weights is not None:
            raise click.UsageError(f"--weights {self.weights} says what weights mean: it needs --weight.")
        named = [name for option, value in self._given() if option.is_column for name in _several(value)]
        twice = sorted({name for name in named if named.count(name) > 1})
        if twice:
            raise click.UsageError(f"the column {twice[0]!r} cannot play two parts.")


def _left_open(name: str) -> bool:
    """Tell whether neither the command line nor a settings file said anything of an option."""
    return click.get_current_context().get_parameter_source(name) in (None, click.core.ParameterSource.DEFAULT)


def _several(value: Any) -> tuple[Any, ...]:
    return value if isinstance(value, tuple) else (value,)


def _listed(value: Any) -> str:
    return " x ".join(map(repr, _several(value)))


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def _declared() -> tuple[RowOption, ...]:
    """Read the options off the fields."""
    found = []
    for each in fields(RowOptions):
        if "said" not in each.metadata:
            continue
        key, section, reads, map_decides, source, *rest = each.metadata["said"]
        key, source = key or each.name, each.name if source == "" else source
        flag = "--" + key.replace("_", "-")
        found.append(RowOption(each.name, flag, key, section, reads, map_decides, source, *rest))
    return tuple(found)


ROW_OPTIONS = _declared()


def _meant_for(reads: Reads) -> list[RowOption]:
    """List what means something to a command: the one rule for all of them."""
    return [option for option in ROW_OPTIONS if _READS.index(option.reads) <= _READS.index(reads)]


def types_of(reads: Reads, section: Section) -> dict[str, Any]:
    """Give the keys of a section that a command's document has, with their types."""
    types = get_type_hints(RowOptions)
    return {each.key: types[each.name] for each in _meant_for(reads) if each.section == section}


def row_options(reads: Reads = "outcomes") -> Callable[[Command], Callable[..., Any]]:
    """Add the options to a command, which then takes them as one argument, ``rows``."""
    options = [each for each in _meant_for(reads) if reads == "outcomes" or not each.map_decides]
    absent: dict[str, Any] = {each.name: None for each in ROW_OPTIONS if each.is_column and each not in options}
    named = [click.argument("inputs", nargs=-1, metavar="[FILE]...")] if reads != "names" else []

    def decorate(command: Command) -> Callable[..., Any]:
        @functools.wraps(command)
        def inner(**values: Any) -> Any:
            drop_idle(values)  # they are read by now
            tell_settings()
            del values["settings"], values["no_settings"]
            names = {each.name for each in fields(RowOptions)} & set(values)
            rows = RowOptions(**absent, **{name: values.pop(name) for name in names})
            return command(rows=rows, **values)

        return with_options(inner, [*named, *(each.option(reads) for each in options), settings_option])

    return decorate


def named_group(text: str | None, groups: Iterable[Hashable]) -> Hashable | None:
    """Find the group that was named: on a command line a number or a boolean is text as well."""
    if text is None:
        return None
    known = list(groups)
    for group in known:
        if str(group) == text or (isinstance(group, bool) and str(group).lower() == text.lower()):
            return group
    plain = re.sub(r"[^=,/]+=", "", text.replace(" / ", ", "))  # as tables show intersections
    short = [group for group in known if re.sub(r"(^|, )[^=,]+=", r"\1", str(group)) == plain]
    if len(short) == 1:
        return short[0]
    import difflib

    near = difflib.get_close_matches(text, list(map(str, known)), n=1)
    hint = f"did you mean {near[0]!r}?" if near else "upper and lower case matter."
    raise Failure(f"there is no group {text!r}: the groups are {', '.join(map(shown, known))}.\nHint: {hint}")


def with_groups_of(table: ScoreTable, known: Sequence[Hashable], what: str) -> ScoreTable:
    """Call the groups of a table as others are called; one file may say 1 where the other says "1"."""
    named = {group: next((k for k in known if k == group or str(k) == str(group)), None) for group in table.groups}
    for group, same in named.items():
        if same is None:
            raise Failure(
                f"{what} has {table[group].size:g} rows with a group that is not in the map: {shown(group)} "
                f"(known: {', '.join(map(shown, known))}).\nHint: fit with those rows, or drop them."
            )
    return table.renamed(tuple(named.values()))


def listed_groups(text: str | None, groups: Iterable[Hashable]) -> list[Hashable] | None:
    """Find the groups that were named, with commas between them."""
    if text is None:
        return None
    known = list(groups)
    return [group for name in text.split(",") if (group := named_group(name.strip(), known)) is not None]
