"""Shares of pairs and their covariance: placements, what each row adds, and rows that belong together."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fairpot._defaults import FEWEST, Ties
from fairpot._validation import wording
from fairpot.counts import Clusters, Counts, GroupCounts, Indices
from fairpot.inference.limits import Parts, difference_limits, exceeding_tail, fold, share_limits
from fairpot.table import ScoreTable
from fairpot.transport import Floats


class Pairs(NamedTuple):
    """Places of the groups whose positives, and of those whose negatives, are compared."""

    winners: tuple[int, ...]
    losers: tuple[int, ...]


def all_pairs(table: ScoreTable) -> Pairs:
    """Give the pairs of the AUC: everyone against everyone."""
    everyone = tuple(range(len(table.groups)))
    return Pairs(everyone, everyone)


def cross_pairs(table: ScoreTable) -> list[Pairs]:
    """List both directions of every two groups, side by side: [a over b, b over a, a over c, c over a, ...]."""
    found = []
    for i, j in itertools.combinations(range(len(table.groups)), 2):
        found += [Pairs((i,), (j,)), Pairs((j,), (i,))]
    return found


def inside(place: int) -> Pairs:
    """Give the pairs of one group's own AUC."""
    return Pairs((place,), (place,))


class Merged(NamedTuple):
    """The entries of all groups in one order: places by group, and where runs of equal scores begin and end."""

    place: list[Indices]
    first: list[Indices]
    last: list[Indices]
    distinct: int

    @classmethod
    def of(cls, scores: Sequence[Floats]) -> Merged:
        """Sort the scores of all groups, which may come in any order."""
        every = np.concatenate(scores)
        order = np.argsort(every, kind="stable")  # groups mostly come sorted: this merges their runs
        ranked, place = every.take(order), np.empty(len(every), dtype=np.intp)
        place[order] = np.arange(len(every))
        new = ranked[1:] != ranked[:-1]
        ends = np.concatenate(([0], np.flatnonzero(new) + 1, [len(every)]))
        level = place if len(ends) > len(every) else np.concatenate(([0], np.cumsum(new))).take(place)
        cuts = np.cumsum([len(s) for s in scores])[:-1]
        places, first, last = (np.split(each, cuts) for each in (place, ends.take(level), ends.take(level + 1)))
        return cls(places, first, last, len(ends) - 1)

    def running(self, counts: Sequence[Counts]) -> Counts:
        """Sum the weights of each group along the order, from 0 on."""
        size = sum(len(place) for place in self.place)
        total = np.zeros((len(counts), size + 1), dtype=np.result_type(*counts))
        for row, place, own in zip(total, self.place, counts):
            row[1:][place] = own
        return np.cumsum(total, axis=1, out=total)


def _placements(
    table: ScoreTable, scores: Sequence[Floats], kernel: Ties, at: Sequence[tuple[Indices, Indices]]
) -> tuple[list[Floats], list[Floats]]:
    """Place the positives and the negatives of each group, at some of its entries, among the entries of all groups.

    ``beaten[g][h]`` is the weight of h's negatives that each positive entry of g beats, ``lost[g][h]`` that of
    h's positives that beat each negative entry of g.
    """
    merged = Merged.of(scores)
    below, above = (
        merged.running(side).astype(np.float64)
        for side in ([c.negative for c in table.counts], [c.positive for c in table.counts])
    )
    beaten, lost = [], []
    for first, last, (plus, minus) in zip(merged.first, merged.last, at):
        low, high = (below.take(edge[plus], axis=1) for edge in (first, last))
        beaten.append(low if kernel == "strict" else (low + high) / 2)
        low, high = (above.take(edge[minus], axis=1) for edge in (first, last))
        lost.append(above[:, -1:] - (high if kernel == "strict" else (low + high) / 2))
    return beaten, lost


def outcome_entries(table: ScoreTable) -> list[tuple[Indices, Indices]]:
    """Give, for each group, the entries that have positives and those that have negatives."""
    return [(np.flatnonzero(c.positive > 0), np.flatnonzero(c.negative > 0)) for c in table.counts]


# The score of every entry of every group: as they are in the table, or as a map leaves them.
View = Sequence[Floats]


class CellRows(NamedTuple):
    """The influences of one cell (group and label): ``values[i]`` belongs to share ``shares[i]``, at ``entries``."""

    shares: Indices
    entries: Indices
    values: Floats


