"""One pass up the merged scores of all groups: pairs won and tied, and what the covariance of every share is made of.

A share of pairs (AUC, xAUC) is a sum over rows of the weight they beat in some groups. What a row adds to
its error is a line in these weights. So the mean and scatter of the weights beaten, cell by cell, give the variance of
every share and the covariance of every two: DeLong's (1988), and its like for weights. No row is looked at twice.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fairpot._defaults import Ties
from fairpot.counts import Counts, GroupCounts, Indices
from fairpot.inference.shares import Merged, Pairs, ShareEstimates, estimate_shares, merge_entries, of_sides
from fairpot.metrics.wins import WinMatrix
from fairpot.table import ScoreTable
from fairpot.transport import Floats

# Entries of all groups that are merged at a time; with many groups, entries times groups.
_BLOCK, _PLACES = 1 << 16, 1 << 20
# With more groups than this the scatter of all cells is too much to keep.
_MOST_GROUPS = 100
# With more entries times groups than this, influences of rows that belong together come from a merged table.
_MANY = 20_000_000
# Whole numbers up to here are exact as floats.
_EXACT = 2**53
# Weights beaten that differ by less than this share, root mean square, differ by round-off alone.
_ROUND_OFF = 1e-13


class Cell(NamedTuple):
    """The rows of one group and outcome: their squared weights, mean and scatter of what they beat in every group.

    Positives beat the negatives below them. Negatives are beaten by the positives above them, and that is what stands
    in their cell. Rows count by their squared weight.
    """

    square: float
    mean: Floats
    scatter: Floats

    def joined(self, other: Cell) -> Cell:
        """Add other rows (Chan, Golub and LeVeque 1979): what does not vary stays exactly without scatter."""
        if not self.square:
            return other
        square, apart = self.square + other.square, other.mean - self.mean
        between = np.outer(apart, apart) * (self.square * other.square / square)
        return Cell(square, self.mean + apart * (other.square / square), self.scatter + other.scatter + between)


@dataclass(frozen=True, eq=False)
class Counted:
    """What one pass counts of a ranking."""

    table: ScoreTable
    ties: Ties  # how equal scores count in the shares
    # Pairs of a positive of the first and a negative of the second group in which the positive is ahead, and in which
    # both are equal. Exact for whole weights.
    won: Counts
    tied: Counts
    positives: Counts  # weights
    negatives: Counts
    distinct: int  # distinct scores of all groups together
    # Positives first; None where rows belong together, or groups are very many.
    cells: tuple[tuple[Cell, ...], tuple[Cell, ...]] | None

    def matrix(self, ties: Ties | None = None) -> WinMatrix:
        """Give the pairs won, by the convention of ties that was asked for or by another one."""
        half_wins = 2 * self.won + (self.tied if (ties or self.ties) == "half" else 0)
        return WinMatrix(self.table.groups, half_wins, self.positives, self.negatives)

    @property
    def tied_share(self) -> float:
        """Share of all pairs that have equal scores; 0 without pairs."""
        pairs = float(self.positives.sum()) * float(self.negatives.sum())
        return float(self.tied.sum()) / pairs if pairs else 0.0


def count_ranking(table: ScoreTable, ties: Ties = "half") -> Counted:
    """Count everything about a ranking in one pass over a table with outcomes."""
    going = _Pass(table.for_pairs(), ties, spread=table.units is None and len(table.groups) <= _MOST_GROUPS)
    totals = table.positives, table.negatives
    found = Counted(table, ties, going.won, going.tied, *totals, going.distinct, going.finished())
    if found.won.dtype.kind == "i":  # exact, so that nobody can tell who counted them
        WinMatrix.remember(table, {"half": found.matrix("half"), "strict": found.matrix("strict")})
    return found


class _Pass:
    """Go up the scores of all groups block by block, and add up what each block holds."""

    def __init__(self, table: ScoreTable, ties: Ties, spread: bool) -> None:
        self.counts, self.ties, self.spread = table.counts, ties, spread
        size = len(table.counts)
        kind = np.result_type(*(side for c in table.counts for side in (c.positive, c.negative)))
        self.won, self.tied = np.zeros((size, size), dtype=kind), np.zeros((size, size), dtype=kind)
        # Negatives, and positives, of each group in the blocks below.
        self.below = np.zeros((2, size), dtype=kind)
        self.distinct = 0
        nothing = Cell(0.0, np.zeros(size), np.zeros((size, size)))
        self.cells = [[nothing] * size for _ in range(2)]
        for places in _blocks([c.score for c in self.counts]):
            self._add([_cut(c, place) for c, place in zip(self.counts, places)])

    def finished(self) -> tuple[tuple[Cell, ...], tuple[Cell, ...]] | None:
        """Give the moments of every cell; of negatives, what is above them."""
        if not self.spread:
            return None
        positives = self.below[1].astype(np.float64)
        return tuple(self.cells[0]), tuple(cell._replace(mean=positives - cell.mean) for cell in self.cells[1])

    def _add(self, parts: list[GroupCounts]) -> None:
        block = Merged.of([part.score for part in parts])
        self.distinct += block.distinct
        running = [block.running([p.negative for p in parts]), block.running([p.positive for p in parts])]
        totals = [each[:, -1] for each in running]
        if running[0].dtype.kind == "i" and int(totals[0].sum()) * int(totals[1].sum()) < _EXACT:
            running = [each.astype(np.float64) for each in running]  # products are exact, and quick
        mixed = any(bool(((part.positive != 0) & (part.negative != 0)).any()) for part in parts)
        ties = mixed or block.distinct < sum(len(part.score) for part in parts)
        for side, (g, part) in itertools.product(range(2), enumerate(parts)):
            weight = part.positive if side == 0 else part.negative
            there = np.flatnonzero(weight != 0)
            if len(there):
                low = running[side].take(block.first[g][there], axis=1)
                high = running[side].take(block.last[g][there], axis=1) if ties else low
                self._add_cell(side, g, (low, high), there, weight.take(there), part)
        self.below += totals

    def _add_cell(
        self, side: int, g: int, passed: tuple[Counts, Counts], there: Indices, weight: Counts, part: GroupCounts
    ) -> None:
        """Add some rows of a group and outcome: ``passed`` are those of each group below, and up to, their scores."""
        low, high = passed
        if side == 0:
            self.won[g] += (low @ weight).astype(self.won.dtype) + self.below[0] * weight.sum()
            if high is not low:
                self.tied[g] += ((high - low) @ weight).astype(self.won.dtype)
        square = (weight if part.squares is None else part.squares[side].take(there)).astype(np.float64)
        total = float(square.sum())
        if not self.spread or not total:  # squares of the smallest weights there are may be 0
            return
        placed: Any = (low + high) / 2 if self.ties == "half" and high is not low else passed[side]
        mean = placed @ square / total
        placed = placed - mean[:, None]
        # Two different factors: NumPy would hand equal ones to a routine that takes five times as long.
        cell = Cell(total, mean + self.below[side], (placed * square) @ placed.T)
        self.cells[side][g] = self.cells[side][g].joined(cell)


def _cut(counts: GroupCounts, place: slice) -> GroupCounts:
    """Take a stretch of entries without the rows behind them."""
    squares = None if counts.squares is None else (counts.squares[0][place], counts.squares[1][place])
    return GroupCounts(counts.score[place], counts.positive[place], counts.negative[place], squares)


def _blocks(scores: Sequence[Floats]) -> Iterator[list[slice]]:
    """Cut the groups' sorted scores where all of them pass the same score: equal scores are never parted."""
    sizes = np.array([len(s) for s in scores])
    size = max(min(_BLOCK, _PLACES // len(scores)), 1)
    if sizes.sum() <= size:
        if sizes.any():
            yield [slice(None)] * len(scores)
        return
    every = max(size // len(scores), 1)
    at = np.sort(np.concatenate([s[every::every] for s in scores]))
    ends = np.stack([np.searchsorted(s, at) for s in scores], axis=1)
    kept = ends[np.diff(ends.sum(axis=1) // size, prepend=0) > 0]
    bounds = np.concatenate((np.zeros((1, len(scores)), dtype=np.intp), kept, sizes[None, :]))
    for first, last in itertools.pairwise(bounds):
        yield [slice(i, j) for i, j in zip(first.tolist(), last.tolist())]


def shares(counted: Counted, pairs: Sequence[Pairs]) -> ShareEstimates:
    """Estimate shares of pairs and the covariance of their errors from what was counted.

    Equal to :func:`fairpot.inference.shares.estimate_shares`, which clustered rows are left to, without its array of
    shares times rows.

    ``pairs``: whose positives are compared with whose negatives, for each share.
    """
    asked, table = Lines.of(counted, pairs), counted.table
    if counted.cells is None:
        if sum(len(c.score) for c in table.counts) * len(table.groups) > _MANY:
            return estimate_shares(merge_entries(table), pairs, counted.ties).with_values(asked.value)
        return estimate_shares(table, pairs, counted.ties)
    parts, units = [], []
    for side in range(2):
        part, square = np.zeros((len(pairs), len(pairs))), np.zeros(len(pairs))
        for g, cell in enumerate(counted.cells[side]):
            places, slopes, mean = asked.of_cell(side, g, cell)
            square[places] += cell.square
            part[np.ix_(places, places)] += slopes @ cell.scatter @ slopes.T + cell.square * np.outer(mean, mean)
        own = asked.weight[side]
        level = np.diag(part) * own**2 <= square * _ROUND_OFF**2
        part[level, :] = part[:, level] = 0.0
        units.append(np.divide(own**2, square, out=np.zeros(len(pairs)), where=square > 0))
        parts.append(part)
    return of_sides(asked.value, parts, units)


class Lines(NamedTuple):
    """Shares of pairs, the weights of both sides, and what a row adds to each: a line in the weights it beats.

    ``taking[side, k, g]`` says whether the positives (side 0) or negatives of group g take part in share k.
    """

    value: Floats
    weight: tuple[Floats, Floats]
    taking: NDArray[np.bool_]

    @classmethod
    def of(cls, counted: Counted, pairs: Sequence[Pairs]) -> Lines:
        """Read the shares off what was counted."""
        taking = np.zeros((2, len(pairs), len(counted.positives)), dtype=bool)
        for k, pair in enumerate(pairs):
            for side in range(2):
                taking[side, k, list(pair[side])] = True
        weight = (taking[0] @ counted.positives).astype(np.float64), (taking[1] @ counted.negatives).astype(np.float64)
        won = ((taking[0] @ counted.matrix().half_wins) * taking[1]).sum(axis=1) / 2
        count = weight[0] * weight[1]
        value = np.divide(won, count, out=np.full(len(pairs), np.nan), where=count > 0)
        return cls(np.minimum(value, 1.0), weight, taking)  # sums of weights may exceed their product by a last bit

    def of_cell(self, side: int, g: int, cell: Cell) -> tuple[Indices, Floats, Floats]:
        """Give the shares that a cell takes part in, their slopes, and what its rows add on average."""
        places = np.flatnonzero(self.taking[side, :, g])
        count = self.weight[0][places] * self.weight[1][places]
        slopes = self.taking[1 - side][places] / np.where(count > 0, count, np.nan)[:, None]
        return places, slopes, slopes @ cell.mean - self.value[places] / self.weight[side][places]

    def sums(self, cells: Sequence[Sequence[Cell]]) -> Floats:
        """Add up what the rows of each cell add to each share, by squared weights: sides x groups x shares."""
        found = np.zeros((2, self.taking.shape[2], len(self.value)))
        for side, own in enumerate(cells):
            for g, cell in enumerate(own):
                places, _, mean = self.of_cell(side, g, cell)
                found[side, g, places] = cell.square * mean
        return found
