"""OptimalMerge: put every group on the reference's scale by comparing calibrated odds."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, logit

from fairpot._defaults import Ties
from fairpot._docs import documented
from fairpot.counts import GroupCounts
from fairpot.repair.estimator import OwnStrength, Repair
from fairpot.repair.family import Dial, Family
from fairpot.repair.groups import find_reference, in_rows, require_outcomes
from fairpot.table import ScoreTable
from fairpot.tradeoff.solve import Mover
from fairpot.transport import Floats, ScoreMap

DIAL = Dial(
    "theta",
    high=np.inf,
    above=True,
    ratio=True,
    meaning="factor on the odds of the group",
    setting="{dial} = {value}: the odds of {moved} times this",
)
# How strongly a group's slope is held to that of all groups, in rows of information on its logarithm.
_HOLD_SLOPE = 10.0
# Newton's steps once the minimum is near: they double the digits each time, and leave it where it is if it is not.
_NEWTON_STEPS, _NEAR = 3, 1e-3
# Sums of entries that a line is learnt from first, where there are many more.
_SUMS = 2000
# Thetas of a curve, and of one of several groups, between the ends of the grid.
_GRID_SIZE, _GRID_SPAN, _REACH = 201, np.log(32.0), 8001
# Thetas to compare methods at, on either side of 1 and in logarithms.
_FINE_STEPS, _FINE_BEYOND, _COARSE = 100, 0.3, np.arange(1, 31) / 10


def learn(table: ScoreTable, *, reference: Hashable | None = None, ties: Ties = "half") -> Family:
    """Learn every group's odds; at strength theta a score goes to that of the reference with theta times its odds."""
    require_outcomes(table)
    reference = find_reference(table, reference, ties)
    rows = in_rows(table)
    pooled = rows.pooled()
    scale = Scale.of(pooled.score)
    slope = _line(pooled, scale, 1.0).slope
    lines = {g: _line(c, scale, slope) for g, c in zip(rows.groups, rows.counts)}
    target, moved = lines[reference], [g for g in rows.groups if g != reference]
    knots = {g: scale.with_ends(rows[g].score) for g in moved}
    log_odds = {g: lines[g].at(scale.forward(knots[g])) for g in moved}

    def merged(scores: Floats, own: Floats, theta: float) -> Floats:
        """Read scores with these log-odds, times theta, off the reference's."""
        values = scale.back(target.reached(own + np.log(theta)))
        if scale.probability:  # what was certain stays so
            values = np.where(scores == 0, 0.0, np.where(scores == 1, 1.0, values))
        return np.maximum.accumulate(values)

    def move(group: Hashable, scores: Floats) -> Mover:
        own = np.interp(scores, knots[group], log_odds[group])
        return lambda theta: merged(scores, own, theta)

    def reach(group: Hashable) -> Floats:
        grid = _grid(rows[group], rows[reference])
        return np.geomspace(grid[0], grid[-1], _REACH)

    def at(group: Hashable, theta: float) -> ScoreMap:
        return ScoreMap(knots[group], merged(knots[group], log_odds[group], theta))

    few = _common_grid(rows)
    values = _grid(rows[moved[0]], rows[reference]) if len(moved) == 1 else few
    finer = partial(np.geomspace, num=21)
    how: dict[str, Any] = {"few": few, "reach": reach, "move": move, "moves_exactly": True}
    return Family(DIAL, table.groups, reference, at, values, finer, **how)


