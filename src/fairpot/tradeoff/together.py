"""Own dials: a place on the dial for each moved group, found together.

How often one group is ranked above another depends on the dials of these two alone. So the wins of every two groups are
tabulated once, at some places of each dial, and any combination of places is judged by looking its pairs up. The search
goes group by group and keeps the combinations that can still be the best; then the places are spread more finely around
what was found, again and again.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fairpot._defaults import Ties
from fairpot.counts import GroupCounts
from fairpot.inference.shares import merge_entries
from fairpot.metrics.wins import inner_half_wins
from fairpot.table import ScoreTable
from fairpot.transport import Floats

# From a place of a group's dial to the scores of its entries there.
Mover = Callable[[float], Floats]
# From a group's place in the table and the scores of its entries to their mover.
Movers = Callable[[int, Floats], Mover]
Combinations = NDArray[np.intp]

# Entries of the tables that the search begins and ends with; a group has up to twice as many.
_ENTRIES, _FINE_ENTRIES = 150, 1000
# Places of a dial, alone beside the group that stays, and beside all others where there are few groups or many.
_ALONE = 201
# ... and up to this gap above the smallest, as many more.
_NEAR = 0.1
_BESIDE = ((4, 41), (6, 25), (10, 15))
_BESIDE_MANY = 9
# Combinations kept from one group to the next.
_KEPT = 4000
# Places around what was found, how often they are spread more finely, and how often they follow it sideways.
_AROUND, _ROUNDS, _SIDEWAYS = 9, 5, 4
# The same where many points of a curve are looked for.
_QUICK = 5, 2, 2
# What an excess over a bound costs while the places are still coarse; AUC falls more slowly than the gap.
_PRICE, _PRICE_OF_AUC = 2.0, 50.0
_ROUND_OFF = 1e-12
_STARTS = 3


class Aim(NamedTuple):
    """What is looked for: the highest AUC with gaps within ``bound``; without a bound the smallest gap.

    Neither at an AUC below ``least``. An AUC above ``enough`` counts as equal to it.
    """

    bound: float | None = None
    least: float = -np.inf
    enough: float = np.inf

    def worth(self, auc: Floats, gap: Floats) -> Floats:
        """Rate combinations, what they exceed taken off: never too low where AUC or gap are only bounds."""
        short = _PRICE_OF_AUC * np.maximum(self.least - auc, 0.0)
        if self.bound is None:
            return np.asarray(-gap - short)
        return np.asarray(np.minimum(auc, self.enough) - _PRICE * np.maximum(gap - self.bound, 0.0) - short)

    def keeps(self, auc: Floats, gap: Floats) -> NDArray[np.bool_]:
        """Mark the combinations that exceed nothing."""
        within = auc >= self.least - _ROUND_OFF
        return within if self.bound is None else within & (gap <= self.bound + _ROUND_OFF)


class Found(NamedTuple):
    """Places of all groups with their AUC and largest gap."""

    places: Floats
    auc: float
    gap: float


@dataclass(frozen=True, eq=False)
class PairTables:
    """What every two groups do to each other at some places of their dials."""

    places: tuple[Floats, ...]
    inside: tuple[Floats, ...]  # what the pairs inside each group add to the AUC
    gaps: dict[tuple[int, int], NDArray[np.float64]]  # absolute gap of groups g < h at places i, j ...
    auc: dict[tuple[int, int], NDArray[np.float64]]  # ... and what their pairs add to the AUC

    @classmethod
    def of(
        cls, counts: Sequence[GroupCounts], movers: Sequence[Mover], places: Sequence[Floats], ties: Ties
    ) -> PairTables:
        """Count every two groups at every two places."""
        states = [np.stack([move(float(u)) for u in at]) for move, at in zip(movers, places)]
        total = sum(float(c.positive.sum()) for c in counts) * sum(float(c.negative.sum()) for c in counts)
        inside = tuple(np.array([_inside(c, s, ties) for s in each]) / total for c, each in zip(counts, states))
        gaps, auc = {}, {}
        for g, h in itertools.combinations(range(len(counts)), 2):
            won, lost = _cross(counts[g], states[g], counts[h], states[h], ties)
            auc[g, h] = (won + lost) / total
            pairs = _pairs(counts[g], counts[h])
            gaps[g, h] = np.abs(won / pairs[0] - lost / pairs[1])
        return cls(tuple(places), inside, gaps, auc)

    def best(self, aim: Aim, still: Floats) -> list[Combinations]:
        """Find the best combinations: first that which keeps the aim, if any does, then others by their worth."""
        chosen, auc, gap = self._complete(aim)
        moved = sum(np.abs(self.places[g][chosen[:, g]] - still[g]) for g in range(len(self.places)))
        order = np.lexsort((np.round(moved, 12), -np.round(aim.worth(auc, gap), 13)))
        keeps = aim.keeps(auc, gap)[order]
        first = order[keeps][:1] if keeps.any() else order[:0]
        return [chosen[k] for k in dict.fromkeys([*first.tolist(), *order.tolist()])]

    def measure(self, chosen: Combinations) -> tuple[float, float]:
        """Look up AUC and largest gap of one combination."""
        auc = sum(float(each[i]) for each, i in zip(self.inside, chosen))
        auc += sum(float(table[chosen[g], chosen[h]]) for (g, h), table in self.auc.items())
        return auc, max(float(table[chosen[g], chosen[h]]) for (g, h), table in self.gaps.items())

    def _complete(self, aim: Aim) -> tuple[Combinations, Floats, Floats]:
        """Add group after group, keeping the combinations that can still become the best."""
        order = sorted(range(len(self.places)), key=lambda g: len(self.places[g]))
        chosen: Combinations = np.empty((1, 0), dtype=np.intp)
        auc: Floats = np.zeros(1)
        gap: Floats = np.zeros(1)
        for step, g in enumerate(order):
            areas = auc[:, None] + self.inside[g][None, :]
            gaps = np.repeat(gap[:, None], len(self.places[g]), axis=1)
            for k, h in enumerate(order[:step]):
                areas += self._table(self.auc, h, g)[chosen[:, k]]
                np.maximum(gaps, self._table(self.gaps, h, g)[chosen[:, k]], out=gaps)
            hope = areas + self._hope(order, step, chosen)
            kept = _largest(aim.worth(hope, gaps).ravel(), _KEPT)
            before, here = np.divmod(kept, len(self.places[g]))
            chosen = np.column_stack((chosen[before], here))
            auc, gap = areas.ravel()[kept], gaps.ravel()[kept]
        return chosen[:, np.argsort(order)], auc, gap

    def _table(self, tables: dict[tuple[int, int], NDArray[np.float64]], g: int, h: int) -> NDArray[np.float64]:
        return tables[g, h] if g < h else tables[h, g].T

    def _hope(self, order: list[int], step: int, chosen: Combinations) -> NDArray[np.float64]:
        """Give the most that the groups still to come can add to the AUC."""
        g, later = order[step], order[step + 1 :]
        hope = np.zeros((len(chosen), len(self.places[g])))
        for other in later:
            hope += self.inside[other].max() + self._table(self.auc, g, other).max(axis=1)
            for k, h in enumerate(order[:step]):
                hope += self._table(self.auc, h, other).max(axis=1)[chosen[:, k], None]
        for one, other in itertools.combinations(later, 2):
            hope += self._table(self.auc, one, other).max()
        return hope


def _largest(worth: Floats, most: int) -> Combinations:
    if len(worth) <= most:
        return np.arange(len(worth))
    return np.asarray(np.argpartition(-worth, most)[:most], dtype=np.intp)


def _pairs(g: GroupCounts, h: GroupCounts) -> tuple[float, float]:
    p, n = float(g.positive.sum()), float(g.negative.sum())
    q, m = float(h.positive.sum()), float(h.negative.sum())
    return p * m, q * n


def _inside(counts: GroupCounts, scores: Floats, ties: Ties) -> float:
    return float(inner_half_wins(counts.rescored(scores), ties)) / 2


def _cross(
    g: GroupCounts, states_g: Floats, h: GroupCounts, states_h: Floats, ties: Ties
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Count the pairs won by g over h and by h over g, at every two of their states."""
    if len(states_g) > len(states_h):
        won, lost = _cross(h, states_h, g, states_g, ties)
        return lost.T, won.T
    _, ranks = np.unique(np.concatenate((states_g.ravel(), states_h.ravel())), return_inverse=True)
    ranks_g, ranks_h = ranks[: states_g.size].reshape(states_g.shape), ranks[states_g.size :].reshape(states_h.shape)
    size = len(states_g), int(ranks.max()) + 1
    flat = (ranks_g + size[1] * np.arange(size[0])[:, None]).ravel()
    half = 0.5 if ties == "half" else 0.0
    positive, negative = (
        np.bincount(flat, np.tile(outcome, size[0]), size[0] * size[1]).reshape(size)
        for outcome in (g.positive, g.negative)
    )
    above = positive[:, ::-1].cumsum(axis=1)[:, ::-1] - (1 - half) * positive  # won over someone of each rank
    below = negative.cumsum(axis=1) - (1 - half) * negative
    won = above.take(ranks_h, axis=1) @ h.negative
    lost = below.take(ranks_h, axis=1) @ h.positive
    return won, lost


