"""The top-alpha region: shares and rates whose threshold is itself estimated."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.special import ndtri

from fairpot._arguments import argument
from fairpot._defaults import Region
from fairpot.counts import GroupCounts, Indices
from fairpot.inference.limits import Estimate, wilson
from fairpot.inference.shares import (
    FEWEST,
    Cut,
    Influence,
    Kernel,
    Pairs,
    ShareEstimates,
    View,
    clustered_covariance,
    independent_covariance,
    independent_units,
    influences,
    placements,
    small_sample_factor,
)
from fairpot.table import ScoreTable
from fairpot.transport import Floats


def estimate_region(
    table: ScoreTable, pairs: Sequence[Pairs], kernel: Kernel, alpha: float, region: Region
) -> ShareEstimates:
    """Estimate shares inside the top-alpha region with their covariance, the threshold's error included."""
    top = table.top(alpha, region)
    found = influences(top, pairs, kernel)
    cuts = threshold_cuts(table, top, pairs, found, kernel, alpha, region)
    if table.clusters is not None:
        assert top.clusters is not None
        return clustered_covariance(found, top.clusters, cuts, table.clusters)
    units = independent_units(top, pairs, 1)
    base = independent_covariance(found, top, units)
    covariance = base.covariance + sum(_threshold_part(table, top, found, units, cut) for cut in cuts)
    return ShareEstimates(base.value, covariance, base.variance, base.units)


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
    table: ScoreTable,
    top: ScoreTable,
    pairs: Sequence[Pairs],
    found: Influence,
    kernel: Kernel,
    alpha: float,
    region: Region,
) -> list[Cut]:
    """Find each estimated threshold, and how far it moves the shares."""
    everyone = tuple(range(len(table.groups)))
    cut_groups = [everyone] if region == "pooled" else [(g,) for g in everyone]
    result = []
    for groups, threshold in zip(cut_groups, _levels(table, alpha, region)):
        total = sum(float(table.counts[g].weight.sum()) for g in groups)
        above = sum(float(top.counts[g].weight.sum()) for g in groups)
        if above >= total:
            continue  # everybody is in the region: there is no threshold to miss
        window = near_cut(table, groups, threshold, above, total)
        kappa = np.array(
            [_kappa(top, pair, k, groups, threshold, window, found, kernel) for k, pair in enumerate(pairs)]
        )
        first = tuple(int(np.searchsorted(c.score, threshold)) for c in table.counts)
        result.append(Cut(groups, first, above, total, kappa * total))
    return result


class Window(NamedTuple):
    """Shares of the cells among the rows near a cut."""

    positive: Floats
    negative: Floats


def near_cut(table: ScoreTable, groups: tuple[int, ...], threshold: float, above: float, total: float) -> Window:
    """Count the cells among the rows nearest to the cut, equally many on both sides."""
    square = sum(float(table.squared(g, side).sum()) for g in groups for side in (True, False))
    rows = total**2 / square
    reach = min(0.5 * rows**0.7 * total / rows, above, total - above)
    merged = table.only([table.groups[g] for g in groups]).pooled()
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


def _threshold_part(
    table: ScoreTable, top: ScoreTable, found: Influence, units: tuple[Floats, Floats], cut: Cut
) -> Floats:
    """Add the threshold's own variance, and what it shares with the rows in the region."""
    inside = outside = 0.0
    for g in cut.groups:
        for positive in (True, False):
            kept = float(top.squared(g, positive).sum())
            inside += kept
            outside += float(table.squared(g, positive).sum()) - kept
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


def estimate_region_views(
    table: ScoreTable, pairs: Sequence[Pairs], kernel: Kernel, alpha: float, region: Region, views: Sequence[View]
) -> ShareEstimates:
    """Estimate shares inside the region of each view, with the covariance between all of them.

    Share k of view v stands at place ``v * len(pairs) + k``. In every view the region is found again, and what each
    row adds through its threshold is part of the row's influence.
    """
    if table.clusters is not None:
        raise ValueError(
            "curves of a top-alpha region take rows as independent; clusters have no place in them yet.\n"
            f"Hint: leave out {argument('alpha')} or {argument('clusters')}."
        )
    entries = [(np.flatnonzero(c.positive > 0), np.flatnonzero(c.negative > 0)) for c in table.counts]
    size = len(views) * len(pairs)
    rows = [[np.zeros((size, len(places[side]))) for places in entries] for side in range(2)]
    parts = []
    for v, view in enumerate(views):
        own = slice(v * len(pairs), (v + 1) * len(pairs))
        parts.append(_add_view(table, pairs, kernel, alpha, region, view, entries, rows, own))
    covariance = np.zeros((size, size))
    for side in range(2):
        for g, places in enumerate(entries):
            square = table.squared(g, side == 0)[places[side]].astype(np.float64)
            covariance += (rows[side][g] * square) @ rows[side][g].T
    value = np.concatenate([part.value for part in parts])
    variance = [np.concatenate([part.variance[side] for part in parts]) for side in range(2)]
    units = [np.concatenate([part.units[side] for part in parts]) for side in range(2)]
    return ShareEstimates(value, covariance, (variance[0], variance[1]), (units[0], units[1]))


