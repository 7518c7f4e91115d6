"""How each entry of a table stands among all: the negatives it beats, the positives that beat it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fairpot.inference.pairs import Kernel
from fairpot.table import Counts

Floats = NDArray[np.float64]


class Placements(NamedTuple):
    """Weights beaten and lost to, at the entries of each group that have positives, and negatives.

    ``beaten[g][h]`` is the weight of h's negatives that each positive entry of g beats, ``lost[g][h]`` that of
    h's positives that beat each negative entry of g.
    """

    beaten: list[Floats]
    lost: list[Floats]


def placements(
    scores: Sequence[Floats],
    positive: Sequence[Counts],
    negative: Sequence[Counts],
    kernel: Kernel,
    at: Sequence[tuple[NDArray[np.intp], NDArray[np.intp]]] | None = None,
) -> Placements:
    """Place every entry among the entries of all groups: one sort of all scores, which may come in any order.

    Parameters
    ----------
    scores, positive, negative : for each group
        The score and the weights of each of its entries.
    at : for each group, places of entries that stand for positives, and for negatives; None takes those with weight
    """
    ends = np.cumsum([len(s) for s in scores])
    first, last = _runs(np.concatenate(scores))
    parts = [slice(end - len(s), end) for s, end in zip(scores, ends)]
    order = first.order
    below = [_running(c, part, order) for c, part in zip(negative, parts)]
    above = [_running(c, part, order) for c, part in zip(positive, parts)]
    beaten, lost = [], []
    places = [(np.flatnonzero(p > 0), np.flatnonzero(n > 0)) for p, n in zip(positive, negative)] if at is None else at
    for part, (plus, minus) in zip(parts, places):
        there = plus
        low, high = first.at(part, there), last.at(part, there)
        beaten.append(np.stack([_count(run, low, high, kernel) for run in below]))
        there = minus
        low, high = first.at(part, there), last.at(part, there)
        lost.append(np.stack([_count_above(run, low, high, kernel) for run in above]))
    return Placements(beaten, lost)


class _Edge(NamedTuple):
    """Where, in sorted order, the run of equal scores of each entry begins or ends."""

    order: NDArray[np.intp]
    edge: NDArray[np.intp]

    def at(self, part: slice, entries: NDArray[np.intp]) -> NDArray[np.intp]:
        return self.edge[part][entries]


def _runs(scores: Floats) -> tuple[_Edge, _Edge]:
    order = np.argsort(scores, kind="stable")  # groups come sorted: this merges their runs
    ranked = scores[order]
    starts = np.concatenate(([0], np.flatnonzero(ranked[1:] != ranked[:-1]) + 1))
    length = np.diff(starts, append=len(scores))
    first, last = np.empty(len(scores), dtype=np.intp), np.empty(len(scores), dtype=np.intp)
    first[order] = np.repeat(starts, length)
    last[order] = np.repeat(starts + length, length)
    return _Edge(order, first), _Edge(order, last)


def _running(counts: Counts, part: slice, order: NDArray[np.intp]) -> Floats:
    """Sum one group's weights along the sorted entries of all groups."""
    spread = np.zeros(len(order), dtype=np.float64)
    spread[part] = counts
    total = np.zeros(len(order) + 1)
    np.cumsum(spread[order], out=total[1:])
    return total


def _count(run: Floats, low: NDArray[np.intp], high: NDArray[np.intp], kernel: Kernel) -> Any:
    if kernel == "strict":
        return run[low]
    return (run[low] + run[high]) / 2 if kernel == "half" else run[high] - run[low]


def _count_above(run: Floats, low: NDArray[np.intp], high: NDArray[np.intp], kernel: Kernel) -> Any:
    if kernel == "strict":
        return run[-1] - run[high]
    return run[-1] - (run[low] + run[high]) / 2 if kernel == "half" else run[high] - run[low]
