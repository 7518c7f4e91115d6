"""From rows to a sample: counted, with squared weights or clusters where they are asked for."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairpot._validation import Rows, check_choice, check_groups, check_rows
from fairpot.inference.shares import Clusters, Sample
from fairpot.table import ScoreTable

WEIGHTS = ("frequency", "importance")


def sample_rows(
    y_true: Any,
    y_score: Any,
    *,
    sensitive_features: Any = None,
    sample_weight: Any = None,
    clusters: Any = None,
    weights: str = "frequency",
    pos_label: Any = None,
) -> Sample:
    """Count rows for inference.

    Parameters
    ----------
    y_true, y_score, sensitive_features, sample_weight, pos_label
        As in :func:`fairpot.metrics.score_table`.
    clusters : column of shape (n,), default None
        What rows have in common that are not independent: the patient of each visit.
    weights : {"frequency", "importance"}, default "frequency"
        A weight of 3 is three rows, or one row that stands for others.

    Examples
    --------
    >>> sample = sample_rows([0, 1, 1], [0.3, 0.9, 0.3], sample_weight=[1.5, 1, 2], weights="importance")
    >>> sample.table.counts[0].positive, sample.squares.counts[0].positive
    (array([2., 1.]), array([4., 1.]))
    """
    check_choice(weights, "weights", WEIGHTS)
    if y_true is None:
        raise TypeError("y_true is missing: pass the outcome of each row, 0 or 1.")
    rows = check_rows(
        y_score,
        y_true,
        sensitive_features,
        sample_weight,
        grouped=sensitive_features is not None,
        pos_label=pos_label,
        names=("y_true", "y_score"),
    )
    return sample_checked(rows, weights=weights, clusters=clusters)


def sample_checked(rows: Rows, *, weights: str = "frequency", clusters: Any = None) -> Sample:
    """Count checked rows for inference."""
    table = ScoreTable.from_rows(*rows)
    importance = weights == "importance" and rows.weight is not None
    squares = None
    if importance and rows.weight is not None:
        squares = ScoreTable.from_rows(*rows._replace(weight=rows.weight.astype(np.float64) ** 2))
        table = table.with_squares(squares)
    units = None if clusters is None else _clusters(rows, table, clusters, importance)
    return Sample(table, squares, units)


def _clusters(rows: Rows, table: ScoreTable, clusters: Any, importance: bool) -> Clusters:
    codes, names = check_groups(clusters, len(rows.scores), "clusters", several=False)
    group = np.zeros(len(rows.scores), dtype=np.intp) if rows.codes is None else rows.codes.astype(np.intp)
    weight: NDArray[Any] = np.ones(len(group)) if rows.weight is None else rows.weight.astype(np.float64)
    entry = np.empty(len(group), dtype=np.intp)
    for g, counts in enumerate(table.counts):
        own = np.flatnonzero(group == g)
        entry[own] = np.searchsorted(counts.score, rows.scores[own] + 0.0)
    there = np.flatnonzero(weight > 0)  # the others are not in the table
    assert rows.labels is not None
    return Clusters(
        codes.astype(np.intp)[there],
        group[there],
        entry[there],
        rows.labels[there] == 1,
        weight[there],
        importance,
        len(names),
    )
