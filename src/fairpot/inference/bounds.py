"""What the gap of two groups could be if the rows whose group is unknown belonged to either: bounds."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from fairpot._defaults import Ties
from fairpot.counts import GroupCounts
from fairpot.transport import Floats

# With more pairs of cuts than these, some rows are taken at a time, and the bounds are wider by what that can change.
_MOST_CUTS = 30_000_000
_PARTS = 1000  # where rows weigh differently, parts of so much weight are given to either group, and not whole rows


@dataclass(frozen=True)
class _Side:
    """Rows with one outcome, ascending by score, and the weight of each."""

    score: Floats
    weight: Floats
    whole: bool = True  # whether a weight is that of a row

    @classmethod
    def of(cls, counts: GroupCounts, side: int, *, by_row: bool = False) -> _Side:
        """Take one side of a group; with ``by_row`` row by row, or in small parts where rows weigh differently."""
        weight = np.asarray((counts.positive, counts.negative)[side], dtype=np.float64)
        there = weight > 0
        score, weight = counts.score[there], weight[there]
        if not by_row or not len(weight):
            return cls(score, weight)
        rows, squares = counts.counted[side][there], counts.squared(side == 0).sum()
        even = rows.sum() * squares <= weight.sum() ** 2 * (1 + 1e-9)
        parts = rows if even else np.ceil(weight * (_PARTS / weight.sum()))
        parts = np.maximum(np.rint(parts).astype(np.int64), 1)
        return cls(np.repeat(score, parts), np.repeat(weight / parts, parts), bool(even))

    @property
    def total(self) -> float:
        return float(self.running[-1])

    @cached_property
    def running(self) -> Floats:
        """The weight of so many of the lowest rows."""
        return np.append(0.0, np.cumsum(self.weight))

    def below(self, scores: Floats, ties: Ties) -> tuple[Floats, Floats]:
        """Give the weight below some scores, and with what is equal to them; by strict ties the first, twice."""
        low = self.running[np.searchsorted(self.score, scores)]
        return low, low if ties == "strict" else self.running[np.searchsorted(self.score, scores, side="right")]

    def wins_over(self, other: _Side, ties: Ties, cuts: Floats | None = None) -> Floats:
        """Give what all rows win over another side, or over its lowest rows, which weigh so much as each cut."""
        cuts = np.array([other.total]) if cuts is None else cuts
        found = np.zeros(len(cuts))
        for below in other.below(self.score, ties):
            inside = np.searchsorted(below, cuts, side="right")
            whole = np.append(0.0, np.cumsum(self.weight * below))
            found += (whole[inside] + cuts * (self.total - self.running[inside])) / 2
        return found


def gap_bounds(
    first: GroupCounts, second: GroupCounts, unknown: GroupCounts, ties: Ties = "half"
) -> tuple[float, float]:
    """Bound the gap of a group over another by all ways to give unknown rows to either; NaN where none has pairs.

    The largest gap has the highest of the unknown rows with the outcome in the first group, and the lowest of those
    without it in the second: every pair of such cuts is tried. The bounds are exact where unknown rows weigh the same.
    Else a cut may go through a row, and they are wider by what that can change.
    """
    return -_largest(second, first, unknown, ties), _largest(first, second, unknown, ties)


def _largest(first: GroupCounts, second: GroupCounts, unknown: GroupCounts, ties: Ties) -> float:
    plus, minus = (_Side.of(unknown, side, by_row=True) for side in (0, 1))
    (plus_a, minus_a), (plus_b, minus_b) = ([_Side.of(c, side) for side in (0, 1)] for c in (first, second))
    step = int(np.ceil(np.sqrt(max(len(plus.score) * len(minus.score) / _MOST_CUTS, 1.0))))
    lowest, highest = minus.running, np.append(0.0, np.cumsum(plus.weight[::-1]))
    to_b = np.unique(np.append(lowest[::step], lowest[-1]))
    blocks = [slice(max(end - step, 0), end) for end in range(len(plus.score), 0, -step)]  # from the highest down

    def wins(side: _Side) -> tuple[Floats, Floats]:
        """Give what rows win in the first group, and in the second."""
        over = side.wins_over(minus, ties, to_b)
        others = side.wins_over(minus_a, ties) + side.wins_over(minus, ties)
        return side.wins_over(minus_b, ties) + over, others - over

    # Unknown rows with the outcome are in the second group at first, and go to the other block by block.
    won, lost = wins(plus_a)[0], wins(plus_b)[1] + wins(plus)[1]
    moved, best = 0, -np.inf
    for block in [slice(0, 0), *blocks]:
        went = _Side(plus.score[block], plus.weight[block])
        more, less = wins(went)
        won, lost = won + more, lost - less
        moved += len(went.score)
        weight_a, weight_b = plus_a.total + highest[moved], plus_b.total + (highest[-1] - highest[moved])
        with np.errstate(all="ignore"):
            gap = won / (weight_a * (minus_b.total + to_b)) - lost / (weight_b * (minus_a.total + to_b[-1] - to_b))
        best = max(best, float(gap[np.isfinite(gap)].max(initial=-np.inf)))
    if not np.isfinite(best):
        return np.nan
    # From any cut to the nearest that was tried, this weight changes sides at most.
    near = [
        float(np.diff(each[::step], append=each[-1]).max()) / 2 if step > 1 or not side.whole else 0.0
        for side, each in ((plus, highest), (minus, lowest))
    ]
    with np.errstate(divide="ignore"):
        best += sum(n / np.float64(s.total) for n, s in zip(near * 2, (plus_a, minus_a, plus_b, minus_b)) if n)
    return min(float(best), 1.0)
