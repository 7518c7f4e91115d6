"""Rates with their intervals, by group and between groups: at a score, in a top, or above the median.

Every rate is a ratio of two sums over rows, or a fit, whose error is a sum over rows too; so one way gives the standard
error of each, of their differences and ratios, with weights, clusters and through a cut that is itself estimated.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np
from scipy.special import ndtri, stdtrit

from fairpot._defaults import FEWEST_OF_RATES, LEVEL, TopOf
from fairpot.counts import Counts, GroupCounts, Indices, count_units
from fairpot.inference.limits import Estimate, wilson
from fairpot.metrics.rates import RATES, Rate, Terms
from fairpot.table import ScoreTable
from fairpot.transport import Floats
from fairpot.transport.plan import WEIGHT_TOLERANCE

Kind = Literal["value", "difference", "ratio"]
Places = tuple[int, ...]
_Members = tuple[Indices, Counts, Indices]


class Cut(NamedTuple):
    """Where rows are selected: at a score or above it, in a top share, above the median, or nowhere.

    With ``below`` the others are: those below a score, outside a top share, or below the median.
    """

    at: Literal["score", "top", "median", "all"] = "all"
    threshold: float | None = None  # on the scale of the table
    top: float | None = None  # a share, or an int: so many rows
    top_of: TopOf = "all"
    below: bool = False


NOWHERE = Cut()


@dataclass(frozen=True, eq=False)
class Cells:
    """Rows that no rate can tell apart, added up: weights, their squares, and how many people count."""

    group: Indices
    y: Floats
    on: Floats
    score: Floats
    weight: Floats
    square: Floats
    counted: Counts
    members: _Members | None  # of clusters: unit, weight and cell of each row

    @classmethod
    def at(cls, counts: Sequence[GroupCounts], levels: Sequence[float], below: bool = False) -> Cells:
        """Add up what is below and from a score on, by group and outcome: with the outcome first, the lower before."""
        first = [int(np.searchsorted(c.score, level)) for c, level in zip(counts, levels)]
        sums = [
            [[column[:k].sum(), column[k:].sum()] for sides in _columns(c) for column in sides]
            for c, k in zip(counts, first)
        ]
        weight, square, counted = (np.array([each[i : i + 2] for each in sums]) for i in (0, 2, 4))
        place, y, on = (axis.ravel() for axis in np.indices(weight.shape))
        members = _members(counts, lambda g, side, entry: 4 * g + 2 * side + (entry >= first[g]))
        ends = weight.ravel().astype(np.float64), square.ravel().astype(np.float64), counted.ravel()
        return cls(place, _floats(y == 0), _floats(on != below), np.zeros(len(y)), *ends, members)

    @classmethod
    def of(cls, counts: Sequence[GroupCounts]) -> Cells:
        """Take every score by itself."""
        starts = np.cumsum([0, *(len(c.score) for c in counts for _ in range(2))])
        parts = [[np.concatenate(sides) for sides in _columns(c)] for c in counts]
        weight, square, counted = (np.concatenate(column) for column in zip(*parts))
        sizes = np.diff(starts)
        group, y = (np.repeat(axis.ravel(), sizes) for axis in np.indices((len(counts), 2)))
        members = _members(counts, lambda g, side, entry: starts[2 * g + side] + entry)
        score = np.concatenate([c.score for c in counts for _ in range(2)])
        ends = weight.astype(np.float64), square.astype(np.float64), counted
        return cls(group, _floats(y == 0), np.zeros(len(y)), score, *ends, members)

    def spread(self, error: Floats) -> float:
        """Add up the squares of what rows, or clusters, add to an error; NaN of enormous scores."""
        with np.errstate(over="ignore", invalid="ignore"):
            if self.members is None:
                total = float((self.square * error**2).sum())
            else:
                unit, weight, cell = self.members
                total = float(np.sum(np.bincount(unit, weights=weight * error[cell]) ** 2))
        return total if np.isfinite(total) else np.nan

    def units(self, at: Indices, among: Floats) -> float:
        """Count the independent rows, or clusters, in those of some cells that are below the line."""
        own = at[among > 0]
        if self.members is None:
            square = float(self.square[own].sum())
            return float(self.weight[own].sum()) ** 2 / square if square else 0.0
        unit, _, cell = self.members
        there = np.zeros(len(self.weight), dtype=bool)
        there[own] = True
        return float(count_units(unit[there[cell]]))


def _floats(values: Any) -> Floats:
    return np.asarray(values, dtype=np.float64)


def _columns(counts: GroupCounts) -> tuple[tuple[Counts, Counts], ...]:
    squares = counts.squared(True), counts.squared(False)
    return (counts.positive, counts.negative), squares, counts.counted


def _members(counts: Sequence[GroupCounts], cell: Callable[[int, int, Indices], Indices]) -> _Members | None:
    """Join the rows of clusters; ``cell`` gives the cells of those of a group and a side."""
    parts = [
        (each.unit, each.weight, cell(g, side, each.entry))
        for g, c in enumerate(counts)
        for side, each in enumerate(c.members or ())
    ]
    if not parts:
        return None
    unit, weight, cells = map(np.concatenate, zip(*parts))
    return unit, weight, cells


class Piece(NamedTuple):
    """A rate of some groups: its value, what each cell adds to its error, its variance, and of how many rows it is."""

    value: float
    error: Floats
    variance: float
    units: float
    reason: str | None = None

    @property
    def se(self) -> float:
        """Standard error, with n / (n - 1) for a sample of n; of a fit, n is infinite."""
        return float(np.sqrt(self.variance / (1 - 1 / self.units))) if self.units > 1 else np.nan


class Measuring:
    """Rates of a table at one cut, each computed once; where the level is None, without intervals."""

    def __init__(self, table: ScoreTable, cut: Cut = NOWHERE, level: float | None = LEVEL) -> None:
        self.table, self.cut, self.asked = table, cut, level
        self.level = LEVEL if level is None else level
        self.found = _found_cuts(table, cut)
        own = {g: each.start for each in self.found for g in each.groups}
        given = np.nan if cut.threshold is None else cut.threshold
        self.starts = tuple(own.get(g, given) for g in range(len(table.groups)))
        self._kept, self._pieces = "", dict[Places, Piece]()

    def told(self, found: Estimate) -> Estimate:
        """Leave limits out where nobody asked for them."""
        return found if self.asked is not None else Estimate(found.metric, float(found), reason="none were asked for")

    @cached_property
    def everyone(self) -> Places:
        """The places of all groups."""
        return tuple(range(len(self.table.groups)))

    @cached_property
    def every(self) -> Cells:
        """Every score by itself, for what depends on scores."""
        return Cells.of(self.table.counts)

    @cached_property
    def split(self) -> Cells:
        """What is below the cut and from it on."""
        return Cells.at(self.table.counts, self.starts, self.cut.below)

    def cells(self, rate: Rate) -> Cells:
        """Give the rows that a rate is made of."""
        return self.split if rate.needs_cut else self.every

    def counted(self, name: str, places: Places) -> tuple[float | None, float]:
        """Count the people above the line and below it; above it only where a rate is a share."""
        rate = RATES[name]
        if rate.sums is None or rate.scale != "share":
            return None, sum(self.table.counts[g].size for g in places)
        cells = self.cells(rate)
        at = np.flatnonzero(np.isin(cells.group, places))
        hits, among = (cells.counted[at[column > 0]].sum().item() for column in rate.sums(self._terms(cells, at)))
        return hits, among

    def _terms(self, cells: Cells, places: Indices) -> Terms:
        """Give what rates of some cells are made of, with scores as the rows have them."""
        turned, threshold, score = self.table.lower_is_riskier, self.cut.threshold, cells.score[places]
        risk = 1 + score if turned else score
        at = None if threshold is None else threshold + turned
        odds = at / (1 - at) if at is not None and 0 < at < 1 else np.nan
        return Terms(cells.y[places], cells.on[places], 0.0 - score if turned else score, risk, odds)

    def piece(self, name: str, places: Places) -> Piece:
        """Give a rate of some groups with what each cell adds to its error."""
        if name != self._kept:  # one rate is asked for after the other, and what scores add to each takes memory
            self._kept, self._pieces = name, {}
        if places not in self._pieces:
            self._pieces[places] = self._piece(name, places)
        return self._pieces[places]

    def _piece(self, name: str, places: Places) -> Piece:
        rate = RATES[name]
        cells = self.cells(rate)
        at = np.flatnonzero(np.isin(cells.group, places) & (cells.weight > 0))
        rows, weight, error = self._terms(cells, at), cells.weight[at], np.zeros(len(cells.weight))
        if rate.fit is not None:
            found = self._few(rate, cells, at, rows, places) or rate.fit(rows, weight)
            if isinstance(found, str):
                return Piece(np.nan, error, np.nan, 0.0, found)
            value, error[at] = found
            return Piece(value, error, cells.spread(error), np.inf)
        assert rate.sums is not None
        above, among = rate.sums(rows)
        total = float((weight * among).sum())
        if not total > 0:
            return Piece(np.nan, error, np.nan, 0.0, f"{self._has(places)} no {rate.among}")
        value = float((weight * above).sum()) / total
        error[at] = (above - value * among) / total
        if rate.needs_cut:
            error = error + self._through_cuts(cells, error)
        few, variance = self._few(rate, cells, at, rows, places), cells.spread(error)
        units, spread = cells.units(at, among), value * (1 - value)
        if not np.isfinite(variance):
            few = "the scores are too large to be squared"
        elif self.is_made(name, places) or (rate.scale == "share" and self.found and variance * units < 1e-9 * spread):
            few = "the cut is made so that it is this share"
        return Piece(value, error, variance, units, few)

    def is_made(self, name: str, places: Places) -> bool:
        """Whether the cuts of these groups are made so that a share of them is selected, but for equal scores."""
        own = [each for each in self.found if set(each.groups) & set(places)]
        sure = all(set(each.groups) <= set(places) and not each.coarse for each in own)
        return name == "selection_rate" and bool(own) and sure

    def _few(self, rate: Rate, cells: Cells, at: Indices, rows: Terms, places: Places) -> str | None:
        """Say which cell has too few independent rows for an interval; a hair of round-off is none."""
        sides = rate.needed(rows)
        said = (rate.among,) if len(sides) == 1 else ("rows with the outcome", "rows without the outcome")
        for side, what in zip(sides, said):
            units = cells.units(at, side)
            if units < FEWEST_OF_RATES - 1e-9:
                counted = what if cells.members is None else what.replace("rows", "clusters", 1)
                few = f"and with fewer than {FEWEST_OF_RATES} there is no interval"
                return f"{self._has(places)} {units:.3g} {counted}, {few}"
        return None

    def _has(self, places: Places) -> str:
        alone = len(places) == 1 and len(self.table.groups) > 1
        return f"group {self.table.groups[places[0]]!r} has" if alone else "there are"

    def _through_cuts(self, cells: Cells, error: Floats) -> Floats:
        """Compute what rows add through the estimated cuts: a higher one loses the rows near it."""
        shape = (len(self.table.groups), 2, 2)
        weight, error, added = cells.weight.reshape(shape), error.reshape(shape), np.zeros(shape)
        for found in self.found:
            if found.near is None:
                continue  # many rows share the scores there: what is told is of the rows from this score on
            groups = list(found.groups)
            below, above = (float(weight[groups, :, flag].sum()) for flag in range(2))
            kappa = float((found.near * (error[:, :, 0] - error[:, :, 1])).sum())
            added[groups] += kappa * (np.arange(2) - above / (below + above))
        return added.ravel()

    def estimate(self, kind: Kind, name: str, first: Places, second: Places = ()) -> Estimate:
        """Give a rate, or how that of the first groups differs from that of the second, with its interval."""
        return self.told(self._estimate(kind, name, first, second))

    def variance_of_difference(self, name: str, first: Places, second: Places) -> float:
        """Compute the variance of the difference of two rates."""
        rate, one, other = RATES[name], self.piece(name, first), self.piece(name, second)
        cells = self.cells(rate)
        if set(first) & set(second) or cells.members is not None or (rate.needs_cut and self.found):
            return cells.spread(one.error - other.error)  # clusters or a cut join groups that are apart
        return one.variance + other.variance

    def _estimate(self, kind: Kind, name: str, first: Places, second: Places) -> Estimate:
        rate, metric, tail = RATES[name], name if kind == "value" else f"{name}_{kind}", (1 - self.level) / 2
        one = self.piece(name, first)
        if kind == "value":
            ends = _limits(rate, one, tail) if one.reason is None else (np.nan, np.nan)
            return Estimate(metric, one.value, one.se, *ends, self.level, reason=one.reason)
        other = self.piece(name, second)
        both = self.variance_of_difference(name, first, second)
        scale = 2 * float(np.sqrt(one.variance * other.variance))
        rho = float(np.clip((one.variance + other.variance - both) / scale, -1, 1)) if scale > 0 else 0.0
        reason = one.reason or other.reason
        if kind == "difference":
            value, se = one.value - other.value, float(np.sqrt(both))
            if reason is None:
                return Estimate(metric, value, se, *_between(rate, one, other, rho, tail), self.level)
            return Estimate(metric, value, se, level=self.level, reason=reason)
        value = one.value / other.value if other.value > 0 else np.nan
        if reason is None and value == 0 and rate.scale == "share":  # Donner and Zou (2012)
            high, low = _limits(rate, one, tail)[1], _limits(rate, other, tail)[0]
            return Estimate(metric, 0.0, np.nan, 0.0, high / float(np.sqrt(low * (2 * other.value - low))), self.level)
        if reason is None and not min(one.value, other.value) > 0:
            reason = f"a {rate.title} is 0, of which a ratio has no interval"
        if reason is not None:
            return Estimate(metric, value, level=self.level, reason=reason)
        a, b = np.sqrt(one.variance) / one.value, np.sqrt(other.variance) / other.value
        se = value * float(np.sqrt(max(a**2 + b**2 - 2 * rho * a * b, 0.0)))
        low, high = map(float, np.exp(_between(rate, one, other, rho, tail, logs=True)))
        return Estimate(metric, value, se, low, high, self.level)


def _limits(rate: Rate, found: Piece, tail: float, logs: bool = False) -> tuple[float, float]:
    """Compute the limits of a rate, or of its logarithm, each wrong with probability ``tail``.

    A share has Wilson's (1927), of as many rows as its variance p (1 - p) / n says; a mean those of Student's t; a
    positive number, and a ratio of means, exp(log v -+ z se / v).
    """
    value, z = found.value, -float(ndtri(tail))
    if rate.scale == "share":
        spread = value * (1 - value)  # of a rate of 0 or 1 by round-off alone, where all rows are alike
        size = min(spread / max(found.variance, 1e-300), 1e300) if spread > 1e-12 else found.units
        low, high = wilson(value, size, z)
        return (float(np.log(low)), float(np.log(high))) if logs else (low, high)
    if logs or rate.scale == "positive":
        middle, half = float(np.log(value)), z * found.se / value
        return (middle - half, middle + half) if logs else (float(np.exp(middle - half)), float(np.exp(middle + half)))
    half = found.se * (z if rate.fit else -float(stdtrit(max(found.units - 1, 1), tail)))
    return value - half, value + half


def _between(rate: Rate, one: Piece, other: Piece, rho: float, tail: float, logs: bool = False) -> tuple[float, float]:
    """Combine the limits of two rates into those of their difference, or of that of their logarithms.

    Zou and Donner's (2008) MOVER: with limits l1, u1 and l2, u2 and correlation r of the two, the lower one is d -
    sqrt((v1 - l1)^2 + (u2 - v2)^2 - 2 r (v1 - l1)(u2 - v2)), the upper one alike. Of independent shares it is
    Newcombe's (1998) tenth method.
    """
    (l1, u1), (l2, u2) = (_limits(rate, piece, tail, logs) for piece in (one, other))
    v1, v2 = (float(np.log(piece.value)) if logs else piece.value for piece in (one, other))
    down, up = (
        float(np.sqrt(max(a**2 + b**2 - 2 * rho * a * b, 0.0))) for a, b in ((v1 - l1, u2 - v2), (u1 - v1, v2 - l2))
    )
    return v1 - v2 - down, v1 - v2 + up


class FoundCut(NamedTuple):
    """Where the cut of some groups was found in their rows: the lowest score above it, and who is near."""

    groups: Places
    start: float
    coarse: bool = False  # whether one score near it holds more rows than the number above it varies by
    near: Floats | None = None  # shares of (groups, outcomes) among the rows nearest to it; None where it cannot drift


def _found_cuts(table: ScoreTable, cut: Cut) -> tuple[FoundCut, ...]:
    """Find the cuts that rows say themselves: that of a top, of all rows or of each group, and the median."""
    everyone = tuple(range(len(table.groups)))
    if cut.at == "top":
        assert cut.top is not None
        starts = list(table.thresholds(cut.top, cut.top_of).values())
        parts = [everyone] if cut.top_of == "all" else [(g,) for g in everyone]
        return tuple(_found_cut(table, groups, starts[groups[0]]) for groups in parts)
    if cut.at != "median":
        return ()
    pooled = table.pooled()
    running = np.cumsum(pooled.weight)
    # What is above the lower median is above the median, what is below the upper one below it.
    own = int(np.searchsorted(running, running[-1] / 2, side="right" if cut.below else "left")) + (not cut.below)
    start = float(pooled.score[own]) if own < len(pooled.score) else np.inf
    return (_found_cut(table, everyone, start),)


def _found_cut(table: ScoreTable, groups: Places, start: float) -> FoundCut:
    """Look at who is near a cut: each group's share, with and without the outcome, among the rows nearest to it.

    As many are taken on both sides. Rates at an estimated quantile move with it by the density there (Bahadur's
    representation). That takes smooth scores: where one score near the cut holds more rows than the number above the
    cut varies by, the cut stays at its score or jumps, and rates are those of the rows from this score on.
    """
    own = table if len(groups) == len(table.groups) else table.only([table.groups[g] for g in groups])
    pooled = own.pooled()
    weight = pooled.weight.astype(np.float64)
    total, below = float(weight.sum()), float(weight[: np.searchsorted(pooled.score, start)].sum())
    above = total - below
    if not (above > 0 and below > 0):
        return FoundCut(groups, start)  # there is no cut to miss
    rows = total**2 / sum(float(table.squared(g, side).sum()) for g in groups for side in (True, False))
    reach, hair = min(0.5 * rows**0.7 * total / rows, above, below), WEIGHT_TOLERANCE * total
    # Scores whose running weight is an end of the window but for round-off are at that end, whatever weights are times.
    running = np.cumsum(weight)
    first = min(int(np.searchsorted(running, below - reach + hair, side="right")), len(running) - 1)
    last = min(int(np.searchsorted(running, below + reach - hair)), len(running) - 1)
    if weight[first : last + 1].max() / total > np.sqrt(above / total * below / total / rows):
        return FoundCut(groups, start, coarse=True)
    near = np.zeros((len(table.groups), 2))
    for g in groups:
        counts = table.counts[g]
        window = slice(*np.searchsorted(counts.score, [pooled.score[first], np.nextafter(pooled.score[last], np.inf)]))
        near[g] = counts.positive[window].sum(), counts.negative[window].sum()
    return FoundCut(groups, start, near=near / near.sum())


def top_rate(top: Measuring, metric: str, group: int | None) -> Estimate:
    """Compute recall or precision of a top, of all rows or of one group, with its interval."""
    name = {"top_recall": "tpr", "top_precision": "ppv"}[metric]
    found = top.estimate("value", name, top.everyone if group is None else (group,))
    return Estimate(metric, *found.__getnewargs__()[1:])
