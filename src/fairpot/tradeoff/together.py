"""The search for a strength each of several groups, on sorted lists of values.

It begins with a few values of each list and few entries of each group, solves the tables of these, and looks
closer around what it found.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from functools import cached_property

import numpy as np

from fairpot._defaults import Ties
from fairpot.tradeoff.solve import ROUND_OFF, Entries, Found, Places, Tables, tabulate
from fairpot.transport import Floats

# What is looked for in tables, near a bound within a width.
Asked = Callable[[Tables, float], list[Found | None]]
# Values of each list in the first tables, by number of groups.
_FIRST = {2: 201, 3: 81, 4: 41, 5: 31, 6: 25, 7: 21, 8: 17}
_FIRST_OF_MANY = 13
# Rounds: on which entries, and by what the first step is divided; then steps of 1, 4, 16, ... of the lists, 2, 8, ...
_ROUNDS = ((0, 1), (0, 4), (1, 16), (1, 64), (2, 64))
_BASES = (1, 2, 3, 5)
_AROUND, _MOST_ROUNDS, _GAIN = 4, 30, 2e-6
# How much beyond a bound is looked at as well: what is just outside may come inside.
_SLACK = 0.02
# Sweeps along the lists at last: how many, and how many values of one list, and of two, spread and to either side.
_SWEEPS, _SWEPT = 3, ((401, 20), (41, 6))
# The same for one list of many groups, and after how many rounds without a gain their search ends.
_SWEPT_OF_MANY, _STALE_OF_MANY = (81, 8), 2
# Of more groups than this every second node of a path is searched for, and the others are those next to them; and a
# search ends sooner.
_FEW = 4


class Search:
    """Groups with a dial each, of which one stays.

    ``detail`` has the same groups with few entries, with more, and whole. Groups that are nearer than ``shy`` must not
    be moved differently. With a ``threshold`` net benefit takes the place of AUC. With ``capped``, an AUC above that
    of the groups as they are counts as equal to it.
    """

    def __init__(
        self,
        detail: Sequence[Sequence[Entries]],
        ties: Ties,
        *,
        shy: float = 0.0,
        threshold: float | None = None,
        capped: bool = False,
    ) -> None:
        self.detail, self.ties, self.shy, self.threshold, self.capped = detail, ties, shy, threshold, capped

    def count(self, places: Sequence[Places], level: int = -1, *, shy: bool = True) -> Tables:
        """Count every two groups at every two places."""
        return tabulate(self.detail[level], places, self.ties, shy=self.shy if shy else 0.0, threshold=self.threshold)

    @cached_property
    def still(self) -> Found:
        """Where nothing is asked of any group."""
        k = [g.still for g in self.detail[-1]]
        return self.count([np.array([i]) for i in k], shy=False).found([0] * len(k))

    @cached_property
    def end(self) -> Found:
        """The smallest largest gap; of equals the highest AUC."""
        nearest = [np.array([at[int(np.argmin(gap))]]) for at, gap in self._alone]
        upper = min(self.still.gap, self.count(nearest, 0).at([0] * len(nearest))[1])

        def ask(tables: Tables, width: float) -> list[Found | None]:
            floor = tables.least()
            return [floor, floor and tables.best(floor.gap)]

        found = self._closer(self._first(upper), ask, lambda f: -f.gap)
        return min([*found, self.still], key=lambda f: (f.gap, -f.auc))

    @property
    def _enough(self) -> float:
        return self.still.worth if self.capped else np.inf

    def path(self, shares: Floats) -> list[Found]:
        """Find the best for bounds at shares of the way from the gap as it is to the smallest."""
        nodes = [self.end]
        tables = self.count(self._first(self.still.gap), 0)
        for place, share in enumerate(shares[-2:0:-1]):
            bound = max(self.still.gap + share * (self.end.gap - self.still.gap), self.end.gap)
            if nodes[-1].worth >= self._enough:  # as good as can be: go no further than the bound asks
                straight = self._straight(float(share))
                good = straight.gap <= bound + ROUND_OFF and straight.worth >= self._enough
                nodes.append(straight if good else nodes[-1])
                continue
            if len(self.detail[-1]) > _FEW and place % 2:
                nodes.append(nodes[-1])
                continue
            near = [f for f in (tables.best(bound), nodes[-1]) if f is not None]
            found = [f for f in self._refined(near, bound) if f.gap <= bound + ROUND_OFF]
            nodes.append(max([*found, nodes[-1]], key=lambda f: min(f.worth, self._enough)))
        return [self.still, *nodes[::-1]]

    def _straight(self, share: float) -> Found:
        """Go a share of the straight way from where nothing is asked to the smallest gap."""
        ends = np.array(self.still.places), np.array(self.end.places)
        places = (ends[0] + share * (ends[1] - ends[0])).round().astype(np.intp)
        return self.count([np.array([k]) for k in places]).found([0] * len(places))

    def highest(self, bound: float) -> Found | None:
        """Find what is worth most within a bound; None if no combination keeps it."""
        if self.end.gap > bound + ROUND_OFF:
            return None

        def ask(tables: Tables, width: float) -> list[Found | None]:
            inside = tables.best(bound)
            near = tables.best(bound + _SLACK * width) if width else None
            return [inside, near] if inside is not None else [near, tables.least()]

        def worth(f: Found) -> float:
            return min(f.worth, self._enough) if f.gap <= bound + ROUND_OFF else -10 - f.gap

        found = [f for f in self._closer(self._first(bound + _SLACK), ask, worth) if f.gap <= bound + ROUND_OFF]
        return max([*found, self.end], key=lambda f: (min(f.worth, self._enough), -f.gap))

    def cheapest(self, auc: float) -> Found | None:
        """Find the smallest largest gap with at least some AUC."""

        def ask(tables: Tables, width: float) -> list[Found | None]:
            return [tables.least_for(auc), tables.least_for(auc - _SLACK * width / 10), tables.best(np.inf)]

        def worth(f: Found) -> float:
            return -f.gap if f.auc >= auc - ROUND_OFF else f.auc - 10

        # Where the groups as they are have that AUC, no gap above theirs is worth a look.
        widest = self.still.gap if self.still.auc >= auc - ROUND_OFF else 1.0
        found = self._closer(self._first(widest), ask, worth)
        kept = [f for f in [self.still, *found] if f.auc >= auc - ROUND_OFF]
        return min(kept, key=lambda f: (f.gap, -f.auc), default=None)

    @cached_property
    def _alone(self) -> list[tuple[Places, Floats]]:
        """Give each group's gap with the one that stays, at up to 401 values."""
        groups = self.detail[0]
        fixed = next(g for g in groups if len(g.values) == 1)
        out = []
        for g in groups:
            at = np.unique(np.append(np.linspace(0, len(g.values) - 1, 401).round().astype(np.intp), g.still))
            gap = np.zeros(1)
            if g is not fixed:
                both = tabulate([fixed, g], [np.array([0]), at], self.ties, shy=self.shy)
                gap = both.gap[0, 1][0]
            out.append((at, gap))
        return out

    def _first(self, bound: float) -> list[Places]:
        """Give values at which the gap with the group that stays is within the bound, and their neighbours."""
        many, places = _FIRST.get(len(self.detail[-1]), _FIRST_OF_MANY), []
        for g, (at, gap) in zip(self.detail[-1], self._alone):
            inside = np.flatnonzero(gap <= max(bound, gap.min()) + ROUND_OFF)
            low, high = at[max(inside[0] - 1, 0)], at[min(inside[-1] + 1, len(at) - 1)]
            spread = np.linspace(low, high, many).round().astype(np.intp)
            places.append(np.unique(np.r_[spread, at[int(np.argmin(gap))], g.still if low <= g.still <= high else low]))
        return places

    def _closer(self, places: list[Places], ask: Asked, worth: Callable[[Found], float]) -> list[Found]:
        """Solve; look closer around all that was found, on more entries; then near and far, until none helps."""
        first = [max(int(np.diff(at).max()), 1) if len(at) > 1 else 1 for at in places]
        found: dict[tuple[int, ...], Found] = {}
        new: list[Found] = []
        best, stale = -np.inf, 0
        enough = len(_BASES) if len(first) <= _FEW else _STALE_OF_MANY
        for n in range(len(_ROUNDS) + _MOST_ROUNDS):
            level, parts = _ROUNDS[n] if n < len(_ROUNDS) else (2, None)
            width = 1 / parts if parts else (0.1, 0.02, 0.0)[n % 3]
            if n:
                near = [np.concatenate([f.places[g] + _jumps(n, parts, s) for f in new]) for g, s in enumerate(first)]
                places = [np.unique(at[(at >= 0) & (at < len(g.values))]) for at, g in zip(near, self.detail[-1])]
            new = list({f.places: f for f in ask(self.count(places, level), width) if f is not None}.values()) or new
            if not new:
                break
            if level == 2:
                found |= {f.places: f for f in new}
                now = max(map(worth, found.values()))
                stale, best = (0 if now > best + _GAIN else stale + (parts is None)), max(now, best)
                if stale == enough:
                    break
        return list(self._swept(found, ask, worth).values())

    def _swept(
        self, found: dict[tuple[int, ...], Found], ask: Asked, worth: Callable[[Found], float]
    ) -> dict[tuple[int, ...], Found]:
        """Look along the whole list of every group, and of few groups every two, beside what the others have."""
        moved = [g for g, group in enumerate(self.detail[-1]) if len(group.values) > 1]
        several = itertools.combinations(moved, 2) if len(moved) < _FEW else ()
        subsets = [*((g,) for g in moved), *several]
        for _ in range(_SWEEPS if found else 0):
            start = best = max(found.values(), key=worth)
            for subset in subsets:
                wide, near = _SWEPT[len(subset) - 1] if len(moved) < _FEW else _SWEPT_OF_MANY
                places = [np.array([k]) for k in best.places]
                for g in subset:
                    last = len(self.detail[-1][g].values) - 1
                    spread = np.linspace(0, last, wide).round().astype(np.intp)
                    around = best.places[g] + np.arange(-near, near + 1)
                    places[g] = np.unique(np.r_[spread, around[(around >= 0) & (around <= last)]])
                for each in ask(self.count(places, 2), 0.0):
                    if each is not None:
                        found[each.places] = each
                        best = each if worth(each) > worth(best) + ROUND_OFF else best
            if worth(best) <= worth(start) + _GAIN:
                break
        return found

    def _refined(self, near: list[Found], bound: float) -> list[Found]:
        """Look closer around some combinations, once and on some entries: a node need not be the very best."""
        if not near:
            return []
        steps = _jumps(0, 16, max(len(g.values) for g in self.detail[-1]) // 64 + 1)
        around = [np.unique(np.concatenate([f.places[g] + steps for f in near])) for g in range(len(self.detail[-1]))]
        places = [at[(at >= 0) & (at < len(g.values))] for at, g in zip(around, self.detail[-1])]
        found = self.count(places, 0).best(bound)
        return [] if found is None else [found]


def _jumps(n: int, parts: int | None, step: int) -> Places:
    """Give steps to either side: even ones of a part of the first, or near and far ones at once."""
    if parts is not None:
        return np.arange(-_AROUND, _AROUND + 1) * max(step // parts, 1)
    far = np.array([k for k in _BASES[n % len(_BASES)] * 4 ** np.arange(12) if k <= max(step, 4)], dtype=np.intp)
    return np.r_[-far, 0, far]
