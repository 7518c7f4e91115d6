"""Rules: what somebody else asks an audit for, in a small TOML file, and the table that answers it."""

from __future__ import annotations

import csv
import functools
import io
import os
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from os import PathLike
from typing import Any, ClassVar, Literal, get_args

from fairpot import words
from fairpot._arguments import argument
from fairpot._defaults import LEVEL, Meaning, Ties
from fairpot._html import html_cells, notes, paragraph
from fairpot._shown import ends_of, frame_of
from fairpot._validation.grouping import MISSING
from fairpot.counts import GroupCounts
from fairpot.inference import Estimate, confidence_interval
from fairpot.inference.rates import NOWHERE, Cut, Measuring
from fairpot.inference.same_rate import RateTest, same_rate
from fairpot.metrics.rates import RATES
from fairpot.results.kinds import Count, Derived, Group, Plain, Share, Told
from fairpot.results.rates import Rate, Rates, favourable_side, measurable, rates_at
from fairpot.table import ScoreTable
from fairpot.words.style import values_of
from fairpot.words.tables import markdown_lines

Show = Literal["value", "difference", "ratio", "test"]
Where = Literal["asked", "threshold", "median"]
_AUC = "auc"  # the one number of a rule that is not a rate
_SELECTED = "selection_rate"  # the one rate of a rule that is of the favourable side of a cut
_SIDE = "selected"
_UNTESTED = RateTest(None, None, None)
_HEADS = ("", "by", "where", "group", "rows", _SIDE)  # columns that have their names, or none
_SEE = "Hint: see https://fairpot.github.io/fairpot/how-to/rules.html"


@dataclass(frozen=True)
class Section:
    """One table of a rule: which rates, and what is shown of them.

    That is the rate itself, its difference or ratio to the highest, or a test of whether it differs from that.
    """

    title: str
    rates: tuple[str, ...]
    show: tuple[str, ...] = ("value",)


@dataclass(frozen=True)
class Rule:
    """What a rule asks for, as its file has it.

    ``cut``: "asked" takes thresholds and tops as they are given, else the top 10%; "threshold" needs one; "median" is
    above the median of all scores. ``each_column`` adds a table for every column of groups. Groups named as in
    ``unknown`` are counted and not compared, nor are those of less than ``least_share`` of the rows. ``minimum`` is
    what ratios are compared with, and ``names`` what people call rates, rows, ratios and the minimum.
    """

    title: str
    section: tuple[Section, ...]
    source: str = ""
    date: str = ""
    cut: str = "asked"
    needs_outcomes: bool = True
    each_column: bool = False
    minimum: float = 0.0
    least_share: float = 0.0
    unknown: tuple[str, ...] = ()
    judgement: tuple[str, ...] = ()
    names: Mapping[str, str] | None = None

    def called(self, name: str) -> str:
        """Name a rate, rows, a ratio or the minimum as the rule does."""
        usual = RATES[name].title if name in RATES else {_AUC: "AUC", "minimum": f"{self.minimum:g}"}.get(name, name)
        return (self.names or {}).get(name, usual)

    @property
    def compares_several(self) -> bool:
        """Whether there are differences or ratios of several rates, which then need the name of their rate."""
        return len({name for each in self.section if set(each.show) != {"value"} for name in each.rates}) > 1


def read_rule(rule: str | PathLike[str]) -> Rule:
    """Read a rule: one of fairpot's by its name, or a TOML file by its path."""
    import tomllib  # few audits follow a rule
    from importlib import resources

    from fairpot.modelfile.files import toml_of

    if not isinstance(rule, str | PathLike):
        raise TypeError(f"rule must be a name such as 'll144', or the path of a TOML file, got {rule!r:.60}.")
    path = os.fspath(rule)
    folder = resources.files("fairpot.results").joinpath("rules")
    known = sorted(each.name.removesuffix(".toml") for each in folder.iterdir() if each.name.endswith(".toml"))
    if path in known:
        return _rule(tomllib.loads(folder.joinpath(f"{path}.toml").read_text(encoding="utf-8")), path)
    if not path.endswith(".toml"):
        hint = f"Hint: known are {', '.join(known)}; a rule of your own is a file whose name ends in .toml."
        raise ValueError(f"there is no rule {path!r}.\n{hint}")
    return _rule(toml_of(path, "the rule", _SEE), path)


