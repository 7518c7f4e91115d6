"""Rows to score table: one ``GROUP BY group, score, label`` with a memory limit and spilling."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace
from typing import Any

from fairpot.engines.binned import BinnedRows, choose_edges
from fairpot.engines.duckdb.parts import Parts
from fairpot.engines.duckdb.scan import Scan
from fairpot.engines.grouped import GroupedRows
from fairpot.engines.protocol import MOST_DISTINCT, CountedRows, Progress


@dataclass(frozen=True)
class Wishes:
    """What is asked of a count."""

    positive: Any = None
    several: bool = True
    max_distinct: int = MOST_DISTINCT
    drop_missing: bool = False
    called: Callable[[tuple[Any, ...]], Hashable] | None = None


def count(scan: Scan, wishes: Wishes, progress: Progress | None) -> CountedRows:
    """Count the rows of a scan; where there are too many distinct scores, in bins."""
    max_distinct = wishes.max_distinct
    if max_distinct < 2:
        raise ValueError(f"max_distinct must be at least 2, got {max_distinct!r}.")
    parts = Parts(scan, wishes.drop_missing)
    dropped = parts.missing()
    distinct, rows = parts.estimate(max_distinct)
    if distinct <= max_distinct:
        counted = GroupedRows(scan.source, scan.kind, parts)
        if _fetched(parts, counted, progress, 2 * max_distinct):
            return replace(counted.finish(wishes.positive, wishes.several, wishes.called), dropped=dropped)
    edges = choose_edges(parts.sample(rows or parts.count(), max_distinct), max_distinct)
    binned = BinnedRows(scan.source, scan.kind, edges)
    for batch in scan.batches(parts.plain(), progress):
        binned.add(batch, parts.words)
    return CountedRows(*binned.finish(wishes.positive, wishes.several, parts, wishes.called), dropped)


def _fetched(parts: Parts, counted: GroupedRows, progress: Progress | None, limit: int) -> bool:
    """Fetch all groups; False if there are far more than was thought."""
    for batch in parts.scan.batches(parts.grouped(), progress):
        if counted.fetched + batch.num_rows > limit:
            return False
        counted.add(batch)
    if progress is not None:
        progress(1.0)
    return True
