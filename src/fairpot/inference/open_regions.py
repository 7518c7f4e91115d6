"""Where the top alpha may begin along a dial, and what the gaps are in each of the regions that rows leave open."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from fairpot.counts import Indices
from fairpot.inference.candidates import Population, TooMany, open_note, regions
from fairpot.inference.limits import draw_errors, gap_limits
from fairpot.inference.region import RegionShares, Seen, TopRegion, estimate_seen
from fairpot.inference.shares import (
    GapEstimates,
    Kernel,
    Pairs,
    ShareEstimates,
    View,
    all_pairs,
    cross_pairs,
)
from fairpot.metrics.wins import cross_half_wins
from fairpot.table import ScoreTable
from fairpot.transport import Floats

# Part of the error that is spent on regions that are not looked at.
_SPENT = 0.1
# Gaps whose errors are drawn together, and numbers that are kept for them; beyond, every value pays its own part.
_TOGETHER = 600
_NUMBERS = 30_000_000
# Gaps of one moved table, of all pairs in all their open regions; with more, nothing is certified there.
_MOST = 120


class Limits(NamedTuple):
    """Lower and upper limits, one for each value of a dial."""

    low: Floats
    high: Floats


@dataclass(frozen=True, eq=False)
class OpenRegions:
    """The moved tables of a dial whose top alpha may begin at one of several scores."""

    table: ScoreTable
    kernel: Kernel
    views: tuple[View, ...]  # the scores of the table's entries in each distinct moved table
    populations: tuple[tuple[Population, ...], ...]  # the thresholds of each
    which: Indices  # which of them belongs to each value of the dial

    @classmethod
    def of(
        cls, table: ScoreTable, kernel: Kernel, views: Sequence[View], found: Sequence[tuple[Population, ...]]
    ) -> OpenRegions:
        """Keep each distinct moved table once."""
        keys = [b"".join(np.ascontiguousarray(scores).tobytes() for scores in view) for view in views]
        first = {key: k for k, key in reversed(list(enumerate(keys)))}
        places = sorted(first.values())
        number = {keys[k]: i for i, k in enumerate(places)}
        which = np.array([number[key] for key in keys], dtype=np.intp)
        return cls(table, kernel, tuple(views[k] for k in places), tuple(found[k] for k in places), which)

    @property
    def distinct(self) -> int:
        """How many different moved tables there are."""
        return len(self.views)

    def at(self, places: Indices) -> OpenRegions:
        """Keep some values of the dial."""
        kept, which = np.unique(self.which[places], return_inverse=True)
        views, found = tuple(self.views[k] for k in kept), tuple(self.populations[k] for k in kept)
        return OpenRegions(self.table, self.kernel, views, found, which)

    def limits(self, tail: float) -> tuple[Limits, Limits]:
        """Limit AUC and largest gap at each value, in all regions that the rows leave open there."""
        found = np.array([self._limits(k, tail) for k in range(self.distinct)])[self.which]
        return Limits(found[:, 0], found[:, 1]), Limits(found[:, 2], found[:, 3])

    def shares_at(self, place: int) -> tuple[RegionShares, RegionShares]:
        """Give AUC, and both directions of every pair, at one value."""
        return self._shares[self.which[place]]

    def _limits(self, k: int, tail: float) -> tuple[float, float, float, float]:
        auc, cross = self._shares[k]
        [low], [high] = auc.limits(tail)
        return float(low), float(high), *gap_limits(GapEstimates.side_by_side(cross), tail)

    @cached_property
    def _shares(self) -> list[tuple[RegionShares, RegionShares]]:
        pairs = (all_pairs(self.table), *cross_pairs(self.table))
        result = []
        for view, found in zip(self.views, self.populations):
            region = TopRegion(self.table.viewed(view), self.kernel, found)
            own = region.estimate(pairs)
            shares = RegionShares(own.value, own.covariance, own.variance, own.units, pairs=pairs, region=region)
            result.append((shares.take([0]), shares.take(range(1, len(pairs)))))
        return result

    def certified(self, bound: float, delta: float) -> NDArray[np.bool_]:
        """Mark the values whose gaps are within a bound in every region that the rows leave open."""
        if delta not in self._listed:
            self._listed[delta] = self.hypotheses(delta)
        return self._listed[delta].certified(bound, delta)[self.which]

    @cached_property
    def _listed(self) -> dict[float, Hypotheses]:
        return {}

    def hypotheses(self, delta: float) -> Hypotheses:
        """List the gaps of every distinct moved table in every region that the rows leave open.

        The regions hold the true ones of all tables but a tenth of ``delta`` of the time.
        """
        miss = _SPENT * delta / self.distinct
        wanted = [self._wanted(k, miss) for k in range(self.distinct)]
        pairs = len(self.table.groups) * (len(self.table.groups) - 1) // 2
        size = sum(len(each or ()) for each in wanted)
        entries = sum(len(c.score) for c in self.table.counts)
        if size <= _TOGETHER and size * entries * 4 <= _NUMBERS:
            return self._together(wanted, pairs)
        gaps = tuple(None if each is None else _gaps(estimate_seen(self.table, self.kernel, each)) for each in wanted)
        return Hypotheses(gaps, None, pairs)

    def _together(self, wanted: list[list[Seen] | None], pairs: int) -> Hypotheses:
        listed = [seen for each in wanted for seen in each or ()]
        if not listed:
            return Hypotheses((None,) * self.distinct, None, pairs)
        shares = estimate_seen(self.table, self.kernel, listed)
        ends = np.cumsum([len(each or ()) for each in wanted])
        parts = [np.arange(2 * (end - len(each or ())), 2 * end) for each, end in zip(wanted, ends)]
        gaps = tuple(None if each is None else _gaps(shares.take(p)) for each, p in zip(wanted, parts))
        kept = [k for k, each in enumerate(gaps) if each is not None]
        if not kept:
            return Hypotheses(gaps, None, pairs)
        all_gaps = GapEstimates.side_by_side(shares.take(np.concatenate([parts[k] for k in kept])))
        drawn = draw_errors(all_gaps.covariance) * np.where(all_gaps.value < 0, -1.0, 1.0)
        errors = np.full((len(drawn), self.distinct), -np.inf)
        starts = np.cumsum([0, *(len(parts[k]) // 2 for k in kept)])
        for k, start, end in zip(kept, starts, starts[1:]):
            errors[:, k] = drawn[:, start:end].max(axis=1)
        return Hypotheses(gaps, errors, pairs)

    def _wanted(self, k: int, miss: float) -> list[Seen] | None:
        """List what is to be estimated of one moved table: both directions of each pair in each region."""
        view, everyone = self.views[k], self.populations[k]
        region = TopRegion(self.table, self.kernel, everyone)
        both = cross_pairs(self.table)
        smooth = tuple(p for p in everyone if not p.coarse)
        result = []
        for pair in zip(both[::2], both[1::2]):
            found = region.rests_on(pair)
            try:
                sets = regions(found, miss / len(everyone))
            except TooMany:
                return None
            result += [
                Seen(view, region.levels(found, places), tuple(pair), smooth) for places in itertools.product(*sets)
            ]
        return result if len(result) <= _MOST else None

    def extremes(self, rows: ScoreTable, views: Sequence[View], delta: float) -> tuple[Floats, Floats]:
        """Give each pair's smallest and largest signed gap of other rows, in the regions left open by these.

        ``views`` are the scores of the other rows' entries at every value. The results have a row for each pair and a
        column for each value; NaN where there are too many regions.
        """
        miss = _SPENT * delta / self.distinct
        both = cross_pairs(self.table)
        result = np.full((2, len(both) // 2, self.distinct), np.nan)
        bare = rows.weighing((c.positive, c.negative) for c in rows.counts)
        for k, first in enumerate(np.unique(self.which, return_index=True)[1]):
            wanted = self._wanted(k, miss)
            if wanted is not None:
                moved = bare.viewed(views[first])
                gaps: dict[Pairs, list[float]] = {pair: [] for pair in both[::2]}
                for seen in wanted:
                    gaps[seen.pairs[0]].append(_signed(moved, seen.levels, seen.pairs[0], self.kernel))
                result[:, :, k] = [[end(found) for found in gaps.values()] for end in (np.min, np.max)]
        return result[0][:, self.which], result[1][:, self.which]

    def said(self, place: int) -> str | None:
        """Say why the region at a value is open; None if the rows leave one only."""
        return open_note(self.populations[self.which[place]])


def _gaps(shares: ShareEstimates) -> GapEstimates | None:
    """Give the gaps of some shares, if each rests on enough rows."""
    return GapEstimates.side_by_side(shares) if shares.enough else None


def _signed(moved: ScoreTable, levels: Sequence[float], pair: Pairs, kernel: Kernel) -> float:
    """Count the gap of two groups among the rows at or above their thresholds."""
    assert kernel != "equal"
    [g], [h] = pair
    first, second = (moved.counts[k].above(levels[k]) for k in (g, h))
    won, lost = cross_half_wins(first, second, kernel)
    pairs = (
        float(one.positive.sum()) * float(other.negative.sum()) for one, other in ((first, second), (second, first))
    )
    ahead, behind = (float(w) / p if p else np.nan for w, p in zip((won, lost), pairs))
    return (ahead - behind) / 2


class Hypotheses(NamedTuple):
    """Gaps of each distinct moved table in its open regions (None: refused), and draws of the largest error of each."""

    gaps: tuple[GapEstimates | None, ...]
    errors: Floats | None
    pairs: int

    def certified(self, bound: float, delta: float) -> NDArray[np.bool_]:
        """Mark the moved tables whose gaps are within a bound in all open regions, by step-down over all tables.

        Only the true region of a table can be wrong: no table pays for the number of its regions.
        """
        delta *= 1 - _SPENT
        tested = np.array([each is not None for each in self.gaps])
        certified = np.zeros(len(self.gaps), dtype=bool)
        while (tested & ~certified).any():
            left = tested & ~certified
            least = delta / (self.pairs * int(left.sum()))
            tail = least
            if self.errors is not None:
                critical = float(np.quantile(self.errors[:, left].max(axis=1), 1 - delta))
                tail = float(np.clip(ndtr(-critical), least, delta))
            inside = left.copy()
            for k in np.flatnonzero(left):
                gaps = self.gaps[k]
                assert gaps is not None
                low, high = gaps.limits(tail)
                inside[k] = (low >= -bound).all() and (high <= bound).all()
            if not inside.any():
                break
            certified |= inside
        return certified
