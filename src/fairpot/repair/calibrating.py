"""The map that makes repaired scores probabilities again: one for all groups, and no order changes.

Rank metrics do not see an increasing map. The curve is piecewise linear in log-odds and is fitted by maximum
likelihood on the repaired scores; it is delivered as a piecewise linear map of the scores themselves, which every
export and engine computes to the same bits, as it would not powers and logarithms.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

from fairpot.counts import GroupCounts
from fairpot.table import ScoreTable
from fairpot.transport import Floats, ScoreMap

# The least and the greatest slope of the curve, and what a change of slope at a bend costs, in log-likelihood.
_LEAST, _MOST, _PENALTY = 0.05, 50.0, 2.0
# Log-odds beyond this are those of 0 and 1.
_FARTHEST = 36.0
# The map keeps to the curve within this share of p (1 - p), which is so much of log-odds, at so many points.
WITHIN, _SAMPLED = 3e-4, 4001
# More distinct scores than this are put together, as many bins as that, for the fit of the curve.
_ENTRIES = 1 << 14
# How often scores that rounding makes equal are taken apart.
_ATTEMPTS = 20


@dataclass(frozen=True)
class Scale:
    """What the curve is straight in: log-odds of scores that are probabilities, else spreads of the scores."""

    probability: bool  # whether all scores lie in [0, 1]
    centre: float = 0.0  # of other scores
    spread: float = 1.0

    @classmethod
    def of(cls, score: Floats, weight: Floats) -> Scale:
        """Find the scale of ascending scores."""
        if score[0] >= 0 and score[-1] <= 1:
            return cls(True)
        centre = float(np.average(score, weights=weight))
        spread = float(np.sqrt(np.average((score - centre) ** 2, weights=weight)))
        return cls(False, centre, spread or 1.0)

    def forward(self, score: Floats) -> Floats:
        """Take scores to the scale."""
        if not self.probability:
            return (score - self.centre) / self.spread
        with np.errstate(divide="ignore"):
            return np.clip(logit(score), -_FARTHEST, _FARTHEST)

    def back(self, z: Floats) -> Floats:
        """Take the scale to scores."""
        return expit(z) if self.probability else z * self.spread + self.centre


@dataclass(frozen=True, eq=False)
class Curve:
    """Log-odds of the outcome over the scale of the scores: straight pieces between bends."""

    bends: Floats
    level: float  # the value at the middle bend, or at 0 where there is none
    slopes: Floats

    def __call__(self, z: Floats) -> Floats:
        """Give the log-odds of the outcome."""
        return np.asarray(self.level + _basis(z, self.bends) @ self.slopes)


def common_map(table: ScoreTable) -> ScoreMap:
    """Fit the map from repaired scores to probabilities of the outcome, common to all groups.

    It ascends, and no two scores of the table become equal. Probabilities of 0 and 1 stay unless outcomes contradict
    them. Where a low score means high risk, a score becomes the probability that the outcome does not happen.
    """
    pooled = table.pooled()
    if not table.lower_is_riskier:
        return _kept_apart(_fitted(pooled), pooled.score)
    turned = GroupCounts(0.0 - pooled.score[::-1], pooled.negative[::-1], pooled.positive[::-1])
    return _kept_apart(_fitted(turned).reflected(), pooled.score)


def fitted_curve(counts: GroupCounts) -> tuple[Scale, Curve]:
    """Fit the curve to scores and outcomes: with bends at the quartiles, or straight where these are not distinct."""
    scale = Scale.of(counts.score, counts.weight.astype(np.float64))
    entries = z, _, weight = _entries(scale, counts)
    line = _most_likely(*entries, np.empty(0), np.array([0.0, 1.0]))
    share = np.cumsum(weight) / weight.sum()
    bends = np.unique(z[np.minimum(np.searchsorted(share, [0.25, 0.5, 0.75]), len(z) - 1)])
    bends = bends[(bends > z[0]) & (bends < z[-1])]
    if len(bends) < 3:
        return scale, line
    start = np.append(line(bends[1:2]), np.repeat(line.slopes, 4))
    return scale, _most_likely(*entries, bends, start)


def _entries(scale: Scale, counts: GroupCounts) -> tuple[Floats, Floats, Floats]:
    """Give places on the scale, and the weight of outcomes and of all at each.

    Scores of 0 and 1 are left out where outcomes bear them out, as they stay; else they lie one beyond the others.
    """
    score, positive, weight = counts.score, counts.positive.astype(np.float64), counts.weight.astype(np.float64)
    z = scale.forward(score)
    if scale.probability:
        inner = (score > 0) & (score < 1)
        low, high = (float(z[inner].min()), float(z[inner].max())) if inner.any() else (0.0, 0.0)
        z = np.where(score == 0, low - 1, np.where(score == 1, high + 1, z))
        certain = ((score == 0) & (positive == 0)) | ((score == 1) & (positive == weight))
        kept = ~certain & (weight > 0)
        if not kept.any():
            kept = weight > 0
        z, positive, weight = z[kept], positive[kept], weight[kept]
    if len(z) <= _ENTRIES:
        return z, positive, weight
    first = np.unique(np.linspace(0, len(z), _ENTRIES, endpoint=False).astype(np.intp))
    total = np.add.reduceat(weight, first)
    some = total > 0
    moment = np.add.reduceat(weight * z, first)
    return moment[some] / total[some], np.add.reduceat(positive, first)[some], total[some]


def _basis(z: Floats, bends: Floats) -> Floats:
    """Say how far each place is from the level's along each straight piece."""
    anchor = bends[len(bends) // 2] if len(bends) else 0.0
    ends = np.concatenate(([-np.inf], bends, [np.inf]))
    return np.column_stack([np.clip(z, a, b) - np.clip(anchor, a, b) for a, b in pairwise(ends)])


def _most_likely(z: Floats, positive: Floats, weight: Floats, bends: Floats, start: Floats) -> Curve:
    """Maximise the likelihood of level and slopes, less a penalty on bending; a convex problem within bounds."""
    design = np.column_stack((np.ones(len(z)), _basis(z, bends)))
    total = float(weight.sum())

    def loss(given: Floats) -> tuple[float, Floats]:
        linear, bend = design @ given, np.diff(given[1:])
        value = np.dot(weight, np.logaddexp(0, linear)) - np.dot(positive, linear) + _PENALTY * np.dot(bend, bend)
        slope = design.T @ (weight * expit(linear) - positive)
        slope[1:-1] -= 2 * _PENALTY * bend
        slope[2:] += 2 * _PENALTY * bend
        return float(value) / total, slope / total

    from scipy.optimize import minimize  # takes a while to load

    bounds = [(None, None), *[(_LEAST, _MOST)] * (len(bends) + 1)]
    start = np.append(start[0], np.clip(start[1:], _LEAST, _MOST))
    found = minimize(
        loss, start, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": 2000, "ftol": 0, "gtol": 1e-10}
    )
    return Curve(bends, float(found.x[0]), np.asarray(found.x[1:], dtype=np.float64))


def _fitted(counts: GroupCounts) -> ScoreMap:
    """Fit the curve and draw it as a map that ascends."""
    from fairpot.export.simplify import fewest_points  # loads every kind of export, and an audit needs none

    scale, curve = fitted_curve(counts)
    score = counts.score
    low, high = float(scale.forward(score[:1])[0]), float(scale.forward(score[-1:])[0])
    if scale.probability:
        inner = score[(score > 0) & (score < 1)]
        if len(inner):
            low, high = scale.forward(inner[[0, -1]]).tolist()
    else:  # as far beyond the fitted scores as others are not taken for another scale
        low, high = low - max(high - low, 1.0) / 2, high + max(high - low, 1.0) / 2
    inside = curve.bends[(curve.bends > low) & (curve.bends < high)]
    z = np.union1d(np.linspace(low, high, _SAMPLED), inside)
    x, v = scale.back(z), expit(curve(z))
    kept = np.append(True, np.diff(x) > 0)
    x, v = x[kept], v[kept]
    kept = np.append(True, np.diff(v) > 0)
    x, v = x[kept], v[kept]
    chosen = fewest_points(x, v, v - WITHIN * v * (1 - v), v + WITHIN * v * (1 - v))
    x, v = x[chosen], v[chosen]
    if scale.probability:  # 0 and 1 stay, unless there are rows whose outcomes contradict them
        ends = np.array([0.0, 1.0])
        if score[0] == 0 and counts.positive[0] > 0:
            ends[0] = expit(curve(np.array([low - 1]))[0])
        if score[-1] == 1 and counts.negative[-1] > 0:
            ends[1] = expit(curve(np.array([high + 1]))[0])
        inner = (x > 0) & (x < 1) & (v > ends[0]) & (v < ends[1])
        x, v = np.concatenate(([0.0], x[inner], [1.0])), np.concatenate((ends[:1], v[inner], ends[1:]))
    return ScoreMap(x, v)


def _kept_apart(found: ScoreMap, score: Floats) -> ScoreMap:
    """Give scores that rounding would make equal knots of their own, with the next numbers as values."""
    for attempt in range(_ATTEMPTS):
        values = found(score)
        level = np.flatnonzero(np.diff(values) <= 0)
        if len(level) == 0:
            return found
        apart = _spread(values)
        moved = (apart != values) | (attempt == _ATTEMPTS - 2)
        moved[level] = moved[level + 1] = True
        x, v = score[moved], apart[moved]
        # Other knots stay where they lie between the new ones, left and right, in score and in value.
        place = np.searchsorted(x, found.knots)
        under = np.append(-np.inf, v)[place] < found.values
        over = np.append(v, np.inf)[np.searchsorted(x, found.knots, side="right")] > found.values
        stay = under & over & ~np.isin(found.knots, x)
        knots = np.concatenate((found.knots[stay], x))
        order = np.argsort(knots)
        found = ScoreMap(knots[order], np.concatenate((found.values[stay], v))[order])
    raise AssertionError("scores that are breakpoints keep their own values")


def _spread(values: Floats) -> Floats:
    """Make numbers that never fall strictly ascend, by as few steps to the next double as it takes, within [-1, 1]."""
    order = _order(values)
    steps = np.arange(len(order))
    ahead = np.maximum.accumulate(order - steps) + steps
    top = _order(np.array([1.0 if values[-1] > 0 else 0.0]))[0]
    placed = np.minimum(ahead, top - steps[::-1])
    return np.where(placed >= 0, 1.0, -1.0) * np.abs(placed).view(np.float64)


def _order(values: Floats) -> NDArray[np.int64]:
    bits = (values + 0.0).view(np.int64)
    return np.where(bits >= 0, bits, -(bits & np.int64(2**63 - 1)))
