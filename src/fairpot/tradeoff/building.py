"""Trade-off curves: exact for a transport plan between two groups, step by step for any maps, and in the top alpha."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Hashable, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairpot import exceptions
from fairpot._defaults import Region, Ties
from fairpot.metrics.wins import (
    WinMatrix,
    cross_half_wins,
    empty_cells,
    in_one_pass,
    inner_half_wins,
    undefined_auc,
    warn_undefined,
)
from fairpot.table import Maps, ScoreTable
from fairpot.tradeoff.curve import TradeoffCurve
from fairpot.tradeoff.exact import exact_wins, flat_cuts
from fairpot.transport import TransportPlan


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
    pairs = _Pairs.of(table, moved, reference)
    # Cut m (nobody moves) comes first: lambda ascends.
    over = wins.b_over_b
    for other in (wins.b_over_a, wins.a_over_b, inner_half_wins(a, ties)):
        over += other
    values = np.empty((4, len(over)))
    np.divide(plan.top_weight[::-1], plan.top_weight[0], out=values[0])
    without = 0.0 if pairs.total else undefined_auc(pairs.positives > 0, partial=False)
    _share(over[::-1], pairs.total, values[1], without)
    _share(wins.a_over_b[::-1], pairs.ab, values[2])
    _share(wins.b_over_a[::-1], pairs.ba, values[3])
    lam, auc, xauc_ab, xauc_ba = values
    orders = ~flat_cuts(plan, b.score, monotone=monotone)[::-1]
    return TradeoffCurve(lam, auc, xauc_ab, xauc_ba, (moved,), reference, exact=True, orders=orders)


def pair_curve(
    table: ScoreTable,
    values: NDArray[np.float64],
    states: Iterable[NDArray[np.float64]],
    *,
    moved: Hashable,
    reference: Hashable,
    ties: Ties,
) -> TradeoffCurve:
    """Count two groups at every value of a dial: ``states`` are the moved group's scores, a row a value, in blocks."""
    table = table.for_pairs()
    b, a = table[moved], table[reference]
    half, pairs = ties == "half", _Pairs.of(table, moved, reference)
    p, n = (np.concatenate(([0], np.cumsum(c))) for c in (a.positive, a.negative))
    inside_a, inside_b = inner_half_wins(a, ties), inner_half_wins(b, ties)
    before = inside_a + inside_b + sum(cross_half_wins(a, b, ties))
    over, under, orders, inner = [], [], [], []
    for block in states:
        low = np.searchsorted(a.score, block, side="left")
        high = np.searchsorted(a.score, block, side="right")
        over.append((n[low] + n[high] if half else 2 * n[low]) @ b.positive)
        under.append((2 * p[-1] - p[low] - p[high] if half else 2 * (p[-1] - p[high])) @ b.negative)
        rises = np.asarray((block[:, 1:] > block[:, :-1]).all(axis=1))
        inner += [inside_b if up else inner_half_wins(b.rescored(row), ties) for up, row in zip(rises, block)]
        orders.append((np.ptp(block, axis=1) > 0) if len(b.score) > 1 else np.ones(len(block), dtype=bool))
    ba, ab = np.concatenate(over), np.concatenate(under)
    found = np.empty((3, len(values)))
    _share(ba + ab + np.array(inner) + inside_a, pairs.total, found[0])
    _share(ab, pairs.ab, found[1])
    _share(ba, pairs.ba, found[2])
    unrepaired = float(before) / 2 / pairs.total if pairs.total else float("nan")
    how: dict[str, Any] = {"orders": np.concatenate(orders), "unrepaired_auc": min(unrepaired, 1.0)}
    auc, xauc_ab, xauc_ba = found
    return TradeoffCurve(values, auc, xauc_ab, xauc_ba, (moved,), reference, **how)


def trace(
    table: ScoreTable,
    values: NDArray[np.float64],
    steps: Iterable[Maps],
    *,
    reference: Hashable,
    ties: Ties,
    top: tuple[float, Region] | None = None,
) -> TradeoffCurve:
    """Evaluate the maps of every step, one for each value of the dial, on a labelled table.

    With ``top``, a share and its region, in the top of the rows as they then are.
    """
    first = table if top is None else table.top(*top)
    before = WinMatrix.of(first, ties)
    seen = _Seen(before, reference, partial=top is not None)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", exceptions.UndefinedMetricWarning)
        for maps in steps:
            if top is None:
                after = table.for_pairs().rescored(maps)
                kept = (len(one.score) == 1 or len(other.score) != 1 for one, other in zip(table.counts, after.counts))
                seen.add(_recount(before, after, maps, ties), all(kept))
                continue
            wins = WinMatrix.of(table.rescored(maps).top(*top), ties)
            seen.add(wins, keeps_order(first, maps))
            if min(*wins.positives, *wins.negatives) == 0:  # who has nobody there is not even with the others
                seen.xauc[-1] = float("nan"), float("nan")
    return seen.curve(values, None if top is None else top[0])


