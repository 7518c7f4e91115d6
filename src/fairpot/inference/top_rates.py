"""Recall and precision of the top alpha, whose threshold is itself estimated."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.special import ndtri

from fairpot._defaults import Region
from fairpot.inference.candidates import Population, TooMany, open_note, populations, regions
from fairpot.inference.limits import Estimate, wilson
from fairpot.inference.region import levels_at, near_cut, own_levels
from fairpot.inference.shares import FEWEST
from fairpot.table import ScoreTable
from fairpot.transport import Floats

Levels = Sequence[float]


class TopRate(NamedTuple):
    """Which rate: of all rows or of one group, in which region."""

    metric: str
    alpha: float
    region: Region
    group: int | None


def top_rate_interval(table: ScoreTable, asked: TopRate, level: float) -> Estimate:
    """Compute recall or precision of the top alpha with its interval.

    Where many rows share the score at the cut, the limits hold for every region that the rows leave open.
    """
    found = populations(table, asked.alpha, asked.region)
    own = _groups(table, asked)
    counted = [p for p in found if set(own).intersection(p.groups)]
    smooth = [p for p in counted if not p.coarse]
    estimate = _at_levels(table, asked, own_levels(found), smooth, (1 - level) / 2, level)
    if estimate.reason is not None or len(smooth) == len(counted):
        return estimate
    # Half of each tail for thresholds that are not looked at, half for the limits at those that are.
    tail = (1 - level) / 4
    try:
        sets = regions(counted, 2 * tail / len(counted))
    except TooMany as error:
        return _refused(estimate, str(error))
    each = [
        _at_levels(table, asked, levels_at(found, counted, places), smooth, tail, level)
        for places in itertools.product(*sets)
    ]
    refused = next((e.reason for e in each if e.reason is not None), None)
    if refused is not None:
        return _refused(estimate, refused)
    note = open_note(counted)
    low, high = min(e.low for e in each), max(e.high for e in each)
    return Estimate(asked.metric, estimate.value, estimate.se, low, high, level, note=note)


def _refused(estimate: Estimate, reason: str) -> Estimate:
    return Estimate(estimate.metric, estimate.value, estimate.se, np.nan, np.nan, estimate.level, reason=reason)


def _at_levels(
    table: ScoreTable, asked: TopRate, levels: Levels, smooth: Sequence[Population], tail: float, level: float
) -> Estimate:
    """Compute the rate above thresholds, with the errors of those that are smooth."""
    value, total = _counted(table, asked, levels)
    if not total > 0:
        return Estimate(asked.metric, np.nan, np.nan, np.nan, np.nan, level, reason="there is nothing to count")
    rows = _influences(table, asked, levels, smooth, value, total)
    variance, units = _spread(table, asked, levels, rows, total)
    factor = units / (units - 1) if units > 1 else np.nan
    se = float(np.sqrt(variance * factor))
    if units < FEWEST - 1e-9:
        what = "rows with the outcome" if asked.metric == "top_recall" else f"rows in the top {asked.alpha:g}"
        reason = f"there are {units:.3g} {what}, and with fewer than {FEWEST} there is no interval"
        return Estimate(asked.metric, value, se, np.nan, np.nan, level, reason=reason)
    spread = value * (1 - value)  # of a rate of 0 or 1 by round-off alone, where all rows are alike
    size = min(spread / variance, 1e300) if variance > 0 and spread > 1e-12 else units
    low, high = wilson(value, size, -float(ndtri(tail)))
    return Estimate(asked.metric, value, se, low, high, level)


def _groups(table: ScoreTable, asked: TopRate) -> list[int]:
    return list(range(len(table.groups))) if asked.group is None else [asked.group]


def _counted(table: ScoreTable, asked: TopRate, levels: Levels) -> tuple[float, float]:
    """Give the rate and the weight that it is a share of."""
    top = table.above(dict(zip(table.groups, levels)))
    own = _groups(table, asked)
    found = sum(float(top.counts[g].positive.sum()) for g in own)
    if asked.metric == "top_recall":  # those below are added apart: where there are none, the recall is exactly 1
        below = [np.searchsorted(table.counts[g].score, levels[g]) for g in own]
        total = found + sum(float(table.counts[g].positive[:k].sum()) for g, k in zip(own, below))
    else:
        total = sum(float(top.counts[g].weight.sum()) for g in own)
    return (found / total if total > 0 else np.nan), total


def _influences(
    table: ScoreTable, asked: TopRate, levels: Levels, smooth: Sequence[Population], value: float, total: float
) -> list[tuple[Floats, Floats]]:
    """Give what a positive and what a negative at each entry of each group adds to the error."""
    inside = [c.score >= level for level, c in zip(levels, table.counts)]
    own = _groups(table, asked)
    rows: list[tuple[Floats, Floats]] = []
    for g, up in enumerate(inside):
        counted = float(g in own)
        plus: Any
        minus: Any
        if asked.metric == "top_recall":
            plus, minus = counted * (up - value) / total, np.zeros(len(up))
        else:
            plus, minus = counted * up * (1 - value) / total, counted * up * -value / total
        rows.append((np.asarray(plus, dtype=np.float64), np.asarray(minus, dtype=np.float64)))
    for population in smooth:
        _add_threshold(table, asked, population, inside, value, total, rows)
    return rows


def _add_threshold(
    table: ScoreTable,
    asked: TopRate,
    population: Population,
    inside: list[np.ndarray],
    value: float,
    total: float,
    rows: list[tuple[Floats, Floats]],
) -> None:
    """Add what rows do through a threshold: a higher one loses the rows near it."""
    groups = population.groups
    all_rows = sum(float(table.counts[g].weight.sum()) for g in groups)
    above = sum(float(table.counts[g].weight[inside[g]].sum()) for g in groups)
    if above >= all_rows:
        return
    window = near_cut(table, population, above, all_rows)
    own = [g for g in _groups(table, asked) if g in groups]
    positives = sum(window.positive[g] for g in own)
    everyone = positives + sum(window.negative[g] for g in own)
    lost = -positives if asked.metric == "top_recall" else everyone * value - positives
    kappa = lost * all_rows / total
    share = above / all_rows
    for g in groups:
        added = kappa * (inside[g] - share) / all_rows
        rows[g] = (rows[g][0] + added, rows[g][1] + added)


def _spread(
    table: ScoreTable, asked: TopRate, levels: Levels, rows: list[tuple[Floats, Floats]], total: float
) -> tuple[float, float]:
    """Sum the squares of rows, or of clusters; count the units that the rate is a share of."""
    own, recall = _groups(table, asked), asked.metric == "top_recall"
    clusters = table.clusters
    if clusters is None:
        variance = square = 0.0
        for g, sides in enumerate(rows):
            up = table.counts[g].score >= levels[g]
            for side, r in enumerate(sides):
                q = table.squared(g, side == 0).astype(np.float64)
                variance += float(q @ r**2)
                if g in own and (side == 0 or not recall):
                    square += float(q.sum() if recall else q[up].sum())
        return variance, total**2 / square
    value = np.empty(len(clusters.unit))
    counted = np.isin(clusters.group, own) & (clusters.positive if recall else True)
    for g, (plus, minus) in enumerate(rows):
        mine = clusters.group == g
        entry = clusters.entry[mine]
        value[mine] = np.where(clusters.positive[mine], plus[entry], minus[entry])
        if not recall:
            counted[mine] &= table.counts[g].score[entry] >= levels[g]
    sums = np.bincount(clusters.unit, weights=clusters.weight * value, minlength=clusters.size)
    return float(np.sum(sums**2)), float(len(np.unique(clusters.unit[counted])))
