"""The counts of one group: distinct scores with the weight at each, and what is known of the rows behind it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fairpot.transport import Floats, top_place

Indices = NDArray[np.intp]
Counts = NDArray[Any]  # int64, or float64 where weights are not whole numbers


class Members(NamedTuple):
    """Rows of one group and label in the order of places, units and weights, so that sums do not depend on theirs."""

    unit: Indices
    entry: Indices
    weight: Counts

    @classmethod
    def of_rows(cls, unit: Indices, entry: Indices, weight: Counts | None = None) -> Members:
        """Put rows in order; those of no weight are left out, and without weights each counts once."""
        if weight is not None and not weight.all():
            kept = np.flatnonzero(weight)
            unit, entry, weight = unit[kept], entry[kept], weight[kept]
        many = int(unit.max(initial=0)) + 1
        # One number for place and unit: to sort values costs a tenth of a sort by several columns.
        key = entry.astype(np.int64) * many
        key += unit
        if weight is None:
            key.sort()
            weight = np.ones(len(key), dtype=np.int64)
        else:
            order = _by_key_and_weight(key, weight)
            key, weight = key[order], weight[order]
        entry, unit = np.divmod(key, many)
        return cls(unit.astype(np.intp, copy=False), entry.astype(np.intp, copy=False), weight)

    def at(self, place: Indices) -> Members:
        """Give each entry a new place; one below 0 leaves the table."""
        entry = place[self.entry]
        if len(entry) and entry.min() < 0:
            kept = np.flatnonzero(entry >= 0)
            return Members(self.unit[kept], entry[kept], self.weight[kept])._in_order()
        return Members(self.unit, entry, self.weight)._in_order()

    def _in_order(self) -> Members:
        """Put rows in order again, where new places have brought them out of it."""
        if (self.entry[1:] > self.entry[:-1]).all():
            return self
        ones = self.weight.dtype.kind == "i" and bool((self.weight == 1).all())
        return Members.of_rows(self.unit, self.entry, None if ones else self.weight)

    def only(self, chosen: NDArray[np.bool_]) -> Members:
        """Keep the rows of some units."""
        kept = np.flatnonzero(chosen[self.unit])
        return Members(self.unit[kept], self.entry[kept], self.weight[kept])

    def plus(self, other: Members) -> Members:
        """Add other rows, whose entries and units are numbered alike."""
        return Members.of_rows(*(np.concatenate(both) for both in zip(self, other)))


Sides = tuple[Counts, Counts]


@dataclass(frozen=True, eq=False, repr=False)
class GroupCounts:
    """Distinct scores of one group, ascending, with the weight of positives and negatives at each.

    Whole weights are int64 and so counted exactly, any others float64. ``squares`` has the sums of squared weights,
    where a weight is how much a row counts, ``members`` the rows where rows belong together, and ``rows`` how many
    there are where rows have weights: each of positives and of negatives.
    """

    score: NDArray[np.float64]
    positive: Counts
    negative: Counts
    squares: Sides | None = None
    members: tuple[Members, Members] | None = None
    rows: Sides | None = None

    def __repr__(self) -> str:
        ends = f" from {self.score[0]:g} to {self.score[-1]:g}" if len(self.score) else ""
        return f"<GroupCounts of {self.size:,.10g} rows: {len(self.score):,} distinct scores{ends}>"

    @property
    def weight(self) -> Counts:
        """Weight at each score, whatever the label."""
        return self.positive + self.negative

    def squared(self, positive: bool) -> Counts:
        """Give the sums of squared weights of positives or negatives: the weights themselves, where they are rows."""
        if self.squares is None:
            return self.positive if positive else self.negative
        return self.squares[0 if positive else 1]

    @property
    def rows_at(self) -> Sides:
        """How many rows are at each score, with and without the outcome: a weight is one row, whatever it means."""
        sides = (self.positive, self.negative)
        if self.rows is not None or all(c.dtype.kind == "i" for c in sides):
            return self.rows or sides
        return (self.positive > 0).astype(np.int64), (self.negative > 0).astype(np.int64)

    @property
    def counted(self) -> Sides:
        """How many rows people count at each score: weights that are said to be so many rows are."""
        return (self.positive, self.negative) if self.squares is None else self.rows_at

    @property
    def size(self) -> float:
        """How many rows people count in all."""
        total: float = np.add(*self.counted).sum().item()
        return total

    @classmethod
    def from_rows(
        cls,
        scores: NDArray[np.float64],
        labels: NDArray[np.int8] | None,
        weight: Counts | None = None,
        square: Floats | None = None,
        unit: Indices | None = None,
        rows: Counts | None = None,
    ) -> GroupCounts:
        """Count rows, ``rows`` of each where that is not its weight; without labels all are negatives."""
        labels = np.zeros(len(scores), dtype=np.int8) if labels is None else labels
        if unit is not None:
            counts = cls.from_rows(scores, labels, weight, square, rows=rows)
            return counts._with_members(scores, labels, weight, unit)
        if weight is None:
            return _add_up_units(*_sort_by_score(scores.copy(), labels))
        scores = scores + 0.0  # -0.0 and 0.0 are one score
        # Equal scores are added up in the order of weights and labels: the sum does not depend on row order.
        exact = weight.dtype.kind == "i" and square is None
        order = np.argsort(scores) if exact else np.lexsort((labels, weight, scores))
        order = order[weight[order] > 0]
        scores, labels, weight = scores[order], labels[order], weight[order]
        columns: list[Counts] = [weight * labels, weight * (1 - labels)]
        for more in (square, rows):
            columns += [] if more is None else [more[order] * labels, more[order] * (1 - labels)]
        scores, added, _ = _add_up(scores, columns)
        squares = None if square is None else (added[2], added[3])
        return cls(scores, added[0], added[1], squares, None, None if rows is None else (added[-2], added[-1]))

    def _with_members(
        self, scores: NDArray[np.float64], labels: NDArray[np.int8], weight: Counts | None, unit: Indices
    ) -> GroupCounts:
        """Note which of the rows that were counted belong together."""
        rows = np.argsort(scores)
        if weight is not None:
            rows = rows[weight[rows] > 0]
        # In the order of scores places are counted; to look each score up would cost ten times as much.
        ordered = scores[rows]
        entry = np.zeros(len(rows), dtype=np.intp)
        np.cumsum(ordered[1:] != ordered[:-1], out=entry[1:])
        positive = labels[rows] == 1
        sides = [
            Members.of_rows(unit[rows[side]], entry[side], None if weight is None else weight[rows[side]])
            for side in (positive, ~positive)
        ]
        return replace(self, members=(sides[0], sides[1]))

    def top_score(self, share: float) -> float:
        """Return the ceil(share N)-th largest score."""
        from_top = np.cumsum(self.weight[::-1])
        return float(self.score[::-1][top_place(from_top, share)])

    def above(self, threshold: float) -> GroupCounts:
        """Keep the scores >= threshold."""
        first = int(np.searchsorted(self.score, threshold, side="left"))
        return self.taken(slice(first, None))

    def without_empty(self) -> GroupCounts:
        """Drop entries that have no weight."""
        return self.taken(np.flatnonzero(self.weight))

    def taken(self, kept: slice | Indices) -> GroupCounts:
        """Keep some of the entries, in their order."""
        cut = self._like(self.score[kept], [c[kept] for c in self._columns])
        if self.members is None:
            return cut
        place = np.full(len(self.score), -1, dtype=np.intp)
        place[kept] = np.arange(len(cut.score))
        return replace(cut, members=self._members(place))

    def rescored(self, scores: NDArray[np.float64]) -> GroupCounts:
        """Give each entry a new score (in any order) and add up those that become equal."""
        if (scores[1:] > scores[:-1]).all():  # nothing changes places, as with most repairs
            return replace(self, score=scores + 0.0)
        order = np.argsort(scores, kind="stable")
        merged, added, first = _add_up(scores[order] + 0.0, [column[order] for column in self._columns])
        found = self._like(merged, added)
        if self.members is None:
            return found
        place = np.empty(len(scores), dtype=np.intp)
        ranks = np.arange(len(scores))
        place[order] = ranks if first is None else np.searchsorted(first, ranks, side="right") - 1
        return replace(found, members=self._members(place))

    def merged(self, first: Indices, score: NDArray[np.float64]) -> GroupCounts:
        """Add up runs of entries that begin at ``first``; each is known by a score of its own."""
        added = [np.add.reduceat(c, first) for c in self._columns]
        place = np.searchsorted(first, np.arange(len(self.score)), side="right") - 1
        return replace(self._like(score, added), members=self._members(place))

    def plus(self, other: GroupCounts) -> GroupCounts:
        """Add the counts of another part of the same group."""
        both = side_by_side((self, other))
        if self.members is not None and other.members is not None:
            behind = np.arange(len(other.score)) + len(self.score)
            with_it, without = (own.plus(more.at(behind)) for own, more in zip(self.members, other.members))
            both = replace(both, members=(with_it, without))
        return both.rescored(both.score)

    @property
    def _columns(self) -> list[Counts]:
        return [self.positive, self.negative, *(self.squares or ()), *(self.rows or ())]

    def _like(self, score: Floats, columns: Sequence[Counts]) -> GroupCounts:
        squares = None if self.squares is None else (columns[2], columns[3])
        rows = None if self.rows is None else (columns[-2], columns[-1])
        return GroupCounts(score, columns[0], columns[1], squares, None, rows)

    def _members(self, place: Indices) -> tuple[Members, Members] | None:
        return None if self.members is None else (self.members[0].at(place), self.members[1].at(place))


def side_by_side(parts: Sequence[GroupCounts]) -> GroupCounts:
    """Put the entries of several counts one after another, without their members; a row without a weight has 1."""

    def joined(sides: Iterable[Sides]) -> Sides:
        with_it, without = zip(*sides)
        return np.concatenate(with_it), np.concatenate(without)

    score, weights = np.concatenate([c.score for c in parts]), joined((c.positive, c.negative) for c in parts)
    weighed, counted = (any(getattr(c, name) is not None for c in parts) for name in ("squares", "rows"))
    squares = joined((c.squared(True), c.squared(False)) for c in parts) if weighed else None
    return GroupCounts(score, *weights, squares, None, joined(c.rows_at for c in parts) if counted else None)


def rows_worth(weight: Counts, square: Counts) -> NDArray[np.int64]:
    """Give how many equal rows the weight at each score is worth: at least one where there is any."""
    worth = np.divide(weight.astype(np.float64) ** 2, square, out=np.zeros(len(weight)), where=square > 0)
    return np.where(weight > 0, np.maximum(np.rint(worth), 1), 0).astype(np.int64)


def run_means(counts: GroupCounts, least: int, cuts: list[float]) -> Floats | None:
    """Give each score the mean of its run: at least so many rows, or clusters, that follow each other.

    Runs end at the cuts; too few rows before a cut join those after it, and None says that too few lie after the last.
    """
    many, place = np.add(*counts.rows_at), np.arange(len(counts.score))
    unit = place
    if counts.members is not None:
        place, unit = np.unique(np.concatenate([np.column_stack((m.entry, m.unit)) for m in counts.members]), axis=0).T
        many = np.ones(len(place), dtype=np.int64)
    begins: list[int] = []
    done = 0
    for end in (*np.searchsorted(counts.score, sorted(cuts)).tolist(), len(counts.score)):
        part = slice(*np.searchsorted(place, [done, end]))
        found = _begins(place[part].tolist(), unit[part].tolist(), many[part].tolist(), least)
        begins, done = [*begins, *found], end if found else done
    if begins and done < len(counts.score):
        return None
    runs = np.searchsorted(begins[1:], np.arange(len(counts.score)), side="right")
    run = runs[place]
    _, who, times = np.unique(np.column_stack((run, unit)), axis=0, return_inverse=True, return_counts=True)
    share = many / times[who.ravel()]  # a cluster counts once in a run, however many rows it has there
    return (np.bincount(run, share * counts.score[place]) / np.bincount(run, share))[runs]


def _begins(place: list[int], unit: list[int], many: list[int], least: int) -> list[int]:
    """Say where runs begin; what is left over at the end belongs to the last of them."""
    begins: list[int] = []
    seen: set[int] = set()
    rows, last = least, -1
    for p, u, m in zip(place, unit, many):
        if p != last and rows >= least:
            begins.append(p)
            rows, seen = 0, set()
        rows, last = rows + (0 if u in seen else m), p
        seen.add(u)
    return begins if rows >= least else begins[:-1]


@dataclass(frozen=True, eq=False)
class Units:
    """The units that rows belong to: how many, and hashes of their names, ascending, to match those of tables by."""

    size: int
    hashes: NDArray[np.uint64] | None = None


@dataclass(frozen=True, eq=False)
class Clusters:
    """The rows of a table that belong together, one column a property: what sums over units are made from."""

    unit: Indices
    group: Indices
    entry: Indices
    positive: NDArray[np.bool_]
    weight: Counts
    importance: bool
    size: int


def count_units(unit: Indices) -> int:
    """Count the different units among rows by marking them: a hundredth of the price of sorting."""
    there = np.zeros(int(unit.max(initial=-1)) + 1, dtype=bool)
    there[unit] = True
    return int(np.count_nonzero(there))


NOBODY = Members(np.empty(0, dtype=np.intp), np.empty(0, dtype=np.intp), np.empty(0, dtype=np.int64))


def _by_key_and_weight(key: NDArray[np.int64], weight: Counts) -> Indices:
    """Order rows by a key; those with the same, usually few, by their weight."""
    order = np.argsort(key)
    same = key[order[1:]] == key[order[:-1]]
    if same.any():
        ties = np.flatnonzero(np.append(same, False) | np.append(False, same))
        rows = order[ties]
        order[ties] = rows[np.lexsort((weight[rows], key[rows]))]
    return order


def _sort_by_score(
    scores: NDArray[np.float64], labels: NDArray[np.int8]
) -> tuple[NDArray[np.float64], NDArray[np.int8]]:
    """Sort scores, which may be overwritten, with their labels as the lowest bit of a plain sort of integers."""
    below = np.flatnonzero(scores < 0)
    if len(below) == 0:
        return _sort_nonnegative(scores, labels)
    lower, lower_labels = _sort_nonnegative(-scores.take(below), labels.take(below))
    rest = np.flatnonzero(scores >= 0)
    upper, upper_labels = _sort_nonnegative(scores.take(rest), labels.take(rest))
    return np.concatenate((-lower[::-1], upper)), np.concatenate((lower_labels[::-1], upper_labels))


def _sort_nonnegative(
    scores: NDArray[np.float64], labels: NDArray[np.int8]
) -> tuple[NDArray[np.float64], NDArray[np.int8]]:
    scores += 0.0  # -0.0 becomes 0.0
    keys = scores.view(np.uint64)
    keys <<= np.uint64(1)
    keys |= labels.view(np.uint8)
    keys.sort()
    sorted_labels = keys.astype(np.uint8)
    sorted_labels &= np.uint8(1)
    keys >>= np.uint64(1)
    return keys.view(np.float64), sorted_labels.view(np.int8)


def _add_up_units(scores: NDArray[np.float64], labels: NDArray[np.int8]) -> GroupCounts:
    step = scores[1:] != scores[:-1]
    if step.all():
        positive = labels.astype(np.int64)
        return GroupCounts(scores, positive, 1 - positive)
    first = _run_starts(step)
    positive = np.add.reduceat(labels, first, dtype=np.int64)
    return GroupCounts(scores[first], positive, np.diff(first, append=len(scores)) - positive)


def _add_up(
    scores: NDArray[np.float64], columns: Sequence[Counts]
) -> tuple[NDArray[np.float64], Sequence[Counts], Indices | None]:
    """Add up sorted entries with equal scores; tell where each run of them begins, None if all differ."""
    step = scores[1:] != scores[:-1]
    if step.all():
        return scores, columns, None
    first = _run_starts(step)
    return scores[first], [np.add.reduceat(column, first) for column in columns], first


def _run_starts(step: NDArray[np.bool_]) -> NDArray[np.intp]:
    return np.concatenate(([0], np.flatnonzero(step) + 1))
