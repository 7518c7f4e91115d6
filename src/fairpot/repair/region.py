"""Repair the top alone: cut the rows once at a score, learn there, and let the maps start there.

Nobody below that score is moved, and nobody from it upwards falls below it. The score is written down, so that new
rows are judged by the same one; a promise about the top is a promise about everybody scored there or above.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import replace
from typing import Any

import numpy as np

from fairpot._arguments import argument
from fairpot._defaults import Ties
from fairpot.inference.dial import Cut
from fairpot.metrics.wins import WinMatrix
from fairpot.repair.family import Family
from fairpot.table import ScoreTable
from fairpot.tradeoff.curve import TradeoffCurve
from fairpot.tradeoff.solve import Mover
from fairpot.transport import Floats, ScoreMap

Learn = Callable[[ScoreTable], Family]


def in_region(learn: Learn, cut: Cut) -> Learn:
    """Make a method that learns from the rows above a cut and moves nobody below it: again a function of a table."""

    def learnt(table: ScoreTable) -> Family:
        rows = table.above(cut.starts)
        _require_rows(rows, cut)
        return _starting(learn(rows), rows, cut)

    return learnt


def _starting(family: Family, rows: ScoreTable, cut: Cut) -> Family:
    """Let all maps of a family start at the cut."""

    def at(group: Hashable, value: float) -> ScoreMap:
        return _started(family.map(group, value), rows[group].score, cut.starts[group])

    def move(group: Hashable, scores: Floats) -> Mover:
        return lambda value: at(group, value)(scores)

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
        return replace(found, auc=auc, unrepaired_auc=before.auc(), alpha=cut.alpha)

    # A start may cut an edge off what a trace at once assumes: where maps go down, or each group has its own start.
    at_once = family.quick is not None and cut.region == "pooled" and family.shy == 0 and not _floored(family, cut)
    own: dict[str, Any] = {"map": at, "move": move, "quick": quick if at_once else None}
    return replace(family, **own, moves_exactly=False, scale=None, shy=0.0, settle=None)


def _floored(family: Family, cut: Cut) -> bool:
    """Whether a map at full strength would lead below the start."""
    maps = family.maps(float(family.values[-1]))
    return any(each.floor is not None or (each.values < cut.starts[g]).any() for g, each in maps.items())


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


def _require_rows(rows: ScoreTable, cut: Cut) -> None:
    """Insist that every group has rows in the top."""
    empty = [g for g, c in zip(rows.groups, rows.counts) if len(c.score) == 0]
    if empty:
        raise ValueError(
            f"group {empty[0]!r} has no rows in the top {100 * cut.alpha:.4g}%: nothing to align.\n"
            f"Hint: give a larger {argument('top')}, or {argument('top_of', 'group')} for the top of each group."
        )
