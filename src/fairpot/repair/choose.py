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
from fairpot.inference.dial import Cut, Evidence, Part
from fairpot.inference.shares import merge_entries
from fairpot.metrics.wins import WinMatrix
from fairpot.repair.family import Family
from fairpot.repair.groups import find_reference
from fairpot.table import ScoreTable, Top
from fairpot.tradeoff.building import PairCounts, trace
from fairpot.tradeoff.choice import Choice
from fairpot.tradeoff.curve import TradeoffCurve, TradeoffPoint
from fairpot.tradeoff.rules import Rule
from fairpot.tradeoff.solve import Mover
from fairpot.transport import Floats, ScoreMap, moving

# Scores times strengths that are worked on together.
_CELLS = 2**21
# Entries of a group on which strengths are looked for first, how often closer, and the gain that is worth a round.
_ENTRIES, _ROUNDS, _GAIN = 1000, 7, 1e-7
# How far numbers of so few entries may be from those of all rows, in a top or of a net benefit; by how much a rival may
# look worse and still be looked at on all rows; how many looks at what is flat.
_NEAR, _NEAR_TOP, _RIVAL, _FLAT = 1e-5, 1e-3, 1e-4, 9
# Looks at an edge, at most; of these the first are aimed; and how near in the gap its ends are brought to each other.
_LOOKS_AT_EDGE, _AIMED, _CLOSE = 40, 8, 1e-9
# Up to so many entries, and in a top, the best of few entries are all counted on all rows with their neighbours.
_CHEAP, _KEPT = 50_000, 12
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
    def size(self) -> float | None:
        """How large the top is whose gap counts, as it was asked for."""
        where = self.top or (None if self.cut is None else self.cut.top)
        return None if where is None else where.size

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
        rows = self.rows if self.top is None else self.table.above(self.table.starts(self.top))
        with passing_over():
            first, second = WinMatrix.of(rows, self.ties).widest()
        return abs(first - second)

    def trace(self, family: Family, values: Floats) -> TradeoffCurve:
        """Count AUC and gap at each of some strengths."""
        return Look(family, self).trace(values)

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
    found = replace(found, **ground.evidence(family))  # an exact one knows no rows
    if family.own is not None:
        each = [family.own(float(value)) for value in found.lam]
        found = replace(found, strengths={g: np.array([own[g] for own in each]) for g in family.moved})
    if values is not None:
        return found
    return replace(found, search=lambda rule: choose(family, ground, rule))


def _read_off(found: TradeoffCurve, family: Family, values: Floats) -> TradeoffCurve | None:
    """Read an exact curve off at some strengths, if what is between its points is known."""
    if not (found.exact and found.lam[0] == 0 and found.lam[-1] == 1):
        return None
    places = np.searchsorted(found.lam, values * (1 - 1e-12), side="left")
    numbers = {name: getattr(found, name)[places] for name in _NUMBERS}
    return replace(found, lam=values, **numbers, exact=False, unrepaired_auc=found.unmoved_auc)


def choose(family: Family, ground: Ground, rule: Rule) -> TradeoffPoint:
    """Choose a strength by rule: of all that were looked at, none that keeps the rule is better."""
    with passing_over():
        point = search(family, ground, rule).chosen()
    if family.settle is None or point.lam == family.dial.identity:
        return point
    [moved] = family.moved
    return replace(point, lam=family.settle(ground.table, moved, point.lam))


