"""Where the top alpha may begin along a dial, and what the gaps are in each of the regions that rows leave open."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from fairpot.counts import Indices
from fairpot.inference.candidates import Population, TooMany, regions
from fairpot.inference.limits import draw_errors, gap_limits
from fairpot.inference.region import RegionShares, Seen, TopRegion, estimate_seen
from fairpot.inference.shares import GapEstimates, Kernel, ShareEstimates, View, all_pairs, cross_pairs
from fairpot.table import ScoreTable
from fairpot.transport import Floats

# Part of the error that is spent on regions that are not looked at.
_SPENT = 0.1
# Gaps whose errors are drawn together, and numbers that are kept for them; beyond, every value pays its own part.
_TOGETHER = 600
_NUMBERS = 30_000_000
# Gaps of one moved table, of all pairs in all their open regions; with more, nothing is certified there.
_MOST = 120


@dataclass(frozen=True, eq=False)
class OpenTops:
    """The moved tables of a dial, in some of which many rows share the score at which the top begins."""

    table: ScoreTable
    views: tuple[View, ...]  # the scores of the table's entries in each distinct moved table
    regions: tuple[TopRegion, ...]  # where the top of each begins
    shares: tuple[RegionShares, ...]  # in each: its AUC, then both directions of every pair
    which: Indices  # which of them belongs to each value of the dial

    @classmethod
    def of(
        cls, table: ScoreTable, kernel: Kernel, views: Sequence[View], found: Sequence[tuple[Population, ...]]
    ) -> OpenTops:
        """Estimate in each distinct moved table once."""
        keys = [b"".join(np.ascontiguousarray(scores).tobytes() for scores in view) for view in views]
        distinct = list(dict.fromkeys(keys))
        first = [keys.index(key) for key in distinct]
        where = tuple(TopRegion(table.viewed(views[k]), kernel, found[k]) for k in first)
        shares = tuple(region.shares((all_pairs(table), *cross_pairs(table))) for region in where)
        which = np.array([distinct.index(key) for key in keys], dtype=np.intp)
        return cls(table, tuple(views[k] for k in first), where, shares, which)

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

    def hypotheses(self, delta: float) -> Hypotheses:
        """List the gaps of every distinct moved table in every region that the rows leave open.

        The regions hold the true ones of all tables but a tenth of ``delta`` of the time.
        """
        wanted = {k: self._wanted(k, _SPENT * delta / len(self.views)) for k in range(len(self.views))}
        wanted = {k: seen for k, seen in wanted.items() if seen}
        kernel, pairs = self.regions[0].kernel, len(self.shares[0]) // 2
        size = sum(map(len, wanted.values()))
        if size == 0 or size > _TOGETHER or size * sum(len(c.score) for c in self.table.counts) * 4 > _NUMBERS:
            alone = {k: estimate_seen(self.table, kernel, seen) for k, seen in wanted.items()}
            gaps = {k: GapEstimates.side_by_side(each) for k, each in alone.items() if each.enough}
            return Hypotheses(gaps, None, self.which, pairs)
        shares = estimate_seen(self.table, kernel, list(itertools.chain(*wanted.values())))
        ends = np.cumsum([2 * len(seen) for seen in wanted.values()])[:-1]
        places = dict(zip(wanted, np.split(np.arange(len(shares)), ends)))
        places = {k: own for k, own in places.items() if shares.take(own).enough}
        gaps = {k: GapEstimates.side_by_side(shares.take(own)) for k, own in places.items()}
        kept = shares.take(np.concatenate([*places.values(), []]))
        return Hypotheses(gaps, _largest_errors(kept, gaps), self.which, pairs)

    def _wanted(self, k: int, miss: float) -> list[Seen]:
        """List what is to be estimated of one moved table: each pair both ways in each region; nothing if too many."""
        region = self.regions[k]
        both = cross_pairs(self.table)
        smooth = tuple(p for p in region.populations if not p.coarse)
        result: list[Seen] = []
        for pair in zip(both[::2], both[1::2]):
            found = region.rests_on(pair)
            try:
                sets = regions(found, miss / len(region.populations))
            except TooMany:
                return []
            levels = [region.levels(found, places) for places in itertools.product(*sets)]
            result += [Seen(self.views[k], each, pair, smooth) for each in levels]
        return result if len(result) <= _MOST else []


def _limits(shares: RegionShares, tail: float) -> tuple[float, float, float, float]:
    [low], [high] = shares.take([0]).limits(tail)
    gaps = GapEstimates.side_by_side(shares.take(range(1, len(shares))))
    return float(low), float(high), *gap_limits(gaps, tail)


def _largest_errors(shares: ShareEstimates, gaps: dict[int, GapEstimates]) -> Floats | None:
    """Draw the errors that make gaps look smaller than they are; keep the largest of each moved table."""
    if not gaps:
        return None
    every = GapEstimates.side_by_side(shares)
    drawn = draw_errors(every.covariance) * np.where(every.value < 0, -1.0, 1.0)
    ends = np.cumsum([len(each) for each in gaps.values()])[:-1]
    return np.stack([own.max(axis=1) for own in np.split(drawn, ends, axis=1)], axis=1)


class Hypotheses(NamedTuple):
    """Gaps of each moved table that can be judged, in its open regions, and draws of the largest error in each."""

    gaps: dict[int, GapEstimates]
    errors: Floats | None  # None where they are too many to draw
    which: Indices
    pairs: int

    def certified(self, bound: float, delta: float) -> NDArray[np.bool_]:
        """Mark the values of the dial whose gaps are within a bound in all open regions, by step-down over all tables.

        Only the true region of a table can be wrong: no table pays for the number of its regions.
        """
        delta *= 1 - _SPENT
        left = np.ones(len(self.gaps), dtype=bool)
        while left.any():
            tail = least = delta / (self.pairs * int(left.sum()))
            if self.errors is not None:
                critical = float(np.quantile(self.errors[:, left].max(axis=1), 1 - delta))
                tail = float(np.clip(ndtr(-critical), least, delta))
            ends = [each.limits(tail) for each in self.gaps.values()]
            inside = left & [bool((low >= -bound).all() and (high <= bound).all()) for low, high in ends]
            if not inside.any():
                break
            left &= ~inside
        certified = [k for k, tested in zip(self.gaps, left) if not tested]
        return np.isin(self.which, certified)
