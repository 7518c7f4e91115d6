"""The top-alpha region: shares of pairs whose threshold is itself estimated, in all regions that rows leave open."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fairpot._defaults import FEWEST, Region, Ties
from fairpot.counts import Indices
from fairpot.inference.candidates import Population, TooMany, candidates, open_note, populations, said
from fairpot.inference.limits import gap_limits
from fairpot.inference.merged import Counted, Lines, count_ranking
from fairpot.inference.merged import shares as counted_shares
from fairpot.inference.shares import (
    CellRows,
    GapEstimates,
    Influence,
    Pairs,
    Rests,
    ShareEstimates,
    View,
    all_pairs,
    clustered_covariance,
    covariance_of,
    cross_pairs,
    influences,
    outcome_entries,
    own_scores,
    small_sample_factor,
)
from fairpot.table import ScoreTable
from fairpot.transport import Floats
from fairpot.transport.plan import WEIGHT_TOLERANCE

Limits = tuple[Floats, Floats]


@dataclass(frozen=True, eq=False)
class TopRegion:
    """A table, and where its top alpha may begin."""

    table: ScoreTable
    kernel: Ties
    populations: tuple[Population, ...]

    @cached_property
    def counted(self) -> Counted:
        """What there is to count in the sample's own top."""
        return count_ranking(_above(self.table, own_levels(self.populations)), self.kernel)

    def rests_on(self, pairs: Sequence[Pairs]) -> list[Population]:
        """List the populations whose thresholds some shares depend on."""
        groups = {g for pair in pairs for side in pair for g in side}
        return [p for p in self.populations if groups.intersection(p.groups)]

    def coarse(self, pairs: Sequence[Pairs]) -> bool:
        """Whether some shares depend on a threshold that jumps."""
        return any(p.coarse for p in self.rests_on(pairs))

    @cached_property
    def _known(self) -> dict[tuple[tuple[Pairs, ...], tuple[float, ...]], ShareEstimates]:
        return {}

    def estimate(self, pairs: Sequence[Pairs], levels: tuple[float, ...] | None = None) -> ShareEstimates:
        """Estimate shares among the rows at or above their thresholds; smooth thresholds add their own error."""
        asked = tuple(pairs), own_levels(self.populations) if levels is None else levels
        if asked not in self._known:
            self._known[asked] = self._estimate(*asked)
        return self._known[asked]

    def _estimate(self, pairs: tuple[Pairs, ...], levels: tuple[float, ...]) -> ShareEstimates:
        table, smooth = self.table, smooth_of(self.populations)
        counted = None
        if table.clusters is None:
            own = levels == own_levels(self.populations)
            counted = self.counted if own else count_ranking(_above(table, levels), self.kernel)
        if counted is None or counted.cells is None:
            return estimate_seen(table, self.kernel, [Seen(own_scores(table), levels, pairs, smooth)])
        top, base, lines = counted.table, counted_shares(counted, pairs), Lines.of(counted, pairs)
        cuts, sums = _cuts(table, top, pairs, lines, smooth), lines.sums(counted.cells)
        added = sum(_threshold_part(table, top, sums, base.units, cut) for cut in cuts)
        return replace(base, covariance=base.covariance + added)

    def shares(self, pairs: Sequence[Pairs], refused: tuple[str | None, ...] = ()) -> RegionShares:
        """Estimate shares in the sample's own region, with limits that hold in every region left open."""
        own = vars(self.estimate(pairs)) | {"refused": refused}
        return RegionShares(**own, pairs=tuple(pairs), region=self)

    def each(self, pairs: Sequence[Pairs], tail: float) -> list[tuple[ShareEstimates, float]]:
        """Estimate shares in every region that the rows leave open, with the tail of their limits there."""
        found = self.rests_on(pairs)
        places, tails = candidates(found, tail)
        levels = [levels_at(self.populations, found, row) for row in places]
        return [(self.estimate(pairs, own), float(t)) for own, t in zip(levels, tails)]

    def why_not(self, pair: Pairs) -> str | None:
        """Say why a share has no honest limits, where a region that the rows leave open is the reason."""
        if not self.coarse([pair]):
            return None
        try:
            found = self.each([pair], 0.025)
        except TooMany as error:
            return str(error)
        if len(found) == 1 or all(shares.enough for shares, _ in found):
            return None
        few = f"one of the regions that the rows leave open has fewer than {FEWEST} rows with or without the outcome"
        return f"{few}: {said(self.rests_on([pair]))}"


def _above(table: ScoreTable, levels: tuple[float, ...]) -> ScoreTable:
    return table.above(dict(zip(table.groups, levels)))