def _add_view(
    table: ScoreTable,
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
    moved = table.viewed(view)
    top = moved.top(alpha, region)
    found = influences(top, pairs, kernel)
    units = independent_units(top, pairs, 1)
    cuts = threshold_cuts(moved, top, pairs, found, kernel, alpha, region)
    levels = moved.thresholds(alpha, region)
    inside = [scores >= levels[g] for g, scores in zip(table.groups, view)]
    weights = [[np.where(i, w, 0) for i, w in zip(inside, side)] for side in _sides(table)]
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


class TopRate(NamedTuple):
    """Which rate: of all rows or of one group, in which region."""

    metric: str
    alpha: float
    region: Region
    group: int | None


def top_rate_interval(table: ScoreTable, asked: TopRate, level: float) -> Estimate:
    """Compute recall or precision of the top alpha with its interval."""
    value, total = _counted(table, asked)
    if not total > 0:
        return Estimate(asked.metric, np.nan, np.nan, np.nan, np.nan, level, reason="there is nothing to count")
    rows = _influences(table, asked, value, total)
    variance, units = _spread(table, asked, rows, total)
    factor = units / (units - 1) if units > 1 else np.nan
    se = float(np.sqrt(variance * factor))
    if units < FEWEST - 1e-9:
        what = "positives" if asked.metric == "top_recall" else f"rows in the top {asked.alpha:g}"
        reason = f"there are {units:.3g} {what}, and with fewer than {FEWEST} no interval is honest"
        return Estimate(asked.metric, value, se, np.nan, np.nan, level, reason=reason)
    size = min(value * (1 - value) / variance, 1e300) if variance > 0 else units
    low, high = wilson(value, size, -float(ndtri((1 - level) / 2)))
    return Estimate(asked.metric, value, se, low, high, level)


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


def _influences(table: ScoreTable, asked: TopRate, value: float, total: float) -> list[tuple[Floats, Floats]]:
    """Give what a positive and what a negative at each entry of each group adds to the error."""
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
        _add_threshold(table, asked, groups, inside, value, total, rows)
    return rows


def _add_threshold(
    table: ScoreTable,
    asked: TopRate,
    groups: tuple[int, ...],
    inside: list[np.ndarray],
    value: float,
    total: float,
    rows: list[tuple[Floats, Floats]],
) -> None:
    """Add what rows do through a threshold: a higher one loses the rows near it."""
    all_rows = sum(float(table.counts[g].weight.sum()) for g in groups)
    above = sum(float(table.counts[g].weight[inside[g]].sum()) for g in groups)
    if above >= all_rows:
        return
    level = table.thresholds(asked.alpha, asked.region)[table.groups[groups[0]]]
    window = near_cut(table, groups, level, above, all_rows)
    own = [g for g in _groups(table, asked) if g in groups]
    positives = sum(window.positive[g] for g in own)
    everyone = positives + sum(window.negative[g] for g in own)
    lost = -positives if asked.metric == "top_recall" else everyone * value - positives
    kappa = lost * all_rows / total
    share = above / all_rows
    for g in groups:
        added = kappa * (inside[g] - share) / all_rows
        rows[g] = (rows[g][0] + added, rows[g][1] + added)


def _spread(table: ScoreTable, asked: TopRate, rows: list[tuple[Floats, Floats]], total: float) -> tuple[float, float]:
    """Sum the squares of rows, or of clusters; count the units that the rate is a share of."""
    own, recall = _groups(table, asked), asked.metric == "top_recall"
    top = table.thresholds(asked.alpha, asked.region)
    clusters = table.clusters
    if clusters is None:
        variance = square = 0.0
        for g, sides in enumerate(rows):
            up = table.counts[g].score >= top[table.groups[g]]
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
            counted[mine] &= table.counts[g].score[entry] >= top[table.groups[g]]
    sums = np.bincount(clusters.unit, weights=clusters.weight * value, minlength=clusters.size)
    return float(np.sum(sums**2)), float(len(np.unique(clusters.unit[counted])))
