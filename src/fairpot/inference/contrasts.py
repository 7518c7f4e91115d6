"""Changes between shares of the same rows: contrasts of influences, so that what both have in common cancels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import stdtrit

from fairpot.inference.clustered import clustered_covariance
from fairpot.inference.covariance import independent_covariance, independent_units, small_sample_factor
from fairpot.inference.estimates import ShareEstimates
from fairpot.inference.influence import Influence, View, influences
from fairpot.inference.pairs import Kernel, Pairs
from fairpot.inference.placements import Floats
from fairpot.inference.sample import Sample


@dataclass(frozen=True, eq=False)
class Contrasts:
    """Weighted sums of shares: values, covariance, and degrees of freedom."""

    value: Floats
    covariance: Floats
    free: Floats

    @property
    def se(self) -> Floats:
        """Standard errors."""
        return np.sqrt(np.maximum(np.diag(self.covariance), 0.0))

    def limits(self, tail: float | Floats) -> tuple[Floats, Floats]:
        """Compute limits, each wrong with probability ``tail``."""
        half = -stdtrit(self.free, tail) * self.se
        return self.value - half, self.value + half


def estimate_views(
    sample: Sample, pairs: Sequence[Pairs], kernel: Kernel, views: Sequence[View], sums: Floats
) -> tuple[ShareEstimates, Contrasts]:
    """Estimate shares in several views of the same rows, and weighted sums of them (one a row of ``sums``)."""
    found = influences(sample, pairs, kernel, views)
    if sample.clusters is not None:
        shares = clustered_covariance(found, sample.clusters)
        free = np.full(len(sums), min(units.min() for units in shares.units) - 1.0)
    else:
        units = independent_units(sample, pairs, len(views))
        shares = independent_covariance(found, sample, units)
        free = _degrees_of_freedom(found, sample, units, sums)
    return shares, Contrasts(sums @ shares.value, sums @ shares.covariance @ sums.T, free)


def _degrees_of_freedom(found: Influence, sample: Sample, units: tuple[Floats, Floats], sums: Floats) -> Floats:
    """Compute Welch and Satterthwaite's degrees of freedom over the cells of each sum."""
    top, bottom, fewest = np.zeros(len(sums)), np.zeros(len(sums)), np.full(len(sums), np.inf)
    for side in range(2):
        factor = np.sqrt(small_sample_factor(units[side]))
        for group, cell in enumerate(found.cells[side]):
            square = sample.squared(group, side == 0)[cell.entries].astype(np.float64)
            weights = (sums * factor)[:, cell.shares]
            variance = ((weights @ cell.values) ** 2) @ square
            rests = sums[:, cell.shares] != 0
            free = np.where(rests, units[side][cell.shares] - 1, np.inf).min(axis=1, initial=np.inf)
            top += variance
            bottom += np.divide(variance**2, free, out=np.zeros(len(sums)), where=free > 0)
            fewest = np.minimum(fewest, free)
    return np.divide(top**2, bottom, out=fewest, where=bottom > 0)
