"""The rows behind an estimate: a counted table, what its weights mean, and which rows belong together."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairpot.table import Counts, ScoreTable


@dataclass(frozen=True, eq=False)
class Clusters:
    """Rows that are not independent of each other, one cluster an independent unit.

    ``unit`` numbers the cluster of each row, ``group`` and ``entry`` tell where its score stands in the table,
    ``positive`` its label, ``weight`` its weight.
    """

    unit: NDArray[np.intp]
    group: NDArray[np.intp]
    entry: NDArray[np.intp]
    positive: NDArray[np.bool_]
    weight: NDArray[Any]
    importance: bool = False

    size: int = 0  # number of clusters

    def above(self, first: NDArray[np.intp]) -> Clusters:
        """Keep the rows from place ``first[g]`` of each group upwards."""
        kept = np.flatnonzero(self.entry >= first[self.group])
        group = self.group[kept]
        return Clusters(
            self.unit[kept],
            group,
            self.entry[kept] - first[group],
            self.positive[kept],
            self.weight[kept],
            self.importance,
            self.size,
        )


@dataclass(frozen=True, eq=False)
class Sample:
    """A table with, at each entry, the sum of squared weights; with clusters, the rows they are made of.

    Without ``squares`` weights are frequencies: a weight of 3 is three rows, and squares add up to the weight.
    """

    table: ScoreTable
    squares: ScoreTable | None = None
    clusters: Clusters | None = None

    @classmethod
    def of(cls, table: ScoreTable | Sample) -> Sample:
        """Take a table as a sample; a sample stays as it is."""
        return table if isinstance(table, Sample) else cls(table, table.squares)

    def only(self, groups: Sequence[Hashable]) -> Sample:
        """Keep some of the groups."""
        if tuple(groups) == self.table.groups:
            return self
        places = np.array([self.table.groups.index(g) for g in groups])
        clusters = self.clusters
        if clusters is not None:
            kept = np.flatnonzero(np.isin(clusters.group, places))
            where = np.full(len(self.table.groups), -1)
            where[places] = np.arange(len(places))
            clusters = replace(
                clusters,
                unit=clusters.unit[kept],
                group=where[clusters.group[kept]],
                entry=clusters.entry[kept],
                positive=clusters.positive[kept],
                weight=clusters.weight[kept],
            )
        squares = None if self.squares is None else self.squares.only(groups)
        return Sample(self.table.only(groups), squares, clusters)

    def squared(self, group: int, positive: bool) -> Counts:
        """Give the sums of squared weights of one group's positives or negatives."""
        counts = (self.table if self.squares is None else self.squares).counts[group]
        return counts.positive if positive else counts.negative