def search(family: Family, ground: Ground, rule: Rule) -> Choice:
    """Look at strengths until no closer look helps, on few entries first; give all that were seen on all rows."""
    look = Look(family, ground)
    known = None if ground.top is not None or family.quick is None else family.quick(ground.table, ground.ties)
    if known is not None and known.exact:
        most = max(_LOOKS // ground.table[known.moved[0]].score.size, 50)
        if rule.net_benefit_at is not None and len(known) > most:
            known = taken(known, np.unique(np.linspace(0, len(known) - 1, most).round().astype(np.intp)))
        return look.judged(known, rule)
    if family.finer is None:
        return look.judged(look.trace(family.values), rule)
    small = ground.merged(_ENTRIES)
    if small is ground:
        return _settled(look, rule, _closer(look, rule, look.trace(family.values)))
    few = Look(family, small, guide=True)
    tried = few.judged(_closer(few, rule, few.trace(family.values)), rule)
    return _settled(look, rule, _on_all_rows(look, rule, tried))


@dataclass(frozen=True, eq=False)
class Look:
    """A family on a ground, at one strength after the other: what is the same at all of them is counted once."""

    family: Family
    ground: Ground
    guide: bool = False  # only says where to look: on whatever scale is quickest

    def trace(self, values: Floats) -> TradeoffCurve:
        """Count AUC and gap at each of some strengths."""
        family, ground = self.family, self.ground
        gone = [group for group in family.moved if group not in ground.table.groups]
        if gone:
            way = "take rows of every fitted group, or measure this repair with fairpot.effect"
            raise ValueError(f"a curve moves group {gone[0]!r}, of which these rows have none.\nHint: {way}.")
        whole = self._counted(ground.table, values)
        if ground.top is not None:
            views = self._views(ground.table, values)
            gaps = trace(ground.table, values, views, reference=self._seen_from, ties=ground.ties, top=ground.top)
        else:
            gaps = whole if ground.cut is None else self._counted(ground.rows, values)
        found = replace(gaps, auc=whole.auc, unrepaired_auc=whole.unrepaired_auc, top=ground.size)
        return replace(found, dial=family.dial.name, identity=family.dial.identity)

    def judged(self, found: TradeoffCurve, rule: Rule) -> Choice:
        """Say what each point is worth under a rule; a net benefit is counted once."""
        if rule.net_benefit_at is None:
            return Choice(found, rule)
        known = self._benefits.setdefault(rule.net_benefit_at, {})
        new = np.array([value for value in found.lam.tolist() if value not in known])
        if len(new):
            behind = self.ground.evidence(self.family)
            evidence: Evidence = behind["whole"] or behind["evidence"]
            known.update(zip(new.tolist(), evidence.net_benefits(new, rule.net_benefit_at).tolist()))
        return Choice(found, rule, np.array([known[value] for value in found.lam.tolist()]))

    @cached_property
    def _benefits(self) -> dict[float, dict[float, float]]:
        return {}

    @property
    def _seen_from(self) -> Hashable:
        return self.ground.ahead if self.family.reference is None else self.family.reference

    def _counted(self, table: ScoreTable, values: Floats) -> TradeoffCurve:
        """Count on one table: two groups in blocks of strengths, more of them one strength after the other."""
        if len(table.groups) != 2:
            views = self._views(table, values)
            return trace(table, values, views, reference=self._seen_from, ties=self.ground.ties)
        reference = self._seen_from
        if id(table) not in self._pairs:
            [moved] = [g for g in table.groups if g != reference]
            self._pairs[id(table)] = PairCounts(table, self.ground.ties, moved=moved, reference=reference)
        pairs = self._pairs[id(table)]
        first, second = (self._mover(table, g) for g in pairs.names)
        stays = reference == self.family.reference
        in_rows = np.stack if stays else lambda rows: rows[0][None]
        size = max(_CELLS // max(len(table[pairs.names[1]].score), 1), 1) if stays else 1
        blocks = (values[k : k + size] for k in range(0, len(values), size))
        states = ((first(float(each[0])), in_rows([second(float(v)) for v in each])) for each in blocks)
        return pairs.curve(values, states)

    @cached_property
    def _pairs(self) -> dict[int, PairCounts]:
        return {}

    @cached_property
    def _movers(self) -> dict[tuple[int, Hashable], Mover]:
        return {}

    def _mover(self, table: ScoreTable, group: Hashable) -> Mover:
        """Give what makes a group's scores those at a strength: the very numbers of its map, but for a guide."""
        if (id(table), group) not in self._movers:
            family, score = self.family, table[group].score
            if self.guide or (group in family.moved and family.moves_exactly and self.ground.fitted):
                made = family.mover(group, score)
            elif group in family.moved:
                made = lambda value: family.map(group, value)(score)  # noqa: E731
            else:
                made = lambda value: score  # noqa: E731
            self._movers[id(table), group] = made
        return self._movers[id(table), group]

    def _views(self, table: ScoreTable, values: Floats) -> Iterator[list[Floats]]:
        """Give the scores of all entries at each of some strengths."""
        return ([self._mover(table, g)(value) for g in table.groups] for value in values.tolist())


def _closer(look: Look, rule: Rule, seen: TradeoffCurve) -> TradeoffCurve:
    """Look closer around every spot worth it, until that gains nothing."""
    finer = look.family.finer
    assert finer is not None
    best, stale = -np.inf, 0
    for _ in range(_ROUNDS):
        judged = look.judged(seen, rule)
        spots = judged.spots()
        now = judged.merit()
        stale, best = (0 if now > best + _GAIN else stale + 1), max(best, now)
        if not spots or stale == 2:
            break
        ends = {(float(seen.lam[max(k - 1, 0)]), float(seen.lam[min(k + 1, len(seen) - 1)])) for k in spots}
        between = [finer(low, high) for low, high in ends if low < high]
        wanted = np.unique(np.concatenate([np.empty(0), *between]))
        wanted = wanted[~np.isin(wanted, seen.lam)]
        if len(wanted) == 0:
            break
        seen = joined(seen, look.trace(wanted))
    return seen


def _on_all_rows(look: Look, rule: Rule, tried: Choice) -> TradeoffCurve:
    """Count on all rows what few entries found best, and close in on where the rule ends beside it."""
    found, near = None, _near(look, rule)
    for distance in (near, 20 * near, 400 * near):  # until the end of what is allowed lies between two looks
        values = _worth_a_look(look, rule, tried, distance, near)
        values = values if found is None else np.setdiff1d(values, found.lam)
        if len(values):
            found = look.trace(values) if found is None else joined(found, look.trace(values))
        if found is not None and (tried.edge() is None or look.judged(found, rule).edge() is not None):
            break
    assert found is not None
    return _closed_in(look, rule, found)


def _near(look: Look, rule: Rule) -> float:
    """Say how far numbers of few entries may be from those of all rows: of a top, they are of few of these."""
    return _NEAR if look.ground.top is None and rule.net_benefit_at is None else _NEAR_TOP


def _worth_a_look(look: Look, rule: Rule, tried: Choice, distance: float, near: float) -> Floats:
    """Give strengths to count on all rows: the best of few entries, its rivals, and what lies beside them."""
    seen, order, identity = tried.curve, tried.order(), look.family.dial.identity
    best, worth = int(order[0]), tried.worth()
    allowed = tried.allowed(tried.defined())
    places = {best}
    if allowed.any():
        places |= {k for k in tried.spots() if allowed[k] and worth[k] >= worth[best] - _RIVAL * near / _NEAR}
    wide = seen.signed_gap
    beside = []
    for k in places:
        away = np.abs(wide - wide[k]) >= distance
        beside += [np.flatnonzero(away[:k])[-1:], k + 1 + np.flatnonzero(away[k + 1 :])[:1]]
    kept = [np.array(sorted(places)), *beside]
    entries = sum(len(counts.score) for counts in look.ground.table.counts)
    if entries <= _CHEAP or near > _NEAR:  # where a look costs little, or the few entries tell less
        kept += [np.clip(order[:_KEPT] + step, 0, len(seen) - 1) for step in (-1, 0, 1)]
    values = [seen.lam[np.unique(np.concatenate(kept))], [] if identity is None else [identity]]
    if allowed.any() and tried.edge() is None:  # a peak inside what is allowed, flat where worth is almost the same
        flat = np.flatnonzero(allowed & (worth >= worth[best] - near))
        run = flat[np.abs(flat - best) == np.abs(np.arange(len(flat)) - np.searchsorted(flat, best))]
        values.append(np.linspace(seen.lam[run[0]], seen.lam[run[-1]], _FLAT))
    return np.unique(np.concatenate(values))


def _closed_in(look: Look, rule: Rule, found: TradeoffCurve) -> TradeoffCurve:
    """Close in on where the rule ends beside the best: aim where a straight line ends it, halve where that stalls."""
    family, first = look.family, 0 if look.ground.top is None else _AIMED  # the gap of a top goes in leaps
    for n in range(first, _LOOKS_AT_EDGE):
        judged = look.judged(found, rule)
        edge = judged.edge()
        if edge is None:
            break
        low, high = (float(found.lam[k]) for k in edge)
        width = abs(found.signed_gap[edge[0]] - found.signed_gap[edge[1]])
        middle = _aimed(low, high, judged.slack(edge), family.dial.ratio, n)
        if family.settle is not None and width < _NEAR:
            [moved] = family.moved
            middle = family.settle(look.ground.table, moved, middle)
        if not low < middle < high or width < _CLOSE:
            break
        found = joined(found, look.trace(np.array([middle])))
    return found


def _aimed(low: float, high: float, slack: Floats, ratio: bool, n: int) -> float:
    """Aim at where a straight line is 0, a hair to the side that is farther; halve every fourth time, and at last."""
    if ratio:
        low, high = float(np.log(low)), float(np.log(high))
    share, (first, last) = 0.5, slack
    if first * last <= 0 and first != last and n < _AIMED and n % 4 != 3:
        share = first / (first - last)
        push = 0.02 if n % 2 == 0 else 0.002  # so that the next look is likely on the other side
        share += push * (1 - share) if share < 0.5 else -push * share
        share = min(max(share, 1e-3), 1 - 1e-3)
    middle = low + share * (high - low)
    return float(np.exp(middle)) if ratio else float(middle)


def _settled(look: Look, rule: Rule, found: TradeoffCurve) -> Choice:
    """Count the choice where it is delivered: off the ties that rounding alone decides."""
    family, judged = look.family, look.judged(found, rule)
    counted = {family.dial.identity}
    while family.settle is not None and judged.allowed(judged.defined()).any():
        lam = judged.chosen().lam
        if lam in counted:
            break
        [moved] = family.moved
        settled = family.settle(look.ground.table, moved, lam)
        counted.add(settled)
        if settled != lam:
            found = taken(found, np.flatnonzero(found.lam != lam))
            found = found if settled in found.lam else joined(found, look.trace(np.array([settled])))
            judged = look.judged(found, rule)
    return judged


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
    now, then = table.starts(ground.top), after.starts(ground.top)
    there = (*_numbers(after.above(then), ground), *_numbers(table.above(now), ground))
    enter = leave = 0.0
    for group, counts in zip(table.groups, table.counts):
        people, was = np.add(*counts.counted), counts.score >= now[group]
        scores = moved[group](counts.score) if group in moved else counts.score
        stays = np.asarray(scores >= then[group])
        enter += float(people[stays & ~was].sum())
        leave += float(people[was & ~stays].sum())
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
