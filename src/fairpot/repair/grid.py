"""Scores that stay on their grid: deciles in, deciles out. Every map is cut, all else is as with any family."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from fairpot._arguments import argument
from fairpot.repair.family import Family
from fairpot.table import ScoreTable
from fairpot.tradeoff.solve import Mover
from fairpot.transport import Floats, ScoreMap

MOST_SCORES = 1000
# So many strengths are looked at in search of maps that differ.
_VALUES = 2000


def grid_of(table: ScoreTable) -> Floats:
    """Return all distinct scores of a table, if they are few enough to be a grid."""
    found = np.unique(np.concatenate([c.score for c in table.counts]))
    if len(found) > MOST_SCORES:
        raise ValueError(
            f"{argument('keep', 'grid')} gives back scores of the grid that came in, and {len(found):,} distinct "
            f"scores are no grid (at most {MOST_SCORES:,} are).\n"
            "Hint: leave it out, or round the scores before fit, and before every apply."
        )
    return found


def on_grid(family: Family, grid: Floats) -> Family:
    """Cut every map of a family to the scores of a grid; the strengths are those at which the cut maps differ."""
    borders = _borders(grid)
    known: dict[tuple[Hashable, float], NDArray[np.intp]] = {}

    def places(group: Hashable, value: float) -> NDArray[np.intp]:
        if (group, value) not in known:
            known[group, value] = np.searchsorted(borders, family.map(group, value)(grid), side="right")
        return known[group, value]

    def own(group: Hashable) -> Floats:
        assert family.reach is not None
        if family.listed:  # there are no others
            return _differing(family.reach(group), [places(group, float(v)) for v in family.reach(group)])
        return _distinct(_start(family, family.reach(group)), lambda value: places(group, value))

    def together(value: float) -> NDArray[np.intp]:
        return np.concatenate([places(group, value) for group in family.moved])

    def move(group: Hashable, scores: Floats) -> Mover:
        nearest = np.searchsorted(borders, scores, side="right")
        return lambda value: grid[places(group, value)[nearest]]

    alone = family.listed and len(family.moved) == 1
    values = own(family.moved[0]) if alone else _distinct(_start(family, family.values), together)
    return replace(
        family,
        map=lambda group, value: cut_map(family.map(group, value), grid),
        values=values,
        finer=None,
        few=None,
        reach=None if family.reach is None else own,
        quick=None,
        move=move,
        moves_exactly=True,
        scale=None,
        shy=0.0,
        settle=None,
    )


def _start(family: Family, values: Floats) -> Floats:
    """Give few enough strengths to begin with, the one that changes nothing among them."""
    few = values[np.unique(np.linspace(0, len(values) - 1, _VALUES // 4).round().astype(np.intp))]
    return few if family.dial.identity is None else np.union1d(few, family.dial.identity)


def cut_map(full: ScoreMap, grid: Floats) -> ScoreMap:
    """Make a table of a map: each score of the grid becomes the one nearest to what the map makes of it.

    Half way the higher one is taken. A score between two of the grid is first taken for the nearest.
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


def _distinct(values: Floats, places: Callable[[float], NDArray[np.intp]]) -> Floats:
    """Give strengths at which the cut maps are others than at their neighbours.

    ``places`` gives what becomes of every score of the grid, as places on it. Every step over which more than one score
    moves by one place is halved, as long as there are numbers between and not too many strengths.
    """
    seen = {float(value): places(float(value)) for value in values}
    todo = list(zip(values[:-1].tolist(), values[1:].tolist()))
    while todo and len(seen) < _VALUES:
        left = []
        for low, high in todo:
            if np.abs(seen[low] - seen[high]).sum() <= 1 or np.isclose(low, high, rtol=1e-9, atol=1e-12):
                continue
            middle = low / 2 + high / 2
            seen[middle] = places(middle)
            left += [(low, middle), (middle, high)]
        todo = left
    order = sorted(seen)
    return _differing(np.array(order), [seen[value] for value in order])


def _differing(values: Floats, places: list[NDArray[np.intp]]) -> Floats:
    """Keep strengths at which the cut maps are others than at the one before, and 0."""
    rows = np.stack(places)
    new = np.append(True, (rows[1:] != rows[:-1]).any(axis=1))
    return values[new | (values == 0)]
