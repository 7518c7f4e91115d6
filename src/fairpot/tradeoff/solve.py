"""Several groups with a strength each: tables of what every two of them do to each other.

The gap of two groups, and what their pairs add to the AUC, depend on these two groups' strengths alone; the pairs
inside a group on one. So there is a table for every two groups and a row for every group, and the best combination of
strengths is the least sum, or the least maximum, over all of them.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fairpot._defaults import Ties
from fairpot.transport import Floats

Places = NDArray[np.intp]
# Gives the scores that a group's entries have at a strength.
Mover = Callable[[float], Floats]
Pair = tuple[int, int]
ROUND_OFF = 1e-12
# Up to so many combinations are all looked at; beyond, a descent begins at so many, and takes so many rounds at most.
_ALL, _STARTS, _ROUNDS = 1_000_000, 64, 20
# What a value or two that are not allowed cost in a descent: more than all else together.
_FORBIDDEN = 1e6
# Levels times states that are looked up together: what a processor keeps at hand.
_CELLS = 2**16


class Entries(NamedTuple):
    """A group's entries: their outcomes, those among them that count for gaps, and what a strength makes of them."""

    positive: Floats
    negative: Floats
    counted: tuple[Floats, Floats]
    values: Floats  # of its dial, ascending; one value: the group stays
    move: Mover
    show: Mover  # the scores themselves, where ``move`` gives others in the same order
    still: int = 0  # the place in ``values`` at which nothing is asked


class Found(NamedTuple):
    """A combination of places in the groups' lists of values, with its AUC and its largest gap."""

    places: tuple[int, ...]
    auc: float
    gap: float
    worth: float


@dataclass(frozen=True, eq=False)
class Tables:
    """What chosen values of every group do: pairs won inside, and of every two groups the gap and the pairs won."""

    places: list[Places]
    inside: list[Floats]
    gap: dict[Pair, Floats]  # inf where scores tie that should not
    won: dict[Pair, Floats]
    benefit: list[Floats] | None = None

    def at(self, k: Sequence[int] | Places) -> tuple[float, float, float]:
        """Look up AUC, largest gap and worth of a combination."""
        auc = sum(u[i] for u, i in zip(self.inside, k)) + sum(t[k[g], k[h]] for (g, h), t in self.won.items())
        gap = max(t[k[g], k[h]] for (g, h), t in self.gap.items())
        worth = auc if self.benefit is None else sum(u[i] for u, i in zip(self.benefit, k))
        return float(auc), float(gap), float(worth)

    def found(self, k: Sequence[int] | Places) -> Found:
        """Name a combination by the places in the groups' own lists."""
        return Found(tuple(int(at[i]) for at, i in zip(self.places, k)), *self.at(k))

    def best(self, bound: float) -> Found | None:
        """Find the combination that is worth most with all gaps within a bound."""
        if self.benefit is None:
            single, pair = [-u for u in self.inside], {k: -t for k, t in self.won.items()}
        else:
            single, pair = [-u for u in self.benefit], {k: np.zeros_like(t) for k, t in self.won.items()}
        allowed = {k: np.where(self.gap[k] <= bound + ROUND_OFF, t, np.inf) for k, t in pair.items()}
        k = solve(single, allowed)
        return None if k is None else self.found(k)

    def least(self) -> Found | None:
        """Find the combination with the smallest largest gap."""
        k = solve([np.zeros(len(u)) for u in self.inside], self.gap, largest=True)
        return None if k is None else self.found(k)

    def least_for(self, auc: float) -> Found | None:
        """Find the smallest largest gap with at least some AUC: halve the bound, each time for the highest AUC."""
        plain = self if self.benefit is None else Tables(self.places, self.inside, self.gap, self.won)
        floor, found = plain.least(), plain.best(np.inf)
        if floor is None or found is None or found.auc < auc - ROUND_OFF:
            return None
        if floor.auc >= auc - ROUND_OFF:
            return floor
        low, high = floor.gap, found.gap
        while high - low > 1e-5:
            middle = plain.best((low + high) / 2)
            if middle is not None and middle.auc >= auc - ROUND_OFF:
                found, high = middle, middle.gap
            else:
                low = (low + high) / 2
        return found


