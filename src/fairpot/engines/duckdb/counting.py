"""Rows to score table: one ``GROUP BY group, score, label`` with a memory limit and spilling."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairpot._validation.counted import check_weight_of_groups
from fairpot.engines.binned import BinnedRows, choose_edges
from fairpot.engines.duckdb.parts import Parts
from fairpot.engines.duckdb.scan import Scan
from fairpot.engines.keys import KeyCoder
from fairpot.engines.naming import name_keys
from fairpot.engines.protocol import MOST_DISTINCT, CountedRows, Progress
from fairpot.engines.values import doubles
from fairpot.table import ScoreTable

# Weights that are not whole are added up one by one, as in memory, up to this many rows.
_ONE_BY_ONE = 50_000_000


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
        counted = _Groups(parts)
        if counted.read(progress, 2 * max_distinct):
            return replace(counted.finish(wishes), dropped=dropped)
    edges = choose_edges(parts.sample(rows or parts.count(), max_distinct), max_distinct)
    binned = BinnedRows(scan.source, scan.kind, edges)
    for batch in scan.batches(parts.plain(), progress):
        binned.add(batch, parts.words)
    return CountedRows(*binned.finish(wishes.positive, wishes.several, parts, wishes.called), dropped)


class _Groups:
    """The result of the GROUP BY, as it comes in."""

    def __init__(self, parts: Parts) -> None:
        self.parts, self.source = parts, parts.source
        self.coder = KeyCoder([self.source.roles[key] for key in parts.keys])
        self.columns: dict[str, list[NDArray[Any]]] = {"key": [], "score": [], "weight": [], "n": []}
        self.words = {"score": 0, "weight": 0}

    def read(self, progress: Progress | None, limit: int) -> bool:
        """Fetch all groups; False if there are far more than was thought."""
        fetched = 0
        for batch in self.parts.scan.batches(self.parts.grouped(), progress):
            fetched += batch.num_rows
            if fetched > limit:
                return False
            width = len(self.parts.keys)
            self.columns["key"].append(self.coder.encode(batch.columns[:width], batch.num_rows))
            n = batch.column("n").to_numpy(zero_copy_only=False)
            self.columns["n"].append(n)
            for role in ("score", "weight") if self.source.weight is not None else ("score",):
                self.columns[role].append(doubles(batch.column(role)))
                self.words[role] += self.parts.words(batch.column(role), n)
        if progress is not None:
            progress(1.0)
        return True

    def finish(self, wishes: Wishes) -> CountedRows:
        """Check what was counted and put it into a table."""
        scores, n = self._whole("score"), self._whole("n")
        self.parts.explain(scores, n, self.words["score"])
        key = self._whole("key")
        rows = np.bincount(key, weights=n, minlength=len(self.coder.keys)).astype(np.int64)
        codes, groups, labels = name_keys(
            self.coder.keys,
            rows,
            self.source.group_columns,
            self.source.label,
            self.parts.scan.kind,
            wishes.positive,
            wishes.several,
            wishes.called,
        )
        of_row = None if labels is None else labels[key]
        place = codes.astype(np.intp)[key] if len(groups) > 1 else None
        total = int(rows.sum())
        if self.source.weight is None:
            table = ScoreTable.from_rows(scores, of_row, place, groups, None if n.max() == 1 else n)
            return CountedRows(table, total)
        return CountedRows(self._weighted(scores, of_row, place, groups, n), total)

    def _weighted(self, scores: Any, labels: Any, place: Any, groups: Any, n: NDArray[np.int64]) -> ScoreTable:
        weight = self._whole("weight")
        self.parts.explain_weights(weight, n, self.words["weight"])
        total = np.bincount(np.zeros(len(n), dtype=np.intp) if place is None else place, weight, len(groups))
        check_weight_of_groups(total, groups, f"column {self.source.weight!r}")
        if (weight == np.floor(weight)).all() and float((weight * n).sum()) < 2**53:
            return ScoreTable.from_rows(scores, labels, place, groups, weight.astype(np.int64) * n)
        if n.max() > 1 and int(n.sum()) <= _ONE_BY_ONE:
            again = np.repeat(np.arange(len(n)), n)
            scores, weight = scores[again], weight[again]
            labels = None if labels is None else labels[again]
            place = None if place is None else place[again]
        else:
            weight = weight * n
        return ScoreTable.from_rows(scores, labels, place, groups, weight)

    def _whole(self, name: str) -> NDArray[Any]:
        """Join the pieces of a column, letting go of them."""
        pieces = self.columns.pop(name)
        return np.concatenate(pieces) if pieces else np.empty(0, dtype=np.float64 if name == "score" else np.int64)
