"""The top-alpha region: shares of pairs whose threshold is itself estimated."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fairpot._defaults import Region
from fairpot.counts import Clusters, GroupCounts, Indices
from fairpot.inference.candidates import Population, TooMany, candidates, open_note, populations, said
from fairpot.inference.merged import Counted, Lines, count_ranking
from fairpot.inference.merged import shares as counted_shares
from fairpot.inference.shares import (
    FEWEST,
    CellRows,
    Cut,
    Influence,
    Kernel,
    Pairs,
    Rests,
    ShareEstimates,
    View,
    clustered_covariance,
    independent_covariance,
    independent_units,
    influences,
    outcome_entries,
    own_scores,
    placements,
    small_sample_factor,
)
from fairpot.table import ScoreTable
from fairpot.transport import Floats


@dataclass(frozen=True, eq=False)
class TopRegion:
    """A table, and where its top alpha may begin."""

    table: ScoreTable
    kernel: Kernel
    populations: tuple[Population, ...]

    @classmethod
    def of(cls, table: ScoreTable, kernel: Kernel, alpha: float, region: Region) -> TopRegion:
        """Find the populations of a table that have a threshold."""
        return cls(table, kernel, populations(table, alpha, region))

    @cached_property
    def thresholds(self) -> dict[Hashable, float]:
        """The lowest score of the sample's own top, for each group: as :meth:`ScoreTable.thresholds` has it."""
        return dict(zip(self.table.groups, own_levels(self.populations)))

    @cached_property
    def counted(self) -> Counted:
        """What there is to count in the sample's own top."""
        return self._count(tuple(self.thresholds.values()))

    def _count(self, levels: tuple[float, ...]) -> Counted:
        assert self.kernel != "equal"
        return count_ranking(self.table.above(dict(zip(self.table.groups, levels))), self.kernel)

    def rests_on(self, pairs: Sequence[Pairs]) -> list[Population]:
        """List the populations whose thresholds some shares depend on."""
        groups = {g for pair in pairs for side in pair for g in side}
        return [p for p in self.populations if groups.intersection(p.groups)]

    def levels(self, found: Sequence[Population], places: Sequence[int]) -> tuple[float, ...]:
        """Give every group its threshold, those of some populations at other places than the sample's own."""
        return levels_at(self.populations, found, places)

    def estimate(self, pairs: Sequence[Pairs], levels: tuple[float, ...] | None = None) -> ShareEstimates:
        """Estimate shares among the rows at or above their thresholds; smooth thresholds add their own error."""
        return self._estimates((tuple(pairs), own_levels(self.populations) if levels is None else levels))

    @cached_property
    def _estimates(self) -> Callable[[tuple[tuple[Pairs, ...], tuple[float, ...]]], ShareEstimates]:
        return lru_cache(maxsize=None)(self._estimate)

    def _estimate(self, asked: tuple[tuple[Pairs, ...], tuple[float, ...]]) -> ShareEstimates:
        pairs, levels = asked
        table, kernel = self.table, self.kernel
        smooth = [p for p in self.populations if not p.coarse]
        if table.clusters is not None:
            top = table.above(dict(zip(table.groups, levels)))
            assert top.clusters is not None
            found = influences(top, pairs, kernel)
            cuts = threshold_cuts(table, top, pairs, found, kernel, smooth)
            return clustered_covariance(found, top.clusters, cuts, table.clusters)
        counted = self.counted if levels == tuple(self.thresholds.values()) else self._count(levels)
        if counted.cells is None:
            return estimate_seen(table, kernel, [Seen(own_scores(table), levels, pairs, tuple(smooth))])
        top, base, lines = counted.table, counted_shares(counted, pairs), Lines.of(counted, pairs)
        cuts, sums = threshold_cuts(table, top, pairs, lines, kernel, smooth), lines.sums(counted.cells)
        covariance = base.covariance + sum(_threshold_part(table, top, sums, base.units, cut) for cut in cuts)
        return ShareEstimates(base.value, covariance, base.variance, base.units)

    def shares(self, pairs: Sequence[Pairs], refused: tuple[str | None, ...] = ()) -> RegionShares:
        """Estimate shares in the sample's own region, with limits that hold in every region left open."""
        own, asked = self.estimate(pairs), tuple(pairs)
        return RegionShares(own.value, own.covariance, own.variance, own.units, refused, pairs=asked, region=self)

    def each(self, pairs: Sequence[Pairs], tail: float) -> list[tuple[ShareEstimates, float]]:
        """Estimate shares in every region that the rows leave open, with the tail of their limits there."""
        found = self.rests_on(pairs)
        places, tails = candidates(found, tail)
        return [(self.estimate(pairs, self.levels(found, row)), float(t)) for row, t in zip(places, tails)]

    def why_not(self, pair: Pairs, tail: float = 0.025) -> str | None:
        """Say why a share has no honest limits, where a region that the rows leave open is the reason."""
        if not any(p.coarse for p in self.rests_on([pair])):
            return None
        try:
            open_regions = self.each([pair], tail)
        except TooMany as error:
            return str(error)
        if len(open_regions) > 1 and not all(shares.enough for shares, _ in open_regions):
            few = (
                f"one of the regions that the rows leave open has fewer than {FEWEST} rows with or without the outcome"
            )
            return f"{few}: {said(self.rests_on([pair]))}"
        return None

    def note(self, pairs: Sequence[Pairs]) -> str | None:
        """Say that several regions are open, if they are."""
        return open_note(self.rests_on(pairs))


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