def tabulate(
    groups: Sequence[Entries],
    places: Sequence[Places],
    ties: Ties,
    *,
    shy: float = 0.0,
    threshold: float | None = None,
) -> Tables:
    """Count every two groups at every two of the chosen values.

    Where ``shy`` is above 0, two groups that are moved differently must not tie, nor nearly so; with a threshold net
    benefit is what counts.
    """
    half = 0.5 if ties == "half" else 0.0
    states = [np.stack([g.move(float(g.values[k])) for k in at]) for g, at in zip(groups, places)]
    values = [g.values[at] for g, at in zip(groups, places)]
    total = sum(g.positive.sum() for g in groups) * sum(g.negative.sum() for g in groups)
    inside = [_inside(g, each, half) / total for g, each in zip(groups, states)]
    rounded = [np.round(each / shy) if shy else each for each in states]
    pairs = counted = _crossed([np.stack((g.positive, g.negative)) for g in groups], rounded, half)
    if any(g.counted[0] is not g.positive for g in groups):
        counted = _crossed([np.stack(g.counted) for g in groups], rounded, half)
    gap, won = {}, {}
    for g, h in itertools.combinations(range(len(groups)), 2):
        over, under, _ = pairs[g, h]
        won[g, h] = (over + under) / total
        a, b = groups[g].counted, groups[h].counted
        over, under, tied = counted[g, h]
        gap[g, h] = np.abs(over / (a[0].sum() * b[1].sum()) - under / (b[0].sum() * a[1].sum()))
        if shy:
            gap[g, h][(tied > 0) & (np.subtract.outer(values[g], values[h]) != 0)] = np.inf
    benefit = None
    if threshold is not None:
        odds, rows = threshold / (1 - threshold), sum(g.positive.sum() + g.negative.sum() for g in groups)
        acted = [np.stack([g.show(float(v)) for v in at]) >= threshold for g, at in zip(groups, values)]
        benefit = [(at @ g.positive - odds * (at @ g.negative)) / rows for g, at in zip(groups, acted)]
    return Tables(list(places), inside, gap, won, benefit)


def _inside(group: Entries, states: Floats, half: float) -> Floats:
    """Count the pairs won inside a group at every state; one may tie its entries."""

    def won(positive: Floats, negative: Floats) -> float:
        return float(positive @ (negative.cumsum() - (1 - half) * negative))

    found = np.full(len(states), won(group.positive, group.negative))
    for k in np.flatnonzero((states[:, 1:] <= states[:, :-1]).any(axis=1)):
        levels, at = np.unique(states[k], return_inverse=True)
        found[k] = won(*(np.bincount(at, w, len(levels)).astype(float) for w in (group.positive, group.negative)))
    return found


def _crossed(weights: Sequence[Floats], states: Sequence[Floats], half: float) -> dict[Pair, Floats]:
    """Count the pairs that a group wins over another, loses to it and ties with it, at every two states.

    Who has more states is looked up among the scores of all others, in some of their states at a time.
    """
    order = sorted(range(len(states)), key=lambda g: -len(states[g]))
    columns = [(place, row) for place, g in enumerate(order) if place for row in states[g]]
    size = max(int(np.sqrt(_CELLS * len(columns) / sum(len(row) for _, row in columns))), 1)
    seen: dict[int, list[Floats]] = {g: [] for g in order}
    for first in range(0, len(columns), size):
        block = columns[first : first + size]
        levels, below = _below([weights[order[place]] for place, _ in block], [row for _, row in block])
        for g in order[: block[-1][0]]:
            seen[g].append(_won(weights[g], states[g], levels, below, half))
    found = {}
    for place, g in enumerate(order[:-1]):
        after = order[place + 1 :]
        ends = np.cumsum([0, *(len(states[h]) for h in after)])
        counted = np.concatenate(seen[g], axis=2)[:, :, -ends[-1] :]
        for h, low, high in zip(after, ends, ends[1:]):
            won, lost, tied = counted[:, :, low:high]
            found[g, h], found[h, g] = np.stack((won, lost, tied)), np.stack((lost.T, won.T, tied.T))
    return found


def _below(weights: Sequence[Floats], states: Sequence[Floats]) -> tuple[Floats, Floats]:
    """Return the levels of some states, and what lies below each: columns for the states' positives, then negatives."""
    many = len(states)
    levels, at = np.unique(np.concatenate(states), return_inverse=True)
    cell = 2 * many * (at + 1) + np.repeat(np.arange(many), [len(row) for row in states])
    most = 2 * many * (len(levels) + 1)
    both = [np.bincount(cell + k * many, np.concatenate([w[k] for w in weights]), most) for k in (0, 1)]
    return levels, (both[0] + both[1]).reshape(-1, 2 * many).cumsum(axis=0)


