"""One run: what each method makes of the scores of one split, whole and in the top; plain numbers for a record.

Everything works on counted rows. The top alpha is a table cut at its threshold: what is fitted, moved and measured
are the rows of that region, as in the paper's second algorithm.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from fairpot._defaults import Ties
from fairpot.methods import optimal_merge
from fairpot.methods.fairpot import transport_plans
from fairpot.methods.wasserstein import barycentre_maps, part_of_the_way
from fairpot.metrics.wins import Undefined, WinMatrix
from fairpot.repair.groups import in_rows, require_outcomes
from fairpot.table import ScoreTable
from fairpot.tradeoff import Limit
from fairpot.transport import ScoreMap, TransportPlan
from fairpot_paper.data_sets import DATA_SETS
from fairpot_paper.plan import ALPHAS, EDGE_ALPHA, Run, trainings_of
from fairpot_paper.post_logit import PostLogit, sigmoid_map
from fairpot_paper.scores import Scored, read_scores
from fairpot_paper.xorder import xorder_maps

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
    _require_rows(table)
    return transport_plans(table, sides.reference)[sides.moved]


def _require_rows(table: ScoreTable) -> None:
    """Insist on rows of every group: the top of a list may have none of one."""
    empty = [group for group, counts in zip(table.groups, table.counts) if len(counts.score) == 0]
    if empty:
        raise ValueError(f"the table has no rows of the group {empty[0]!r}.")


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
    fitted = PostLogit(reference=sides.reference, ties=ties).fit(table)
    slope, beta = fitted.slope_, fitted.beta
    return Repair(lambda test: [{sides.moved: sigmoid_map(slope, beta, test[sides.moved].score)}], (ties,))


def _optimal_merge(table: ScoreTable, sides: Sides) -> Repair:
    _require_rows(table)
    family = optimal_merge.learn(table, reference=sides.reference)
    return Repair(lambda test: family.steps(THETAS))


def _barycentre(test: ScoreTable) -> Iterable[Maps]:
    """Give the maps part of the way to the barycentre of the new rows themselves, as the paper's protocol has it."""
    full = barycentre_maps(test)
    return ({group: part_of_the_way(each, t) for group, each in full.items()} for t in LAMS.tolist())


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


SOURCES = ("in_sample", "crossfit")
Region = Literal["pooled", "group"]
REGIONS: tuple[Region, ...] = ("pooled", "group")
Results = dict[str, Any]


def make_results(run: Run, folder: Path) -> Results:
    """Compute what a record of a run holds, from the scores of its trained models.

    Returns
    -------
    dict
        ``data_sha256``, ``tests`` (one entry for each test set: the split's, or each resample of it) and ``failed``
        (the methods that could not be fitted, and why).
    """
    scored = [read_scores(folder, training) for training in trainings_of(run)]
    made = _KINDS[run.kind](run, scored)
    return {"data_sha256": scored[0].sha256, **made}


def _sides(run: Run) -> Sides:
    return Sides(DATA_SETS[run.data].reference, DATA_SETS[run.data].moved)


def _tradeoff(run: Run, scored: list[Scored]) -> Results:
    tests = scored[0].test_tables(run.resamples)
    fitted = {source: scored[0].fitted_table(source) for source in SOURCES}
    found, failed = repaired(fitted, tests, _sides(run))
    return {"tests": found, "failed": failed}


def _partial(run: Run, scored: list[Scored]) -> Results:
    network, boosted = scored
    alpha, sides = DATA_SETS[run.data].alpha, _sides(run)
    tests: list[Results] = [{} for _ in range(run.resamples or 1)]
    failures = []
    for region in REGIONS:
        fitted = {source: top_of(network.fitted_table(source), alpha, region) for source in SOURCES}
        there = [top_of(table, alpha, region) for table in network.test_tables(run.resamples)]
        found, failed = repaired(fitted, there, sides)
        for place, table in enumerate(boosted.test_tables(run.resamples)):
            found[place]["test"]["xgboost"] = measure(UNFITTED["unadjusted"], top_of(table, alpha, region), sides)
            tests[place][region] = found[place]
        failures += [{"region": region, **each} for each in failed]
    return {"alpha": alpha, "tests": tests, "failed": failures}


def _edge(run: Run, scored: list[Scored]) -> Results:
    """Repair the top tenth of the boosted trees' own scores, by the library's rule at the edge and by the paper's."""
    tests: list[Results] = [{} for _ in range(run.resamples or 1)]
    failures = []
    for region in REGIONS:
        fitted = {source: top_of(scored[0].fitted_table(source), EDGE_ALPHA, region) for source in SOURCES}
        there = [top_of(table, EDGE_ALPHA, region) for table in scored[0].test_tables(run.resamples)]
        found, failed = repaired(fitted, there, _sides(run), ("fairpot", "fairpot_boundary"))
        for place, each in enumerate(found):
            tests[place][region] = each
        failures += [{"region": region, **each} for each in failed]
    return {"alpha": EDGE_ALPHA, "tests": tests, "failed": failures}


