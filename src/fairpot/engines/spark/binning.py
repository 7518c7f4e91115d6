"""Counting in bins on the workers: each partition sends how much fell into each bin, never its rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from fairpot.engines.binned import BinnedRows, Floats
from fairpot.engines.keys import MOST_KEYS
from fairpot.engines.spark.parts import Parts
from fairpot.engines.spark.session import without_advice
from fairpot.engines.values import doubles

_BINS = "bin INT, mass DOUBLE, low DOUBLE, high DOUBLE, n BIGINT, whole BOOLEAN"


def count_in_bins(parts: Parts, edges: Floats) -> BinnedRows:
    """Count the rows of each combination of group and label in the bins that begin at ``edges``."""
    frame = parts.doubles()
    keys = ", ".join(f"{key} {parts.rows.types[key]}" for key in parts.keys)
    counter = bin_counter(edges, len(parts.keys), "weight" in parts.numbers, MOST_KEYS)
    with without_advice():
        partial = frame.mapInArrow(counter, f"{keys}, {_BINS}" if keys else _BINS)
    ways = {"mass": "sum", "low": "min", "high": "max", "n": "sum", "whole": "min"}
    found = parts.fetch(partial.groupBy(*parts.keys, "bin").agg(ways))
    binned = BinnedRows(parts.rows, parts.rows.kind, edges)
    binned.least = binned.most = 1.0  # weights have been checked on the cluster
    for batch in found.to_batches():
        _take(binned, batch, len(parts.keys))
    return binned


def _take(binned: BinnedRows, batch: Any, width: int) -> None:
    """Add the counts of a batch, one row for each combination and bin."""
    key = binned.coder.encode(batch.columns[:width], batch.num_rows)
    bins = batch.column("bin").to_numpy(zero_copy_only=False)
    mass, low, high = (doubles(batch.column(name)) for name in ("sum(mass)", "min(low)", "max(high)"))
    n = batch.column("sum(n)").to_numpy(zero_copy_only=False)
    for code in np.unique(key).tolist():
        mine = np.flatnonzero(key == code)
        binned.rows[code] = binned.rows.get(code, 0) + int(n[mine].sum())
        counts = binned.weights.setdefault(code, np.zeros(len(binned.edges)))
        counts[bins[mine]] += mass[mine]
        binned.mass[bins[mine]] += mass[mine]
        binned.low[bins[mine]] = np.minimum(binned.low[bins[mine]], low[mine])
        binned.high[bins[mine]] = np.maximum(binned.high[bins[mine]], high[mine])
    binned.whole = binned.whole and all(batch.column("min(whole)").to_pylist())


def bin_counter(edges: Floats, width: int, weighted: bool, limit: int) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """Make the function that counts a partition; it goes to workers that need NumPy and PyArrow, not fairpot."""

    def count(batches: Iterator[Any]) -> Iterator[Any]:
        import numpy as np
        import pyarrow as pa

        held: dict[Any, Any] = {}
        types: list[Any] = []
        for batch in batches:
            types = [column.type for column in batch.columns[:width]]
            coded = [column.dictionary_encode(null_encoding="encode") for column in batch.columns[:width]]
            combined = np.zeros(batch.num_rows, dtype=np.int64)
            for column in coded:
                combined = combined * len(column.dictionary) + column.indices.to_numpy()
            score = batch.column("score").to_numpy(zero_copy_only=False) + 0.0
            weight = batch.column("weight").to_numpy(zero_copy_only=False) if weighted else np.ones(len(score))
            places = np.searchsorted(edges, score, side="right") - 1
            for code in np.unique(combined).tolist():
                rows = np.flatnonzero(combined == code)
                key = tuple(column[int(rows[0])].as_py() for column in coded)
                if key not in held:
                    if len(held) >= limit:
                        raise ValueError(f"more than {limit} groups")
                    empty = np.zeros(len(edges))
                    held[key] = [empty, empty + np.inf, empty - np.inf, np.zeros(len(edges), dtype=np.int64), True]
                mass, low, high, n, whole = held[key]
                n += np.bincount(places[rows], minlength=len(edges))
                rows = rows[weight[rows] > 0]
                mass += np.bincount(places[rows], weight[rows], len(edges))
                np.minimum.at(low, places[rows], score[rows])
                np.maximum.at(high, places[rows], score[rows])
                held[key][4] = whole and bool((weight[rows] == np.floor(weight[rows])).all())
        for key, (mass, low, high, n, whole) in held.items():
            used = np.flatnonzero(n)
            columns = [pa.array([value] * len(used), kind) for value, kind in zip(key, types)]
            columns += [
                pa.array(used.astype(np.int32)),
                pa.array(mass[used]),
                pa.array(low[used]),
                pa.array(high[used]),
            ]
            columns += [pa.array(n[used]), pa.array([whole] * len(used))]
            names = [*(f"k{i}" for i in range(width)), "bin", "mass", "low", "high", "n", "whole"]
            yield pa.RecordBatch.from_arrays(columns, names=names)

    return count
