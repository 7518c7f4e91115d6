"""The search for shifts: gaps at any shift, the smallest one within a bound, and those between breakpoints."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import logit

from fairpot._defaults import Ties
from fairpot.counts import GroupCounts
from fairpot.inference.shares import merge_entries
from fairpot.metrics.wins import cross_half_wins
from fairpot.table import ScoreTable
from fairpot.transport import Floats, ShiftMap

# Breakpoints nearer to each other than this share of the unit are one: scores equal on paper may differ by as much.
_SAME = 1e-9
# Distinct shifts of a pair up to this many are listed one by one.
_FEW = 400
# Gaps are quotients of exact counts: values this close are the same value.
_ROUND_OFF = 1e-12
_HALVINGS = 80
# From so many scores in either group on, the gap is taken to be nearly smooth.
_SMOOTH = 4000
# The largest shift of log-odds, and of other scores: beyond it, what it makes of them may leave the range of numbers.
_MOST = 500.0, 1e300


@dataclass(frozen=True)
class ShiftScale:
    """The scale on which a constant is added: log-odds of probabilities, or the scores as they are."""

    probability: bool
    negative: bool = False

    @classmethod
    def of(cls, table: ScoreTable) -> ShiftScale:
        """Find the scale of a table; scores with a minus are probabilities if they are without it."""
        low = min(float(c.score[0]) for c in table.counts if len(c.score))
        high = max(float(c.score[-1]) for c in table.counts if len(c.score))
        if low >= 0 and high <= 1:
            return cls(True)
        if table.lower_is_riskier and low >= -1 and high <= 0:
            return cls(True, True)
        return cls(False)

    def forward(self, scores: Floats) -> Floats:
        """Take scores to the scale."""
        if not self.probability:
            return scores
        with np.errstate(divide="ignore"):
            return np.asarray(-logit(-scores) if self.negative else logit(scores))

    @property
    def most(self) -> float:
        """The largest shift there is, up or down."""
        return _MOST[0] if self.probability else _MOST[1]

    def unit(self, scores: Sequence[Floats]) -> float:
        """Give a step that matters on the scale: 1 of log-odds, the range of other scores."""
        if self.probability:
            return 1.0
        low, high = min(float(z[0]) for z in scores), max(float(z[-1]) for z in scores)
        return high - low or abs(high) or 1.0

    def same(self, scores: Sequence[Floats]) -> float:
        """Give the distance up to which two differences of scores are one."""
        largest = max((float(np.abs(z[[0, -1]]).max()) for z in scores if len(z)), default=0.0)
        return max(_SAME * self.unit(scores), 16 * np.finfo(np.float64).eps * largest)

    def held(self, shift: float) -> float:
        """Hold a shift within what there is."""
        return min(max(shift, -self.most), self.most)

    def map(self, shift: float) -> ShiftMap:
        """Return the map that adds a constant on the scale."""
        if abs(shift) > self.most:
            what = "log-odds" if self.probability else "scores"
            raise ValueError(f"a shift of {what} must be from {-self.most:g} to {self.most:g}, got {shift!r}.")
        if not self.probability:
            return ShiftMap(added=shift)
        return ShiftMap(factor=float(np.exp(-shift if self.negative else shift)), negative=self.negative)


@dataclass(frozen=True, eq=False)
class ShiftedPair:
    """Two groups, one of which is moved: its lead over the other at any shift.

    The gap is xAUC(fixed over moved) - xAUC(moved over fixed); it never rises with the shift.
    """

    fixed: GroupCounts
    moved: GroupCounts
    scale: ShiftScale
    ties: Ties

    def gap(self, shift: float) -> float:
        """Count the signed gap at a shift, as the metrics count it on the moved scores."""
        first, second = self.shares(shift)
        return first - second

    def shares(self, shift: float) -> tuple[float, float]:
        """Count both xAUCs at a shift, that of the fixed group first."""
        # A shift keeps the order of scores: there is nothing to sort, and equal ones need not be added up.
        score = self.moved.score if shift == 0 else self.scale.map(shift)(self.moved.score)
        lifted = GroupCounts(score, self.moved.positive, self.moved.negative)
        won, lost = cross_half_wins(self.fixed, lifted, self.ties)
        return float(won / self._pairs[0]) / 2, float(lost / self._pairs[1]) / 2

    @cached_property
    def _pairs(self) -> tuple[float, float]:
        p, n = float(self.fixed.positive.sum()), float(self.fixed.negative.sum())
        q, m = float(self.moved.positive.sum()), float(self.moved.negative.sum())
        return p * m, q * n

    @cached_property
    def _z(self) -> tuple[Floats, Floats]:
        both = [self.scale.forward(c.score) for c in (self.fixed, self.moved)]
        first, second = (z[np.isfinite(z)] for z in both)
        return first, second

    @cached_property
    def reach(self) -> tuple[float, float]:
        """The shifts beyond which nothing changes any more."""
        fixed, moved = self._z
        if len(fixed) == 0 or len(moved) == 0:
            return 0.0, 0.0
        low, high = float(fixed[0] - moved[-1]) - self._unit, float(fixed[-1] - moved[0]) + self._unit
        return self.scale.held(min(low, -self._unit)), self.scale.held(max(high, self._unit))

    @cached_property
    def _unit(self) -> float:
        return self.scale.unit(self._z)

    @cached_property
    def _same(self) -> float:
        return self.scale.same(self._z)

    def few(self, threshold: float | None = None) -> Floats | None:
        """List a shift for each distinct order of the two groups' scores, if there are few; 0 is among them.

        With a threshold, also one for each distinct set of moved scores that reach it.
        """
        fixed, moved = self._z
        if threshold is not None:
            fixed = np.append(fixed, self.scale.forward(np.array([threshold])))
        if len(fixed) * len(moved) > 16 * _FEW**2:
            return None
        points = np.unique(np.subtract.outer(fixed, moved))
        if len(points) == 0:
            return np.zeros(1)
        points = points[np.append(True, np.diff(points) > self._same) & (np.abs(points) < self.scale.most)]
        if len(points) == 0:
            return np.zeros(1)
        if len(points) > _FEW:
            return None
        middle = (points[1:] + points[:-1]) / 2
        ends = [self.scale.held(points[0] - self._unit), self.scale.held(points[-1] + self._unit)]
        return np.unique(np.concatenate((ends, middle, [0.0])))

    def crossing(self, wanted: float) -> tuple[float, float]:
        """Find the shifts on either side of where the gap falls to ``wanted``, each half way to the next breakpoint.

        The gap is above ``wanted`` at the first and not at the second; at the ends of the reach both are the same.
        """
        low, high = self._turn(wanted)
        return (low, high) if low == high else (self.between(low, up=False), self.between(high, up=True))

    def _turn(self, wanted: float, *, reached: bool = False) -> tuple[float, float]:
        """Find two shifts with at most one breakpoint between them: the gap is above ``wanted`` at the first alone.

        With ``reached`` it is ``wanted`` or above. Where that is so at neither or both ends of the reach, both are that
        end. Of many scores the gap is nearly smooth: a few tries around where a straight line meets ``wanted`` do what
        forty halvings would, and begin where a table of fewer entries leads.
        """
        smooth = min(len(z) for z in self._z) > _SMOOTH
        ends, beside = self.reach, 1e-3 * self._unit
        if smooth:
            near = self._small._turn(wanted, reached=reached)
            ends = max(ends[0], near[0] - beside), min(ends[1], near[1] + beside)
        bracket = _Bracket(lambda shift: self.gap(shift) - wanted, *ends, reached=reached)
        if bracket.one_sided is not None and ends != self.reach:
            bracket = _Bracket(bracket.function, *self.reach, reached=reached)
        if bracket.one_sided is not None:
            return bracket.one_sided, bracket.one_sided
        for _ in range(_HALVINGS):
            width = bracket.width
            if width < self._same / 8 or bracket.middle in (bracket.low, bracket.high):
                break
            if smooth:
                guess, beside = bracket.guess, max(self._same / 20, min(width / 4, width * width / self._unit))
                bracket.put(guess - beside)
                bracket.put(guess + beside)
            if bracket.width > width / 4:
                bracket.put(bracket.middle)
        return bracket.low, bracket.high

    @cached_property
    def _small(self) -> ShiftedPair:
        """The same two groups on fewer entries."""
        both = tuple(GroupCounts(c.score, c.positive, c.negative) for c in (self.fixed, self.moved))
        fixed, moved = merge_entries(ScoreTable(("fixed", "moved"), both), _SMOOTH // 4).counts
        return ShiftedPair(fixed, moved, self.scale, self.ties)

    def between(self, shift: float, *, up: bool) -> float:
        """Go half way from the breakpoint at a shift to the next one."""
        beyond = self._next(shift, up=up)
        if beyond is None:
            return self.scale.held(shift + (self._unit if up else -self._unit))
        return (shift + beyond) / 2

    def settled(self, shift: float) -> float:
        """Move a shift half way between the breakpoints around it: no order changes, and no rounding can change one."""
        fixed, moved = self._z
        if shift == 0 or len(fixed) == 0 or len(moved) == 0:
            return shift
        beside = 0.02 * self._unit
        return sum(_nearest(fixed, moved, shift, beside, up=up) for up in (False, True)) / 2

    def _next(self, shift: float, *, up: bool) -> float | None:
        """Find the nearest difference of a fixed and a moved score that lies beyond a shift."""
        fixed, moved = self._z
        if up:
            place = np.searchsorted(moved, fixed - (shift + self._same)) - 1
            there = place >= 0
            found = fixed[there] - moved[place[there]]
            return float(found.min()) if len(found) else None
        place = np.searchsorted(moved, fixed - (shift - self._same), side="right")
        there = place < len(moved)
        found = fixed[there] - moved[place[there]]
        return float(found.max()) if len(found) else None

    def smallest(self, bound: float) -> float | None:
        """Find the smallest shift whose gap is within a bound; None if none is."""
        bound += _ROUND_OFF
        now = self.gap(0.0)
        if abs(now) <= bound:
            return 0.0
        found = self.crossing(bound)[1] if now > 0 else self._last(-bound)
        return found if abs(self.gap(found)) <= bound else None

    def _last(self, wanted: float) -> float:
        """Find the largest shift whose gap is at least ``wanted``."""
        low, high = self._turn(wanted, reached=True)
        return low if low == high else self.between(low, up=False)

    def closest(self) -> float:
        """Find the shift with the smallest gap."""
        found = [0.0, *self.crossing(0.0)]
        return min(found, key=lambda shift: (abs(self.gap(shift)), abs(shift)))


class _Bracket:
    """Two places between which a function that never rises falls below 0 (to 0, unless that counts as not fallen)."""

    def __init__(self, function: Callable[[float], float], low: float, high: float, *, reached: bool) -> None:
        self.function, self.reached = function, reached
        self.low, self.high = low, high
        self.at_low, self.at_high = function(low), function(high)
        self.one_sided = low if not self._stands(self.at_low) else high if self._stands(self.at_high) else None

    def _stands(self, value: float) -> bool:
        return value >= 0 if self.reached else value > 0

    def put(self, place: float) -> None:
        """Try a place between the two, and keep the half in which the function falls."""
        if not self.low < place < self.high:
            return
        value = self.function(place)
        if self._stands(value):
            self.low, self.at_low = place, value
        else:
            self.high, self.at_high = place, value

    @property
    def width(self) -> float:
        """How far the two are apart."""
        return self.high - self.low

    @property
    def middle(self) -> float:
        """Half way between the two."""
        return (self.low + self.high) / 2

    @property
    def guess(self) -> float:
        """Where a straight line between the two meets 0."""
        fall = self.at_low - self.at_high
        return self.low + self.width * (self.at_low / fall if fall > 0 else 0.5)


def off_breakpoints(
    table: ScoreTable, reference: Hashable, scale: ShiftScale, shifts: Mapping[Hashable, float]
) -> Floats:
    """Move every shift half way between two breakpoints, seen from the groups that have been moved before it."""
    z = {g: scale.forward(c.score) for g, c in zip(table.groups, table.counts)}
    z = {g: each[np.isfinite(each)] for g, each in z.items()}
    fixed, beside = z[reference], 0.02 * scale.unit([each for each in z.values() if len(each)] or [np.zeros(1)])
    result = []
    for g, shift in shifts.items():
        if shift != 0:
            low, high = (_nearest(fixed, z[g], float(shift), beside, up=up) for up in (False, True))
            shift = scale.held((low + high) / 2)
        result.append(float(shift))
        fixed = np.sort(np.concatenate((fixed, z[g] + shift)))
    return np.array(result)


def _nearest(fixed: Floats, moved: Floats, shift: float, beside: float, *, up: bool) -> float:
    """Find the nearest difference at or beyond a shift; a little beyond it, if there is none."""
    wanted = fixed - shift
    if up:
        place = np.searchsorted(moved, wanted, side="right") - 1
        there = place >= 0
        found = (fixed[there] - moved[place[there]]) if there.any() else np.array([shift + beside])
        return float(found.min())
    place = np.searchsorted(moved, wanted, side="left")
    there = place < len(moved)
    found = (fixed[there] - moved[place[there]]) if there.any() else np.array([shift - beside])
    return float(found.max())
