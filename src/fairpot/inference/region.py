"""Shares inside the top-alpha region, whose threshold is itself estimated.

A threshold that lies a little higher takes the lowest rows out of the region, and with them their pairs. To first
order row i adds kappa (1[s_i >= t] - share) / rows to the error, with kappa = dT/dt / f(t): through the positives of g
rows * f_positive(t) / p_g * (X - V(t)), through the negatives of h rows * f_negative(t) / n_h * (X - U(t)), where p and
n are counted inside the region and V and U are placements there. Only the shares of the cells among the rows near the
cut are needed of the densities.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from fairpot.inference.clustered import clustered_covariance, region_sums
from fairpot.inference.covariance import independent_covariance, independent_units, small_sample_factor
from fairpot.inference.cuts import Cut
from fairpot.inference.estimates import ShareEstimates
from fairpot.inference.influence import Influence, influences
from fairpot.inference.pairs import Kernel, Pairs
from fairpot.inference.placements import Floats
from fairpot.inference.sample import Sample
from fairpot.table import GroupCounts, Region, ScoreTable


def estimate_region(
    sample: Sample, pairs: Sequence[Pairs], kernel: Kernel, alpha: float, region: Region
) -> ShareEstimates:
    """Estimate shares inside the top-alpha region with their covariance, the threshold's error included."""
    top = cut_sample(sample, alpha, region)
    found = influences(top, pairs, kernel)
    cuts = threshold_cuts(sample, top, pairs, found, kernel, alpha, region)
    if sample.clusters is not None and top.clusters is not None:
        extra = region_sums(sample.clusters, cuts)
        return clustered_covariance(found, top.clusters, extra)
    units = independent_units(top, pairs, 1)
    base = independent_covariance(found, top, units)
    covariance = base.covariance + sum(_threshold_part(sample, top, found, units, cut) for cut in cuts)
    return ShareEstimates(base.value, covariance, base.variance, base.units)


def cut_sample(sample: Sample, alpha: float, region: Region) -> Sample:
    """Cut a sample to its region."""
    thresholds = sample.table.thresholds(alpha, region)
    squares = None if sample.squares is None else sample.squares.above(thresholds)
    clusters = sample.clusters
    if clusters is not None:
        first = [int(np.searchsorted(c.score, thresholds[g])) for g, c in zip(sample.table.groups, sample.table.counts)]
        clusters = clusters.above(np.array(first))
    return Sample(sample.table.above(thresholds), squares, clusters)


def tied_at_cut(table: ScoreTable, alpha: float, region: Region) -> bool:
    """Whether so many rows tie at a threshold that it moves in steps, not smoothly."""
    populations = [table.pooled()] if region == "pooled" else list(table.counts)
    for counts, threshold in zip(populations, _levels(table, alpha, region)):
        place = int(np.searchsorted(counts.score, threshold))
        rows = float(counts.weight.sum())
        if counts.weight[place] > max(5.0, 0.25 * np.sqrt(rows * alpha * (1 - alpha))) and place > 0:
            return True
    return False


def _levels(table: ScoreTable, alpha: float, region: Region) -> list[float]:
    thresholds = table.thresholds(alpha, region)
    return [thresholds[table.groups[0]]] if region == "pooled" else [thresholds[g] for g in table.groups]


def threshold_cuts(
    sample: Sample,
    top: Sample,
    pairs: Sequence[Pairs],
    found: Influence,
    kernel: Kernel,
    alpha: float,
    region: Region,
) -> list[Cut]:
    """Find each estimated threshold, and how far it moves the shares."""
    table = sample.table
    everyone = tuple(range(len(table.groups)))
    cut_groups = [everyone] if region == "pooled" else [(g,) for g in everyone]
    result = []
    for groups, threshold in zip(cut_groups, _levels(table, alpha, region)):
        total = sum(float(table.counts[g].weight.sum()) for g in groups)
        above = sum(float(top.table.counts[g].weight.sum()) for g in groups)
        if above >= total:
            continue  # everybody is in the region: there is no threshold to miss
        window = near_cut(sample, groups, threshold, above, total)
        kappa = np.array(
            [_kappa(top.table, pair, k, groups, threshold, window, found, kernel) for k, pair in enumerate(pairs)]
        )
        first = tuple(int(np.searchsorted(c.score, threshold)) for c in table.counts)
        result.append(Cut(groups, first, above, total, kappa * total))
    return result


