"""Counts in rows: how much one row weighs, so that only the proportions of weights matter."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairpot.table import GroupCounts, ScoreTable

Array = NDArray[np.float64]

# Counts that are whole multiples of a unit, to this share of it, were made of rows of that weight, provided
# that none of them would be more rows than this.
_WHOLE = 1e-3
_MOST_ROWS = 2.0**30


def in_rows(table: ScoreTable) -> ScoreTable:
    """Divide the counts by the weight of one row; weights times a constant give the same table.

    Where all counts are whole multiples of one weight, that weight is a row: plain counts stay as they are, and
    whole weights go on counting like repeated rows. Other weights have no such unit, and a row is Kish's:
    the sum of the squared counts over their sum, counted at each score and label.

    Examples
    --------
    >>> counts = GroupCounts(np.array([0.1, 0.2]), np.array([0.25, 0.5]), np.array([0.75, 0.25]))
    >>> in_rows(ScoreTable(("all",), (counts,)))["all"].positive
    array([1, 2])
    """
    cells = np.concatenate([part for c in table.counts for part in (c.positive, c.negative)])
    if cells.dtype.kind == "i":
        unit = int(np.gcd.reduce(cells))
        return table if unit <= 1 else _mapped(table, lambda counts: counts // unit)
    cells = cells[cells > 0]
    common = _common_unit(cells[:: max(len(cells) // 256, 1)]) and _common_unit(cells)
    if common:
        return _mapped(table, lambda counts: np.rint(counts / common).astype(np.int64))
    kish = float(np.dot(cells / cells.sum(), cells))
    return _mapped(table, lambda counts: counts / kish)


def _common_unit(cells: Array) -> float | None:
    """Find the largest weight of which all are whole multiples, by Euclid's algorithm; None if there is none."""
    cells = np.unique(cells)
    unit = float(cells[0])
    while cells[-1] <= _MOST_ROWS * unit:
        left = np.abs(cells - np.rint(cells / unit) * unit)
        left = left[left > _WHOLE * unit]
        if len(left) == 0:
            return float(cells.sum() / np.rint(cells / unit).sum())
        unit = float(left.min())
    return None


def _mapped(table: ScoreTable, change: Callable[[NDArray[Any]], NDArray[Any]]) -> ScoreTable:
    counts = tuple(GroupCounts(c.score, change(c.positive), change(c.negative)) for c in table.counts)
    return ScoreTable(table.groups, counts, table.labelled)
