"""Shares of rows with Wilson's interval: rates at a threshold, and recall and precision of an estimated top."""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import ndtri

from fairpot._defaults import LEVEL, Region
from fairpot._docs import documented
from fairpot._validation import check_group_name, check_level, is_number
from fairpot.counts import Counts, GroupCounts, count_units
from fairpot.inference.candidates import Population, TooMany, open_note, populations, regions
from fairpot.inference.limits import Estimate, wilson
from fairpot.inference.region import levels_at, near_cut, own_levels
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
    """Compute the rates of one group, or of all rows (None), at a threshold, each with Wilson's interval."""
    if not is_number(threshold) or not np.isfinite(float(threshold)):
        raise ValueError(f"threshold must be a finite number, got {threshold!r}.")
    tail = (1 - check_level(level)) / 2
    own = table.counts if group is None else (table[check_group_name(group, table.groups, "group")],)
    found = _Cells.of(own, [float(threshold)] * len(own))
    has = f"group {'all' if group is None else group!r} has"
    rates = {metric: _rate(found, metric, asked, has, tail, level) for metric, asked in _RATES.items()}
    (missed, hit), (left, wrong) = found.weight.sum(axis=0).tolist()
    return Rates(group, float(threshold), **rates, counts=Flags(missed + hit, left + wrong, hit, wrong))


class _Cells(NamedTuple):
    """Weights and squared weights by group, outcome (with it first) and flag (not flagged first)."""

    weight: Counts
    square: Floats
    rows: tuple[tuple[Counts, Counts, Counts], ...]  # of clusters: unit, weight and cell of each row

    @classmethod
    def of(cls, counts: Sequence[GroupCounts], levels: Sequence[float]) -> _Cells:
        first = [int(np.searchsorted(c.score, level)) for c, level in zip(counts, levels)]
        weight = [[_parted(side, k) for side in (c.positive, c.negative)] for c, k in zip(counts, first)]
        square = [[_parted(c.squared(side), k) for side in (True, False)] for c, k in zip(counts, first)]
        rows = tuple(
            (member.unit, member.weight, 4 * g + 2 * side + (member.entry >= first[g]))
            for g, c in enumerate(counts)
            for side, member in enumerate(c.members or ())
        )
        return cls(np.array(weight), np.array(square, dtype=np.float64), rows)


def _parted(column: Counts, first: int) -> tuple[Counts, Counts]:
    return column[:first].sum(), column[first:].sum()


class _Question(NamedTuple):
    """Which of the cells, outcome x flagged, a rate is a share of, which are counted, and what the first are."""

    among: Counts
    hits: Counts
    what: str


_RATES = {
    "tpr": _Question(np.array([[1, 1], [0, 0]]), np.array([[0, 1], [0, 0]]), "rows with the outcome"),
    "fpr": _Question(np.array([[0, 0], [1, 1]]), np.array([[0, 0], [0, 1]]), "rows without the outcome"),
    "ppv": _Question(np.array([[0, 1], [0, 1]]), np.array([[0, 1], [0, 0]]), "flagged rows"),
    "flagged": _Question(np.array([[1, 1], [1, 1]]), np.array([[0, 1], [0, 1]]), "rows"),
}


def _rate(
    found: _Cells,
    metric: str,
    asked: _Question,
    has: str,
    tail: float,
    level: float,
    cuts: tuple[ScoreTable, Sequence[Population]] | None = None,
) -> Estimate:
    """Compute a share of rows, its standard error from squared weights or clusters, and Wilson's interval.

    The rows that count and those that do not are summed apart: where nobody is among the latter the share is exactly 1.
    ``cuts``: a table, and those of its thresholds that are smooth, whose errors are added.
    """
    among = np.broadcast_to(asked.among, found.weight.shape)
    total = float((found.weight * among).sum())
    if total == 0:
        return Estimate(metric, np.nan, level=level, reason=f"{has} no {asked.what}")
    value = float((found.weight * asked.hits).sum()) / total
    error = (asked.hits - value) * among / total
    if cuts is not None:
        error = error + _through_cuts(found, error, *cuts)
    variance, units = _spread(found, among, error, total)
    se = float(np.sqrt(variance * units / (units - 1))) if units > 1 else np.nan
    if units < FEWEST - 1e-9:
        reason = f"{has} {units:.3g} {asked.what}, and with fewer than {FEWEST} there is no interval"
        return Estimate(metric, value, se, level=level, reason=reason)
    spread = value * (1 - value)  # of a rate of 0 or 1 by round-off alone, where all rows are alike
    size = min(spread / variance, 1e300) if variance > 0 and spread > 1e-12 else units
    low, high = wilson(value, size, -float(ndtri(tail)))
    return Estimate(metric, value, se, low, high, level)


