"""Claims about the top alpha."""

from __future__ import annotations

import numpy as np

from fairpot_paper.claims.curves import some_lambda, tally
from fairpot_paper.claims.evidence import Evidence, Judge, key_of, start_of
from fairpot_paper.claims.frontier import NEGLIGIBLE, Change, changes_of, tenths
from fairpot_paper.claims.verdicts import Judged, all_of, at_least, is_above, paired
from fairpot_paper.plan import PARTIAL
from fairpot_paper.results.collect import mean_of

NEARLY_ALL = 9  # of eleven values: "almost the entire curve"


def jointly(region: str, everywhere: bool, boundary: bool = False, against: str = "xgboost") -> Judge:
    """Compare FairPOT in the top alpha with the boosted trees' scores, or with the network's own, as they came."""

    def judge(evidence: Evidence, data: str, ties: str, source: str) -> Judged | None:
        key = key_of(data, PARTIAL, ties, source, region)
        start = start_of(evidence, key, against)
        ours = evidence.found.get(key._replace(method="fairpot_boundary" if boundary else "fairpot"))
        if start is None or ours is None:
            return None
        changes = changes_of(ours if boundary else tenths(ours), start, data)
        return _almost_everywhere(changes) if everywhere else some_lambda(changes)

    return judge


def _almost_everywhere(changes: list[Change]) -> Judged:
    return Judged(at_least([change.verdict() for change in changes], NEARLY_ALL), tally(changes))


def xorder_at_a_price(evidence: Evidence, data: str, ties: str, source: str) -> Judged | None:
    """Compare the gap at xOrder's highest partial AUC with that of the boosted trees as they came."""
    key = key_of(data, PARTIAL, ties, source, "pooled")
    start, ours = start_of(evidence, key, "xgboost"), evidence.found.get(key)
    theirs = evidence.found.get(key._replace(method="xorder"))
    if start is None or theirs is None or ours is None:
        return None
    ours = tenths(ours)
    k, own = int(np.argmax(mean_of(theirs.auc))), int(np.argmax(mean_of(ours.auc)))
    higher = paired(theirs.auc[:, k], ours.auc[:, own], data)
    wider = paired(theirs.gap[:, k], start.gap[:, 0], data)
    verdict = all_of([is_above(higher, 2), is_above(wider, 2)])
    return Judged(verdict, f"pAUC {higher} over FairPOT's best; gap {wider} over XGBoost's")


def fairpot_keeps_the_gap(evidence: Evidence, data: str, ties: str, source: str) -> Judged | None:
    """Compare the gap at FairPOT's highest partial AUC with that of the boosted trees as they came."""
    key = key_of(data, PARTIAL, ties, source, "pooled")
    start, ours = start_of(evidence, key, "xgboost"), evidence.found.get(key)
    if start is None or ours is None:
        return None
    ours = tenths(ours)
    k = int(np.argmax(mean_of(ours.auc)))
    less = paired(start.gap[:, 0] + NEGLIGIBLE, ours.gap[:, k], data)
    auc, gap = paired(ours.auc[:, k], start.auc[:, 0], data), paired(ours.gap[:, k], start.gap[:, 0], data)
    return Judged(is_above(less), f"lambda {k / 10:g}: gap {gap} over XGBoost's, pAUC {auc}")
