"""From records to tables as tidy columns, the paper's own figures beside ours.

Records are put side by side first: for each method and setting one row of numbers for every seed or resample.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fairpot.tradeoff import pareto_mask
from fairpot_paper import published as paper
from fairpot_paper.data_sets import DATA_SETS
from fairpot_paper.models import MODEL_NAMES
from fairpot_paper.plan import ALPHAS, FINER, VARIANTS
from fairpot_paper.runs import DIALS, REGIONS, TIES

Array = NDArray[np.float64]
Record = dict[str, Any]


class Key(NamedTuple):
    """What a set of points belongs to. ``region`` is empty for the whole ranking; ``source`` is what the maps saw:
    in_sample scores, crossfit ones, or nothing but the test rows.
    """

    data: str
    model: str
    region: str
    source: str
    ties: str
    method: str


class Points(NamedTuple):
    """AUC and signed gap: one row for each seed or resample, one column for each value of the dial."""

    auc: Array
    signed_gap: Array

    @property
    def gap(self) -> Array:
        """The gap without its sign."""
        return np.abs(self.signed_gap)


def collect(records: Iterable[Record]) -> dict[Key, Points]:
    """Put the results of trade-off and partial runs side by side.

    A method that failed on a seed has NaN there.
    """
    rows: dict[Key, dict[tuple[int, int], tuple[list[Any], list[Any]]]] = {}
    tests: dict[tuple[str, str, str], list[tuple[int, int]]] = {}
    for record in records:
        for place, key, series in _series(record):
            rows.setdefault(key, {})[place] = (series["auc"], series["gap"])
            known = tests.setdefault((key.data, key.model, key.region), [])
            if place not in known:
                known.append(place)
    found = {}
    for key, by_place in rows.items():
        width = len(DIALS.get(key.method, (0,)))
        empty = ([None] * width, [None] * width)
        order = sorted(tests[key.data, key.model, key.region])
        pairs = [by_place.get(place, empty) for place in order]
        found[key] = Points(*(np.array([pair[i] for pair in pairs], dtype=np.float64) for i in (0, 1)))
    return found


def _series(record: Record) -> Iterator[tuple[tuple[int, int], Key, dict[str, Any]]]:
    run = record["run"]
    if record["status"] != "ok" or run["kind"] not in ("tradeoff", "partial", "edge"):
        return
    for resample, test in enumerate(record["results"]["tests"]):
        by_region = {"": test} if run["kind"] == "tradeoff" else test
        for region, sources in by_region.items():
            for source, methods in sources.items():
                for method, by_ties in methods.items():
                    for ties, series in by_ties.items():
                        key = Key(run["data"], run["model"], region, source, ties, method)
                        yield (run["seed"], resample), key, series


def standard_error(values: Array, data: str) -> Array:
    """Return the standard error of a mean over seeds; over resamples, whose spread it already is, their deviation."""
    known = np.isfinite(values).sum(axis=0)
    deviation = spread(values)
    return deviation if DATA_SETS[data].fixed else deviation / np.sqrt(np.maximum(known, 1))


def spread(values: Array) -> Array:
    """Return the standard deviation over the rows that are there; NaN for fewer than two."""
    known = np.isfinite(values).sum(axis=0)
    mean = np.nansum(values, axis=0) / np.maximum(known, 1)
    squares = np.nansum((values - mean) ** 2, axis=0)
    return np.sqrt(np.divide(squares, known - 1, out=np.full(np.shape(squares), np.nan), where=known > 1))


def mean_of(values: Array) -> Array:
    """Return the mean over the rows that are there; NaN where none is."""
    known = np.isfinite(values).sum(axis=0)
    total = np.nansum(values, axis=0)
    return np.divide(total, known, out=np.full(np.shape(total), np.nan), where=known > 0)


def curve_columns(found: dict[Key, Points]) -> dict[str, list[Any]]:
    """Write all points as tidy columns, means over seeds: what the figures are drawn from."""
    columns: dict[str, list[Any]] = {name: [] for name in _CURVES}
    for key, points in found.items():
        dial = DIALS.get(key.method, np.zeros(1))
        auc, gap = mean_of(points.auc), mean_of(points.gap)
        parts: dict[str, Any] = {
            "n": np.isfinite(points.auc).sum(axis=0),
            "auc": auc,
            "auc_sd": spread(points.auc),
            "auc_se": standard_error(points.auc, key.data),
            "gap": gap,
            "gap_sd": spread(points.gap),
            "gap_se": standard_error(points.gap, key.data),
            "signed_gap": mean_of(points.signed_gap),
            "pareto": pareto_mask(gap, auc) if np.isfinite(auc).all() else np.zeros(len(auc), dtype=bool),
            "dial": dial,
        }
        for place in range(len(dial)):
            for name in Key._fields:
                columns[name].append(getattr(key, name))
            for name, values in parts.items():
                columns[name].append(values[place].item())
    return columns


_CURVES = (
    *Key._fields, "dial", "n", "auc", "auc_sd", "auc_se", "gap", "gap_sd", "gap_se", "signed_gap", "pareto",
)  # fmt: skip


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


_EDGE_LAMBDAS, _SOLVER_LAMBDAS = (0, 5, 9, 10), (0, 2, 4, 6, 8, 10)  # tenths


def edge_columns(found: dict[Key, Points]) -> Columns:
    """Tabulate gap and partial AUC in the top of XGBoost's scores by the library's rule at the edge and the paper's."""
    rows = []
    for data in DATA_SETS:
        for region in REGIONS:
            for rule, method, step in (("left_alone", "fairpot", 10), ("boundary", "fairpot_boundary", 1)):
                points = found.get(Key(data, "xgboost", region, "in_sample", "half", method))
                if points is not None:
                    gap, auc = mean_of(points.gap)[::step], mean_of(points.auc)[::step]
                    rows += [
                        {"data": data, "region": region, "rule": rule, "lam": k / 10}
                        | {"gap": float(gap[k]), "auc": float(auc[k])}
                        for k in _EDGE_LAMBDAS
                    ]
    return _columns(rows)


def solver_columns(records: Iterable[Record]) -> Columns:
    """Tabulate gap and AUC along lambda by the exact plan and by the network simplex, where that did not converge."""
    rows = []
    for (data, _), same in _of_kind(records, "runtime").items():
        times, points = same[0]["results"]["times"], same[0]["results"]["points"]
        if times["emd_default"][0]["converged"] is False:
            for method in ("fairpot", "emd_converged", "emd_default"):
                rows += [
                    {"data": data, "method": method, "lam": k / 10}
                    | {name: points[method][name][k] for name in ("gap", "auc")}
                    for k in _SOLVER_LAMBDAS
                    if method in points
                ]
    return _columns(rows)