def repaired(
    fitted: dict[str, ScoreTable], tests: list[ScoreTable], sides: Sides, methods: Collection[str] = ()
) -> tuple[list[Results], list[dict[str, str]]]:
    """Measure every method, or those named, on every test table: results by source and method, and what failed."""
    found: list[Results] = [{"test": _of_test_alone(table, sides)} for table in tests]
    failed = []
    for source, table in fitted.items():
        for each in found:
            each[source] = {}
        for method, fit in fitted_repairs(sides).items():
            if methods and method not in methods:
                continue
            try:
                measured = _all_ties(fit(table), tests, sides)
            except ValueError as error:
                failed.append({"source": source, "method": method, "error": str(error).splitlines()[0]})
                continue
            for each, series in zip(found, measured):
                each[source][method] = series
    return found, failed


def _all_ties(repairs: list[Repair], tests: list[ScoreTable], sides: Sides) -> list[Results]:
    return [{key: value for each in repairs for key, value in measure(each, t, sides).items()} for t in tests]


def _of_test_alone(table: ScoreTable, sides: Sides) -> Results:
    """Measure what is not fitted: the scores as they came, the barycentre of the test rows, and the limit."""
    found = {name: measure(repair, table, sides) for name, repair in UNFITTED.items()}
    found["limit"] = limits(table, sides)
    return found


def _classifier(run: Run, scored: list[Scored]) -> Results:
    sides = _sides(run)
    tests = [_auc_and_gap_by_ties(table, sides) for table in scored[0].test_tables(run.resamples)]
    return {"train": _auc_and_gap_by_ties(scored[0].fitted_table("in_sample"), sides), "tests": tests, "failed": []}


def _auc_and_gap_by_ties(table: ScoreTable, sides: Sides) -> Results:
    return {ties: dict(zip(("auc", "gap"), auc_and_gap(table, sides, ties))) for ties in TIES}


def _pauc(run: Run, scored: list[Scored]) -> Results:
    sides = _sides(run)
    tests = [_at_alphas(table, sides) for table in scored[0].test_tables(run.resamples)]
    return {"alphas": list(ALPHAS), "tests": tests, "failed": []}


def _alpha(run: Run, scored: list[Scored]) -> Results:
    """Compare at each alpha: the boosted trees, the model trained for the data's own alpha, and one trained for it."""
    own, boosted = scored[:2]
    sides, resamples = _sides(run), run.resamples
    trained_for = {training.alpha: each for training, each in zip(trainings_of(run), scored) if training.alpha}
    tables = {alpha: each.test_tables(resamples) for alpha, each in trained_for.items()}
    tests = []
    for place, (trees, one) in enumerate(zip(boosted.test_tables(resamples), own.test_tables(resamples))):
        each = [at_alpha(tables[alpha][place], sides, alpha) for alpha in ALPHAS]
        retrained = {region: [at[region] for at in each] for region in REGIONS}
        tests.append({"xgboost": _at_alphas(trees, sides), "one": _at_alphas(one, sides), "retrained": retrained})
    return {"alphas": list(ALPHAS), "tests": tests, "failed": []}


def _at_alphas(table: ScoreTable, sides: Sides) -> Results:
    each = [at_alpha(table, sides, alpha) for alpha in ALPHAS]
    return {region: [at[region] for at in each] for region in REGIONS}


def top_of(table: ScoreTable, alpha: float, region: Region) -> ScoreTable:
    """Keep the paper's top alpha, of all rows or of each group."""
    return table.top(alpha, "all" if region == "pooled" else "group")


def at_alpha(table: ScoreTable, sides: Sides, alpha: float) -> Results:
    """Measure the top alpha of all rows and of each group: partial AUC, both partial xAUCs, and who is found."""
    found: Results = {}
    for region in REGIONS:
        cut = top_of(table, alpha, region)
        found[region] = {"found": int(cut.positives.sum()), "positives": int(table.positives.sum())}
        for ties in TIES:
            auc, gap = auc_and_gap(cut, sides, ties)
            ahead, behind = xaucs(cut, sides, ties)
            found[region][ties] = {"auc": auc, "gap": gap, "xauc_ab": ahead, "xauc_ba": behind}
    return found


_KINDS: dict[str, Callable[[Run, list[Scored]], Results]] = {
    "tradeoff": _tradeoff,
    "partial": _partial,
    "edge": _edge,
    "classifiers": _classifier,
    "pauc": _pauc,
    "alpha": _alpha,
}
