"""Scores that stay on their grid: every map cut to the scores that came in, and the dial's values that differ then."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from fairpot._arguments import argument
from fairpot.table import ScoreTable
from fairpot.transport import Floats, ScoreMap

MOST_SCORES = 1000
# So many values of the dial are looked at in search of maps that differ.
_VALUES = 2000


def grid_of(table: ScoreTable) -> Floats:
    """Return all distinct scores of a table, if they are few enough to be a grid."""
    found = np.unique(np.concatenate([c.score for c in table.counts]))
    if len(found) > MOST_SCORES:
        raise ValueError(
            f"{argument('keep_grid', True)} gives back scores of the grid that came in, and {len(found):,} distinct "
            f"scores are no grid (at most {MOST_SCORES:,} are).\n"
            "Hint: leave it out, or round the scores before fit, and before every apply."
        )
    return found


def cut_map(full: ScoreMap, grid: Floats) -> ScoreMap:
    """Make a table of a map: each score of the grid becomes the one nearest to what the map makes of it.

    Half way the higher one is taken. A score between two of the grid is first taken for the nearest.

    Examples
    --------
    >>> table = cut_map(ScoreMap([1, 10], [2.4, 10]), np.arange(1.0, 11.0))
    >>> table([1, 2, 5, 9, 10])
    array([ 2.,  3.,  6.,  9., 10.])
    """
    borders = _borders(grid)
    values = grid[np.searchsorted(borders, full(grid), side="right")]
    steps = np.flatnonzero(np.diff(values))
    if len(steps) == 0:
        return ScoreMap(grid[:1], values[:1])
    knots = np.column_stack((np.nextafter(borders[steps], -np.inf), borders[steps])).ravel()
    heights = np.column_stack((values[steps], values[steps + 1])).ravel()
    kept = np.append(True, np.diff(knots) > 0)
    return ScoreMap(knots[kept], heights[kept])


def _borders(grid: Floats) -> Floats:
    """Give the first number, from each score of a grid upwards, that is nearer to the next one."""
    middle = grid[:-1] / 2 + grid[1:] / 2
    return np.where(middle > grid[:-1], middle, grid[1:])


def distinct_values(
    values: NDArray[np.float64], cut_at: Callable[[NDArray[np.float64]], Floats]
) -> NDArray[np.float64]:
    """Add to the values of a dial those between them at which the cut maps are others than at their neighbours.

    ``cut_at`` gives what becomes of every score of the grid at one value, as places on the grid. Halves every step
    over which more than one score moves by one place, as long as there are numbers between and not too many values.
    """
    found, given = list(values), len(values)
    places = [cut_at(value) for value in found]
    asked = [True] * given
    at = 0
    while at < len(found) - 1 and len(found) < _VALUES:
        middle = np.asarray(found[at] / 2 + found[at + 1] / 2)
        near = np.allclose(found[at], found[at + 1], rtol=1e-9, atol=1e-12)
        if near or np.abs(places[at] - places[at + 1]).sum() <= 1:
            at += 1
            continue
        found.insert(at + 1, middle)
        places.insert(at + 1, cut_at(middle))
        asked.insert(at + 1, False)
    new = [k == 0 or asked[k] or bool((places[k] != places[k - 1]).any()) for k in range(len(found))]
    return np.array(found)[new]
