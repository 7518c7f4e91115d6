"""Barycentric projection of one discrete measure onto another on the line."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

# Cumulative weights that are not whole numbers carry round-off: boundaries this close, as a share of
# the whole mass, count as one boundary.
WEIGHT_TOLERANCE = 1e-12

_INT64_SAFE = 2**62
_COARSE = 2**17
_BLOCK = 2**15  # cells worked on at a time: temporary arrays stay in the cache


def project(
    scores: NDArray[np.float64],
    weight: NDArray[np.int64] | NDArray[np.float64],
    target: NDArray[np.float64],
    target_weight: NDArray[np.int64] | NDArray[np.float64],
) -> NDArray[np.float64]:
    """Move each score to the mean of the target scores it is coupled with.

    The optimal coupling for squared cost on the line is the monotone one: put both measures on
    [0, 1) in ascending order; an atom is coupled with the target atoms that its cell overlaps.
    In units of 1 / (n_a n_b) every boundary is an integer when the weights are, so a cell that
    lies inside one target cell returns that target score bit for bit.

    Parameters
    ----------
    scores, target : ascending arrays of distinct values
    weight, target_weight : positive weights; integers are exact, other weights are compared
        with a tolerance of 1e-12 of the whole mass

    Returns
    -------
    The projected scores, not decreasing, each within the range of its target atoms.

    Examples
    --------
    >>> import numpy as np
    >>> one = np.ones(3, dtype=np.int64)
    >>> project(np.array([1.0, 2.0, 3.0]), one, np.array([10.0, 20.0]), one[:2])
    array([10., 15., 20.])
    """
    ends, target_ends, unit = _boundaries(weight, target_weight)
    # Scores rounded to a few digits make short tables, in which a mean may equal a target score; extended
    # precision keeps such ties. In long tables neighbours are so close that doubles round the same way.
    wide = np.longdouble if len(target) <= _COARSE else np.float64
    projected = np.empty(len(scores))
    step = max(_BLOCK * len(scores) // (len(scores) + len(target)), 64)
    begin, reached = 0, ends[0] * 0
    for i in range(0, len(scores), step):
        block = ends[i : i + step]
        stop = int(np.searchsorted(target_ends, block[-1], side="left")) + 1
        cells = slice(begin, stop)
        projected[i : i + step] = _project_block(
            block, reached, target[cells], target_weight[cells], target_ends[cells], unit, wide
        )
        reached = block[-1]
        begin = stop - 1 + int(target_ends[stop - 1] == reached)
    return projected


def _boundaries(weight: NDArray[Any], target_weight: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any], int]:
    """Give the upper ends of both measures' cells in common units, and the units in a target weight of 1."""
    if weight.dtype.kind == "i" and target_weight.dtype.kind == "i":
        n_b, n_a = int(weight.sum()), int(target_weight.sum())
        wide = np.dtype(object) if n_a * n_b >= _INT64_SAFE else np.dtype(np.int64)
        return np.cumsum(weight).astype(wide) * n_a, np.cumsum(target_weight).astype(wide) * n_b, n_b
    ends, target_ends = np.cumsum(weight, dtype=np.float64), np.cumsum(target_weight, dtype=np.float64)
    # Scale the moving measure to the target's mass, then let near boundaries coincide.
    ends *= target_ends[-1] / ends[-1]
    ends[-1] = target_ends[-1]
    upper = np.minimum(np.searchsorted(target_ends, ends), len(target_ends) - 1)
    lower = np.maximum(upper - 1, 0)
    near = np.where(
        ends - target_ends[lower] < target_ends[upper] - ends, target_ends[lower], target_ends[upper]
    )
    close = np.abs(near - ends) <= WEIGHT_TOLERANCE * target_ends[-1]
    return np.where(close, near, ends), target_ends, 1


def _project_block(
    ends: NDArray[Any],
    reached: Any,
    target: NDArray[np.float64],
    target_weight: NDArray[Any],
    target_ends: NDArray[Any],
    unit: int,
    wide: type[np.floating],
) -> NDArray[np.float64]:
    """Project the cells from ``reached`` to the last of ``ends`` onto the target cells they overlap."""
    last = np.searchsorted(target_ends, ends, side="left")
    first = np.zeros_like(last)
    first[1:] = last[:-1] + (target_ends[last[:-1]] == ends[:-1])
    low, high = target[first], target[last]
    starts = np.concatenate(([reached], ends[:-1]))
    inner = np.flatnonzero(last > first)
    if len(inner) == 0:
        return low
    tail = (ends - target_ends[last - 1])[inner].astype(wide)
    shift = tail * (high[inner].astype(wide) - low[inner])
    shift += _shifts_between(target, target_weight, first[inner], last[inner], wide) * unit
    shift /= (ends - starts)[inner].astype(wide)
    shift += low[inner]
    projected = low.copy()
    projected[inner] = np.clip(shift.astype(np.float64), low[inner], high[inner])
    return projected


def _shifts_between(
    target: NDArray[np.float64],
    target_weight: NDArray[Any],
    first: NDArray[np.intp],
    last: NDArray[np.intp],
    wide: type[np.floating],
) -> NDArray[np.floating]:
    """Sum weight * (score - score of first) over the target cells strictly between first and last.

    Differences of running sums, made safe by fixed point: the high part of each score is an integer
    whose running sum is exact, the low part is too small for its round-off to matter.
    """

    def total(values: NDArray[Any]) -> NDArray[Any]:
        running = np.cumsum(values * target_weight)
        return running[last - 1] - running[first]

    weight = total(np.ones(1, dtype=np.int64))
    if target_weight.dtype.kind == "f":
        return total(target.astype(np.longdouble)) - weight * target[first].astype(np.longdouble)
    largest = float(np.abs(target[[0, -1]]).max()) * int(target_weight.sum())
    bits = min(61 - math.frexp(largest)[1], 1000)
    high = np.rint(target * 2.0**bits)
    low = target - high * 2.0**-bits
    fixed = high.astype(np.int64)
    whole = (total(fixed) - weight * fixed[first]).astype(wide)
    return whole * 2.0**-bits + (total(low) - weight * low[first])