def _won(g: Floats, states: Floats, levels: Floats, below: Floats, half: float) -> Floats:
    """Count the pairs that a group wins, loses and ties at every state of its own, beside some states of others."""
    many = below.shape[1] // 2
    found = np.zeros((3, len(states), many))
    for k, state in enumerate(states):  # one by one, as what is below all of them would take memory
        low = np.searchsorted(levels, state)
        meets = levels.take(low, mode="clip") == state
        lower = below.take(low, axis=0)  # quicker than an index
        less = g @ lower
        found[0, k], found[1, k] = less[0, many:], g[1].sum() * below[-1, :many] - less[1, :many]
        if meets.any():
            ties = below.take(low + meets, axis=0) - lower
            equal = g @ ties
            found[0, k] += half * equal[0, many:]
            found[1, k] -= (1 - half) * equal[1, :many]
            # Odds of 0 or 1 stay, and tie for good.
            met = np.where(np.isfinite(state), g.sum(axis=0), 0.0) @ ties
            found[2, k] = met[:many] + met[many:]
    return found


def solve(single: Sequence[Floats], pair: dict[Pair, Floats], *, largest: bool = False) -> Places | None:
    """Minimise the sum, or the largest, of costs; inf forbids. None: nothing is allowed, or was found.

    Few combinations are all looked at. Of more, a descent from many starts finds a good one.

    Examples
    --------
    >>> one, other = np.array([0.0, 1.0]), np.array([2.0, 0.0])
    >>> solve([one, other], {(0, 1): np.array([[0.0, 9.0], [0.0, 0.0]])})
    array([1, 1])
    """
    kept = _with_partners(single, pair)
    if not all(len(k) for k in kept):
        return None
    unary = [u[k].astype(float) for u, k in zip(single, kept)]
    both = {(g, h): t[np.ix_(kept[g], kept[h])].astype(float) for (g, h), t in pair.items()}
    if np.prod([len(k) for k in kept], dtype=float) <= _ALL:
        every = _everything(unary, both, largest)
        best = np.unravel_index(int(np.argmin(every)), every.shape)
        found = np.array(best, dtype=np.intp) if np.isfinite(every[best]) else None
    else:
        found = _descend(unary, both, largest)
    return None if found is None else np.array([kept[g][k] for g, k in enumerate(found)], dtype=np.intp)


def _with_partners(single: Sequence[Floats], pair: dict[Pair, Floats]) -> list[Places]:
    """Keep the values that have a partner in every other group."""
    alive, before = [np.isfinite(u) for u in single], -1
    while before != (before := sum(int(a.sum()) for a in alive)):
        for (g, h), t in pair.items():
            ok = np.isfinite(t) & alive[g][:, None] & alive[h][None, :]
            alive[g], alive[h] = np.asarray(ok.any(axis=1)), np.asarray(ok.any(axis=0))
    return [np.flatnonzero(a) for a in alive]


def _everything(unary: list[Floats], both: dict[Pair, Floats], largest: bool) -> Floats:

    def along(values: Floats, *axes: int) -> Floats:
        return values.reshape([len(u) if g in axes else 1 for g, u in enumerate(unary)])

    total = np.full([len(u) for u in unary], -np.inf if largest else 0.0)
    for part in [*(along(u, g) for g, u in enumerate(unary)), *(along(t, g, h) for (g, h), t in both.items())]:
        (np.maximum if largest else np.add)(total, part, out=total)
    return total


def _descend(unary: list[Floats], both: dict[Pair, Floats], largest: bool) -> Places | None:
    """Give group after group its best value beside the others', from many starts, until none helps."""
    join, rng = np.maximum if largest else np.add, np.random.default_rng(0)
    unary, both = [np.minimum(u, _FORBIDDEN) for u in unary], {k: np.minimum(t, _FORBIDDEN) for k, t in both.items()}
    places = np.stack([rng.integers(len(u), size=_STARTS) for u in unary])
    places[:, 0] = [int(np.argmin(u)) for u in unary]
    for _ in range(_ROUNDS):
        before = places.copy()
        for g, u in enumerate(unary):
            beside = [t[:, places[b]].T if a == g else t[places[a]] for (a, b), t in both.items() if g in (a, b)]
            places[g] = np.argmin(join.reduce([np.broadcast_to(u, (_STARTS, len(u))), *beside]), axis=1)
        if (places == before).all():
            break
    parts = [*(u[k] for u, k in zip(unary, places)), *(t[places[g], places[h]] for (g, h), t in both.items())]
    costs = join.reduce(parts)
    best = int(np.argmin(costs))
    return places[:, best].astype(np.intp) if costs[best] < _FORBIDDEN / 2 else None
