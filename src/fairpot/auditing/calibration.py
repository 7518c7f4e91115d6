"""Calibration of probabilities, from the counts at each score alone."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit, ndtri

from fairpot.counts import GroupCounts
from fairpot.inference import Estimate
from fairpot.inference.shares import FEWEST
from fairpot.repair.calibrating import own_risks

BINS = 10
# Scores of exactly 0 and 1 have no finite log-odds; they are taken as this near to them.
_EDGE = 1e-6
_STEPS, _NEAR = 100, 1e-5
# More distinct scores than this are put into as many bins of log-odds, each at its mean: the slope keeps 6 digits.
_BINS_OF_LOG_ODDS = 1 << 16


def calibration(counts: GroupCounts, bins: int = BINS) -> dict[str, float | None] | None:
    """Compare predicted probabilities with outcomes; None if the scores are no probabilities.

    Returns
    -------
    dict
        ``error_in_the_large``: mean score minus share of positives. ``expected_calibration_error``: the same by
        bins of equal width on [0, 1], absolute, averaged over the rows. ``error_by_chance``: what that would be
        expected to be if the scores were right, as it is never 0 with finitely many rows. ``slope``: of the logistic
        regression of the outcome on the score's log-odds (1 is right, below 1 the scores are too extreme); None if it
        has no finite value.

    Examples
    --------
    >>> import numpy as np
    >>> counts = GroupCounts(np.array([0.25, 0.75]), np.array([1, 3]), np.array([3, 1]))
    >>> {name: round(value, 6) for name, value in calibration(counts).items()}
    {'error_in_the_large': 0.0, 'expected_calibration_error': 0.0, 'error_by_chance': 0.172747, 'slope': 1.0}
    """
    errors = calibration_errors(counts, bins)
    if errors is None:
        return None
    return {
        "error_in_the_large": errors[0],
        "expected_calibration_error": errors[1],
        "error_by_chance": error_by_chance(counts, bins),
        "slope": logistic_slope(counts),
    }


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
