"""The gap among everybody from an adjusted score on, at every value of a dial.

Where the top begins is found once for each value, by the maps that are delivered, and then held: what is promised is
about the people from that score on, not about the top of other rows. So ties at the cut do no harm, and cells are
counted in the top of all rows, however these are dealt to folds.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from fairpot._arguments import argument
from fairpot._defaults import Ties
from fairpot.exceptions import InfeasibleRuleError
from fairpot.inference.dial import DialEstimates, Part, Top, count_shares
from fairpot.inference.region import Seen, estimate_seen
from fairpot.inference.shares import ENTRIES, FEWEST, View, all_pairs, cross_pairs, merge_entries, why_not
from fairpot.table import ScoreTable

_LOWEST = float(np.finfo(np.float64).min)


@dataclass(frozen=True, eq=False)
class FixedTops:
    """All rows, the maps that they taught, and where the top begins after each."""

    part: Part
    top: Top
    ties: Ties
    places: NDArray[np.intp]
    starts: tuple[dict[Hashable, float], ...]

    @classmethod
    def of(cls, part: Part, top: Top, ties: Ties, places: NDArray[np.intp], dial: str) -> FixedTops:
        """Find the tops, at the places where every group has rows enough in them; insist on one."""
        kept, starts = [], []
        for place, maps in zip(places, part.steps(places)):
            moved = part.table.rescored(maps)
            begin = moved.thresholds(*top)
            if float(np.min(moved.above(begin).independent)) >= FEWEST - 1e-9:
                kept.append(place)
                starts.append(begin)
        if not kept:
            raise InfeasibleRuleError(
                f"no {dial} can be certified: in the top {100 * top.alpha:.4g}% some group has fewer than {FEWEST} "
                "rows with, or without, the outcome, whatever the repair.\n"
                f"Hint: allow a larger {argument('top')}, collect more rows, or leave {argument('confidence')} "
                "out to choose by the measured gap alone."
            )
        return cls(part, top, ties, np.array(kept), tuple(starts))

    def estimate(self, parts: Sequence[Part]) -> DialEstimates:
        """Estimate AUC and gaps in the tops on folds, each moved by its own maps, put together as one table."""
        small = [merge_entries(part.table, max(2 * ENTRIES // len(parts), 100)) for part in parts]
        table = _beside(small)
        pairs = (all_pairs(table), *cross_pairs(table))
        level = (_LOWEST,) * len(table.groups)
        found = estimate_seen(table, self.ties, [Seen(v, level, pairs, ()) for v in self._views(parts, small)])
        reason = why_not(table, pairs, found.fewest(len(pairs)), self.top.alpha)
        if any(each is not part.table for each, part in zip(small, parts)):
            whole = [part.table for part in parts]
            every, cut = _beside(whole), dict.fromkeys(table.groups, _LOWEST)
            tops = (every.viewed(view).above(cut) for view in self._views(parts, whole))
            found = found.with_values(np.concatenate([count_shares(top, pairs, self.ties) for top in tops]))
        grid = np.arange(len(found)).reshape(-1, len(pairs))
        auc, xauc = found.take(grid[:, 0]), found.take(grid[:, 1:].ravel())
        return DialEstimates(self.places.astype(np.float64), table.groups, auc, xauc, reason)

    def _views(self, parts: Sequence[Part], tables: Sequence[ScoreTable]) -> Iterator[View]:
        """Give the scores of all entries at each place."""
        for views in zip(*(self._view(part, table) for part, table in zip(parts, tables))):
            yield [np.concatenate(group) for group in zip(*views)]

    def _view(self, part: Part, table: ScoreTable) -> Iterator[View]:
        """Give scores by the maps of a part; entries that the delivered maps leave outside the top get none."""
        quick = part.views is not None and table is not part.table
        own = part.views(table, self.places) if quick and part.views else map(table.view, part.steps(self.places))
        delivered = map(table.view, self.part.steps(self.places))
        for scores, moved, starts in zip(own, delivered, self.starts):
            inside = [m >= starts[g] for m, g in zip(moved, table.groups)]
            yield [np.where(up, s, -np.inf) for up, s in zip(inside, scores)]


def _beside(tables: Sequence[ScoreTable]) -> ScoreTable:
    """Put tables together without adding up their entries: these are numbered, and known by their views alone."""
    first = np.cumsum([0, *(max(len(c.score) for c in table.counts) for table in tables)])
    numbered = [t.viewed([at + np.arange(float(len(c.score))) for c in t.counts]) for at, t in zip(first, tables)]
    return reduce(ScoreTable.merge, numbered)
