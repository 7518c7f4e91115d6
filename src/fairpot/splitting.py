"""Folds of a counted table, and a table written as weighted rows."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fairpot.table import Counts, GroupCounts, ScoreTable


class WeightedRows(NamedTuple):
    """One row for each group, score and label that occur; its weight is the count."""

    scores: NDArray[np.float64]
    y: NDArray[np.int8] | None
    groups: NDArray[np.object_]
    weight: NDArray[Any]


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


def split_table(table: ScoreTable, n_splits: int, random_state: Any = None) -> list[ScoreTable]:
    """Deal the rows that a table counts to folds, every group and outcome evenly to each.

    Whole counts are dealt row by row, shuffled inside each group and outcome: each fold is a draw without
    replacement, of sizes that differ by one at most. Entries of fractional weight go to one fold each.

    Parameters
    ----------
    table : ScoreTable
    n_splits : int
    random_state : int, RandomState or None, default None
        None deals the rows in the order of their scores, so that every fold has low and high ones.

    Returns
    -------
    list of ScoreTable
        They add up to the table; all of them have all its groups.

    Examples
    --------
    >>> import numpy as np
    >>> table = ScoreTable.from_rows(np.array([0.3, 0.9, 0.3, 0.3]), np.array([0, 1, 1, 0], dtype=np.int8))
    >>> [fold.counts[0].negative.tolist() for fold in split_table(table, 2)]
    [[1], [1, 0]]
    """
    generator = None if random_state is None else _generator(random_state)
    parts: list[list[GroupCounts]] = [[] for _ in range(n_splits)]
    squares: list[list[GroupCounts]] = [[] for _ in range(n_splits)]
    for place, counts in enumerate(table.counts):
        # Weights that are not so many rows stay together.
        whole = 1 if table.squares is None else 1.0
        positive = _deal(counts.positive * whole, n_splits, generator)
        negative = _deal(counts.negative * whole, n_splits, generator)
        for k in range(n_splits):
            there = np.flatnonzero(positive[k] + negative[k])
            parts[k].append(GroupCounts(counts.score[there], positive[k][there], negative[k][there]))
            if table.squares is not None:
                own = table.squares.counts[place]
                kept = [np.where(w[k] > 0, q, 0.0) for w, q in ((positive, own.positive), (negative, own.negative))]
                squares[k].append(GroupCounts(counts.score[there], kept[0][there], kept[1][there]))
    return [
        ScoreTable(
            table.groups,
            tuple(part),
            table.labelled,
            None if table.squares is None else ScoreTable(table.groups, tuple(square), table.labelled),
        )
        for part, square in zip(parts, squares)
    ]


def all_but(folds: list[ScoreTable], k: int) -> ScoreTable:
    """Add up all folds but one."""
    rest = [fold for i, fold in enumerate(folds) if i != k]
    total = rest[0]
    for fold in rest[1:]:
        total = total.merge(fold)
    return total


def _generator(random_state: Any) -> np.random.Generator:
    if isinstance(random_state, np.random.Generator):
        return random_state
    seed = random_state if not isinstance(random_state, np.random.RandomState) else random_state.randint(2**31)
    return np.random.default_rng(seed)


def _deal(counts: Counts, n_splits: int, generator: np.random.Generator | None) -> list[Counts]:
    """Deal the units of each entry to folds."""
    if counts.dtype.kind != "i":
        there = np.flatnonzero(counts)
        order = there if generator is None else generator.permutation(there)
        fold = np.empty(len(counts), dtype=np.intp)
        fold[order] = np.arange(len(order)) % n_splits
        return [np.where((counts > 0) & (fold == k), counts, 0.0) for k in range(n_splits)]
    if generator is None:  # row r, in the order of scores, goes to fold r mod K
        end = np.cumsum(counts)
        return [
            (end - k + n_splits - 1) // n_splits - (end - counts - k + n_splits - 1) // n_splits
            for k in range(n_splits)
        ]
    total, left, dealt = int(counts.sum()), counts.copy(), []
    for k in range(n_splits - 1):
        size = total // n_splits + (k < total % n_splits)
        drawn = generator.multivariate_hypergeometric(left, size, method="marginals")
        dealt.append(drawn)
        left = left - drawn
    return [*dealt, left]
