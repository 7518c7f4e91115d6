"""What can be said of rows, declared once: options, settings, JSON and the next command follow from one list."""

from __future__ import annotations

import functools
import re
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from difflib import get_close_matches
from typing import Any, Literal

import click

from fairpot._said import WORDS, Reads
from fairpot._validation import wording
from fairpot._validation.followed import AfterTime
from fairpot._validation.grouping import Grouping
from fairpot.cli._errors import Failure
from fairpot.cli._options import (
    FILES,
    ROWS,
    SIZE,
    Command,
    Decorator,
    option,
    together,
    was_given,
    without_outcomes,
)
from fairpot.cli._printing import Output, shown
from fairpot.cli._settings import drop_idle, settings_matter, settings_option, tell_settings
from fairpot.rows.door import count_rows
from fairpot.rows.formats import FORMATS
from fairpot.rows.readers import CountedRows, Reader, reader
from fairpot.rows.roles import Roles
from fairpot.table import ScoreTable

_COUNTING = ("memory_limit", "threads")  # what readers are told when they count, not when rows are opened
_READS: tuple[Reads, ...] = ("names", "scores", "outcomes")
# Where an option stands in the settings file and in JSON; the scan's are at the top of the file and in no document,
# as they change no number.
Section = Literal["columns", "files", "scan"]


@dataclass(frozen=True)
class RowOption:
    """One thing that can be said of rows, and all it is known by."""

    name: str  # of the field of RowOptions
    text: str
    default: Any = None
    value: str = ""  # what --help calls it, or its choices; a flag has none
    key: str = ""  # in the settings file and in JSON
    section: Section = "columns"
    reads: Reads = "outcomes"  # the first kind of command that it means something to
    map_decides: bool = False  # where rows meet a map, nobody is asked
    source: str | None = ""  # what readers call it; None: they are not told when rows are opened
    type: Any = None
    rare: bool = False

    @property
    def flag(self) -> str:
        return "--" + self.key.replace("_", "-")

    @property
    def is_column(self) -> bool:
        return self.value == "COLUMN"

    def option(self, reads: Reads, several: bool = False) -> Decorator:
        """Make the click option for a command; where rows meet a map, it knows what columns were called."""
        default, text = self.default, self.text
        if several:
            default, text = (default,), f"{text.rstrip('.')}; several scores of the same rows are compared."
        if self.reads == "names" and reads != "outcomes":
            default, text = type(default)(), f"{text.partition(';')[0].rstrip('.')}; default: as in `fit`."
        more: dict[str, Any] = {"multiple": True} if isinstance(default, tuple) else {}
        more |= {} if self.type is None else {"type": self.type}
        section = ROWS if self.section == "columns" else FILES
        said = f"{self.flag} {self.value}"
        return option(said, text, self.name, default=default, section=section, rare=self.rare, **more)

    def words(self, value: Any) -> list[str]:
        """Say it again on a command line; nothing, where nothing is said."""
        if not value or (value == self.default and not self.is_column):
            return []
        texts = [f"{each:.15g}" if isinstance(each, float) else str(each) for each in _several(value)]
        return [self.flag] if value is True else [word for text in texts for word in (self.flag, text)]


def _said(text: str, default: Any = None, value: str = "", **more: Any) -> Any:
    return field(default=default, metadata={"text": text, "default": default, "value": value, **more})


