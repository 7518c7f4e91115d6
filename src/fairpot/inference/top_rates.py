"""Recall and precision of the top alpha, whose threshold is itself estimated."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.special import ndtri

from fairpot.inference.placements import Floats
from fairpot.inference.rates import wilson
from fairpot.inference.refusal import FEWEST
from fairpot.inference.region import near_cut
from fairpot.inference.result import Interval
from fairpot.inference.sample import Sample
from fairpot.table import Region, ScoreTable


class TopRate(NamedTuple):
    """Which rate: of all rows or of one group, in which region."""

    metric: str
    alpha: float
    region: Region
    group: int | None


def top_rate_interval(sample: Sample, asked: TopRate, level: float) -> Interval:
    """Compute recall or precision of the top alpha with its interval."""
    table = sample.table
    value, total = _counted(table, asked)
    if not total > 0:
        return Interval(asked.metric, np.nan, np.nan, np.nan, np.nan, level, reason="there is nothing to count")
    rows = _influences(sample, asked, value, total)
    variance, units = _spread(sample, asked, rows, total)
    factor = units / (units - 1) if units > 1 else np.nan
    se = float(np.sqrt(variance * factor))
    if units < FEWEST - 1e-9:
        what = "positives" if asked.metric == "top_recall" else f"rows in the top {asked.alpha:g}"
        reason = f"there are {units:.3g} {what}, and with fewer than {FEWEST} no interval is honest"
        return Interval(asked.metric, value, se, np.nan, np.nan, level, reason=reason)
    size = min(value * (1 - value) / variance, 1e300) if variance > 0 else units
    low, high = wilson(value, size, -float(ndtri((1 - level) / 2)))
    return Interval(asked.metric, value, se, low, high, level)


def read_top_rate(asked: TopRate) -> Callable[[ScoreTable], Floats]:
    """Return the function that reads the rate off a table."""

    def read(table: ScoreTable) -> Floats:
        value, total = _counted(table, asked)
        return np.array([value if total > 0 else np.nan])

    return read


def _groups(table: ScoreTable, asked: TopRate) -> list[int]:
    return list(range(len(table.groups))) if asked.group is None else [asked.group]


def _counted(table: ScoreTable, asked: TopRate) -> tuple[float, float]:
    """Give the rate and the weight that it is a share of."""
    top = table.top(asked.alpha, asked.region)
    own = _groups(table, asked)
    found = sum(float(top.counts[g].positive.sum()) for g in own)
    if asked.metric == "top_recall":
        total = sum(float(table.counts[g].positive.sum()) for g in own)
    else:
        total = sum(float(top.counts[g].weight.sum()) for g in own)
    return (found / total if total > 0 else np.nan), total


def _influences(sample: Sample, asked: TopRate, value: float, total: float) -> list[tuple[Floats, Floats]]:
    """Give what a positive and what a negative at each entry of each group adds to the error."""
    table = sample.table
    levels = table.thresholds(asked.alpha, asked.region)
    inside = [c.score >= levels[g] for g, c in zip(table.groups, table.counts)]
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
    everyone = tuple(range(len(table.groups)))
    for groups in [everyone] if asked.region == "pooled" else [(g,) for g in own]:
        _add_threshold(sample, asked, groups, inside, value, total, rows)
    return rows


def _add_threshold(
    sample: Sample,
    asked: TopRate,
    groups: tuple[int, ...],
    inside: list[np.ndarray],
    value: float,
    total: float,
    rows: list[tuple[Floats, Floats]],
) -> None:
    """Add what rows do through a threshold: a higher one loses the rows near it."""
    table = sample.table
    all_rows = sum(float(table.counts[g].weight.sum()) for g in groups)
    above = sum(float(table.counts[g].weight[inside[g]].sum()) for g in groups)
    if above >= all_rows:
        return
    level = table.thresholds(asked.alpha, asked.region)[table.groups[groups[0]]]
    window = near_cut(sample, groups, level, above, all_rows)
    own = [g for g in _groups(table, asked) if g in groups]
    positives = sum(window.positive[g] for g in own)
    everyone = positives + sum(window.negative[g] for g in own)
    lost = -positives if asked.metric == "top_recall" else everyone * value - positives
    kappa = lost * all_rows / total
    share = above / all_rows
    for g in groups:
        added = kappa * (inside[g] - share) / all_rows
        rows[g] = (rows[g][0] + added, rows[g][1] + added)


def _spread(sample: Sample, asked: TopRate, rows: list[tuple[Floats, Floats]], total: float) -> tuple[float, float]:
    """Sum the squares of rows, or of clusters; count the units that the rate is a share of."""
    own, recall = _groups(sample.table, asked), asked.metric == "top_recall"
    top = sample.table.thresholds(asked.alpha, asked.region)
    clusters = sample.clusters
    if clusters is None:
        variance = square = 0.0
        for g, sides in enumerate(rows):
            up = sample.table.counts[g].score >= top[sample.table.groups[g]]
            for side, r in enumerate(sides):
                q = sample.squared(g, side == 0).astype(np.float64)
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
            counted[mine] &= sample.table.counts[g].score[entry] >= top[sample.table.groups[g]]
    sums = np.bincount(clusters.unit, weights=clusters.weight * value, minlength=clusters.size)
    return float(np.sum(sums**2)), float(len(np.unique(clusters.unit[counted])))
