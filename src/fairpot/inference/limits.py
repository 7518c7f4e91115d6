"""Limits of a share and of a difference of two shares: pure formulas on arrays.

A share is taken to the logit scale with a t quantile (degrees of freedom by Welch and Satterthwaite over the positives
and the negatives it rests on). On the side of 1/2 that is too narrow where few rows leave little spread to be seen, so
a Wilson interval with the effective number of rows guards it. The difference of two shares takes the distance to
its limits from theirs (MOVER; Newcombe 1998, method 10).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit, logit, ndtri, stdtrit

from fairpot.inference.placements import Floats

# The guard adds this much of a row, worth 1/2, to each side. A whole row makes 95 % intervals of an AUC of .95 cover
# 97-99 % at 30 to 100 positives, none 73-93 % (trial runs); benchmarks/coverage.py measures this choice.
_ADDED = 1 / 3


class Parts(NamedTuple):
    """Shares, their variance, what positives and negatives add to it, and how many of each there are."""

    value: Floats
    variance: Floats
    sides: tuple[Floats, Floats]
    units: tuple[Floats, Floats]

    def take(self, places: Any) -> Parts:
        """Keep some of the shares."""
        first, second = self.sides
        m, n = self.units
        return Parts(self.value[places], self.variance[places], (first[places], second[places]), (m[places], n[places]))


def degrees_of_freedom(parts: Parts) -> Floats:
    """Compute Welch and Satterthwaite's degrees of freedom; where nothing varies, those of the smaller side."""
    top = (parts.sides[0] + parts.sides[1]) ** 2
    free = [np.maximum(units - 1, 1e-9) for units in parts.units]
    bottom = parts.sides[0] ** 2 / free[0] + parts.sides[1] ** 2 / free[1]
    return np.divide(top, bottom, out=np.minimum(free[0], free[1]), where=bottom > 0)


def share_limits(parts: Parts, tail: float | Floats) -> tuple[Floats, Floats]:
    """Compute the limits of shares, each wrong with probability ``tail``."""
    x = parts.value
    quantile = -stdtrit(degrees_of_freedom(parts), tail)
    guard_low, guard_high = _guard(parts, -ndtri(tail))
    inner = (x > 0) & (x < 1) & (parts.variance > 0)
    safe = np.where(inner, x, 0.5)
    half = quantile * np.sqrt(np.maximum(parts.variance, 0.0)) / (safe * (1 - safe))
    low, high = expit(logit(safe) - half), expit(logit(safe) + half)
    low = np.where(x > 0.5, np.minimum(low, guard_low), low)
    high = np.where(x < 0.5, np.maximum(high, guard_high), high)
    low = np.where(inner, low, np.minimum(guard_low, x))
    return low, np.where(inner, high, np.maximum(guard_high, x))


def _guard(parts: Parts, quantile: float | Floats) -> tuple[Floats, Floats]:
    """Compute Wilson's interval after giving every side a part of one more row, worth 1/2."""
    x, (m, n) = parts.value, parts.units
    fewest = np.minimum(m, n)
    added = [_one_more(v, units, x) for v, units in zip(parts.sides, parts.units)]
    shifted = (fewest * x + 0.5 * _ADDED) / (fewest + _ADDED)
    # What clusters with positives and negatives add belongs to neither side.
    total = np.maximum(added[0] + added[1] + (parts.variance - parts.sides[0] - parts.sides[1]), 1e-300)
    size = np.maximum(shifted * (1 - shifted) / total, fewest)
    q2 = quantile**2 / size
    centre = (shifted + q2 / 2) / (1 + q2)
    half = np.sqrt(q2 * shifted * (1 - shifted) + q2**2 / 4) / (1 + q2)
    return centre - half, centre + half


def _one_more(variance: Floats, units: Floats, x: Floats) -> Floats:
    spread = variance * units * (units - 1) + _ADDED * (0.5 - x) ** 2 * units / (units + _ADDED)
    return np.asarray(spread / (units * (units - 1 + _ADDED)))


def difference_limits(first: Parts, second: Parts, covariance: Floats, tail: float | Floats) -> tuple[Floats, Floats]:
    """Compute the limits of ``first - second`` from theirs; 0 covariance unless they share rows."""
    low_1, high_1 = share_limits(first, tail)
    low_2, high_2 = share_limits(second, tail)
    scale = np.sqrt(np.maximum(first.variance * second.variance, 0.0))
    rho = np.clip(np.divide(covariance, scale, out=np.zeros(len(scale)), where=scale > 0), -1, 1)
    value = first.value - second.value
    down = _combine(first.value - low_1, high_2 - second.value, rho)
    up = _combine(high_1 - first.value, second.value - low_2, rho)
    return np.maximum(value - down, -1.0), np.minimum(value + up, 1.0)


def _combine(first: Floats, second: Floats, rho: Floats) -> Floats:
    return np.sqrt(np.maximum(first**2 + second**2 - 2 * rho * first * second, 0.0))


def fold(low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """Turn limits of a signed number into limits of its size."""
    crosses = (low <= 0) & (high >= 0)
    return (
        np.where(crosses, 0.0, np.minimum(np.abs(low), np.abs(high))),
        np.maximum(np.abs(low), np.abs(high)),
    )