class Window(NamedTuple):
    """Shares of the cells among the rows near a cut."""

    positive: Floats
    negative: Floats


def near_cut(sample: Sample, groups: tuple[int, ...], threshold: float, above: float, total: float) -> Window:
    """Count the cells among the rows nearest to the cut, equally many on both sides."""
    table = sample.table
    square = sum(float(sample.squared(g, side).sum()) for g in groups for side in (True, False))
    rows = total**2 / square
    reach = min(0.5 * rows**0.7 * total / rows, above, total - above)
    merged = ScoreTable(tuple(groups), tuple(table.counts[g] for g in groups)).pooled()
    running = np.cumsum(merged.weight)
    middle = total - above
    low = merged.score[min(int(np.searchsorted(running, middle - reach, side="right")), len(running) - 1)]
    high = merged.score[min(int(np.searchsorted(running, middle + reach)), len(running) - 1)]
    positive, negative = np.zeros(len(table.groups)), np.zeros(len(table.groups))
    for g in groups:
        positive[g], negative[g] = _between(table.counts[g], low, high)
    near = positive.sum() + negative.sum()
    return Window(positive / near, negative / near)


def _between(counts: GroupCounts, low: float, high: float) -> tuple[float, float]:
    first, last = np.searchsorted(counts.score, low), np.searchsorted(counts.score, high, side="right")
    return float(counts.positive[first:last].sum()), float(counts.negative[first:last].sum())


def _kappa(
    top: ScoreTable,
    pair: Pairs,
    place: int,
    groups: tuple[int, ...],
    threshold: float,
    window: Window,
    found: Influence,
    kernel: Kernel,
) -> float:
    """Compute how far a share moves when the threshold passes one row, in shares of the rows."""
    value, p, n = found.value[place], found.weight[0][place], found.weight[1][place]
    if not p * n > 0:
        return np.nan
    won, lost = _at(top, pair, threshold, kernel)
    leaving_p = sum(window.positive[g] for g in pair.winners if g in groups)
    leaving_n = sum(window.negative[g] for g in pair.losers if g in groups)
    return float(leaving_p / p * (value - won / n) + leaving_n / n * (value - lost / p))


def _at(top: ScoreTable, pair: Pairs, threshold: float, kernel: Kernel) -> tuple[float, float]:
    """Count the region's negatives that a positive at the threshold beats, and the positives a negative loses to."""
    if kernel == "equal":
        return 0.0, 0.0
    won = sum(
        float(top.counts[h].negative[: np.searchsorted(top.counts[h].score, threshold)].sum()) for h in pair.losers
    )
    lost = sum(
        float(top.counts[g].positive[np.searchsorted(top.counts[g].score, threshold) :].sum()) for g in pair.winners
    )
    return won, lost


def _threshold_part(sample: Sample, top: Sample, found: Influence, units: tuple[Floats, Floats], cut: Cut) -> Floats:
    """Add the threshold's own variance, and what it shares with the rows in the region."""
    inside = outside = 0.0
    for g in cut.groups:
        for positive in (True, False):
            kept = float(top.squared(g, positive).sum())
            inside += kept
            outside += float(sample.squared(g, positive).sum()) - kept
    rows = cut.total**2 / (inside + outside)
    variance = (inside * cut.inside**2 + outside * cut.outside**2) * rows / (rows - 1)
    shared = np.zeros(len(found.value))
    for side in range(2):
        factor = np.sqrt(small_sample_factor(units[side]))
        for g in cut.groups:
            cell = found.cells[side][g]
            if len(cell.shares):
                square = top.squared(g, side == 0)[cell.entries].astype(np.float64)
                shared[cell.shares] += factor[cell.shares] * (cell.values @ square)
    cross = np.outer(shared * cut.inside, cut.kappa)
    return np.asarray(variance * np.outer(cut.kappa, cut.kappa) + cross + cross.T)
