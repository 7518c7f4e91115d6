"""Rows to score table: one GROUP BY group, score, label with a memory limit and spilling; exact thresholds."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairpot._defaults import Region
from fairpot._validation import wording
from fairpot.engines.binned import BinnedRows, choose_edges
from fairpot.engines.duckdb.scan import Parts, Scan
from fairpot.engines.memory import DEFAULT_MEMORY, Memory
from fairpot.engines.naming import GroupedRows, KeyCoder, doubles, name_keys
from fairpot.engines.protocol import MOST_DISTINCT, CountedRows, Progress
from fairpot.table import ScoreTable
from fairpot.transport import weight_to_reach


@dataclass(frozen=True)
class Wishes:
    """What is asked of a count."""

    several: bool = True
    max_distinct: int = MOST_DISTINCT
    drop_missing: bool = False
    called: Callable[[tuple[Any, ...]], Hashable] | None = None
    memory: Memory = DEFAULT_MEMORY

    @property
    def distinct(self) -> int:
        """So many distinct scores are kept as they are."""
        return min(self.max_distinct, self.memory.entries)

    @property
    def combinations(self) -> int:
        """So many combinations of group, label, score and weight are fetched."""
        return min(2 * self.max_distinct, self.memory.entries)


def count(scan: Scan, wishes: Wishes, progress: Progress | None) -> CountedRows:
    """Count the rows of a scan; where there are too many distinct scores, in bins."""
    if wishes.max_distinct < 2:
        raise ValueError(f"max_distinct must be at least 2, got {wishes.max_distinct!r}.")
    parts = Parts(scan, wishes.drop_missing)
    dropped = parts.missing()
    if parts.source.cluster is not None:
        return replace(_one_by_one(parts, wishes, progress), dropped=dropped)
    most = parts.source.most_rows()
    size = parts.estimate() if most is None or most > wishes.distinct else None
    if size is None or size.distinct <= wishes.distinct:
        counted = GroupedRows(scan.source, scan.kind, parts)
        if _fetched(parts, counted, progress, wishes.combinations, parts.grouped()):
            return replace(counted.finish(wishes.several, wishes.called), dropped=dropped)
        del counted
    size = size or parts.estimate()
    edges = choose_edges(parts.sample(size.rows, wishes.distinct), wishes.distinct, size.groups)
    binned = BinnedRows(scan.source, scan.kind, edges)
    for batch in scan.batches(parts.plain(), progress):
        binned.add(batch, parts.words)
    return CountedRows(*binned.finish(wishes.several, parts, wishes.called), dropped)


def _one_by_one(parts: Parts, wishes: Wishes, progress: Progress | None) -> CountedRows:
    """Count rows that belong together: every row is needed, and to group them would cost more than to fetch them."""
    counted = GroupedRows(parts.source, parts.scan.kind, parts)
    most, held = 2 * wishes.max_distinct, wishes.memory.clustered_rows
    if not _fetched(parts, counted, progress, min(most, held), parts.plain()):
        needed = None if most <= held else Memory.for_entries(parts.estimate().rows, clustered=True)
        raise ValueError(wording.too_many_clustered(min(most, held), needed))
    return counted.finish(wishes.several, wishes.called)


def _fetched(parts: Parts, counted: GroupedRows, progress: Progress | None, limit: int, select: str) -> bool:
    """Fetch all groups, or all rows; False if there are far more than was thought."""
    for batch in parts.scan.batches(select, progress):
        if counted.fetched + batch.num_rows > limit:
            return False
        counted.add(batch)
    if progress is not None:
        progress(1.0)
    return True


def refined_thresholds(
    parts: Parts,
    table: ScoreTable,
    thresholds: dict[Hashable, float],
    alpha: float,
    region: Region,
    called: Callable[[tuple[Any, ...]], Hashable] | None = None,
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
    coder, codes, groups = _named(parts, called)
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


def _named(
    parts: Parts, called: Callable[[tuple[Any, ...]], Hashable] | None
) -> tuple[KeyCoder, NDArray[np.intp], tuple[Hashable, ...]]:
    """Name the groups from all values there are: what a column of text holds is known at its end only."""
    coder = KeyCoder(parts.source.group_columns)
    for batch in parts.scan.batches(parts.combinations()):
        coder.encode(batch.columns[: len(parts.keys)], batch.num_rows)
    ones = np.ones(len(coder.keys), dtype=np.int64)
    return coder, *name_keys(coder.keys, ones, parts.source, parts.scan.kind, several=False, called=called)[:2]


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
