"""Records, put side by side: for each method and setting one row of numbers for every seed or resample."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fairpot_paper.evaluate import DIALS
from fairpot_paper.sets import DATA_SETS
from fairpot.tradeoff import pareto_mask

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
