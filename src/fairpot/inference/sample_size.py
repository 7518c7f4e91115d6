"""How many rows it takes to detect a gap, or to certify a bound: planned by drawing tables of that size."""

from __future__ import annotations

import itertools
import math
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit, logit, ndtr, ndtri

from fairpot._arguments import argument
from fairpot._defaults import FEWEST, LEVEL, Ties
from fairpot._docs import documented
from fairpot._html import html_table, paragraph
from fairpot._shown import frame_of
from fairpot._validation import check_choice, check_level, check_share, is_number
from fairpot.counts import GroupCounts, Indices
from fairpot.inference.limits import Parts, difference_limits, joint_tail
from fairpot.inference.shares import GapEstimates, ShareEstimates, cross_pairs, estimate_shares
from fairpot.metrics.rank import check_ties
from fairpot.table import ScoreTable
from fairpot.transport import Floats

_BINS = 64  # scores that tables are drawn with; eight times as many move no power by more than 0.3 points
_ROUGH, _FINE = 400, 6000  # tables drawn at each size that is tried
_MANY = 1e9  # rows of a table that stands for what is expected
_SEED = 20250101  # plans are the same in every run
_NORMAL = "And normal scores, with and without the outcome: a plan from rows like yours assumes no such thing."
_NEAREST = 0.999  # an xAUC to plan with keeps this far from 1


@dataclass(frozen=True, repr=False)
class SamplePlan:
    """Hold how many rows a goal takes.

    Attributes
    ----------
    goal, gap, level, power : str and floats
        What was asked for: "detect" or "certify", which gap or bound, the confidence, and how often it is reached.
    rows, group_rows, positives, negatives : int, and dicts of group to int
        Rows in all, and how they divide.
    se, true_gap : float
        Standard error of the signed gap of ``pair`` at that size, and the gap there truly is.
    pair : tuple of two groups
        Of several, the two whose gap takes the most rows; the plan is for a gap between them, the first ranked higher.
    clusters, measured_gap : int and float, or None
        How many clusters, such as patients, the rows come from; the gap of the rows that the plan is made from.

    Examples
    --------
    >>> from fairpot.inference import plan_sample_size
    >>> plan = plan_sample_size(0.2, rates=0.3)
    >>> plan.rows, plan.group_rows == {"a": plan.rows // 2, "b": plan.rows - plan.rows // 2}
    (186, True)
    """

    goal: str
    gap: float
    rows: int
    group_rows: dict[Hashable, int]
    positives: dict[Hashable, int]
    negatives: dict[Hashable, int]
    se: float
    level: float
    power: float
    true_gap: float
    pair: tuple[Hashable, Hashable]
    clusters: int | None = None
    measured_gap: float | None = None

    @property
    def assumes(self) -> str:
        """Which true gap the plan is for and where that comes from; without rows, also how scores are taken to be."""
        return self._assumed_gap if self.measured_gap is not None else f"{self._assumed_gap} {_NORMAL}"

    @property
    def _assumed_gap(self) -> str:
        if self.goal == "detect":
            return f"Assumed: a true gap of {self.true_gap:.3g}."
        if self.measured_gap is None or self.true_gap > 0:
            own = ", the gap of these rows" if self.true_gap == self.measured_gap else ""
            return f"Assumed: a true gap of {self.true_gap:.3g}{own}. {argument('true_gap')} plans for another."
        above = "" if self.measured_gap < self.gap else f" These rows have a gap of {self.measured_gap:.3g}."
        return f"Assumed: a repair that leaves a true gap of 0.{above} {argument('true_gap')} plans for another."

    def __repr__(self) -> str:
        return f"<SamplePlan: {str(self).split(' (')[0]}>"

    def _listed(self) -> list[dict[str, Any]]:
        return [
            {"group": g, "rows": rows, "with the outcome": self.positives[g], "without it": self.negatives[g]}
            for g, rows in self.group_rows.items()
        ]

    def frame(self) -> Any:
        """Return the rows of each group as a frame (pandas, Polars or PyArrow, whichever is in use)."""
        return frame_of(self._listed())

    def _repr_html_(self) -> str:
        return f"<div>{paragraph(str(self).split(' (')[0])}{html_table(self._listed(), 'Rows to plan for')}</div>"

    def __str__(self) -> str:
        aim = f"detect a gap of {self.gap:g}" if self.goal == "detect" else f"certify a gap within {self.gap:g}"
        parts = ", ".join(
            f"{g}: {self.group_rows[g]:,} rows, {self.positives[g]:,} with the outcome" for g in self.group_rows
        )
        of = "" if self.clusters is None else f" of {self.clusters:,} clusters"
        return (
            f"{self.rows:,} rows{of} to {aim} with power {self.power:g} at {100 * self.level:g}% confidence ({parts})"
        )


