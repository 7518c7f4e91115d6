"""The matrix of pairwise wins between groups, from which every metric is read off."""

from __future__ import annotations

import warnings
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from fairpot.exceptions import UndefinedMetricWarning
from fairpot.table import GroupCounts, ScoreTable
from fairpot.transport import ranks

Ties = Literal["strict", "half"]
TIES = ("strict", "half")


def half_wins(winners: GroupCounts, losers: GroupCounts, ties: Ties) -> Any:
    """Count the pairs (positive of winners, negative of losers) won, in half pairs: exact for whole weights."""
    negatives = np.concatenate(([0], np.cumsum(losers.negative)))
    if winners is losers:
        below, upto = np.arange(len(winners.score)), np.arange(1, len(winners.score) + 1)
    else:
        below, upto = ranks(losers.score, winners.score)
    beaten = 2 * negatives[below] if ties == "strict" else negatives[below] + negatives[upto]
    return np.dot(winners.positive, beaten)


@dataclass(frozen=True)
class WinMatrix:
    """``half_wins[g, h]``: pairs of a positive of g and a negative of h that the positive wins, doubled."""

    groups: tuple[Hashable, ...]
    half_wins: NDArray[Any]
    positives: NDArray[Any]
    negatives: NDArray[Any]

    @classmethod
    def of(cls, table: ScoreTable, ties: Ties = "strict") -> WinMatrix:
        """Count all pairs of a table."""
        table = table.for_pairs()
        wins = np.array([[half_wins(g, h, ties) for h in table.counts] for g in table.counts])
        return cls(table.groups, wins, table.positives, table.negatives)

    @property
    def pairs(self) -> NDArray[np.float64]:
        """Number of pairs in each cell."""
        return np.outer(self.positives.astype(np.float64), self.negatives)

    def auc(self) -> float:
        """Share of all pairs won; 0 where there is no pair."""
        total = float(self.positives.sum()) * float(self.negatives.sum())
        if total == 0:
            warn_undefined("AUC", "positives" if self.positives.sum() == 0 else "negatives", None, 0.0)
            return 0.0
        return float(self.half_wins.sum()) / 2 / total

    def xauc(self) -> NDArray[np.float64]:
        """Share of the pairs of each cell won; a cell without pairs is 0, with a warning that names it."""
        for what, counts in (("positives", self.positives), ("negatives", self.negatives)):
            for place in np.flatnonzero(counts == 0):
                warn_undefined("xAUC", what, self.groups[place], 0.0)
        pairs = self.pairs
        return np.divide(self.half_wins / 2, pairs, out=np.zeros(pairs.shape), where=pairs > 0)

    def cell(self, g: int, h: int) -> float:
        """Read the xAUC of the positives of group g over the negatives of group h."""
        for what, counts, place in (("positives", self.positives, g), ("negatives", self.negatives, h)):
            if counts[place] == 0:
                warn_undefined("xAUC", what, self.groups[place], 0.0)
                return 0.0
        return float(self.half_wins[g, h]) / 2 / (float(self.positives[g]) * float(self.negatives[h]))

    def widest(self) -> tuple[float, float]:
        """Return xAUC(g->h) and xAUC(h->g) of the pair of groups, g before h, with the largest gap."""
        xauc = self.xauc()
        gap = np.abs(np.triu(xauc - xauc.T))
        g, h = np.unravel_index(int(np.argmax(gap)), gap.shape)
        if g == h:  # every gap is zero
            g, h = 0, 1
        return float(xauc[g, h]), float(xauc[h, g])


def warn_undefined(metric: str, what: str, group: Hashable | None, value: float) -> None:
    """Warn that a metric has nothing to count and which value stands in for it."""
    where = "the data" if group is None else f"group {group!r}"
    warnings.warn(
        f"{metric} is undefined because {where} has no {what} to compare; {value:g} is returned (the paper's value).",
        UndefinedMetricWarning,
        stacklevel=4,
    )
