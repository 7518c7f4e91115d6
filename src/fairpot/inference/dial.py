"""AUC and gaps at many values of a dial, with the covariance of all of them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fairpot.inference.bootstrap import shares_of
from fairpot.inference.covariance import estimate_shares
from fairpot.inference.estimates import GapEstimates, ShareEstimates, average
from fairpot.inference.merged import merge_entries
from fairpot.inference.pairs import Kernel, Pairs, all_pairs, cross_pairs
from fairpot.inference.placements import Floats
from fairpot.inference.question import Question
from fairpot.inference.refusal import why_not
from fairpot.inference.region_views import estimate_region_views
from fairpot.inference.sample import Sample
from fairpot.metrics.wins import WinMatrix
from fairpot.table import Region, ScoreTable

Maps = Mapping[Hashable, Callable[[NDArray[np.float64]], NDArray[np.float64]]]
MapsAt = Callable[[Any], Maps]


class Top(NamedTuple):
    """The region that a curve looks at: the top alpha of all rows, or of each group."""

    alpha: float
    region: Region


Steps = Callable[[Any], Iterable[Maps]]
Count = Callable[[Any], tuple[Floats, Floats]]


@dataclass(frozen=True, eq=False)
class DialEstimates:
    """What a method's dial does to AUC and gaps, on rows that its maps were not fitted on.

    Attributes
    ----------
    values : array of shape (k,)
        Values of the dial.
    groups : names of the groups
    auc : ShareEstimates
        AUC at each value.
    xauc : ShareEstimates
        For each value, both directions of every pair of groups, side by side.
    reason : str or None
        Why no interval is honest, if none is.
    """

    values: Floats
    groups: tuple[Hashable, ...]
    auc: ShareEstimates
    xauc: ShareEstimates
    reason: str | None = None

    def __len__(self) -> int:
        return len(self.auc)

    @property
    def many(self) -> int:
        """Number of pairs of groups."""
        return len(self.xauc) // 2 // len(self)

    @property
    def gaps(self) -> GapEstimates:
        """Signed gaps: those of all pairs at the first value, then at the second, ..."""
        return GapEstimates.side_by_side(self.xauc)

    @property
    def gap(self) -> Floats:
        """The largest gap at each value."""
        return np.abs(self.gaps.value).reshape(len(self), -1).max(axis=1)

    def at(self, places: Sequence[int]) -> DialEstimates:
        """Keep some of the values."""
        wanted = np.asarray(places, dtype=np.intp)
        size = 2 * self.many
        cells = (wanted[:, None] * size + np.arange(size)).ravel()
        return DialEstimates(
            self.values[wanted], self.groups, self.auc.take(wanted), self.xauc.take(cells), self.reason
        )

    def cell_names(self, gap: int) -> tuple[Hashable, Hashable]:
        """Name the two groups of one of the gaps."""
        places = cross_pairs(ScoreTable(self.groups, ()))[2 * (gap % self.many)]
        return self.groups[places.winners[0]], self.groups[places.losers[0]]


def estimate_dial(
    table: ScoreTable | Sample,
    maps_at: MapsAt,
    values: Sequence[Any] | Floats,
    *,
    ties: Kernel = "half",
    exact: tuple[Floats, Floats] | None = None,
) -> DialEstimates:
    """Estimate AUC and gaps at every value of a dial.

    Parameters
    ----------
    table : ScoreTable or Sample
        Rows that the maps were not fitted on, at least two groups.
    maps_at : function
        From a value of the dial to the maps of the groups that it moves.
    values : sequence
    ties : {"half", "strict"}, default "half"
    exact : pair of arrays or None, default None
        AUCs (k,) and xAUCs (k, 2 * pairs) where they are known; None counts them on the whole table. Covariances come
        from a merged table in either case.

    Returns
    -------
    DialEstimates
    """
    return estimate_steps(table, lambda given: (maps_at(value) for value in given), values, ties=ties, exact=exact)


def estimate_steps(
    table: ScoreTable | Sample,
    steps: Steps,
    values: Sequence[Any] | Floats,
    *,
    ties: Kernel = "half",
    exact: tuple[Floats, Floats] | None = None,
    top: Top | None = None,
    count: Count | None = None,
) -> DialEstimates:
    """Do the same with a function from all values to their maps, one after the other.

    ``top`` looks at the top of the ranking only; ``count`` is a quick way to count AUCs and xAUCs on the whole table.
    """
    sample = Sample.of(table)
    pairs = (all_pairs(sample.table), *cross_pairs(sample.table))
    small = merge_entries(sample)
    views = [_moved(small.table, maps) for maps in steps(values)]
    if top is None:
        found = estimate_shares(small, pairs, ties, views)
        asked = Question("xauc_gap", pairs, True, ties, None, "pooled")
    else:
        found = estimate_region_views(small, pairs, ties, top.alpha, top.region, views)
        asked = Question("xauc_gap", pairs, True, ties, top.alpha, top.region)
    reason = why_not(sample, asked, found.fewest(len(pairs)))
    grid = np.arange(len(found)).reshape(len(views), len(pairs))
    auc, xauc = found.take(grid[:, 0]), found.take(grid[:, 1:].ravel())
    if exact is None and small is not sample:
        exact = _count(sample.table, steps(values), pairs, ties, top) if count is None else count(values)
    if exact is not None:
        auc, xauc = auc.with_values(exact[0]), xauc.with_values(np.asarray(exact[1]).ravel())
    return DialEstimates(np.asarray(values), sample.table.groups, auc, xauc, reason)


def average_dials(folds: Sequence[DialEstimates]) -> DialEstimates:
    """Combine cross-fitted folds: the mean, se^2 = sum of se_k^2 / K^2."""
    first = folds[0]
    reason = next((fold.reason for fold in folds if fold.reason is not None), None)
    return DialEstimates(
        first.values, first.groups, average([f.auc for f in folds]), average([f.xauc for f in folds]), reason
    )


def _moved(table: ScoreTable, maps: Maps) -> list[Floats]:
    return [maps[g](c.score) if g in maps else c.score for g, c in zip(table.groups, table.counts)]


def _count(
    table: ScoreTable, steps: Iterable[Maps], pairs: Sequence[Pairs], ties: Kernel, top: Top | None
) -> tuple[Floats, Floats]:
    """Count AUC and xAUC at every value on the whole table."""
    assert ties != "equal"
    if top is not None:
        read = shares_of(pairs, ties, top.alpha, top.region)
        found = np.array([read(table.rescored(maps)) for maps in steps])
        return found[:, 0], found[:, 1:]
    p, n = table.positives.astype(np.float64), table.negatives.astype(np.float64)
    count = np.outer(p, n)
    auc, xauc = [], []
    for maps in steps:
        wins = WinMatrix.of(table.rescored(maps), ties).half_wins / 2
        auc.append(wins.sum() / count.sum())
        xauc.append([wins[i[0], j[0]] / count[i[0], j[0]] for i, j in pairs[1:]])
    return np.array(auc), np.array(xauc)
