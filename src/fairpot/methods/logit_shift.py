"""LogitShift: add one constant to the log-odds of a group."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from fairpot._defaults import Ties
from fairpot._docs import documented
from fairpot.methods.shifting import ShiftScale, ends, every_shift, own_shifts, settled
from fairpot.repair.estimator import Repair
from fairpot.repair.family import Dial, Family, remembered, spread
from fairpot.repair.groups import find_reference
from fairpot.table import ScoreTable
from fairpot.tradeoff.curve import TradeoffCurve
from fairpot.tradeoff.solve import Mover
from fairpot.transport import Floats, ScoreMap

DIAL = Dial("shift", low=-np.inf, high=np.inf, identity=0.0, meaning="what is added to the log-odds")
# Shifts of a curve, from one end of what matters to the other.
_VALUES = 401
# Shifts to compare methods at, on either side of 0.
_SWEEP = np.concatenate((np.arange(1, 81) / 40, 2 + np.arange(1, 21) / 10))


def learn(table: ScoreTable, *, reference: Hashable | None = None, ties: Ties = "half") -> Family:
    """Learn the scale of the scores and the reference; at a strength all scores of a group are shifted by it."""
    reference, scale = find_reference(table, reference, ties), ShiftScale.of(table)
    z = {g: scale.forward(c.score) for g, c in zip(table.groups, table.counts)}
    z = {g: each[np.isfinite(each)] for g, each in z.items()}
    moved = [g for g in table.groups if g != reference]

    def at(group: Hashable, shift: float) -> ScoreMap:
        return ScoreMap.identity() if shift == 0 else scale.map(shift)

    def move(group: Hashable, scores: Floats) -> Mover:
        start = scale.forward(scores)
        return lambda shift: start + shift

    def quick(rows: ScoreTable, ties: Ties) -> TradeoffCurve | None:
        return every_shift(scale, rows, reference, moved[0], ties)

    def settle(rows: ScoreTable, group: Hashable, shift: float) -> float:
        both = [scale.forward(rows[g].score) for g in (reference, group)]
        fixed, own = (each[np.isfinite(each)] for each in both)
        return settled(scale, fixed, own, shift)

    reach = [ends(scale, z[reference], z[g]) for g in moved]
    widest = min(low for low, _ in reach), max(high for _, high in reach)
    few = _spread_shifts(table)
    return Family(
        dial=DIAL,
        groups=table.groups,
        reference=reference,
        map=at,
        values=np.unique(np.concatenate((np.linspace(*widest, _VALUES), few[np.abs(few) <= scale.most]))),
        finer=spread,
        few=few,
        reach=lambda group: own_shifts(scale, z[reference], z[group], len(table.groups)),
        quick=remembered(quick) if len(moved) == 1 else None,
        move=move,
        scale=scale.forward,
        shy=scale.same(list(z.values())),
        settle=settle if len(moved) == 1 else None,
    )


@documented
@dataclass(eq=False, repr=False)
class LogitShift(Repair):
    """Repair scores by one number for each group: a constant that is added to the log-odds.

    The scores of one group, the reference group, do not change. A probability p of another group becomes the
    probability whose odds are ``exp(shift)`` times as high. People keep their order inside a group, 0 and 1 stay, and
    ``shift=0`` changes nothing. Scores that are not probabilities (log-odds, points, deciles) are shifted on their own
    scale, in their own units: that is a shift of the log-odds after a logistic calibration common to all groups.

    Where a rule chooses the shift, it lies half way between two values at which scores of two groups would be equal, so
    that no rounding decides who is ranked higher.

    Parameters
    ----------
    shift : float or None, default None
        What is added to the log-odds of each other group, from -500 to 500. None chooses it in ``fit`` by rule, which
        needs ``y``; of several groups each gets its own.
    {repairing}

    Attributes
    ----------
    shift_ : float
        What is added, given or chosen.
    {fitted}

    Examples
    --------
    >>> import numpy as np
    >>> from fairpot import LogitShift
    >>> score = np.array([0.9, 0.7, 0.4, 0.2, 0.5, 0.3, 0.2, 0.1])
    >>> y, sex = [1, 1, 0, 0, 1, 1, 0, 0], ["M"] * 4 + ["F"] * 4
    >>> repair = LogitShift(max_gap=0.1).fit(score, y, sensitive_features=sex)
    >>> round(repair.shift_, 3)
    0.626
    >>> repair.transform(score, sensitive_features=sex).round(2)
    array([0.9 , 0.7 , 0.4 , 0.2 , 0.65, 0.44, 0.32, 0.17])
    """

    dial: ClassVar[Dial] = DIAL
    learn = staticmethod(learn)
    moves_by: ClassVar[str] = "moved by the constant of the group"

    shift: float | None = None


def _spread(table: ScoreTable) -> float:
    """Give the spread of all scores; 1 where they have none."""
    pooled = table.pooled()
    weight = pooled.weight / pooled.weight.sum()
    mean = float(np.dot(weight, pooled.score))
    return float(np.sqrt(np.dot(weight, (pooled.score - mean) ** 2))) or 1.0


def _spread_shifts(table: ScoreTable) -> Floats:
    """Spread shifts around 0, in log-odds or in spreads of the scores."""
    unit = 1.0 if ShiftScale.of(table).probability else _spread(table)
    return np.concatenate((-unit * _SWEEP[::-1], [0.0], unit * _SWEEP))
