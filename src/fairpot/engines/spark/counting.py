"""Rows to score table: one ``groupBy(group, label, score)`` on the cluster; only its result reaches the driver."""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import replace
from typing import Any

import numpy as np

from fairpot.engines.binned import choose_edges
from fairpot.engines.grouped import GroupedRows
from fairpot.engines.keys import KeyCoder
from fairpot.engines.naming import name_groups
from fairpot.engines.protocol import CountedRows, Progress
from fairpot.engines.spark.binning import count_in_bins
from fairpot.engines.spark.parts import Parts
from fairpot.engines.values import doubles
from fairpot.table import Region, ScoreTable
from fairpot.transport import weight_to_reach


def count(parts: Parts, positive: Any, several: bool, max_distinct: int, progress: Progress | None) -> CountedRows:
    """Count rows; where there are too many distinct scores, in bins."""
    if max_distinct < 2:
        raise ValueError(f"max_distinct must be at least 2, got {max_distinct!r}.")
    dropped = parts.missing()
    rows = parts.count()
    scores, combinations = (rows, rows) if rows <= max_distinct else parts.estimate()
    if scores <= max_distinct and combinations <= 2 * max_distinct:
        counted = GroupedRows(parts.rows, parts.rows.kind, parts)
        for batch in parts.fetch(parts.grouped()).to_batches():
            counted.add(batch)
        found = counted.finish(positive, several)
    else:
        parts.check_numbers()
        binned = count_in_bins(parts, choose_edges(parts.sample(rows, max_distinct), max_distinct))
        found = CountedRows(*binned.finish(positive, several, parts))
    found = replace(found, dropped=dropped)
    if progress is not None:
        progress(1.0)
    return found


def refined_thresholds(
    parts: Parts, table: ScoreTable, thresholds: dict[Hashable, float], alpha: float, region: Region
) -> dict[Hashable, float]:
    """Turn the thresholds of a quantised table into exact ones: only rows in the bins around them are looked at.

    ``parts`` are those of rows without label and weight.
    """
    pooled = table.pooled().score
    windows = {g: _around(pooled, t) for g, t in thresholds.items()}
    near = " OR ".join(f"(score >= {_number(a)} AND score <= {_number(b)})" for a, b in set(windows.values()))
    # Outside the windows it is enough to know how many rows lie between them: which window's upper end they are above.
    ends = sorted({b for _, b in windows.values()})
    above = " + ".join(f"CAST(score > {_number(b)} AS INT)" for b in ends)
    marked = parts.doubles().selectExpr(*parts.keys, f"CASE WHEN {near} THEN score END AS score", f"{above} AS above")
    counted = marked.groupBy(*parts.keys, "score", "above").count()
    found = parts.fetch(counted)
    coder = KeyCoder(parts.rows.group_columns)
    key = np.concatenate([coder.encode(b.columns[: len(parts.keys)], b.num_rows) for b in found.to_batches()])
    n = found.column("count").to_numpy()
    rows = np.bincount(key, n, len(coder.keys)).astype(np.int64)
    codes, groups = name_groups(coder.keys, rows, parts.rows.group_columns, parts.rows.kind, several=False)
    place, score, over = codes[key], doubles(found.column("score")), found.column("above").to_numpy()
    result: dict[Hashable, float] = {}
    for group in table.groups:
        mine = np.ones(len(n), dtype=bool) if region == "pooled" else place == groups.index(group)
        a, b = windows[group]
        higher = int(n[mine & (over > ends.index(b))].sum())
        inside = mine & (score >= a) & (score <= b)
        wanted = math.ceil(weight_to_reach(alpha, int(n[mine].sum()))) - higher
        result[group] = _largest(score[inside], n[inside], wanted)
    return result


def _around(scores: Any, threshold: float) -> tuple[float, float]:
    """Return the neighbours of a score among the bins' scores."""
    place = int(np.searchsorted(scores, threshold))
    low = scores[place - 1] if place > 0 else -np.inf
    high = scores[place + 1] if place + 1 < len(scores) else np.inf
    return float(low), float(high)


def _largest(scores: Any, rows: Any, place: int) -> float:
    """Return the ``place``-th largest of scores, each of which several rows have."""
    order = np.argsort(scores)[::-1]
    return float(scores[order][np.searchsorted(np.cumsum(rows[order]), place)])


def _number(value: float) -> str:
    return f"double('{value!r}')"
