"""One search for every method and rule: the rows that strengths are judged on, the curve, the choice, what it achieves.

A choice looks at the strengths of a curve, then closer and closer around the best.
"""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairpot import exceptions
from fairpot._defaults import Ties
from fairpot.inference.dial import Cut, Evidence, Part, Top
from fairpot.inference.shares import merge_entries
from fairpot.metrics.wins import WinMatrix
from fairpot.repair.family import Family
from fairpot.repair.groups import find_reference
from fairpot.table import ScoreTable
from fairpot.tradeoff.building import pair_curve, trace
from fairpot.tradeoff.choice import Choice
from fairpot.tradeoff.curve import TradeoffCurve, TradeoffPoint
from fairpot.tradeoff.rules import Rule
from fairpot.transport import Floats, ScoreMap, moving

# Scores times strengths that are worked on together.
_CELLS = 2**21
# Entries of a group on which strengths are looked for first, how often closer, and the gain that is worth a round.
_ENTRIES, _ROUNDS, _GAIN = 1000, 7, 1e-7
# The last steps on all rows: strengths, halvings at an edge.
_KEPT, _HALVINGS = 12, 24
_NUMBERS = ("auc", "xauc_ab", "xauc_ba", "orders")
# Net benefit is looked at in so many scores times strengths at most, at first.
_LOOKS = 100_000_000