def _through_cuts(found: _Cells, error: Floats, table: ScoreTable, smooth: Sequence[Population]) -> Floats:
    """Compute what rows add through their thresholds: a higher one loses the rows near it."""
    added = np.zeros(error.shape)
    for population in smooth:
        groups = list(population.groups)
        below, above = (float(found.weight[groups, :, flag].sum()) for flag in range(2))
        if below == 0:
            continue  # everybody is in the top: there is no threshold to miss
        total = below + above
        window = np.stack(near_cut(table, population, above, total), axis=1)
        kappa = float((window * (error[:, :, 0] - error[:, :, 1])).sum())
        added[groups] += kappa * (np.arange(2) - above / total)
    return added


def _spread(found: _Cells, among: Counts, error: Floats, total: float) -> tuple[float, float]:
    """Sum the squares of what rows, or clusters, add to the error of a share; count independent units."""
    if not found.rows:
        return float((found.square * error**2).sum()), total**2 / float((found.square * among).sum())
    unit, weight, cell = (np.concatenate(column) for column in zip(*found.rows))
    sums = np.bincount(unit, weights=weight * error.ravel()[cell])
    return float(np.sum(sums**2)), float(count_units(unit[among.ravel()[cell] > 0]))


class TopRate(NamedTuple):
    """Which rate of a top: "top_recall" or "top_precision", of all rows or of one group, in which region."""

    metric: str
    alpha: float
    region: Region
    group: int | None


def top_rate_interval(table: ScoreTable, asked: TopRate, level: float) -> Estimate:
    """Compute recall or precision of the top alpha with its interval.

    Where many rows share the score at the cut, the limits hold for every region that the rows leave open.
    """
    found = populations(table, asked.alpha, asked.region)
    own = range(len(table.groups)) if asked.group is None else (asked.group,)
    counted = [p for p in found if set(own).intersection(p.groups)]
    smooth = [p for p in counted if not p.coarse]
    among, hits, what = _RATES["tpr" if asked.metric == "top_recall" else "ppv"]
    taking = np.isin(np.arange(len(table.groups)), own)[:, None, None]
    what = what if asked.metric == "top_recall" else f"rows in the top {asked.alpha:g}"
    question = _Question(among * taking, hits * taking, what)

    def above(levels: Sequence[float], tail: float) -> Estimate:
        cells = _Cells.of(table.counts, levels)
        return _rate(cells, asked.metric, question, "there are", tail, level, (table, smooth))

    estimate = above(own_levels(found), (1 - level) / 2)
    if estimate.reason is not None or len(smooth) == len(counted):
        return estimate
    # Half of each tail for thresholds that are not looked at, half for the limits at those that are.
    tail = (1 - level) / 4
    try:
        sets = regions(counted, 2 * tail / len(counted))
        each = [above(levels_at(found, counted, places), tail) for places in itertools.product(*sets)]
        refused = next((e.reason for e in each if e.reason is not None), None)
    except TooMany as error:
        each, refused = [], str(error)
    if refused is not None:
        return Estimate(asked.metric, estimate.value, estimate.se, level=level, reason=refused)
    low, high = min(e.low for e in each), max(e.high for e in each)
    return Estimate(asked.metric, estimate.value, estimate.se, low, high, level, note=open_note(counted))
