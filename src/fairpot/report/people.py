"""What one setting of a repair does to people, and where they stand in the list: counting on a table and its maps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from fairpot._defaults import LEVEL
from fairpot.counts import Counts, GroupCounts, Sides
from fairpot.display.scores import LABELS
from fairpot.inference.limits import wilson_limits
from fairpot.table import Maps, ScoreTable
from fairpot.transport import Floats
from fairpot.transport.plan import weight_to_reach

# Fewer people than this are not shown as a bar or a point of their own.
FEWEST = 10
_QUANTILE = -float(ndtri((1 - LEVEL) / 2))  # of two-sided limits


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
    rows = counts.size / most if counts.size > 2 * most else 1.0
    entry, inside, positive = [], [], []
    for label, side in zip(LABELS, counts.counted):
        many = side[::-1].astype(np.float64)
        reached, held = np.cumsum(many), float(many.sum())
        size = 0 if not held else max(1, round(held / rows))
        wanted = (np.arange(size) + 0.5) * (held / max(size, 1))
        place = np.searchsorted(reached, wanted, side="right")
        entry.append(len(many) - 1 - place)
        inside.append((wanted - reached[place] + many[place]) / many[place])
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


class Above(NamedTuple):
    """Who is above lines, an array of lines x groups x outcomes (with, without): what they weigh, and how many rows."""

    weight: Floats
    rows: Floats

    @classmethod
    def of(cls, table: ScoreTable, add_up: Callable[[Sequence[Sides]], Floats]) -> Above:
        """Add up weights, and rows where a weight is not so many of them."""
        weight = add_up([(c.positive, c.negative) for c in table.counts])
        return cls(weight, add_up([c.counted for c in table.counts]) if table.importance else weight)

    def then(self, other: Above) -> Above:
        """Give further lines after these."""
        return Above(*(np.concatenate(both) for both in zip(self, other)))


def above(table: ScoreTable, thresholds: Floats) -> Above:
    """Count who is at or above each threshold."""

    def add_up(sides: Sequence[Sides]) -> Floats:
        sums = [[from_above(c.score, n, thresholds)[1:] for n in both] for c, both in zip(table.counts, sides)]
        return np.moveaxis(np.array(sums), 2, 0)

    return Above.of(table, add_up)


def from_above(scores: Floats, weight: Counts, thresholds: Floats) -> Floats:
    """Add up the weight at and above each threshold, beginning with none at all."""
    reached = np.concatenate((np.cumsum(weight[::-1])[::-1], np.zeros(1)))
    return np.concatenate(([0.0], reached[np.searchsorted(scores, thresholds, side="left")]))


def crossings(mapped: Mapped, before: Floats, later: Floats) -> tuple[Above, Above]:
    """Count who comes to be at or above each threshold, and who no longer is.

    ``before`` and ``later``: the thresholds that hold before and after; the same, unless they follow the ranking.
    """
    places = []
    for counts, new in zip(mapped.table.counts, mapped.scores):
        was = np.searchsorted(before, counts.score, "right")
        stays = new is counts.score and before is later
        places.append((was, was if stays else np.searchsorted(later, new, "right")))

    def add_up(way: int) -> Callable[[Sequence[Sides]], Floats]:
        def sums(sides: Sequence[Sides]) -> Floats:
            ends = [(was, now)[::way] for was, now in places]
            cells = [[_between(low, high, n, len(before)) for n in both] for (low, high), both in zip(ends, sides)]
            return np.moveaxis(np.array(cells), 2, 0)

        return sums

    return Above.of(mapped.table, add_up(1)), Above.of(mapped.table, add_up(-1))


def _between(low: NDArray[np.intp], high: NDArray[np.intp], weight: NDArray[Any], size: int) -> Floats:
    """Add up, for each place k, the weight of those with low <= k < high."""
    there = np.flatnonzero(high > low)
    steps = np.bincount(low[there], weight[there], size + 1) - np.bincount(high[there], weight[there], size + 1)
    # Running sums of weights that are no whole numbers leave crumbs where nobody is.
    return np.maximum(np.cumsum(steps)[:size].round(9), 0.0)


def top_scores(ranking: GroupCounts, shares: Sequence[float]) -> Floats:
    """Return the lowest score of the top of a ranking, ties included, for each share of it."""
    from_top = np.cumsum(ranking.weight[::-1])
    places = np.searchsorted(from_top, [weight_to_reach(a, from_top[-1].item()) for a in shares])
    return np.asarray(ranking.score[::-1][places])


def reliability(counts: GroupCounts, bins: int) -> dict[str, Floats]:
    """Give mean score, rate and its interval in bins of about as many rows, which count for what they are worth."""
    weight = counts.weight.astype(np.float64)
    rows = np.add(*counts.counted)
    place = np.minimum(((np.cumsum(rows) - rows / 2) * (bins / rows.sum())).astype(np.intp), bins - 1)
    first = np.flatnonzero(np.diff(place, prepend=-1))
    size, positive = np.add.reduceat(weight, first), np.add.reduceat(counts.positive.astype(np.float64), first)
    worth = size**2 / np.add.reduceat(counts.squared(True) + counts.squared(False), first)
    mean, rate = np.add.reduceat(weight * counts.score, first) / size, positive / size
    low, high = (np.clip(end, 0.0, 1.0) for end in wilson_limits(rate, worth, _QUANTILE))
    return {"mean_score": mean, "rate": rate, "rate_low": low, "rate_high": high, "weight": size}