def _word(name: str, default: Any = None, **more: Any) -> Any:
    """Make the option of a word about rows; ``default`` is what the command line takes where nothing is said."""
    word = WORDS[name]
    given = word.default if default is None else default
    known = {"reads": word.reads, "map_decides": word.map_decides, "rare": word.rare}
    return _said(word.says, given, word.value, key=word.key or name, **known | {"source": name} | more)


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
    """What is said of a command's rows: every field but the first three is an option of every command that it fits."""

    inputs: tuple[str, ...] = ()
    other_scores: tuple[str, ...] = ()  # of the same rows, where a command takes several
    score: str = _word("score", "score")
    label: str | None = _word("label", "label")
    positive: str | None = _word("pos_label")
    groups: tuple[str, ...] = _word("group", ("group",), source="groups")
    bands: tuple[str, ...] = _word("bands", (), source=None)
    unknown: str | None = _word("unknown", source=None)
    missing: str = _word("missing_group", source=None)
    time: str | None = _word("time")
    event: str | None = _word("event")
    horizon: float | None = _word("horizon", type=click.FLOAT)
    competing: str | None = _word("competing")
    leaving: str | None = _word("leaving")
    weight: str | None = _word("weight")
    weights: str | None = _word("weights")
    cluster: str | None = _word("cluster")
    lower_is_riskier: bool = _word("lower_is_riskier")
    high_score_means: str | None = _word("high_score_means")
    format: str | None = _file("Format of the files, where names do not say.", value="|".join(FORMATS))
    sql: str | None = _file("Take the rows of a DuckDB query instead of files.", value="SELECT")
    delimiter: str | None = _file(
        "Character between the fields of CSV, or `tab`; default: found in the file.", value="CHARACTER"
    )
    decimal: str = _file("Decimal mark of scores in CSV.", ".", ".|,")
    encoding: str | None = _file("Encoding of CSV, such as latin-1 or cp1252; default: utf-8.", value="NAME")
    sheet: str | None = _file("Sheet of an Excel workbook that has several.", value="NAME")
    drop_missing: bool = _word("drop_missing", section="files", source=None)
    memory: str = _scan("Memory of the whole process.", "2GB", "SIZE", type=SIZE, source="memory_limit")
    threads: int | None = _scan(
        "Threads of the scan; default: all cores.", value="N", type=click.IntRange(1), source="threads"
    )
    engine: str = _scan(
        "What reads the rows: duckdb here, spark on a cluster, or another that is installed.", "duckdb", "NAME"
    )
    master: str | None = _scan(
        "Where Spark runs, such as spark://host:7077; default: this machine, all cores.", value="URL", source="master"
    )

    fitted: Grouping | None = None  # what a map, or the rows that were fitted on, say of values of group columns

    @functools.cached_property
    def grouping(self) -> Grouping | None:
        """What is said of values of the group columns."""
        if self.fitted is not None:
            return self.fitted
        read = [*map(_read_bands, self.bands)]
        bands = dict(read)
        if len(bands) < len(read):
            raise click.UsageError("--bands cuts each column once, and one is named twice.")
        unknown = None if self.unknown is None else [name.strip() for name in self.unknown.split(",")]
        if unknown is not None and not all(unknown):
            raise click.UsageError(f"--unknown names an empty value: {self.unknown!r}.")
        return Grouping.of(bands, unknown, self.missing)

    @functools.cached_property
    def reader(self) -> Reader:
        """What reads the rows, chosen here and nowhere else."""
        self._check()
        return reader(self.engine)

    @functools.cached_property
    def source(self) -> Roles:
        """The rows and the parts of their columns; made once, since standard input can be read once."""
        known = self.reader.options
        for each, value in self._given():
            if each.section != "columns" and each.source not in (None, *known) and value != each.default:
                raise click.UsageError(f"{each.flag} is not an option of --engine {self.engine}.")
        said = self._told("files", "scan")
        said["delimiter"] = {"tab": "\t", "\\t": "\t"}.get(self.delimiter or "", self.delimiter)
        reading = {name: value for name, value in said.items() if name in known and name not in _COUNTING}
        path: Any = self.inputs[0] if len(self.inputs) == 1 else list(self.inputs)
        parts = self._told("columns") | {"grouping": self.grouping}
        return self.reader.open(path if self.inputs else None, parts, reading)

    def _told(self, *sections: Section) -> dict[str, Any]:
        """Return what readers are told, by the names that they know."""
        told = [each for each in ROW_OPTIONS if each.section in sections and each.source is not None]
        return {str(each.source): getattr(self, each.name) for each in told}

    def of_map(self, model: Any) -> RowOptions:
        """Take from a map what was not given: the names of columns, which way scores run, what a high one does."""
        known = model.columns_ or {"score": "score", "group": ["group"]}
        known_meaning = model.high_score_means_
        wrong = ""
        if (typed := typed_option("bands", "unknown", "missing")) is not None:
            wrong = f"the map says how values become groups, and so does {typed}"
        elif self.lower_is_riskier and not model.lower_is_riskier_:
            wrong = "the map was fitted without --lower-is-riskier, so it takes a high score for high risk"
        elif self.high_score_means is not None and known_meaning not in (None, self.high_score_means):
            wrong = f"the map was fitted with --high-score-means {known_meaning}, "
            wrong += f"and this is --high-score-means {self.high_score_means}"
        if wrong:
            raise Failure(f"{wrong}.\nHint: leave that option out, or fit the map again with it.")
        return replace(
            self,
            score=known["score"] if _left_open("score") else self.score,
            groups=tuple(known["group"]) if _left_open("groups") else self.groups,
            lower_is_riskier=model.lower_is_riskier_,
            high_score_means=known_meaning or self.high_score_means,
            fitted=model.grouping_,
        )

    def unlabelled(self) -> RowOptions:
        """Take no outcomes; what settings say of them gives way."""
        without_outcomes("label", "positive", *AfterTime._fields)
        unset: dict[str, Any] = dict.fromkeys(AfterTime._fields)
        return replace(self, label=None, **unset)

    def elsewhere(self, inputs: Sequence[str]) -> RowOptions:
        return replace(self, inputs=tuple(inputs), sql=None)

    def counted(self, out: Output, what: str = "counting rows", like: ScoreTable | None = None) -> CountedRows:
        """Count the rows into a score table, with a bar that shows how far it is; groups are cut ``like`` others."""
        source = self.source if like is None else self.source.but(grouping=like.grouping)
        with out.progress(what, known="threads" in self.reader.options) as progress:
            known = set(_COUNTING) & set(self.reader.options)
            how = {name: value for name, value in self._told("scan").items() if name in known}
            counted = count_rows(source, drop_missing=self.drop_missing, progress=progress, **how)
        if counted.dropped is not None and counted.dropped["rows"]:
            out.note(wording.dropped_rows(counted.dropped, counted.rows))
        return counted

    def describe(self) -> str:
        columns = [(each.key, _several(value)) for each, value in self._given() if each.is_column]
        return ", ".join(f"{key} {' x '.join(map(repr, names))}" for key, names in columns)

    def as_options(self, *, of_map: bool = False) -> list[str]:
        """Return what was said of the rows, for a command that reads them again, or others with a map of them."""
        wanted, settings = ("scores",) if of_map else _READS, settings_matter()
        said = [(each, value) for each, value in self._given() if settings or value != each.default]
        return [word for each, value in said if each.reads in wanted for word in each.words(value)]

    def said(self, reads: Reads = "outcomes") -> RowsSaid:
        said: dict[str, dict[str, Any]] = {"columns": {}, "files": {}, "scan": {}}
        for each in meant_for(reads):
            value = getattr(self, each.name)
            said[each.section][each.key] = list(value) if isinstance(value, tuple) else value
        return RowsSaid(said["columns"], self.inputs, said["files"])

    def _given(self) -> list[tuple[RowOption, Any]]:
        return [(each, value) for each in ROW_OPTIONS if (value := getattr(self, each.name))]

    def _check(self) -> None:
        named = [name for each, value in self._given() if each.is_column for name in _several(value)]
        twice = sorted({name for name in named if named.count(name) > 1})
        mistakes = (
            (any(not name.strip() for name in self.inputs), "a file is named by an empty text."),
            (self.inputs and self.sql is not None, "rows come either from files or from --sql, not both."),
            (not self.inputs and self.sql is None, "no file is named (and no --sql)."),
            ("-" in self.inputs and len(self.inputs) > 1, "standard input (-) cannot be mixed with files."),
            (
                self.weight is None and self.weights is not None,
                f"--weights {self.weights} says what weights mean: it needs --weight.",
            ),
            (twice, f"the column {''.join(twice[:1])!r} cannot play two parts."),
        )
        for wrong, what in mistakes:
            if wrong:
                raise click.UsageError(what)


