"""Several groups with a strength each, as one number again: how far to go on the best way."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from fairpot.counts import GroupCounts
from fairpot.inference.dial import Cut
from fairpot.repair.choose import Ground, curve, joined, taken
from fairpot.repair.family import Dial, Family
from fairpot.repair.groups import in_rows
from fairpot.tradeoff.curve import TradeoffCurve, TradeoffPoint
from fairpot.tradeoff.rules import Rule
from fairpot.tradeoff.solve import ROUND_OFF, Entries, Found
from fairpot.tradeoff.together import Search
from fairpot.transport import Floats, ScoreMap

# The nodes of the way: shares of what lies between the gap as it is and the smallest there is; a hair between points.
SHARES, _HAIR = np.linspace(0.0, 1.0, 33), 1e-9
# Entries of a group on which is searched, at first, then, and at last.
_ENTRIES = (64, 256, 2000)
# In tables of more entries than this, few points of a way are counted on all rows.
_LARGE, _KEPT = 200_000, 3
# How often a bound is drawn tighter, where all rows miss what fewer entries keep.
_CHECKS, _LEAST_STEP = 8, 1e-6
# Strengths at which all groups are tried together in a top.
_COMMON = 21


@dataclass(frozen=True, eq=False)
class Way:
    """Points on the way from nothing to the smallest gap: shares, ascending, and every moved group's strength there."""

    shares: Floats
    strengths: Mapping[Hashable, Floats]
    # The search that found it, to ask again on the same rows; a pickle does without.
    search: OwnSearch | None = field(default=None, repr=False)

    def __reduce__(self) -> Any:
        return Way, (self.shares, self.strengths)

    @classmethod
    def only(cls, strengths: Mapping[Hashable, float]) -> Way:
        """Make a way of one point."""
        return cls(np.array([0.5]), {g: np.array([value]) for g, value in strengths.items()})

    def place_for(self, share: float, strengths: Mapping[Hashable, float]) -> float:
        """Give the share of the point with these strengths; else one where no point is yet, by a hair if need be."""
        same = np.logical_and.reduce([values == strengths[g] for g, values in self.strengths.items()])
        if same.any():
            return float(self.shares[np.flatnonzero(same)[0]])
        while share in self.shares:
            share -= _HAIR
        return share

    def plus(self, share: float, strengths: Mapping[Hashable, float]) -> Way:
        """Put one more point on the way; nothing changes if it is there."""
        if share in self.shares:
            return self
        at = int(np.searchsorted(self.shares, share))
        each = {g: np.insert(values, at, strengths[g]) for g, values in self.strengths.items()}
        return Way(np.insert(self.shares, at, share), each, self.search)

    def at(self, share: float) -> dict[Hashable, float]:
        """Give every group's strength at a share: that of the nearest point that goes at least so far."""
        place = min(int(np.searchsorted(self.shares, share - ROUND_OFF)), len(self.shares) - 1)
        return {g: float(values[place]) for g, values in self.strengths.items()}


def along(family: Family, way: Way) -> Family:
    """Make a family of a way: its one dial is how far to go."""
    identity = None if family.dial.identity is None else 0.0
    dial = Dial("share", identity=identity, meaning="how far to go on the way to the smallest gap")

    def at(group: Hashable, share: float) -> ScoreMap:
        return family.map(group, way.at(share)[group])

    return Family(dial, family.groups, family.reference, at, way.shares, few=SHARES, own=way.at)


