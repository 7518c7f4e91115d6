"""Rates by group at a score or in a top share, and between groups; whose scores and places a repair changes."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from fairpot import words
from fairpot._defaults import LEVEL, Meaning, TopOf
from fairpot._shown import ends_of
from fairpot._validation import check_threshold
from fairpot.counts import GroupCounts
from fairpot.inference import Estimate
from fairpot.inference.rates import NOWHERE, Cut, Measuring
from fairpot.metrics.rates import RATES
from fairpot.results.calibration import are_probabilities, as_risks
from fairpot.results.kinds import Count, Derived, Group, Plain, Score, Share, Told, rows_of
from fairpot.results.ranking import own_scale
from fairpot.table import Maps, ScoreTable, Top
from fairpot.transport import Floats

# The share of the ranking that is looked at where nobody says where is acted.
SHARE = 0.1
# Who is counted: those from the cut on, or those whom it spares.
Side = Literal["flagged", "spared"]
# The rates that a screen shows unless all are asked for.
SCREEN = ("selection_rate", "tpr", "fpr", "ppv")


@dataclass(frozen=True)
class GroupRate:
    """A rate of one group, or of all rows (group None), and how it compares with two groups.

    ``hits`` of ``rows`` people count; a mean, a fit and a ratio of sums have no hits. Differences and ratios are to the
    group with the highest rate, and to the reference, where there is one. Weights that say how much a row counts weigh
    the rates, and do not multiply rows.
    """

    group: Group | None
    hits: Count | None
    rows: Count
    value: Estimate
    difference: Estimate | None = None
    ratio: Estimate | None = None
    difference_to_reference: Estimate | None = None
    ratio_to_reference: Estimate | None = None


@dataclass(frozen=True)
class Rate:
    """A rate of the registry, :data:`fairpot.metrics.RATES`, by group; ``highest`` names the group that has most."""

    rate: str
    highest: Group | None
    groups: tuple[GroupRate, ...]
    all: GroupRate


@dataclass(frozen=True)
class Rates:
    """The rates at one cut: from a score on, in a top share, above the median of all scores; or those without a cut."""

    at: Literal["score", "top", "median", "all"]
    top: Share | None
    top_of: TopOf | None
    threshold: Score | None  # the lowest score that is selected, where groups have the same; as the rows have it
    rates: tuple[Rate, ...]

    def __getitem__(self, rate: str) -> Rate:
        return next(each for each in self.rates if each.rate == rate)

    def __contains__(self, rate: str) -> bool:
        return any(each.rate == rate for each in self.rates)

    def across(self, names: Iterable[str]) -> list[tuple[Hashable | None, list[GroupRate]]]:
        """Give the groups, then all rows, each with several rates side by side: those of the names that there are."""
        found = [self[name] for name in names if name in self]
        return [(row[0].group, list(row)) for row in zip(*((*each.groups, each.all) for each in found))]

    def listed(self) -> list[Plain]:
        """List every rate of every group, then of all rows, as rows of a frame."""
        head = {"at": self.at, "top": self.top, "top_of": self.top_of, "threshold": self.threshold}
        rows = []
        for each in self.rates:
            for one, row in zip((*each.groups, each.all), rows_of((*each.groups, each.all))):
                known = [found.reason for found in (one.value, one.ratio, one.difference) if found is not None]
                group = {"rate": each.rate, "group": "all" if one.group is None else one.group}
                rows.append(head | group | row | group | {"no_interval": next(filter(None, known), None)})
        return rows


def rates_at(
    table: ScoreTable,
    cut: Cut = NOWHERE,
    *,
    level: float | None = LEVEL,
    reference: Hashable | None = None,
    names: Iterable[str] | None = None,
    compared: Collection[Hashable] | None = None,
) -> Rates:
    """Measure rates by group at a cut; those that nobody named are all that the table and the cut allow.

    ``compared`` are the groups of which the highest is looked for and that have differences and ratios.
    """
    measuring = Measuring(table, cut, level)
    wanted = measurable(table, cut) if names is None else list(names)
    among = [g for g, group in enumerate(table.groups) if compared is None or group in compared]
    named = None if reference is None else table.groups.index(reference)
    found = tuple(_rate(measuring, name, among, named) for name in wanted)
    top_of = cut.top_of if cut.at == "top" else None
    return Rates(cut.at, cut.top, top_of, _start(measuring), found)


def _start(measuring: Measuring) -> float | None:
    """Give the lowest score that is selected, where groups have the same; as the rows have it."""
    starts = set(measuring.starts)
    return own_scale(measuring.table, starts.pop()) if len(starts) == 1 and measuring.cut.at != "all" else None


def measurable(table: ScoreTable, cut: Cut) -> list[str]:
    """Name the rates that a table has at a cut: with or without outcomes, of probabilities or other scores."""
    risks = [as_risks(c, table.lower_is_riskier) for c in table.counts if len(c.score)]
    risky = all(map(are_probabilities, risks))
    at = None if cut.threshold is None else cut.threshold + table.lower_is_riskier
    known = []
    for name, rate in RATES.items():
        possible = (table.labelled or not rate.needs_outcomes) and rate.needs_cut == (cut.at != "all")
        if rate.needs_risk:
            possible = possible and risky and (not rate.needs_cut or (at is not None and 0 < at < 1))
        known += [name] if possible else []
    return known


def _rate(measuring: Measuring, name: str, among: list[int], reference: int | None) -> Rate:
    """Measure one rate in every group, and compare."""
    groups, everyone, known = measuring.table.groups, measuring.everyone, measuring.estimate
    values = {g: known("value", name, (g,)) for g in everyone}
    sure = [g for g in among if values[g].low == values[g].low] or [g for g in among if values[g] == values[g]]
    highest = max(sure, key=lambda g: float(values[g]), default=None)
    rows = []
    for g in everyone:
        compared: Plain = {}
        for other, to in ((highest, ""), (reference, "_to_reference")):
            if other is not None and other != g and g in among:
                compared[f"difference{to}"] = known("difference", name, (g,), (other,))
                if RATES[name].scale != "free":
                    compared[f"ratio{to}"] = known("ratio", name, (g,), (other,))
        rows.append(GroupRate(groups[g], *measuring.counted(name, (g,)), values[g], **compared))
    total = GroupRate(None, *measuring.counted(name, everyone), known("value", name, everyone))
    return Rate(name, None if highest is None else groups[highest], tuple(rows), total)


@dataclass(frozen=True, repr=False)
class RatioVerdict(Told):
    """What the rows say of the lowest ratio of selection rates: at a cut, between any two groups.

    ``answer`` is "within" (no ratio is below the bound), "below" (one is) or "cannot tell"; either of the first two is
    wrong at most ``1 - level`` of the time. ``ratio`` is the lowest measured, or the lowest of those that are shown to
    be below, with its two-sided interval; ``lowest`` and ``highest`` are its groups. Who is selected follows from what
    a high score does to a person: where it harms, ``favourable`` is "spared", and those count who are not flagged.
    """

    derived: ClassVar[Derived] = {"text": str}

    answer: Literal["within", "below", "cannot tell"]
    bound: float
    level: float
    at: Literal["score", "top", "median", "all"]
    top: Share | None
    threshold: Score | None
    lowest: Group | None
    highest: Group | None
    ratio: Estimate
    favourable: Side = "flagged"
    lower_is_riskier: bool = False
    high_score_means: Meaning | None = None

    @property
    def text(self) -> str:
        """The verdict in words."""
        return words.ratio_verdict(self)

    def __repr__(self) -> str:
        return f"<RatioVerdict {self.text}>"

    def __str__(self) -> str:
        return self.text


def favourable_side(table: ScoreTable) -> Side:
    """Say who gets what is good for them: those at a high place of the ranking, unless that was said to harm."""
    return "spared" if table.ranked_high_means == "harm" else "flagged"


def ratio_verdict(table: ScoreTable, cut: Cut, bound: float, level: float) -> RatioVerdict:
    """Say whether the selection rate of some group is below a share of another's, on the favourable side of the cut.

    Within: the lower limit of every ratio, each wrong with probability ``1 - level``, is at least the bound
    (intersection of one-sided tests, at no price). Below: the upper limit of one of them is below it, where the pairs
    share that probability (Bonferroni), as the pair was chosen, and which of its groups is the lower.
    """
    side = favourable_side(table)
    cut = cut._replace(below=side == "spared")
    pairs, delta = list(itertools.permutations(range(len(table.groups)), 2)), 1 - level
    levels = level, 1 - 2 * delta, 1 - 2 * delta / len(pairs)
    two_sided, within, below = (Measuring(table, cut, each) for each in levels)

    def ratio(measuring: Measuring, pair: tuple[int, int]) -> Estimate:
        return measuring.estimate("ratio", "selection_rate", pair[:1], pair[1:])

    ratios = {pair: ratio(two_sided, pair) for pair in pairs}
    known = sorted((pair for pair in pairs if ratios[pair] == ratios[pair]), key=lambda pair: float(ratios[pair]))
    clear = next((pair for pair in known if ratio(below, pair).high < bound), None)
    answer: Literal["within", "below", "cannot tell"] = "cannot tell" if clear is None else "below"
    if clear is None and all(ratio(within, pair).low >= bound for pair in pairs):
        answer = "within"
    first, last = clear or next(iter(known), pairs[0])
    told = cut.at, cut.top, _start(two_sided), table.groups[first], table.groups[last]
    said = side, table.lower_is_riskier, table.high_score_means
    return RatioVerdict(answer, bound, level, *told, ratios[first, last], *said)


@dataclass(frozen=True)
class Acted:
    """How many of one group are acted on, before and after a repair, with and without the outcome.

    ``valence`` is "gains", "loses" or None: by what a high score does to a person, if that was said.
    """

    group: Group
    positives: Count
    negatives: Count
    yes_before: Count
    yes_after: Count
    no_before: Count
    no_after: Count
    tpr_before: Estimate | None
    tpr_after: Estimate | None
    fpr_before: Estimate | None
    fpr_after: Estimate | None
    valence: Literal["gains", "loses"] | None

    @property
    def by_outcome(self) -> tuple[tuple[str, float, float, float, Estimate | None, Estimate | None], ...]:
        """With and without the outcome: how many there are, are acted on before and after, and their shares."""
        return (
            ("with", self.positives, self.yes_before, self.yes_after, self.tpr_before, self.tpr_after),
            ("without", self.negatives, self.no_before, self.no_after, self.fpr_before, self.fpr_after),
        )

    @property
    def before(self) -> float:
        """How many are acted on before."""
        return self.yes_before + self.no_before

    @property
    def after(self) -> float:
        """How many are acted on after."""
        return self.yes_after + self.no_after


@dataclass(frozen=True, repr=False)
class Action(Told):
    """Who is acted on at a threshold or in a top share, before and after a repair, by group and outcome."""

    derived: ClassVar[Derived] = {}

    threshold: Score | None  # those with this score or a riskier one are acted on; on the rows' own scale
    top: Share | None  # or in so large a share of the ranking; an int: among so many rows
    top_of: TopOf | None
    groups: tuple[Acted, ...]
    lower_is_riskier: bool = False

    def __repr__(self) -> str:
        return f"<Action {words.where(self)}: {len(self.groups)} groups, before and after>"

    def listed(self) -> list[Plain]:
        """List groups and outcomes as rows of a frame, with rates before and after."""
        rows = []
        for each in self.groups:
            for outcome, total, before, after, first, last in each.by_outcome:
                row: Plain = {"acted on": words.where(self), "group": each.group, "outcome": outcome, "rows": total}
                row |= {"before": before, "after": after}
                rows.append(row | ends_of("share_before", first) | ends_of("share_after", last))
        return rows


def actions(
    before: ScoreTable, after: ScoreTable, thresholds: Iterable[float], top: Top | None, level: float | None = LEVEL
) -> tuple[Action, ...]:
    """Count who is acted on before and after: at each threshold, in the top share, else in the top tenth."""
    found = [_action(before, after, level, float(each)) for each in thresholds]
    tops = [top] if top is not None else [] if found else [Top(SHARE)]
    return (*found, *(_action(before, after, level, each) for each in tops))


def _action(before: ScoreTable, after: ScoreTable, level: float | None, where: float | Top) -> Action:
    how: Plain = {"level": level, "names": ("tpr", "fpr")}
    threshold, top = (None, where) if isinstance(where, Top) else (where, None)
    found = [rates_at(table, cut_at(table, threshold=threshold, top=top), **how) for table in (before, after)]
    sides = (each[name].groups for name in ("tpr", "fpr") for each in found)
    groups = tuple(_acted(each, before.ranked_high_means) for each in zip(*sides))
    size, top_of = (None, None) if top is None else (top.size, top.top_of)
    return Action(threshold, size, top_of, groups, before.lower_is_riskier)


def cut_at(table: ScoreTable, *, threshold: float | None = None, top: Top | None = None) -> Cut:
    """Make the cut at a score, given as the rows have it, or at the start of a top."""
    if top is not None:
        return Cut("top", None, top.size, top.top_of)
    return Cut("score", own_scale(table, check_threshold(threshold)))


def _acted(sides: Sequence[GroupRate], means: Meaning | None) -> Acted:
    """Count one group: with the outcome before and after, without it before and after."""
    yes_hits, yes_now, no_hits, no_now = (each.hits or 0 for each in sides)
    more = yes_now + no_now - yes_hits - no_hits
    valence: Literal["gains", "loses"] | None = None
    if means is not None and more:
        valence = "gains" if (more > 0) == (means == "help") else "loses"
    tpr, tpr_now, fpr, fpr_now = (each.value if each.value == each.value else None for each in sides)
    counts = sides[0].rows, sides[2].rows, yes_hits, yes_now, no_hits, no_now
    return Acted(sides[0].group, *counts, tpr, tpr_now, fpr, fpr_now, valence)


@dataclass(frozen=True)
class Moved:
    """How many scores of one group a repair changes, which way and how far, on the scale of the rows' own scores.

    ``mean_shift`` is over the changed rows, ``mean_shift_of_all`` over all rows of the group.
    """

    group: Group
    rows: Count
    moved: Count
    up: Count
    down: Count
    mean_shift: float
    mean_shift_of_all: float
    largest_shift: float


def moves(table: ScoreTable, maps: Maps) -> tuple[Moved, ...]:
    """Count, for each group, whose score a map changes, which way and how far."""
    sign = -1.0 if table.lower_is_riskier else 1.0
    shifts = [
        sign * ((maps[g](c.score) if g in maps else c.score) - c.score) for g, c in zip(table.groups, table.counts)
    ]
    return tuple(map(_moved, table.groups, table.counts, shifts))


def _moved(group: Hashable, counts: GroupCounts, shift: Floats) -> Moved:
    weight, counted = counts.weight, np.add(*counts.counted)
    total, sizes = float(np.dot(weight, shift)), (weight[shift != 0].sum().item(), weight.sum().item())
    mean, of_all = (total / size + 0.0 if size else 0.0 for size in sizes)
    moved, up, down = (counted[at].sum().item() for at in (shift != 0, shift > 0, shift < 0))
    largest = float(np.abs(shift).max(initial=0.0))
    return Moved(group, counted.sum().item(), moved, up, down, mean, of_all, largest)
