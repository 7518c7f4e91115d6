"""Calibration of probabilities, from the counts at each score alone."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit, ndtri

from fairpot._defaults import LEVEL
from fairpot.counts import GroupCounts
from fairpot.inference import Estimate
from fairpot.inference.shares import FEWEST
from fairpot.repair.calibrating import own_risks
from fairpot.results.kinds import Count, Group
from fairpot.table import ScoreTable
from fairpot.transport import ScoreMap, moving, parted

BINS = 10
# Scores of exactly 0 and 1 have no finite log-odds; they are taken as this near to them.
_EDGE = 1e-6
_STEPS, _NEAR = 100, 1e-5
# More distinct scores than this are put into as many bins of log-odds, each at its mean: the slope keeps 6 digits.
_BINS_OF_LOG_ODDS = 1 << 16


@dataclass(frozen=True)
class Calibration:
    """How far scores are from being probabilities of the outcome.

    Attributes
    ----------
    error_in_the_large : Estimate
        Mean score minus share with the outcome.
    expected_calibration_error : float
        The same by bins of equal width on [0, 1], absolute, averaged over the rows. It has no interval: finitely many
        rows push it up even where the scores are right, by about ``error_by_chance``.
    error_by_chance : float
        What it would be expected to be if the scores were right.
    slope : float or None
        Of the logistic regression of the outcome on the score's log-odds: below 1 the scores are too extreme; None if
        it has no finite value.
    """

    error_in_the_large: Estimate
    expected_calibration_error: float
    error_by_chance: float
    slope: float | None


def calibrations(
    table: ScoreTable, bins: int = BINS, level: float | None = LEVEL
) -> tuple[tuple[Calibration | None, ...], Calibration | None]:
    """Measure the calibration of each group, and of all rows; None where scores are not probabilities."""
    own = tuple(_calibration(as_risks(c, table.lower_is_riskier), bins, level) for c in table.counts)
    return own, _calibration(as_risks(table.joined().counts[0], table.lower_is_riskier), bins, level)


def _calibration(counts: GroupCounts, bins: int, level: float | None) -> Calibration | None:
    errors = calibration_errors(counts, bins)
    if errors is None:
        return None
    bias = large_error(counts, LEVEL if level is None else level).of(errors[0])
    if level is None:
        bias = Estimate(bias.metric, errors[0], reason="none were asked for")
    return Calibration(bias, errors[1], error_by_chance(counts, bins), logistic_slope(counts))


def calibration_errors(counts: GroupCounts, bins: int = BINS) -> tuple[float, float] | None:
    """Give mean score minus rate, and the expected calibration error; None if scores are no probabilities.

    Examples
    --------
    >>> import numpy as np
    >>> calibration_errors(GroupCounts(np.array([0.25, 0.75]), np.array([1, 3]), np.array([3, 1])))
    (0.0, 0.0)
    """
    score, weight = counts.score, counts.weight
    if len(score) == 0 or score[0] < 0 or score[-1] > 1:
        return None
    total = float(weight.sum())
    excess = weight * score - counts.positive
    place = np.minimum((score * bins).astype(np.intp), bins - 1)
    return float(excess.sum()) / total, float(np.abs(np.bincount(place, excess, bins)).sum()) / total


def as_risks(counts: GroupCounts, lower_is_riskier: bool) -> GroupCounts:
    """Turn scores with a minus, of which a low one meant high risk, into the risk they say: one minus the score."""
    return replace(counts, score=1 + counts.score) if lower_is_riskier else counts


def error_by_chance(counts: GroupCounts, bins: int = BINS) -> float:
    """Give the expected calibration error that so many rows would show if their scores were right.

    In each bin outcomes then differ from scores by chance alone, about normally: the mean of the absolute difference is
    sqrt(2 / pi) of its standard deviation.
    """
    score = counts.score
    squares = (counts.squared(True) + counts.squared(False)).astype(np.float64)
    place = np.minimum((score * bins).astype(np.intp), bins - 1)
    spread = np.sqrt(np.bincount(place, squares * score * (1 - score), bins))
    return float(np.sqrt(2 / np.pi) * spread.sum() / counts.weight.sum())


def large_error(counts: GroupCounts, level: float) -> Estimate:
    """Estimate mean score minus rate with its interval; rows of a cluster count together.

    Examples
    --------
    >>> import numpy as np
    >>> print(large_error(GroupCounts(np.array([0.25, 0.75]), np.array([100, 300]), np.array([300, 100])), 0.95))
    0.000 (95% interval -0.030 to 0.030)
    """
    name, total = "error_in_the_large", float(counts.weight.sum())
    off = np.stack((counts.score - 1, counts.score))  # of those with the outcome, and without
    weight = np.stack((counts.positive, counts.negative)).astype(np.float64)
    mean = float((weight * off).sum()) / total
    if counts.members is not None:
        units = np.concatenate([rows.unit for rows in counts.members])
        parts = [rows.weight * (off[side, rows.entry] - mean) for side, rows in enumerate(counts.members)]
        sums = np.bincount(np.unique(units, return_inverse=True)[1], np.concatenate(parts))
        size, variance = float(len(sums)), float(np.dot(sums, sums))
    else:
        squares = np.stack((counts.squared(True), counts.squared(False))).astype(np.float64)
        size, variance = total**2 / float(squares.sum()), float((squares * (off - mean) ** 2).sum())
    se = float(np.sqrt(variance * size / max(size - 1, 1))) / total
    sides = [float(w.sum()) ** 2 / float(q) if q > 0 else 0.0 for w, q in zip(weight, _squares(counts))]
    if min(sides) < FEWEST - 1e-9 or size < FEWEST:
        reason = f"with fewer than {FEWEST} rows with or without the outcome there is no interval"
        return Estimate(name, mean, se, level=level, reason=reason)
    half = float(ndtri((1 + level) / 2)) * se
    return Estimate(name, mean, se, mean - half, mean + half, level)


def _squares(counts: GroupCounts) -> tuple[float, float]:
    return float(counts.squared(True).sum()), float(counts.squared(False).sum())


def remaining_price(counts: GroupCounts) -> float | None:
    """Give the mean squared distance of scores from the risks that a logistic line of these rows alone has.

    That is what the Brier score of these rows would gain if they had a map of their own; None where they have no line.
    """
    if _separated(counts) or counts.score[0] == counts.score[-1]:
        return None
    return float(np.dot(counts.weight, (own_risks(counts) - counts.score) ** 2) / counts.weight.sum())


def logistic_slope(counts: GroupCounts) -> float | None:
    """Fit the outcome on the score's log-odds by Newton's method; None where the likelihood has no maximum."""
    x = logit(np.clip(counts.score, _EDGE, 1 - _EDGE))
    if _separated(counts) or x[0] == x[-1]:
        return None
    x, positive, weight = _binned(x, counts.positive.astype(np.float64), counts.weight.astype(np.float64))
    # Centred and scaled: the two directions are then about equally steep.
    centre = float(np.average(x, weights=weight))
    spread = float(np.sqrt(np.average((x - centre) ** 2, weights=weight)))
    slope = _newton((x - centre) / spread, positive, weight)
    return None if slope is None else slope / spread


def _binned(
    x: NDArray[np.float64], positive: NDArray[np.float64], weight: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Add up neighbours where there are very many."""
    if len(x) <= _BINS_OF_LOG_ODDS:
        return x, positive, weight
    place = ((x - x[0]) * (_BINS_OF_LOG_ODDS / (x[-1] - x[0]))).astype(np.intp)
    first = np.flatnonzero(np.diff(place, prepend=-1))
    positive, moment = np.add.reduceat(positive, first), np.add.reduceat(weight * x, first)
    weight = np.add.reduceat(weight, first)
    return moment / weight, positive, weight