def choose_own(
    family: Family, ground: Ground, rule: Rule, way: Way, seen: TradeoffCurve | None = None
) -> tuple[Way, TradeoffPoint]:
    """Choose every group's strength by rule; give the way with the choice on it, and the choice.

    What was found on fewer entries, or in the top of the scores as they came, is counted on all rows; of all that was
    seen (``seen``: the curve of the way, where it is known) the best is the choice.
    """
    search = way.search
    if search is None or search.given is not ground or rule.net_benefit_at is not None:
        search = OwnSearch(family, ground, rule.net_benefit_at)
    look = looked_at(ground)
    seen = curve(along(family, way), look) if seen is None else seen
    still = seen if look is ground else _told(ground.trace(along(family, way), np.zeros(1)), family, ground, way)
    before = still.judged(rule)
    usable = before.usable()
    if rule.max_gap is not None and still.unmoved is not None and before.allowed(usable)[still.unmoved]:
        return way, before.chosen()
    asked = []
    for found in search.asked(rule, ground):
        strengths = search.strengths(found)
        asked.append(way.place_for(search.share_of(found.gap), strengths))
        way = way.plus(asked[-1], strengths)
    if look is not ground:  # on all rows only what was asked for and what fewer entries find best: a count is dear
        final = along(family, way)
        best = curve(final, look).judged(rule).order()[:_KEPT]
        shares = np.unique([0.0, *asked, *way.shares[best]])
        return way, _told(ground.trace(final, shares), family, ground, way).judged(rule).chosen()
    if ground.top is not None:
        way = _with_common(family, ground, rule, way, search)
    return way, _with_new(family, ground, way, seen).judged(rule).chosen()


def looked_at(ground: Ground) -> Ground:
    """Give the rows that points of a way are counted on at first: all, or fewer entries where there are very many."""
    large = sum(len(counts.score) for counts in ground.table.counts) > _LARGE
    return ground.merged(_ENTRIES[-1]) if large else ground


def _with_new(family: Family, ground: Ground, way: Way, seen: TradeoffCurve) -> TradeoffCurve:
    """Give the curve of a way of which most points were seen before."""
    assert seen.strengths is not None
    each, before = np.column_stack(list(way.strengths.values())), np.column_stack(list(seen.strengths.values()))
    old = np.flatnonzero(np.isin(seen.lam, way.shares))
    old = old[(before[old] == each[np.searchsorted(way.shares, seen.lam[old])]).all(axis=1)]
    new = np.setdiff1d(way.shares, seen.lam[old])
    final = along(family, way)
    found = joined(taken(seen, old), ground.trace(final, new)) if len(new) else seen
    return _told(found, family, ground, way)


def _told(found: TradeoffCurve, family: Family, ground: Ground, way: Way) -> TradeoffCurve:
    """Keep with a curve the rows and the maps of its way, and each group's strength at every point."""
    final, own = along(family, way), [way.at(float(share)) for share in found.lam]
    each = {g: np.array([values[g] for values in own]) for g in family.moved}
    return replace(found, strengths=each, **ground.evidence(final))


def _with_common(family: Family, ground: Ground, rule: Rule, way: Way, search: OwnSearch) -> Way:
    """Put the best strength that is one for all groups on the way."""
    few = family.tried[np.linspace(0, len(family.tried) - 1, _COMMON).round().astype(np.intp)]
    common = curve(family, ground, np.unique(few)).judged(rule)
    best = int(common.order()[0])
    strengths = dict.fromkeys(family.moved, float(common.curve.lam[best]))
    return way.plus(way.place_for(search.share_of(float(common.curve.gap[best])), strengths), strengths)


def _size_of(counts: GroupCounts) -> tuple[float, ...]:
    """Give what puts groups into an order: their rows, cases and scores."""
    return tuple(float(each.sum()) for each in (counts.weight, counts.positive, counts.score))