@contextmanager
def passing_over() -> Iterator[None]:
    """Say nothing of strengths at which the gap is undefined: a search passes them over."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", exceptions.UndefinedMetricWarning)
        yield


@dataclass(frozen=True, eq=False)
class Ground:
    """Rows to judge strengths on."""

    table: ScoreTable  # all rows: their AUC counts
    ties: Ties = "half"
    top: Top | None = None  # the part of the list whose gap counts, found again at every strength; None for all of it
    cut: Cut | None = None  # or everybody from these scores on, whatever they become
    fitted: bool = False  # whether the maps were learnt from these rows

    @cached_property
    def rows(self) -> ScoreTable:
        """The rows whose gap counts, if they are the same at every strength."""
        return self.table if self.cut is None else self.table.above(self.cut.starts)

    @property
    def alpha(self) -> float | None:
        """The share of the list whose gap counts."""
        where = self.top or self.cut
        return None if where is None else where.alpha

    def merged(self, entries: int) -> Ground:
        """Give the same with fewer entries; itself where there are no more."""
        if all(len(c.score) <= 2 * entries for c in self.table.counts):
            return self
        plain = self.table.for_pairs().weighing((c.positive, c.negative) for c in self.table.counts)
        if self.cut is None:
            return replace(self, table=merge_entries(plain, entries))
        # No entry may lie on both sides of the cut.
        starts = self.cut.starts
        below = [
            c.taken(slice(0, int(np.searchsorted(c.score, starts[g])))) for g, c in zip(plain.groups, plain.counts)
        ]
        parts = replace(plain, counts=tuple(below)), plain.above(starts)
        low, high = (merge_entries(each, entries) for each in parts)
        return replace(self, table=low.merge(high))

    def evidence(self, family: Family) -> dict[str, Any]:
        """Keep the rows behind the gap of a curve, and behind its AUC where those are others."""
        gap = Evidence((Part(self.rows, family.steps),), self.ties, self.fitted, top=self.top, cut=self.cut)
        if self.top is None and self.cut is None:
            return {"evidence": gap, "whole": None}
        return {"evidence": gap, "whole": Evidence((Part(self.table, family.steps),), self.ties, self.fitted)}

    def gap_before(self) -> float:
        """Measure the gap of the scores as they came, in the part of the list that counts."""
        rows = self.rows if self.top is None else self.table.top(*self.top)
        with passing_over():
            first, second = WinMatrix.of(rows, self.ties).widest()
        return abs(first - second)

    def trace(self, family: Family, values: Floats) -> TradeoffCurve:
        """Count AUC and gap at each of some strengths."""
        gone = [group for group in family.moved if group not in self.table.groups]
        if gone:
            way = "take rows of every fitted group, or measure this repair with fairpot.effect"
            raise ValueError(f"a curve moves group {gone[0]!r}, of which these rows have none.\nHint: {way}.")
        seen_from = self.ahead if family.reference is None else family.reference
        whole = self._traced(self.table, family, values, seen_from)
        if self.top is not None:
            top = self.top.alpha, self.top.region
            gaps = trace(self.table, values, family.steps(values), reference=seen_from, ties=self.ties, top=top)
        else:
            gaps = whole if self.cut is None else self._traced(self.rows, family, values, seen_from)
        found = replace(gaps, auc=whole.auc, unrepaired_auc=whole.unrepaired_auc, alpha=self.alpha)
        return replace(found, dial=family.dial.name, identity=family.dial.identity)

    def _traced(self, table: ScoreTable, family: Family, values: Floats, seen_from: Hashable) -> TradeoffCurve:
        """Trace on one table: two groups of which one moves all values together, others one after the other."""
        if family.reference is None or len(table.groups) != 2:
            return trace(table, values, family.steps(values), reference=seen_from, ties=self.ties)
        [moved] = family.moved
        score, size = table[moved].score, max(_CELLS // max(len(table[moved].score), 1), 1)
        blocks = (values[k : k + size] for k in range(0, len(values), size))
        move = family.mover(moved, score)
        at = move if family.moves_exactly else lambda value: family.map(moved, value)(score)
        states = (np.stack([at(float(v)) for v in each]) for each in blocks)
        return pair_curve(table, values, states, moved=moved, reference=family.reference, ties=self.ties)

    @cached_property
    def ahead(self) -> Hashable:
        """The group that is ranked first in these rows, where it can be told; signed gaps are seen from it."""
        rows = self.rows
        compared = (rows.positives > 0).all() and (rows.negatives > 0).all()
        return find_reference(rows, None, self.ties) if compared else rows.groups[0]


def curve(family: Family, ground: Ground, values: Floats | None = None) -> TradeoffCurve:
    """Trace AUC and gap over the dial, with the rows behind them; exactly where the family knows a quick way."""
    found = None if ground.top is not None or family.quick is None else family.quick(ground.table, ground.ties)
    if found is not None and values is not None:
        found = _read_off(found, family, values)
    if found is None:
        found = ground.trace(family, family.values if values is None else values)
    found = replace(found, **ground.evidence(family))
    if family.own is not None:
        each = [family.own(float(value)) for value in found.lam]
        found = replace(found, strengths={g: np.array([own[g] for own in each]) for g in family.moved})
    if values is not None:
        return found
    return replace(found, search=lambda rule: choose(family, ground, rule, found))


def _read_off(found: TradeoffCurve, family: Family, values: Floats) -> TradeoffCurve | None:
    """Read an exact curve off at some strengths, if what is between its points is known."""
    if not (found.exact and found.lam[0] == 0 and found.lam[-1] == 1):
        return None
    places = np.searchsorted(found.lam, values * (1 - 1e-12), side="left")
    numbers = {name: getattr(found, name)[places] for name in _NUMBERS}
    return replace(found, lam=values, **numbers, exact=False, unrepaired_auc=found.unmoved_auc)


def choose(family: Family, ground: Ground, rule: Rule, seen: TradeoffCurve | None = None) -> TradeoffPoint:
    """Choose a strength by rule: of all that were looked at, none that keeps the rule is better."""
    with passing_over():
        point = search(family, ground, rule, seen).chosen()
    if family.settle is None or point.lam == family.dial.identity:
        return point
    [moved] = family.moved
    return replace(point, lam=family.settle(ground.table, moved, point.lam))


def search(family: Family, ground: Ground, rule: Rule, seen: TradeoffCurve | None = None) -> Choice:
    """Look at strengths until no closer look helps; give all that were seen on all rows."""
    seen = curve(family, ground) if seen is None else seen
    if rule.net_benefit_at is not None and len(seen) * ground.table[seen.moved[0]].score.size > _LOOKS:
        most = max(_LOOKS // ground.table[seen.moved[0]].score.size, 50)
        seen = taken(seen, np.unique(np.linspace(0, len(seen) - 1, most).round().astype(np.intp)))
    if seen.exact or family.finer is None:
        return seen.judged(rule)
    small = ground.merged(_ENTRIES)
    if small is ground:
        return _closer(family, ground, rule, seen).judged(rule)
    # What is exact on few entries is not so on all rows, and no better to begin with.
    tried = _closer(family, small, rule, curve(replace(family, quick=None), small))
    return _on_all_rows(family, ground, rule, seen, tried).judged(rule)


def _closer(family: Family, ground: Ground, rule: Rule, seen: TradeoffCurve) -> TradeoffCurve:
    """Look closer around every spot worth it, until that gains nothing."""
    assert family.finer is not None
    best, stale = -np.inf, 0
    for _ in range(_ROUNDS):
        judged = seen.judged(rule)
        spots = judged.spots()
        now = judged.merit()
        stale, best = (0 if now > best + _GAIN else stale + 1), max(best, now)
        if not spots or stale == 2:
            break
        ends = {(float(seen.lam[max(k - 1, 0)]), float(seen.lam[min(k + 1, len(seen) - 1)])) for k in spots}
        finer = [family.finer(low, high) for low, high in ends if low < high]
        wanted = np.unique(np.concatenate([np.empty(0), *finer]))
        wanted = wanted[~np.isin(wanted, seen.lam)]
        if len(wanted) == 0:
            break
        seen = joined(seen, ground.trace(family, wanted))
    return seen


def _on_all_rows(
    family: Family, ground: Ground, rule: Rule, seen: TradeoffCurve, tried: TradeoffCurve
) -> TradeoffCurve:
    """Count on all rows what fewer entries found best, and halve between what keeps the rule and what does not."""
    judged = tried.judged(rule)
    kept = judged.order()[:_KEPT]
    around = np.concatenate([np.clip(kept + step, 0, len(tried) - 1) for step in (-1, 0, 1)])
    values = np.setdiff1d(tried.lam[np.unique(around)], seen.lam)
    found = joined(seen, ground.trace(family, values)) if len(values) else seen
    for _ in range(_HALVINGS):
        edge = found.judged(rule).edge()
        if edge is None:
            break
        low, high = found.lam[edge[0]], found.lam[edge[1]]
        middle = float(np.sqrt(low * high)) if family.dial.ratio else float((low + high) / 2)
        if not low < middle < high or abs(found.signed_gap[edge[0]] - found.signed_gap[edge[1]]) < 1e-9:
            break
        found = joined(found, ground.trace(family, np.array([middle])))
    return found


def joined(one: TradeoffCurve, other: TradeoffCurve) -> TradeoffCurve:
    """Put the points of two curves of the same rows together."""
    lam = np.concatenate((one.lam, other.lam))
    order = np.argsort(lam, kind="stable")
    order = order[np.append(True, np.diff(lam[order]) > 0)]
    numbers = {name: np.concatenate((getattr(one, name), getattr(other, name)))[order] for name in _NUMBERS}
    both = None if one.pairs is None or other.pairs is None else (*one.pairs, *other.pairs)
    pairs = None if both is None else tuple(both[k] for k in order)
    return replace(one, lam=lam[order], **numbers, pairs=pairs, search=None)


def taken(seen: TradeoffCurve, places: NDArray[np.intp]) -> TradeoffCurve:
    """Keep some points of a curve."""
    numbers = {name: getattr(seen, name)[places] for name in ("lam", *_NUMBERS)}
    pairs = None if seen.pairs is None else tuple(seen.pairs[k] for k in places)
    return replace(seen, **numbers, pairs=pairs, exact=False, unrepaired_auc=seen.unmoved_auc)


@dataclass(frozen=True)
class Achieved:
    """Hold AUC and gap of the fitted rows, before and after a repair.

    Attributes
    ----------
    auc, gap, auc_before, gap_before : float
        Of all rows; the gap is the largest between any two groups. NaN where there are no outcomes.
    auc_top, gap_top, auc_top_before, gap_top_before : float or None
        In the top that the repair is about; None where it is about all rows.
    starts, enter, leave : dict of group to float, and floats, or None
        The scores at which that top begins; and how many rows the repair brings into it, and out of it.

    Examples
    --------
    >>> import fairpot
    >>> data = fairpot.datasets.make_synthetic(1000, random_state=0, as_frame=False)
    >>> repair = fairpot.FairPOT(max_gap=0.05).fit(data.probability, data.target, sensitive_features=data.group)
    >>> round(repair.achieved_.gap, 3), round(repair.achieved_.gap_before, 3)
    (0.05, 0.275)
    """

    auc: float
    gap: float
    auc_before: float
    gap_before: float
    auc_top: float | None = None
    gap_top: float | None = None
    auc_top_before: float | None = None
    gap_top_before: float | None = None
    starts: Mapping[Hashable, float] | None = None
    enter: float | None = None
    leave: float | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON."""
        starts = None if self.starts is None else [{"group": g, "value": v} for g, v in self.starts.items()]
        return {**vars(self), "starts": starts}


