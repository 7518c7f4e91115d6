"""From influences to the covariance of the shares: squares of independent rows, or of clusters of them, added up."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fairpot.inference.clustered import clustered_covariance
from fairpot.inference.estimates import ShareEstimates
from fairpot.inference.influence import Influence, View, influences
from fairpot.inference.pairs import Kernel, Pairs
from fairpot.inference.placements import Floats
from fairpot.inference.sample import Sample


def estimate_shares(
    sample: Sample, pairs: Sequence[Pairs], kernel: Kernel = "half", views: Sequence[View] | None = None
) -> ShareEstimates:
    """Estimate shares and their covariance; share k of view v stands at place ``v * len(pairs) + k``.

    For rows of weight one it is DeLong's covariance exactly.
    """
    found = influences(sample, pairs, kernel, views)
    if sample.clusters is not None:
        return clustered_covariance(found, sample.clusters)
    units = independent_units(sample, pairs, 1 if views is None else len(views))
    return independent_covariance(found, sample, units)


def independent_units(sample: Sample, pairs: Sequence[Pairs], views: int) -> tuple[Floats, Floats]:
    """Count how many equally weighted rows each side of a share is worth: W^2 / sum of w^2."""
    table, groups = sample.table, range(len(sample.table.groups))
    units = []
    for side, total in enumerate((table.positives, table.negatives)):
        square = np.array([float(sample.squared(g, side == 0).sum()) for g in groups])
        weight = total.astype(np.float64)
        rests = [list(pair[side]) for pair in pairs]
        w, q = (np.array([each[places].sum() for places in rests]) for each in (weight, square))
        units.append(np.tile(np.divide(w**2, q, out=np.zeros(len(w)), where=q > 0), views))
    return units[0], units[1]


def small_sample_factor(units: Floats) -> Floats:
    """Give m / (m - 1); NaN for a single unit, whose spread cannot be seen."""
    return np.divide(units, units - 1, out=np.full(len(units), np.nan), where=units > 1)


def independent_covariance(found: Influence, sample: Sample, units: tuple[Floats, Floats]) -> ShareEstimates:
    """Add up the squares of independent rows."""
    size = len(found.value)
    total, variance = np.zeros((size, size)), []
    for side in range(2):
        part = np.zeros((size, size))
        factor = np.sqrt(small_sample_factor(units[side]))
        for group, cell in enumerate(found.cells[side]):
            if len(cell.shares) == 0:
                continue
            square = sample.squared(group, side == 0)[cell.entries].astype(np.float64)
            part[np.ix_(cell.shares, cell.shares)] += (cell.values * square) @ cell.values.T
        part *= np.outer(factor, factor)
        variance.append(np.diag(part).copy())
        total += part
    return ShareEstimates(found.value, total, (variance[0], variance[1]), units)
