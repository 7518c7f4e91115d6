"""What one setting of a repair does to people, and where they stand in the list: counting on a table and its maps."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairpot.counts import GroupCounts
from fairpot.display.by_group import LABELS
from fairpot.table import Maps, ScoreTable
from fairpot.transport import Floats
from fairpot.transport.plan import weight_to_reach

# Fewer people than this are not shown as a band of their own.
SMALLEST_BAND = 10
_BANDS = 8


@dataclass(frozen=True, eq=False)
class Mapped:
    """A table, the new score of each of its entries, the table they make and its pooled ranking."""

    table: ScoreTable
    scores: list[Floats]
    after: ScoreTable
    ranking: GroupCounts

    @classmethod
    def of(cls, table: ScoreTable, maps: Maps) -> Mapped:
        """Apply maps; a group without one stays as it is."""
        scores = table.view(maps)
        counts = (c if new is c.score else c.rescored(new) for c, new in zip(table.counts, scores))
        after = replace(table, counts=tuple(counts))
        return cls(table, scores, after, after.pooled())


@dataclass(frozen=True, eq=False)
class Marks:
    """Rows of one group, a mark for every few of them: where each stands in the group's counts."""

    entry: NDArray[np.intp]  # which distinct score of the group a mark has
    inside: Floats  # how far a mark is through the rows of its outcome that have this score, from the top
    positive: NDArray[np.bool_]  # whether it stands for rows with the outcome
    rows: float  # how many rows one mark stands for, about


def marks(counts: GroupCounts, most: int) -> Marks:
    """Choose about ``most`` marks: the middles of equal parts of those with, and of those without, the outcome.

    In a small group every row has its mark; in a large one an outcome with fewer rows than a mark stands for has one.
    """
    rows = float(counts.weight.sum()) / (most if counts.size > 2 * most else counts.size)
    entry, inside, positive = [], [], []
    for label in LABELS:
        weight = getattr(counts, label)[::-1].astype(np.float64)
        reached, held = np.cumsum(weight), float(weight.sum())
        size = 0 if not held else max(1, round(held / rows))
        wanted = (np.arange(size) + 0.5) * (held / max(size, 1))
        place = np.searchsorted(reached, wanted, side="right")
        entry.append(len(weight) - 1 - place)
        inside.append((wanted - reached[place] + weight[place]) / weight[place])
        positive.append(np.full(size, label == LABELS[0]))
    return Marks(np.concatenate(entry), np.concatenate(inside), np.concatenate(positive), rows)


def queue_places(mapped: Mapped, g: int, shown: Marks) -> Floats:
    """Give each mark's place in the list of all rows: the share of it that stands higher, 0 for the first.

    Rows with one score stand beside each other in any order; those of each group and outcome are spread evenly.
    """
    ranking = mapped.ranking
    higher = np.append(np.cumsum(ranking.weight[::-1])[::-1][1:], 0)
    at = np.searchsorted(ranking.score, mapped.scores[g][shown.entry])
    return np.asarray((higher[at] + shown.inside * ranking.weight[at]) / float(ranking.weight.sum()))


def above(table: ScoreTable, thresholds: Floats) -> Floats:
    """Count who is at or above each threshold: an array of thresholds x groups x outcomes (with, without)."""
    found = np.zeros((len(thresholds), len(table.groups), 2))
    for g, counts in enumerate(table.counts):
        first = np.searchsorted(counts.score, thresholds, side="left")
        for k, label in enumerate(LABELS):
            weight = getattr(counts, label)
            found[:, g, k] = np.append(np.cumsum(weight[::-1])[::-1], 0)[first]
    return found


def crossings(mapped: Mapped, before: Floats, later: Floats) -> tuple[Floats, Floats]:
    """Count who comes to be at or above each threshold, and who no longer is: thresholds x groups x outcomes.

    ``before`` and ``later``: the thresholds that hold before and after; the same, unless they follow the ranking.
    """
    size = len(before)
    up, down = (np.zeros((size, len(mapped.scores), 2)) for _ in range(2))
    for g, (counts, new) in enumerate(zip(mapped.table.counts, mapped.scores)):
        if new is counts.score and before is later:
            continue
        was, now = np.searchsorted(before, counts.score, "right"), np.searchsorted(later, new, "right")
        for k, label in enumerate(LABELS):
            weight = getattr(counts, label)
            up[:, g, k] = _between(was, now, weight, size)
            down[:, g, k] = _between(now, was, weight, size)
    return up, down


def _between(low: NDArray[np.intp], high: NDArray[np.intp], weight: NDArray[Any], size: int) -> Floats:
    """Add up, for each place k, the weight of those with low <= k < high."""
    there = np.flatnonzero(high > low)
    steps = np.bincount(low[there], weight[there], size + 1) - np.bincount(high[there], weight[there], size + 1)
    # Running sums of weights that are no whole numbers leave crumbs where nobody is.
    return np.maximum(np.cumsum(steps)[:size].round(9), 0.0)


def top_scores(ranking: GroupCounts, alphas: Sequence[float]) -> Floats:
    """Return the lowest score of the top of a ranking, ties included, for each share of it."""
    from_top = np.cumsum(ranking.weight[::-1])
    places = np.searchsorted(from_top, [weight_to_reach(a, from_top[-1].item()) for a in alphas])
    return np.asarray(ranking.score[::-1][places])


def mean_places(mapped: Mapped) -> Floats:
    """Give the mean place in the ranking (0 bottom, 1 top) of each group and outcome; NaN where there is nobody."""
    below = np.concatenate(([0.0], np.cumsum(mapped.ranking.weight)))
    middle = (below[:-1] + below[1:]) / (2 * below[-1])
    found = np.full((len(mapped.scores), 2), np.nan)
    for g, (counts, new) in enumerate(zip(mapped.table.counts, mapped.scores)):
        places = middle[np.searchsorted(mapped.ranking.score, new)]
        for k, label in enumerate(LABELS):
            weight = getattr(counts, label)
            if weight.sum() > 0:
                found[g, k] = np.dot(weight, places) / weight.sum()
    return found


def bands(counts: GroupCounts) -> list[slice]:
    """Cut a group's scores into bands with about as many people each, and at least a handful."""
    reached = np.cumsum(np.add(*counts.counted)).astype(np.float64)
    total = float(reached[-1])
    parts = max(1, min(_BANDS, int(total / SMALLEST_BAND)))
    wanted = np.searchsorted(reached, np.arange(1, parts) * (total / parts) - 1e-9 * total) + 1
    cuts = [0]
    for place in [*wanted.tolist(), len(reached)]:
        held = float(reached[place - 1] - (reached[cuts[-1] - 1] if cuts[-1] else 0.0))
        if held >= SMALLEST_BAND and place > cuts[-1]:
            cuts.append(place)
    cuts = [*cuts[:-1], len(reached)] if len(cuts) > 1 else [0, len(reached)]  # those left over join the last band
    return [slice(low, high) for low, high in itertools.pairwise(cuts)]