def measure(ground: Ground, maps: Mapping[Hashable, ScoreMap]) -> Achieved:
    """Measure what maps do to the rows of a ground."""
    table = ground.table
    moved = moving({g: each for g, each in maps.items() if g in table.groups})
    after = table.rescored(moved)
    if not table.labelled:
        return Achieved(np.nan, np.nan, np.nan, np.nan)
    whole = (*_numbers(after, ground), *_numbers(table, ground))
    if ground.cut is not None:
        rows = ground.rows
        there = (*_numbers(rows.rescored(moved), ground), *_numbers(rows, ground))
        return Achieved(*whole, *there, starts=dict(ground.cut.starts), enter=0.0, leave=0.0)
    if ground.top is None:
        return Achieved(*whole)
    now, then = table.thresholds(*ground.top), after.thresholds(*ground.top)
    there = (*_numbers(after.above(then), ground), *_numbers(table.above(now), ground))
    enter = leave = 0.0
    for group, counts in zip(table.groups, table.counts):
        was = counts.score >= now[group]
        scores = moved[group](counts.score) if group in moved else counts.score
        stays = np.asarray(scores >= then[group])
        enter += float(counts.weight[stays & ~was].sum())
        leave += float(counts.weight[was & ~stays].sum())
    return Achieved(*whole, *there, starts=then, enter=enter, leave=leave)


def _numbers(table: ScoreTable, ground: Ground) -> tuple[float, float]:
    """Count AUC and gap; NaN where a group, or all of them, lack an outcome."""
    if not table.positives.sum() or not table.negatives.sum():
        return np.nan, np.nan
    wins = WinMatrix.of(table, ground.ties)
    if min(*table.positives, *table.negatives) == 0:
        return wins.auc(), np.nan
    first, second = wins.widest()
    return wins.auc(), abs(first - second)