@dataclass(frozen=True, eq=False)
class RegionShares(ShareEstimates):
    """Shares in a top-alpha region: those of the sample's own region, with limits that hold in all it may be."""

    pairs: tuple[Pairs, ...] = ()
    region: TopRegion | None = None

    def take(self, places: Sequence[int] | np.ndarray) -> RegionShares:
        """Keep some of the shares."""
        kept = super().take(places)
        pairs = tuple(self.pairs[int(k)] for k in np.asarray(places, dtype=np.intp))
        return RegionShares(
            kept.value, kept.covariance, kept.variance, kept.units, kept.refused, pairs=pairs, region=self.region
        )

    @property
    def note(self) -> str | None:
        """Say that the rows leave several regions open, if they do."""
        assert self.region is not None
        return self.region.note(self.pairs)

    def limits(self, tail: float | Floats) -> tuple[Floats, Floats]:
        """Compute limits of each share that hold in every region the rows leave open."""
        low, high = super().limits(tail)
        for k, t in enumerate(np.broadcast_to(tail, len(self))):
            if self._coarse(k):
                low[k], high[k] = self._hull((k,), float(t), lambda shares, t: shares.limits(t), (0.0, 1.0))
        return low, high

    def difference_limits(self, first: Indices, second: Indices, tail: float | Floats) -> tuple[Floats, Floats]:
        """Compute limits of differences that hold in every region the rows leave open."""
        low, high = super().difference_limits(first, second, tail)
        for k, t in enumerate(np.broadcast_to(tail, len(first))):
            places = int(first[k]), int(second[k])
            if self._coarse(*places):
                low[k], high[k] = self._hull(places, float(t), _one_difference, (-1.0, 1.0))
        return low, high

    def sizes_above(
        self, first: Indices, second: Indices, bound: float, delta: float, share: float
    ) -> NDArray[np.bool_]:
        """Mark the differences that are larger than a bound in every region the rows leave open."""
        result = super().sizes_above(first, second, bound, delta, share)
        for k in range(len(first)):
            places = int(first[k]), int(second[k])
            if self._coarse(*places):
                result[k] = self._all_above(places, bound, delta, share)
        return result

    def _all_above(self, places: tuple[int, ...], bound: float, delta: float, share: float) -> bool:
        one, other = np.array([0]), np.array([1])
        try:
            found = self._each(places, delta)
        except TooMany:
            return False
        return all(shares.enough and shares.sizes_above(one, other, bound, t, share)[0] for shares, t in found)

    def _coarse(self, *places: int) -> bool:
        """Whether shares rest on a population whose threshold jumps."""
        assert self.region is not None
        return any(p.coarse for p in self.region.rests_on([self.pairs[k] for k in places]))

    def _each(self, places: tuple[int, ...], tail: float) -> list[tuple[ShareEstimates, float]]:
        assert self.region is not None
        return self.region.each([self.pairs[k] for k in places], tail)

    def _hull(
        self,
        places: tuple[int, ...],
        tail: float,
        limits: Callable[[ShareEstimates, float], tuple[Floats, Floats]],
        all_there_is: tuple[float, float],
    ) -> tuple[float, float]:
        try:
            found = self._each(places, tail)
        except TooMany:
            return all_there_is
        if not all(shares.enough for shares, _ in found):
            return all_there_is
        ends = [limits(shares, t) for shares, t in found]
        return float(min(low[0] for low, _ in ends)), float(max(high[0] for _, high in ends))


def _one_difference(shares: ShareEstimates, tail: float) -> tuple[Floats, Floats]:
    return shares.difference_limits(np.array([0]), np.array([1]), tail)


def estimate_region(
    table: ScoreTable, pairs: Sequence[Pairs], kernel: Kernel, alpha: float, region: Region
) -> RegionShares:
    """Estimate shares inside the top-alpha region with their covariance, the threshold's error included."""
    where = TopRegion.of(table, kernel, alpha, region)
    return where.shares(pairs, tuple(where.why_not(pair) for pair in pairs))


