"""The tables of a report, its texts that follow the dial, and the Markdown that is made of both."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from fairpot._svg import Markup, short, tag
from fairpot._validation import wording
from fairpot.inference import Estimate
from fairpot.repair import Dial
from fairpot.repair.registry import method_of
from fairpot.report.content import Crossing, Report, Setting
from fairpot.report.figures import Figure, told_gap
from fairpot.report.measure import Measured
from fairpot.results import Statement
from fairpot.results.ranking import Pair
from fairpot.words import (
    FRACTIONS,
    caveat,
    certificate,
    changed_scores,
    meaning,
    price,
    selected,
    sentence,
    written,
)
from fairpot.words import page as words
from fairpot.words.page import SURE, TEXT, count, percent, say, score, with_limits
from fairpot.words.tables import markdown_lines, plain_line

MOST_PAIRS = 24
_PAIR_HEADS = ("Group", "Other group", "Group over other", "Other over group", "Gap", f"{SURE} interval")
_MOVE_HEADS = (
    *("Changed", "Up", "Down"),
    *("Mean change of the changed", "Mean change of all", "Largest change"),
)
_TOLD = 2  # the changes of so many groups are told one by one


@dataclass(frozen=True)
class Text:
    """A text that follows the dial: what it says at every setting."""

    key: str
    said: list[str]
    chosen: int

    def __str__(self) -> str:
        return self.said[self.chosen]

    def __html__(self) -> str:
        """Stand in the page where the script can find it."""
        return tag("span", str(self), data_k=self.key)


@dataclass(frozen=True)
class Table:
    """A table whose first columns are texts."""

    name: str
    caption: Any
    head: Sequence[str]
    rows: list[list[Any]]
    texts: int = 1
    note: str = ""


@dataclass(eq=False)
class View:
    """A report with its groups called as people call them, what pictures need, and the texts that follow the dial."""

    found: Measured
    report: Report
    figures: dict[str, Figure]
    statements: list[tuple[Statement, ...]]  # of every setting
    texts: dict[str, list[str]] = field(default_factory=dict)
    moving: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for figure in self.figures.values():
            self.moving |= figure.moving
        self.settings, self.chosen = self.report.dial.settings, self.report.dial.chosen
        self.repaired, self.top = self.report.method is not None, self.report.audit.told.top
        self.first = self.statements[self.chosen][0]
        self.many = len(self.report.audit.ranking.groups) > 2
        self.outcome = self.report.about.outcome
        names = [each.group for each in self.report.audit.ranking.groups]
        self.listed = [names[g] for g in self.found.listed]
        self.pair = tuple(names[g] for g in self.found.pair)
        self.small = set(self.report.audit.ranking.small_groups)

    def live(self, tell: Callable[[int], str], name: str = "") -> Text | str:
        """Make a text that says ``tell`` of the setting; where it never changes, a plain one."""
        said = [tell(place) for place in range(len(self.settings))]
        if len(set(said)) == 1 and not name:
            return said[0]
        key = name or f"t{len(self.texts)}"
        self.texts[key] = said
        return Text(key, said, self.chosen)

    def setting(self, place: int, whole: bool = False) -> str:
        """Name a setting."""
        assert self.report.method is not None
        kind = method_of(self.report.method.name)
        dial = Dial() if kind is None else kind.dial
        symbol = dial.symbol or self.report.dial.name
        return words.setting_name(
            self.report.dial, self.report.method, place, symbol=symbol, words=dial.setting, whole=whole
        )

    def gap(self, place: int) -> float | None:
        """Give the gap that the report turns on, at a setting."""
        return told_gap(self.report, self.settings[place])

    def said(self, place: int) -> list[str]:
        """Say what a setting does to the gap, and whose scores it changes."""
        told = self.statements[place]
        moved = changed_scores([each.moved for each in self.settings[place].groups], _TOLD)
        return [*(each.text for each in told), moved]

    @property
    def statement(self) -> Statement:
        """The first statement about the gap at the reported setting."""
        return next(each for each in self.statements[self.chosen] if not each.about_score)

    def headline(self, place: int) -> str:
        """Give the first sentence at a setting."""
        return sentence(self.statements[place][0])

    def lead(self, place: int) -> str:
        """Say what belongs to it, what else follows, what a gap means, whose scores change, and what to do next."""
        first, *others = self.statements[place]
        said = [caveat(each) for each in first.caveats] + [each.text for each in others]
        said += [] if self.repaired else [meaning(self.statement, self.outcome)]
        moved = [self.said(place)[-1]] if self.repaired else []
        return " ".join(text for text in (*said, *moved, first.next * self.repaired) if text)

    @property
    def about(self) -> bool:
        """Whether counts away from the reported setting are not exact."""
        return self.found.coarse and len(self.settings) > 2

    @property
    def badge(self) -> tuple[str, str] | None:
        """What is known of the repair, and how that reads."""
        return (self.first.badge, self.first.tone) if self.repaired and self.first.badge else None

    def notes(self) -> list[str]:
        """Say what to read with care."""
        return [written(note, FRACTIONS, self.outcome) for note in self.report.notes]

    def line(self, place: int | None = None, key: str = "line") -> str:
        """Name a line of action, that which is shown first unless another is given."""
        line = self.report.line if place is None else self.report.lines[place]
        return words.line_name(line, self.found.turned, key)

    def pairs(self) -> list[Pair]:
        """List the pairs that the report speaks of, as before: that of the first statement, then by size."""
        first = set(self.statement.pair)
        pairs = sorted(self.report.audit.told.gaps, key=lambda pair: ({pair.first, pair.second} != first, -pair.size))
        return [pair.ranked for pair in pairs]


def answer(view: View) -> list[str]:
    """Say what was found, what the repair changes and at what price, and what is known of it."""
    report, effect, told = view.report, view.report.effect, view.statements[view.chosen]
    said = [text for each in told for text in (each.text, meaning(each, view.outcome))]
    said += report.audit.concordant() if effect is None else []
    if effect is not None:
        said += view.said(view.chosen)[len(told) :]
        said += [selected(effect.actions[0])] if effect.actions and view.settings[view.chosen].moved else []
        changes = None if effect.changes is None else effect.changes.auc
        said += [price(effect.before.auc, effect.after.auc, changes, FRACTIONS)]
    return [text for text in (*said, told[0].next * view.repaired) if text]


# A number of a setting, with its name and how it is written.
Read = Callable[[Setting], Any]


def numbers(view: View) -> list[Table]:
    """Show all numbers before and at the setting, then what changes at the reported one."""
    tables = [_all_numbers(view)]
    effect = view.report.effect
    if effect is not None:
        rows = []
        for each in effect.rows():
            auc = "gap" not in each.metric  # written as a fraction, as all but gaps are
            both = [with_limits(n, auc) for n in (each.before, each.after)]
            rows.append([each.metric, *both, with_limits(each.change, auc, "+")])
        heads = ("Number", "Before", "Repaired", "Change")
        caption = f"What changes at the reported setting, with {SURE} intervals"
        tables.append(Table("effect", caption, heads, rows, note=TEXT["effect note"]))
    return tables


def _all_numbers(view: View) -> Table:
    rows = []
    for name, write, read in _rows(view):
        before = write(read(view.settings[0]))
        if before == FRACTIONS.none and not view.repaired:
            continue
        now = view.live(lambda k, write=write, read=read: write(read(view.settings[k])))  # type: ignore[misc]
        rows.append([name, before, now] if view.repaired else [name, before])
    caption = f"Numbers of these rows, with {SURE} intervals"
    heads: tuple[str, ...] = ("Number", "Value")
    if view.repaired:
        caption, heads = f"Before and at this setting, with {SURE} intervals", ("Number", "Before", "Repaired")
    return Table("all", caption, heads, rows)


def _rows(view: View) -> list[tuple[str, Callable[[Any], str], Read]]:
    """List what is compared before and after: its name, how it is written and where it stands."""
    higher, lower = view.pair
    auc, signed = (lambda n: with_limits(n, auc=True)), (lambda n: with_limits(n, auc=True, sign="+"))

    def gap(number: Estimate | None) -> str:
        return with_limits(number, sign="+")

    def of_pair(part: str, first: Any, second: Any, name: str) -> Read:
        return lambda s: getattr(getattr(s, part).pair(first, second), name)

    rows: list[tuple[str, Callable[[Any], str], Read]] = [
        ("AUC of all rows", auc, lambda s: s.all.auc),
        (f"Gap, {higher} over {lower}", gap, of_pair("all", higher, lower, "signed_gap")),
        (f"{lower} with the outcome above {higher} without it", _share, of_pair("all", higher, lower, "xauc_second")),
        (f"{higher} with the outcome above {lower} without it", _share, of_pair("all", higher, lower, "xauc_first")),
    ]
    rows += [("Overall gap", with_limits, lambda s: s.all.gap)] if view.many else []
    if view.top is not None:
        top = words.among_top(view.report.audit.told)
        rows.append((f"AUC {top}", auc, lambda s: s.told.auc))
        rows.append((f"Gap {top}, {higher} over {lower}", gap, of_pair("told", higher, lower, "signed_gap")))
        largest = f"Gap {top}, the largest"
        rows += [(largest, with_limits, lambda s: s.told.gap)] if view.many else []
    groups = list(zip(view.found.listed, view.listed))
    rows += [(f"AUC inside {g}", auc, _of(i, "auc")) for i, g in groups]
    if view.settings[0].groups[0].expected_calibration_error is not None:
        rows += [(f"Mean score minus rate, {g}", signed, _of(i, "error_in_the_large")) for i, g in groups]
        rows += [(f"Calibration error, {g}", auc, _of(i, "expected_calibration_error")) for i, g in groups]
    return rows


def _of(place: int, name: str) -> Read:
    return lambda setting: getattr(setting.groups[place], name)


def _share(found: Estimate | None) -> str:
    if found is None or found.reason is not None or found.low != found.low:
        return percent(found)
    return f"{percent(found)} ({percent(found.low)} to {percent(found.high)})"


def pairs(view: View) -> Table:
    """Show both xAUC and the gap of every pair of three groups and more, all rows together."""
    shown = sorted(view.report.audit.ranking.gaps, key=lambda pair: -pair.size)
    rows: list[list[Any]] = []
    writes: list[Callable[[Pair], str]] = [
        lambda pair: percent(pair.xauc_first),
        lambda pair: percent(pair.xauc_second),
        lambda pair: FRACTIONS.change(pair.signed_gap),
        lambda pair: words.limits(pair.signed_gap, sign="+").strip("()") or FRACTIONS.none,
    ]
    for each in (pair.ranked for pair in shown[:MOST_PAIRS]):
        at = [setting.all.pair(each.first, each.second) for setting in view.settings]
        cells = [view.live(lambda k, write=write, at=at: write(at[k])) for write in writes]  # type: ignore[misc]
        rows.append([each.first, each.second, *cells])
    left = len(shown) - len(rows)
    note = " ".join([TEXT["pairs note"], *([say("pairs left out", left=left)] if left else [])])
    return Table("pairs", "xAUC and gap of pairs", _PAIR_HEADS, rows, 2, note)


def curve(view: View) -> Table | None:
    """Give some of the settings as a table, for those who do not see the picture."""
    last = len(view.settings) - 1
    if last < 2:
        return None
    few = sorted({round(k * last / 10) for k in range(11)} | {view.chosen})
    rows = []
    for k in few:
        gap, each = view.gap(k), view.settings[k]
        shown = with_limits(gap) if isinstance(gap, Estimate) else FRACTIONS.none
        name = view.setting(k, whole=True) + (" ★" if k == view.chosen else "")
        rows.append([name, shown, with_limits(each.all.auc, auc=True), count(each.moved)])
    heads = ("Repair strength", "overall gap" if view.many else "gap", "AUC", "Changed")
    return Table("curve", "The curve as a table", heads, rows)


def crossing(view: View) -> Table:
    """Count who is above a line, who comes and who goes."""
    rows = []
    for place, each in enumerate(crossings(view)):
        cells = {"before": each.above, "now": each.now, "enter": each.enter, "leave": each.leave}
        shown = list(cells) if view.repaired else ["before"]
        label = "with the outcome" if each.positive else "without it"
        counted = [tag("span", count(cells[name]), data_who=f"{name} {place}") for name in shown]
        rows.append([each.group, label, count(each.rows), *counted])
    changes = ("Repaired", "Newly above", "No longer above") if view.repaired else ()
    head = ("Group", "Outcome", "Rows", "Above now", *changes)
    left = len(view.report.audit.ranking.groups) - len(view.listed)
    note = say("groups left out", left=left) if left else ""
    return Table("crossing", "Rows above the line", head, rows, 2, note)


def crossings(view: View) -> list[Crossing]:
    """List who crosses the line that is shown first, of the groups that tables list."""
    return [each for each in view.report.line.crossings if each.group in view.listed]


def moves(view: View) -> Table:
    """Count whose scores change at the setting."""
    signs = {"mean_shift": "+", "mean_shift_of_all": "+", "largest_shift": ""}
    names = ("moved", "up", "down", *signs)

    def cell(i: int, name: str) -> Text | str:
        write = (lambda v: score(v, signs[name])) if name in signs else count
        return view.live(lambda k: write(getattr(view.settings[k].groups[i].moved, name)))

    rows = []
    for i, group in zip(view.found.listed, view.listed):
        size = view.settings[0].groups[i].moved.rows
        rows.append([group, count(size), *(cell(i, name) for name in names)])
    return Table("moves", "Scores that change", ("Group", "Rows", *_MOVE_HEADS), rows)


def how_to_read(view: View) -> list[str]:
    """List what a reader needs to know; of a repair only where there is one."""
    return [*words.HOW_TO_READ, *(words.HOW_TO_READ_REPAIR if view.repaired else ())]


def card(view: View) -> list[tuple[str, str]]:
    """Give what a model card says, under names for people."""
    given = view.report.about.card or {}
    return [(TEXT.get(f"card {name}", name.replace("_", " ")), "; ".join(lines)) for name, lines in given.items()]


def origin(view: View) -> list[tuple[str, str]]:
    """List what is known of the method, the data and the making of the report."""
    report, about, method = view.report, view.report.about, view.report.method
    facts = {"Method": "none, audit only"}
    if method is not None:
        known = None if report.effect is None else report.effect.checked
        facts["Method"] = f"{method.name}, {view.setting(view.chosen, whole=True)}"
        facts["Rule"] = words.rule(report.dial, method)
        facts["Certificate"] = "" if known is None or known.certificate is None else certificate(known.certificate)
        facts["Reference group"] = "" if method.reference is None else str(method.reference)
        facts["Parameters"] = ", ".join(f"{name}={value}" for name, value in method.parameters.items())
    if report.curve is not None:
        key = "traced exact" if report.curve.exact else "traced grid"
        facts["Curve"] = say(key, points=count(report.curve.points), stops=len(view.settings))
    facts["Source"] = about.source
    shown = zip(report.audit.ranking.groups, view.found.table.groups)
    facts["Names cut above"] = "; ".join(
        f"{each.group} = {short(whole, 200)}" for each, whole in shown if "…" in str(each.group)
    )
    facts["Columns"] = ", ".join(f"{part}: {name}" for part, name in about.columns.items() if name)
    facts["Weights"] = wording.weights_taken(report.audit.weights, report.audit.ranking.weighted_rows)
    facts["Ties"] = f"equal scores count as {'half a win' if report.audit.ranking.ties == 'half' else 'no win'}"
    made = about.origin
    facts |= {"fairpot version": made.made_by.removeprefix("fairpot "), "Made on": made.created}
    facts["To make it again"] = made.command
    return [(name, value) for name, value in facts.items() if value]


def subtitle(view: View) -> str:
    """Say how many rows and groups there are, how many have the outcome; the source and the date."""
    ranking, about = view.report.audit.ranking, view.report.about
    rows = wording.rows_by(ranking.rows, ranking.weighted_rows)
    said = say("subtitle", rows=rows, groups=len(ranking.groups), rate=percent(ranking.rate), outcome=view.outcome)
    return " · ".join(part for part in (said, about.source, about.origin.created) if part)


def make_markdown(view: View) -> str:
    """Write a view as Markdown."""
    badge, care, facts = view.badge, view.notes(), card(view)
    parts = [
        f"# {plain_line(view.report.about.title)}",
        plain_line(subtitle(view)),
        "" if badge is None else f"**{plain_line(badge[0])}**",
        "## What was found",
        *(plain_line(sentence) for sentence in answer(view)),
        *(["### Read with care", _items(care)] if care else []),
        *(["## About this score", _items([f"{name}: {said}" for name, said in facts])] if facts else []),
        f"## {plain_line(view.line(None, 'who'))}",
        _table(crossing(view)),
        "## All numbers",
        *_tables(*numbers(view), pairs(view) if view.many else None),
        *(_tables(curve(view), level="##")),
        *(_tables(moves(view), level="##") if view.repaired else []),
        "## How to read this",
        _items(how_to_read(view)),
        "## What it does not show",
        _items(words.NOT_SHOWN),
        "## Where this comes from",
        _items([f"{name}: {value}" for name, value in origin(view)]),
        TEXT["privacy counts"],
    ]
    parts = [f"<!-- {view.report.about.origin.made_by} -->", *parts]
    return "\n\n".join(part for part in parts if part) + "\n"


def _tables(*found: Table | None, level: str = "###") -> list[str]:
    parts = []
    for each in found:
        if each is not None:
            parts += [f"{level} {plain_line(each.caption)}", _table(each), plain_line(each.note)]
    return parts


def _table(found: Table) -> str:
    return "\n".join(markdown_lines(found.head, [list(map(_said, row)) for row in found.rows], texts=found.texts))


def _said(content: Any) -> str:
    """Give the words of a cell: those of markup, and of a text that follows the dial what it says now."""
    return html.unescape(re.sub(r"<[^>]*>", "", content)) if isinstance(content, Markup) else str(content)


def _items(items: Sequence[str]) -> str:
    return "\n".join(f"- {plain_line(item)}" for item in items)
