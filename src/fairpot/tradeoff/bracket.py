"""The limit of more than two groups, between two numbers: what no repair can exceed, and what one of them has.

A repair that keeps the order inside each group merges the orders of all groups into one. Each two groups taken for
themselves have the limit of two groups, so the best cross wins of every two within the bound, added up, are at least
those of any merge: the upper end. (A merge need not have them all: the pairs may want a above b, b above c, c above a.)
Merging all groups by their odds, each group's times a factor of its own, is such a repair: the lower end.
"""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fairpot._defaults import Ties
from fairpot._docs import documented
from fairpot._html import html_table, lines_svg, paragraph
from fairpot._optional import make_frame
from fairpot._shown import display
from fairpot._validation import check_share
from fairpot.counts import GroupCounts
from fairpot.metrics.wins import inner_half_wins
from fairpot.table import ScoreTable
from fairpot.tradeoff.curve import TradeoffCurve
from fairpot.tradeoff.limit import block_starts, line_of_two, pool, require_both_outcomes
from fairpot.tradeoff.solve import Entries
from fairpot.tradeoff.together import Search
from fairpot.transport import Floats

# Bounds that a frame lists, and those that a small picture shows: the lower end is searched for at each.
_LISTED = (0.0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
_SHOWN = (0.0, 0.05, 0.2)
# Log-odds of blocks without positives or negatives, which no factor moves; factors that are tried, as logarithms.
_CERTAIN = 1e3
_FACTORS = 4001
_HAIR = 1e-9
# Entries of a group on which is searched: few at first, all at last.
_SIZES = (64, 256, 10**9)
# Gaps of a curve at which the lower end is looked for; between them it is reached by choosing at random.
_ALONG = 5


class BracketPoint(NamedTuple):
    """Hold what the highest AUC within a gap is between: a merge has ``low``, nothing is above ``high``."""

    max_gap: float
    low: float
    high: float


class PairLine(NamedTuple):
    """What the pairs of two groups add to the AUC at most, at each of their signed gaps: a concave line."""

    signed_gap: Floats
    added: Floats

    def most(self, bound: float) -> float:
        """Give the most within a bound on the gap."""
        best = float(np.clip(self.signed_gap[np.argmax(self.added)], -bound, bound))
        return float(np.interp(best, self.signed_gap, self.added))


@documented
@dataclass(frozen=True, eq=False)
class LimitBracket:
    """The highest AUC of more than two groups whose largest gap is within a bound, between two numbers.

    No repair that keeps the order inside each group is above ``high`` on these rows, and one of them has ``low``. Like
    the limit of two groups, both know the outcomes of the rows: see ``docs/understand/best-auc.md``.

    Attributes
    ----------
    groups : names of the groups
    inside : float
        What the pairs inside groups add to the AUC; no merge changes it.
    lines : dict of pair of groups to PairLine
        What the pairs of every two groups add at most.
    error : float
        By how much ``high`` may lie too low at most: 0 unless there were too many vertices to keep.

    Examples
    --------
    >>> from fairpot.tradeoff import auc_limit
    >>> y, score = [0, 1, 0, 1, 0, 1], [0.1, 0.2, 0.3, 0.4, 0.5, 0.6]
    >>> bracket = auc_limit(y, score, sensitive_features=["a", "a", "b", "b", "c", "c"])
    >>> bracket.best(max_gap=0.0)
    BracketPoint(max_gap=0.0, low=1.0, high=1.0)
    """

    groups: tuple[Hashable, ...]
    inside: float
    lines: dict[tuple[Hashable, Hashable], PairLine]
    error: float = 0.0
    merges: tuple[tuple[Merges, ...], ...] = field(default=(), repr=False)  # of each fold
    known: dict[float, float] = field(default_factory=dict, repr=False)  # lower ends, once they were looked for
    optimism: None = None
    reason: str = "what chance adds to the limit is estimated for two groups only"

    @classmethod
    def of(cls, table: ScoreTable, *, ties: Ties = "half") -> LimitBracket:
        """Compute the bracket of a labelled table; see :func:`auc_limit`."""
        require_both_outcomes(table)
        table = table.for_pairs()
        pooled = [pool(c) for c in table.counts]
        total = float(table.positives.sum()) * float(table.negatives.sum())
        # A tie inside a group is worth a half, so with ties="half" pooling helps there; with "strict" it costs.
        blocks = pooled if ties == "half" else table.counts
        inside = sum(float(inner_half_wins(c, ties)) for c in blocks) / 2 / total
        lines, error = {}, 0.0
        for g, h in itertools.combinations(range(len(pooled)), 2):
            gap, wins, _, missing = line_of_two(pooled[g], pooled[h])
            lines[table.groups[g], table.groups[h]] = PairLine(gap, wins / total)
            error += missing / total
        return cls(table.groups, inside, lines, error, (Merges.of(table.counts, inside, ties),))

    @classmethod
    def mean(cls, brackets: Sequence[LimitBracket]) -> LimitBracket:
        """Return the bracket of means over folds: of AUC, and of every two groups' signed gap."""
        if len(brackets) == 1:
            return brackets[0]
        lines = {pair: _mean_line([each.lines[pair] for each in brackets]) for pair in brackets[0].lines}
        inside, error = (float(np.mean([getattr(each, name) for each in brackets])) for name in ("inside", "error"))
        return cls(brackets[0].groups, inside, lines, error, tuple(m for each in brackets for m in each.merges))

    def __repr__(self) -> str:
        even = self.best(0.02)
        names = ", ".join(str(g) for g in self.groups)
        return (
            f"<LimitBracket of merging {names}: AUC at most {self.high(1.0):.4f}, {even.low:.4f} to {even.high:.4f} "
            "at a gap of at most 0.02>"
        )

    def high(self, max_gap: float) -> float:
        """Return what no repair that keeps the order inside each group exceeds within a gap.

        {max_gap}
        """
        bound = check_share(max_gap, "max_gap", zero=True)
        return min(self.inside + sum(line.most(bound) for line in self.lines.values()), 1.0)

    def low(self, max_gap: float) -> float:
        """Return the AUC of the best merge that was found within a gap.

        {max_gap}
        """
        bound = check_share(max_gap, "max_gap", zero=True)
        if bound not in self.known:
            self.known[bound] = float(np.mean([_best_of(each, bound) for each in self.merges]))
        return min(self.known[bound], self.high(bound))

    def best(self, max_gap: float = 1.0) -> BracketPoint:
        """Return both ends for gaps of at most ``max_gap``.

        {max_gap}
        """
        return BracketPoint(float(max_gap), self.low(max_gap), self.high(max_gap))

    def auc_at(self, gap: ArrayLike) -> Floats:
        """Return the upper end at each gap, in the shape of the input; it does not matter which group is higher.

        Parameters
        ----------
        gap : array
            Gaps between any two groups.
        """
        wanted = np.asarray(gap, dtype=np.float64)
        return np.reshape([self.high(abs(float(each))) for each in wanted.ravel()], wanted.shape)

    def along(self, curve: TradeoffCurve, *, signed: bool = True) -> dict[str, Floats]:
        """Give both ends at the gap of each point of a curve; what of them is within reach is not known.

        Parameters
        ----------
        curve : TradeoffCurve
            Of the same rows.
        signed : bool, default True
            Not used: the gap of several groups has no sign.
        """
        if {*curve.moved, curve.reference} != set(self.groups):
            raise ValueError(
                f"the curve is one of {[*curve.moved, curve.reference]}, the limit of {list(self.groups)}.\n"
                "Hint: both must come from the same rows."
            )
        gaps = np.nan_to_num(curve.gap, nan=1.0)
        some = np.linspace(gaps.min(), gaps.max(), _ALONG)
        low = np.interp(gaps, some, [self.low(float(gap)) for gap in some])
        return {"limit_auc": self.auc_at(gaps), "limit_low": low, "reachable_auc": np.full(len(gaps), np.nan)}

    def _repr_html_(self) -> str:
        """Show both ends over the target gap."""
        points = [self.best(bound) for bound in _SHOWN]
        bounds = [p.max_gap for p in points]
        lines = [("at most", bounds, [p.high for p in points]), ("at least", bounds, [p.low for p in points])]
        note = "The best possible AUC lies between the lines. It knows the outcomes: no interval belongs to it."
        picture = lines_svg(lines, "Best possible AUC over the target gap", ("gap at most", "AUC"), note=note)
        rows = [{"gap at most": p.max_gap, "at least": p.low, "at most": p.high} for p in points]
        return f"<div>{paragraph(repr(self)[1:-1])}{picture}{html_table(rows, 'Best possible AUC')}</div>"

    def plot(self, ax: Any = None) -> Any:
        """Draw both ends over the target gap.

        {ax}
        """
        return display("LimitDisplay").from_limit(self, ax=ax).ax_

    def frame(self) -> Any:
        """Return both ends at some bounds as a tidy frame (pandas, Polars or PyArrow, whichever is in use)."""
        points = [self.best(bound) for bound in _LISTED]
        return make_frame({name: np.array([getattr(p, name) for p in points]) for name in BracketPoint._fields})


@dataclass(frozen=True, eq=False)
class Merges:
    """Merges of groups by their log-odds, each group's moved by a constant of its own.

    ``inside`` is what the pairs inside groups add to the AUC where equal odds are parted again afterwards; None counts
    them as they are.
    """

    counts: tuple[GroupCounts, ...]
    log_odds: tuple[Floats, ...]
    inside: float | None
    ties: Ties

    @classmethod
    def of(cls, raw: Sequence[GroupCounts], inside: float, ties: Ties) -> tuple[Merges, Merges]:
        """Merge pooled blocks, which is best, and scores along lines between them, which meets a bound more closely."""
        blocks = tuple(pool(c) for c in raw)
        with np.errstate(divide="ignore"):
            stepwise = tuple(np.clip(np.log(c.positive) - np.log(c.negative), -_CERTAIN, _CERTAIN) for c in blocks)
        lines = tuple(_along_blocks(c, first, block_starts(c)) for c, first in zip(raw, blocks))
        return cls(blocks, stepwise, inside, ties), cls(tuple(raw), lines, None, ties)

    @cached_property
    def _search(self) -> Search:
        finite = np.concatenate([z[np.abs(z) < _CERTAIN] for z in self.log_odds])
        span = max(float(np.ptp(finite)) if len(finite) else 0.0, 1.0) + 1.0
        reach = np.union1d(np.linspace(-span, span, _FACTORS), 0.0)
        return Search([[self._entries(g, reach, size) for g in range(len(self.counts))] for size in _SIZES], self.ties)

    def _entries(self, g: int, reach: Floats, size: int) -> Entries:
        """Give the blocks of a group, or so many runs of them, by their log-odds."""
        # Blocks of several groups cannot all be equal and their rows keep an order: a hair parts them.
        hair = 0.0 if self.ties == "half" else _HAIR * g
        there, counts = self.log_odds[g] + hair, self.counts[g]
        first = np.unique(np.linspace(0, len(there), min(size, len(there)), endpoint=False).astype(np.intp))
        positive, negative = (
            np.add.reduceat(side.astype(np.float64), first) for side in (counts.positive, counts.negative)
        )
        middle = there[(first + np.append(first[1:], len(there)) - 1) // 2]

        def move(factor: float) -> Floats:
            return np.where(np.abs(middle) < _CERTAIN - 1, middle + factor, middle)

        values = np.zeros(1) if g == 0 else reach
        return Entries(positive, negative, (positive, negative), values, move, move, int(np.searchsorted(values, 0.0)))

    def best(self, bound: float) -> float | None:
        """Find the highest AUC within a bound; None if no merge keeps it."""
        found = self._search.highest(bound)
        if found is None:
            return None
        return found.auc if self.inside is None else found.auc - self._counted_inside + self.inside

    @property
    def _counted_inside(self) -> float:
        total = sum(float(c.positive.sum()) for c in self.counts) * sum(float(c.negative.sum()) for c in self.counts)
        return sum(float(inner_half_wins(c, self.ties)) for c in self.counts) / 2 / total


def _best_of(merges: Sequence[Merges], bound: float) -> float:
    """Take the first merges that keep a bound; without any, everyone on one score, which has no gap."""
    found = (each.best(bound) for each in merges)
    return next((auc for auc in found if auc is not None), 0.5 if merges[0].ties == "half" else 0.0)


def _along_blocks(counts: GroupCounts, blocks: GroupCounts, first: NDArray[np.intp]) -> Floats:
    """Give log-odds to scores along lines between the middles of the blocks, never falling."""
    ends = np.append(first, len(counts.score))
    middle = (ends[1:] + ends[:-1] - 1) / 2
    odds = np.maximum.accumulate(np.log((blocks.positive + 0.5) / (blocks.negative + 0.5)))
    places = np.arange(len(counts.score))
    beyond = np.minimum(places - middle[0], 0.0) + np.maximum(places - middle[-1], 0.0)
    return np.asarray(np.interp(places, middle, odds) + _HAIR * (places + beyond))


def _mean_line(lines: Sequence[PairLine]) -> PairLine:
    """Lay the edges of concave lines, a share of each, one after another from the steepest down."""
    width, rise = (np.concatenate([np.diff(line[k]) for line in lines]) for k in (0, 1))
    kept = np.flatnonzero(width > 0)
    order = kept[np.argsort(-rise[kept] / width[kept], kind="stable")]
    start = [float(np.mean([line[k][0] for line in lines])) for k in (0, 1)]
    gap, added = (
        np.concatenate(([first], first + np.cumsum(steps[order]) / len(lines)))
        for first, steps in zip(start, (width, rise))
    )
    return PairLine(np.clip(gap, -1.0, 1.0), added)