def _separated(counts: GroupCounts) -> bool:
    """Whether one score parts the classes, or one of them is missing: slopes then grow without end."""
    positives, negatives = counts.score[counts.positive > 0], counts.score[counts.negative > 0]
    if len(positives) == 0 or len(negatives) == 0:
        return True
    return bool(positives[0] >= negatives[-1] or negatives[0] >= positives[-1])


def _newton(z: NDArray[np.float64], positive: NDArray[np.float64], weight: NDArray[np.float64]) -> float | None:
    total = weight.sum()
    beta = np.array([logit(positive.sum() / total), 0.0])
    best = _loss(beta, z, positive, weight)
    for _ in range(_STEPS):
        p = expit(beta[0] + beta[1] * z)
        pull, curvature = positive - weight * p, weight * p * (1 - p)
        gradient = np.array([pull.sum(), np.dot(pull, z)])
        if np.abs(gradient).max() <= 1e-10 * total:
            return float(beta[1])
        bend = np.dot(curvature, z)
        hessian = np.array([[curvature.sum(), bend], [bend, np.dot(curvature, z * z)]])
        try:
            step = np.linalg.solve(hessian, gradient)
        except np.linalg.LinAlgError:
            return None
        if np.abs(step).max() < _NEAR:  # so near the maximum that the last step is as good as any
            return float(beta[1] + step[1])
        beta, best, moved = _shorten(beta, step, best, z, positive, weight)
        if not moved:
            return float(beta[1])
    return None


