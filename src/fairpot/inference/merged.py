"""A table merged to few entries: enough for covariances, which change little within a thousandth of a class."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fairpot.inference.sample import Clusters, Sample
from fairpot.table import Counts, GroupCounts, ScoreTable

# Entries to keep for each class of each group.
ENTRIES = 1000


def merge_entries(sample: Sample, entries: int = ENTRIES) -> Sample:
    """Merge neighbouring scores of each group, so that each run holds at most 1 / ``entries`` of either class.

    A single score of more than that stays alone. Entries are known by the mean of their scores.

    Examples
    --------
    >>> table = ScoreTable.from_rows(np.arange(100.0), np.arange(100) % 2)
    >>> small = merge_entries(Sample(table), 10).table.counts[0]
    >>> len(small.score), int(small.positive.sum()), int(small.negative.sum())
    (20, 50, 50)
    """
    places = [_runs(c, entries) for c in sample.table.counts]
    if all(len(first) == len(c.score) for first, c in zip(places, sample.table.counts)):
        return sample
    table = _merged(sample.table, sample.table, places)
    squares = None if sample.squares is None else _merged(sample.squares, sample.table, places)
    clusters = sample.clusters
    if clusters is not None:
        entry = clusters.entry.copy()
        for g, first in enumerate(places):
            own = np.flatnonzero(clusters.group == g)
            entry[own] = np.searchsorted(first, clusters.entry[own], side="right") - 1
        clusters = Clusters(
            clusters.unit,
            clusters.group,
            entry,
            clusters.positive,
            clusters.weight,
            clusters.importance,
            clusters.size,
        )
    return Sample(table, squares, clusters)


def _runs(counts: GroupCounts, entries: int) -> NDArray[np.intp]:
    """Give the place at which each run begins: where either class passes another 1 / ``entries`` of its weight."""
    if len(counts.score) <= 2 * entries:
        return np.arange(len(counts.score))
    steps = [_passed(c, entries) for c in (counts.positive, counts.negative)]
    change = (steps[0][1:] != steps[0][:-1]) | (steps[1][1:] != steps[1][:-1])
    return np.concatenate(([0], np.flatnonzero(change) + 1))


def _passed(weight: Counts, entries: int) -> NDArray[np.intp]:
    total = max(float(weight.sum()), 1e-300)
    middle = np.cumsum(weight) - weight / 2
    return (middle * (entries / total)).astype(np.intp)


def _merged(weights: ScoreTable, scores: ScoreTable, places: list[NDArray[np.intp]]) -> ScoreTable:
    counts = []
    for own, scored, first in zip(weights.counts, scores.counts, places):
        weight = scored.weight.astype(np.float64)
        mean = np.add.reduceat(weight * scored.score, first) / np.add.reduceat(weight, first)
        counts.append(GroupCounts(mean, np.add.reduceat(own.positive, first), np.add.reduceat(own.negative, first)))
    return ScoreTable(weights.groups, tuple(counts), weights.labelled)
