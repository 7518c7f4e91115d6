"""Whose scores a repair changes, which way and how far, group by group."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairpot._validation import Rows
from fairpot.results.kinds import Count, Group
from fairpot.table import Maps, ScoreTable
from fairpot.transport import Floats


@dataclass(frozen=True)
class Moved:
    """How many scores of one group a repair changes, which way and how far, on the scale of the rows' own scores.

    ``mean_shift`` is over the changed rows, ``mean_shift_of_all`` over all rows of the group.
    """

    group: Group
    rows: Count
    moved: Count
    up: Count
    down: Count
    mean_shift: float
    mean_shift_of_all: float
    largest_shift: float


def moves(table: ScoreTable, maps: Maps) -> tuple[Moved, ...]:
    """Count, for each group, whose score a map changes, which way and how far."""
    sign = -1.0 if table.lower_is_riskier else 1.0
    return tuple(
        _moved(g, c.weight, sign * ((maps[g](c.score) if g in maps else c.score) - c.score))
        for g, c in zip(table.groups, table.counts)
    )


def moves_of_rows(rows: Rows, after: Floats) -> tuple[Moved, ...]:
    """Count the same of rows with a second score beside the first."""
    codes = np.zeros(len(after), dtype=np.intp) if rows.codes is None else rows.codes
    weight = np.ones(len(after), dtype=np.int64) if rows.weight is None else rows.weight
    shift = after - rows.scores
    return tuple(_moved(g, weight[codes == place], shift[codes == place]) for place, g in enumerate(rows.groups))


def _moved(group: Hashable, weight: NDArray[Any], shift: Floats) -> Moved:
    rows, moved = weight.sum().item(), weight[shift != 0].sum().item()
    total = float(np.dot(weight, shift))
    return Moved(
        group,
        rows,
        moved,
        weight[shift > 0].sum().item(),
        weight[shift < 0].sum().item(),
        total / moved + 0.0 if moved else 0.0,
        total / rows + 0.0 if rows else 0.0,
        float(np.abs(shift).max(initial=0.0)),
    )