@documented
@dataclass(eq=False, repr=False)
class OptimalMerge(Repair):
    """Repair scores by merging the groups in the order of their calibrated odds.

    The scores of the reference group do not change. A score of another group becomes the reference's score with the
    same odds of the outcome, after the group's own odds are multiplied by ``theta``; 1 gives the highest AUC. The odds
    of a group are a straight line in the log-odds of the score (in the score, if it is no probability).

    Parameters
    ----------
    theta : float > 0 or None, default None
        The factor on the odds. None chooses it in ``fit`` by rule; of several groups each gets its own.
    {repairing}

    Attributes
    ----------
    theta_ : the factor, given or chosen
    {fitted}

    Examples
    --------
    >>> import numpy as np
    >>> from fairpot import OptimalMerge
    >>> score = np.array([0.8, 0.6, 0.4, 0.2] * 5 + [0.5, 0.4, 0.3, 0.2] * 5)
    >>> y, sex = np.array([1, 1, 0, 0, 1, 0, 1, 0] * 5), ["M"] * 20 + ["F"] * 20
    >>> repair = OptimalMerge(theta=1.0).fit(score, y, sensitive_features=sex)
    >>> repair.transform([0.3, 0.4, 0.5], sensitive_features=["F"] * 3).round(2)
    array([0.45, 0.56, 0.66])
    """

    dial: ClassVar[Dial] = DIAL
    theta_ = OwnStrength()
    learn = staticmethod(learn)
    _moves_by: ClassVar[str] = "moved to the score of {reference} with the same odds, times theta"
    _needs_outcomes: ClassVar[bool] = True

    theta: float | None = None


@dataclass(frozen=True)
class Scale:
    """The scale on which odds are learnt: the log-odds of probabilities, or the standardised score."""

    probability: bool
    low: float  # lowest and highest value a probability is taken for; or centre and spread of other scores
    high: float

    @classmethod
    def of(cls, scores: Floats) -> Scale:
        """Find the scale of ascending scores."""
        if scores[0] < 0 or scores[-1] > 1:
            with np.errstate(over="ignore", invalid="ignore"):
                centre, spread = float(scores.mean()), float(scores.std()) or 1.0
            if not np.isfinite(spread):
                raise ValueError(
                    f"scores from {scores[0]:g} to {scores[-1]:g} lie too far apart for odds smoothed along the score."
                    "\nHint: rank them or take their logarithms first."
                )
            return cls(False, centre, spread)
        inside = scores[(scores > 0) & (scores < 1)]
        # 0 and 1 go half a step beyond the outermost others, so that certainty has no infinite weight.
        low, high = (inside[0], 1 - inside[-1]) if len(inside) else (0.5, 0.5)
        return cls(True, max(float(low) / 2, 1e-12), 1 - max(float(high) / 2, 1e-12))

    def forward(self, scores: Floats) -> Floats:
        """Take scores to the scale."""
        if self.probability:
            return np.asarray(logit(np.clip(scores, self.low, self.high)))
        return (scores - self.low) / self.high

    def back(self, z: Floats) -> Floats:
        """Take values of the scale to scores."""
        return np.asarray(expit(z)) if self.probability else self.low + self.high * z

    def with_ends(self, scores: Floats) -> Floats:
        """Add one beyond each end of ascending scores, to give new ones room: 0 and 1, or as far as they are wide."""
        if self.probability:
            return np.unique(np.concatenate(([0.0], scores, [1.0])))
        width = float(scores[-1] - scores[0]) or 1.0
        return np.concatenate(([scores[0] - width], scores, [scores[-1] + width]))


class Line(NamedTuple):
    """Log-odds along the scale, a straight line that ascends: the level at 0, and the slope."""

    level: float
    slope: float

    def at(self, z: Floats) -> Floats:
        """Return the log-odds."""
        return _straight(z, np.array([0.0, 1.0]), np.array([self.level, self.level + self.slope]), self.slope)

    def reached(self, log_odds: Floats) -> Floats:
        """Return where the log-odds are reached."""
        knots = np.array([self.level, self.level + self.slope])
        return _straight(log_odds, knots, np.array([0.0, 1.0]), 1 / self.slope)


def _straight(x: Floats, knots: Floats, values: Floats, slope: float) -> Floats:
    """Interpolate, going on with a slope outside the knots."""
    beyond = np.minimum(x - knots[0], 0.0) + np.maximum(x - knots[-1], 0.0)
    return np.asarray(np.interp(x, knots, values) + slope * beyond)