def smooth_of(found: Sequence[Population]) -> tuple[Population, ...]:
    """Keep the populations whose threshold has an error of its own."""
    return tuple(p for p in found if not p.coarse)


def levels_at(everyone: Sequence[Population], found: Sequence[Population], places: Sequence[int]) -> tuple[float, ...]:
    """Give every group its threshold: the sample's own, or that at a place where a population is given one."""
    level = list(own_levels(everyone))
    for population, place in zip(found, places):
        for g in population.groups:
            level[g] = float(population.score[place])
    return tuple(level)


def own_levels(found: Sequence[Population]) -> tuple[float, ...]:
    """Give every group the sample's own threshold."""
    level = {g: float(p.score[p.own]) for p in found for g in p.groups}
    return tuple(level[g] for g in sorted(level))


@dataclass(frozen=True, eq=False, kw_only=True)
class RegionShares(ShareEstimates):
    """Shares in a top-alpha region: those of the sample's own region, with limits that hold in all it may be."""

    pairs: tuple[Pairs, ...]
    region: TopRegion

    def take(self, places: Sequence[int] | np.ndarray) -> RegionShares:
        """Keep some of the shares."""
        at = np.asarray(places, dtype=np.intp)
        return RegionShares(**vars(super().take(at)), pairs=tuple(self.pairs[k] for k in at), region=self.region)

    @property
    def note(self) -> str | None:
        """Say that the rows leave several regions open, if they do."""
        return open_note(self.region.rests_on(self.pairs))

    def limits(self, tail: float | Floats) -> Limits:
        """Compute limits of each share that hold in every region the rows leave open."""
        each = np.arange(len(self))[:, None]
        return self._wherever(super().limits(tail), each, tail, lambda shares, t: shares.limits(t), (0.0, 1.0))

    def difference_limits(self, first: Indices, second: Indices, tail: float | Floats) -> Limits:
        """Compute limits of differences that hold in every region the rows leave open."""
        own, places = super().difference_limits(first, second, tail), np.column_stack((first, second))
        return self._wherever(own, places, tail, lambda two, t: GapEstimates.side_by_side(two).limits(t), (-1.0, 1.0))

    def _wherever(
        self,
        own: Limits,
        places: Indices,
        tail: float | Floats,
        limits: Callable[[ShareEstimates, float], Limits],
        all_there_is: tuple[float, float],
    ) -> Limits:
        """Widen the limits that depend on a threshold that jumps."""
        low, high = own
        for k, t in enumerate(np.broadcast_to(tail, len(places))):
            pairs = [self.pairs[place] for place in places[k]]
            if self.region.coarse(pairs):
                ends = [limits(shares, own_tail) for shares, own_tail in self._enough(pairs, float(t))]
                low[k], high[k] = all_there_is
                if ends:
                    low[k], high[k] = min(end[0][0] for end in ends), max(end[1][0] for end in ends)
        return low, high

    def sizes_above(
        self, first: Indices, second: Indices, bound: float, delta: float, share: float
    ) -> NDArray[np.bool_]:
        """Mark the differences that are larger than a bound in every region the rows leave open."""
        result = super().sizes_above(first, second, bound, delta, share)
        for k, places in enumerate(zip(first, second)):
            pairs = [self.pairs[place] for place in places]
            if self.region.coarse(pairs):
                found = self._enough(pairs, delta)
                above = [GapEstimates.side_by_side(shares).above(bound, t, share)[0] for shares, t in found]
                result[k] = bool(above) and all(above)
        return result

    def _enough(self, pairs: Sequence[Pairs], tail: float) -> list[tuple[ShareEstimates, float]]:
        """Estimate in every region left open; give nothing if they are too many or have too few rows."""
        try:
            found = self.region.each(pairs, tail)
        except TooMany:
            return []
        return found if all(shares.enough for shares, _ in found) else []


def estimate_region(
    table: ScoreTable, pairs: Sequence[Pairs], kernel: Ties, alpha: float, region: Region
) -> RegionShares:
    """Estimate shares inside the top-alpha region with their covariance, the threshold's error included."""
    where = TopRegion(table, kernel, populations(table, alpha, region))
    return where.shares(pairs, tuple(where.why_not(pair) for pair in pairs))


class Cut(NamedTuple):
    """One estimated threshold: the groups it cuts, the weights above it and in all, how far it moves each share."""

    groups: tuple[int, ...]
    above: float
    total: float
    kappa: Floats

    @property
    def inside(self) -> float:
        """What a row above the threshold adds for each unit of kappa."""
        return (1 - self.above / self.total) / self.total

    @property
    def outside(self) -> float:
        """What a row below adds."""
        return -self.above / self.total / self.total


