"""Shares with their covariance, and the parts of it that intervals need."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fairpot.inference.limits import Parts, difference_limits, share_limits
from fairpot.inference.placements import Floats


@dataclass(frozen=True, eq=False)
class ShareEstimates:
    """Several shares (AUC, xAUCs, ...) and the covariance of their errors.

    Attributes
    ----------
    value : array of shape (k,)
    covariance : array of shape (k, k)
    variance : pair of arrays of shape (k,)
        What the positives, and what the negatives, add to the variance.
    units : pair of arrays of shape (k,)
        How many independent positives, and negatives, each share rests on.
    """

    value: Floats
    covariance: Floats
    variance: tuple[Floats, Floats]
    units: tuple[Floats, Floats]

    def __len__(self) -> int:
        return len(self.value)

    @property
    def se(self) -> Floats:
        """Standard errors."""
        return np.sqrt(np.maximum(np.diag(self.covariance), 0.0))

    def take(self, places: Sequence[int] | np.ndarray) -> ShareEstimates:
        """Keep some of the shares."""
        at = np.asarray(places, dtype=np.intp)
        first, second = self.variance
        m, n = self.units
        return ShareEstimates(self.value[at], self.covariance[np.ix_(at, at)], (first[at], second[at]), (m[at], n[at]))

    def fewest(self, many: int) -> ShareEstimates:
        """Give, of shares that come ``many`` for each view, those of the view with the fewest units."""
        views = np.arange(len(self)).reshape(-1, many)
        least = int(np.argmin(np.minimum(*self.units)[views].min(axis=1)))
        return self.take(views[least])

    def with_values(self, value: Floats) -> ShareEstimates:
        """Put exact values in the place of those that the covariance was computed with."""
        return ShareEstimates(np.asarray(value, dtype=np.float64), self.covariance, self.variance, self.units)

    def parts(self) -> Parts:
        """Give what the limits of each share are computed from."""
        return Parts(self.value, np.diag(self.covariance), self.variance, self.units)

    def limits(self, tail: float | Floats) -> tuple[Floats, Floats]:
        """Compute a lower and an upper limit of each share, each wrong with probability ``tail``."""
        return share_limits(self.parts(), tail)


@dataclass(frozen=True, eq=False)
class GapEstimates:
    """Differences of two shares each: signed gaps."""

    shares: ShareEstimates
    first: np.ndarray
    second: np.ndarray

    @classmethod
    def side_by_side(cls, shares: ShareEstimates) -> GapEstimates:
        """Take shares as pairs of neighbours: [a over b, b over a, a over c, c over a, ...]."""
        places = np.arange(len(shares))
        return cls(shares, places[::2], places[1::2])

    def __len__(self) -> int:
        return len(self.first)

    @property
    def value(self) -> Floats:
        """Signed gaps."""
        return np.asarray(self.shares.value[self.first] - self.shares.value[self.second])

    @property
    def covariance(self) -> Floats:
        """Covariance of the signed gaps."""
        c, i, j = self.shares.covariance, self.first, self.second
        return np.asarray(c[np.ix_(i, i)] + c[np.ix_(j, j)] - c[np.ix_(i, j)] - c[np.ix_(j, i)])

    @property
    def se(self) -> Floats:
        """Standard errors of the signed gaps."""
        return np.sqrt(np.maximum(np.diag(self.covariance), 0.0))

    def take(self, places: Sequence[int] | np.ndarray) -> GapEstimates:
        """Keep some of the gaps."""
        at = np.asarray(places, dtype=np.intp)
        return GapEstimates(self.shares, self.first[at], self.second[at])

    def limits(self, tail: float | Floats) -> tuple[Floats, Floats]:
        """Compute limits of each signed gap, each wrong with probability ``tail``."""
        first, second = self.shares.parts().take(self.first), self.shares.parts().take(self.second)
        return difference_limits(first, second, self.shares.covariance[self.first, self.second], tail)


def average(parts: Sequence[ShareEstimates]) -> ShareEstimates:
    """Average the shares of independent folds: mean, and covariance sum / K^2."""
    folds = len(parts)
    value = np.mean([p.value for p in parts], axis=0)
    covariance = np.sum([p.covariance for p in parts], axis=0) / folds**2
    variance = [np.sum([p.variance[side] for p in parts], axis=0) / folds**2 for side in range(2)]
    units = [np.sum([p.units[side] for p in parts], axis=0) for side in range(2)]
    return ShareEstimates(value, covariance, (variance[0], variance[1]), (units[0], units[1]))