@documented
def plan_sample_size(
    gap: float,
    *,
    goal: str = "detect",
    power: float = 0.8,
    level: float = LEVEL,
    auc: float = 0.8,
    shares: Mapping[Hashable, float] | None = None,
    rates: float | Mapping[Hashable, float] | None = None,
    true_gap: float | None = None,
    table: ScoreTable | None = None,
    ties: str = "half",
) -> SamplePlan:
    """Compute how many rows it takes to detect a gap or to certify a bound.

    Give a ``table`` of rows like yours if you have one: without it scores are assumed to be normal, and where they are
    not, fewer studies of the planned size may succeed than ``power`` says. Tables of rows are drawn, and the interval
    or verdict that they would have is computed, until it succeeds as often as ``power`` says. The same call gives the
    same plan.

    Parameters
    ----------
    gap : float in (0, 1]
        The gap to detect, or the bound to certify.
    goal : {"detect", "certify"}, default "detect"
        Get an interval at ``level`` that excludes 0, or the verdict "within" at ``level``.
    power : float, default 0.8
        How often that should succeed.
    {level}
    auc : float, default 0.8
        How often positives of one group are ranked above negatives of another: the groups of ``pair`` stand half of
        ``true_gap`` above and below it, any other group on it. Scores are taken as normal.
    shares, rates : mapping of group to float (``rates`` also one float), default None
        How rows divide between two or more groups, half and half by default; of two, the first is ranked higher. And
        shares of positives, 0.5 by default.
    true_gap : float, default None
        The gap there truly is. None is ``gap`` for "detect"; for "certify" the gap of ``table`` if that is below
        ``gap``, else 0, as if a repair left none. ``assumes`` says which it was.
    table, ties : ScoreTable and {"half", "strict"}, default None and "half"
        Take spread, shares, rates and clusters from one's own rows instead, and how their ties count.

    Examples
    --------
    >>> from fairpot.inference import plan_sample_size
    >>> print(plan_sample_size(0.05, shares={"F": 0.3, "M": 0.7}, rates=0.1))
    8,022 rows to detect a gap of 0.05 with power 0.8 at 95% confidence
    (F: 2,407 rows, 241 with the outcome, M: 5,615 rows, 562 with the outcome)
    """
    wanted = check_share(gap, "gap", zero=False)
    check_choice(goal, "goal", ("detect", "certify"))
    check_level(level)
    if not is_number(power) or not 0 < power < 1:
        raise ValueError(f"power must lie between 0 and 1, got {power!r}.")
    truth = (wanted if goal == "detect" else 0.0) if true_gap is None else check_share(true_gap, "true_gap", zero=True)
    measured = None
    if table is None:
        groups, size = _divided(shares, rates)
        middle = check_share(auc, "auc", zero=True)
        _check_reach(goal, wanted, truth)
        law = _normal_law(groups, size, middle, truth)
    else:
        table.require("a plan", groups=2)
        how = check_ties(ties)
        found = estimate_shares(table, cross_pairs(table), how)
        measured = float(np.nan_to_num(np.abs(GapEstimates.side_by_side(found).value)).max())
        if goal == "certify" and true_gap is None:
            truth = measured if measured < wanted else 0.0
        _check_reach(goal, wanted, truth)
        law = _law_of(table, found, how, truth)
    task = _Task(goal, wanted, truth, 1 - level, power)
    return replace(_plan(law, task, _rows_needed(law, task), level), measured_gap=measured)