def _rule(content: Plain, path: str) -> Rule:
    """Check a rule, key by key."""
    sections = content.get("section")
    if not isinstance(sections, list) or not sections or not all(isinstance(each, dict) for each in sections):
        raise ValueError(f"the rule {path!r} has no [[section]], which names the rates of a table.\n{_SEE}")
    made = [Section(**_checked(each, Section, f"the rule {path!r}, [[section]]")) for each in sections]
    rule = Rule(**_checked(content | {"section": tuple(made)}, Rule, f"the rule {path!r}"))
    choices: list[tuple[str, Sequence[str], Sequence[str]]] = [("cut", [rule.cut], get_args(Where))]
    choices += [("rates", each.rates, (*RATES, _AUC)) for each in made]
    choices += [("show", each.show, get_args(Show)) for each in made]
    choices += [("names", list(rule.names or ()), (*RATES, _AUC, "rows", "ratio", "difference", "test", "minimum"))]
    for key, given, allowed in choices:
        for place, value in enumerate(given):
            if value in given[:place]:
                raise ValueError(f"the rule {path!r}: {key} has {value!r} twice.\n{_SEE}")
            if value not in allowed:
                raise ValueError(f"the rule {path!r}: {key} has {value!r}, and knows {', '.join(allowed)}.\n{_SEE}")
    for key, share in (("minimum", rule.minimum), ("least_share", rule.least_share)):
        if not 0 <= share <= 1:
            raise ValueError(f"the rule {path!r}: {key} must lie in [0, 1], got {share!r}.\n{_SEE}")
    called = [rule.called(name) for name in (*RATES, _AUC, "ratio", "difference", "test")]
    for name in (rule.names or {}).values():
        if called.count(name) > 1 or name.strip() in _HEADS:
            raise ValueError(f"the rule {path!r}: names has {name!r}, which would name two columns.\n{_SEE}")
    for each in made:
        _check_rates(each, rule, f"the rule {path!r}, [[section]] {each.title!r:.60}")
    return rule


def _check_rates(section: Section, rule: Rule, where: str) -> None:
    """Insist on rates that can be shown as asked for, without outcomes where the rule needs none."""
    for name in section.rates:
        rate = RATES.get(name)
        lacks = set[str]() if rate is not None and rate.scale == "share" else {"test"}
        lacks |= {"difference", "ratio"} if rate is None else {"ratio"} if rate.scale == "free" else set()
        for show in section.show:  # in their order: the first is named
            if show in lacks:
                raise ValueError(f"{where}: {name} has no {show}.\n{_SEE}")
        if (rate is None or rate.needs_outcomes) and not rule.needs_outcomes:
            raise ValueError(f"{where}: {name} needs outcomes, and needs_outcomes is false.\n{_SEE}")


def _checked(content: Plain, kind: type, where: str) -> Plain:
    """Insist on keys that are known, of the right kind, and on those that have no default."""
    known = {each.name: each for each in fields(kind)}
    for key, value in content.items():
        if key not in known:
            raise ValueError(f"{where} has a key that is not known, {key!r:.60}.\nHint: known are {', '.join(known)}.")
        text = str(known[key].type)
        wanted, right = {
            "str": ("a text", isinstance(value, str)),
            "bool": ("true or false", isinstance(value, bool)),
            "float": ("a number", isinstance(value, int | float) and not isinstance(value, bool)),
            "tuple[str, ...]": ("a list of texts", _all_texts(value)),
            "Mapping[str, str] | None": ("texts", isinstance(value, dict) and _all_texts(list(value.values()))),
        }.get(text, ("", True))
        if not right:
            raise ValueError(f"{where}: {key} must be {wanted}.\n{_SEE}")
    missing = [key for key in ("title", "rates", "show") if key in known and not content.get(key, key == "show")]
    if missing:
        raise ValueError(f"{where} has no {missing[0]}.\n{_SEE}")
    return {key: tuple(value) if isinstance(value, list) else value for key, value in content.items()}


def _all_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(each, str) for each in value)


@dataclass(frozen=True)
class Number:
    """A number of a rule's table, as the rule calls it; ``reading`` says how a ratio compares with its minimum.

    A test has no value: ``test`` is it.
    """

    name: str
    value: Estimate | None
    reading: str | None = None
    test: RateTest | None = None


@dataclass(frozen=True)
class Line:
    """One group in a rule's table."""

    group: Group
    rows: Count
    numbers: tuple[Number, ...]


