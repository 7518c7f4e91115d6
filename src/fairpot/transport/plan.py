"""The transport of one group onto its reference, exact on the line, and the ScoreMap for any share lambda of it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fairpot.transport.lookup import Floats, blocks
from fairpot.transport.scoremap import ScoreMap

_ROUND_OFF = 1e-12
# Cumulative weights that are not whole numbers carry round-off: boundaries this close, as a share of
# the whole mass, count as one boundary.
WEIGHT_TOLERANCE = 1e-12

_INT64_SAFE = 2**62
_COARSE = 2**17
_BLOCK = 2**15  # cells worked on at a time: temporary arrays stay in the cache


def weight_to_reach(share: float, total: float) -> float:
    """Return the weight that the top ``share`` must reach: share * total, less a hair of round-off.

    Whole counts reach it exactly when they reach ceil(share * total), with 0.1 * 3 taken for 0.3. A share of 1
    is everybody, also those whose weight is lost in the round-off of the total: see :func:`top_place`.
    """
    return share * total * (1 - _ROUND_OFF)


def top_place(from_top: NDArray[Any], share: float) -> int:
    """Return how many entries come before the one with which the top ``share`` is reached.

    ``from_top`` is the running weight from the top down, the last of it the whole.
    """
    if share >= 1:
        return len(from_top) - 1
    return int(np.searchsorted(from_top, weight_to_reach(share, from_top[-1].item())))


@dataclass(frozen=True, eq=False)
class TransportPlan:
    """Where every distinct score of a group goes when all of it is moved (lambda = 1).

    ``scores`` ascend, ``projected`` holds T(score), ``top_weight[c]`` the weight of the scores from place ``c`` on. A
    *cut* ``c`` moves the scores at the places >= c.

    Examples
    --------
    >>> import numpy as np
    >>> from fairpot.transport import TransportPlan
    >>> score, weight, reference = np.array([0.1, 0.3, 0.5]), np.array([1, 1, 1]), np.array([0.2, 0.6, 0.9])
    >>> plan = TransportPlan.between(score, weight, reference, weight)
    >>> plan.map(plan.cut(1 / 3))(score)
    array([0.1, 0.3, 0.9])
    """

    scores: Floats
    projected: Floats
    top_weight: NDArray[Any]

    @classmethod
    def between(
        cls, scores: Floats, weight: NDArray[Any], target: Floats, target_weight: NDArray[Any]
    ) -> TransportPlan:
        """Plan the transport of one measure onto another (see :func:`project`)."""
        top = np.zeros(len(weight) + 1, dtype=weight.dtype)
        np.cumsum(weight[::-1], out=top[-2::-1])
        return cls(scores, project(scores, weight, target, target_weight), top)

    def cut(self, lam: float) -> int:
        """Return the cut that moves the top ``lam``: the paper's I_top, ties at the cut included."""
        if lam <= 0:
            return len(self.scores)
        # top_weight descends: the last place whose weight still reaches what is wanted.
        return max(len(self.scores) - top_place(self.top_weight[::-1], lam), 0)

    def map(self, cut: int, *, monotone: bool = False) -> ScoreMap:
        """Return the map that moves the scores from place ``cut`` upwards and leaves the rest.

        With ``monotone`` no moved score falls below the highest that stays.
        """
        if cut >= len(self.scores):
            return ScoreMap.identity()
        if cut == 0:
            return ScoreMap(self.scores, self.projected)
        kept = self.scores[cut - 1]
        values = np.concatenate(([kept], self.projected[cut:]))
        return ScoreMap(self.scores[cut - 1 :], values, below="identity", floor=float(kept) if monotone else None)


