"""Ranking: everything about one ranking of all rows, or of a top, counted and estimated once."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Hashable, Sequence
from dataclasses import dataclass, replace
from math import nan
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np

from fairpot._defaults import CARRIES, LEVEL, MOST_COMPARED, TIES, Ties, TopOf
from fairpot._docs import documented
from fairpot._validation import wording
from fairpot.counts import GroupCounts, count_units
from fairpot.inference.limits import Estimate, fold, joint_tail
from fairpot.inference.merged import Counted, count_ranking, shares
from fairpot.inference.rates import Cut, Measuring, top_rate
from fairpot.inference.shares import GapEstimates, Pairs, ShareEstimates, all_pairs, cross_pairs, inside, why_not
from fairpot.metrics.cells import carrying_groups, compared_groups, leading_place
from fairpot.metrics.wins import WinMatrix
from fairpot.results.calibration import Calibration
from fairpot.results.kinds import Count, Derived, Group, Known, Plain, Range, Score, Share
from fairpot.table import ScoreTable, Top
from fairpot.transport import Floats


@dataclass(frozen=True, kw_only=True)
class Sizes:
    """How many rows, with and without the outcome, and which scores they have.

    Rows of weight 0 are not counted. Where weights say how much a row counts, ``rate`` is weighted, and the weighted
    numbers stand beside the rows; where rows belong together, so do the clusters that they are of.
    """

    rows: Count
    positives: Count | None  # None, as what follows from them, where outcomes are not known
    negatives: Count | None
    weighted_rows: Count | None
    weighted_positives: Count | None
    clusters: Count | None
    positive_clusters: Count | None  # that have rows with the outcome; some may have both kinds
    negative_clusters: Count | None
    rate: Share | None
    distinct_scores: int
    score_range: Range | None


@dataclass(frozen=True)
class Thin:
    """A cell of rows that a number stands on: of a group (None for all), with the outcome or without it.

    ``worth`` is how many independent ones the rows are: clusters, or equally weighted rows.
    """

    group: Group | None
    outcome: bool
    rows: Count
    worth: Count
    clusters: bool = False


@dataclass(frozen=True, kw_only=True)
class GroupNumbers(Sizes):
    """One group of a ranking: its size, AUC, calibration, and its part of a top."""

    derived: ClassVar[Derived] = {"group": Group}

    group: Group
    auc: Estimate | None
    calibration: Calibration | None = None
    start: Score | None = None  # the score at which the top begins
    recall: Estimate | None = None  # share of those with the outcome who are in the top
    precision: Estimate | None = None  # share of the top who have the outcome
    cells: Annotated[tuple[Thin, ...], "hidden"] = ()


@dataclass(frozen=True)
class Cell:
    """How often someone in one group with the outcome is ranked above someone in another without it."""

    positive: Group
    negative: Group
    pairs: Count
    xauc: Estimate | None


@dataclass(frozen=True)
class Pair:
    """Two groups: how often each is ranked above the other, and the gap, which has a sign and one interval.

    The interval of the gap holds for all pairs at once. So does ``at_least``, a limit of its size from below alone;
    ``at_most``, from above, is of this pair: each wrong with the probability that the level leaves.
    """

    first: Group
    second: Group
    xauc_first: Estimate | None
    xauc_second: Estimate | None
    signed_gap: Estimate | None
    at_least: float | None = None
    at_most: float | None = None
    thinnest: Thin | None = None

    @property
    def known(self) -> bool:
        """Whether the gap can be measured."""
        return self.signed_gap is not None

    @property
    def has_limits(self) -> bool:
        """Whether there is an interval."""
        return self.signed_gap is not None and self.signed_gap.low == self.signed_gap.low

    @property
    def size(self) -> float:
        """The size of the gap."""
        return -1.0 if self.signed_gap is None else abs(float(self.signed_gap))

    @property
    def carried(self) -> bool:
        """Whether the gap stands on enough rows to be said first."""
        return self.has_limits and self.thinnest is not None and self.thinnest.worth >= CARRIES - 1e-9

    @property
    def clear(self) -> bool:
        """Whether it is shown that there is a gap, with all pairs in mind."""
        return self.carried and self.signed_gap is not None and (self.signed_gap.low > 0 or self.signed_gap.high < 0)

    def reversed(self) -> Pair:
        """Give the same pair, seen from the other group."""
        gap = None if self.signed_gap is None else self.signed_gap.reversed()
        return replace(
            self,
            first=self.second,
            second=self.first,
            xauc_first=self.xauc_second,
            xauc_second=self.xauc_first,
            signed_gap=gap,
        )

    def seen_from(self, group: Hashable) -> Pair:
        """Give the pair with a group first, if it is one of the two."""
        return self.reversed() if group == self.second else self

    @property
    def ranked(self) -> Pair:
        """The pair with the group ranked higher first; of a gap of 0, as it is."""
        return self.reversed() if self.signed_gap is not None and self.signed_gap < 0 else self


@dataclass(frozen=True)
class Tied:
    """Pairs with equal scores, and the ranking by both conventions.

    The gaps are those of the pair of groups that leads, seen from the one that is ranked higher.
    """

    share: Share
    auc_strict: float | None
    gap_strict: float | None
    auc_half: float | None
    gap_half: float | None


@dataclass(frozen=True, kw_only=True)
class Ranking(Sizes):
    """Everything about one ranking: of all rows, or of the top of the list.

    Attributes
    ----------
    top, top_of, starts : float or int, {"all", "group"} and tuple of scores, or None
        Which part of the list; None for all of it.
    auc, gap : Estimate or None
        AUC, and the largest gap over pairs, seen from the group ranked higher: its lower limit may be below 0.
    gaps, xauc, groups : tuples
        Every pair of groups, both directions of each, and the numbers of each group.
    recall, precision : Estimate or None
        Of a top: the share of those with the outcome who are in it, and of the top who have the outcome.

    Examples
    --------
    >>> import fairpot
    >>> y, sex = [1, 0, 1, 0, 1, 0, 1, 0] * 10, (["F"] * 4 + ["M"] * 4) * 10
    >>> scores = [0.6, 0.3, 0.5, 0.2, 0.9, 0.4, 0.8, 0.55] * 10
    >>> found = fairpot.audit(y, scores, sensitive_features=sex).ranking
    >>> found.gap, found.gap.groups, found.pair("F", "M").signed_gap
    (0.25, ('M', 'F'), -0.25)
    """

    top: Share | None
    top_of: TopOf | None
    starts: tuple[Score, ...] | None  # of each group
    ties: Ties
    level: Share | None
    reference: Group | None  # None without outcomes, unless it was named
    auc: Known[Estimate]
    gap: Known[Estimate]
    small_groups: tuple[Group, ...]
    gaps: tuple[Pair, ...]
    xauc: tuple[Cell, ...]
    groups: tuple[GroupNumbers, ...]
    recall: Estimate | None = None
    precision: Estimate | None = None
    tied: Tied | None = None

    @property
    def compared(self) -> list[Pair]:
        """The pairs that can be measured, of groups that are not too small; the largest gap first."""
        small = set(self.small_groups)
        known = [pair for pair in self.gaps if pair.known and not {pair.first, pair.second} & small]
        return sorted(known, key=lambda pair: -pair.size)

    @property
    def measured(self) -> list[Pair]:
        """The pairs whose gap can be measured, each seen from the group ranked higher."""
        return [pair.ranked for pair in self.gaps if pair.known]

    @property
    def widest(self) -> Estimate | None:
        """The largest gap of the groups that are not too small to be compared."""
        return self.compared[0].ranked.signed_gap if self.compared else self.gap

    @property
    def leading(self) -> Pair | None:
        """The clear gap that is largest for certain, by its lower limit; where none is clear, the largest."""
        clear = [pair for pair in self.measured if pair.clear]
        if clear:
            return max(clear, key=lambda pair: (pair.signed_gap.low, pair.size))  # type: ignore[union-attr]
        return max(self.measured, key=lambda pair: pair.size, default=None)

    @property
    def labelled(self) -> bool:
        """Whether outcomes are known."""
        return self.positives is not None

    def group(self, name: Hashable) -> GroupNumbers:
        """Give the numbers of one group."""
        return next(each for each in self.groups if each.group == name)

    def cell(self, positive: Hashable, negative: Hashable) -> Cell:
        """Give how often someone in one group with the outcome is ranked above someone in another without it."""
        return next(c for c in self.xauc if (c.positive, c.negative) == (positive, negative))

    def pair(self, first: Hashable, second: Hashable) -> Pair:
        """Give a pair of groups, seen from the first."""
        wanted = {first, second}
        return next(p for p in self.gaps if {p.first, p.second} == wanted).seen_from(first)


def own_scale(table: ScoreTable, score: float) -> float:
    """Give a score as the rows have it: those of which a low one means high risk are counted with a minus."""
    return 0.0 - float(score) if table.lower_is_riskier else float(score)


@documented
def rank(
    table: ScoreTable,
    *,
    ties: Ties = "half",
    level: float | None = LEVEL,
    top: Top | None = None,
    reference: Hashable | None = None,
    small: Collection[Hashable] = (),
) -> Ranking:
    """Count and estimate everything about one ranking.

    Parameters
    ----------
    {table, ties}
    level : float or None
        Confidence level of the intervals, as everywhere unless you give one; None computes none.
    top : Top or None, default None
        Rank among the top of the list alone, as :meth:`ScoreTable.find_top` finds it.
    {reference}
    small : groups, default ()
        Groups that are too small over all rows, and so in any top.

    Examples
    --------
    >>> import numpy as np
    >>> from fairpot import score_table
    >>> from fairpot.results import rank
    >>> rng = np.random.default_rng(0)
    >>> y, sex = rng.integers(0, 2, 400), rng.choice(["F", "M"], 400)
    >>> found = rank(score_table(y, rng.normal(y + 0.5 * (sex == "M")), sensitive_features=sex))
    >>> print(found.gap, found.gap.groups)
    0.240 (95% interval 0.144 to 0.333) ('M', 'F')
    """
    counted, passed = _Counted.of(table, ties, level, top)
    shown = passed.table
    compared = compared_groups(shown, small)
    large = [table.groups.index(group) for group in compared]
    reference = _ahead(counted, passed) if reference is None and table.labelled else reference
    rows = range(len(table.groups))
    starts = None if top is None else tuple(own_scale(table, each) for each in table.starts(top).values())
    pairs = [pair.seen_from(reference) for pair in counted.pairs(shown)] if table.labelled else []
    measured = [pair.ranked for pair in pairs if pair.known]
    gap = max(measured, key=lambda pair: pair.size).signed_gap if measured else None
    found = None
    if top is not None and table.labelled:
        found = Measuring(table, Cut("top", None, top.size, top.top_of), level)
    numbers = []
    for g, own in enumerate(shown.counts):
        sizes = _sizes(shown, own.positive, own.negative, len(own.score), [own])
        start = None if starts is None else starts[g]
        known = _rates(found, g) | {"auc": counted.share(inside(g), "group_auc"), "start": start}
        known["cells"] = cells_of(shown, g) if table.labelled else ()
        numbers.append(GroupNumbers(group=shown.groups[g], **sizes, **known))
    ranking = Ranking(
        **_sizes(shown, passed.positives, passed.negatives, passed.distinct, shown.counts),
        top=None if top is None else top.size,
        top_of=None if top is None else top.top_of,
        starts=starts,
        ties=ties,
        level=level if counted.found is not None else None,
        reference=reference,
        auc=counted.share(all_pairs(table)),
        gap=gap,
        small_groups=tuple(table.groups[g] for g in rows if g not in large),
        gaps=tuple(pairs),
        xauc=tuple(counted.cell(i, j) for i in rows for j in rows if i != j and table.labelled),
        groups=tuple(numbers),
        **_rates(found, None),
    )
    if top is not None or not table.labelled:
        return ranking
    return replace(ranking, tied=_tied(passed, ranking.leading))


@dataclass(frozen=True, eq=False)
class _Counted:
    """Wins between groups, and the shares they make with their errors; places stand for groups."""

    groups: tuple[Hashable, ...]
    matrix: WinMatrix
    rows: tuple[Floats, Floats]  # with and without the outcome
    level: float
    distinct: list[Pairs]
    found: ShareEstimates | None
    reasons: list[str | None]
    low: Floats
    high: Floats

    @classmethod
    def of(cls, table: ScoreTable, ties: Ties, level: float | None, top: Top | None) -> tuple[_Counted, Counted]:
        """Count a ranking, and estimate all its shares together."""
        if level is not None and len(table.groups) > MOST_COMPARED:  # one covariance of all pairs
            raise ValueError(wording.too_many_groups(table.groups, table.group_columns))
        every = [all_pairs(table), *cross_pairs(table), *(inside(g) for g in range(len(table.groups)))]
        distinct = list(dict.fromkeys(every))
        passed = count_ranking(table if top is None else table.above(table.starts(top)), ties)
        if level is None:
            empty = np.full(len(distinct), nan)
            whys: list[str | None] = ["none were asked for"] * len(distinct)
            rows = passed.table.rows_by_outcome
            return cls(table.groups, passed.matrix(), rows, LEVEL, distinct, None, whys, empty, empty), passed
        found = shares(passed, distinct)
        size = None if top is None else top.size
        reasons = [why_not(table, [pair], found.take([k]), size) for k, pair in enumerate(distinct)]
        low, high = found.limits((1 - level) / 2)
        rows = passed.table.rows_by_outcome
        return cls(table.groups, passed.matrix(), rows, level, distinct, found, reasons, low, high), passed

    def value(self, pairs: Pairs) -> float | None:
        """Give the share of pairs that positives of some groups win over negatives of others, as it was counted."""
        winners, losers = list(pairs.winners), list(pairs.losers)
        total = float(self.matrix.positives[winners].sum()) * float(self.matrix.negatives[losers].sum())
        return float(self.matrix.half_wins[np.ix_(winners, losers)].sum()) / 2 / total if total else None

    def share(self, pairs: Pairs, name: str = "auc") -> Estimate | None:
        """Give a share with its interval."""
        value, k = self.value(pairs), self.distinct.index(pairs)
        if value is None:
            return None
        se = nan if self.found is None else float(self.found.se[k])
        low, high = (nan, nan) if self.reasons[k] else (float(self.low[k]), float(self.high[k]))
        return Estimate(name, value, se, low, high, self.level, reason=self.reasons[k])

    def cell(self, i: int, j: int) -> Cell:
        """Give one direction of a pair of groups; its pairs are of rows, whatever these weigh."""
        pairs = float(self.rows[0][i] * self.rows[1][j])
        return Cell(self.groups[i], self.groups[j], pairs, self.share(Pairs((i,), (j,)), "xauc"))

    def pairs(self, shown: ScoreTable) -> list[Pair]:
        """Give every pair of groups; the intervals of their gaps hold for all of them at once."""
        every = list(itertools.combinations(range(len(self.groups)), 2))
        whys = {pair: self._reason(*pair) for pair in every if self._difference(*pair) is not None}
        limited = [pair for pair, why in whys.items() if why is None]
        gaps = self._estimates(limited) if limited else None
        ends = {} if gaps is None else dict(zip(limited, _limits_of(gaps, (1 - self.level) / 2)))
        found = []
        for i, j in every:
            names = self.groups[i], self.groups[j]
            both = self.cell(i, j).xauc, self.cell(j, i).xauc
            if (i, j) not in whys:
                found.append(Pair(*names, *both, None))
                continue
            known = ends.get((i, j), _NO_LIMITS)
            se = self._se(i, j)
            value = self._difference(i, j) or 0.0
            limits = (se, known.low, known.high, self.level, "analytic", value, names, whys[i, j])
            gap = Estimate("gap", value, *limits)
            thinnest = min((*cells_of(shown, i), *cells_of(shown, j)), key=lambda cell: cell.worth)
            found.append(Pair(*names, *both, gap, known.at_least, known.at_most, thinnest))
        return found

    def _se(self, i: int, j: int) -> float:
        gaps = self._estimates([(i, j)])
        return nan if gaps is None else float(gaps.se[0])

    def _difference(self, i: int, j: int) -> float | None:
        there, back = self.value(Pairs((i,), (j,))), self.value(Pairs((j,), (i,)))
        return None if there is None or back is None else there - back

    def _reason(self, i: int, j: int) -> str | None:
        both = (self.distinct.index(Pairs((a,), (b,))) for a, b in ((i, j), (j, i)))
        return next(filter(None, (self.reasons[k] for k in both)), None)

    def _estimates(self, pairs: Sequence[tuple[int, int]]) -> GapEstimates | None:
        if self.found is None:
            return None
        both = [self.distinct.index(Pairs((a,), (b,))) for i, j in pairs for a, b in ((i, j), (j, i))]
        return GapEstimates.side_by_side(self.found.take(both))


class _Limits(NamedTuple):
    """Limits of a gap: both of all pairs at once, of its size from below of all, and from above of this pair alone."""

    low: float
    high: float
    at_least: float | None
    at_most: float | None


_NO_LIMITS = _Limits(nan, nan, None, None)
# From so many standard errors on, a gap cannot lie on the other side of 0, and a limit of its size is one-sided.
_ONE_SIDED = 1.5


def _limits_of(gaps: GapEstimates, tail: float) -> list[_Limits]:
    """Limit gaps, each of the three limits wrong with probability ``2 * tail`` at most.

    That every gap is within a bound needs no price for the number of pairs, as each has to be (intersection and union);
    that some gap is above one does.
    """
    joint = joint_tail(gaps.covariance, tail)
    low, high = gaps.limits(joint)
    one_sided, either_side = fold(*gaps.limits(2 * joint))[0], fold(low, high)[0]
    at_least = np.where(one_sided > _ONE_SIDED * gaps.se, one_sided, either_side)
    at_most = fold(*gaps.limits(2 * tail))[1]
    return [_Limits(*map(float, ends)) for ends in zip(low, high, at_least, at_most)]


def cells_of(shown: ScoreTable, group: int) -> tuple[Thin, Thin]:
    """Give the rows of a group with the outcome and without it, and how many independent ones they are worth."""
    name, counts, clusters = shown.groups[group], shown.counts[group], shown.units is not None
    with_it, without = (
        Thin(name, outcome, counted.sum().item(), float(worth[group]), clusters)
        for outcome, counted, worth in zip((True, False), counts.counted, shown.independent)
    )
    return with_it, without


def _sizes(table: ScoreTable, positives: Any, negatives: Any, distinct: int, counts: Sequence[GroupCounts]) -> Plain:
    """Give the sizes of some groups; weights are added up here."""
    with_it, without = positives.sum().item(), negatives.sum().item()
    rows, cases = with_it + without, with_it
    if table.importance:
        cases, others = (sum(c.counted[side].sum().item() for c in counts) for side in range(2))
        rows = cases + others
    ends = [own_scale(table, end) for c in counts if len(c.score) for end in c.score[[0, -1]]]
    known = table.labelled
    return {
        "rows": rows,
        "positives": cases if known else None,
        "negatives": rows - cases if known else None,
        "weighted_rows": with_it + without if table.weights == "importance" else None,
        "weighted_positives": with_it if table.weights == "importance" and known else None,
        **_clusters(table, counts),
        "rate": with_it / (with_it + without) if with_it + without and known else None,
        "distinct_scores": distinct,
        "score_range": (min(ends), max(ends)) if ends else None,
    }


def _clusters(table: ScoreTable, counts: Sequence[GroupCounts]) -> Plain:
    """Count the clusters that rows of some groups are of: all, and those with and without the outcome."""
    names = ("clusters", "positive_clusters", "negative_clusters")
    if table.units is None:
        return dict.fromkeys(names)
    sides = [[c.members[side].unit for c in counts if c.members is not None] for side in range(2)]
    parts = [each or [np.empty(0, dtype=np.intp)] for each in (sides[0] + sides[1], *sides)]
    many: list[int | None] = [count_units(np.concatenate(each)) for each in parts]
    return dict(zip(names, many if table.labelled else (many[0], None, None)))


def _rates(top: Measuring | None, group: int | None) -> Plain:
    """Give recall and precision of a top with their intervals; nothing where there is nothing to count."""
    known = {} if top is None else {name: top_rate(top, f"top_{name}", group) for name in ("recall", "precision")}
    return {name: found for name, found in known.items() if found == found}


def _ahead(counted: _Counted, passed: Counted) -> Hashable:
    """Name the group that a repair would keep: ranked highest, or lowest where a high place harms, of large groups."""
    xauc = _xauc(counted.matrix)
    if np.isnan(xauc).any():
        return counted.groups[0]
    large = np.array([counted.groups.index(group) for group in carrying_groups(passed.table)])
    lowest = passed.table.ranked_high_means == "harm"
    return counted.groups[large[leading_place(xauc[np.ix_(large, large)], lowest=lowest)]]


def _xauc(matrix: WinMatrix) -> Floats:
    """Give every xAUC; what cannot be measured is NaN."""
    pairs = matrix.pairs
    return np.asarray(np.divide(matrix.half_wins / 2, pairs, out=np.full(pairs.shape, nan), where=pairs > 0))


def _tied(passed: Counted, leading: Pair | None) -> Tied:
    """Give the share of pairs with equal scores, and AUC and gap of the leading pair by both conventions."""
    numbers: dict[str, float | None] = {}
    places = [] if leading is None else [passed.table.groups.index(group) for group in (leading.first, leading.second)]
    for how in TIES:
        matrix = passed.matrix(how)
        pairs, xauc = float(matrix.pairs.sum()), _xauc(matrix)
        numbers[f"auc_{how}"] = float(matrix.half_wins.sum()) / 2 / pairs if pairs else None
        numbers[f"gap_{how}"] = float(xauc[tuple(places)] - xauc[tuple(places[::-1])]) if places else None
    return Tied(passed.tied_share, **numbers)