@dataclass(frozen=True, eq=False)
class Influence:
    """Shares and the influence of each entry on them, cell by cell: ``cells[side][group]``, positives first."""

    value: Floats
    weight: tuple[Floats, Floats]  # positives and negatives that each share rests on
    cells: tuple[list[CellRows], list[CellRows]]


def own_scores(table: ScoreTable) -> list[Floats]:
    """Give the view in which every entry has the score it has in the table."""
    return [c.score for c in table.counts]


def influences(
    table: ScoreTable, pairs: Sequence[Pairs], kernel: Ties = "half", views: Sequence[View] | None = None
) -> Influence:
    """Compute shares and influences in each view; share k of view v stands at place ``v * len(pairs) + k``."""
    views = [own_scores(table)] if views is None else views
    totals = [each.astype(np.float64) for each in (table.positives, table.negatives)]
    p, n = (np.array([own[list(pair[side])].sum() for pair in pairs]) for side, own in enumerate(totals))
    weight = np.tile(p, len(views)), np.tile(n, len(views))
    raw: list[list[list[tuple[int, Floats]]]] = [[[] for _ in table.groups] for _ in range(2)]
    at = outcome_entries(table)
    for v, view in enumerate(views):
        placed = _placements(table, view, kernel, at)
        for k, pair in enumerate(pairs):
            for side, (own, others) in enumerate((pair, pair[::-1])):
                for g in own:
                    found = placed[side][g]
                    found = found[others[0]] if len(others) == 1 else found[list(others)].sum(axis=0)
                    raw[side][g].append((v * len(pairs) + k, found))
    won = np.zeros(len(weight[0]))
    for counts, (there, _), found_by in zip(table.counts, at, raw[0]):
        positive = counts.positive[there].astype(np.float64)
        for place, beaten in found_by:
            won[place] += np.dot(positive, beaten)
    count = weight[0] * weight[1]
    value = np.divide(won, count, out=np.full(len(won), np.nan), where=count > 0)
    cells = tuple(
        [_cell(found_by, own[side], value, weight[side], weight[1 - side]) for found_by, own in zip(raw[side], at)]
        for side in range(2)
    )
    return Influence(value, weight, (cells[0], cells[1]))


def _cell(found: list[tuple[int, Floats]], entries: Indices, value: Floats, own: Floats, other: Floats) -> CellRows:
    """Turn weights beaten into influences: (share of the other side - X) / weight of the own side."""
    shares = np.array([place for place, _ in found], dtype=np.intp)
    rows = np.empty((len(found), len(entries)))
    with np.errstate(divide="ignore", invalid="ignore"):  # shares without pairs are NaN, and refused later
        for row, (place, beaten) in zip(rows, found):
            np.divide(beaten, other[place], out=row)
            row -= value[place]
            row /= own[place]
    return CellRows(shares, entries, rows)


@dataclass(frozen=True, eq=False)
class ShareEstimates:
    """Several shares (AUC, xAUCs, ...) and the covariance of their errors."""

    value: Floats
    covariance: Floats
    variance: tuple[Floats, Floats]  # what the positives, and what the negatives, add to the variance
    units: tuple[Floats, Floats]  # how many independent positives, and negatives, each share rests on
    # Why a share has no honest limits for another reason than its units; empty if none has one.
    refused: tuple[str | None, ...] = ()

    def __len__(self) -> int:
        return len(self.value)

    @property
    def se(self) -> Floats:
        """Standard errors."""
        return np.sqrt(np.maximum(np.diag(self.covariance), 0.0))

    def take(self, places: Sequence[int] | np.ndarray) -> ShareEstimates:
        """Keep some of the shares."""
        at = np.asarray(places, dtype=np.intp)
        (v, w), (m, n) = self.variance, self.units
        refused = tuple(self.refused[k] for k in at) if self.refused else ()
        return ShareEstimates(self.value[at], self.covariance[np.ix_(at, at)], (v[at], w[at]), (m[at], n[at]), refused)

    @property
    def enough(self) -> bool:
        """Whether every share rests on enough independent rows for an interval."""
        return bool(min(units.min() for units in self.units) >= FEWEST - 1e-9)

    def fewest(self, many: int) -> ShareEstimates:
        """Give, of shares that come ``many`` for each view, those of the view with the fewest units."""
        views = np.arange(len(self)).reshape(-1, many)
        least = int(np.argmin(np.minimum(*self.units)[views].min(axis=1)))
        return self.take(views[least])

    def with_values(self, value: Floats) -> ShareEstimates:
        """Put exact values in the place of those that the covariance was computed with."""
        return replace(self, value=np.asarray(value, dtype=np.float64), refused=())

    def parts(self) -> Parts:
        """Give what the limits of each share are computed from."""
        return Parts(self.value, np.diag(self.covariance), self.variance, self.units)

    def limits(self, tail: float | Floats) -> tuple[Floats, Floats]:
        """Compute a lower and an upper limit of each share, each wrong with probability ``tail``."""
        return share_limits(self.parts(), tail)

    def difference_limits(self, first: Indices, second: Indices, tail: float | Floats) -> tuple[Floats, Floats]:
        """Compute limits of differences of two shares each, each wrong with probability ``tail``."""
        parts = self.parts()
        return difference_limits(parts.take(first), parts.take(second), self.covariance[first, second], tail)

    def sizes_above(
        self, first: Indices, second: Indices, bound: float, delta: float, share: float
    ) -> NDArray[np.bool_]:
        """Mark the differences whose size is above a bound, each wrong with probability ``delta`` times ``share``."""
        gaps = GapEstimates(self, first, second)
        tails = np.array([exceeding_tail(bound, se, delta) for se in gaps.se]) * share
        return np.asarray(fold(*self.difference_limits(first, second, tails))[0] > bound)