def _check_reach(goal: str, gap: float, truth: float) -> None:
    if goal == "detect" and truth == 0:
        raise ValueError(
            f"the true gap is 0: there is nothing to detect.\nHint: give the smallest gap to be found, such as "
            f"{argument('true_gap', 0.05)}."
        )
    if goal == "certify" and truth >= gap:
        raise ValueError(
            f"a gap of {truth:g} cannot be certified to be within {gap:g}, however many rows there are.\n"
            f"Hint: give a larger bound, or a smaller {argument('true_gap')} (what is left after a repair)."
        )


class _Task(NamedTuple):
    """What a plan is for."""

    goal: str
    gap: float
    truth: float
    delta: float
    power: float

    def rows(self, per_row: float) -> float:
        """Give the rows it takes if errors were normal and their variance known."""
        if self.goal == "detect":
            margin, quantile = self.truth, ndtri(1 - self.delta / 2) + ndtri(self.power)
        else:  # at a true gap of 0 either limit may fail, else only the nearer one
            either = (1 + self.power) / 2 if self.truth == 0 else self.power
            margin, quantile = self.gap - self.truth, ndtri(1 - self.delta) + ndtri(either)
        return float(per_row * (max(quantile, 0.5) / margin) ** 2)


class _Directions(NamedTuple):
    """Both directions of every two groups, side by side: whose positives are compared with whose negatives."""

    pairs: list[tuple[int, int]]
    winners: Indices
    losers: Indices


@dataclass(frozen=True, eq=False)
class _Law:
    """What rows are drawn from, and how precise the shares of pairs then are.

    Arrays have positives first, then negatives, of each group; shares are both directions of every two groups.
    """

    groups: tuple[Hashable, ...]
    size: Floats  # (2, groups) shares of rows
    chance: Floats  # (2, groups, bins) of scores
    tie: Floats  # (bins,) what a pair in the same bin counts
    value: Floats  # (shares,) to plan with
    pair: int  # the two groups that the gap is between, among all pairs
    covariance: Floats  # (shares, shares) times rows
    worth: float = 1.0  # how many independent rows a row is worth
    clusters: float | None = None  # how many clusters a row is

    @property
    def directions(self) -> _Directions:
        pairs = list(itertools.combinations(range(len(self.groups)), 2))
        both = np.array([each for i, j in pairs for each in ((i, j), (j, i))], dtype=np.intp)
        return _Directions(pairs, both[:, 0], both[:, 1])

    @property
    def per_row(self) -> float:
        """Variance of the signed gap of the pair, times rows."""
        return float(_of_gaps(self.covariance)[self.pair, self.pair])


def _of_gaps(c: Floats) -> Floats:
    return np.asarray(c[::2, ::2] + c[1::2, 1::2] - c[::2, 1::2] - c[1::2, ::2])


def _rows_needed(law: _Law, task: _Task) -> int:
    """Find the rows at which the goal is reached as often as wanted, by steps that draw more and more tables.

    The normal quantile of the power rises with the root of the rows, from minus that of the confidence on.
    """
    rng, few = np.random.default_rng(_SEED), min(1.0, 3 / len(law.groups))
    tail = task.delta if task.goal == "certify" else joint_tail(_of_gaps(law.covariance), task.delta / 2)
    target, start = float(ndtri(task.power)), float(ndtri(1 - tail))
    size, sizes = math.log(max(task.rows(law.per_row), 4 * len(law.groups))), []
    for draws in (int(few * each) for each in (*[_ROUGH] * 6, *[_FINE] * 4)):
        hits = _successes(law, task, round(math.exp(size)), tail, draws, rng)
        reached = float(ndtri((hits + 0.5) / (draws + 1)))
        size += float(np.clip((target - reached) / max((reached + start) / 2, 0.5), -0.5, 0.5))
        sizes.append(size)
    return max(math.ceil(math.exp(np.mean(sizes[-4:])) - 1e-6), 2 * len(law.groups))


