"""The matrix of pairwise wins between groups, from which every metric is read off."""

from __future__ import annotations

import itertools
import sys
import warnings
from collections.abc import Hashable
from dataclasses import dataclass
from types import FrameType
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from fairpot.exceptions import UndefinedMetricWarning
from fairpot.table import GroupCounts, ScoreTable
from fairpot.transport.lookup import blocks, ranks, running

Ties = Literal["strict", "half"]
TIES = ("strict", "half")


def half_wins(winners: GroupCounts, losers: GroupCounts, ties: Ties) -> Any:
    """Count the pairs (positive of winners, negative of losers) won, in half pairs: exact for whole weights."""
    if winners is losers:
        return inner_half_wins(winners, ties)
    return cross_half_wins(winners, losers, ties)[0]


def inner_half_wins(counts: GroupCounts, ties: Ties) -> Any:
    """Count the half pairs won inside one group."""
    below = np.cumsum(counts.negative)
    below -= counts.negative
    wins = 2 * np.dot(counts.positive, below)
    return wins if ties == "strict" else wins + np.dot(counts.positive, counts.negative)


def cross_half_wins(g: GroupCounts, h: GroupCounts, ties: Ties) -> tuple[Any, Any]:
    """Count the half pairs won by positives of g over negatives of h, and the other way round: one merge."""
    if len(g.score) > len(h.score):
        return cross_half_wins(h, g, ties)[::-1]
    negatives, positives = running(h.negative, h.positive)
    won = lost = negatives[0] * 0
    for block in blocks(len(g.score)):
        below, upto = ranks(h.score, g.score[block])
        if ties == "strict":
            beaten, above = 2 * negatives[below], 2 * (positives[-1] - positives[upto])
        else:
            beaten = negatives[below] + negatives[upto]
            above = 2 * positives[-1] - positives[below] - positives[upto]
        won += np.dot(g.positive[block], beaten)
        lost += np.dot(g.negative[block], above)
    return won, lost


@dataclass(frozen=True)
class WinMatrix:
    """``half_wins[g, h]``: pairs of a positive of g and a negative of h that the positive wins, doubled."""

    groups: tuple[Hashable, ...]
    half_wins: NDArray[Any]
    positives: NDArray[Any]
    negatives: NDArray[Any]

    @classmethod
    def of(cls, table: ScoreTable, ties: Ties = "half") -> WinMatrix:
        """Count all pairs of a table."""
        table = table.for_pairs()
        size = len(table.counts)
        wins = np.diag([inner_half_wins(c, ties) for c in table.counts])
        for i, j in itertools.combinations(range(size), 2):
            wins[i, j], wins[j, i] = cross_half_wins(table.counts[i], table.counts[j], ties)
        return cls(table.groups, wins, table.positives, table.negatives)

    @property
    def pairs(self) -> NDArray[np.float64]:
        """Number of pairs in each cell."""
        return np.outer(self.positives.astype(np.float64), self.negatives)

    def auc(self, *, partial: bool = False) -> float:
        """Share of all pairs won; without pairs the paper's value, with a warning."""
        total = float(self.positives.sum()) * float(self.negatives.sum())
        if total == 0:
            return undefined_auc(self.positives.sum() > 0, partial)
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
        g, h = divmod(int(np.argmax(gap)), len(gap))
        if g == h:  # every gap is zero
            g, h = 0, 1
        return float(xauc[g, h]), float(xauc[h, g])


def undefined_auc(has_positives: bool, partial: bool) -> float:
    """Return what stands for an AUC without pairs: 0, but 1 for a region without negatives; warn."""
    name, where = ("partial AUC", " in the region") if partial else ("AUC", "")
    value = 1.0 if partial and has_positives else 0.0
    warn_undefined(name, ("negatives" if has_positives else "positives") + where, None, value)
    return value


def warn_undefined(metric: str, what: str, group: Hashable | None, value: float) -> None:
    """Warn that a metric has nothing to count and which value stands in for it."""
    where = "the data" if group is None else f"group {group!r}"
    warnings.warn(
        f"{metric} is undefined because {where} has no {what} to compare; {value:g} is returned (the paper's value).",
        UndefinedMetricWarning,
        stacklevel=_callers_level(),
    )


def _callers_level() -> int:
    """Count the frames up to the first one outside fairpot: the line a warning should point at."""
    frame: FrameType | None = sys._getframe(1)
    level = 0
    while frame is not None and frame.f_globals.get("__name__", "").split(".")[0] == "fairpot":
        frame, level = frame.f_back, level + 1
    return level + 1