@dataclass(frozen=True, eq=False)
class Together:
    """Groups with a dial each, of which one stays.

    Parameters
    ----------
    table : ScoreTable
        Labelled, both outcomes in every group.
    movers : function
        Gives the mover of a group's entries.
    reach : sequence of arrays
        Ascending places that each group's dial may take; the group that stays has one.
    still : array of shape (groups,)
        Where nothing is asked of each dial.
    ties : {"half", "strict"}
    """

    table: ScoreTable
    movers: Movers
    reach: tuple[Floats, ...]
    still: Floats
    ties: Ties

    @cached_property
    def _small(self) -> tuple[tuple[GroupCounts, ...], list[Mover]]:
        return self._entries(_ENTRIES)

    @cached_property
    def _fine(self) -> tuple[tuple[GroupCounts, ...], list[Mover]]:
        return self._entries(_FINE_ENTRIES)

    def _entries(self, size: int) -> tuple[tuple[GroupCounts, ...], list[Mover]]:
        plain = [GroupCounts(c.score, c.positive, c.negative) for c in self.table.for_pairs().counts]
        counts = merge_entries(ScoreTable(self.table.groups, tuple(plain)), size).counts
        return counts, [self.movers(g, c.score) for g, c in enumerate(counts)]

    @cached_property
    def _alone(self) -> list[tuple[Floats, Floats]]:
        """Give places of each group and its gap with the group that stays, finer where the gap is small."""
        found = []
        for g, reach in enumerate(self.reach):
            places = reach
            if g == self.fixed:
                found.append((reach, np.zeros(len(reach))))
                continue
            gap = self._gap_alone(g, places)
            if len(places) >= _ALONE:
                near = np.flatnonzero(np.abs(gap) <= np.abs(gap).min() + _NEAR)
                low, high = places[max(near[0] - 1, 0)], places[min(near[-1] + 1, len(places) - 1)]
                places = np.union1d(places, np.append(np.linspace(low, high, _ALONE), self.still[g]))
                gap = self._gap_alone(g, places)
            found.append((places, gap))
        return found

    @cached_property
    def fixed(self) -> int:
        """The place of the group that stays."""
        return next(g for g, reach in enumerate(self.reach) if len(reach) == 1)

    def _gap_alone(self, g: int, places: Floats) -> Floats:
        (counts, movers), fixed = self._small, self.fixed
        states = np.stack([movers[g](float(u)) for u in places])
        stays = movers[fixed](float(self.still[fixed]))
        won, lost = _cross(counts[fixed], stays[None, :], counts[g], states, self.ties)
        pairs = _pairs(counts[fixed], counts[g])
        return np.asarray(won[0] / pairs[0] - lost[0] / pairs[1])

    def coarse(self, limit: float) -> PairTables:
        """Tabulate places at which no gap with the group that stays is above a limit by much."""
        places = [self._within(g, limit) for g in range(len(self.reach))]
        return PairTables.of(*self._small, places, self.ties)

    def _within(self, g: int, limit: float) -> Floats:
        places, gap = self._alone[g]
        if g == self.fixed:
            return places
        gap = np.abs(gap)
        inside = np.flatnonzero(gap <= max(limit, gap.min()) + _ROUND_OFF)
        low, high = max(inside[0] - 1, 0), min(inside[-1] + 1, len(places) - 1)
        most = next((most for groups, most in _BESIDE if len(self.reach) <= groups), _BESIDE_MANY)
        if high - low < most + most // 2:
            return places[low : high + 1]
        if len(self.reach[g]) < _ALONE:  # all there are: nothing lies between them
            return places[np.unique(np.linspace(low, high, most).round().astype(np.intp))]
        spread = np.linspace(places[low], places[high], most)
        return np.union1d(spread, self.still[g]) if places[low] <= self.still[g] <= places[high] else spread

    def closest_alone(self) -> float:
        """Bound the smallest possible largest gap from above: each group where it is closest to the one that stays."""
        nearest = [places[[int(np.argmin(np.abs(gap)))]] for places, gap in self._alone]
        return PairTables.of(*self._small, nearest, self.ties).measure(np.zeros(len(nearest), dtype=np.intp))[1]

    def at(self, places: Floats, *, whole: bool = False) -> tuple[float, float]:
        """Measure AUC and largest gap on the finer entries, or on the whole table."""
        entries = self._entries(max(len(c.score) for c in self.table.counts)) if whole else self._fine
        tables = PairTables.of(*entries, [np.array([u]) for u in places], self.ties)
        return tables.measure(np.zeros(len(places), dtype=np.intp))

    def find(self, aim: Aim, tables: PairTables | None = None, *, fine: bool = True) -> Found:
        """Find the best places for an aim; what is found may miss it where nothing keeps it."""
        if tables is None:
            tables = self.coarse(self.closest_alone() if aim.bound is None else aim.bound)
        starts: list[Combinations] = []
        for chosen in tables.best(aim, self.still):
            if all(np.abs(chosen - other).max() > 1 for other in starts):
                starts.append(chosen)
            if len(starts) == (_STARTS if fine else 1):
                break
        how = (_AROUND, _ROUNDS, _SIDEWAYS) if fine else _QUICK
        found = [self._closer(aim, tables, chosen, self._small, how) for chosen in starts]
        best = _better(aim, found)
        return self.polish(aim, best) if fine else best

    def polish(self, aim: Aim, found: Found) -> Found:
        """Look around what was found on the finer entries."""
        around = [self._around(g, float(u), float(u), float(u), _AROUND) for g, u in enumerate(found.places)]
        tables = PairTables.of(*self._fine, around, self.ties)
        return self._closer(aim, tables, tables.best(aim, self.still)[0], self._fine)

    def _closer(
        self,
        aim: Aim,
        tables: PairTables,
        chosen: Combinations,
        entries: tuple[tuple[GroupCounts, ...], list[Mover]],
        how: tuple[int, int, int] = (_AROUND, _ROUNDS, _SIDEWAYS),
    ) -> Found:
        """Spread places more and more finely around a combination; keep the best that was seen."""
        seen, (many, rounds, sideways) = [self._found(tables, chosen)], how
        for _ in range(rounds):
            for _ in range(sideways):
                around = [self._neighbours(tables.places[g], int(k), g, many) for g, k in enumerate(chosen)]
                finer = PairTables.of(*entries, around, self.ties)
                best = finer.best(aim, self.still)
                seen.append(self._found(finer, best[0]))
                place = max(best[:2], key=lambda each: float(aim.worth(*map(np.asarray, finer.measure(each)))))
                ends = [len(at) > 1 and k in (0, len(at) - 1) for at, k in zip(around, place)]
                tables, chosen = finer, place
                if not any(ends):
                    break
            if all(len(at) == 1 or np.ptp(at) <= 1e-9 * max(np.ptp(r), 1e-300) for at, r in zip(around, self.reach)):
                break
        return _better(aim, seen)

    def _found(self, tables: PairTables, chosen: Combinations) -> Found:
        return Found(np.array([at[k] for at, k in zip(tables.places, chosen)]), *tables.measure(chosen))

    def _neighbours(self, places: Floats, k: int, g: int, many: int) -> Floats:
        low, high = places[max(k - 1, 0)], places[min(k + 1, len(places) - 1)]
        return self._around(g, float(low), float(places[k]), float(high), many)

    def _around(self, g: int, low: float, place: float, high: float, many: int) -> Floats:
        """Spread places between two neighbours of one; a place at an end has room beyond it."""
        reach = self.reach[g]
        if len(reach) == 1:
            return reach
        if len(reach) < _ALONE:  # all there are: nothing lies between them
            k = int(np.argmin(np.abs(reach - place)))
            return reach[max(k - many // 2, 0) : k + many // 2 + 1]
        step = max(high - place, place - low) or (reach[-1] - reach[0]) / 400
        spread = np.linspace(max(place - step, reach[0]), min(place + step, reach[-1]), many)
        return np.union1d(spread, place)


def _better(aim: Aim, found: Sequence[Found]) -> Found:
    """Choose what keeps the aim, then by its worth; of equals the first."""
    return max(found, key=lambda each: (_keeps(aim, each), _worth(aim, each)))


def _keeps(aim: Aim, found: Found) -> bool:
    return bool(aim.keeps(np.asarray(found.auc), np.asarray(found.gap)))


def _worth(aim: Aim, found: Found) -> float:
    return round(float(aim.worth(np.asarray(found.auc), np.asarray(found.gap))), 13)
