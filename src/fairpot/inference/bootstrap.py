"""Bootstrap of the table: counts drawn again, which is the same as drawing rows again."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from fairpot._defaults import Region
from fairpot.inference.limits import Estimate
from fairpot.inference.shares import Kernel, Pairs
from fairpot.metrics import METRICS
from fairpot.metrics.wins import WinMatrix
from fairpot.splitting import weighted_rows
from fairpot.table import ScoreTable
from fairpot.transport import Floats


def resample(table: ScoreTable, replicates: int, seed: int) -> Iterator[ScoreTable]:
    """Draw tables as if their rows had been drawn again: multinomial counts, or whole clusters.

    Importance weights are drawn from gamma laws with the mean and the variance that drawing their rows has.
    """
    rng = np.random.default_rng(seed)
    for _ in range(replicates):
        if table.clusters is not None:
            yield _drawn_clusters(table, rng)
        elif table.importance:
            yield _drawn_weights(table, rng)
        else:
            yield _drawn_counts(table, rng)


def _drawn_counts(table: ScoreTable, rng: np.random.Generator) -> ScoreTable:
    weights = np.concatenate([part for c in table.counts for part in (c.positive, c.negative)]).astype(np.float64)
    drawn = rng.multinomial(max(round(float(weights.sum())), 1), weights / weights.sum())
    return _with_counts(table, drawn)


def _drawn_weights(table: ScoreTable, rng: np.random.Generator) -> ScoreTable:
    places = [(g, side) for g in range(len(table.groups)) for side in (True, False)]
    mean = np.concatenate([_weights(table, g, side) for g, side in places])
    square = np.concatenate([table.squared(g, side) for g, side in places]).astype(np.float64)
    there = mean > 0
    drawn = np.zeros(len(mean))
    drawn[there] = rng.gamma(mean[there] ** 2 / square[there], square[there] / mean[there])
    return _with_counts(table, drawn)


def _drawn_clusters(table: ScoreTable, rng: np.random.Generator) -> ScoreTable:
    clusters = table.clusters
    assert clusters is not None
    times = rng.multinomial(clusters.size, np.full(clusters.size, 1 / clusters.size))[clusters.unit]
    parts = []
    for g, counts in enumerate(table.counts):
        for side in (True, False):
            rows = np.flatnonzero((clusters.group == g) & (clusters.positive == side))
            parts.append(
                np.bincount(clusters.entry[rows], weights=(clusters.weight * times)[rows], minlength=len(counts.score))
            )
    return _with_counts(table, np.concatenate(parts))


def _weights(table: ScoreTable, group: int, positive: bool) -> Floats:
    counts = table.counts[group]
    return (counts.positive if positive else counts.negative).astype(np.float64)


def _with_counts(table: ScoreTable, drawn: np.ndarray) -> ScoreTable:
    """Put drawn weights, positives and then negatives of each group, in the place of the table's."""
    counts, place = [], 0
    for c in table.counts:
        size = len(c.score)
        counts.append((drawn[place : place + size], drawn[place + size : place + 2 * size]))
        place += 2 * size
    return table.weighing(counts)


def shares_of(
    pairs: Sequence[Pairs], kernel: Kernel, alpha: float | None = None, region: Region = "pooled"
) -> Callable[[ScoreTable], Floats]:
    """Return the function that reads shares off a table, NaN where there are no pairs."""

    def read(table: ScoreTable) -> Floats:
        top = table if alpha is None else table.top(alpha, region)
        wins = _won(top, kernel)
        p, n = top.positives.astype(np.float64), top.negatives.astype(np.float64)
        won, count = np.empty(len(pairs)), np.empty(len(pairs))
        for k, (winners, losers) in enumerate(pairs):
            won[k] = wins[np.ix_(winners, losers)].sum()
            count[k] = p[list(winners)].sum() * n[list(losers)].sum()
        return np.divide(won, count, out=np.full(len(pairs), np.nan), where=count > 0)

    return read


def _won(table: ScoreTable, kernel: Kernel) -> Floats:
    if kernel == "equal":
        return _tied(table)
    return np.asarray(WinMatrix.of(table, kernel).half_wins / 2)


def _tied(table: ScoreTable) -> Floats:
    scores = np.unique(np.concatenate([c.score for c in table.counts]))
    spread = np.zeros((2, len(table.groups), len(scores)))
    for g, c in enumerate(table.counts):
        at = np.searchsorted(scores, c.score)
        spread[0, g, at], spread[1, g, at] = c.positive, c.negative
    return spread[0] @ spread[1].T


def bootstrap_shares(
    table: ScoreTable, read: Callable[[ScoreTable], Floats], replicates: int, seed: int
) -> tuple[Floats, int]:
    """Draw shares; return those that are defined, one row a draw, and how many were not."""
    drawn = np.array([read(again) for again in resample(table, replicates, seed)])
    defined = ~np.isnan(drawn).any(axis=1)
    return drawn[defined], int((~defined).sum())


def drawn_interval(
    metric: str, table: ScoreTable, given: dict[str, Any], level: float, replicates: int, seed: int
) -> Estimate:
    """Compute a metric of the registry on the table and on tables drawn again; limits are percentiles."""
    read = _reader(metric, given)
    [value] = read(table)
    drawn, _ = bootstrap_shares(table, read, replicates, seed)
    low, high = np.quantile(drawn[:, 0], [(1 - level) / 2, (1 + level) / 2])
    se = float(drawn.std(ddof=1))
    return Estimate(metric, float(value), se, float(low), float(high), level, "bootstrap")


def _reader(metric: str, given: dict[str, Any]) -> Callable[[ScoreTable], Floats]:
    """Return the function that calls the metric with the rows that a table stands for."""
    from fairpot.exceptions import UndefinedMetricWarning  # a kind of scikit-learn's, which takes a while to load

    needs = METRICS[metric].needs

    def read(table: ScoreTable) -> Floats:
        rows = weighted_rows(table)
        named = {name: given[name] for name in needs if name != "sensitive_features"}
        if "sensitive_features" in needs:
            named["sensitive_features"] = rows.groups
        if METRICS[metric].has_ties:
            named["ties"] = given["ties"]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UndefinedMetricWarning)
            return np.array([METRICS[metric].function(rows.y, rows.scores, sample_weight=rows.weight, **named)])

    return read