def _successes(law: _Law, task: _Task, rows: int, tail: float, draws: int, rng: np.random.Generator) -> int:
    """Draw tables and count those that reach the goal."""
    found, covariance = _drawn(law, rows, draws, rng)
    first, second = (found.take(np.arange(side, len(found.value), 2)) for side in range(2))
    low, high = (limit.reshape(draws, -1) for limit in difference_limits(first, second, covariance, tail))
    enough = np.minimum(*found.units).reshape(draws, -1).min(axis=1) >= FEWEST - 1e-9
    if task.goal == "detect":
        reached = ((low > 0) | (high < 0)).any(axis=1)
    else:
        reached = ((low >= -task.gap) & (high <= task.gap)).all(axis=1)
    return int((reached & enough).sum())


def _drawn(law: _Law, rows: int, draws: int, rng: np.random.Generator) -> tuple[Parts, Floats]:
    """Draw the shares of so many tables with what limits are computed from, table after table."""
    # Groups and outcomes come as they come.
    share = law.size.sum(axis=0)
    group = rng.multinomial(max(round(rows * law.worth), 1), share, size=draws)
    positive = rng.binomial(group, law.size[0] / share)
    total = np.maximum(np.stack((positive, group - positive), axis=1), 2)  # independent rows of each cell
    counts = np.empty((2, draws, *law.chance.shape[1:]))
    for side, g in np.ndindex(law.size.shape):
        counts[side, :, g] = rng.multinomial(total[:, side, g], law.chance[side, g])
    where = law.directions
    value, sides = _shares(counts, law.tie, where)
    error = logit(np.clip(value, 1e-12, 1 - 1e-12)) - logit(_shares(law.chance[:, None], law.tie, where)[0])
    inner = (value > 0) & (value < 1)
    shifted = np.where(inner, expit(logit(law.value) + error), value)
    scale = np.where(inner, shifted * (1 - shifted) / np.where(inner, value * (1 - value), 1.0), 1.0)
    own = total.astype(np.float64)
    units = [own[:, side, groups].ravel() for side, groups in enumerate((where.winners, where.losers))]
    v, w = ((part * scale**2).ravel() for part in sides)
    variance = ((sides[0] + sides[1]) * scale**2).ravel()
    return Parts(shifted.ravel(), variance, (v, w), (units[0], units[1])), np.zeros(draws * len(where.pairs))


def _shares(counts: Floats, tie: Floats, where: _Directions) -> tuple[Floats, tuple[Floats, Floats]]:
    """Compute the shares of each draw, and what positives and negatives add to their variances."""
    positive, negative = counts
    m, n = (side.sum(axis=2, keepdims=True) for side in counts)
    beaten = (np.cumsum(negative, axis=2) - negative * (1 - tie)) / n
    lost = (m - np.cumsum(positive, axis=2) + positive * tie) / m
    at = (slice(None), where.winners, where.losers)
    value = (positive @ beaten.swapaxes(1, 2) / m)[at]
    plus = ((positive @ (beaten**2).swapaxes(1, 2)) / m)[at] - value**2
    minus = ((negative @ (lost**2).swapaxes(1, 2)) / n).swapaxes(1, 2)[at] - value**2
    free = [np.maximum(size[:, groups, 0] - 1, 1) for size, groups in ((m, where.winners), (n, where.losers))]
    return value, (np.maximum(plus, 0) / free[0], np.maximum(minus, 0) / free[1])


def _around(middle: float, gap: float) -> tuple[float, float]:
    """Put two xAUCs around a middle, or as near to it as 0 and 1 allow."""
    high = min(middle + gap / 2, _NEAREST)
    low = max(high - gap, 1 - _NEAREST)
    return min(low + gap, _NEAREST), low


