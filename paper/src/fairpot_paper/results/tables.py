"""Tables from records: the paper's, with its own figures beside ours, as tidy columns."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from fairpot_paper.evaluate import TIES
from fairpot_paper.plan import ALPHAS, FINER, VARIANTS
from fairpot_paper.results import paper
from fairpot_paper.results.collect import Array, Record, mean_of, spread, standard_error
from fairpot_paper.runs import REGIONS
from fairpot_paper.sets import DATA_SETS
from fairpot.models import MODEL_NAMES

Columns = dict[str, list[Any]]


def _columns(rows: Iterable[dict[str, Any]]) -> Columns:
    made: Columns = {}
    for row in rows:
        for name, value in row.items():
            made.setdefault(name, []).append(value)
    return made


def _of_kind(records: Iterable[Record], kind: str) -> dict[tuple[str, str], list[Record]]:
    """Return the records of a kind that are whole, by data set and model, in the order of seeds."""
    found: dict[tuple[str, str], list[Record]] = {}
    for record in records:
        if record["status"] == "ok" and record["run"]["kind"] == kind:
            found.setdefault((record["run"]["data"], record["run"]["model"]), []).append(record)
    return {key: sorted(same, key=lambda record: record["run"]["seed"]) for key, same in found.items()}


def _tests(records: list[Record]) -> list[Any]:
    return [test for record in records for test in record["results"]["tests"]]


def _array(values: Iterable[Any]) -> Array:
    return np.array(list(values), dtype=np.float64)


def _by_place(records: list[Record]) -> dict[tuple[int, int], Any]:
    """Return the tests of records by seed and resample."""
    return {
        (record["run"]["seed"], resample): test
        for record in records
        for resample, test in enumerate(record["results"]["tests"])
    }


def _side_by_side(found: dict[tuple[str, str], list[Record]]) -> dict[tuple[str, str], list[Any]]:
    """Return the tests of each data set and model: for all models of a data set the same seeds and resamples.

    None stands where a model has no record of a seed.
    """
    tests = {key: _by_place(same) for key, same in found.items()}
    order = {data: sorted({place for key in tests if key[0] == data for place in tests[key]}) for data, _ in tests}
    return {key: [mine.get(place) for place in order[key[0]]] for key, mine in tests.items()}


def classifier_aucs(records: list[Record]) -> dict[tuple[str, str], Array]:
    """Return the held-out AUC (half ties) of each data set and classifier, one for every seed or resample.

    A classifier that failed on a seed has NaN there, so that the figures of a data set can be paired.
    """
    found = _side_by_side(_of_kind(records, "classifiers"))
    return {key: _array(test and test["half"]["auc"] for test in tests) for key, tests in found.items()}


def classifier_columns(records: list[Record]) -> Columns:
    """Tabulate the AUC of each base classifier; ties count half, as in scikit-learn, and strict beside it."""
    found = _of_kind(records, "classifiers")
    rows = []
    for data in DATA_SETS:
        for model in (*MODEL_NAMES, *FINER):
            same = found.get((data, model))
            if not same:
                continue
            half, strict = (_array(test[ties]["auc"] for test in _tests(same)) for ties in ("half", "strict"))
            published = paper.CLASSIFIERS[paper.paper_name(data)].get(model, (None, None))
            rows.append(
                {
                    "data": data,
                    "model": model,
                    "n": len(half),
                    "auc": float(mean_of(half)),
                    "auc_sd": float(spread(half)),
                    "auc_strict": float(mean_of(strict)),
                    "train_auc": float(np.mean([record["results"]["train"]["half"]["auc"] for record in same])),
                    "paper_auc": published[0],
                    "paper_sd": published[1],
                }
            )
    return _columns(rows)


def pauc_values(records: list[Record], data: str, variant: str, region: str, ties: str, figure: str = "auc") -> Array:
    """Return a figure of one model at each alpha: a row for every seed or resample, a column for every alpha.

    The rows of all models of a data set are the same seeds; NaN stands where one has no record.
    """
    tests = _side_by_side(_of_kind(records, "pauc")).get((data, variant), [])
    missing = [None] * len(ALPHAS)
    return _array([_figure(at, ties, figure) for at in test[region]] if test else missing for test in tests)


def _figure(at: dict[str, Any], ties: str, figure: str) -> Any:
    return at[figure] if figure in at else at[ties][figure]


def pauc_columns(records: list[Record]) -> Columns:
    """Tabulate partial AUC of (a), (b) and (c) at the paper's alpha, with the paired difference to (a)."""
    rows = []
    for data, about in DATA_SETS.items():
        place = ALPHAS.index(about.alpha)
        for region in REGIONS:
            for ties in TIES:
                base = pauc_values(records, data, "xgboost", region, ties)
                for variant in VARIANTS:
                    values = pauc_values(records, data, variant, region, ties)
                    if not len(values):
                        continue
                    change = (values - base)[:, place] if len(base) else np.full(len(values), np.nan)
                    found = pauc_values(records, data, variant, region, ties, "found")
                    published = paper.PAUC[paper.paper_name(data)].get(variant) if region == "pooled" else None
                    rows.append(
                        {
                            "data": data,
                            "alpha": about.alpha,
                            "region": region,
                            "ties": ties,
                            "model": variant,
                            "n": int(np.isfinite(values[:, place]).sum()),
                            "pauc": float(mean_of(values[:, place])),
                            "pauc_sd": float(spread(values[:, place])),
                            "against_a": float(mean_of(change)),
                            "against_a_se": float(standard_error(change, data)),
                            "found": float(mean_of(found[:, place])),
                            "paper_pauc": published,
                        }
                    )
    return _columns(rows)