class _Seen:
    """AUC and the pair of groups with the largest gap, step by step.

    The pair is seen from the reference; where it is not one of the two, from the group that is ranked higher.
    """

    def __init__(self, before: WinMatrix, reference: Hashable, *, partial: bool) -> None:
        self.groups, self.partial = before.groups, partial
        self.reference = before.groups.index(reference)
        before.widest()  # what is undefined is so at every step: its warning is given once, here
        self.unrepaired_auc = before.auc(partial=partial)
        self.auc: list[float] = []
        self.xauc: list[tuple[float, float]] = []
        self.pairs: list[tuple[Hashable, Hashable]] = []
        self.orders: list[bool] = []

    def add(self, wins: WinMatrix, orders: bool) -> None:
        """Take in a step."""
        self.orders.append(orders)
        g, h = self._pair(wins)
        self.auc.append(wins.auc(partial=self.partial))
        self.xauc.append((wins.cell(g, h), wins.cell(h, g)))
        self.pairs.append((self.groups[g], self.groups[h]))

    def _pair(self, wins: WinMatrix) -> tuple[int, int]:
        a = self.reference
        other = 0 if a else 1
        g, h = (a, other) if len(self.groups) == 2 else wins.widest_pair() or (a, other)
        if a in (g, h):
            return a, g + h - a
        ahead = wins.cell(g, h) >= wins.cell(h, g)
        return (g, h) if ahead else (h, g)

    def curve(self, values: NDArray[np.float64], alpha: float | None) -> TradeoffCurve:
        """Make the curve."""
        reference = self.groups[self.reference]
        moved = tuple(g for g in self.groups if g != reference)
        ab, ba = np.array(self.xauc).T
        return TradeoffCurve(
            values,
            np.array(self.auc),
            ab,
            ba,
            moved,
            reference,
            unrepaired_auc=self.unrepaired_auc,
            pairs=tuple(self.pairs) if len(moved) > 1 else None,
            alpha=alpha,
            orders=np.array(self.orders),
        )


def keeps_order(table: ScoreTable, maps: Maps) -> bool:
    """Whether maps leave something of the order inside every group: not all of several scores become one."""
    for group, move in maps.items():
        scores = table[group].score
        if len(scores) > 1 and np.ptp(move(scores[[0, -1]])) == 0 and np.ptp(move(scores)) == 0:
            return False
    return True


def _recount(before: WinMatrix, after: ScoreTable, maps: Maps, ties: Ties) -> WinMatrix:
    """Count again the pairs with a group whose scores a map changed."""
    if in_one_pass(after.counts):
        return WinMatrix.of(after, ties)
    counts = after.counts
    changed = [group in maps for group in after.groups]
    wins = before.half_wins.copy()
    for g, h in itertools.combinations_with_replacement(range(len(counts)), 2):
        if g == h and changed[g]:
            wins[g, g] = inner_half_wins(counts[g], ties)
        elif changed[g] or changed[h]:
            wins[g, h], wins[h, g] = cross_half_wins(counts[g], counts[h], ties)
    return WinMatrix(before.groups, wins, before.positives, before.negatives)


class _Pairs:
    """How many pairs there are to win, and positives to win them."""

    def __init__(self, ab: float, ba: float, total: float, positives: float) -> None:
        self.ab, self.ba, self.total, self.positives = ab, ba, total, positives

    @classmethod
    def of(cls, table: ScoreTable, moved: Hashable, reference: Hashable) -> _Pairs:
        b, a = table[moved], table[reference]
        p_a, n_a, p_b, n_b = (float(v.sum()) for v in (a.positive, a.negative, b.positive, b.negative))
        empty = empty_cells((reference, moved), (p_a, p_b), (n_a, n_b))
        if empty:
            warn_undefined("xAUC", empty, float("nan"))
        return cls(p_a * n_b, p_b * n_a, (p_a + p_b) * (n_a + n_b), p_a + p_b)


def _share(half_pairs_won: NDArray[Any], pairs: float, out: NDArray[np.float64], without: float = float("nan")) -> None:
    """Write the share of pairs won, or what stands for it where there are none."""
    if pairs == 0:
        out[:] = without
    else:
        np.divide(half_pairs_won, 2 * pairs, out=out)
        if half_pairs_won.dtype.kind == "f":  # sums of broken weights may miss their bounds by a last bit
            np.clip(out, 0.0, 1.0, out=out)
