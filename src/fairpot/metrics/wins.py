"""The matrix of pairwise wins between groups, from which every metric is read off."""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from fairpot._defaults import Ties
from fairpot._validation import wording
from fairpot._warn import warn_user
from fairpot.counts import GroupCounts
from fairpot.table import ScoreTable
from fairpot.transport.lookup import blocks, ranks, running

Undefined = Literal["nan", "paper"]
UNDEFINED = ("nan", "paper")
# More empty cells or pairs than this are counted, not listed.
_LISTED = 6


def value_without_pairs(undefined: Undefined, papers: float = 0.0) -> float:
    """Return NaN, or the paper's value where that is asked for."""
    return papers if undefined == "paper" else float("nan")


def undefined_auc(has_positives: bool, partial: bool, undefined: Undefined = "nan") -> float:
    """Return what stands for an AUC without pairs (the paper: 0, but 1 for a top without negatives); warn."""
    name, where = ("partial AUC", " in the top") if partial else ("AUC", "")
    value = value_without_pairs(undefined, 1.0 if partial and has_positives else 0.0)
    warn_undefined(name, [(None, wording.BOTH_OUTCOMES[int(has_positives)] + where)], value)
    return value


def warn_undefined(metric: str, empty: Iterable[tuple[Hashable | None, str]], value: float) -> None:
    """Warn that a metric has nothing to count, which cells are empty, and what is returned for it.

    ``empty`` names each cell by its group (None: all rows) and what it has none of.
    """
    returned = f"{value:g} is returned (the paper's value)."
    if value != value:
        returned = "NaN is returned (undefined='paper' returns the paper's value)."
    _warn(f"{metric} is undefined because {_missing(empty)} to compare; {returned}")


def empty_cells(groups: Sequence[Hashable], positives: Any, negatives: Any) -> list[tuple[Hashable, str]]:
    """Name the cells without weight: positives first, then negatives."""
    both = list(zip(wording.BOTH_OUTCOMES, (positives, negatives)))
    return [(groups[place], what) for what, counts in both for place in range(len(groups)) if counts[place] == 0]


def _missing(empty: Iterable[tuple[Hashable | None, str]]) -> str:
    return _listed([f"{'the data' if group is None else f'group {group!r}'} has no {what}" for group, what in empty])


def _listed(names: Sequence[str], separator: str = ", ") -> str:
    more = len(names) - _LISTED
    shown = separator.join(names[:_LISTED])
    return shown if more <= 0 else f"{shown}{separator}and {more} more"


def _warn(message: str) -> None:
    from fairpot.exceptions import UndefinedMetricWarning  # a kind of scikit-learn's, which takes a while to load

    warn_user(message, UndefinedMetricWarning)


# Counts kept at a time, scores times groups: a few megabytes.
_CELLS = 2**19


