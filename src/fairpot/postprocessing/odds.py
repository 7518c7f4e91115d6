"""Calibrated odds of each group, and the maps that compare them: the plans behind OptimalMerge."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit, logit

from fairpot.table import GroupCounts, ScoreTable
from fairpot.tradeoff.limit import block_starts, pool
from fairpot.transport import ScoreMap

Array = NDArray[np.float64]

SMOOTHINGS = ("logistic", "isotonic", "none")
# How strongly a group's slope is held to that of all groups, in rows of information on its logarithm.
_HOLD_SLOPE = 10.0
# Newton's steps once the minimum is near: they double the digits each time, and leave it where it is if it is not.
_NEWTON_STEPS = 3
_NEAR = 1e-3


class Plan(Protocol):
    """What is learnt for one moved group: the map of any theta."""

    def map(self, theta: float) -> ScoreMap:
        """Return the map that multiplies the group's odds by theta."""
        ...


def make_plans(table: ScoreTable, reference: Hashable, smoothing: str) -> dict[Hashable, Plan]:
    """Learn the plan of every group but the reference.

    Parameters
    ----------
    table : ScoreTable
        Labelled, with both outcomes in every group; in rows, as :func:`in_rows` counts them.
    reference : name of the group that stays
    smoothing : {"logistic", "isotonic", "none"}
    """
    scale = Scale.of(table.pooled().score)
    moved = {g: c for g, c in zip(table.groups, table.counts) if g != reference}
    if smoothing == "none":
        return {g: ExactPlan.of(c, table[reference], scale) for g, c in moved.items()}
    learn = _line if smoothing == "logistic" else _blocks
    slope = _line(table.pooled(), scale, 1.0).slope
    target = learn(table[reference], scale, slope)
    return {g: SmoothPlan.of(c.score, learn(c, scale, slope), target, scale) for g, c in moved.items()}


@dataclass(frozen=True)
class Scale:
    """The scale on which odds are learnt: the log-odds of probabilities, or the standardised score."""

    probability: bool
    low: float  # lowest and highest value a probability is taken for; or centre and spread of other scores
    high: float

    @classmethod
    def of(cls, scores: Array) -> Scale:
        """Find the scale of ascending scores."""
        if scores[0] < 0 or scores[-1] > 1:
            return cls(False, float(scores.mean()), float(scores.std()) or 1.0)
        inside = scores[(scores > 0) & (scores < 1)]
        # 0 and 1 go half a step beyond the outermost others, so that certainty has no infinite weight.
        low, high = (inside[0], 1 - inside[-1]) if len(inside) else (0.5, 0.5)
        return cls(True, max(float(low) / 2, 1e-12), 1 - max(float(high) / 2, 1e-12))

    def forward(self, scores: Array) -> Array:
        """Take scores to the scale."""
        if self.probability:
            return np.asarray(logit(np.clip(scores, self.low, self.high)))
        return (scores - self.low) / self.high

    def back(self, z: Array) -> Array:
        """Take values of the scale to scores."""
        return np.asarray(expit(z)) if self.probability else self.low + self.high * z

    def around(self, scores: Array) -> tuple[float, float]:
        """Give ends outside ascending scores: 0 and 1 where there is room, else as far out as they are wide."""
        width = float(scores[-1] - scores[0]) or 1.0
        low = 0.0 if self.probability and scores[0] > 0 else float(scores[0]) - width
        high = 1.0 if self.probability and scores[-1] < 1 else float(scores[-1]) + width
        return low, high


@dataclass(frozen=True, eq=False)
class OddsCurve:
    """Log-odds along the scale: straight between knots, going on with a slope outside; strictly ascending."""

    z: Array
    log_odds: Array
    slope: float

    def __call__(self, z: Array) -> Array:
        """Return the log-odds."""
        return _straight(z, self.z, self.log_odds, self.slope)

    def inverse(self, log_odds: Array) -> Array:
        """Return where the log-odds are reached."""
        return _straight(log_odds, self.log_odds, self.z, 1 / self.slope)


@dataclass(frozen=True, eq=False)
class SmoothPlan:
    """A group's scores with their smoothed log-odds, and the reference's curve to read them off."""

    knots: Array
    log_odds: Array
    target: OddsCurve
    scale: Scale

    @classmethod
    def of(cls, scores: Array, own: OddsCurve, target: OddsCurve, scale: Scale) -> SmoothPlan:
        """Keep every score as a knot, and one beyond each end so that new scores have room."""
        low, high = scale.around(scores)
        knots = np.concatenate(([low], scores, [high]))
        if scale.probability:
            knots = np.unique(np.clip(knots, 0.0, 1.0))
        return cls(knots, own(scale.forward(knots)), target, scale)

    def map(self, theta: float) -> ScoreMap:
        """Return the map that multiplies the group's odds by theta."""
        values = self.scale.back(self.target.inverse(self.log_odds + np.log(theta)))
        if self.scale.probability:  # what was certain stays so
            values = np.where(self.knots == 0, 0.0, np.where(self.knots == 1, 1.0, values))
        return ScoreMap(self.knots, np.maximum.accumulate(values))


