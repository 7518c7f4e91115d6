"""The fewest points of a polyline that keep it inside a corridor: pure maths on arrays."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
# Up to this many points the fewest are found; beyond, a walk that is close to it, in linear time.
EXACT_UP_TO = 2000
_WINDOW = 64


def fewest_points(x: Floats, v: Floats, low: Floats, high: Floats) -> NDArray[np.intp]:
    """Choose points of a polyline, the first and the last among them, that stay between ``low`` and ``high``.

    Parameters
    ----------
    x, v : arrays of shape (n,)
        The polyline; x ascends.
    low, high : arrays of shape (n,)
        What a line between chosen points must keep to at each x.

    Returns
    -------
    Places of the chosen points: the fewest there are up to 2,000 points, about as few beyond.
    """
    if len(x) <= 2:
        return np.arange(len(x))
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        return _shortest(x, v, low, high) if len(x) <= EXACT_UP_TO else _walked(x, v, low, high)


def reachable(x: Floats, v: Floats, low: Floats, high: Floats, first: int) -> NDArray[np.intp]:
    """Return the points to which a straight line from ``first`` stays in the corridor, the next one always."""
    size = _WINDOW
    while True:
        end = min(len(x), first + 1 + size)
        inside = slice(first + 1, end)
        width = x[inside] - x[first]
        slope = (v[inside] - v[first]) / width
        least = np.maximum.accumulate((low[inside] - v[first]) / width)
        most = np.minimum.accumulate((high[inside] - v[first]) / width)
        if end == len(x) or not least[-1] <= most[-1]:
            break
        size *= 4
    fits = np.ones(len(slope), dtype=bool)
    fits[1:] = (least[:-1] <= slope[1:]) & (slope[1:] <= most[:-1])
    return np.flatnonzero(fits) + first + 1


def _shortest(x: Floats, v: Floats, low: Floats, high: Floats) -> NDArray[np.intp]:
    """Find the shortest way from the first point to the last by the lines that fit."""
    steps = np.full(len(x), len(x))
    before = np.zeros(len(x), dtype=np.intp)
    steps[0] = 0
    for first in range(len(x) - 1):
        ends = reachable(x, v, low, high, first)
        better = ends[steps[ends] > steps[first] + 1]
        steps[better] = steps[first] + 1
        before[better] = first
    way = [len(x) - 1]
    while way[-1] > 0:
        way.append(int(before[way[-1]]))
    return np.array(way[::-1], dtype=np.intp)


def _walked(x: Floats, v: Floats, low: Floats, high: Floats) -> NDArray[np.intp]:
    """Go from each chosen point as far as a line fits."""
    way = [0]
    while way[-1] < len(x) - 1:
        way.append(int(reachable(x, v, low, high, way[-1])[-1]))
    return np.array(way, dtype=np.intp)