def _cuts(
    table: ScoreTable, top: ScoreTable, pairs: Sequence[Pairs], found: Influence | Lines, smooth: Sequence[Population]
) -> list[Cut]:
    """Find how far each smooth threshold moves the shares."""
    result = []
    for population in smooth:
        groups, threshold = population.groups, float(population.score[population.own])
        total = sum(float(table.counts[g].weight.sum()) for g in groups)
        above = sum(float(top.counts[g].weight.sum()) for g in groups)
        if above >= total:
            continue  # everybody is in the region: there is no threshold to miss
        window = near_cut(table, population, above, total)
        kappa = np.array([_kappa(top, pair, k, threshold, window, found) for k, pair in enumerate(pairs)])
        result.append(Cut(groups, above, total, kappa * total))
    return result


def near_cut(table: ScoreTable, population: Population, above: float, total: float) -> tuple[Floats, Floats]:
    """Give each group's positives and negatives among the rows nearest to the cut, equally many on both sides."""
    groups, score = population.groups, population.score
    square = sum(float(table.squared(g, side).sum()) for g in groups for side in (True, False))
    rows = total**2 / square
    reach = min(0.5 * rows**0.7 * total / rows, above, total - above)
    running = np.cumsum(population.rows)
    # Scores whose running weight is an end of the window but for round-off are at that end, whatever weights are times.
    middle, hair = total - above, WEIGHT_TOLERANCE * total
    low = score[min(int(np.searchsorted(running, middle - reach + hair, side="right")), len(running) - 1)]
    high = score[min(int(np.searchsorted(running, middle + reach - hair)), len(running) - 1)]
    near = np.zeros((2, len(table.groups)))
    for g in groups:
        counts = table.counts[g]
        own = slice(np.searchsorted(counts.score, low), np.searchsorted(counts.score, high, side="right"))
        near[:, g] = counts.positive[own].sum(), counts.negative[own].sum()
    positive, negative = near / (near[0].sum() + near[1].sum())
    return positive, negative


def _kappa(
    top: ScoreTable, pair: Pairs, place: int, threshold: float, window: tuple[Floats, Floats], found: Influence | Lines
) -> float:
    """Compute how far a share moves when the threshold passes one row, in shares of the rows."""
    value, p, n = found.value[place], found.weight[0][place], found.weight[1][place]
    if not p * n > 0:
        return np.nan
    # The region's negatives that a positive at the threshold beats, and the positives that a negative there loses to.
    at = [int(np.searchsorted(c.score, threshold)) for c in top.counts]
    won = sum(float(top.counts[h].negative[: at[h]].sum()) for h in pair.losers)
    lost = sum(float(top.counts[g].positive[at[g] :].sum()) for g in pair.winners)
    leaving_p, leaving_n = (sum(near[g] for g in own) for near, own in zip(window, pair))
    return float(leaving_p / p * (value - won / n) + leaving_n / n * (value - lost / p))


def _threshold_part(table: ScoreTable, top: ScoreTable, sums: Floats, units: tuple[Floats, Floats], cut: Cut) -> Floats:
    """Add the threshold's own variance, and what it shares with the rows in the region."""
    whole, inside = (
        sum(float(each.squared(g, positive).sum()) for g in cut.groups for positive in (True, False))
        for each in (table, top)
    )
    rows = cut.total**2 / whole
    variance = (inside * cut.inside**2 + (whole - inside) * cut.outside**2) * rows / (rows - 1)
    factors = [np.sqrt(small_sample_factor(each)) for each in units]
    shared = sum(factor * own[list(cut.groups)].sum(axis=0) for factor, own in zip(factors, sums))
    cross = np.outer(shared * cut.inside, cut.kappa)
    return np.asarray(variance * np.outer(cut.kappa, cut.kappa) + cross + cross.T)


class Seen(NamedTuple):
    """Shares to estimate in one view of a table: the score of every entry, the groups' thresholds, smooth cuts."""

    view: View
    levels: tuple[float, ...]
    pairs: tuple[Pairs, ...]
    smooth: tuple[Population, ...]