@dataclass(frozen=True, eq=False)
class GapEstimates:
    """Differences of two shares each: signed gaps."""

    shares: ShareEstimates
    first: np.ndarray
    second: np.ndarray

    @classmethod
    def side_by_side(cls, shares: ShareEstimates) -> GapEstimates:
        """Take shares as pairs of neighbours: [a over b, b over a, a over c, c over a, ...]."""
        places = np.arange(len(shares))
        return cls(shares, places[::2], places[1::2])

    def __len__(self) -> int:
        return len(self.first)

    @property
    def value(self) -> Floats:
        """Signed gaps."""
        return np.asarray(self.shares.value[self.first] - self.shares.value[self.second])

    @property
    def covariance(self) -> Floats:
        """Covariance of the signed gaps."""
        c, i, j = self.shares.covariance, self.first, self.second
        return np.asarray(c[np.ix_(i, i)] + c[np.ix_(j, j)] - c[np.ix_(i, j)] - c[np.ix_(j, i)])

    @property
    def se(self) -> Floats:
        """Standard errors of the signed gaps."""
        return np.sqrt(np.maximum(np.diag(self.covariance), 0.0))

    def take(self, places: Sequence[int] | np.ndarray) -> GapEstimates:
        """Keep some of the gaps."""
        at = np.asarray(places, dtype=np.intp)
        return GapEstimates(self.shares, self.first[at], self.second[at])

    def limits(self, tail: float | Floats) -> tuple[Floats, Floats]:
        """Compute limits of each signed gap, each wrong with probability ``tail``."""
        return self.shares.difference_limits(self.first, self.second, tail)

    def above(self, bound: float, delta: float, share: float = 1.0) -> NDArray[np.bool_]:
        """Mark the gaps that are larger than a bound, each wrong with probability ``delta`` times ``share``."""
        return self.shares.sizes_above(self.first, self.second, bound, delta, share)


def average(parts: Sequence[ShareEstimates]) -> ShareEstimates:
    """Average the shares of independent folds: mean, and covariance sum / K^2."""
    folds = len(parts)
    value = np.mean([p.value for p in parts], axis=0)
    covariance = np.sum([p.covariance for p in parts], axis=0) / folds**2
    variance = [np.sum([p.variance[side] for p in parts], axis=0) / folds**2 for side in range(2)]
    units = [np.sum([p.units[side] for p in parts], axis=0) for side in range(2)]
    return ShareEstimates(value, covariance, (variance[0], variance[1]), (units[0], units[1]))


# Sums of clusters kept at a time, clusters times shares: about 100 megabytes.
_SUMS = 12_000_000


