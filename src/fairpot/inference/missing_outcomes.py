"""Rows without an outcome: do their scores differ from those of the others, and what could the gap be with them."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np

from fairpot._defaults import LEVEL, Ties
from fairpot.counts import Counts, GroupCounts
from fairpot.inference.interval import confidence_interval
from fairpot.inference.limits import Estimate
from fairpot.table import ScoreTable
from fairpot.transport import Floats

# Scores without outcomes are put into so many bins at most for bounds, which are then wider.
_MOST_BINS = 1500


@dataclass(frozen=True)
class ScoresWithout:
    """Scores of a group's rows without an outcome beside those of its rows with a known one.

    ``higher`` is how often a row without one has the higher score of the two, ties half: 0.5 where they do not differ.
    """

    group: Hashable
    rows: float
    higher: Estimate


def scores_without(table: ScoreTable, unlabelled: ScoreTable, level: float = LEVEL) -> tuple[ScoresWithout, ...]:
    """Compare the scores of rows without an outcome with the others' in each group (Mann and Whitney 1947).

    The intervals of all groups hold together (Bonferroni), and take rows as independent.
    """
    shared = [group for group in table.groups if group in unlabelled.groups]
    each = 1 - (1 - level) / max(len(shared), 1)
    found = []
    for group in shared:
        counts = _as_outcome(unlabelled[group], 0).plus(_as_outcome(table[group], 1))
        both = ScoreTable((group,), (counts,))
        higher = confidence_interval("auc", both, None, ties="half", level=each)
        found.append(ScoresWithout(group, unlabelled[group].size, higher))
    return tuple(found)


def _as_outcome(counts: GroupCounts, side: int) -> GroupCounts:
    """Put all rows on one side, whatever their outcome."""
    nobody = np.zeros(len(counts.score), dtype=np.int64)

    def placed(values: Counts) -> tuple[Counts, Counts]:
        return (values, nobody) if side == 0 else (nobody, values)

    squares = None if counts.squares is None else placed(np.add(*counts.squares))
    rows = None if counts.rows is None else placed(np.add(*counts.rows))
    return GroupCounts(counts.score, *placed(counts.weight), squares=squares, rows=rows)


def bounds_with_all(
    first: GroupCounts, second: GroupCounts, without: tuple[GroupCounts | None, GroupCounts | None], ties: Ties = "half"
) -> tuple[float, float]:
    """Bound the gap of a group over another by all outcomes that rows without one could have had.

    Each of the two xAUCs is as large, and as small, as it could be; as both extremes need not be reached by the same
    outcomes, the gap may not reach these bounds.
    """
    equal = 0.5 if ties == "half" else 0.0
    a, b = without
    # P(a > b) + equal P(a = b), and the same of b over a.
    most, least = _most(first, second, a, b, equal), 1 - _most(second, first, b, a, 1 - equal, turned=True)
    most_back, least_back = _most(second, first, b, a, equal), 1 - _most(first, second, a, b, 1 - equal, turned=True)
    return max(least - most_back, -1.0), min(most - least_back, 1.0)


def _most(
    winners: GroupCounts,
    losers: GroupCounts,
    more_winners: GroupCounts | None,
    more_losers: GroupCounts | None,
    equal: float,
    *,
    turned: bool = False,
) -> float:
    """Give the largest chance that a winner is above a loser, equal scores counting ``equal``.

    Winners have the outcome and losers lack it; ``turned``, the other way round, as for the smallest chance. Rows
    without an outcome become winners from the highest score down, and losers from the lowest up, as far as it is best:
    for any losers each winner adds to a mean, so that those above it belong to it. Every pair of such cuts is tried.
    """
    up, plus = winners.score, np.asarray(winners.negative if turned else winners.positive, dtype=np.float64)
    down, minus = losers.score, np.asarray(losers.positive if turned else losers.negative, dtype=np.float64)
    high, more = _bins(more_winners, highest=True)
    low, fewer = _bins(more_losers, highest=False)
    high, more = high[::-1], more[::-1]
    known = _wins(up, plus, down, minus, equal).sum()
    joined = np.append(0.0, np.cumsum(_wins(high, more, down, minus, equal)))  # by so many of the highest
    left = np.append(0.0, np.cumsum(_wins(-low, fewer, -up[::-1], plus[::-1], equal)))  # by so many of the lowest
    above = (high[:, None] > low[None, :]) + equal * (high[:, None] == low[None, :])
    both = np.zeros((len(high) + 1, len(low) + 1))
    both[1:, 1:] = np.cumsum(np.cumsum(above * np.outer(more, fewer), axis=0), axis=1)
    wins = known + joined[:, None] + left[None, :] + both
    pairs = np.outer(plus.sum() + np.append(0.0, np.cumsum(more)), minus.sum() + np.append(0.0, np.cumsum(fewer)))
    with np.errstate(all="ignore"):
        shares = np.where(pairs > 0, wins / pairs, np.nan)
    return 1.0 if np.isnan(shares).all() else float(np.nanmax(shares))


def _wins(score: Floats, weight: Floats, others: Floats, losing: Floats, equal: float) -> Floats:
    """Give what the rows at each score win over others, which ascend."""
    running = np.append(0.0, np.cumsum(losing))
    below, upto = (running[np.searchsorted(others, score, side=side)] for side in ("left", "right"))
    won: Floats = weight * (below + equal * (upto - below))
    return won


def _bins(counts: GroupCounts | None, *, highest: bool) -> tuple[Floats, Floats]:
    """Give scores and weights; of too many, neighbours get the highest or lowest score of their bin."""
    if counts is None:
        return np.empty(0), np.empty(0)
    score, weight = counts.score, np.asarray(counts.weight, dtype=np.float64)
    if len(score) <= _MOST_BINS:
        return score, weight
    starts = np.unique(np.linspace(0, len(score), _MOST_BINS, endpoint=False).astype(np.intp))
    ends = np.append(starts[1:], len(score)) - 1
    return score[ends if highest else starts], np.add.reduceat(weight, starts)