def _line(counts: GroupCounts, scale: Scale, usual_slope: float) -> Line:
    """Fit log-odds that are a straight line, its slope above 0 and held near the usual one."""
    z, positive, weight = scale.forward(counts.score), counts.positive * 1.0, counts.weight * 1.0
    hold = _HOLD_SLOPE / weight.sum()
    positive, weight = positive / weight.sum(), weight / weight.sum()

    def loss(parameters: Floats, z: Floats, positive: Floats, weight: Floats) -> tuple[float, Floats]:
        level, steep = parameters
        slope = usual_slope * np.exp(steep)
        line = slope * z + level
        missed = weight * expit(line) - positive
        value = np.dot(weight, np.logaddexp(0.0, line)) - np.dot(positive, line) + hold * steep**2 / 2
        return float(value), np.array([missed.sum(), slope * np.dot(missed, z) + hold * steep])

    def least(start: Floats, *rows: Floats) -> Floats:
        how: dict[str, Any] = {"jac": True, "method": "L-BFGS-B", "bounds": [(None, None), (-7, 7)], "tol": 1e-12}
        return np.asarray(minimize(loss, start, args=rows, **how).x)

    def closer(found: Floats) -> Floats:
        for _ in range(_NEWTON_STEPS):
            found = _newton_step(found, (z, positive, weight), usual_slope, hold)
        return found

    start = np.array([np.log(positive.sum() / (1 - positive.sum())), 0.0])
    if len(z) > 2 * _SUMS:  # of very many entries from the line of few sums, which leaves them Newton's steps alone
        first = np.linspace(0, len(z), _SUMS, endpoint=False).astype(np.intp)
        sums = np.add.reduceat(np.stack((z * weight, positive, weight)), first, axis=1)
        near = least(start, sums[0] / sums[2], sums[1], sums[2])
        found = closer(near)
        if not np.array_equal(found, near):
            return Line(found[0], float(usual_slope * np.exp(found[1])))
    found = closer(least(start, z, positive, weight))
    return Line(found[0], float(usual_slope * np.exp(found[1])))


def _newton_step(at: Floats, rows: tuple[Floats, Floats, Floats], usual_slope: float, hold: float) -> Floats:
    """Come closer to the minimum of the line's loss, so that round-off in the weights stays round-off in the line."""
    z, positive, weight = rows
    level, steep = at
    slope = usual_slope * np.exp(steep)
    share = expit(slope * z + level)
    expected = weight * share
    missed, spread = expected - positive, expected * (1 - share)
    gradient = np.array([missed.sum(), slope * np.dot(missed, z) + hold * steep])
    cross = slope * np.dot(spread, z)
    # Towards the slope the loss bends by its squares and, the slope being an exponential, by its own gradient.
    curve = slope**2 * np.dot(spread, z * z) + (gradient[1] - hold * steep) + hold
    bend = np.array([[spread.sum(), cross], [cross, curve]])
    if not (np.abs(steep) < 7 and bend[0, 0] > 0 and np.linalg.det(bend) > 0):
        return at
    after = at - np.linalg.solve(bend, gradient)
    return after if np.abs(after - at).max() < _NEAR else at


def _common_grid(table: ScoreTable) -> Floats:
    """Spread thetas around 1, finely up to the factor that makes the odds of any two groups equal."""
    log_odds = np.log(table.positives / table.negatives)
    reach = float(np.ptp(log_odds)) + _FINE_BEYOND
    fine = np.arange(1, _FINE_STEPS + 1) * (reach / _FINE_STEPS)
    one_side = np.concatenate((fine, reach + _COARSE))
    return np.asarray(np.exp(np.concatenate((-one_side[::-1], [0.0], one_side))))


def _grid(moved: GroupCounts, reference: GroupCounts) -> Floats:
    """Spread thetas around 1 and around the factor that makes the groups' odds equal, 1 among them."""
    sums = [float(c.sum()) for c in (reference.positive, reference.negative, moved.positive, moved.negative)]
    # Where an outcome is missing there are no odds to make equal.
    equal = np.log(sums[0] / sums[1]) - np.log(sums[2] / sums[3]) if min(sums) > 0 else 0.0
    grid = np.linspace(min(equal, 0.0) - _GRID_SPAN, max(equal, 0.0) + _GRID_SPAN, _GRID_SIZE)
    return np.unique(np.append(np.exp(grid), 1.0))
