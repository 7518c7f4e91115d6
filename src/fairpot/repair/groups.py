"""Which groups take part in a repair, which of them stays as it is, and what has to be said of their rows."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairpot._arguments import argument
from fairpot._defaults import Ties
from fairpot._validation import check_group_name, wording
from fairpot._warn import warn_user
from fairpot.exceptions import PredictionsWarning, ReversedScoreWarning, SmallGroupWarning
from fairpot.inference.interval import confidence_interval
from fairpot.metrics.cells import carrying_groups, hard_predictions, leading_place, reversed_score, small_cells
from fairpot.metrics.wins import WinMatrix
from fairpot.table import ScoreTable
from fairpot.transport import Floats


def ranked_first(table: ScoreTable, ties: Ties, rows: ScoreTable | None = None, *, lowest: bool = False) -> Hashable:
    """Name the group whose positives are ranked above the others' negatives most often (``lowest``: least often).

    Of equals it is the first in the table's order. Groups with few positives or negatives, whose lead may be chance,
    are neither chosen nor compared unless all are small. Of a table that is a top, ``rows`` are all rows.
    """
    table = table.only(list(carrying_groups(table if rows is None else rows)))
    for what, totals in zip(wording.BOTH_OUTCOMES, (table.positives, table.negatives)):
        if totals.sum() == 0:
            require_outcomes(table)
        empty = [group for group, count in zip(table.groups, totals) if count == 0]
        if empty:
            raise ValueError(
                f"the group ranked lower cannot be told: group {empty[0]!r} has no {what} to compare.\n"
                f"Hint: name the reference group, whose scores do not change: {argument('reference', ...)}"
            )
    return table.groups[leading_place(WinMatrix.of(table, ties).xauc(), lowest=lowest)]


def find_reference(
    table: ScoreTable, reference: Hashable | None, ties: Ties, rows: ScoreTable | None = None
) -> Hashable:
    """Return the group whose scores do not change: the one named; else the one ranked highest.

    Where a high place in the ranking harms, it is the one ranked lowest: a repair then lowers the others.
    """
    if reference is None:
        return ranked_first(table, ties, rows, lowest=table.ranked_high_means == "harm")
    return check_group_name(reference, table.groups, "reference")


def require_outcomes(table: ScoreTable, top: float | None = None) -> None:
    """Insist on positives and negatives in the whole and in every group; ``top``: the rows are the top of others."""
    for what, counts in zip(wording.BOTH_OUTCOMES, (table.positives, table.negatives)):
        if counts.sum() == 0:
            raise ValueError(
                f"{argument('y')} has no {what}: both outcomes are needed to compare.\n"
                f"Hint: add such rows, or look at what is taken for the outcome, {argument('pos_label', ...)}"
            )
        empty = [group for group, count in zip(table.groups, counts) if count == 0]
        if empty:
            larger = "" if top is None else f"allow a larger {argument('top')}, "
            raise ValueError(
                f"group {empty[0]!r} has no {what}{wording.in_top(top)}: its xAUC cannot be measured, so there is "
                f"nothing to fit.\nHint: {larger}join it with another group, or leave small groups out, "
                f"{argument('min_group', ...)}"
            )


def warn_of_table(kept: ScoreTable, table: ScoreTable) -> None:
    """Name small cells and the groups of a table left out, and scores that rank the wrong way round."""
    left_out = [g for g in table.groups if g not in (*kept.groups, *table.unknown)]
    if left_out:
        sizes = ", ".join(f"{g!r} ({table[g].size:g} rows)" for g in left_out)
        warn_user(f"left out of the comparison: {sizes}; their scores do not change.", SmallGroupWarning)
    hard = hard_predictions(kept)
    if hard is not None:
        warn_user(hard.text, PredictionsWarning)
    if not kept.labelled:
        return
    found = small_cells(kept)
    if found:
        hint = (
            f"\nHint: {argument('min_group', ...)} leaves small groups out. None of them becomes the reference unless "
            f"you name it, {argument('reference', ...)}"
        )
        others = 2 <= len(carrying_groups(kept)) < len(kept.groups)  # that can be compared without them
        warn_user(" ".join(note.text for note in found) + (hint if others else ""), SmallGroupWarning)
    told = reversed_score(kept)
    if told is not None and not confidence_interval("auc", kept).high >= 0.5:  # NaN where there is no interval
        warn_user(told.text, ReversedScoreWarning)


# Counts that are whole multiples of a unit, to this share of it, were made of rows of that weight, if not more than so
# many of them.
_WHOLE, _MOST_ROWS = 1e-3, 2.0**30


def in_rows(table: ScoreTable) -> ScoreTable:
    """Divide the counts by the weight of one row; weights times a constant give the same table.

    Where all counts are whole multiples of one weight, that weight is a row. Other weights have no such unit, and a row
    is Kish's: the sum of the squared counts over their sum.
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


def _common_unit(cells: Floats) -> float | None:
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
    return table.weighing((change(c.positive), change(c.negative)) for c in table.counts)
