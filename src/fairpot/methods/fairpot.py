"""FairPOT: move the top lambda share of a group's scores by optimal transport towards a reference group.

A score goes to the mean of the reference's scores over its share of the mass (the paper's projection), if it is in the
top lam of its group (Algorithm 1). With two groups AUC and gap are known at every lam at once.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import ClassVar

import numpy as np

from fairpot._defaults import Ties
from fairpot._docs import documented
from fairpot.repair.estimator import OwnStrength, Repair
from fairpot.repair.family import Dial, Family
from fairpot.repair.groups import find_reference
from fairpot.table import ScoreTable
from fairpot.tradeoff.building import exact_curve
from fairpot.tradeoff.curve import TradeoffCurve
from fairpot.tradeoff.solve import Mover
from fairpot.transport import Floats, ScoreMap, TransportPlan

DIAL = Dial(
    "lam",
    identity=0.0,
    meaning="share of the group that is moved",
    symbol="λ",
    setting="{dial} = {value}: the top {share} of {moved}",
)
_HUNDREDTHS = np.arange(101) / 100
# Up to so many distinct shares are a curve of their own where they cannot be traced at once.
_FEW = 401


def transport_plans(table: ScoreTable, reference: Hashable) -> dict[Hashable, TransportPlan]:
    """Solve the transport of every group onto the reference group."""
    to = table[reference]
    return {
        group: TransportPlan.between(counts.score, counts.weight, to.score, to.weight)
        for group, counts in zip(table.groups, table.counts)
        if group != reference
    }


def learn(
    table: ScoreTable, *, reference: Hashable | None = None, ties: Ties = "half", monotone: bool = False
) -> Family:
    """Learn the transport of every group to the reference; at strength lam the top lam of it is made."""
    reference = find_reference(table, reference, ties)
    plans = transport_plans(table, reference)

    def at(group: Hashable, lam: float) -> ScoreMap:
        return plans[group].map(plans[group].cut(lam), monotone=monotone)

    def shares(group: Hashable) -> Floats:
        weight = plans[group].top_weight
        return np.asarray(weight[::-1] / weight[0], dtype=np.float64)

    def quick(rows: ScoreTable, ties: Ties) -> TradeoffCurve | None:
        [(moved, plan)] = plans.items()
        return replace(exact_curve(plan, rows, moved, reference, ties=ties, monotone=monotone), identity=0.0)

    def move(group: Hashable, scores: Floats) -> Mover:
        plan = plans[group]
        arrived = plan.map(0)(scores)

        def moved(lam: float) -> Floats:
            cut = plan.cut(lam)
            if cut >= len(plan.scores):
                return scores
            floor = plan.scores[cut - 1] if monotone and cut > 0 else -np.inf
            return np.where(scores >= plan.scores[cut], np.maximum(arrived, floor), scores)

        return moved

    every = shares(next(iter(plans))) if len(plans) == 1 else _HUNDREDTHS

    def finer(low: float, high: float) -> Floats:
        there = every[(every >= low) & (every <= high)] if len(plans) == 1 else np.linspace(low, high, 21)
        return there[np.unique(np.linspace(0, len(there) - 1, 21).round().astype(np.intp))]

    values = every if len(every) <= _FEW else _HUNDREDTHS
    family = Family(DIAL, table.groups, reference, at, values, finer, few=_HUNDREDTHS, reach=shares, listed=True)
    return replace(family, move=move, quick=lru_cache(maxsize=1)(quick) if len(plans) == 1 else None)


@documented
@dataclass(eq=False, repr=False)
class FairPOT(Repair):
    """Repair scores by Fair Proportional Optimal Transport.

    The scores of the reference group do not change. Of every other group the top ``lam`` share is moved to where the
    reference's scores of the same rank are; the rest stays. ``lam=0`` changes nothing, ``lam=1`` aligns the whole
    distribution.

    Parameters
    ----------
    lam : float in [0, 1] or None, default None
        Share of each other group that is moved. None: chosen in ``fit`` by rule; of several groups each gets its own.
    monotone : bool, default False
        Keep moved scores from falling below the highest score that stays: nobody is overtaken inside a group.
    {repairing}

    Attributes
    ----------
    lam_ : the share that is moved, given or chosen
    {fitted}

    Examples
    --------
    >>> from fairpot import FairPOT
    >>> score, sex = [0.9, 0.7, 0.4, 0.2, 0.5, 0.3, 0.2, 0.1], ["M"] * 4 + ["F"] * 4
    >>> repair = FairPOT(lam=0.5).fit(score, [1, 1, 0, 0, 1, 1, 0, 0], sensitive_features=sex)
    >>> repair.transform(score, sensitive_features=sex)
    array([0.9, 0.7, 0.4, 0.2, 0.9, 0.7, 0.2, 0.1])
    """

    dial: ClassVar[Dial] = DIAL
    lam_ = OwnStrength()
    learn = staticmethod(learn)
    _moves_by: ClassVar[str] = "moved by transport towards {reference}"

    lam: float | None = None
    monotone: bool = field(default=False, kw_only=True)