def estimate_seen(table: ScoreTable, kernel: Ties, wanted: Sequence[Seen]) -> ShareEstimates:
    """Estimate shares in several views, each above thresholds of its own, with the covariance between all of them.

    What each row adds through a smooth threshold is part of the row's influence.
    """
    entries = outcome_entries(table)
    size = sum(len(seen.pairs) for seen in wanted)
    rows = [[np.zeros((size, len(places[side]))) for places in entries] for side in range(2)]
    parts, place = [], 0
    for seen in wanted:
        own = [[each[place : place + len(seen.pairs)] for each in side] for side in rows]
        parts.append(_add_seen(table, kernel, seen, entries, own))
        place += len(seen.pairs)
    value = np.concatenate([part.value for part in parts])
    v, w = (np.concatenate([part.variance[side] for part in parts]) for side in range(2))
    m, n = (np.concatenate([part.units[side] for part in parts]) for side in range(2))
    if table.clusters is not None:  # the rows of each are added up before squaring
        everything, most = np.arange(size), np.maximum(m, n)
        cells = [[CellRows(everything, at[side], rows[side][g]) for g, at in enumerate(entries)] for side in range(2)]
        found = Influence(value, (m, n), (cells[0], cells[1]))
        return clustered_covariance(found, table.clusters, rests=Rests((m, n), np.minimum.outer(most, most)))
    covariance = np.zeros((size, size))
    for side in range(2):
        for g, places in enumerate(entries):
            square = table.squared(g, side == 0)[places[side]].astype(np.float64)
            covariance += (rows[side][g] * square) @ rows[side][g].T
    return ShareEstimates(value, covariance, (v, w), (m, n))


def _add_seen(
    table: ScoreTable, kernel: Ties, seen: Seen, entries: list[tuple[Indices, Indices]], rows: list[list[Floats]]
) -> ShareEstimates:
    """Write the influences of one view; return its shares, with what their sides add to the variance."""
    moved = table.viewed(seen.view)
    top = _above(moved, seen.levels)
    found = influences(top, seen.pairs, kernel)
    part = covariance_of(found, top, seen.pairs)
    scales = [np.sqrt(small_sample_factor(units)) for units in part.units]
    if top.clusters is not None:
        scales = [np.ones(len(part)), np.ones(len(part))]  # clusters are scaled when they are added up
    cuts = _cuts(moved, top, seen.pairs, found, seen.smooth)
    for side, (g, places) in itertools.product(range(2), enumerate(entries)):
        own, cell = rows[side][g], found.cells[side][g]
        score = seen.view[g][places[side]]
        inside = score >= seen.levels[g]
        at = np.searchsorted(top.counts[g].score[cell.entries], score[inside])
        own[np.ix_(cell.shares, inside)] = scales[side][cell.shares, None] * cell.values[:, at]
        for cut in cuts:  # every row of a cut's groups moves its threshold
            if g in cut.groups:
                scale = np.sqrt(cut.total / max(cut.total - 1, 1e-9))
                own += np.outer(cut.kappa, np.where(inside, cut.inside, cut.outside) * scale)
    return part


@dataclass(frozen=True, eq=False)
class OpenTops:
    """The tops of the moved tables of a dial, in some of which many rows share the score at which the top begins."""

    shares: tuple[RegionShares, ...]  # in each distinct moved table: its AUC, then both directions of every pair
    which: Indices  # which of them belongs to each value of the dial

    @classmethod
    def of(
        cls, table: ScoreTable, kernel: Ties, views: Sequence[View], found: Sequence[tuple[Population, ...]]
    ) -> OpenTops:
        """Estimate in each distinct moved table once."""
        keys = [b"".join(np.ascontiguousarray(scores).tobytes() for scores in view) for view in views]
        distinct = list(dict.fromkeys(keys))
        where = (TopRegion(table.viewed(views[k]), kernel, found[k]) for k in map(keys.index, distinct))
        shares = tuple(region.shares((all_pairs(table), *cross_pairs(table))) for region in where)
        return cls(shares, np.array([distinct.index(key) for key in keys], dtype=np.intp))

    @property
    def distinct(self) -> int:
        """How many different moved tables there are."""
        return len(np.unique(self.which))

    def at(self, places: Indices) -> OpenTops:
        """Keep some values of the dial."""
        return replace(self, which=self.which[places])

    def limits(self, tail: float) -> tuple[tuple[Floats, Floats], tuple[Floats, Floats]]:
        """Limit AUC and largest gap at each value, in all regions that the rows leave open there."""
        kept, places = np.unique(self.which, return_inverse=True)
        found = np.array([_limits(self.shares[k], tail) for k in kept])[places]
        return (found[:, 0], found[:, 1]), (found[:, 2], found[:, 3])

    def note(self, place: int) -> str | None:
        """Say why the region at a value is open; None if the rows leave one only."""
        return self.shares[self.which[place]].note


def _limits(shares: RegionShares, tail: float) -> tuple[float, float, float, float]:
    [low], [high] = shares.take([0]).limits(tail)
    gaps = GapEstimates.side_by_side(shares.take(range(1, len(shares))))
    return float(low), float(high), *gap_limits(gaps, tail)
