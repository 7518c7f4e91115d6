"""What each method makes of one set of scores: maps fitted on one table, AUC and gap of another.

Everything works on counted rows. The top alpha is a table cut at its threshold: what is fitted, moved and measured
are the rows of that region, as in the paper's second algorithm.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fairpot.metrics.wins import Undefined
from fairpot.metrics.wins import Ties, WinMatrix
from fairpot.postprocessing import FairPOT, OptimalMerge, PostLogit, WassersteinRepair
from fairpot.postprocessing.dial import require_outcomes
from fairpot.postprocessing.notices import in_rows
from fairpot.postprocessing.xorder import xorder_maps
from fairpot.table import ScoreTable
from fairpot.tradeoff import Limit
from fairpot.transport import ScoreMap, TransportPlan

Array = NDArray[np.float64]
Maps = Mapping[Hashable, ScoreMap]
TIES: tuple[Ties, ...] = ("strict", "half")
# What stands where there are no pairs: strict ties go with the paper's values.
UNDEFINED: dict[Ties, Undefined] = {"strict": "paper", "half": "nan"}
LAMS: Array = np.arange(11) / 10  # the paper's eleven values
FINE: Array = np.arange(101) / 100
THETAS: Array = np.exp(np.arange(-40, 81) / 20)
GAPS: Array = np.arange(31) / 100
DIALS: dict[str, Array] = {
    "unadjusted": np.zeros(1),
    "fairpot": FINE,
    "fairpot_boundary": LAMS,
    "fairpot_switched": FINE,
    "xorder": LAMS,
    "post_logit": np.zeros(1),
    "optimal_merge": THETAS,
    "wasserstein": LAMS,
    "limit": GAPS,
}


@dataclass(frozen=True)
class Sides:
    """The two groups: the one that stays as it is, and the one that is moved."""

    reference: str
    moved: str


@dataclass(frozen=True)
class Repair:
    """A fitted method: for each value of its dial the maps that hold for a table of new rows."""

    maps: Callable[[ScoreTable], Iterable[Maps]]
    ties: tuple[Ties, ...] = TIES


def fitted_repairs(sides: Sides) -> dict[str, Callable[[ScoreTable], list[Repair]]]:
    """Return, for each method that is fitted, how. A method whose fit depends on ties gives one repair for each."""
    return {
        "fairpot": lambda table: [_fairpot(table, sides)],
        "fairpot_boundary": lambda table: [_boundary(table, sides)],
        "fairpot_switched": lambda table: [_fairpot(table, Sides(sides.moved, sides.reference))],
        "xorder": lambda table: [_xorder(table, sides)],
        "post_logit": lambda table: [_post_logit(table, sides, ties) for ties in TIES],
        "optimal_merge": lambda table: [_optimal_merge(table, sides)],
    }


def _plan(table: ScoreTable, sides: Sides) -> TransportPlan:
    return FairPOT(0.0, reference=sides.reference).fit_table(table).plans_[sides.moved]


def _fairpot(table: ScoreTable, sides: Sides) -> Repair:
    plan = _plan(table, sides)
    return Repair(lambda test: ({sides.moved: plan.map(plan.cut(lam))} for lam in FINE.tolist()))


def _boundary(table: ScoreTable, sides: Sides) -> Repair:
    """FairPOT with the paper's rule outside the fitted scores: the nearest of them, moved or not, gives its value.

    The library leaves a score alone below the lowest moved one. At lambda = 0 the paper's rule is not the identity.
    """
    plan = _plan(table, sides)
    return Repair(lambda test: ({sides.moved: boundary_map(plan, lam)} for lam in LAMS.tolist()))


def boundary_map(plan: TransportPlan, lam: float) -> ScoreMap:
    """Interpolate between all fitted scores, the unmoved among them, and hold the edges' values."""
    moved = np.arange(len(plan.scores)) >= plan.cut(lam)
    return ScoreMap(plan.scores, np.where(moved, plan.projected, plan.scores))


def _xorder(table: ScoreTable, sides: Sides) -> Repair:
    require_outcomes(table)
    rows = in_rows(table)
    maps = xorder_maps(rows[sides.reference], rows[sides.moved], LAMS)
    return Repair(lambda test: ({sides.moved: each} for each in maps))


def _post_logit(table: ScoreTable, sides: Sides, ties: Ties) -> Repair:
    fitted = PostLogit(reference=sides.reference, ties=ties).fit_table(table)
    return Repair(lambda test: [{sides.moved: fitted.maps_[sides.moved]}], (ties,))


def _optimal_merge(table: ScoreTable, sides: Sides) -> Repair:
    plan = OptimalMerge(1.0, reference=sides.reference).fit_table(table).plans_[sides.moved]
    return Repair(lambda test: ({sides.moved: plan.map(theta)} for theta in THETAS.tolist()))


def _barycentre(test: ScoreTable) -> Iterable[Maps]:
    """Give the maps part of the way to the barycentre of the new rows themselves, as the paper's protocol has it."""
    fitted = WassersteinRepair(1.0).fit_table(test)
    return (fitted.maps_at(t) for t in LAMS.tolist())


UNFITTED: dict[str, Repair] = {
    "unadjusted": Repair(lambda test: [{}]),
    "wasserstein": Repair(_barycentre),
}


def measure(repair: Repair, test: ScoreTable, sides: Sides) -> dict[str, dict[str, list[float]]]:
    """Return AUC and signed gap at each value of the dial, for each way of counting ties."""
    found: dict[str, dict[str, list[float]]] = {ties: {"auc": [], "gap": []} for ties in repair.ties}
    for maps in repair.maps(test):
        after = test.rescored(maps)
        for ties, series in found.items():
            auc, gap = auc_and_gap(after, sides, ties)  # type: ignore[arg-type]
            series["auc"].append(auc)
            series["gap"].append(gap)
    return found


def auc_and_gap(table: ScoreTable, sides: Sides, ties: Ties) -> tuple[float, float]:
    """Return the AUC and the signed gap, positive where the reference is ahead.

    Without pairs to compare, strict ties go with the paper's values, half ties with NaN.
    """
    wins = WinMatrix.of(table, ties)
    ahead, behind = _cells(wins, sides, ties)
    return wins.auc(partial=True, undefined=UNDEFINED[ties]), ahead - behind


def xaucs(table: ScoreTable, sides: Sides, ties: Ties) -> tuple[float, float]:
    """Return the xAUC of the reference's positives over the moved group's negatives, and the other way round."""
    return _cells(WinMatrix.of(table, ties), sides, ties)


def _cells(wins: WinMatrix, sides: Sides, ties: Ties) -> tuple[float, float]:
    a, b = wins.groups.index(sides.reference), wins.groups.index(sides.moved)
    return wins.cell(a, b, UNDEFINED[ties]), wins.cell(b, a, UNDEFINED[ties])


def limits(test: ScoreTable, sides: Sides) -> dict[str, dict[str, list[float]]]:
    """Return the highest AUC that keeps the order inside each group, at each of `GAPS`; NaN without pairs."""
    if min(test.positives.min(), test.negatives.min()) == 0:
        nothing = [np.nan] * len(GAPS)
        return {ties: {"auc": nothing, "gap": nothing} for ties in TIES}
    found: dict[str, dict[str, list[float]]] = {}
    for ties in TIES:
        line = Limit.of(test, reference=sides.reference, ties=ties)
        best = [line.best(gap) for gap in GAPS.tolist()]
        found[ties] = {"auc": [point.auc for point in best], "gap": [point.signed_gap for point in best]}
    return found
