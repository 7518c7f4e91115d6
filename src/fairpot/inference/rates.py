"""Rates at a threshold, by group: who is flagged, of those with and without the outcome."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from fairpot._validation import is_number
from fairpot.inference.checks import check_level
from fairpot.inference.placements import Floats
from fairpot.inference.refusal import FEWEST
from fairpot.inference.result import Interval
from fairpot.inference.sample import Sample
from fairpot.table import ScoreTable


@dataclass(frozen=True)
class Rates:
    """Rates of one group at a threshold: flagged is a score at or above it.

    ``tpr``: of the positives; ``fpr``: of the negatives; ``flagged``: of all; ``ppv``: positives among the flagged.
    """

    group: Hashable
    threshold: float
    tpr: Interval
    fpr: Interval
    ppv: Interval
    flagged: Interval


def rates_at(table: ScoreTable | Sample, threshold: float, *, level: float = 0.95) -> list[Rates]:
    """Compute the rates of every group at a threshold, each with Wilson's interval.

    Parameters
    ----------
    table : ScoreTable or Sample
        With labels; a sample with clusters adds up their rows before squaring.
    threshold : float
        Scores at or above it are flagged.
    level : float, default 0.95

    Returns
    -------
    list of Rates

    Examples
    --------
    >>> from fairpot.metrics import score_table
    >>> table = score_table([0, 1] * 10, range(20), sensitive_features=["F"] * 10 + ["M"] * 10)
    >>> print(rates_at(table, 8.0)[0].flagged)
    0.2000 (95% interval 0.0567 to 0.5098)
    """
    if not is_number(threshold) or not np.isfinite(float(threshold)):
        raise ValueError(f"threshold must be a finite number, got {threshold!r}.")
    check_level(level)
    sample = Sample.of(table)
    return [_rates(sample, g, float(threshold), level) for g in range(len(sample.table.groups))]


def _rates(sample: Sample, group: int, threshold: float, level: float) -> Rates:
    counts = sample.table.counts[group]
    first = int(np.searchsorted(counts.score, threshold))
    size = len(counts.score)
    up = np.arange(size) >= first
    one, none = np.ones(size, dtype=bool), np.zeros(size, dtype=bool)
    name = sample.table.groups[group]

    def rate(
        metric: str, what: str, among: tuple[np.ndarray, np.ndarray], hits: tuple[np.ndarray, np.ndarray]
    ) -> Interval:
        return _share(sample, group, metric, among, hits, level, f"group {name!r} has {{}} {what}")

    return Rates(
        name,
        threshold,
        rate("tpr", "positives", (one, none), (up, none)),
        rate("fpr", "negatives", (none, one), (none, up)),
        rate("ppv", "flagged rows", (up, up), (up, none)),
        rate("flagged", "rows", (one, one), (up, up)),
    )


def _share(
    sample: Sample,
    group: int,
    metric: str,
    among: tuple[np.ndarray, np.ndarray],
    hits: tuple[np.ndarray, np.ndarray],
    level: float,
    said: str,
) -> Interval:
    """Compute a share of rows, its standard error from squared weights or clusters, and Wilson's interval."""
    counts = sample.table.counts[group]
    weights = [c.astype(np.float64) for c in (counts.positive, counts.negative)]
    total = sum(float(w[a].sum()) for w, a in zip(weights, among))
    if total == 0:
        return Interval(metric, np.nan, np.nan, np.nan, np.nan, level, reason=said.format("no"))
    value = sum(float(w[h].sum()) for w, h in zip(weights, hits)) / total
    variance, units = _spread(sample, group, among, hits, value, total)
    se = float(np.sqrt(variance * units / (units - 1))) if units > 1 else np.nan
    if units < FEWEST - 1e-9:
        reason = said.format(f"{units:.3g}") + f", and with fewer than {FEWEST} no interval is honest"
        return Interval(metric, value, se, np.nan, np.nan, level, reason=reason)
    size = min(value * (1 - value) / variance, 1e300) if variance > 0 else units
    low, high = wilson(value, size, -float(ndtri((1 - level) / 2)))
    return Interval(metric, value, se, low, high, level)


def _spread(
    sample: Sample,
    group: int,
    among: tuple[np.ndarray, np.ndarray],
    hits: tuple[np.ndarray, np.ndarray],
    value: float,
    total: float,
) -> tuple[float, float]:
    """Sum the squares of what rows, or clusters, add to the error of a share; count independent units."""
    errors: list[Floats] = [np.where(a, h - value, 0.0) / total for a, h in zip(among, hits)]
    clusters = sample.clusters
    if clusters is None:
        squares = [sample.squared(group, positive).astype(np.float64) for positive in (True, False)]
        square = sum(float(q[a].sum()) for q, a in zip(squares, among))
        return sum(float(q @ e**2) for q, e in zip(squares, errors)), total**2 / square
    own = np.flatnonzero(clusters.group == group)
    entry, side = clusters.entry[own], np.where(clusters.positive[own], 0, 1)
    counted = np.where(side == 0, among[0][entry], among[1][entry])
    error = np.where(side == 0, errors[0][entry], errors[1][entry])
    sums = np.bincount(clusters.unit[own], weights=clusters.weight[own] * error, minlength=clusters.size)
    return float(np.sum(sums**2)), float(len(np.unique(clusters.unit[own][counted])))


def wilson(share: float, size: float, quantile: float) -> tuple[float, float]:
    """Compute Wilson's interval of a share of so many rows."""
    extra = quantile**2 / size
    centre = (share + extra / 2) / (1 + extra)
    half = float(np.sqrt(extra * share * (1 - share) + extra**2 / 4)) / (1 + extra)
    return max(centre - half, 0.0), min(centre + half, 1.0)
