"""The table from distinct combinations: what an engine's ``GROUP BY group, label, score`` brings, checked and named."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from fairpot._validation.counted import check_weight_of_groups
from fairpot.engines.binned import Rules
from fairpot.engines.keys import Key, KeyCoder
from fairpot.engines.naming import name_keys
from fairpot.engines.protocol import CountedRows, Roles
from fairpot.engines.values import Kind, doubles
from fairpot.table import ScoreTable

Counts = NDArray[np.int64]
# Weights that are not whole are added up one by one, as in memory, up to this many rows.
_ONE_BY_ONE = 50_000_000


class Checks(Rules, Protocol):
    """What an engine can say about scores and weights that cannot be used."""

    def words(self, column: Any, rows: Counts | None = None) -> int:
        """Count the rows, ``rows`` of each value, whose text was no number."""


class GroupedRows:
    """Distinct combinations of group, label, score and weight, and how many rows have each.

    Parameters
    ----------
    source : Roles
    kind : str
        How values of group and label columns come.
    checks : Checks
    """

    def __init__(self, source: Roles, kind: Kind, checks: Checks) -> None:
        self.source, self.kind, self.checks = source, kind, checks
        self.coder = KeyCoder([*source.group_columns, *([] if source.label is None else [source.label])])
        self.columns: dict[str, list[NDArray[Any]]] = {"key": [], "score": [], "weight": [], "n": []}
        self.words = {"score": 0, "weight": 0}
        self.fetched = 0

    def add(self, batch: Any) -> int:
        """Take an Arrow batch: the columns of the key, then score, perhaps weight, and n; return how many there are."""
        width = len(self.coder.names)
        self.columns["key"].append(self.coder.encode(batch.columns[:width], batch.num_rows))
        n = batch.column("n").to_numpy(zero_copy_only=False)
        self.columns["n"].append(n)
        for role in ("score", "weight") if self.source.weight is not None else ("score",):
            self.columns[role].append(doubles(batch.column(role)))
            self.words[role] += self.checks.words(batch.column(role), n)
        self.fetched += batch.num_rows
        return self.fetched

    def finish(self, positive: Any, several: bool, called: Callable[[Key], Hashable] | None = None) -> CountedRows:
        """Check what was counted and put it into a table; ``called`` names groups, instead of the rules of memory."""
        scores, n = self._whole("score"), self._whole("n")
        self.checks.explain(scores, n, self.words["score"])
        key = self._whole("key")
        rows = np.bincount(key, weights=n, minlength=len(self.coder.keys)).astype(np.int64)
        columns, label = self.source.group_columns, self.source.label
        codes, groups, labels = name_keys(self.coder.keys, rows, columns, label, self.kind, positive, several, called)
        of_row = None if labels is None else labels[key]
        place = codes.astype(np.intp)[key] if len(groups) > 1 else None
        total = int(rows.sum())
        if self.source.weight is None:
            table = ScoreTable.from_rows(scores, of_row, place, groups, None if n.max() == 1 else n)
            return CountedRows(table, total)
        weight = self._whole("weight")
        table = self._weighted(scores, of_row, place, groups, n, weight)
        squares = ScoreTable.from_rows(scores, of_row, place, groups, weight**2 * n)
        return CountedRows(table, total, squares=squares)

    def _weighted(
        self, scores: Any, labels: Any, place: Any, groups: Any, n: Counts, weight: NDArray[np.float64]
    ) -> ScoreTable:
        self.checks.explain_weights(weight, n, self.words["weight"])
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
