"""Rates at a threshold with their intervals, from four sums: with and without the outcome, flagged and not."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import ndtri

from fairpot._defaults import LEVEL
from fairpot._docs import documented
from fairpot._validation import check_group_name, check_level, is_number
from fairpot.counts import Counts, GroupCounts, count_units
from fairpot.inference.limits import Estimate, wilson
from fairpot.inference.shares import FEWEST
from fairpot.table import ScoreTable
from fairpot.transport import Floats


class Flags(NamedTuple):
    """Weights of rows with and without the outcome, and of those among them that are flagged."""

    positives: float
    negatives: float
    flagged_positives: float
    flagged_negatives: float


@dataclass(frozen=True)
class Rates:
    """Hold the rates of one group at a threshold: flagged is a score at or above it.

    ``tpr``: of the positives; ``fpr``: of the negatives; ``flagged``: of all; ``ppv``: positives among the flagged.
    ``counts`` has the weights that they are shares of.
    """

    group: Hashable
    threshold: float
    tpr: Estimate
    fpr: Estimate
    ppv: Estimate
    flagged: Estimate
    counts: Flags


@documented
def rates_at(table: ScoreTable, threshold: float, *, level: float = LEVEL) -> list[Rates]:
    """Compute the rates of every group at a threshold, each with Wilson's interval.

    Parameters
    ----------
    table : ScoreTable
        With labels; a table with clusters adds up their rows before squaring.
    threshold : float
        Scores at or above it are flagged.
    {level}

    Examples
    --------
    >>> from fairpot import score_table
    >>> from fairpot.inference import rates_at
    >>> y, score, sex = [0, 1] * 10, range(20), ["F"] * 10 + ["M"] * 10
    >>> table = score_table(y, score, sensitive_features=sex)
    >>> print(rates_at(table, 8.0)[0].flagged)
    0.200 (95% interval 0.057 to 0.510)
    """
    return [rate_estimates(table, group, threshold, level=level) for group in table.groups]


def rate_estimates(table: ScoreTable, group: Hashable | None, threshold: float, *, level: float = LEVEL) -> Rates:
    """Compute the rates of one group, or of all rows, at a threshold, each with Wilson's interval.

    A table with clusters adds up their rows before squaring. ``group`` None takes all rows together.
    """
    if not is_number(threshold) or not np.isfinite(float(threshold)):
        raise ValueError(f"threshold must be a finite number, got {threshold!r}.")
    check_level(level)
    at = float(threshold)
    own = table.counts if group is None else (table[check_group_name(group, table.groups, "group")],)
    found = _Sums.of(own, at)
    has = f"group {'all' if group is None else group!r} has"
    rates = {metric: _rate(found, metric, level, has) for metric in _RATES}
    (missed, hit), (left, wrong) = found.weight.tolist()
    return Rates(group, at, **rates, counts=Flags(missed + hit, left + wrong, hit, wrong))


class _Question(NamedTuple):
    """Which of the four cells, outcome x flagged, a rate is a share of, which are counted, and what the first are."""

    among: list[list[int]]
    hits: list[list[int]]
    what: str


_RATES = {
    "tpr": _Question([[1, 1], [0, 0]], [[0, 1], [0, 0]], "rows with the outcome"),
    "fpr": _Question([[0, 0], [1, 1]], [[0, 0], [0, 1]], "rows without the outcome"),
    "ppv": _Question([[0, 1], [0, 1]], [[0, 1], [0, 0]], "flagged rows"),
    "flagged": _Question([[1, 1], [1, 1]], [[0, 1], [0, 1]], "rows"),
}


class _Sums(NamedTuple):
    """Weights and squared weights of the four cells: with the outcome first, not flagged first."""

    weight: Counts
    square: Floats
    rows: tuple[tuple[Counts, Counts, Counts], ...]  # of clusters: unit, weight and cell of each row, by cells

    @classmethod
    def of(cls, counts: Sequence[GroupCounts], threshold: float) -> _Sums:
        first = [int(np.searchsorted(c.score, threshold)) for c in counts]
        sides = [[(c.positive, c.negative) for c in counts], [(c.squared(True), c.squared(False)) for c in counts]]
        weight, square = (np.sum([_four(each, k) for each, k in zip(columns, first)], axis=0) for columns in sides)
        rows = tuple(
            (member.unit, member.weight, 2 * side + (member.entry >= k))
            for c, k in zip(counts, first)
            for side, member in enumerate(c.members or ())
        )
        return cls(weight, square.astype(np.float64), rows)


def _four(columns: tuple[Counts, Counts], first: int) -> Counts:
    """Sum positives and negatives before a place, and from it on."""
    return np.array([[column[:first].sum(), column[first:].sum()] for column in columns])


def _rate(found: _Sums, metric: str, level: float, has: str) -> Estimate:
    """Compute a share of rows, its standard error from squared weights or clusters, and Wilson's interval.

    The rows that count and those that do not are summed apart: where nobody is among the latter the share is exactly 1.
    """
    among, hits, what = _RATES[metric]
    total = float((found.weight * among).sum())
    if total == 0:
        return Estimate(metric, np.nan, level=level, reason=f"{has} no {what}")
    value = float((found.weight * hits).sum()) / total
    variance, units = _spread(found, np.array(among), (np.array(hits) - value) * among / total, total)
    se = float(np.sqrt(variance * units / (units - 1))) if units > 1 else np.nan
    if units < FEWEST - 1e-9:
        reason = f"{has} {units:.3g} {what}, and with fewer than {FEWEST} there is no interval"
        return Estimate(metric, value, se, level=level, reason=reason)
    size = min(value * (1 - value) / variance, 1e300) if variance > 0 else units
    low, high = wilson(value, size, -float(ndtri((1 - level) / 2)))
    return Estimate(metric, value, se, low, high, level)


def _spread(found: _Sums, among: Counts, error: Floats, total: float) -> tuple[float, float]:
    """Sum the squares of what rows, or clusters, add to the error of a share; count independent units."""
    if not found.rows:
        return float((found.square * error**2).sum()), total**2 / float((found.square * among).sum())
    unit, weight, cell = (np.concatenate(column) for column in zip(*found.rows))
    sums = np.bincount(unit, weights=weight * error.ravel()[cell])
    return float(np.sum(sums**2)), float(count_units(unit[among.ravel()[cell] > 0]))
