"""Clustered rows: what the rows of a cluster add is summed before it is squared (Obuchowski 1997)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fairpot.inference.cuts import Cut
from fairpot.inference.estimates import ShareEstimates
from fairpot.inference.influence import Influence
from fairpot.inference.placements import Floats
from fairpot.inference.sample import Clusters


def clustered_covariance(found: Influence, clusters: Clusters, extra: Floats | None = None) -> ShareEstimates:
    """Add up the squares of the clusters' sums, and what a cluster's positives and negatives have in common.

    With I10 clusters that have positives, I01 that have negatives and I in all, the squares of the two sides are
    scaled by I10 / (I10 - 1) and I01 / (I01 - 1), their products by I / (I - 1), as in Obuchowski's formula.
    ``extra`` is what the rows of each cluster add through an estimated threshold.
    """
    sums = [_cluster_sums(found, clusters, side) for side in range(2)]
    there = [_present(found, clusters, side) for side in range(2)]
    units = [_units(found, clusters, side, there[side]) for side in range(2)]
    total, variance = np.zeros((len(found.value),) * 2), []
    for side in range(2):
        factor = np.sqrt(_factor(units[side]))
        part = (sums[side].T @ sums[side]) * np.outer(factor, factor)
        variance.append(np.diag(part).copy())
        total += part
    shared = sums[0].T @ sums[1]
    total += (shared + shared.T) * _factor(_clusters_in_either(there))
    if extra is not None:
        beside = extra.T @ (sums[0] + sums[1])
        total += (extra.T @ extra + beside + beside.T) * (clusters.size / (clusters.size - 1))
    return ShareEstimates(found.value, total, (variance[0], variance[1]), (units[0], units[1]))


def _cluster_sums(found: Influence, clusters: Clusters, side: int) -> Floats:
    """Sum weight times influence over the rows of each cluster, for each share."""
    sums = np.zeros((clusters.size, len(found.value)))
    for group, cell in enumerate(found.cells[side]):
        rows = _rows(clusters, side, group)
        place = np.searchsorted(cell.entries, clusters.entry[rows])
        for share, values in zip(cell.shares, cell.values):
            sums[:, share] += np.bincount(
                clusters.unit[rows], weights=clusters.weight[rows] * values[place], minlength=clusters.size
            )
    return sums


def region_sums(clusters: Clusters, cuts: Sequence[Cut]) -> Floats | None:
    """Sum what the rows of each cluster add through the thresholds, for each share."""
    total = None
    for cut in cuts:
        rows = np.flatnonzero(np.isin(clusters.group, cut.groups))
        inside = clusters.entry[rows] >= np.array(cut.first)[clusters.group[rows]]
        added = clusters.weight[rows] * np.where(inside, cut.inside, cut.outside)
        sums = np.outer(np.bincount(clusters.unit[rows], weights=added, minlength=clusters.size), cut.kappa)
        total = sums if total is None else total + sums
    return total


def _rows(clusters: Clusters, side: int, group: int) -> np.ndarray:
    return np.flatnonzero((clusters.positive == (side == 0)) & (clusters.group == group) & (clusters.weight > 0))


def _present(found: Influence, clusters: Clusters, side: int) -> np.ndarray:
    """Mark the clusters that each share rests on."""
    present = np.zeros((clusters.size, len(found.value)), dtype=bool)
    for group, cell in enumerate(found.cells[side]):
        hit = np.zeros(clusters.size, dtype=bool)
        hit[clusters.unit[_rows(clusters, side, group)]] = True
        present[:, cell.shares] |= hit[:, None]
    return present


def _units(found: Influence, clusters: Clusters, side: int, present: np.ndarray) -> Floats:
    """Count clusters; with importance weights, how many equally weighted ones they are worth."""
    if not clusters.importance:
        return present.sum(axis=0).astype(np.float64)
    units = np.zeros(len(found.value))
    for share in range(len(units)):
        groups = [g for g, cell in enumerate(found.cells[side]) if share in cell.shares]
        rows = np.concatenate([_rows(clusters, side, g) for g in groups])
        weight, count = (
            np.bincount(clusters.unit[rows], weights=w, minlength=clusters.size)
            for w in (clusters.weight[rows], np.ones(len(rows)))
        )
        mean = weight[count > 0] / count[count > 0]
        units[share] = mean.sum() ** 2 / (mean**2).sum()
    return units


def _clusters_in_either(there: list[np.ndarray]) -> Floats:
    """Count, for each two shares, the clusters that at least one of them rests on."""
    either = (there[0] | there[1]).astype(np.float64)
    both = either.T @ either
    own = np.diag(both)
    return np.asarray(own[:, None] + own[None, :] - both)


def _factor(units: Floats) -> Floats:
    return np.divide(units, units - 1, out=np.full(units.shape, np.nan), where=units > 1)
