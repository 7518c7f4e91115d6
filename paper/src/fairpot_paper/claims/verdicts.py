"""When a difference says something: paired over seeds, its 95 % interval on one side of zero."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import NamedTuple

import numpy as np
from scipy import stats

from fairpot_paper.results.collect import Array, mean_of, standard_error
from fairpot_paper.sets import DATA_SETS, TEST_SHARE

HOLDS, FAILS, OPEN, ABSENT = "holds", "does not hold", "cannot tell", "not run"
LEVEL = 0.05  # a difference is taken for one where its two-sided 95 % interval does not hold zero


_allowing: ContextVar[bool] = ContextVar("allowing_for_shared_rows", default=False)


class Judged(NamedTuple):
    """A verdict and the figure behind it; and whether it is the same with errors that allow for shared rows."""

    verdict: str
    figure: str
    stands: bool = True


@contextmanager
def allowing_for_shared_rows() -> Iterator[None]:
    """Judge with the errors of Nadeau and Bengio: splits of one data set share rows, and differ too little."""
    token = _allowing.set(True)
    try:
        yield
    finally:
        _allowing.reset(token)


class Difference(NamedTuple):
    """The mean of paired differences, its standard error, how many pairs there are, and whether they share rows.

    Examples
    --------
    >>> Difference(0.02, 0.004, 20).above, Difference(0.02, float("nan"), 1).above
    (True, False)
    """

    mean: float
    error: float
    n: int
    shared: bool = False

    def reach(self, comparisons: int = 1) -> float:
        """Return half the width of the interval, Student's; of several comparisons, each at its part of the level.

        The deviation over resamples stands for the error of one estimate, and is itself known from as many of them:
        Student's quantile holds there too.
        """
        if self.n < 2:
            return np.inf
        wider = np.sqrt(1 + self.n * TEST_SHARE / (1 - TEST_SHARE)) if self.shared and _allowing.get() else 1.0
        return float(stats.t.ppf(1 - LEVEL / 2 / comparisons, self.n - 1)) * self.error * float(wider)

    @property
    def above(self) -> bool:
        """Whether the interval lies above zero."""
        return bool(self.mean > self.reach())

    @property
    def below(self) -> bool:
        """Whether the interval lies below zero."""
        return bool(self.mean < -self.reach())

    @property
    def zero(self) -> bool:
        """Whether there is no difference in any pair."""
        return bool(self.n > 1 and self.mean == 0 and self.error == 0)

    def __str__(self) -> str:
        if not np.isfinite(self.mean):
            return "without a figure"
        return f"{self.mean:+.4f} ± {self.error:.4f}" if self.n > 1 else f"{self.mean:+.4f} (one run)"


def paired(one: Array, other: Array, data: str) -> Difference:
    """Compare two figures seed by seed, or resample by resample, where both are there.

    A single pair has no spread, and nothing can be told from it.
    """
    change = np.asarray(one - other, dtype=np.float64)
    known = int(np.isfinite(change).sum())
    return Difference(float(mean_of(change)), float(standard_error(change, data)), known, DATA_SETS[data].shares_rows)


def mean_difference(differences: list[Difference]) -> Difference:
    """Return the mean of independent differences, on the degrees of freedom of the one with the fewest pairs."""
    error = float(np.sqrt(sum(each.error**2 for each in differences))) / len(differences)
    mean, shared = float(np.mean([each.mean for each in differences])), any(each.shared for each in differences)
    return Difference(mean, error, min(each.n for each in differences), shared)


def at_least(verdicts: list[str], needed: int) -> str:
    """Judge that so many of several things hold: fails where too few can.

    Examples
    --------
    >>> at_least(["holds", "cannot tell", "does not hold"], 2)
    'cannot tell'
    """
    if not verdicts:
        return ABSENT
    if verdicts.count(HOLDS) >= needed:
        return HOLDS
    return FAILS if len(verdicts) - verdicts.count(FAILS) < needed else OPEN


def all_of(verdicts: list[str]) -> str:
    """Judge a claim about several things at once: it fails with any of them, and holds with all.

    Examples
    --------
    >>> all_of(["holds", "cannot tell"])
    'cannot tell'
    """
    return at_least(verdicts, len(verdicts))


def opposite(verdict: str) -> str:
    """Judge the denial of a claim."""
    return {HOLDS: FAILS, FAILS: HOLDS}.get(verdict, verdict)


def is_above(difference: Difference, comparisons: int = 1) -> str:
    """Judge the claim that a difference is above zero.

    Where a claim needs ``comparisons`` of them all, one that is below ends it: that has to be beyond what the smallest
    of so many may show by chance. To hold, each has to be above on its own, which needs no such care.
    """
    if difference.above:
        return HOLDS
    return FAILS if difference.mean < -difference.reach(comparisons) else OPEN


def one_above(differences: list[Difference]) -> str:
    """Judge the claim that one of several differences at least is above zero: each at its part of the level.

    It fails where each is below on its own, or where there is none in any pair.
    """
    parts = len(differences)
    verdicts = [HOLDS if each.mean > each.reach(parts) else _refuted(each) for each in differences]
    return at_least(verdicts, 1)


def _refuted(difference: Difference) -> str:
    return FAILS if difference.below or difference.zero else OPEN


def is_within(difference: Difference, tolerance: float, comparisons: int = 1) -> str:
    """Judge the claim that a difference is negligible: smaller than a stated tolerance either way."""
    if abs(difference.mean) + difference.reach() < tolerance:
        return HOLDS
    return FAILS if abs(difference.mean) - difference.reach(comparisons) > tolerance else OPEN