def alpha_columns(records: list[Record]) -> Columns:
    """Tabulate partial AUC and both partial xAUCs against alpha, of every model that was measured at all of them."""
    rows = []
    for (data, model), same in _of_kind(records, "pauc").items():
        rows += _alpha_rows(data, model, _tests(same))
    for (data, _), same in _of_kind(records, "alpha").items():
        for model in ("one", "retrained"):
            rows += _alpha_rows(data, model, [test[model] for test in _tests(same)])
    return _columns(rows)


def _alpha_rows(data: str, model: str, tests: list[Any]) -> list[dict[str, Any]]:
    rows = []
    for region in REGIONS:
        for ties in TIES:
            for place, alpha in enumerate(ALPHAS):
                row: dict[str, Any] = {"data": data, "model": model, "region": region, "ties": ties, "alpha": alpha}
                row["n"] = len(tests)
                for figure in ("auc", "gap", "xauc_ab", "xauc_ba"):
                    values = _array(test[region][place][ties][figure] for test in tests)
                    row |= {figure: float(mean_of(values)), f"{figure}_sd": float(spread(values))}
                rows.append(row)
    return rows


def runtime_columns(records: list[Record]) -> Columns:
    """Tabulate the seconds of each method, with the paper's beside them."""
    rows = []
    found = {data: same[0]["results"] for (data, _), same in _of_kind(records, "runtime").items()}
    for data, results in ((name, found[name]) for name in DATA_SETS if name in found):
        for method, times in results["times"].items():
            wall, cpu = _array(time["wall"] for time in times), _array(time["cpu"] for time in times)
            rows.append(
                {
                    "data": data,
                    "method": method,
                    "repeats": len(times),
                    "seconds": float(mean_of(wall)),
                    "seconds_sd": float(spread(wall)),
                    "cpu_seconds": float(mean_of(cpu)),
                    "converged": times[0]["converged"],
                    "largest_error": times[0]["error"],
                    "note": times[0]["note"],
                    "paper_seconds": paper.RUNTIME[paper.paper_name(data)].get(method),
                    "cpu": results["machine"]["cpu"],
                    "cores": results["machine"]["cores"],
                }
            )
    return _columns(rows)
