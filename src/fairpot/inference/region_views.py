"""Shares inside the top-alpha region at many values of a dial: the region moves with the scores."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fairpot.inference.covariance import independent_covariance, independent_units, small_sample_factor
from fairpot.inference.cuts import Cut
from fairpot.inference.estimates import ShareEstimates
from fairpot.inference.influence import Indices, View, influences
from fairpot.inference.pairs import Kernel, Pairs
from fairpot.inference.placements import Floats, placements
from fairpot.inference.region import cut_sample, threshold_cuts
from fairpot.inference.sample import Sample
from fairpot.table import GroupCounts, Region, ScoreTable


def estimate_region_views(
    sample: Sample, pairs: Sequence[Pairs], kernel: Kernel, alpha: float, region: Region, views: Sequence[View]
) -> ShareEstimates:
    """Estimate shares inside the region of each view, with the covariance between all of them.

    Share k of view v stands at place ``v * len(pairs) + k``. In every view the region is found again, and what each
    row adds through its threshold is part of the row's influence.
    """
    if sample.clusters is not None:
        raise ValueError("curves of a top-alpha region take rows as independent; clusters have no place in them yet.")
    entries = [(np.flatnonzero(c.positive > 0), np.flatnonzero(c.negative > 0)) for c in sample.table.counts]
    size = len(views) * len(pairs)
    rows = [[np.zeros((size, len(places[side]))) for places in entries] for side in range(2)]
    parts = []
    for v, view in enumerate(views):
        own = slice(v * len(pairs), (v + 1) * len(pairs))
        parts.append(_add_view(sample, pairs, kernel, alpha, region, view, entries, rows, own))
    covariance = np.zeros((size, size))
    for side in range(2):
        for g, places in enumerate(entries):
            square = sample.squared(g, side == 0)[places[side]].astype(np.float64)
            covariance += (rows[side][g] * square) @ rows[side][g].T
    value = np.concatenate([part.value for part in parts])
    variance = [np.concatenate([part.variance[side] for part in parts]) for side in range(2)]
    units = [np.concatenate([part.units[side] for part in parts]) for side in range(2)]
    return ShareEstimates(value, covariance, (variance[0], variance[1]), (units[0], units[1]))


def _add_view(
    sample: Sample,
    pairs: Sequence[Pairs],
    kernel: Kernel,
    alpha: float,
    region: Region,
    view: View,
    entries: list[tuple[Indices, Indices]],
    rows: list[list[Floats]],
    own: slice,
) -> ShareEstimates:
    """Write the influences of one view; return its shares, with what their sides add to the variance."""
    moved = _rescored(sample, view)
    top = cut_sample(moved, alpha, region)
    found = influences(top, pairs, kernel)
    units = independent_units(top, pairs, 1)
    cuts = threshold_cuts(moved, top, pairs, found, kernel, alpha, region)
    levels = moved.table.thresholds(alpha, region)
    inside = [scores >= levels[g] for g, scores in zip(sample.table.groups, view)]
    weights = [[np.where(i, w, 0) for i, w in zip(inside, side)] for side in _sides(sample.table)]
    placed = placements(view, weights[0], weights[1], kernel, entries)
    for k, pair in enumerate(pairs):
        value, p, n = found.value[k], found.weight[0][k], found.weight[1][k]
        for side, (groups, others) in enumerate((pair, pair[::-1])):
            scale = np.sqrt(small_sample_factor(units[side]))[k]
            for g in groups:
                there = entries[g][side]
                shares = (placed.beaten, placed.lost)[side][g][list(others)].sum(axis=0) / (n, p)[side]
                rows[side][g][own.start + k] += np.where(inside[g][there], scale * (shares - value) / (p, n)[side], 0.0)
    _add_thresholds(cuts, inside, entries, rows, own)
    return independent_covariance(found, top, units)


def _add_thresholds(
    cuts: Sequence[Cut],
    inside: list[np.ndarray],
    entries: list[tuple[Indices, Indices]],
    rows: list[list[Floats]],
    own: slice,
) -> None:
    """Add what every row of a cut's groups does to its threshold."""
    for cut in cuts:
        scale = np.sqrt(cut.total / max(cut.total - 1, 1e-9))
        for g in cut.groups:
            for side in range(2):
                added = np.where(inside[g][entries[g][side]], cut.inside, cut.outside) * scale
                rows[side][g][own] += np.outer(cut.kappa, added)


def _sides(table: ScoreTable) -> tuple[list[np.ndarray], list[np.ndarray]]:
    return [c.positive for c in table.counts], [c.negative for c in table.counts]


def _rescored(sample: Sample, view: View) -> Sample:
    """Count a sample again with the scores of a view."""

    def again(table: ScoreTable) -> ScoreTable:
        counts = [GroupCounts(c.score, c.positive, c.negative).rescored(s) for c, s in zip(table.counts, view)]
        return ScoreTable(table.groups, tuple(counts), table.labelled)

    return Sample(again(sample.table), None if sample.squares is None else again(sample.squares))
