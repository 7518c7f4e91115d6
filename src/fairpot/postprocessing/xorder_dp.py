"""The dynamic programme of xOrder: which order of two groups' scores to take, for many lambdas at once.

Both groups descend. Cell (i, j) of the grid means that i atoms of one group and j of the other have been
placed, from the top down. A placed positive beats the negatives of the other group that are still to come, so
a step adds ``positive * remaining negatives`` to one of two counts. Each cell keeps the counts of the better of
its two predecessors and one bit that says which. All cells of an anti-diagonal depend on the diagonal before
only, so a diagonal is one vector; the shorter group runs along it, every lambda has a row of its own.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fairpot.table import GroupCounts

Array = NDArray[Any]

# Rows of lambdas worked on together: vectors of this length stay in the processor's cache.
_CELLS = 16_384
# Bits for the way back, at most, of all lambdas worked on together.
_BYTES = 2**28
# Beyond this the bits of a single lambda fill 2 GB and the run takes the better part of an hour for a few lambdas.
MAX_CELLS = 2**34


class Paths(NamedTuple):
    """The order found for each lambda: row l belongs to ``lams[l]``.

    ``above[l, j]`` is the number of reference atoms placed above the moved atom j (ascending, as in the table);
    ``ab`` and ``ba`` count the pairs won by reference positives over moved negatives and the other way round.
    """

    above: NDArray[np.intp]
    ab: NDArray[np.float64]
    ba: NDArray[np.float64]


def xorder_paths(reference: GroupCounts, moved: GroupCounts, lams: NDArray[np.float64]) -> Paths:
    """Run the dynamic programme for each lambda.

    The value of a path is ``(ab + ba) / pairs - lam * |ab / pairs_ab - ba / pairs_ba|`` with its counts so far,
    ``pairs`` being all pairs of a positive and a negative, those inside a group included. Of two predecessors
    of equal value the one that agrees with the scores as they were is kept.
    """
    cells = len(reference.score) * len(moved.score)
    if cells > MAX_CELLS:
        raise ValueError(
            f"xOrder would walk a grid of {len(reference.score)} x {len(moved.score)} distinct scores, "
            f"{cells:.2g} cells; the limit is {MAX_CELLS:.2g}.\n"
            "Hint: round the scores to fewer distinct values, or fit on a sample."
        )
    a, b = _Side.of(reference), _Side.of(moved)
    turned = len(a.score) > len(b.score)
    short, long = (b, a) if turned else (a, b)
    shortest = len(short.score)
    together = max(1, min(_CELLS // shortest, 8 * _BYTES // cells))
    parts = [_run(short, long, lams[k : k + together], turned) for k in range(0, len(lams), together)]
    before, short_wins, long_wins = (np.concatenate(part) for part in zip(*parts))
    if turned:
        return Paths(before[:, ::-1].copy(), long_wins, short_wins)
    places = np.arange(len(b.score))
    above = np.array([np.searchsorted(row, places, side="right") for row in before])
    return Paths(above[:, ::-1].copy(), short_wins, long_wins)


class _Side(NamedTuple):
    """One group from the top down; ``rest[i]`` is the weight of its negatives once i atoms are placed."""

    score: NDArray[np.float64]
    positive: NDArray[np.float64]
    rest: NDArray[np.float64]

    @classmethod
    def of(cls, counts: GroupCounts) -> _Side:
        rest = np.concatenate((np.cumsum(counts.negative)[::-1], [0])).astype(np.float64)
        return cls(counts.score[::-1], counts.positive[::-1].astype(np.float64), rest)


def _run(short: _Side, long: _Side, lams: NDArray[np.float64], turned: bool) -> tuple[Array, Array, Array]:
    """Walk the grid; return how many long atoms stand above each short one, and the wins of both sides."""
    m, n = len(short.score), len(long.score)
    first, last = _diagonals(m, n)
    offsets = np.concatenate(([0], np.cumsum((last - first + 8) // 8))).tolist()
    bits = np.empty((len(lams), offsets[-1]), dtype=np.uint8)
    short_wins, long_wins = _walk(short, long, lams, turned, bits, offsets)
    before = np.array([_way_back(row.tobytes(), offsets, m, n) for row in bits], dtype=np.intp)
    return before, short_wins, long_wins


def _diagonals(m: int, n: int) -> tuple[Array, Array]:
    """Give the first and last inner cell (short side's index i) of the diagonals k = i + j = 2, ..., m + n."""
    k = np.arange(2, m + n + 1)
    return np.maximum(1, k - n), np.minimum(m, k - 1)


def _walk(
    short: _Side, long: _Side, lams: NDArray[np.float64], turned: bool, bits: Array, offsets: list[int]
) -> tuple[Array, Array]:
    """Fill the bits (1: the short side's atom was placed last) and return the wins at the end."""
    m, n = len(short.score), len(long.score)
    # The value times all pairs: its first part is then a whole number, and equal counts have equal values.
    pairs = (short.positive.sum() + long.positive.sum()) * (short.rest[0] + long.rest[0])
    per_short = (lams * (pairs / (short.positive.sum() * long.rest[0])))[:, None]
    per_long = (lams * (pairs / (long.positive.sum() * short.rest[0])))[:, None]
    # Along a diagonal the long side runs backwards.
    long_score, long_positive, long_rest = long.score[::-1], long.positive[::-1], long.rest[:0:-1]
    lower = np.less_equal if turned else np.less

    shape = (len(lams), m + 1)
    wins_short, wins_long, next_short, next_long = (np.zeros(shape) for _ in range(4))
    value_one, value_two, work = (np.empty(shape) for _ in range(3))
    take, equal = (np.empty(shape, dtype=bool) for _ in range(2))
    edge_short = np.concatenate(([0], np.cumsum(short.positive))) * long.rest[0]
    edge_long = np.concatenate(([0], np.cumsum(long.positive))) * short.rest[0]
    wins_long[:, 0] = edge_long[1]
    wins_short[:, 1] = edge_short[1]

    first, last = (side.tolist() for side in _diagonals(m, n))
    for k, lo, hi, begin, end in zip(range(2, m + n + 1), first, last, offsets, offsets[1:]):
        here, back, width = slice(lo, hi + 1), slice(lo - 1, hi), slice(0, hi - lo + 1)
        there = slice(n - k + lo, n - k + hi + 1)
        v1, v2, w = (x[:, width] for x in (value_one, value_two, work))
        t, same = (x[:, width] for x in (take, equal))
        s1, l2 = wins_short[:, here], wins_long[:, back]
        # One: the long atom comes last, from (i, j - 1). Two: the short atom comes last, from (i - 1, j).
        l1 = np.add(wins_long[:, here], long_positive[there] * short.rest[here], out=next_long[:, here])
        s2 = np.add(wins_short[:, back], short.positive[back] * long_rest[there], out=next_short[:, here])
        _values(s1, l1, per_short, per_long, v1, w)
        _values(s2, l2, per_short, per_long, v2, w)
        np.greater(v2, v1, out=t)
        np.equal(v2, v1, out=same)
        same &= lower(short.score[back], long_score[there])
        t |= same
        bits[:, begin:end] = np.packbits(t, axis=1)
        np.copyto(l1, l2, where=t)
        np.copyto(s2, s1, where=np.logical_not(t, out=t))
        if k <= n:
            next_long[:, 0] = edge_long[k]
        if k <= m:
            next_short[:, k] = edge_short[k]
        wins_short, next_short = next_short, wins_short
        wins_long, next_long = next_long, wins_long
    return wins_short[:, m].copy(), wins_long[:, m].copy()


def _values(short: Array, long: Array, per_short: Array, per_long: Array, out: Array, work: Array) -> None:
    """Write the paths' values, times all pairs, to ``out``."""
    np.multiply(short, per_short, out=out)
    np.multiply(long, per_long, out=work)
    out -= work
    np.abs(out, out=out)
    np.add(short, long, out=work)
    np.subtract(work, out, out=out)


def _way_back(bits: bytes, offsets: list[int], m: int, n: int) -> list[int]:
    """Follow the bits from the last cell; return how many long atoms were placed before each short one."""
    before = [0] * m
    i, j = m, n
    while i and j:
        k = i + j
        place = i - max(1, k - n)
        if bits[offsets[k - 2] + (place >> 3)] >> (7 - (place & 7)) & 1:
            i -= 1
            before[i] = j
        else:
            j -= 1
    return before
