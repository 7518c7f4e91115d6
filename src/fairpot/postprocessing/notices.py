"""What a fit has to say before its result is trusted; how much one row weighs."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fairpot._arguments import argument
from fairpot._defaults import Ties
from fairpot._warn import warn_user
from fairpot.exceptions import (
    FairpotWarning,
    InfeasibleRuleError,
    PredictionsWarning,
    ReversedScoreWarning,
    SmallGroupWarning,
    TiesWarning,
)
from fairpot.inference.dial import Part, SameMaps
from fairpot.metrics.cells import carrying_groups, hard_predictions, reversed_score, small_cells, tied_pairs
from fairpot.metrics.wins import WinMatrix
from fairpot.table import ScoreTable
from fairpot.tradeoff.operating import OperatingRows
from fairpot.transport import Floats

if TYPE_CHECKING:
    from fairpot.postprocessing.dial import Value
    from fairpot.postprocessing.postprocessor import Postprocessor


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
    >>> from fairpot.counts import GroupCounts
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


# A share of tied pairs from which it is worth asking whether the other convention would choose otherwise.
_WORTH_A_LOOK = 1e-4
_VISIBLE = 5e-5


def warn_of_table(kept: ScoreTable, left_out: tuple[Hashable, ...], table: ScoreTable, min_group: int) -> None:
    """Name small cells and groups left out, and scores that rank the wrong way round."""
    if left_out:
        sizes = ", ".join(f"{g!r} ({table[g].weight.sum():g} rows)" for g in left_out)
        warn_user(f"left out of the comparison: {sizes}; their scores do not change.", SmallGroupWarning)
    hard = hard_predictions(kept)
    if hard is not None:
        warn_user(hard, PredictionsWarning)
    if not kept.labelled:
        return
    found = small_cells(kept)
    if found:
        warn_user(" ".join(found) + _way_out(kept), SmallGroupWarning)
    told = reversed_score(kept)
    if told is not None:
        warn_user(told, ReversedScoreWarning)


def _way_out(kept: ScoreTable) -> str:
    """Say what becomes of small groups beside others that can be compared without them."""
    if not 2 <= len(carrying_groups(kept)) < len(kept.groups):
        return ""
    return (
        f"\nHint: {argument('min_group', ...)} leaves small groups out. None of them becomes the reference unless you "
        f"name it, {argument('reference', ...)}"
    )


def warn_of_choice(model: Postprocessor, table: ScoreTable, chosen: Value) -> None:
    """Say where the other convention for ties would choose another value, or sees a gain for a loss."""
    if tied_pairs(table) < _WORTH_A_LOOK:
        return
    ties: Ties = model._ties
    other: Ties = "strict" if ties == "half" else "half"
    name = model.dial.name
    try:
        else_chosen = model._chosen(table, other)
    except InfeasibleRuleError:
        warn_user(f"ties matter: with ties={other!r} no {name} keeps the rule.", TiesWarning)
        return
    if model.dial.far_apart(chosen, else_chosen):
        warn_user(
            f"ties matter: {name} = {_shown(chosen)} is chosen with ties={ties!r}, {_shown(else_chosen)} with "
            f"ties={other!r}.\nHint: 'half' is scikit-learn's convention, 'strict' the paper's; say which you report.",
            TiesWarning,
        )
        return
    cost = {how: _cost(model, table, chosen, how) for how in (ties, other)}
    if min(cost.values()) < -_VISIBLE and max(cost.values()) > _VISIBLE:
        warn_user(
            f"ties matter: the repair costs {cost[ties]:+.4f} AUC with ties={ties!r}, {cost[other]:+.4f} with "
            f"ties={other!r}: one of them shows a loss as a gain.",
            TiesWarning,
        )


def warn_of_flat(model: Postprocessor, table: ScoreTable, value: Value) -> None:
    """Say that a value which was not chosen by a rule makes all scores of a group equal."""
    if not model._orders(table, np.array([_row(model, value)]))[0]:
        warn_user(
            f"{model.dial.name} = {_shown(value)} makes all scores of a group equal: nothing is left of the order "
            "inside it.\nHint: another value; a rule, such as max_gap, never chooses this one.",
            FairpotWarning,
        )


def warn_of_needless(model: Postprocessor, table: ScoreTable) -> None:
    """Say that the scores keep the rule as they came, where the method has no value that leaves them so."""
    if model.dial.identity is not None or model.max_gap is None:
        return
    gap = _gap_before(model, table) if model.certificate_ is None else model.certificate_.gap_before.high
    if gap <= model.max_gap:
        said = "is" if model.certificate_ is None else "is at most"
        warn_user(
            f"no repair needed: the gap of the original scores {said} {gap:.3g}, within "
            f"{argument('max_gap', model.max_gap)}; {type(model).__name__} has no {model.dial.name} that changes "
            "nothing and moves scores all the same.\n"
            "Hint: keep the original scores, or use FairPOT or WassersteinRepair, which then leave them as they are.",
            FairpotWarning,
        )


def _gap_before(model: Postprocessor, table: ScoreTable) -> float:
    """Measure the gap of the scores as they came, in the part of the list that the rule looks at."""
    if model.capacity is not None:
        return float(OperatingRows.of((Part(table, SameMaps({})),), model._ties, model._rule).before().gap[0])
    first, second = WinMatrix.of(table, model._ties).widest()
    return abs(first - second)


def _row(model: Postprocessor, value: Value) -> Any:
    return [value[g] for g in model.moved_groups] if isinstance(value, dict) else value


def _cost(model: Postprocessor, table: ScoreTable, value: Value, ties: Ties) -> float:
    curve = model._traced(table, np.array([_row(model, value)]), ties)
    return curve.unmoved_auc - float(curve.auc[0])


def _shown(value: Value) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{v:.4g} ({g})" for g, v in value.items())
    return f"{value:.4g}"
