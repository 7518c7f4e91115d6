"""How many rows it takes to detect a gap, or to certify a bound: planned by drawing tables of that size."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from scipy.special import betaln, expit, logit, ndtr, ndtri

from fairpot._arguments import argument
from fairpot._defaults import LEVEL
from fairpot._docs import documented
from fairpot._html import html_table, paragraph
from fairpot._shown import frame_of
from fairpot._validation import check_choice, check_level, check_share, is_number
from fairpot.counts import Clusters, Indices
from fairpot.inference.limits import Parts, correlation, difference_limits, joint_tail
from fairpot.inference.shares import FEWEST, GapEstimates, ShareEstimates, cross_pairs, estimate_shares
from fairpot.metrics.rank import check_ties
from fairpot.table import ScoreTable
from fairpot.transport import Floats

_BINS = 64  # scores that tables are drawn with; eight times as many move no power by more than 0.3 points
_ROUGH, _FINE = 400, 6000  # tables drawn at each size that is tried
_SEED = 20250101  # plans are the same in every run
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
    (185, True)
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
        """Which true gap the plan is for, and where that comes from, in a sentence."""
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
    auc: float | tuple[float, ...] = 0.8,
    shares: Mapping[Hashable, float] | None = None,
    rates: float | Mapping[Hashable, float] | None = None,
    true_gap: float | None = None,
    visits: float = 1,
    icc: float = 0.0,
    outcome_icc: float = 0.0,
    table: ScoreTable | None = None,
    ties: str = "half",
) -> SamplePlan:
    """Compute how many rows it takes to detect a gap or to certify a bound.

    Tables of rows are drawn, and the interval or verdict that they would have is computed, until it succeeds as often
    as ``power`` says. The same call gives the same plan.

    Parameters
    ----------
    gap : float in (0, 1]
        The gap to detect, or the bound to certify.
    goal : {"detect", "certify"}, default "detect"
        Get an interval at ``level`` that excludes 0, or the verdict "within" at ``level``.
    power : float, default 0.8
        How often that should succeed.
    {level}
    auc : float or one float per group, default 0.8
        How often positives of each group are ranked above negatives of another. One number is the middle: the groups of
        ``pair`` stand half of ``true_gap`` above and below it, any other group on it. Scores are taken as normal.
    shares, rates : mapping of group to float (``rates`` also one float), default None
        How rows divide between two or more groups, half and half by default; of two, the first is ranked higher. And
        shares of positives, 0.5 by default.
    true_gap : float, default None
        The gap there truly is. None is ``gap`` for "detect"; for "certify" the gap of ``table`` if that is below
        ``gap``, else 0, as if a repair left none. ``assumes`` says which it was.
    visits, icc, outcome_icc : float, default 1, 0 and 0
        Rows of each cluster, such as visits of a patient. Correlation between the scores of two of them, among equal
        outcomes, and between their outcomes: 0 if each visit has its own, 1 if the outcome is the patient's.
    table, ties : ScoreTable and {"half", "strict"}, default None and "half"
        Take spread, shares, rates and clusters from one's own rows instead, and how their ties count.

    Examples
    --------
    >>> from fairpot.inference import plan_sample_size
    >>> print(plan_sample_size(0.05, shares={"F": 0.3, "M": 0.7}, rates=0.1))
    8,051 rows to detect a gap of 0.05 with power 0.8 at 95% confidence
    (F: 2,415 rows, 242 with the outcome, M: 5,636 rows, 564 with the outcome)
    """
    wanted = check_share(gap, "gap", zero=False)
    check_choice(goal, "goal", ("detect", "certify"))
    check_level(level)
    if not is_number(power) or not 0 < power < 1:
        raise ValueError(f"power must lie between 0 and 1, got {power!r}.")
    truth = (wanted if goal == "detect" else 0.0) if true_gap is None else check_share(true_gap, "true_gap", zero=True)
    measured = None
    if table is None:
        expected = _expected(auc, truth, true_gap, shares, rates)
        truth = expected.truth
        _check_reach(goal, wanted, truth)
        law = _normal_law(expected, _check_visits(visits, icc, outcome_icc))
    else:
        table.require("a plan", groups=2)
        found = estimate_shares(table, cross_pairs(table), check_ties(ties))
        measured = float(np.nan_to_num(np.abs(GapEstimates.side_by_side(found).value)).max())
        if goal == "certify" and true_gap is None:
            truth = measured if measured < wanted else 0.0
        _check_reach(goal, wanted, truth)
        law = _law_of(table, found, ties, truth)
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


_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(24)


def _shared(first: Any, second: Any, rho: float) -> Any:
    """Compute P(Y < z1, Z < z2) - P(Y < z1) P(Z < z2) of two normals with correlation ``rho``, by Plackett's integral.

    Two placements of scores with correlation c have this covariance at rho = c / 2: each is the chance to beat a score
    of its own, which adds as much variance again.
    """
    h, k = (ndtri(np.clip(share, 1e-9, 1 - 1e-9))[..., None] for share in (first, second))
    angle = math.asin(rho) * (_NODES + 1) / 2
    density = np.exp(-(h**2 + k**2 - 2 * h * k * np.sin(angle)) / (2 * np.cos(angle) ** 2))
    return math.asin(rho) / 2 * (density @ _WEIGHTS) / (2 * math.pi)


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

    @classmethod
    def among(cls, groups: int) -> _Directions:
        pairs = list(itertools.combinations(range(groups), 2))
        both = np.array([each for i, j in pairs for each in ((i, j), (j, i))], dtype=np.intp)
        return cls(pairs, both[:, 0], both[:, 1])


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
    spread: Floats  # (2, shares) what positives and negatives add to the variance, times rows
    covariance: Floats  # (shares, shares) times rows
    worth: Floats  # (2, groups) how many independent rows a row is worth
    units: Floats  # (2, groups) how many units, clusters or rows, a row is
    clusters: float | None = None  # how many clusters a row is
    lumps: tuple[float, float] = (1.0, 1.0)  # in how large steps the sizes of groups, and of classes, vary

    @property
    def directions(self) -> _Directions:
        return _Directions.among(len(self.groups))

    @property
    def per_row(self) -> float:
        """Variance of the signed gap of the pair, times rows."""
        return float(_of_gaps(self.covariance)[self.pair, self.pair])


def _of_gaps(c: Floats) -> Floats:
    return np.asarray(c[::2, ::2] + c[1::2, 1::2] - c[::2, 1::2] - c[1::2, ::2])


def _rows_needed(law: _Law, task: _Task) -> int:
    """Find the rows at which the goal is reached as often as wanted: search roughly, then draw a line."""
    rng = np.random.default_rng(_SEED)
    tail = task.delta if task.goal == "certify" else joint_tail(_of_gaps(law.covariance), task.delta / 2)
    target = float(ndtri(task.power))
    tried: list[tuple[float, float, float]] = []

    def above(size: float, draws: int) -> float:
        draws = int(draws * min(1.0, 3 / len(law.groups)))
        hits = _successes(law, task, round(math.exp(size)), tail, draws, rng)
        tried.append((size, float(ndtri((hits + 0.5) / (draws + 1))) - target, draws))
        return tried[-1][1]

    middle = _roughly(lambda size: above(size, _ROUGH), math.log(max(task.rows(law.per_row), 4 * len(law.groups))))
    for step in (-0.1, 0.1, 0.0, 0.0):
        above(middle + step, _FINE)
        middle = _crossing(tried, middle)
    return max(math.ceil(math.exp(middle) - 1e-6), 2 * len(law.groups))


def _roughly(above: Callable[[float], float], start: float) -> float:
    """Find where a rising function passes 0: go on until it is between two points, then halve the way."""
    low = high = None
    step, here = 0.15, start
    for _ in range(40):
        found = above(here)
        low, high = (here, high) if found < 0 else (low, here)
        if low is None or high is None:
            here, step = here + (step if found < 0 else -step), min(1.6 * step, 1.0)
            continue
        if high - low < 0.06:
            break
        here = (low + high) / 2
    return here


def _crossing(tried: list[tuple[float, float, float]], middle: float) -> float:
    """Solve a line through what was tried around the middle."""
    x, y, draws = np.array([each for each in tried if abs(each[0] - middle) < 0.25 and abs(each[1]) < 1.0]).T
    weight = draws * np.exp(-((x - middle) ** 2) / (2 * 0.12**2))
    at, level = np.average(x, weights=weight), np.average(y, weights=weight)
    slope = float(weight @ ((x - at) * (y - level))) / max(float(weight @ (x - at) ** 2), 1e-12)
    return float(np.clip(at - level / max(slope, 0.3), middle - 0.15, middle + 0.15))


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
    total = _drawn_sizes(law, rows, draws, rng)
    worth = np.maximum(np.rint(total * law.worth), 2).astype(np.int64)
    counts = np.empty((2, draws, *law.chance.shape[1:]))
    for side, group in np.ndindex(law.size.shape):
        counts[side, :, group] = rng.multinomial(worth[:, side, group], law.chance[side, group])
    where = law.directions
    value, sides = _shares(counts, law.tie, where)
    error = logit(np.clip(value, 1e-12, 1 - 1e-12)) - logit(_shares(law.chance[:, None], law.tie, where)[0])
    variance, covariance = sides[0] + sides[1], np.zeros((draws, len(where.pairs)))
    if law.clusters is not None:
        error, variance, covariance = _with_clusters(law, error, variance, rows)
    inner = (value > 0) & (value < 1)
    shifted = np.where(inner, expit(logit(law.value) + error), value)
    scale = np.where(inner, shifted * (1 - shifted) / np.where(inner, value * (1 - value), 1.0), 1.0)
    own = total * law.units
    units = [np.maximum(own[:, side, groups], 2) for side, groups in enumerate((where.winners, where.losers))]
    flat = [(part * scale**2).ravel() for part in (variance, *sides)]
    parts = Parts(shifted.ravel(), flat[0], (flat[1], flat[2]), (units[0].ravel(), units[1].ravel()))
    return parts, (covariance * scale[:, ::2] * scale[:, 1::2]).ravel()


def _drawn_sizes(law: _Law, rows: int, draws: int, rng: np.random.Generator) -> Floats:
    """Draw how many rows fall into each cell: groups and outcomes come as they come, whole clusters at a time."""
    people, outcomes = law.lumps
    share = law.size.sum(axis=0)
    group = rng.multinomial(max(round(rows / people), 1), share, size=draws) * people
    positive = rng.binomial(np.rint(group / outcomes).astype(np.int64), law.size[0] / share) * outcomes
    return np.stack((np.minimum(positive, group), np.maximum(group - positive, 0)), axis=1)


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


def _with_clusters(law: _Law, error: Floats, variance: Floats, rows: int) -> tuple[Floats, Floats, Floats]:
    """Give errors, on the scale of logits, the variance and the correlation that clusters make them have."""
    wanted = np.diag(law.covariance)
    whole = np.sqrt(wanted / law.spread.sum(axis=0))  # with what positives and negatives of a cluster have in common
    sd = np.sqrt(wanted / rows) / (law.value * (1 - law.value))
    first, second = np.arange(0, len(wanted), 2), np.arange(1, len(wanted), 2)
    rho = correlation(law.covariance)[first, second]
    error, variance = error * whole, variance * whole**2
    error[:, second] = rho * error[:, first] * (sd[second] / sd[first]) + np.sqrt(1 - rho**2) * error[:, second]
    return error, variance, rho * np.sqrt(variance[:, first] * variance[:, second])


@dataclass(frozen=True)
class _Expected:
    """What is expected of rows that are not there yet."""

    groups: tuple[Hashable, ...]
    shares: Floats
    rates: Floats
    truth: float
    middle: float
    given: Floats | None  # the xAUC of each group over others

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """The pairs that the gap may be between, the higher group first."""
        if self.given is None:
            return list(itertools.combinations(range(len(self.groups)), 2))
        high, low = int(np.argmax(self.given)), int(np.argmin(self.given))
        return [(high, low) if high != low else (0, 1)]

    def xaucs(self, pair: tuple[int, int]) -> Floats:
        """Give the xAUC of each group over others if the gap is between two of them."""
        if self.given is not None:
            return np.clip(self.given, 1 - _NEAREST, _NEAREST)
        high, low = _around(self.middle, self.truth)
        found = np.full(len(self.groups), (high + low) / 2)
        found[list(pair)] = high, low
        return found


def _around(middle: float, gap: float) -> tuple[float, float]:
    """Put two xAUCs around a middle, or as near to it as 0 and 1 allow."""
    high = min(middle + gap / 2, _NEAREST)
    low = max(high - gap, 1 - _NEAREST)
    return min(low + gap, _NEAREST), low


def _expected(auc: Any, truth: float, true_gap: float | None, shares: Any, rates: Any) -> _Expected:
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
    if not isinstance(auc, tuple | list):
        return _Expected(groups, size / size.sum(), rate, truth, check_share(auc, "auc", zero=True), None)
    if len(auc) != len(groups):
        raise ValueError(f"auc must be one number, or one for each group {list(groups)}, got {len(auc)}.")
    given = np.array([check_share(value, "auc", zero=True) for value in auc])
    if true_gap is not None:
        raise ValueError("auc has a number for each group, which says the true gap.\nHint: leave true_gap out.")
    return _Expected(groups, size / size.sum(), rate, float(np.ptp(given)), float(given.mean()), given)


class _Visits(NamedTuple):
    """Rows of a cluster, and how scores and outcomes of two of them are correlated."""

    many: float
    icc: float
    outcome: float

    def clusters(self, rate: Floats) -> Floats:
        """For each row of a class, how many clusters have one: outcomes of a cluster are beta-binomial."""
        if self.many == 1:
            return np.ones(rate.shape)
        if self.outcome in (0, 1):
            none = (1 - rate) ** (self.many if self.outcome == 0 else 1)
        else:
            a, b = rate * (1 / self.outcome - 1), (1 - rate) * (1 / self.outcome - 1)
            none = np.exp(betaln(a, b + self.many) - betaln(a, b))
        return np.asarray((1 - none) / (self.many * rate))


def _check_visits(visits: Any, icc: Any, outcome_icc: Any) -> _Visits:
    if not is_number(visits) or not 1 <= visits < math.inf:
        raise ValueError(f"visits must be 1 or more, the rows of each cluster, got {visits!r}.")
    shares = [check_share(value, name, zero=True) for value, name in ((icc, "icc"), (outcome_icc, "outcome_icc"))]
    if visits == 1 and (icc or outcome_icc):
        raise ValueError(
            "icc says what visits of a patient have in common.\nHint: give visits as well, or leave icc out."
        )
    return _Visits(float(visits), *shares)


def _normal_law(expected: _Expected, visits: _Visits) -> _Law:
    """Draw scores from normals of spread 1: negatives around 0, positives around what their xAUC asks for."""
    where = _Directions.among(len(expected.groups))
    pair = max(expected.pairs, key=lambda each: _alone(expected, each, visits))
    xaucs = expected.xaucs(pair)
    rate = np.stack((expected.rates, 1 - expected.rates))
    size = expected.shares * rate
    spread, covariance = _normal_precision(expected, xaucs, visits)
    value, worth = xaucs[where.winners], np.ones(size.shape)
    for side, groups in enumerate((where.winners, where.losers)):  # nearly the same in all shares of a group
        worth[side, groups] = _shared(value, value, 0.5) / (spread[side] * size[side, groups])
    return _Law(
        expected.groups,
        size=size,
        chance=_normal_bins(math.sqrt(2) * ndtri(xaucs)),
        tie=np.full(_BINS, 0.5),
        value=value,
        pair=where.pairs.index((min(pair), max(pair))),
        spread=spread,
        covariance=covariance,
        worth=worth,
        units=visits.clusters(rate),
        clusters=None if visits.many == 1 else 1 / visits.many,
        lumps=(visits.many, 1 + (visits.many - 1) * visits.outcome),
    )


def _alone(expected: _Expected, pair: tuple[int, int], visits: _Visits) -> float:
    """Compute the variance of the signed gap of two groups, times rows."""
    two = list(pair)
    shares, rates = expected.shares[two], expected.rates[two]
    only = replace(expected, groups=tuple(expected.groups[k] for k in two), shares=shares, rates=rates)
    return float(_of_gaps(_normal_precision(only, expected.xaucs(pair)[two], visits)[1])[0, 0])


def _normal_precision(expected: _Expected, xaucs: Floats, visits: _Visits) -> tuple[Floats, Floats]:
    """Compute what positives and negatives add to the variance of each share, and all covariances, times rows.

    Two shares of the same group have its positives, or its negatives, in common; and a patient who scores high pulls
    the two directions of a pair apart, by positives and by negatives.
    """
    where = _Directions.among(len(expected.groups))
    win, lose = where.winners, where.losers
    rate = np.stack((expected.rates, 1 - expected.rates))
    size = expected.shares * rate
    again = (visits.many - 1) * (rate + visits.outcome * (1 - rate))  # more rows of a row's class in its cluster
    x, y = xaucs[win][:, None], xaucs[win][None, :]
    same, alike, apart = (_shared(x, y, rho) for rho in (0.5, visits.icc / 2, -visits.icc / 2))
    sides = [((same + again[k, own] * alike) / size[k, own]).T for k, own in enumerate((win, lose))]
    covariance = sum(side * (own[:, None] == own) for side, own in zip(sides, (win, lose)))
    crossed = (visits.many - 1) * (1 - visits.outcome) * apart
    for own, other in ((win, lose), (lose, win)):
        covariance = covariance + crossed / expected.shares[own][:, None] * (own[:, None] == other)
    return np.stack([np.diag(side) for side in sides]), np.asarray(covariance)


def _normal_bins(centre: Floats) -> Floats:
    """Share out normals of spread 1 between bins that hold as much of their mixture each."""
    centre = np.stack((centre, np.zeros(len(centre))))[..., None]
    grid = np.linspace(centre.min() - 9, centre.max() + 9, 4001)
    edges = np.interp(np.arange(1, _BINS) / _BINS, ndtr(grid - centre).mean(axis=(0, 1)), grid)
    return np.diff(ndtr(np.concatenate(([-np.inf], edges, [np.inf])) - centre), axis=2)


def _law_of(table: ScoreTable, found: ShareEstimates, ties: str, truth: float) -> _Law:
    """Take everything from a table, and put the gap between the two groups that need most."""
    if not (np.minimum(*found.units) > 1).all():
        raise ValueError(
            "the table has a group with fewer than two rows with or without the outcome: its spread is unknown.\n"
            "Hint: plan from more rows, or without rows, from an AUC and rates."
        )
    if not (found.se > 0).all():
        raise ValueError(
            "the table ranks every pair alike: a spread of 0 cannot be planned with.\n"
            "Hint: plan from more rows, or without rows, from an AUC and rates."
        )
    rows = _rows_of(table)
    chance, tie = _bins_of(table, ties)
    total, one = float(rows.sum()), np.ones(rows.shape)
    spread = np.stack(found.variance) * total
    law = _Law(table.groups, rows / total, chance, tie, found.value, 0, spread, found.covariance * total, one, one)
    if table.clusters is not None:
        law = _of_clusters(law, table, table.clusters, rows)
    pairs = range(len(law.directions.pairs))
    return _moved(law, max(pairs, key=lambda pair: _moved(law, pair, truth).per_row), truth)


def _rows_of(table: ScoreTable) -> Floats:
    """Count the rows of each cell; those of importance weights as many as they are worth."""
    if not table.importance:
        return np.stack((table.positives, table.negatives)).astype(np.float64)
    if table.clusters is None:
        return np.stack(table.independent)
    rows = np.zeros((2, len(table.groups)))
    np.add.at(rows, ((~table.clusters.positive).astype(np.intp), table.clusters.group), 1.0)
    return rows


def _bins_of(table: ScoreTable, ties: str) -> tuple[Floats, Floats]:
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


def _of_clusters(law: _Law, table: ScoreTable, clusters: Clusters, rows: Floats) -> _Law:
    """Say what rows that belong together are worth, by the variance that they have and would have alone."""
    where = law.directions
    _, alone = _shares(law.chance[:, None], law.tie, where)
    worth = np.zeros(rows.shape)
    for side, groups in enumerate((where.winners, where.losers)):
        np.add.at(worth[side], groups, alone[side][0] / (law.size[side, groups] * law.spread[side]))
    return replace(
        law,
        worth=worth / (len(law.groups) - 1),  # each takes part in so many shares on either side
        units=np.stack(table.independent) / rows,
        clusters=len(np.unique(clusters.unit)) / float(rows.sum()),
        lumps=_lumps(clusters, len(law.groups)),
    )


def _lumps(clusters: Clusters, groups: int) -> tuple[float, float]:
    """Compare how the sizes of groups, and of classes inside them, vary with how those of single rows would."""
    weight = np.ones(len(clusters.unit)) if clusters.importance else clusters.weight
    counts = np.zeros((2, clusters.size, groups))
    np.add.at(counts, ((~clusters.positive).astype(np.intp), clusters.unit, clusters.group), weight)
    own = counts.sum(axis=0)
    whole, of_group = own.sum(axis=1, keepdims=True), own.sum(axis=0)
    share, rate = of_group / of_group.sum(), counts[0].sum(axis=0) / of_group
    people = ((own - whole * share) ** 2).sum() / (of_group @ (1 - share))
    outcomes = ((counts[0] - own * rate) ** 2).sum() / (of_group @ (rate * (1 - rate)))
    return max(float(people), 1.0), max(float(outcomes), 1.0)


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
    return replace(law, value=value, pair=pair, spread=law.spread * scale**2, covariance=covariance)


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