def threshold_cuts(
    table: ScoreTable,
    top: ScoreTable,
    pairs: Sequence[Pairs],
    found: Influence | Lines,
    kernel: Kernel,
    smooth: Sequence[Population],
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


def near_cut(table: ScoreTable, population: Population, above: float, total: float) -> Window:
    """Count the cells among the rows nearest to the cut, equally many on both sides."""
    groups, score = population.groups, population.score
    square = sum(float(table.squared(g, side).sum()) for g in groups for side in (True, False))
    rows = total**2 / square
    reach = min(0.5 * rows**0.7 * total / rows, above, total - above)
    running = np.cumsum(population.rows)
    middle = total - above
    low = score[min(int(np.searchsorted(running, middle - reach, side="right")), len(running) - 1)]
    high = score[min(int(np.searchsorted(running, middle + reach)), len(running) - 1)]
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
    found: Influence | Lines,
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
    won = sum(
        float(top.counts[h].negative[: np.searchsorted(top.counts[h].score, threshold)].sum()) for h in pair.losers
    )
    lost = sum(
        float(top.counts[g].positive[np.searchsorted(top.counts[g].score, threshold) :].sum()) for g in pair.winners
    )
    return won, lost


def _threshold_part(table: ScoreTable, top: ScoreTable, sums: Floats, units: tuple[Floats, Floats], cut: Cut) -> Floats:
    """Add the threshold's own variance, and what it shares with the rows in the region."""
    inside = outside = 0.0
    for g in cut.groups:
        for positive in (True, False):
            kept = float(top.squared(g, positive).sum())
            inside += kept
            outside += float(table.squared(g, positive).sum()) - kept
    rows = cut.total**2 / (inside + outside)
    variance = (inside * cut.inside**2 + outside * cut.outside**2) * rows / (rows - 1)
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


def estimate_seen(table: ScoreTable, kernel: Kernel, wanted: Sequence[Seen]) -> ShareEstimates:
    """Estimate shares in several views, each above thresholds of its own, with the covariance between all of them.

    What each row adds through a smooth threshold is part of the row's influence.
    """
    entries = outcome_entries(table)
    size = sum(len(seen.pairs) for seen in wanted)
    rows = [[np.zeros((size, len(places[side]))) for places in entries] for side in range(2)]
    parts, place = [], 0
    for seen in wanted:
        own = slice(place, place + len(seen.pairs))
        parts.append(_add_seen(table, kernel, seen, entries, rows, own))
        place = own.stop
    value = np.concatenate([part.value for part in parts])
    v, w = (np.concatenate([part.variance[side] for part in parts]) for side in range(2))
    m, n = (np.concatenate([part.units[side] for part in parts]) for side in range(2))
    if table.clusters is not None:
        return _clustered(table.clusters, value, (m, n), entries, rows)
    covariance = np.zeros((size, size))
    for side in range(2):
        for g, places in enumerate(entries):
            square = table.squared(g, side == 0)[places[side]].astype(np.float64)
            covariance += (rows[side][g] * square) @ rows[side][g].T
    return ShareEstimates(value, covariance, (v, w), (m, n))


def _clustered(
    clusters: Clusters,
    value: Floats,
    units: tuple[Floats, Floats],
    entries: list[tuple[Indices, Indices]],
    rows: list[list[Floats]],
) -> ShareEstimates:
    """Add up the rows of each cluster before squaring."""
    everything = np.arange(len(value))
    cells = [[CellRows(everything, at[side], rows[side][g]) for g, at in enumerate(entries)] for side in range(2)]
    found = Influence(value, units, (cells[0], cells[1]))
    return clustered_covariance(found, clusters, rests=Rests(units, np.minimum.outer(*(np.maximum(*units),) * 2)))


def _add_seen(
    table: ScoreTable,
    kernel: Kernel,
    seen: Seen,
    entries: list[tuple[Indices, Indices]],
    rows: list[list[Floats]],
    own: slice,
) -> ShareEstimates:
    """Write the influences of one view; return its shares, with what their sides add to the variance."""
    view, levels, pairs, smooth = seen
    moved = table.viewed(view)
    top = moved.above(dict(zip(table.groups, levels)))
    found = influences(top, pairs, kernel)
    if top.clusters is None:
        part = independent_covariance(found, top, independent_units(top, pairs, 1))
        scales = [np.sqrt(small_sample_factor(units)) for units in part.units]
    else:
        part = clustered_covariance(found, top.clusters)
        scales = [np.ones(len(pairs)), np.ones(len(pairs))]  # clusters are scaled when they are added up
    cuts = threshold_cuts(moved, top, pairs, found, kernel, smooth) if smooth else []
    inside = [scores >= level for level, scores in zip(levels, view)]
    positive, negative = (
        [np.where(up, c.positive if side == 0 else c.negative, 0) for up, c in zip(inside, table.counts)]
        for side in range(2)
    )
    placed = placements(view, positive, negative, kernel, entries)
    for k, pair in enumerate(pairs):
        value, p, n = found.value[k], found.weight[0][k], found.weight[1][k]
        for side, (groups, others) in enumerate((pair, pair[::-1])):
            for g in groups:
                there = entries[g][side]
                with np.errstate(divide="ignore", invalid="ignore"):  # shares without pairs are NaN, and refused later
                    shares = (placed.beaten, placed.lost)[side][g][list(others)].sum(axis=0) / (n, p)[side]
                    added = scales[side][k] * (shares - value) / (p, n)[side]
                rows[side][g][own.start + k] += np.where(inside[g][there], added, 0.0)
    _add_thresholds(cuts, inside, entries, rows, own)
    return part


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
