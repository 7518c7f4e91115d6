"""Families made of families: scores that stay on their grid, and a repair of the top alone.

Nobody below the top's first score is moved, and nobody from it upwards falls below it. The score is written down, so
that new rows are judged by the same one; a promise about the top is about everybody scored there or above.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairpot._arguments import argument
from fairpot._defaults import Ties
from fairpot._validation import wording
from fairpot.inference.dial import Cut
from fairpot.metrics.wins import WinMatrix
from fairpot.repair.family import Family
from fairpot.table import ScoreTable
from fairpot.tradeoff.curve import TradeoffCurve
from fairpot.tradeoff.solve import Mover
from fairpot.transport import Floats, ScoreMap

Learn = Callable[[ScoreTable], Family]
Places = NDArray[np.intp]

MOST_SCORES = 1000
# So many strengths are looked at in search of maps that differ.
_VALUES = 2000


def in_region(learn: Learn, cut: Cut) -> Learn:
    """Make a method that learns from the rows above a cut and moves nobody below it: again a function of a table."""

    def learnt(table: ScoreTable) -> Family:
        rows = table.above(cut.starts)
        empty = [g for g, c in zip(rows.groups, rows.counts) if len(c.score) == 0]
        if empty:
            raise ValueError(
                f"group {empty[0]!r} has no rows {wording.among(cut.top.size)}: nothing to align.\n"
                f"Hint: give a larger {argument('top')}, or {argument('top_of', 'group')} for the top of each group."
            )
        return _starting(learn(rows), rows, cut)

    return learnt


def _starting(family: Family, rows: ScoreTable, cut: Cut) -> Family:

    def at(group: Hashable, value: float) -> ScoreMap:
        return _started(family.map(group, value), rows[group].score, cut.starts[group])

    def quick(table: ScoreTable, ties: Ties) -> TradeoffCurve | None:
        """Trace the top at once; of a top of all rows, what is below neither wins nor loses."""
        assert family.quick is not None
        top = table.above(cut.starts)
        found = family.quick(top, ties)
        if found is None:
            return None
        before, there = WinMatrix.of(table, ties), WinMatrix.of(top, ties)
        rest = float(before.half_wins.sum() - there.half_wins.sum())
        pairs, inside = (float(each.positives.sum()) * float(each.negatives.sum()) for each in (before, there))
        won = found.auc * inside if inside > 0 else 0.0 * found.lam
        auc = np.minimum((won + rest / 2) / pairs, 1.0)
        return replace(found, auc=auc, unrepaired_auc=before.auc(), top=cut.top.size)

    # A start may cut an edge off what a trace at once assumes: where maps go down, or each group has its own start.
    at_once = family.quick is not None and cut.top.top_of == "all" and family.shy == 0
    if at_once:
        last = family.maps(float(family.values[-1]))
        at_once = all(each.floor is None and (each.values >= cut.starts[g]).all() for g, each in last.items())
    none: dict[str, Any] = {"move": None, "scale": None, "settle": None, "moves_exactly": False, "shy": 0.0}
    return replace(family, map=at, quick=quick if at_once else None, **none)


def _started(found: ScoreMap, scores: Floats, start: float) -> ScoreMap:
    """Let a map start at a score, and keep what it moves from falling below it."""
    if found.is_identity:
        return found
    if type(found) is not ScoreMap:  # a formula becomes its values at the group's scores
        knots = np.unique(np.append(scores, [start, 1.0] if scores[-1] <= 1 and start >= 0 else [start]))
        found = ScoreMap(knots, found(knots))
    if found.floor is None and (found.values < start).any():
        found = ScoreMap(found.knots, found.values, below=found.below, above=found.above, floor=start)
    return found.starting_at(start)


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
    known: dict[tuple[Hashable, float], Places] = {}

    def places(group: Hashable, value: float) -> Places:
        if (group, value) not in known:
            known[group, value] = np.searchsorted(borders, family.map(group, value)(grid), side="right")
        return known[group, value]

    def own(group: Hashable) -> Floats:
        assert family.reach is not None
        if family.listed:  # there are no others
            return _differing(family.reach(group), [places(group, float(v)) for v in family.reach(group)])
        return _distinct(_start(family, family.reach(group)), lambda value: places(group, value))

    def together(value: float) -> Places:
        return np.concatenate([places(group, value) for group in family.moved])

    def move(group: Hashable, scores: Floats) -> Mover:
        nearest = np.searchsorted(borders, scores, side="right")
        return lambda value: grid[places(group, value)[nearest]]

    alone = family.listed and len(family.moved) == 1
    none: dict[str, Any] = dict.fromkeys(("finer", "few", "quick", "scale", "settle"))
    return replace(
        family,
        map=lambda group, value: cut_map(family.map(group, value), grid),
        values=own(family.moved[0]) if alone else _distinct(_start(family, family.values), together),
        reach=None if family.reach is None else own,
        move=move,
        moves_exactly=True,
        shy=0.0,
        **none,
    )


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


def _start(family: Family, values: Floats) -> Floats:
    """Give few enough strengths to begin with, the one that changes nothing among them."""
    few = values[np.unique(np.linspace(0, len(values) - 1, _VALUES // 4).round().astype(np.intp))]
    return few if family.dial.identity is None else np.union1d(few, family.dial.identity)


def _distinct(values: Floats, places: Callable[[float], Places]) -> Floats:
    """Give strengths at which the cut maps are others than at their neighbours.

    ``places`` gives what becomes of every score of the grid, as places on it. Every step over which more than one score
    moves by one place is halved, as long as there are numbers between and not too many strengths.
    """
    seen = {float(value): places(float(value)) for value in values}
    todo = list(zip(values[:-1].tolist(), values[1:].tolist()))
    while todo and len(seen) < _VALUES:
        left = []
        for low, high in todo:
            same = abs(low - high) <= 1e-12 + 1e-9 * abs(high)
            if same or np.abs(seen[low] - seen[high]).sum() <= 1:
                continue
            middle = low / 2 + high / 2
            seen[middle] = places(middle)
            left += [(low, middle), (middle, high)]
        todo = left
    order = sorted(seen)
    return _differing(np.array(order), [seen[value] for value in order])


def _differing(values: Floats, places: list[Places]) -> Floats:
    """Keep strengths at which the cut maps are others than at the one before, and 0."""
    rows = np.stack(places)
    new = np.append(True, (rows[1:] != rows[:-1]).any(axis=1))
    return values[new | (values == 0)]
