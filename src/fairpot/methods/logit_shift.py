"""LogitShift: add one constant to the log-odds of a group.

A breakpoint is a shift at which scores of two groups would be equal. Between two neighbours nothing changes; on one,
rounding decides who is ranked higher. So a shift is taken half way between two.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import ClassVar

import numpy as np
from scipy.special import logit

from fairpot._defaults import Ties
from fairpot._docs import documented
from fairpot.metrics.wins import cross_half_wins, inner_half_wins
from fairpot.repair.estimator import OwnStrength, Repair
from fairpot.repair.family import Dial, Family, spread
from fairpot.repair.groups import find_reference
from fairpot.table import ScoreTable
from fairpot.tradeoff.curve import TradeoffCurve
from fairpot.tradeoff.solve import Mover
from fairpot.transport import Floats, ScoreMap, ShiftMap

DIAL = Dial(
    "shift",
    low=-np.inf,
    high=np.inf,
    identity=0.0,
    meaning="what is added to the log-odds",
    setting="{dial} = {value}: added to the log-odds of {moved}",
)
# Shifts of a curve, from one end of what matters to the other; and to compare methods at, on either side of 0.
_VALUES, _SWEEP = 401, np.concatenate((np.arange(1, 81) / 40, 2 + np.arange(1, 21) / 10))
# Breakpoints nearer to each other than this share of the unit are one: scores equal on paper may differ by as much.
_SAME = 1e-9
# Pairs of scores up to which all shifts that differ are listed, for a curve, and for one of several groups; even steps
# of a group that has more.
_PAIRS, _LISTED, _EVEN = 250_000, 20_000, 16_001
# The largest shift of log-odds, and of other scores: beyond it, what it makes of them may leave the range of numbers.
_MOST = 500.0, 1e300


def learn(table: ScoreTable, *, reference: Hashable | None = None, ties: Ties = "half") -> Family:
    """Learn the scale of the scores and the reference; at a strength all scores of a group are shifted by it."""
    reference, scale = find_reference(table, reference, ties), ShiftScale.of(table)
    z = {g: scale.forward(c.score) for g, c in zip(table.groups, table.counts)}
    z = {g: each[np.isfinite(each)] for g, each in z.items()}
    moved = [g for g in table.groups if g != reference]

    def at(group: Hashable, shift: float) -> ScoreMap:
        return ScoreMap.identity() if shift == 0 else scale.map(shift)

    def move(group: Hashable, scores: Floats) -> Mover:
        start = scale.forward(scores)
        return lambda shift: start + shift

    def quick(rows: ScoreTable, ties: Ties) -> TradeoffCurve | None:
        return every_shift(scale, rows, reference, moved[0], ties)

    def settle(rows: ScoreTable, group: Hashable, shift: float) -> float:
        both = [scale.forward(rows[g].score) for g in (reference, group)]
        fixed, own = (each[np.isfinite(each)] for each in both)
        return settled(scale, fixed, own, shift)

    reach = [ends(scale, z[reference], z[g]) for g in moved]
    widest = min(low for low, _ in reach), max(high for _, high in reach)
    few, one = _spread_shifts(table), len(moved) == 1
    values = np.unique(np.concatenate((np.linspace(*widest, _VALUES), few[np.abs(few) <= scale.most])))
    return replace(
        Family(DIAL, table.groups, reference, at, values, finer=spread, few=few, move=move, scale=scale.forward),
        reach=lambda group: own_shifts(scale, z[reference], z[group], len(table.groups)),
        quick=lru_cache(maxsize=1)(quick) if one else None,
        shy=scale.same(list(z.values())),
        settle=settle if one else None,
    )


@documented
@dataclass(eq=False, repr=False)
class LogitShift(Repair):
    """Repair scores by one number for each group: a constant that is added to the log-odds.

    The scores of the reference group do not change. A probability of another group becomes the one whose odds are
    ``exp(shift)`` times as high: people keep their order inside a group, and 0 and 1 stay. Other scores (log-odds,
    points, deciles) are shifted on their own scale.

    Parameters
    ----------
    shift : float or None, default None
        What is added, from -500 to 500. None chooses it in ``fit`` by rule; of several groups each gets its own.
    {repairing}

    Attributes
    ----------
    shift_ : what is added, given or chosen
    {fitted}

    Examples
    --------
    >>> from fairpot import LogitShift
    >>> score, sex = [0.9, 0.7, 0.4, 0.2, 0.5, 0.3, 0.2, 0.1], ["M"] * 4 + ["F"] * 4
    >>> repair = LogitShift(max_gap=0.1).fit(score, [1, 1, 0, 0, 1, 1, 0, 0], sensitive_features=sex)
    >>> round(repair.shift_, 3)
    0.626
    """

    dial: ClassVar[Dial] = DIAL
    shift_ = OwnStrength()
    learn = staticmethod(learn)
    _moves_by: ClassVar[str] = "moved by the constant of the group"
    _yardstick: ClassVar[bool] = True

    shift: float | None = None


@dataclass(frozen=True)
class ShiftScale:
    """The scale on which a constant is added: log-odds of probabilities, or the scores as they are."""

    probability: bool
    negative: bool = False

    @classmethod
    def of(cls, table: ScoreTable) -> ShiftScale:
        """Find the scale of a table; scores with a minus are probabilities if they are without it."""
        low = min(float(c.score[0]) for c in table.counts if len(c.score))
        high = max(float(c.score[-1]) for c in table.counts if len(c.score))
        if low >= 0 and high <= 1:
            return cls(True)
        if table.lower_is_riskier and low >= -1 and high <= 0:
            return cls(True, True)
        return cls(False)

    def forward(self, scores: Floats) -> Floats:
        """Take scores to the scale."""
        if not self.probability:
            return scores
        with np.errstate(divide="ignore"):
            return np.asarray(-logit(-scores) if self.negative else logit(scores))

    @property
    def most(self) -> float:
        """The largest shift there is, up or down."""
        return _MOST[0] if self.probability else _MOST[1]

    def unit(self, scores: Sequence[Floats]) -> float:
        """Give a step that matters on the scale: 1 of log-odds, the range of other scores."""
        if self.probability:
            return 1.0
        low, high = min(float(z[0]) for z in scores), max(float(z[-1]) for z in scores)
        return high - low or abs(high) or 1.0

    def same(self, scores: Sequence[Floats]) -> float:
        """Give the distance up to which two differences of scores are one."""
        largest = max((float(np.abs(z[[0, -1]]).max()) for z in scores if len(z)), default=0.0)
        return max(_SAME * self.unit(scores), 16 * np.finfo(np.float64).eps * largest)

    def held(self, shift: float) -> float:
        """Keep a shift within the largest there is."""
        return min(max(shift, -self.most), self.most)

    def map(self, shift: float) -> ShiftMap:
        """Return the map that adds a constant on the scale."""
        if abs(shift) > self.most:
            what = "log-odds" if self.probability else "scores"
            raise ValueError(f"a shift of {what} must be from {-self.most:g} to {self.most:g}, got {shift!r}.")
        if not self.probability:
            return ShiftMap(added=shift)
        return ShiftMap(factor=float(np.exp(-shift if self.negative else shift)), negative=self.negative)


def ends(scale: ShiftScale, fixed: Floats, moved: Floats) -> tuple[float, float]:
    """Give the shifts beyond which nothing changes any more."""
    if len(fixed) == 0 or len(moved) == 0:
        return 0.0, 0.0
    unit = scale.unit((fixed, moved))
    low, high = float(fixed[0] - moved[-1]) - unit, float(fixed[-1] - moved[0]) + unit
    return scale.held(min(low, -unit)), scale.held(max(high, unit))


def own_shifts(scale: ShiftScale, fixed: Floats, moved: Floats, groups: int) -> Floats:
    """List shifts of one of several groups, ascending, none of them on a breakpoint with the reference."""
    low, high = ends(scale, fixed, moved)
    if len(fixed) * len(moved) <= 16 * _LISTED:
        points = np.unique(np.subtract.outer(fixed, moved))
        points = points[np.append(True, np.diff(points) > scale.same((fixed, moved)))[: len(points)]]
        points = points[np.abs(points) < scale.most]  # those that are one on paper once
        if 0 < len(points) * groups <= _LISTED:
            parts = np.arange(1, groups) / groups  # at half a step two groups would tie with each other
            between = (points[:-1, None] + np.diff(points)[:, None] * parts).ravel()
            unit = scale.unit((fixed, moved))
            outside = np.concatenate((points[0] - unit * parts, points[-1] + unit * parts))
            return np.unique(np.clip(np.concatenate((between, outside, [0.0])), -scale.most, scale.most))
    return np.union1d(np.linspace(low, high, _EVEN), 0.0)


def settled(scale: ShiftScale, fixed: Floats, moved: Floats, shift: float) -> float:
    """Move a shift half way between the breakpoints around it: no order changes, and no rounding can change one."""
    if shift == 0 or len(fixed) == 0 or len(moved) == 0:
        return shift
    beside = 0.02 * scale.unit((fixed, moved))
    return scale.held(sum(_nearest(fixed, moved, shift, beside, up=up) for up in (False, True)) / 2)


def every_shift(
    scale: ShiftScale, table: ScoreTable, reference: Hashable, moved: Hashable, ties: Ties
) -> TradeoffCurve | None:
    """Count AUC and gap at every shift that differs, and at 0, by two running sums; None where there are too many."""
    table = table.for_pairs()
    a, b = table[reference], table[moved]
    if len(a.score) * len(b.score) > _PAIRS or min(*table.positives, *table.negatives) == 0:
        return None
    za, zb = scale.forward(a.score), scale.forward(b.score)
    free_a, free_b = np.isfinite(za), np.isfinite(zb)
    if not (free_a.any() and free_b.any()):
        return None
    passed = np.subtract.outer(za[free_a], zb[free_b]).ravel()
    order = np.argsort(passed, kind="stable")
    passed = passed[order]
    lost = np.outer(a.positive[free_a], b.negative[free_b]).ravel()[order]
    won = np.outer(a.negative[free_a], b.positive[free_b]).ravel()[order]
    last = np.flatnonzero(np.append(np.diff(passed) > scale.same((za[free_a], zb[free_b])), True))
    points, unit = passed[last], scale.unit((za[free_a], zb[free_b]))
    first = np.append(passed[0], passed[last[:-1] + 1])  # where each breakpoint, a cluster of rounding, begins
    shifts = np.concatenate(([first[0] - unit], (points[:-1] + first[1:]) / 2, [points[-1] + unit]))
    lowered = scale.map(scale.held(float(shifts[0])))(b.score)
    ab, ba = cross_half_wins(a, b.rescored(lowered), ties)
    ab = ab - 2 * np.append(0, np.cumsum(lost)[last])
    ba = ba + 2 * np.append(0, np.cumsum(won)[last])
    now = cross_half_wins(a, b, ties)
    shifts, ab, ba = np.append(shifts, 0.0), np.append(ab, now[0]), np.append(ba, now[1])
    kept = np.flatnonzero(np.abs(shifts) <= scale.most)
    kept = kept[np.argsort(shifts[kept], kind="stable")]
    inside = inner_half_wins(a, ties) + inner_half_wins(b, ties)
    p, n, q, m = (float(c.sum()) for c in (a.positive, a.negative, b.positive, b.negative))
    total = (p + q) * (n + m)
    auc = (inside + ab + ba)[kept] / (2 * total)
    unrepaired = float(inside + sum(now)) / (2 * total)
    numbers = (np.minimum(auc, 1.0), ab[kept] / (2 * p * m), ba[kept] / (2 * q * n))
    return TradeoffCurve(
        shifts[kept], *numbers, (moved,), reference, exact=True, dial="shift", unrepaired_auc=unrepaired
    )


def _nearest(fixed: Floats, moved: Floats, shift: float, beside: float, *, up: bool) -> float:
    """Find the nearest difference at or beyond a shift; a little beyond it, if there is none."""
    place = np.searchsorted(moved, fixed - shift, side="right" if up else "left") - up
    there = (place >= 0) & (place < len(moved))
    found = fixed[there] - moved[place[there]]
    if len(found) == 0:
        return shift + beside if up else shift - beside
    return float(found.min() if up else found.max())


def _spread_shifts(table: ScoreTable) -> Floats:
    pooled, unit = table.pooled(), 1.0
    if not ShiftScale.of(table).probability:
        weight = pooled.weight / pooled.weight.sum()
        mean = float(np.dot(weight, pooled.score))
        unit = float(np.sqrt(np.dot(weight, (pooled.score - mean) ** 2))) or 1.0
    return np.concatenate((-unit * _SWEEP[::-1], [0.0], unit * _SWEEP))