def project(scores: Floats, weight: NDArray[Any], target: Floats, target_weight: NDArray[Any]) -> Floats:
    """Move each score to the mean of the target scores it is coupled with by the optimal transport for squared cost.

    On the line that coupling is the monotone one: put both measures on [0, 1) in ascending order; an atom is coupled
    with the target atoms that its cell overlaps. In units of 1 / (n_a n_b) every boundary is an integer when the
    weights are, so a cell that lies inside one target cell returns that target score bit for bit.

    Parameters
    ----------
    scores, target : arrays
        Ascending and distinct.
    weight, target_weight : arrays
        Positive weights; integers are exact, other weights are compared with a tolerance of 1e-12 of the whole mass.

    Examples
    --------
    >>> import numpy as np
    >>> from fairpot.transport import project
    >>> score, target, one = np.array([1.0, 2.0, 3.0]), np.array([10.0, 20.0]), np.ones(3, dtype=np.int64)
    >>> project(score, one, target, one[:2])
    array([10., 15., 20.])
    """
    # In common units a weight of 1 is `scale` long in the moving measure and `target_scale` in the target.
    ends, target_ends, scale, target_scale = _boundaries(weight, target_weight)
    # Scores rounded to a few digits make short tables, in which a mean may equal a target score; extended
    # precision keeps such ties. In long tables neighbours are so close that doubles round the same way.
    wide = np.longdouble if len(target) <= _COARSE else np.float64
    even = target_weight.dtype.kind == "i" and len(target) == target_ends[-1]
    projected = np.empty(len(scores))
    begin, reached = 0, ends[0] * 0
    for block in blocks(len(scores), max(_BLOCK * len(scores) // (len(scores) + len(target)), 64)):
        block_ends = ends[block] * scale
        upto = -(-block_ends[-1] // target_scale) if target_scale > 1 else block_ends[-1]  # rounded up
        stop = int(np.searchsorted(target_ends, upto, side="left")) + 1
        cells = slice(begin, stop)
        part = _Target(target[cells], target_weight[cells], target_ends[cells] * target_scale, target_scale, even)
        projected[block] = _project_block(block_ends, reached, part, wide)
        reached = block_ends[-1]
        # Weights that are not whole may leave a cell no length at all: it stays with the cell it ends in.
        begin = stop - int(part.ends[-1] != reached or ends.dtype.kind == "f")
    return projected


class _Target(NamedTuple):
    """A stretch of the target: scores, weights, the upper ends of their cells, the length of a weight of 1."""

    score: Floats
    weight: NDArray[Any]
    ends: NDArray[Any]
    unit: int
    even: bool  # whether every weight is 1


def _boundaries(weight: NDArray[Any], target_weight: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any], int, int]:
    """Give the running weights of both measures, and the factors that bring them to common units."""
    if weight.dtype.kind == "i" and target_weight.dtype.kind == "i":
        ends, target_ends = np.cumsum(weight), np.cumsum(target_weight)
        n_b, n_a = int(ends[-1]), int(target_ends[-1])
        if n_a * n_b >= _INT64_SAFE:
            ends, target_ends = ends.astype(object), target_ends.astype(object)
        return ends, target_ends, n_a, n_b
    ends, target_ends = np.cumsum(weight, dtype=np.float64), np.cumsum(target_weight, dtype=np.float64)
    # Scale the moving measure to the target's mass, then let near boundaries coincide.
    ends *= target_ends[-1] / ends[-1]
    ends[-1] = target_ends[-1]
    upper = np.minimum(np.searchsorted(target_ends, ends), len(target_ends) - 1)
    lower = np.maximum(upper - 1, 0)
    near = np.where(ends - target_ends[lower] < target_ends[upper] - ends, target_ends[lower], target_ends[upper])
    close = np.abs(near - ends) <= WEIGHT_TOLERANCE * target_ends[-1]
    return np.where(close, near, ends), target_ends, 1, 1


def _project_block(ends: NDArray[Any], reached: Any, target: _Target, wide: type[np.floating]) -> Floats:
    """Project the cells from ``reached`` to the last of ``ends`` onto the target cells they overlap."""
    if target.even and ends.dtype == np.int64:
        last = (ends - 1) // target.unit - (target.ends[0] // target.unit - 1)
    else:
        last = np.searchsorted(target.ends, ends, side="left")
    first = np.zeros_like(last)
    first[0] = target.ends[0] <= reached
    first[1:] = last[:-1] + (target.ends[last[:-1]] == ends[:-1])
    if ends.dtype.kind == "f":
        np.minimum(first, last, out=first)
    projected, high = target.score[first], target.score[last]
    inner = np.flatnonzero(last > first)
    if len(inner) == 0:
        return projected
    low, high, first, last = projected[inner], high[inner], first[inner], last[inner]
    length = np.diff(ends, prepend=reached)[inner].astype(wide)
    # The mean as a shift from the lowest target score: by the cell at the upper end, and by those between.
    shift = (ends[inner] - target.ends[last - 1]).astype(wide) * (high.astype(wide) - low)
    if (last - first > 1).any():
        shift += _shifts_between(target, first, last, wide) * target.unit
    shift /= length
    shift += low
    projected[inner] = np.clip(shift.astype(np.float64), low, high)
    return projected


def _shifts_between(
    target: _Target, first: NDArray[np.intp], last: NDArray[np.intp], wide: type[np.floating]
) -> NDArray[np.floating]:
    """Sum weight * (score - score of first) over the target cells strictly between first and last.

    Differences of running sums, made safe by fixed point: the high part of each score is an integer
    whose running sum is exact, the low part is too small for its round-off to matter.
    """

    def total(values: NDArray[Any]) -> NDArray[Any]:
        running = np.cumsum(values if target.even else values * target.weight)
        return running[last - 1] - running[first]

    weight = last - 1 - first if target.even else total(np.ones(1, dtype=np.int64))
    if target.weight.dtype.kind == "f":
        return total(target.score.astype(np.longdouble)) - weight * target.score[first].astype(np.longdouble)
    largest = float(np.abs(target.score[[0, -1]]).max()) * int(target.weight.sum())
    scale = 2.0 ** min(61 - math.frexp(largest)[1], 1000)
    high = np.rint(target.score * scale)
    fixed = high.astype(np.int64)
    high *= 1 / scale  # a power of two: exact
    low = target.score - high
    shift = (total(fixed) - weight * fixed[first]).astype(wide)
    shift *= 1 / scale
    shift += total(low) - weight * low[first]
    return shift