def many_half_wins(counts: tuple[GroupCounts, ...], *, half: bool) -> NDArray[Any]:
    """Count ``wins[g, h]`` in half pairs for every two groups, in O(n log n + n groups).

    Going up the distinct scores of all groups, each group's negatives below a score are a running row, which
    is added to the row of every group that has positives there. Exact for whole weights, as the pairwise count is.
    """
    from scipy.sparse import csr_array

    groups = len(counts)
    group = np.repeat(np.arange(groups), [len(c.score) for c in counts])
    score, positive, negative = (
        np.concatenate([getattr(c, name) for c in counts]) for name in ("score", "positive", "negative")
    )
    order = np.argsort(score, kind="stable")
    group, score, positive, negative = group[order], score[order], positive[order], negative[order]
    level = np.concatenate(([0], np.cumsum(score[1:] != score[:-1])))[: len(score)]
    wins = np.zeros((groups, groups), dtype=positive.dtype)
    beaten = np.zeros(groups, dtype=negative.dtype)  # of each group, by a score in the level that comes next
    width = max(_CELLS // groups, 1)
    for first in range(0, int(level[-1]) + 1 if len(level) else 0, width):
        rows = slice(*np.searchsorted(level, (first, first + width)))
        at, who = level[rows] - first, group[rows]
        steps = np.zeros((int(at[-1]) + 2, groups), dtype=negative.dtype)
        steps[0] = beaten
        # A negative is beaten from the next level on, and half of it at its own if ties count half.
        steps[at + 1, who] += negative[rows] if half else 2 * negative[rows]
        if half:
            steps[at, who] += negative[rows]
        np.cumsum(steps, axis=0, out=steps)
        beaten = steps[-1].copy()
        wins += csr_array((positive[rows], (who, at)), shape=(groups, len(steps))) @ steps
    return wins


# With more groups than this, all pairs are counted in one pass instead of two groups at a time.
FEW_GROUPS = 6


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


# Pairs of tables that are in use, by how ties count: notices, the reference and a curve ask for the same.
_COUNTED: weakref.WeakKeyDictionary[ScoreTable, dict[Ties, WinMatrix]] = weakref.WeakKeyDictionary()


@dataclass(frozen=True)
class WinMatrix:
    """``half_wins[g, h]``: pairs of a positive of g and a negative of h that the positive wins, doubled.

    What has no pairs to count is NaN, or with ``undefined="paper"`` the paper's value; a warning names the empty cell.
    """

    groups: tuple[Hashable, ...]
    half_wins: NDArray[Any]
    positives: NDArray[Any]
    negatives: NDArray[Any]

    @classmethod
    def of(cls, table: ScoreTable, ties: Ties = "half") -> WinMatrix:
        """Count all pairs of a table, once for each way that ties count."""
        known = _COUNTED.setdefault(table, {})
        if ties not in known:
            known[ties] = cls._counted(table.for_pairs(), ties)
        return known[ties]

    @staticmethod
    def remember(table: ScoreTable, counted: Mapping[Ties, WinMatrix]) -> None:
        """Keep what was counted in another way, for whoever asks for the same pairs next."""
        _COUNTED.setdefault(table, {}).update(counted)

    @classmethod
    def _counted(cls, table: ScoreTable, ties: Ties) -> WinMatrix:
        counts = table.counts
        if len(counts) > FEW_GROUPS:
            wins = many_half_wins(counts, half=ties == "half")
        else:
            wins = np.diag([inner_half_wins(c, ties) for c in counts])
            for i, j in itertools.combinations(range(len(counts)), 2):
                wins[i, j], wins[j, i] = cross_half_wins(counts[i], counts[j], ties)
        return cls(table.groups, wins, table.positives, table.negatives)

    @property
    def pairs(self) -> NDArray[np.float64]:
        """Number of pairs in each cell."""
        return np.outer(self.positives.astype(np.float64), self.negatives)

    def auc(self, *, partial: bool = False, undefined: Undefined = "nan") -> float:
        """Share of all pairs won."""
        total = float(self.positives.sum()) * float(self.negatives.sum())
        if total == 0:
            return undefined_auc(self.positives.sum() > 0, partial, undefined)
        return min(float(self.half_wins.sum()) / 2 / total, 1.0)

    def xauc(self, undefined: Undefined = "nan") -> NDArray[np.float64]:
        """Share of the pairs of each cell won."""
        value = value_without_pairs(undefined)
        empty = empty_cells(self.groups, self.positives, self.negatives)
        if empty:
            warn_undefined("xAUC", empty, value)
        return self._shares(value)

    def cell(self, g: int, h: int, undefined: Undefined = "nan") -> float:
        """Read the xAUC of the positives of group g over the negatives of group h; of one group its AUC."""
        cells = zip(wording.BOTH_OUTCOMES, (self.positives, self.negatives), (g, h))
        empty = [(self.groups[place], what) for what, counts, place in cells if counts[place] == 0]
        if empty:
            value = value_without_pairs(undefined)
            warn_undefined("xAUC" if g != h else f"AUC of group {self.groups[g]!r}", empty, value)
            return value
        return min(float(self.half_wins[g, h]) / 2 / (float(self.positives[g]) * float(self.negatives[h])), 1.0)

    def widest(self, undefined: Undefined = "nan") -> tuple[float, float]:
        """Return xAUC(g->h) and xAUC(h->g) of the pair of groups, g before h, with the largest gap.

        Pairs for which it is undefined are left out, with a warning that names them; NaN if there is no other.
        """
        self._warn_of_gap(undefined)
        pair = self.widest_pair(undefined)
        if pair is None:
            return float("nan"), float("nan")
        xauc = self._shares(value_without_pairs(undefined))
        return float(xauc[pair]), float(xauc[pair[::-1]])

    def gap(self, undefined: Undefined = "nan") -> float:
        """Return the largest gap."""
        first, second = self.widest(undefined)
        return abs(first - second)

    def widest_pair(self, undefined: Undefined = "nan") -> tuple[int, int] | None:
        """Find the places of the two groups with the largest gap, of equals the first; None if there is no gap."""
        xauc = self._shares(value_without_pairs(undefined))
        gap = np.abs(np.triu(xauc - xauc.T, 1))
        if np.isnan(gap).any():
            above = np.triu(np.ones(gap.shape, dtype=bool), 1)
            if np.isnan(gap[above]).all():
                return None
            gap = np.where(above & ~np.isnan(gap), gap, -1.0)
        g, h = divmod(int(np.argmax(gap)), len(gap))
        return (0, 1) if g == h else (g, h)  # equal: every gap is zero

    def _shares(self, value: float) -> NDArray[np.float64]:
        pairs = self.pairs
        shares = np.divide(self.half_wins / 2, pairs, out=np.full(pairs.shape, value), where=pairs > 0)
        return np.minimum(shares, 1.0)  # sums of broken weights may exceed their product by a last bit

    def _warn_of_gap(self, undefined: Undefined) -> None:
        empty = empty_cells(self.groups, self.positives, self.negatives)
        if not empty:
            return
        every = list(itertools.combinations(range(len(self.groups)), 2))
        defined = self.pairs > 0
        left_out = [(self.groups[g], self.groups[h]) for g, h in every if not (defined[g, h] and defined[h, g])]
        if undefined == "paper" or len(left_out) == len(every):
            warn_undefined("the xAUC gap", empty, value_without_pairs(undefined))
            return
        between = _listed([f"{g!r} and {h!r}" for g, h in left_out], "; ")
        _warn(
            f"the xAUC gap is undefined for {len(left_out)} of {len(every)} pairs of groups ({between}) because "
            f"{_missing(empty)} to compare; the largest gap is that of the other pairs."
        )
