"""When a difference says something: paired over seeds, against twice its standard error."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fairpot.experiments.collect import Array, mean_of, standard_error

HOLDS, FAILS, OPEN, ABSENT = "holds", "does not hold", "cannot tell", "not run"
ERRORS = 2.0  # a difference beyond so many standard errors is taken for one


class Difference(NamedTuple):
    """The mean of paired differences and its standard error; over how many pairs."""

    mean: float
    error: float
    n: int

    @property
    def above(self) -> bool:
        """Whether it is above zero by more than two standard errors."""
        return bool(self.mean > ERRORS * self._error)

    @property
    def below(self) -> bool:
        """Whether it is below zero by more than two standard errors."""
        return bool(self.mean < -ERRORS * self._error)

    @property
    def _error(self) -> float:
        # One pair has no spread: nothing can be told from it. Pairs that all agree need none.
        return np.inf if np.isnan(self.error) else self.error

    def __str__(self) -> str:
        return f"{self.mean:+.4f} ± {self.error:.4f}"


def paired(one: Array, other: Array, data: str) -> Difference:
    """Compare two figures seed by seed."""
    change = np.asarray(one - other, dtype=np.float64)
    return Difference(float(mean_of(change)), float(standard_error(change, data)), int(np.isfinite(change).sum()))


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
    reach = ERRORS * (np.inf if np.isnan(difference.error) else difference.error)
    if abs(difference.mean) + reach < tolerance:
        return HOLDS
    return FAILS if abs(difference.mean) - reach > tolerance else OPEN
