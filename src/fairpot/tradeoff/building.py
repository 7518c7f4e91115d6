"""Trade-off curves: exact for a transport plan between two groups, step by step for any maps, and in a top."""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairpot import exceptions
from fairpot._defaults import Ties
from fairpot.metrics.wins import WinMatrix, cross_half_wins, empty_cells, inner_half_wins, undefined_auc, warn_undefined
from fairpot.table import Maps, ScoreTable, Top
from fairpot.tradeoff.curve import TradeoffCurve
from fairpot.tradeoff.exact import exact_wins, flat_cuts
from fairpot.transport import Floats, TransportPlan
from fairpot.transport.lookup import running


def exact_curve(
    plan: TransportPlan,
    table: ScoreTable,
    moved: Hashable,
    reference: Hashable,
    *,
    ties: Ties = "half",
    monotone: bool = False,
) -> TradeoffCurve:
    """Trace every distinct lambda of a plan on a table of two groups."""
    table = table.for_pairs()
    b, a = table[moved], table[reference]
    wins = exact_wins(plan, b, a, half=ties == "half", monotone=monotone)
    over = wins.b_over_b
    for other in (wins.b_over_a, wins.a_over_b, inner_half_wins(a, ties)):
        over += other
    # Cut m (nobody moves) comes first: lambda ascends.
    lam = plan.top_weight[::-1] / plan.top_weight[0]
    orders = ~flat_cuts(plan, b.score, monotone=monotone)[::-1]
    won = over[::-1], wins.a_over_b[::-1], wins.b_over_a[::-1]
    return _curve_of_two(table, moved, reference, lam, won, exact=True, orders=orders)


class PairCounts:
    """Two groups of a table, at whatever scores they are given: what is the same at all of them is counted once."""

    def __init__(self, table: ScoreTable, ties: Ties, *, moved: Hashable, reference: Hashable) -> None:
        self.table, self.ties, self.names = table.for_pairs(), ties, (reference, moved)
        self.sides = self.table[reference], self.table[moved]
        self.inside = tuple(inner_half_wins(each, ties) for each in self.sides)
        self.below = tuple(running(each.positive, each.negative) for each in self.sides)

    def curve(self, values: Floats, states: Iterable[tuple[Floats, Floats]]) -> TradeoffCurve:
        """Count at every value of a dial: ``states`` are, in blocks, the reference's scores and rows of the moved."""
        counted = [self._block(*state) for state in states]
        won, over, under, orders = (np.concatenate(each) for each in zip(*counted))
        before = float(sum(self.inside) + sum(cross_half_wins(self.sides[0], self.sides[1], self.ties))) / 2
        total = float(self.table.positives.sum()) * float(self.table.negatives.sum())
        unrepaired = min(before / total, 1.0) if total else float("nan")
        how: dict[str, Any] = {"orders": orders, "unrepaired_auc": unrepaired}
        reference, moved = self.names
        return _curve_of_two(self.table, moved, reference, values, (won, over, under), **how)

    def _block(self, fixed: Floats, block: Floats) -> tuple[NDArray[Any], ...]:
        """Count half pairs won: all, the reference's over the moved group, the reverse; and who keeps an order."""
        (a, b), half = self.sides, self.ties == "half"
        (inside_a, inside_b), (p, n) = self.inside, self.below[0]
        if not (fixed[1:] > fixed[:-1]).all():  # scores become equal, or change places
            a = a.rescored(fixed)
            fixed, inside_a, (p, n) = a.score, inner_half_wins(a, self.ties), running(a.positive, a.negative)
        rises = np.asarray((block[:, 1:] > block[:, :-1]).all(axis=1))
        inside = [inside_b if up else inner_half_wins(b.rescored(row), self.ties) for up, row in zip(rises, block)]
        if len(block) == 1 and rises[0] and len(b.score) > len(a.score):  # the fewer are looked up among the more
            (p, n), looked, among, there = self.below[1], a, block[0], fixed[None]
        else:
            looked, among, there = b, fixed, block
        low = np.searchsorted(among, there)
        high = low + (np.append(among, np.nan).take(low) == there)  # above them all there is none to tie with
        won = (n.take(low) + n.take(high) if half else 2 * n.take(low)) @ looked.positive
        lost = (2 * p[-1] - p.take(low) - p.take(high) if half else 2 * (p[-1] - p.take(high))) @ looked.negative
        ba, ab = (won, lost) if looked is b else (lost, won)
        orders = np.ones(len(block), dtype=bool) if len(b.score) <= 1 else block.max(axis=1) > block.min(axis=1)
        orders &= len(a.score) > 1 or len(self.sides[0].score) <= 1
        return ba + ab + np.array(inside) + inside_a, ab, ba, orders


