"""People: whose scores a repair changes, and where the rows of each group stand in the list, before and after."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fairpot._html import COLOURS, queue_svg
from fairpot._validation import Rows
from fairpot.counts import GroupCounts
from fairpot.results.kinds import Count, Group
from fairpot.table import Maps, ScoreTable
from fairpot.transport import Floats

LABELS = ("positive", "negative")
# Fewer people than this are not shown as a band of their own.
SMALLEST_BAND = 10


@dataclass(frozen=True, eq=False)
class Mapped:
    """A table, the new score of each of its entries, the table they make and its pooled ranking."""

    table: ScoreTable
    scores: tuple[Floats, ...]
    after: ScoreTable
    ranking: GroupCounts

    @classmethod
    def of(cls, table: ScoreTable, maps: Maps) -> Mapped:
        """Apply maps; a group without one stays as it is."""
        scores = tuple(maps[g](c.score) if g in maps else c.score for g, c in zip(table.groups, table.counts))
        counts = [_again(c, new) for c, new in zip(table.counts, scores)]
        after = replace(table, counts=tuple(counts))
        return cls(table, scores, after, after.pooled())


def _again(counts: GroupCounts, scores: Floats) -> GroupCounts:
    return counts if scores is counts.score else counts.rescored(scores)


@dataclass(frozen=True, eq=False)
class Marks:
    """Rows of one group, a mark for every few of them: where each stands in the group's counts."""

    entry: NDArray[np.intp]  # which distinct score of the group a mark has
    inside: Floats  # how far a mark is through the rows of its outcome that have this score, from the top
    positive: NDArray[np.bool_]  # whether it stands for rows with the outcome
    rows: float  # how many rows one mark stands for, about


def marks(counts: GroupCounts, most: int) -> Marks:
    """Choose about ``most`` marks: the middles of equal parts of those with, and of those without, the outcome.

    A mark stands for as many rows as a band has, at least; an outcome with fewer rows than that has one mark.
    """
    rows = max(float(counts.weight.sum()) / most, float(SMALLEST_BAND))
    entry, inside, positive = [], [], []
    for label in LABELS:
        weight = getattr(counts, label)[::-1].astype(np.float64)
        reached, total = np.cumsum(weight), float(weight.sum())
        size = 0 if not total else max(1, round(total / rows))
        wanted = (np.arange(size) + 0.5) * (total / max(size, 1))
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


# Groups and marks of each that a small picture has room for.
_MOST_LANES, _MOST_MARKS = 4, 30


class Lane(NamedTuple):
    """One group in the queue: its marks with their places before and after, and which of them have the outcome."""

    group: str
    place: int  # among the groups, which gives it its colour
    before: Floats
    after: Floats
    positive: NDArray[np.bool_]
    rows: float


def lanes(table: ScoreTable, maps: Maps, pair: tuple[Any, Any] | None = None) -> list[Lane]:
    """Place marks of up to four groups before and after maps; those of ``pair`` come first."""
    first = [g for g in pair or () if g in table.groups]
    shown = [*first, *(g for g in table.groups if g not in first)][:_MOST_LANES]
    states = [Mapped.of(table, {}), Mapped.of(table, maps)]
    found = []
    for group in shown:
        g = table.groups.index(group)
        some = marks(table.counts[g], _MOST_MARKS)
        before, after = (queue_places(state, g, some) for state in states)
        found.append(Lane(str(group), g, before, after, some.positive, some.rows))
    return found


def lanes_html(found: list[Lane], groups: int, acted: tuple[float, float] | None, where: str, repaired: bool) -> str:
    """Draw the queue small, with a note that says what a mark is; ``acted`` is how much of the list is acted on."""
    if not any(len(lane.before) for lane in found):
        return ""
    drawn = [
        (
            lane.group,
            lane.before.tolist(),
            lane.after.tolist(),
            lane.positive.tolist(),
            COLOURS[lane.place % len(COLOURS)],
        )
        for lane in found
    ]
    sizes = sorted({round(lane.rows) for lane in found})
    size = f"{sizes[0]:,}" if len(sizes) == 1 else f"{sizes[0]:,} to {sizes[-1]:,}"
    note = f"One mark: about {size} rows, filled with the outcome."
    note += f" Shaded: {where}." if acted else ""
    note += f" {len(found)} of {groups} groups." if len(found) < groups else ""
    return queue_svg(drawn, "Places in the list" + (" before and after" if repaired else ""), acted, repaired, note)


@dataclass(frozen=True)
class Moved:
    """How many scores of one group a repair changes, which way and how far, on the scale of the rows' own scores.

    ``mean_shift`` is over the changed rows, ``mean_shift_of_all`` over all rows of the group.
    """

    group: Group
    rows: Count
    moved: Count
    up: Count
    down: Count
    mean_shift: float
    mean_shift_of_all: float
    largest_shift: float


def moves(table: ScoreTable, maps: Maps) -> tuple[Moved, ...]:
    """Count, for each group, whose score a map changes, which way and how far."""
    sign = -1.0 if table.lower_is_riskier else 1.0
    return tuple(
        _moved(g, c.weight, sign * ((maps[g](c.score) if g in maps else c.score) - c.score))
        for g, c in zip(table.groups, table.counts)
    )


def moves_of_rows(rows: Rows, after: Floats) -> tuple[Moved, ...]:
    """Count the same of rows with a second score beside the first."""
    codes = np.zeros(len(after), dtype=np.intp) if rows.codes is None else rows.codes
    weight = np.ones(len(after), dtype=np.int64) if rows.weight is None else rows.weight
    shift = after - rows.scores
    return tuple(_moved(g, weight[codes == place], shift[codes == place]) for place, g in enumerate(rows.groups))


def _moved(group: Hashable, weight: NDArray[Any], shift: Floats) -> Moved:
    rows, moved = weight.sum().item(), weight[shift != 0].sum().item()
    total = float(np.dot(weight, shift))
    return Moved(
        group,
        rows,
        moved,
        weight[shift > 0].sum().item(),
        weight[shift < 0].sum().item(),
        total / moved + 0.0 if moved else 0.0,
        total / rows + 0.0 if rows else 0.0,
        float(np.abs(shift).max(initial=0.0)),
    )