def _divided(shares: Any, rates: Any) -> tuple[tuple[Hashable, ...], Floats]:
    """Check how rows divide between groups and outcomes; give the share of each cell."""
    parts = {"a": 0.5, "b": 0.5} if shares is None else dict(shares)
    if len(parts) < 2:
        raise ValueError(f"shares must name at least two groups, got {list(parts)}.")
    groups = tuple(parts)
    size = np.array([check_share(value, f"shares[{g!r}]", zero=False) for g, value in parts.items()])
    rates = 0.5 if rates is None else rates
    rates = rates if isinstance(rates, Mapping) else dict.fromkeys(groups, rates)
    if set(rates) != set(groups):
        raise ValueError(f"rates must have one entry for each group {list(groups)}, got {list(rates)}.")
    rate = np.array([check_share(rates[g], f"rates[{g!r}]", zero=False) for g in groups])
    if (rate == 1).any():
        raise ValueError("rates must be below 1: with nobody without the outcome there is nothing to rank above.")
    return groups, size / size.sum() * np.stack((rate, 1 - rate))


def _normal_law(groups: tuple[Hashable, ...], size: Floats, middle: float, truth: float) -> _Law:
    """Plan with normal scores: first without a gap, to see between which two groups it needs most, then with it."""
    level = np.full(len(groups), _around(middle, 0.0)[0])
    law = _expected(groups, size, level, 0.0)
    pair = max(range(len(law.directions.pairs)), key=lambda each: round(_moved(law, each, truth).per_row, 9))
    high, low = _around(middle, truth)
    level[:] = (high + low) / 2
    level[list(law.directions.pairs[pair])] = high, low
    return _expected(groups, size, level, truth, pair)


def _expected(groups: tuple[Hashable, ...], size: Floats, xaucs: Floats, truth: float, pair: int | None = None) -> _Law:
    """Plan from very many rows with normal scores of spread 1: negatives around 0, positives where xAUCs have them."""
    cells = np.rint(_MANY * size[..., None] * _normal_bins(math.sqrt(2) * ndtri(xaucs))).astype(np.int64)
    score = np.arange(_BINS, dtype=np.float64)
    table = ScoreTable(groups, tuple(GroupCounts(score, *cells[:, g]) for g in range(len(groups))))
    return _law_of(table, estimate_shares(table, cross_pairs(table)), "half", truth, pair)


def _normal_bins(centre: Floats) -> Floats:
    """Share out normals of spread 1 between bins that hold as much of their mixture each."""
    centre = np.stack((centre, np.zeros(len(centre))))[..., None]
    grid = np.linspace(centre.min() - 9, centre.max() + 9, 4001)
    edges = np.interp(np.arange(1, _BINS) / _BINS, ndtr(grid - centre).mean(axis=(0, 1)), grid)
    return np.diff(ndtr(np.concatenate(([-np.inf], edges, [np.inf])) - centre), axis=2)


def _law_of(table: ScoreTable, found: ShareEstimates, ties: Ties, truth: float, pair: int | None = None) -> _Law:
    """Take everything from a table, and put the gap between two groups: those that need most, unless they are given."""
    few = not (np.minimum(*found.units) > 1).all()
    if few or not (found.se > 0).all():
        unknown = "has a group with fewer than two rows with or without the outcome: its spread is unknown"
        wrong = unknown if few else "ranks every pair alike: a spread of 0 cannot be planned with"
        hint = "Hint: plan from more rows, or without rows, from an AUC and rates."
        raise ValueError(f"the table {wrong}.\n{hint}")
    rows = _rows_of(table)
    chance, tie = _bins_of(table, ties)
    total = float(rows.sum())
    law = _Law(table.groups, rows / total, chance, tie, found.value, 0, found.covariance * total)
    if pair is None:
        pair = max(range(len(law.directions.pairs)), key=lambda each: _moved(law, each, truth).per_row)
    if table.clusters is not None:
        own = replace(law, pair=pair)
        clusters = len(np.unique(table.clusters.unit)) / total
        law = replace(law, worth=_alone(own) / own.per_row, clusters=clusters)
    return _moved(law, pair, truth)


