"""From fitted plans and a table to a trade-off curve: exact for two groups, on a grid for more."""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Mapping

import numpy as np
from numpy.typing import NDArray

from fairpot.exceptions import UndefinedMetricWarning
from fairpot.metrics._wins import Ties, WinMatrix, half_wins, warn_undefined
from fairpot.table import ScoreTable
from fairpot.tradeoff.curve import TradeoffCurve
from fairpot.tradeoff.exact import exact_wins
from fairpot.transport import TransportPlan


def exact_curve(
    plan: TransportPlan,
    table: ScoreTable,
    moved: Hashable,
    reference: Hashable,
    *,
    ties: Ties = "strict",
    monotone: bool = False,
) -> TradeoffCurve:
    """Trace every distinct lambda of a plan on a table of two groups."""
    table = table.for_pairs()
    b, a = table[moved], table[reference]
    wins = exact_wins(plan, b, a, half=ties == "half", monotone=monotone)
    pairs = _Pairs.of(table, moved, reference)
    # Cut m (nobody moves) comes first: lambda ascends.
    over = wins.b_over_a + wins.a_over_b
    over += wins.b_over_b
    auc = _share(over[::-1] + half_wins(a, a, ties), pairs.total, pairs.without)
    return TradeoffCurve(
        plan.lam[::-1].copy(),
        auc,
        _share(wins.a_over_b[::-1], pairs.ab),
        _share(wins.b_over_a[::-1], pairs.ba),
        (moved,),
        reference,
        exact=True,
    )


def on_grid(curve: TradeoffCurve, plan: TransportPlan, lams: NDArray[np.float64]) -> TradeoffCurve:
    """Read an exact curve off at some lambdas."""
    places = np.array([len(plan.scores) - plan.cut(lam) for lam in lams])
    return TradeoffCurve(
        lams, curve.auc[places], curve.xauc_ab[places], curve.xauc_ba[places], curve.moved, curve.reference
    )


def grid_curve(
    plans: Mapping[Hashable, TransportPlan],
    table: ScoreTable,
    reference: Hashable,
    lams: NDArray[np.float64],
    *,
    ties: Ties = "strict",
    monotone: bool = False,
) -> TradeoffCurve:
    """Evaluate any number of groups at some lambdas, one for all or (2-D) one for each plan."""
    moved = tuple(plans)
    aucs, pairs = [], []
    for lam in lams:
        each = np.broadcast_to(lam, len(moved))
        maps = {g: plans[g].map(plans[g].cut(value), monotone=monotone) for g, value in zip(moved, each)}
        matrix = WinMatrix.of(table.rescored(maps), ties)
        with warnings.catch_warnings():
            if aucs:  # what is undefined is so at every lambda: say it once
                warnings.simplefilter("ignore", UndefinedMetricWarning)
            aucs.append(matrix.auc())
            pairs.append(matrix.widest())
    ab, ba = np.array(pairs).T
    return TradeoffCurve(lams, np.array(aucs), ab, ba, moved, reference)


class _Pairs:
    """How many pairs there are to win, and what an AUC without any is called."""

    def __init__(self, ab: float, ba: float, total: float, without: float) -> None:
        self.ab, self.ba, self.total, self.without = ab, ba, total, without

    @classmethod
    def of(cls, table: ScoreTable, moved: Hashable, reference: Hashable) -> _Pairs:
        b, a = table[moved], table[reference]
        p_a, n_a, p_b, n_b = (float(v.sum()) for v in (a.positive, a.negative, b.positive, b.negative))
        for group, what, count in (
            (reference, "positives", p_a),
            (reference, "negatives", n_a),
            (moved, "positives", p_b),
            (moved, "negatives", n_b),
        ):
            if count == 0:
                warn_undefined("xAUC", what, group, 0.0)
        return cls(
            p_a * n_b, p_b * n_a, (p_a + p_b) * (n_a + n_b), 1.0 if n_a + n_b == 0 and p_a + p_b else 0.0
        )


def _share(half_pairs_won: NDArray, pairs: float, without: float = 0.0) -> NDArray[np.float64]:  # type: ignore[type-arg]
    if pairs == 0:
        return np.full(len(half_pairs_won), without)
    return half_pairs_won / (2 * pairs)
