"""Whether LogitShift keeps the target gap of a fitted repair with a higher AUC, beyond chance, on the same rows."""

from __future__ import annotations

import warnings

from fairpot.comparison.answer import Rival
from fairpot.exceptions import FairpotWarning
from fairpot.inference import Estimate
from fairpot.inference.change import compare_views
from fairpot.methods import LogitShift
from fairpot.repair.estimator import Repair
from fairpot.table import ScoreTable

# Beyond so many distinct scores, or groups, the other fit takes longer than one line is worth.
_MOST_SCORES, _MOST_GROUPS = 20_000, 4
_VISIBLE = 0.0005
_SAME = ("max_gap", "max_auc_loss", "top", "top_of", "reference", "keep", "ties")


def higher_auc(model: Repair, judged: ScoreTable | None = None) -> Rival | None:
    """Fit LogitShift by the rule of a repair; return its lead in AUC, where it is clear and the target is kept.

    The lead is measured on ``judged``, else on the fitted rows: a gap there that is above the target and above that of
    the repair is none. It is not looked for where the strength was given or certified, where nobody below the top may
    move, and where it would take long.
    """
    table = model.table_
    asked = model.max_gap is not None and model.confidence is None and model.net_benefit_at is None
    small = sum(len(each.score) for each in table.counts) <= _MOST_SCORES and len(table.groups) <= _MOST_GROUPS
    if not asked or not small or model.repair == "top" or isinstance(model, LogitShift):
        return None
    rows = table if judged is None else judged
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FairpotWarning)
        try:
            other = LogitShift(**{name: getattr(model, name) for name in _SAME}).fit(table)
        except ValueError:  # out of its reach
            return None
        views = [rows.view(each.fair_maps_.maps_on(rows)) for each in (model, other)]
        found = compare_views(rows, *views, ties=model.ties)
    lead, gap = found.auc, found.gap
    kept = model.top is not None or gap.after <= max(model.max_gap or 0.0, gap.before) + 1e-12
    if not (kept and lead.low > 0 and lead.change >= _VISIBLE):
        return None
    return Rival("LogitShift", Estimate("lead", lead.change, lead.se, lead.low, lead.high, lead.level), True)