def _read_bands(text: str) -> tuple[str, Any]:
    """Read age:25,45,65 or age:4, and age:25, of one edge; what is no number is told where bands are checked."""
    column, _, said = text.rpartition(":")
    if not column:
        raise click.UsageError(f"--bands {text} names no column, as --bands age:25,45,65 and --bands age:4 do.")
    return column, int(said) if re.fullmatch(r"[+-]?[0-9]+", said.strip()) else said.removesuffix(",").split(",")


def _left_open(name: str) -> bool:
    return click.get_current_context().get_parameter_source(name) in (None, click.core.ParameterSource.DEFAULT)


def _several(value: Any) -> tuple[Any, ...]:
    return value if isinstance(value, tuple) else (value,)


ROW_OPTIONS = tuple(
    RowOption(each.name, **{"key": each.name, "source": each.name, **each.metadata})
    for each in fields(RowOptions)
    if each.metadata
)


def typed_option(*names: str) -> str | None:
    """Give the first option of rows that was typed, if one was; of these names, or of all."""
    return next((o.flag for o in ROW_OPTIONS if was_given(o.name) and (not names or o.name in names)), None)


def meant_for(reads: Reads) -> list[RowOption]:
    """List what means something to a command: the one rule for all of them."""
    return [each for each in ROW_OPTIONS if _READS.index(each.reads) <= _READS.index(reads)]


def row_options(reads: Reads = "outcomes", *, several_scores: bool = False) -> Decorator:
    """Add the options to a command, which then takes them as one argument, ``rows``."""
    options = [each for each in meant_for(reads) if reads == "outcomes" or not each.map_decides]
    absent: dict[str, Any] = {each.name: None for each in ROW_OPTIONS if each.is_column and each not in options}
    named = [click.argument("inputs", nargs=-1, metavar="[FILE]...")] if reads != "names" else []

    def decorate(command: Command) -> Any:
        @functools.wraps(command)
        def inner(**values: Any) -> Any:
            drop_idle(values)  # they are read by now
            tell_settings()
            del values["settings"], values["no_settings"]
            names = {each.name for each in fields(RowOptions)} & set(values)
            if several_scores:
                values["score"], *others = values["score"]
                values["other_scores"] = tuple(others)
                names.add("other_scores")
            rows = RowOptions(**absent, **{name: values.pop(name) for name in names})
            if rows.event is not None and _left_open("label"):
                rows = replace(rows, label=None)  # outcomes are those by the horizon
            return command(rows=rows, **values)

        return together(
            *named, *(each.option(reads, several_scores and each.name == "score") for each in options), settings_option
        )(inner)

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
    near = get_close_matches(text, list(map(str, known)), n=1)
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
    if text is None:
        return None
    known = list(groups)
    return [group for name in text.split(",") if (group := named_group(name.strip(), known)) is not None]