@dataclass(frozen=True)
class Table:
    """One table of a rule: by which columns, at which cut, which groups are not compared, which rates there are not.

    ``selected`` names the side of the cut that counts as selected, where a table has selection rates or reads ratios;
    it follows from what a high score means. ``not_read`` are the rates of the other side, whose ratios are not read.
    """

    title: str
    by: tuple[str, ...]
    where: str
    selected: str | None
    high_score_means: Meaning | None
    lower_is_riskier: bool
    not_read: tuple[str, ...]
    minimum_called: str
    rows_called: str
    lines: tuple[Line, ...]
    unknown: Count
    left_out: tuple[Group, ...]
    least_share: Share
    not_known: tuple[str, ...]

    @property
    def side(self) -> str | None:
        """Which side of the cut counts as selected, and why, in words."""
        if self.selected is None:
            return None
        return words.selected_means(self.selected, self.high_score_means, self.lower_is_riskier)

    def cells(self) -> tuple[list[str], list[list[str]]]:
        """Write the table: heads and rows, each number with its limits in one cell, and its reading in the next."""
        heads, rows = ["group", self.rows_called], [[str(line.group), words.count(line.rows)] for line in self.lines]
        for column in zip(*(line.numbers for line in self.lines)):
            read = any(number.reading for number in column)
            heads += [column[0].name, *["reading"][: int(read)]]
            for row, number in zip(rows, column):
                test = number.test
                cell = words.FRACTIONS.in_cell(number.value) if test is None else words.test_cell(test)
                row += [cell, *[number.reading or ""][: int(read)]]
        return heads, rows

    def notes(self) -> list[str]:
        """Say who counts as selected, how was tested, which groups are not compared, and why there is no interval."""
        numbers = [number for line in self.lines for number in line.numbers]
        said = [text for text in [self.side] if text is not None]
        said += [words.not_read(self.not_read, self.minimum_called)] if self.not_read else []
        tests = [number.test for number in numbers if number.test is not None]
        methods = {test.method for test in tests if test.method is not None}
        said += [words.how_tested(methods)] if methods else []
        said += [words.unknown_rows(self.unknown)] if self.unknown else []
        said += [words.left_out_small(self.left_out, self.least_share)] if self.left_out else []
        said += [words.not_of_probabilities(self.not_known)] if self.not_known else []
        estimates = [number.value for number in numbers if number.value is not None]
        reasons = {each.reason for each in estimates if each.reason is not None}
        said += [f"no interval: {reason}" for reason in sorted(reasons)]
        return said + [f"no test: {reason}" for reason in sorted({test.reason for test in tests if test.reason})]