def clustered_covariance(found: Influence, clusters: Clusters, rests: Rests | None = None) -> ShareEstimates:
    """Add up the squares of the clusters' sums, and what a cluster's positives and negatives have in common.

    With I10 clusters that have positives, I01 that have negatives and I in all, the squares of the two sides are
    scaled by I10 / (I10 - 1) and I01 / (I01 - 1), their products by I / (I - 1), as in Obuchowski's formula.
    ``rests`` says how many clusters there are where it is known.
    """
    size = len(found.value)
    rests = Rests.of(found, clusters) if rests is None else rests
    own, shared = [np.zeros((size, size)) for _ in range(2)], np.zeros((size, size))
    step = max(_SUMS // max(size, 1), 1)
    for first in range(0, clusters.size, step):
        some = slice(first, min(first + step, clusters.size))
        sums = _cluster_sums(found, clusters, some)
        for side in range(2):
            own[side] += sums[side].T @ sums[side]
        shared += sums[0].T @ sums[1]
    apart = of_sides(found.value, own, rests.units)
    both = (shared + shared.T) * small_sample_factor(rests.in_either)
    return replace(apart, covariance=apart.covariance + both)


def _cluster_sums(found: Influence, clusters: Clusters, some: slice) -> tuple[Floats, Floats]:
    """Sum weight times influence over the positives, and over the negatives, of some clusters, for each share."""
    from scipy.sparse import csr_array

    many = some.stop - some.start
    sums = np.zeros((2, many, len(found.value)))
    here = _rows_of(clusters, some)
    for side, group in itertools.product(range(2), range(len(found.cells[0]))):
        cell = found.cells[side][group]
        own = here[(clusters.positive[here] == (side == 0)) & (clusters.group[here] == group)]
        if len(own) == 0 or len(cell.shares) == 0:
            continue
        places = clusters.unit[own] - some.start, np.searchsorted(cell.entries, clusters.entry[own])
        spread = csr_array((clusters.weight[own], places), shape=(many, len(cell.entries)))
        sums[side][:, cell.shares] += spread @ np.ascontiguousarray(cell.values.T)
    return sums[0], sums[1]


def _rows_of(clusters: Clusters, some: slice) -> Indices:
    if some == slice(0, clusters.size):
        return np.arange(len(clusters.unit))
    return np.flatnonzero((clusters.unit >= some.start) & (clusters.unit < some.stop))


class Rests(NamedTuple):
    """How many clusters each share rests on, by side, and each two shares together."""

    units: tuple[Floats, Floats]
    in_either: Floats

    @classmethod
    def of(cls, found: Influence, clusters: Clusters) -> Rests:
        """Count once for all shares that rest on the same groups."""
        sides: list[list[list[int]]] = [[[] for _ in found.value] for _ in range(2)]
        for side, group in itertools.product(range(2), range(len(found.cells[0]))):
            for share in found.cells[side][group].shares:
                sides[side][share].append(group)
        keys = [(tuple(a), tuple(b)) for a, b in zip(*sides)]
        kinds = list(dict.fromkeys(keys))
        place = np.array([kinds.index(key) for key in keys])
        found_by = [[_clusters_in(clusters, side, kind[side]) for kind in kinds] for side in range(2)]
        m, n = (np.array([units for _, units in own])[place] for own in found_by)
        there = [np.stack([hit for hit, _ in own], axis=1) for own in found_by]
        either = (there[0] | there[1]).astype(np.float64)
        both = either.T @ either
        own = np.diag(both)
        return cls((m, n), (own[:, None] + own[None, :] - both)[np.ix_(place, place)])


def _clusters_in(clusters: Clusters, side: int, groups: Sequence[int]) -> tuple[NDArray[np.bool_], float]:
    """Mark the clusters that have rows in some cells; count them, or how many equally weighted ones they are worth."""
    rows = np.flatnonzero((clusters.positive == (side == 0)) & np.isin(clusters.group, groups))
    count = np.bincount(clusters.unit[rows], minlength=clusters.size)
    hit = count > 0
    if not clusters.importance:
        return hit, float(hit.sum())
    weight = np.bincount(clusters.unit[rows], weights=clusters.weight[rows], minlength=clusters.size)
    mean = weight[hit] / count[hit]
    return hit, float(mean.sum() ** 2 / (mean**2).sum()) if len(mean) else 0.0


def estimate_shares(
    table: ScoreTable, pairs: Sequence[Pairs], kernel: Ties = "half", views: Sequence[View] | None = None
) -> ShareEstimates:
    """Estimate shares and their covariance; share k of view v stands at place ``v * len(pairs) + k``.

    For rows of weight one it is DeLong's covariance exactly.
    """
    return covariance_of(influences(table, pairs, kernel, views), table, pairs)


def covariance_of(found: Influence, table: ScoreTable, pairs: Sequence[Pairs]) -> ShareEstimates:
    """Add up the squares of rows, or of clusters where rows belong together."""
    if table.clusters is not None:
        return clustered_covariance(found, table.clusters)
    size = len(found.value)
    parts, units = [], []
    for side in range(2):
        squares = [table.squared(g, side == 0) for g in range(len(table.groups))]
        sums = np.array([float(each.sum()) for each in squares])
        square = np.tile([sums[list(pair[side])].sum() for pair in pairs], size // len(pairs))
        # How many equally weighted rows the side of a share is worth: W^2 / sum of w^2.
        units.append(np.divide(found.weight[side] ** 2, square, out=np.zeros(size), where=square > 0))
        part = np.zeros((size, size))
        for cell, own in zip(found.cells[side], squares):
            if len(cell.shares):
                weighted = cell.values * own[cell.entries].astype(np.float64)
                part[np.ix_(cell.shares, cell.shares)] += weighted @ cell.values.T
        parts.append(part)
    return of_sides(found.value, parts, units)


def of_sides(value: Floats, parts: Sequence[Floats], units: Sequence[Floats]) -> ShareEstimates:
    """Add up what the positives and the negatives add to a covariance, scaled for few units."""
    factors = [np.sqrt(small_sample_factor(each)) for each in units]
    first, second = (part * np.outer(factor, factor) for part, factor in zip(parts, factors))
    sides = np.diag(first).copy(), np.diag(second).copy()
    return ShareEstimates(value, first + second, sides, (units[0], units[1]))


def small_sample_factor(units: Floats) -> Floats:
    """Give m / (m - 1); NaN for a single unit, whose spread cannot be seen."""
    return np.divide(units, units - 1, out=np.full(units.shape, np.nan), where=units > 1)


# Entries to keep for each class of each group.
ENTRIES = 1000


def merge_entries(table: ScoreTable, entries: int = ENTRIES) -> ScoreTable:
    """Merge neighbouring scores of each group, so that each run holds at most 1 / ``entries`` of either class.

    A single score of more than that stays alone. Entries are known by the mean of their scores.
    """
    places = [_merged_runs(c, entries) for c in table.counts]
    if all(len(first) == len(c.score) for first, c in zip(places, table.counts)):
        return table
    merged = []
    for counts, first in zip(table.counts, places):
        weight = counts.weight.astype(np.float64)
        mean = np.add.reduceat(weight * counts.score, first) / np.add.reduceat(weight, first)
        merged.append(counts.merged(first, mean))
    return replace(table, counts=tuple(merged))


def _merged_runs(counts: GroupCounts, entries: int) -> Indices:
    """Give the place at which each run begins: where either class passes another 1 / ``entries`` of its weight."""
    if len(counts.score) <= 2 * entries:
        return np.arange(len(counts.score))
    change = np.zeros(len(counts.score) - 1, dtype=bool)
    for weight in (counts.positive, counts.negative):
        middle = np.cumsum(weight) - weight / 2
        change |= np.diff((middle * (entries / max(float(weight.sum()), 1e-300))).astype(np.intp)) != 0
    return np.concatenate(([0], np.flatnonzero(change) + 1))


def why_not(table: ScoreTable, pairs: Sequence[Pairs], found: ShareEstimates, top: float | None = None) -> str | None:
    """Say which cell has too few independent rows for an interval; None if all have enough."""
    for k, pair in enumerate(pairs):
        if found.refused and found.refused[k] is not None:
            return found.refused[k]
        for side, what in enumerate(("with the outcome", "without the outcome")):
            units = float(found.units[side][k])
            # A hair of round-off: five weights of 0.1 are worth five rows.
            if units < FEWEST - 1e-9:
                return _said(table, pair[side], units, what, top)
    return None


def _said(table: ScoreTable, places: tuple[int, ...], units: float, what: str, top: float | None) -> str:
    counted = f"{'row' if table.clusters is None else 'cluster'}{'' if units == 1 else 's'} {what}"
    number = "no" if units == 0 else f"{units:.3g}"
    one = len(places) == 1 and len(table.groups) > 1
    who = f"group {table.groups[places[0]]!r} has" if one else f"there {'is' if units == 1 else 'are'}"
    return f"{who} {number} {counted}{wording.in_top(top)}, and with fewer than {FEWEST} there is no interval"
