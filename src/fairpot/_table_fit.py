"""Fitting from a score table: any estimator, through its own ``fit``, without the rows the table was counted from."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from fairpot.table import ScoreTable


class WeightedRows(NamedTuple):
    """One row for each group, score and label that occur; its weight is the count."""

    scores: NDArray[np.float64]
    y: NDArray[np.int8] | None
    groups: NDArray[np.object_]
    weight: NDArray[Any]


class FitsRows(Protocol):
    """What every post-processor has."""

    def fit(self, scores: Any, y: Any = None, *, sensitive_features: Any, sample_weight: Any = None) -> Self:
        """Learn from rows."""


Estimator = TypeVar("Estimator", bound=FitsRows)


def weighted_rows(table: ScoreTable) -> WeightedRows:
    """Write a table as weighted rows: at most two for each distinct score of a group.

    Examples
    --------
    >>> import numpy as np
    >>> table = ScoreTable.from_rows(np.array([0.3, 0.9, 0.3, 0.3]), np.array([0, 1, 1, 0], dtype=np.int8))
    >>> rows = weighted_rows(table)
    >>> rows.scores, rows.y, rows.weight
    (array([0.3, 0.9, 0.3]), array([1, 1, 0], dtype=int8), array([1, 1, 2]))
    """
    scores, labels, weights, sizes = [], [], [], []
    for counts in table.counts:
        size = 0
        for label, weight in ((1, counts.positive), (0, counts.negative)):
            there = np.flatnonzero(weight)
            scores.append(counts.score[there])
            weights.append(weight[there])
            labels.append(np.full(len(there), label, dtype=np.int8))
            size += len(there)
        sizes.append(size)
    names = np.empty(len(table.groups), dtype=object)
    names[:] = table.groups
    y = np.concatenate(labels) if table.labelled else None
    return WeightedRows(np.concatenate(scores), y, np.repeat(names, sizes), np.concatenate(weights))


def fit_table(model: Estimator, table: ScoreTable) -> Estimator:
    """Fit an estimator on a table: the same result, to the last bit, as on the rows it was counted from."""
    rows = weighted_rows(table)
    model.fit(rows.scores, rows.y, sensitive_features=rows.groups, sample_weight=rows.weight)
    # The same counts, but with the groups in the order that the rows' own columns gave them.
    model.table_, model.groups_ = table, table.groups  # type: ignore[attr-defined]
    return model