def _shorten(
    beta: NDArray[np.float64],
    step: NDArray[np.float64],
    best: float,
    z: NDArray[np.float64],
    positive: NDArray[np.float64],
    weight: NDArray[np.float64],
) -> tuple[NDArray[np.float64], float, bool]:
    """Halve a step until it improves; a step that cannot is round-off at the maximum."""
    for _ in range(30):
        loss = _loss(beta + step, z, positive, weight)
        if loss < best:
            return beta + step, loss, True
        step = step / 2
    return beta, best, False


def _loss(
    beta: NDArray[np.float64], z: NDArray[np.float64], positive: NDArray[np.float64], weight: NDArray[np.float64]
) -> float:
    linear = beta[0] + beta[1] * z
    return float(np.dot(weight, np.logaddexp(0, linear)) - np.dot(positive, linear))


@dataclass(frozen=True)
class Stage:
    """Calibration at one step of a repair: mean score minus rate, and the expected error with that by chance."""

    error_in_the_large: Estimate
    expected_calibration_error: float
    error_by_chance: float


@dataclass(frozen=True)
class CalibrationStages:
    """Calibration of one group, or of all rows (group None), step by step through a repair.

    ``price`` is what the group's Brier score would gain from a map of its own, which would undo the repair.
    """

    group: Group | None
    rows: Count
    before: Stage | None
    repaired: Stage | None
    recalibrated: Stage | None
    price: float | None


def calibration_stages(
    table: ScoreTable, maps: Mapping[Hashable, ScoreMap], level: float | None = LEVEL, bins: int = BINS
) -> tuple[CalibrationStages, ...] | None:
    """Measure calibration of each group and of all: before, repaired, and made probabilities again, if they were."""
    own, then = parted(maps)
    tables = [table, table.rescored(moving(own)), *([] if then is None else [table.rescored(maps)])]
    found = []
    for group in (*table.groups, None):
        counts = [as_risks(t.joined().counts[0] if group is None else t[group], table.lower_is_riskier) for t in tables]
        stages = [_stage(each, level, bins) for each in counts]
        price = None if stages[-1] is None or group is None else remaining_price(counts[-1])
        rows = float(table.rows if group is None else table[group].weight.sum())
        found.append(
            CalibrationStages(group, rows, stages[0], stages[1], stages[2] if then is not None else None, price)
        )
    final = [each.recalibrated if then is not None else each.repaired for each in found]
    return tuple(found) if any(each is not None for each in final) else None


def _stage(counts: GroupCounts, level: float | None, bins: int) -> Stage | None:
    errors = calibration_errors(counts, bins)
    if errors is None:
        return None
    return Stage(large_error(counts, LEVEL if level is None else level), errors[1], error_by_chance(counts, bins))
