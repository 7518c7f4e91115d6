"""Folds of a counted table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairpot.counts import Clusters, Counts, GroupCounts, Members, Sides, rows_worth
from fairpot.table import ScoreTable
from fairpot.transport import Floats


def split_table(table: ScoreTable, n_splits: int, random_state: Any = None) -> list[ScoreTable]:
    """Deal the rows that a table counts to folds, every group and outcome evenly to each.

    Whole counts are dealt row by row, importance weights as so many equal rows as they are worth, entries of other
    fractional weights to one fold each, and rows that belong together as whole clusters. ``random_state`` None deals
    rows in the order of their scores, so that every fold has low and high ones.
    """
    if isinstance(random_state, np.random.RandomState):
        random_state = random_state.randint(2**31)
    generator = None if random_state is None else np.random.default_rng(random_state)
    if table.clusters is not None:
        fold = _deal_clusters(table, table.clusters, n_splits, generator)
        return [_of_units(table, fold == k) for k in range(n_splits)]
    dealt = [[_deal(_rows_behind(c, side), n_splits, generator) for side in (True, False)] for c in table.counts]
    return [
        replace(table, counts=tuple(_kept(c, sides[0][k], sides[1][k]) for c, sides in zip(table.counts, dealt)))
        for k in range(n_splits)
    ]


def _rows_behind(counts: GroupCounts, positive: bool) -> Counts:
    """Give how many rows to deal at each entry: those counted, or as many as importance weights are worth."""
    weight = counts.positive if positive else counts.negative
    return weight if counts.squares is None else rows_worth(weight, counts.squared(positive))


def _kept(counts: GroupCounts, positive: Counts, negative: Counts) -> GroupCounts:
    """Keep so many rows of each entry."""
    there = np.flatnonzero(positive + negative)
    if counts.squares is None and counts.rows is None:
        return GroupCounts(counts.score[there], positive[there], negative[there])
    share = [
        np.divide(kept, rows, out=np.zeros(len(rows)), where=rows > 0)[there]
        for kept, rows in zip((positive, negative), (_rows_behind(counts, side) for side in (True, False)))
    ]
    rows = _parted(counts.rows_at, share, there)
    behind = (np.ceil(rows[0]).astype(np.int64), np.ceil(rows[1]).astype(np.int64))
    if counts.squares is None:
        return GroupCounts(counts.score[there], positive[there], negative[there], rows=behind)
    weights = _parted((counts.positive, counts.negative), share, there)
    return GroupCounts(counts.score[there], *weights, _parted(counts.squares, share, there), rows=behind)


def _parted(sides: Sides, share: Sequence[Floats], there: NDArray[np.intp]) -> Sides:
    return sides[0][there] * share[0], sides[1][there] * share[1]


def _deal_clusters(
    table: ScoreTable, clusters: Clusters, n_splits: int, generator: np.random.Generator | None
) -> NDArray[np.intp]:
    """Deal whole clusters; the hashes of their names are in no order that means anything."""
    weight = np.zeros((clusters.size, 2 * len(table.groups)))
    np.add.at(weight, (clusters.unit, 2 * clusters.group + clusters.positive), clusters.weight)
    shuffled = np.arange(clusters.size) if generator is None else generator.permutation(clusters.size)
    return deal_units(weight, n_splits, shuffled)


def deal_units(weight: Floats, n_splits: int, order: NDArray[np.intp]) -> NDArray[np.intp]:
    """Deal whole clusters: those of a group with and without positives in turn, largest first, evenly to each fold.

    ``weight[unit, 2 * group + positive]`` is what each has; of equals the first in ``order`` is dealt first.
    """
    has_positive = weight[:, 1::2].sum(axis=1) > 0
    group = np.argmax(weight[:, ::2] + weight[:, 1::2], axis=1)
    size = weight.sum(axis=1)
    dealt = order[np.lexsort((-size[order], has_positive[order], group[order]))]
    fold = np.empty(len(weight), dtype=np.intp)
    fold[dealt] = np.arange(len(weight)) % n_splits
    return fold


def _of_units(table: ScoreTable, chosen: NDArray[np.bool_]) -> ScoreTable:
    """Count the rows of some clusters alone."""
    counts = []
    for c in table.counts:
        assert c.members is not None
        kept = [m.only(chosen) for m in c.members]
        sides = [_weigh(m, len(c.score), c.positive.dtype) for m in kept]
        squares = None
        if c.squares is not None:
            squares = tuple(
                _weigh(m._replace(weight=m.weight.astype(np.float64) ** 2), len(c.score), np.float64) for m in kept
            )
        rows = None if c.rows is None else tuple(np.bincount(m.entry, minlength=len(c.score)) for m in kept)
        members = (kept[0], kept[1])
        whole = GroupCounts(c.score, sides[0], sides[1], squares, members, rows)  # type: ignore[arg-type]
        counts.append(whole.without_empty())
    return replace(table, counts=tuple(counts))


def _weigh(members: Members, entries: int, kind: Any) -> Counts:
    if np.issubdtype(kind, np.integer):
        total = np.zeros(entries, dtype=kind)
        np.add.at(total, members.entry, members.weight.astype(kind))
        return total
    return np.bincount(members.entry, weights=members.weight, minlength=entries)


def all_but(folds: list[ScoreTable], k: int) -> ScoreTable:
    """Add up all folds but one."""
    return reduce(ScoreTable.merge, (fold for i, fold in enumerate(folds) if i != k))


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