def _alone(law: _Law) -> float:
    """Compute the variance of the signed gap of the pair, times rows, if no rows belonged together."""
    where = law.directions
    _, (plus, minus) = _shares(law.chance[:, None], law.tie, where)
    each = plus[0] / law.size[0, where.winners] + minus[0] / law.size[1, where.losers]
    return float(each[2 * law.pair : 2 * law.pair + 2].sum())


def _rows_of(table: ScoreTable) -> Floats:
    """Count the rows of each cell; those of importance weights as many as they are worth."""
    if not table.importance:
        return np.stack((table.positives, table.negatives)).astype(np.float64)
    if table.clusters is None:
        return np.stack(table.independent)
    rows = np.zeros((2, len(table.groups)))
    np.add.at(rows, ((~table.clusters.positive).astype(np.intp), table.clusters.group), 1.0)
    return rows


def _bins_of(table: ScoreTable, ties: Ties) -> tuple[Floats, Floats]:
    """Spread each cell over bins of neighbouring scores; a tie counts as it does where a bin holds a single score."""
    scores = np.unique(np.concatenate([c.score for c in table.counts]))
    cells = np.zeros((2, len(table.groups), len(scores)))
    for g, counts in enumerate(table.counts):
        at = np.searchsorted(scores, counts.score)
        cells[0, g, at], cells[1, g, at] = counts.positive, counts.negative
    cells /= cells.sum(axis=2, keepdims=True)
    mixed = cells.mean(axis=(0, 1))
    bins = np.arange(len(scores))
    if len(scores) > _BINS:
        bins = np.minimum(((np.cumsum(mixed) - mixed / 2) * _BINS).astype(np.intp), _BINS - 1)
    first = np.flatnonzero(np.diff(bins, prepend=-1))
    single = np.diff(first, append=len(scores)) == 1
    return np.add.reduceat(cells, first, axis=2), np.where(single & (ties == "strict"), 0.0, 0.5)


def _moved(law: _Law, pair: int, truth: float) -> _Law:
    """Put the gap between two groups, as they are ranked, and every other group between them."""
    pairs = law.directions.pairs
    sign = -1 if law.value[2 * pair] < law.value[2 * pair + 1] else 1
    height = np.zeros(len(law.groups))
    height[list(pairs[pair])] = sign * truth / 2, -sign * truth / 2
    value = np.empty(len(law.value))
    for k, (i, j) in enumerate(pairs):
        gap = height[i] - height[j]
        both = _around(float(law.value[2 * k : 2 * k + 2].mean()), abs(gap))
        value[2 * k : 2 * k + 2] = both if gap >= 0 else both[::-1]
    inner = np.clip(law.value, 1e-9, 1 - 1e-9)
    scale = value * (1 - value) / (inner * (1 - inner))
    covariance = law.covariance * np.outer(scale, scale)
    return replace(law, value=value, pair=pair, covariance=covariance)


def _plan(law: _Law, task: _Task, rows: int, level: float) -> SamplePlan:
    clusters = None
    if law.clusters is not None:
        clusters = math.ceil(rows * law.clusters - 1e-9)
        rows = max(round(clusters / law.clusters), rows)
    share = law.size.sum(axis=0)
    parts = np.diff(np.rint(rows * np.cumsum(share)).astype(int), prepend=0).tolist()  # they add up to the rows
    positives = [min(math.ceil(n * rate - 1e-9), n) for n, rate in zip(parts, law.size[0] / share)]
    i, j = law.directions.pairs[law.pair]
    first, second = law.value[2 * law.pair : 2 * law.pair + 2]
    return SamplePlan(
        task.goal,
        task.gap,
        rows,
        dict(zip(law.groups, parts)),
        dict(zip(law.groups, positives)),
        {g: n - p for g, n, p in zip(law.groups, parts, positives)},
        math.sqrt(law.per_row / rows),
        level,
        task.power,
        task.truth,
        (law.groups[i], law.groups[j]) if first >= second else (law.groups[j], law.groups[i]),
        clusters,
    )
