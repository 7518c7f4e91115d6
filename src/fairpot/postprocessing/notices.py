"""What a fit has to say before its result is trusted."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING

import numpy as np

from fairpot._warn import warn_user
from fairpot.exceptions import (
    InfeasibleRuleError,
    PredictionsWarning,
    ReversedScoreWarning,
    SmallGroupWarning,
    TiesWarning,
)
from fairpot.metrics.cells import hard_predictions, reversed_score, small_cells, tied_pairs
from fairpot.metrics.wins import Ties
from fairpot.table import ScoreTable

if TYPE_CHECKING:
    from fairpot.postprocessing.dial import Value
    from fairpot.postprocessing.postprocessor import Postprocessor

# A share of tied pairs from which it is worth asking whether the other convention would choose otherwise.
_WORTH_A_LOOK = 1e-4
_VISIBLE = 5e-5


def warn_of_table(kept: ScoreTable, left_out: tuple[Hashable, ...], table: ScoreTable, min_group: int) -> None:
    """Name small cells and groups left out, and scores that rank the wrong way round."""
    if left_out:
        sizes = ", ".join(f"{g!r} ({table[g].weight.sum():g} rows)" for g in left_out)
        warn_user(f"left out of the comparison: {sizes}; their scores stay as they are.", SmallGroupWarning)
    hard = hard_predictions(kept)
    if hard is not None:
        warn_user(hard, PredictionsWarning)
    if not kept.labelled:
        return
    found = small_cells(kept)
    if found:
        warn_user(" ".join(found), SmallGroupWarning)
    told = reversed_score(kept)
    if told is not None:
        warn_user(told, ReversedScoreWarning)


def warn_of_choice(model: Postprocessor, table: ScoreTable, chosen: Value) -> None:
    """Say where the other convention for ties would choose another value, or sees a gain for a loss."""
    if tied_pairs(table) < _WORTH_A_LOOK:
        return
    ties: Ties = model._ties
    other: Ties = "strict" if ties == "half" else "half"
    name = model.dial.name
    try:
        else_chosen = model._choose(table, other)
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


def _cost(model: Postprocessor, table: ScoreTable, value: Value, ties: Ties) -> float:
    row = [value[g] for g in model.moved_groups] if isinstance(value, dict) else value
    curve = model._curve(table, np.array([row]), ties)
    return curve.unmoved_auc - float(curve.auc[0])


def _shown(value: Value) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{v:.4g} ({g})" for g, v in value.items())
    return f"{value:.4g}"