@dataclass(frozen=True, eq=False)
class ExactPlan:
    """A group's scores with the odds of their blocks, and the blocks of the reference to put them between."""

    knots: Array
    odds: Array
    target: Array  # the reference's scores, with an end outside each side ...
    target_odds: Array  # ... the odds of its blocks ...
    first: NDArray[np.intp]  # ... and where each block begins

    @classmethod
    def of(cls, moved: GroupCounts, reference: GroupCounts, scale: Scale) -> ExactPlan:
        """Pool both groups."""
        low, high = scale.around(reference.score)
        starts = block_starts(moved)
        odds = np.repeat(_odds(pool(moved)), np.diff(np.append(starts, len(moved.score))))
        first = np.append(block_starts(reference), len(reference.score))
        target = np.concatenate(([low], reference.score, [high]))
        return cls(moved.score, odds, target, _odds(pool(reference)), first)

    def map(self, theta: float) -> ScoreMap:
        """Return the map that spaces the scores evenly between the blocks they fall between."""
        slot = self.first[np.searchsorted(self.target_odds, theta * self.odds, side="left")]
        low, high = self.target[slot], self.target[slot + 1]
        begin, end = (np.searchsorted(slot, slot, side=side) for side in ("left", "right"))
        share = (np.arange(len(slot)) - begin + 1) / (end - begin + 1)
        return ScoreMap(self.knots, np.maximum.accumulate(low + share * (high - low)))


def _line(counts: GroupCounts, scale: Scale, usual_slope: float) -> OddsCurve:
    """Fit log-odds that are a straight line, its slope above 0 and held near the usual one."""
    z, positive, weight = scale.forward(counts.score), counts.positive * 1.0, counts.weight * 1.0
    hold = _HOLD_SLOPE / weight.sum()
    positive, weight = positive / weight.sum(), weight / weight.sum()

    def loss(parameters: Array) -> tuple[float, Array]:
        level, steep = parameters
        slope = usual_slope * np.exp(steep)
        line = slope * z + level
        missed = weight * expit(line) - positive
        value = np.dot(weight, np.logaddexp(0.0, line)) - np.dot(positive, line) + hold * steep**2 / 2
        return float(value), np.array([missed.sum(), slope * np.dot(missed, z) + hold * steep])

    start = np.array([np.log(positive.sum() / (1 - positive.sum())), 0.0])
    found = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=[(None, None), (-7, 7)], tol=1e-12).x
    for _ in range(_NEWTON_STEPS):
        found = _newton_step(found, loss(found)[1], z, weight, usual_slope, hold)
    level, steep = found
    slope = float(usual_slope * np.exp(steep))
    return OddsCurve(np.array([0.0, 1.0]), np.array([level, level + slope]), slope)


def _newton_step(at: Array, gradient: Array, z: Array, weight: Array, usual_slope: float, hold: float) -> Array:
    """Come closer to the minimum of the line's loss, so that round-off in the weights stays round-off in the line."""
    level, steep = at
    slope = usual_slope * np.exp(steep)
    share = expit(slope * z + level)
    spread = weight * share * (1 - share)
    cross = slope * np.dot(spread, z)
    # Towards the slope the loss bends by its squares and, the slope being an exponential, by its own gradient.
    curve = slope**2 * np.dot(spread, z * z) + (gradient[1] - hold * steep) + hold
    bend = np.array([[spread.sum(), cross], [cross, curve]])
    if not (np.abs(steep) < 7 and bend[0, 0] > 0 and np.linalg.det(bend) > 0):
        return at
    after = at - np.linalg.solve(bend, gradient)
    return after if np.abs(after - at).max() < _NEAR else at


def _blocks(counts: GroupCounts, scale: Scale, usual_slope: float) -> OddsCurve:
    """Pool, and put each block's log-odds (half a row added to either side) at its centre."""
    first, blocks = block_starts(counts), pool(counts)
    centre = np.add.reduceat(scale.forward(counts.score) * counts.weight, first) / blocks.weight
    log_odds = np.log((blocks.positive + 0.5) / (blocks.negative + 0.5))
    # The added halves can undo the order of small blocks; a hair of slope makes equal ones strictly ascend.
    log_odds = np.maximum.accumulate(log_odds) + 1e-6 * usual_slope * (centre - centre[0])
    return OddsCurve(centre, log_odds, usual_slope)


def _straight(x: Array, knots: Array, values: Array, slope: float) -> Array:
    """Interpolate, going on with a slope outside the knots."""
    beyond = np.minimum(x - knots[0], 0.0) + np.maximum(x - knots[-1], 0.0)
    return np.asarray(np.interp(x, knots, values) + slope * beyond)


def _odds(blocks: GroupCounts) -> Array:
    negative = blocks.negative.astype(np.float64)
    return np.asarray(np.divide(blocks.positive, negative, out=np.full(len(negative), np.inf), where=negative > 0))