def _curve_of_two(
    table: ScoreTable,
    moved: Hashable,
    reference: Hashable,
    lam: NDArray[np.float64],
    won: tuple[NDArray[Any], ...],
    **how: Any,
) -> TradeoffCurve:
    """Make a curve of the half pairs won: all, those of the reference over the moved, and the reverse."""
    sides = [table[g] for g in (reference, moved)]
    (p_a, n_a), (p_b, n_b) = ((float(c.positive.sum()), float(c.negative.sum())) for c in sides)
    empty = empty_cells((reference, moved), (p_a, p_b), (n_a, n_b))
    if empty:
        warn_undefined("xAUC", empty, float("nan"))
    total = (p_a + p_b) * (n_a + n_b)
    if not total:
        undefined_auc(p_a + p_b > 0, partial=False)
    found = np.empty((3, len(lam)))
    for out, each, pairs in zip(found, won, (total, p_a * n_b, p_b * n_a)):
        if pairs == 0:
            out[:] = np.nan
            continue
        np.divide(each, 2 * pairs, out=out)
        if each.dtype.kind == "f":  # sums of broken weights may miss their bounds by a last bit
            np.clip(out, 0.0, 1.0, out=out)
    auc, xauc_ab, xauc_ba = found
    return TradeoffCurve(lam, auc, xauc_ab, xauc_ba, (moved,), reference, **how)


def trace(
    table: ScoreTable,
    values: NDArray[np.float64],
    views: Iterable[Sequence[Floats]],
    *,
    reference: Hashable,
    ties: Ties,
    top: Top | None = None,
) -> TradeoffCurve:
    """Evaluate the scores that all entries of a labelled table have at each value of the dial.

    With ``top`` in the top of the rows as they then are.
    """
    first, partial = (table, False) if top is None else (table.above(table.starts(top)), True)
    before = WinMatrix.of(first, ties)
    before.widest()  # what is undefined is so at every step: its warning is given once, here
    unrepaired, groups = before.auc(partial=partial), before.groups
    seen = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", exceptions.UndefinedMetricWarning)
        for view in views:
            moved_table = table.viewed(view)
            wins = WinMatrix.of(moved_table if top is None else moved_table.above(moved_table.starts(top)), ties)
            g, h = _shown_pair(wins, groups.index(reference))
            xauc = wins.cell(g, h), wins.cell(h, g)
            if partial and min(*wins.positives, *wins.negatives) == 0:  # who has nobody there is not even with others
                xauc = np.nan, np.nan
            order = keeps_order(first, {}, moved_table)
            seen.append((wins.auc(partial=partial), *xauc, (groups[g], groups[h]), order))
    auc, ab, ba, pairs, orders = zip(*seen)
    moved = tuple(g for g in groups if g != reference)
    how: dict[str, Any] = {"pairs": pairs if len(moved) > 1 else None, "top": None if top is None else top.size}
    how |= {"unrepaired_auc": unrepaired, "orders": np.array(orders)}
    return TradeoffCurve(values, np.array(auc), np.array(ab), np.array(ba), moved, reference, **how)


def _shown_pair(wins: WinMatrix, reference: int) -> tuple[int, int]:
    """Find the two groups with the largest gap: the reference first, or else the group that is ranked higher."""
    other = 0 if reference else 1
    g, h = (reference, other) if len(wins.groups) == 2 else wins.widest_pair() or (reference, other)
    if reference in (g, h):
        return reference, g + h - reference
    return (g, h) if wins.cell(g, h) >= wins.cell(h, g) else (h, g)


def keeps_order(table: ScoreTable, maps: Maps, after: ScoreTable | None = None) -> bool:
    """Whether maps, which make ``after`` of a table, leave of several scores of any group more than one."""
    if after is not None:
        return all(len(old.score) <= 1 or len(new.score) > 1 for old, new in zip(table.counts, after.counts))
    for group, move in maps.items():
        scores = table[group].score
        if len(scores) > 1 and np.ptp(move(scores[[0, -1]])) == 0 and np.ptp(move(scores)) == 0:
            return False
    return True
