"""Fits of very many distinct scores: the dial is looked for in a smaller table, and maps get fewer knots."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from copy import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from fairpot.exceptions import InfeasibleRuleError
from fairpot.export.simplify import SimplifiedMaps, spread_knots
from fairpot.postprocessing.certified import learnt_again
from fairpot.postprocessing.mapper import maps_on
from fairpot.table import ScoreTable
from fairpot.tradeoff.building import trace, trace_top
from fairpot.transport import ScoreMap, moving

if TYPE_CHECKING:
    from fairpot.postprocessing.dial import Value
    from fairpot.postprocessing.postprocessor import Postprocessor

Maps = Mapping[Hashable, ScoreMap]
# Maps with more knots than this, all together, are simplified to so many: some 4 MB of a model file.
MOST_KNOTS = 100_000
# In a larger table the dial is looked for with so many scores instead, where it is traced value by value.
_MOST_ENTRIES, _BINS = 200_000, 50_000
# How often the dial is looked for again with tighter bounds, before every score and knot is kept.
_TRIES = 6
# The rules that simplified maps are held to.
_BOUNDS = ("max_gap", "max_auc_loss")


def simplified(model: Postprocessor, maps: Maps) -> SimplifiedMaps | None:
    """Simplify maps that have very many knots; None where they have not, or where ``exact`` keeps them."""
    if getattr(model, "exact", True) or sum(len(each.knots) for each in maps.values()) <= MOST_KNOTS:
        return None
    found = spread_knots(maps, MOST_KNOTS)
    return found if found.error > 0 else None


@dataclass(frozen=True)
class Measured:
    """AUC and gap of the fitted rows: with the scores as they came, the full maps and the simplified ones."""

    auc: tuple[float, float, float]
    gap: tuple[float, float, float]

    @classmethod
    def of(cls, model: Postprocessor, full: Maps, small: Maps) -> Measured:
        """Count the pairs again, in the top of the list where the method looks there."""
        table, rule = model._compared, model._applied_by()
        steps: list[Maps] = [{}, *(moving(maps_on(table, maps, rule)) for maps in (full, small))]
        reference, top = model._seen_from(table, model._ties), model._top()
        places = np.arange(3.0)
        if top is None:
            curve = trace(table, places, steps, reference=reference, ties=model._ties)
        else:
            seen: dict[str, Any] = {"alpha": top.alpha, "region": top.region, "reference": reference}
            curve = trace_top(table, places, steps, **seen, ties=model._ties)
        auc, gap = curve.auc.tolist(), curve.gap.tolist()
        return cls((auc[0], auc[1], auc[2]), (gap[0], gap[1], gap[2]))

    def excess(self, rules: Mapping[str, float]) -> dict[str, float]:
        """Say by how much the simplified maps break each rule."""
        found = {"max_gap": self.gap[2], "max_auc_loss": self.auc[0] - self.auc[2]}
        return {name: found[name] - bound for name, bound in rules.items() if found[name] > bound}


def in_document(found: SimplifiedMaps, measured: Measured | None) -> dict[str, Any]:
    """Say what simplifying changes, for model files and JSON; AUC and gap are None where there are no outcomes."""
    before, after = (sum(pair[i] for pair in found.knots.values()) for i in (0, 1))
    changes = (None, None) if measured is None else tuple(each[2] - each[1] for each in (measured.auc, measured.gap))
    return {
        "largest_error": found.error,
        "knots_before": before,
        "knots": after,
        "auc_change": changes[0],
        "gap_change": changes[1],
    }


def in_words(content: Mapping[str, Any]) -> str:
    """Say the same in a sentence."""
    effect = ""
    if content["gap_change"] is not None:
        effect = (
            f"; on the fitted rows AUC changes by {content['auc_change']:+.1e}, the gap by {content['gap_change']:+.1e}"
        )
    return (
        f"maps simplified from {content['knots_before']:,} to {content['knots']:,} breakpoints: adjusted scores within "
        f"{content['largest_error']:.2g} of the full maps'{effect}"
    )


def chosen_by_rule(model: Postprocessor, table: ScoreTable) -> Value:
    """Turn the dial by rule, so that the rule holds on all fitted rows with the maps that are delivered.

    Where the table is very large the choice is made on a quantised one, by a copy that learnt from it; where maps have
    very many knots they are simplified. Either may break a rule by a little: then its bound is drawn tighter. If
    that does not help, nothing is quantised or simplified, nor where a rule looks at a capacity or at net benefit, or
    scores stay on a grid.
    """
    if getattr(model, "exact", True) or model._rule.operating or model.grid_ is not None:
        return model._turn(model._chosen(table, model._ties), whole=True)
    searching, rows = _searched(model, table)
    rules = {name: bound for name in _BOUNDS if (bound := getattr(model, name)) is not None}
    tighter = dict(rules)
    for _ in range(_TRIES):
        try:
            value = searching._choose(rows, model._ties)
        except InfeasibleRuleError:
            break
        model._turn(value)
        if rows is table and model.simplification_ is None:
            return value
        excess = model._measure().excess(rules)
        if not excess:
            return value
        tighter |= {name: max(tighter[name] - 2 * missed, 0.0) for name, missed in excess.items()}
        searching = copy(searching).set_params(**tighter)
    return model._turn(model._choose(table, model._ties), whole=True)


def _searched(model: Postprocessor, table: ScoreTable) -> tuple[Postprocessor, ScoreTable]:
    """Give what the dial is looked for with: the model and its table, or a copy that learnt from a quantised one."""
    if sum(len(c.score) for c in table.counts) <= _MOST_ENTRIES or model._traces_at_once():
        return model, table
    small, _ = table.quantise(_BINS)
    return learnt_again(model, small), small
