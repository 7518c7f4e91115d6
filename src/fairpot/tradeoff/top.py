"""Trade-off curves in the top-alpha region, found again after every step: what the metric says of the rows."""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Iterable, Mapping

import numpy as np
from numpy.typing import NDArray

from fairpot.exceptions import UndefinedMetricWarning
from fairpot.metrics.wins import Ties, WinMatrix
from fairpot.table import Region, ScoreTable
from fairpot.tradeoff.build import Maps
from fairpot.tradeoff.curve import TradeoffCurve
from fairpot.transport import TransportPlan, weight_to_reach


def trace_top(
    table: ScoreTable,
    values: NDArray[np.float64],
    steps: Iterable[Maps],
    *,
    alpha: float,
    region: Region,
    reference: Hashable,
    ties: Ties,
    dial: str = "lam",
) -> TradeoffCurve:
    """Evaluate the maps of every step in the top alpha of the rows as they then are."""
    before = WinMatrix.of(table.top(alpha, region), ties)
    before.widest("nan")  # what is undefined is told once, here
    moved = tuple(g for g in table.groups if g != reference)
    a, b = table.groups.index(reference), table.groups.index(moved[0])
    aucs, pairs = [], []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UndefinedMetricWarning)
        for maps in steps:
            wins = WinMatrix.of(table.rescored(maps).top(alpha, region), ties)
            aucs.append(wins.auc(partial=True))
            pairs.append((wins.cell(a, b), wins.cell(b, a)) if len(moved) == 1 else wins.widest())
    ab, ba = np.array(pairs).T
    unrepaired = before.auc(partial=True)
    return TradeoffCurve(values, np.array(aucs), ab, ba, moved, reference, dial=dial, unrepaired_auc=unrepaired)


def keeps_region(
    table: ScoreTable,
    starts: Mapping[Hashable, float],
    alpha: float,
    region: Region,
    plans: Mapping[Hashable, TransportPlan],
) -> bool:
    """Whether every lambda of the plans leaves the same rows in the top alpha.

    That is so if nobody is moved below the region's edge, and if the region without any one of its entries would
    be too small: with more rows tied at the edge than are wanted, a repair that parts them changes the region.
    """
    if any(plan.projected.min() < starts[g] for g, plan in plans.items()):
        return False
    top = table.above(starts)
    parts = [([c.weight for c in table.counts], [c.weight for c in top.counts])]
    if region == "group":
        parts = [([whole.weight], [cut.weight]) for whole, cut in zip(table.counts, top.counts)]
    for whole, cut in parts:
        wanted = weight_to_reach(alpha, float(sum(w.sum() for w in whole)))
        inside, least = sum(w.sum() for w in cut), min(w[w > 0].min() for w in cut if len(w))
        if inside - least >= wanted:
            return False
    return True