@dataclass(frozen=True, repr=False)
class Ruled(Told):
    """What a rule asks for, measured: its tables, what it leaves to judgement, and where it comes from."""

    derived: ClassVar[Derived] = {}

    rule: str
    title: str
    source: str
    date: str
    tables: tuple[Table, ...]
    judgement: tuple[str, ...]

    def __str__(self) -> str:
        return self.to_markdown()

    def __repr__(self) -> str:
        return f"<Ruled {self.rule}: {len(self.tables)} tables>"

    def rows(self) -> list[Plain]:
        """List the groups of every table, the numbers of its sections side by side, each with its limits."""
        found: dict[tuple[Any, ...], Plain] = {}
        for table in self.tables:
            unknown = [Line(words.UNKNOWN, table.unknown, ())] if table.unknown else []
            for line in (*table.lines, *unknown):
                key = " x ".join(table.by), table.where, line.group
                row = found.setdefault(key, dict(zip(("by", "where", "group"), key)) | {"rows": line.rows})
                row |= {} if table.side is None else {_SIDE: table.side}
                for number in line.numbers:
                    row |= _columns(number)
        columns = dict.fromkeys(column for row in found.values() for column in row if column != _SIDE)
        last = dict.fromkeys(column for row in found.values() for column in row if column == _SIDE)  # a sentence
        return [columns | last | row for row in found.values()]

    def frame(self) -> Any:
        """Return the tables as one frame (pandas, Polars or PyArrow, whichever is in use)."""
        return frame_of(self.rows())

    def to_csv(self) -> str:
        """Write the tables as one CSV."""
        rows, out = self.rows(), io.StringIO()
        writer = csv.DictWriter(out, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
        return out.getvalue()

    def to_markdown(self) -> str:
        """Write the tables as Markdown, with what is left to judgement."""
        parts = [f"## {self.title}"]
        for table in self.tables:
            heads, rows = table.cells()
            parts += [f"### {self.caption(table)}", "\n".join(markdown_lines(heads, rows)), *table.notes()]
        left = [words.JUDGEMENT, "\n".join(f"- {each}" for each in self.judgement)] if self.judgement else []
        return "\n\n".join([*parts, *left, *self.origin]) + "\n"

    def _repr_html_(self) -> str:
        shown = [paragraph(self.title)]
        for table in self.tables:
            shown += [html_cells(*table.cells(), self.caption(table)), notes(table.notes())]
        left = [paragraph(words.JUDGEMENT), notes(self.judgement)] if self.judgement else []
        return "".join(["<div>", *shown, *left, notes(self.origin), "</div>"])

    def caption(self, table: Table) -> str:
        """Name a table."""
        by = f" by {' x '.join(table.by)}" if table.by else ""
        return f"{table.title}{by}{f', {table.where}' if table.where else ''}"

    @property
    def origin(self) -> list[str]:
        """Say where the rule comes from."""
        return [words.rule_source(self.source, self.date)] if self.source or self.date else []


def measure_rule(
    rule: str | PathLike[str],
    table: ScoreTable,
    cuts: Sequence[Cut],
    level: float | None,
    *,
    whole: bool = True,
    ties: Ties = "half",
) -> Ruled:
    """Measure what a rule asks for; the table is not ``whole`` where groups were left out of it."""
    asked, name = read_rule(rule), os.fspath(rule)
    if asked.needs_outcomes:
        table.require(f"the rule {name!r}")
    if asked.cut == "median" and not whole:
        raise ValueError(
            f"the rule {name!r} is about the median of all rows, and {argument('min_group')} or {argument('groups')} "
            "leaves some out.\nHint: leave it out; least_share, in a rule, says which groups are too small."
        )
    at_score = [cut for cut in cuts if cut.at == "score"]
    if asked.cut == "threshold" and not at_score:
        raise ValueError(
            f"the rule {name!r} looks at who is flagged at a score, and none is named.\n"
            f"Hint: {argument('threshold', 0.2)}, or the score in use."
        )
    where = {"median": [Cut("median")], "threshold": at_score, "asked": cuts}[asked.cut]
    spared = favourable_side(table) == "spared"
    parts = [(tuple(table.group_columns), table)]
    if asked.each_column and len(table.group_columns) > 1:
        parts = [*(((column,), _by(table, k)) for k, column in enumerate(table.group_columns)), *parts]
    made = [
        _table(asked, section, by, part, cut._replace(below=below), level, ties)
        for by, part in parts
        for cut in where
        for whole_section in asked.section
        for section, below in _sides(whole_section, spared=spared)
        if cut is where[0] or any(name != _AUC and RATES[name].needs_cut for name in section.rates)
    ]
    return Ruled(name, asked.title, asked.source, asked.date, tuple(made), asked.judgement)


def _by(table: ScoreTable, place: int) -> ScoreTable:
    """Join the groups that have the same value in one of several columns."""
    joined: dict[str, list[GroupCounts]] = {}
    for group, counts in zip(table.groups, table.counts):
        joined.setdefault(values_of(group, table.group_columns)[place], []).append(counts)
    added = tuple(functools.reduce(GroupCounts.plus, parts) for parts in joined.values())
    return replace(table, groups=tuple(joined), counts=added, group_columns=(table.group_columns[place],))


def _sides(section: Section, *, spared: bool) -> list[tuple[Section, bool]]:
    """Part selection rates, which are of the favourable side of a cut, from rates of those who are flagged."""
    selected = tuple(name for name in section.rates if name == _SELECTED)
    others = tuple(name for name in section.rates if name != _SELECTED)
    if not spared or not selected:
        return [(section, False)]
    return [(replace(section, rates=names), below) for names, below in ((selected, True), (others, False)) if names]


def _table(
    rule: Rule, section: Section, by: tuple[str, ...], table: ScoreTable, cut: Cut, level: float | None, ties: Ties
) -> Table:
    """Measure one table: unknown groups are counted, and those that are too small have no ratio."""
    names = {each.casefold() for each in (*rule.unknown, MISSING)}
    said = [g for g in table.groups if any(v.strip().casefold() in names for v in values_of(g, table.group_columns))]
    unknown = [*said, *(g for g in table.unknown if g not in said)]
    known = [g for g in table.groups if g not in unknown]
    total = sum(table[g].size for g in table.groups)
    small = [g for g in known if table[g].size < rule.least_share * total]
    compared = [g for g in known if g not in small]
    found: dict[str, Rates] = {}
    tests: dict[str, tuple[RateTest, ...]] = {}
    for where in (cut, NOWHERE):
        there = [name for name in measurable(table, where) if name in section.rates]
        rates = rates_at(table, where, level=level, names=there, compared=compared)
        found |= dict.fromkeys(there, rates)
        tests |= {name: _tests(table, where, rates[name], compared) for name in there if "test" in section.show}
    lines = []
    for place, group in enumerate(table.groups):
        if group not in unknown:
            numbers = _numbers(rule, section, found, tests, table, place, level, ties)
            lines.append(Line(group, table.counts[place].size, tuple(numbers)))
    turned, spared = table.lower_is_riskier, favourable_side(table) == "spared"
    at_cut = next((each for each in found.values() if each.at != "all"), None)
    at = "" if at_cut is None else words.cut(at_cut, turned, spared=cut.below)
    read = rule.minimum > 0 and "ratio" in section.show
    sided = _SELECTED in found or (read and any(RATES[name].side for name in found))
    selected = words.cut(at_cut, turned, spared=spared) if at_cut is not None and sided else None
    against = tuple(rule.called(name) for name in section.rates if read and _against(name, table))
    rest = sum(table[g].size for g in unknown), tuple(small), rule.least_share
    absent = tuple(rule.called(name) for name in section.rates if name not in (_AUC, *found))
    side = selected, table.high_score_means, turned, against, rule.called("minimum")
    return Table(section.title, by, at, *side, rule.called("rows"), tuple(lines), *rest, absent)


def _against(name: str, table: ScoreTable) -> bool:
    """Whether a rate counts people on the side that is not favourable, so that the highest is the worst off."""
    return name != _AUC and RATES[name].side not in (None, favourable_side(table))


def _tests(table: ScoreTable, cut: Cut, rate: Rate, compared: Sequence[Hashable]) -> tuple[RateTest, ...]:
    """Test whether groups that are compared have the same rate as the one with the highest."""
    if rate.highest is None:
        return (_UNTESTED,) * len(table.groups)
    measuring, highest = Measuring(table, cut), table.groups.index(rate.highest)
    return tuple(
        same_rate(measuring, rate.rate, (g,), (highest,)) if group in compared and g != highest else _UNTESTED
        for g, group in enumerate(table.groups)
    )


def _columns(number: Number) -> Plain:
    """Give the columns of a number: with its limits and its reading, or those of a test."""
    if number.test is not None:
        known = {"SD": number.test.deviations, "p": number.test.p_value, "method": number.test.method}
        return {f"{number.name}: {name}": value for name, value in known.items()}
    read = {} if number.reading is None else {f"{number.name}: reading": number.reading}
    return ends_of(number.name, number.value) | read


def _numbers(
    rule: Rule,
    section: Section,
    found: Mapping[str, Rates],
    tests: Mapping[str, Sequence[RateTest]],
    table: ScoreTable,
    place: int,
    level: float | None,
    ties: Ties,
) -> list[Number]:
    """Give the numbers of one group, and how its ratios read beside the rule's minimum."""
    numbers = []
    for name in section.rates:
        if name == _AUC:
            own = table.groups[place]
            auc = confidence_interval("xauc", table, None, positive=own, negative=own, ties=ties, level=level or LEVEL)
            auc = auc if level is not None else Estimate(auc.metric, float(auc), reason="none were asked for")
            numbers.append(Number(rule.called(_AUC), auc if auc == auc else None))
            continue
        rate = found[name][name] if name in found else None
        highest = rate is not None and rate.highest == table.groups[place]
        for show in section.show:
            one_of_many = f"{rule.called(name)}: " if rule.compares_several else ""
            called = rule.called(name) if show == "value" else one_of_many + rule.called(show)
            if show == "test":
                numbers.append(Number(called, None, test=tests[name][place] if name in tests else _UNTESTED))
                continue
            value: Estimate | None = None if rate is None else getattr(rate.groups[place], show)
            reading = None
            if highest and show == "ratio" and rate is not None and rate.groups[place].value > 0:
                value = Estimate(f"{name}_ratio", 1.0, 0.0, 1.0, 1.0, level or LEVEL)
            if (
                show == "ratio"
                and rule.minimum
                and value is not None
                and level is not None
                and not _against(name, table)
            ):
                reading = "highest" if highest else words.reading(value, rule.minimum, rule.called("minimum"))
            numbers.append(Number(called, value, reading))
    return numbers