class OwnSearch:
    """The search for strengths of several groups, of which one stays, on the lists that a family gives them."""

    def __init__(self, family: Family, given: Ground, threshold: float | None = None) -> None:
        ground = given
        if ground.top is not None:  # looked at in the scores as they came, not found again at every strength
            ground = replace(ground, top=None, cut=Cut(ground.top, ground.table.starts(ground.top)))
        if ground.table.importance:  # in rows, weights times a constant are the same counts, to the last bit
            ground = replace(ground, table=in_rows(ground.table))
        self.family, self.given, self.ground = family, given, ground
        self.groups = sorted(ground.table.groups, key=lambda g: _size_of(ground.table[g]))  # whatever they are called
        self.neutral = 1.0 if family.dial.ratio else float(family.dial.identity or 0.0)
        self.lists = {g: self._values(g) for g in self.groups}
        merged = [ground.merged(size) for size in _ENTRIES]
        detail = [[self._entry(g, each.table[g], each) for g in self.groups] for each in merged]
        capped = family.dial.identity is not None and threshold is None
        self.search = Search(detail, ground.ties, shy=family.shy, threshold=threshold, capped=capped)

    def _values(self, group: Hashable) -> Floats:
        """List a group's strengths; those at an end that leave nothing of its order are left out."""
        if group not in self.family.moved:
            return np.array([self.neutral])
        assert self.family.reach is not None
        found = np.asarray(self.family.reach(group), dtype=np.float64)
        if self.family.dial.identity is not None or self.family.dial.ratio:
            found = np.union1d(found, self.neutral)
        score = self.ground.rows[group].score

        def flat(value: float) -> bool:
            return len(found) > 1 and len(score) > 1 and np.ptp(self.family.map(group, float(value))(score)) == 0

        while flat(found[0]):
            found = found[1:]
        while flat(found[-1]):
            found = found[:-1]
        return found

    def _entry(self, group: Hashable, counts: GroupCounts, ground: Ground) -> Entries:
        positive, negative = counts.positive.astype(np.float64), counts.negative.astype(np.float64)
        counted, score = (positive, negative), counts.score
        if ground.cut is not None:
            inside = score >= ground.cut.starts[group]
            counted = positive * inside, negative * inside
        values, moves = self.lists[group], group in self.family.moved

        def show(value: float) -> Floats:
            return self.family.map(group, value)(score) if moves else score

        still = int(np.argmin(np.abs(values - self.neutral)))
        return Entries(positive, negative, counted, values, self.family.mover(group, score), show, still)

    def strengths(self, found: Found) -> dict[Hashable, float]:
        """Give the moved groups' strengths of a combination."""
        each = dict(zip(self.groups, found.places))
        return {g: float(self.lists[g][each[g]]) for g in self.family.moved}

    def share_of(self, gap: float) -> float:
        """Say how far on the way a gap is."""
        width = self.search.still.gap - self.search.end.gap
        return float(np.clip((self.search.still.gap - gap) / width, 1e-6, 1.0)) if width > 0 else 1.0

    def way(self) -> Way:
        """Find the nodes of the way."""
        each = [self.strengths(f) for f in self.search.path(SHARES)]
        return Way(SHARES.copy(), {g: np.array([values[g] for values in each]) for g in self.family.moved}, self)

    def asked(self, rule: Rule, ground: Ground) -> list[Found]:
        """Find combinations for a rule; where all rows miss what fewer entries keep, aim higher."""
        if rule.max_gap is None and rule.max_auc_loss is None:
            return [self.search.end]
        if rule.max_gap is not None:
            return [*self._checked(self.search.highest, rule.max_gap, ground, rule), self.search.end]
        still = self.search.still.auc
        if self.family.dial.identity is None:
            still = self.ground.trace(self.family, np.array([self.neutral])).unmoved_auc
        return self._checked(self.search.cheapest, still - (rule.max_auc_loss or 0.0), ground, rule)

    def _checked(self, find: Callable[[float], Found | None], wanted: float, ground: Ground, rule: Rule) -> list[Found]:
        aimed, seen = wanted, []
        for _ in range(_CHECKS):
            found = find(aimed)
            if found is None:
                break
            seen.append(found)
            point = curve(along(self.family, Way.only(self.strengths(found))), ground)
            if ground.top is not None or point.judged(rule).allowed(np.ones(1, dtype=bool))[0]:
                break
            if rule.max_gap is not None:
                aimed -= max(float(point.gap[0]) - wanted, _LEAST_STEP)
            else:
                aimed += max(wanted - float(point.auc[0]), _LEAST_STEP)
        return seen
