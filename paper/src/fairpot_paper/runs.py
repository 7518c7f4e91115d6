"""A run becomes the results of one record: numbers only, the same whenever and wherever it is made."""

from __future__ import annotations

from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

from fairpot_paper.evaluate import (
    TIES,
    UNFITTED,
    Repair,
    Sides,
    auc_and_gap,
    fitted_repairs,
    limits,
    measure,
    xaucs,
)
from fairpot_paper.plan import ALPHAS, EDGE_ALPHA, Run, trainings_of
from fairpot_paper.scores import Scored, read_scores
from fairpot_paper.sets import DATA_SETS
from fairpot.table import Region, ScoreTable

SOURCES = ("in_sample", "crossfit")
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
        fitted = {source: network.fitted_table(source).top(alpha, region) for source in SOURCES}
        there = [table.top(alpha, region) for table in network.test_tables(run.resamples)]
        found, failed = repaired(fitted, there, sides)
        for place, table in enumerate(boosted.test_tables(run.resamples)):
            found[place]["test"]["xgboost"] = measure(UNFITTED["unadjusted"], table.top(alpha, region), sides)
            tests[place][region] = found[place]
        failures += [{"region": region, **each} for each in failed]
    return {"alpha": alpha, "tests": tests, "failed": failures}


def _edge(run: Run, scored: list[Scored]) -> Results:
    """Repair the top tenth of the boosted trees' own scores, by the library's rule at the edge and by the paper's."""
    tests: list[Results] = [{} for _ in range(run.resamples or 1)]
    failures = []
    for region in REGIONS:
        fitted = {source: scored[0].fitted_table(source).top(EDGE_ALPHA, region) for source in SOURCES}
        there = [table.top(EDGE_ALPHA, region) for table in scored[0].test_tables(run.resamples)]
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


def at_alpha(table: ScoreTable, sides: Sides, alpha: float) -> Results:
    """Measure the top alpha of all rows and of each group: partial AUC, both partial xAUCs, and who is found."""
    found: Results = {}
    for region in REGIONS:
        cut = table.top(alpha, region)
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
