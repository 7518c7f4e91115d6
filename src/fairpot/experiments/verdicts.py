"""When a difference says something: paired over seeds, its 95 % interval on one side of zero."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import stats

from fairpot.experiments.collect import Array, mean_of, standard_error
from fairpot.experiments.sets import DATA_SETS

HOLDS, FAILS, OPEN, ABSENT = "holds", "does not hold", "cannot tell", "not run"
LEVEL = 0.975  # a difference is taken for one where its two-sided 95 % interval does not hold zero


class Difference(NamedTuple):
    """The mean of paired differences, its standard error, and half the width of its 95 % interval."""

    mean: float
    error: float
    reach: float

    @property
    def above(self) -> bool:
        """Whether the interval lies above zero."""
        return bool(self.mean > self.reach)

    @property
    def below(self) -> bool:
        """Whether the interval lies below zero."""
        return bool(self.mean < -self.reach)

    def __str__(self) -> str:
        return f"{self.mean:+.4f} ± {self.error:.4f}"


def paired(one: Array, other: Array, data: str) -> Difference:
    """Compare two figures seed by seed; the interval is Student's, over resamples the normal one.

    A single pair has no spread, and nothing can be told from it.
    """
    change = np.asarray(one - other, dtype=np.float64)
    mean, error, n = float(mean_of(change)), float(standard_error(change, data)), int(np.isfinite(change).sum())
    if n < 2:
        return Difference(mean, np.nan, np.inf)
    quantile = stats.norm.ppf(LEVEL) if DATA_SETS[data].fixed else stats.t.ppf(LEVEL, n - 1)
    return Difference(mean, error, float(quantile) * error)


def all_of(verdicts: list[str]) -> str:
    """Judge a claim about several things at once: it fails with any of them, and holds with all.

    Examples
    --------
    >>> all_of(["holds", "cannot tell"])
    'cannot tell'
    """
    if not verdicts:
        return ABSENT
    if FAILS in verdicts:
        return FAILS
    return HOLDS if all(verdict == HOLDS for verdict in verdicts) else OPEN


def is_above(difference: Difference) -> str:
    """Judge the claim that a difference is above zero."""
    return HOLDS if difference.above else FAILS if difference.below else OPEN


def is_within(difference: Difference, tolerance: float) -> str:
    """Judge the claim that a difference is negligible: smaller than a stated tolerance either way."""
    if abs(difference.mean) + difference.reach < tolerance:
        return HOLDS
    return FAILS if abs(difference.mean) - difference.reach > tolerance else OPEN
