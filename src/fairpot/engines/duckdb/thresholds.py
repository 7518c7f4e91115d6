"""Exact top-alpha thresholds where the table was quantised: the rows around each are read again."""

from __future__ import annotations

import math
from collections.abc import Hashable

import numpy as np
from numpy.typing import NDArray

from fairpot.engines.duckdb.parts import Parts
from fairpot.engines.keys import KeyCoder
from fairpot.engines.naming import name_groups
from fairpot.engines.values import doubles
from fairpot.table import Region, ScoreTable
from fairpot.transport import weight_to_reach


def refined_thresholds(
    parts: Parts, table: ScoreTable, thresholds: dict[Hashable, float], alpha: float, region: Region
) -> dict[Hashable, float]:
    """Read the rows again to turn the thresholds of a quantised table into exact ones.

    The score that is looked for lies between the neighbours of the bin it was found in: count the rows above
    them and keep those between.
    """
    pooled = table.pooled().score
    windows = {g: _around(pooled, t) for g, t in thresholds.items()}
    above: dict[Hashable, int] = dict.fromkeys(table.groups, 0)
    total: dict[Hashable, int] = dict.fromkeys(table.groups, 0)
    inside: dict[Hashable, list[NDArray[np.float64]]] = {g: [] for g in table.groups}
    coder, codes, groups = _named(parts)
    for batch in parts.scan.batches(parts.plain()):
        key = coder.encode(batch.columns[: len(parts.keys)], batch.num_rows)
        score = doubles(batch.column("score"))
        for place, group in enumerate(groups):
            mine = score[np.isin(key, np.flatnonzero(codes == place))]
            low, high = windows[group]
            above[group] += int((mine > high).sum())
            total[group] += len(mine)
            inside[group].append(mine[(mine >= low) & (mine <= high)])
    if region == "group":
        return {g: _largest(inside[g], above[g], total[g], alpha) for g in table.groups}
    everyone = [part for parts_of_group in inside.values() for part in parts_of_group]
    found = _largest(everyone, sum(above.values()), sum(total.values()), alpha)
    return dict.fromkeys(table.groups, found)


def _named(parts: Parts) -> tuple[KeyCoder, NDArray[np.intp], tuple[Hashable, ...]]:
    """Name the groups from all values there are: what a column of text holds is known at its end only."""
    columns, kind = parts.source.group_columns, parts.scan.kind
    coder = KeyCoder(columns)
    for batch in parts.scan.batches(parts.combinations()):
        coder.encode(batch.columns[: len(parts.keys)], batch.num_rows)
    ones = np.ones(len(coder.keys), dtype=np.int64)
    return coder, *name_groups(coder.keys, ones, columns, kind, several=False)


def _around(scores: NDArray[np.float64], threshold: float) -> tuple[float, float]:
    """Return the neighbours of a score among the bins' scores."""
    place = int(np.searchsorted(scores, threshold))
    low = scores[place - 1] if place > 0 else -np.inf
    high = scores[place + 1] if place + 1 < len(scores) else np.inf
    return float(low), float(high)


def _largest(parts: list[NDArray[np.float64]], above: int, total: int, alpha: float) -> float:
    """Return the ceil(alpha n)-th largest score, ``above`` of them being larger than all in ``parts``."""
    place = math.ceil(weight_to_reach(alpha, total)) - above
    return float(np.sort(np.concatenate(parts))[-place])
