"""Every lambda at once: the wins between two groups at each cut of a transport plan, in O(n log n).

At cut ``c`` the held-out points of the moved group b, sorted upwards, fall into three parts:

- A, the moved: points not below knot c, at T(x), the fully transported score;
- S, the straddling: points strictly between knot c-1 (unmoved) and knot c (moved), on the line
  between the two;
- R, the rest: points not above knot c-1, where they were.

R, S and A are consecutive ranges ``[0, low[c])``, ``[low[c], high[c])`` and ``[high[c], r)``. On the
fitted data every point is a knot, so S is empty. Each point straddles at one cut at most; pairs inside a
part are running sums, and pairs between parts are look-ups clipped to the part (design, section 6).

All counts are kept in half pairs: a win counts 2, a tie 1 if ties count half. So they are exact in int64.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fairpot.table import GroupCounts
from fairpot.transport import TransportPlan, ranks, run_ends
from fairpot.transport.scoremap import between, interpolate

Array = NDArray[Any]


class PlanWins(NamedTuple):
    """Wins in half pairs at each cut c = 0 ... m: of b over a, of a over b, of b over b."""

    b_over_a: Array
    a_over_b: Array
    b_over_b: Array


def exact_wins(
    plan: TransportPlan,
    moved: GroupCounts,
    reference: GroupCounts,
    *,
    half: bool = False,
    monotone: bool = False,
) -> PlanWins:
    """Count the wins between a moved group and its reference at every cut of a plan.

    Parameters
    ----------
    plan : TransportPlan
        The fitted transport of the moved group.
    moved, reference : GroupCounts
        The data to count on: the fitted data or any other.
    half : bool
        Whether a tie counts as half a win.
    monotone : bool
        Whether moved scores are kept from falling below the highest score that stays.

    Returns
    -------
    PlanWins
        Arrays of length m + 1; place c belongs to the cut that moves the knots from c upwards.
    """
    points = _Points.of(plan, moved)
    fixed = _Background(reference, half)
    inside = _Background(moved, half)
    low, high, total = points.low, points.high, len(points.x)

    at_x, at_t, at_s = (fixed.look_up(v) for v in (points.x, points.t, points.s))
    p, q, straddling = moved.positive, moved.negative, points.straddling

    def parts(per_point: Array, per_moved: Array, per_straddling: Array) -> Array:
        """Sum a quantity over R, A and S at every cut."""
        result = _prefix(per_point)[low] + _suffix(per_moved)[high]
        if len(straddling):
            result += points.sum_straddling(per_straddling)
        return result

    b_over_a = parts(p * at_x.below, p * at_t.below, p[straddling] * at_s.below)
    a_over_b = parts(q * at_x.above, q * at_t.above, q[straddling] * at_s.above)
    b_over_b = _inside(points, inside, half)
    wins = PlanWins(b_over_a, a_over_b, b_over_b)
    if monotone and total:
        _lift_to_floor(wins, plan, points, fixed, inside, half)
    return wins


@dataclass(frozen=True)
class _Points:
    """Points of the moved group, their values in each state, and the bounds of R, S and A at each cut."""

    x: Array
    positive: Array
    negative: Array
    t: Array  # fully moved
    straddling: Array  # places of the points that straddle at some cut ...
    cut: Array  # ... which cut that is ...
    s: Array  # ... their value there ...
    rises: Array  # ... and whether the line they are on rises
    low: Array
    high: Array

    @classmethod
    def of(cls, plan: TransportPlan, moved: GroupCounts) -> _Points:
        knots, projected, x = plan.scores, plan.projected, moved.score
        m, r = len(knots), len(x)
        counts = (moved.positive, moved.negative)
        nobody = np.empty(0, dtype=np.intp)
        if r == m and (knots is x or np.array_equal(knots, x)):
            every = np.arange(m + 1)
            return cls(
                x, *counts, projected, nobody, nobody, np.empty(0), np.empty(0, dtype=bool), every, every
            )
        below, upto = ranks(x, knots)
        high = np.concatenate(([0], below[1:], [r]))
        low = np.concatenate(([0], upto[:-1], [r]))
        left = np.searchsorted(knots, x, side="right") - 1
        inside = (left >= 0) & (left < m - 1)
        inside &= knots[np.maximum(left, 0)] != x
        straddling = np.flatnonzero(inside)
        at = left[straddling]
        s = between(knots[at], knots[at + 1], knots[at], projected[at + 1], x[straddling])
        rises = projected[at + 1] >= knots[at]
        return cls(
            x, *counts, interpolate(knots, projected, x, left), straddling, at + 1, s, rises, low, high
        )

    def sum_straddling(self, values: Array) -> Array:
        """Add up a value of each straddling point at the cut where it straddles."""
        running = _prefix(values)
        upto = np.cumsum(np.bincount(self.cut, minlength=len(self.low)))
        return np.diff(running[upto], prepend=running[:1])


class _LookUp(NamedTuple):
    below: Array
    above: Array


class _Background:
    """A group to compare with: half-pair counts of its negatives below and positives above a value."""

    def __init__(self, counts: GroupCounts, half: bool) -> None:
        self.score, self.half = counts.score, half
        self.p, self.q = _prefix(counts.positive), _prefix(counts.negative)

    def look_up(self, values: Array) -> _LookUp:
        """Count against every point of the group."""
        if len(values) == 0:
            return _LookUp(self.q[:0], self.p[:0])
        return self.count(*_ranks_unsorted(self.score, values), 0, len(self.score))

    def count(self, below: Array, upto: Array, first: Any, end: Any) -> _LookUp:
        """Count against the places [first, end), given the ranks of the values among all."""
        below, upto = np.clip(below, first, end), np.clip(upto, first, end)
        if self.half:
            negatives = self.q[below] + self.q[upto] - 2 * self.q[first]
            return _LookUp(negatives, 2 * self.p[end] - self.p[below] - self.p[upto])
        return _LookUp(2 * (self.q[below] - self.q[first]), 2 * (self.p[end] - self.p[upto]))


def _inside(points: _Points, own: _Background, half: bool) -> Array:
    """Count the wins inside the moved group at every cut."""
    p, q, low, high = points.positive, points.negative, points.low, points.high
    m, total = len(low) - 1, len(points.x)
    moved = _Background(GroupCounts(points.t, p, q), half)

    join, stay = _ordered_pairs(points, own, half)

    # A with R changes from cut c to c - 1 by the points that join A against R(c), less the points that
    # leave R against A(c - 1).
    joins_at = np.repeat(np.arange(m), np.diff(high)) + 1
    leaves_to = np.repeat(np.arange(m), np.diff(low))
    t_in_x, x_in_t = ranks(points.x, points.t), ranks(points.t, points.x)
    joining = own.count(*t_in_x, 0, low[joins_at])
    join += p * joining.below + q * joining.above
    leaving = moved.count(*x_in_t, high[leaves_to], total)
    leave = p * leaving.below + q * leaving.above

    result = _suffix(join)[high] + _prefix(stay)[low] - _suffix(leave)[low]
    if len(points.straddling):
        result += points.sum_straddling(_straddling(points, own, moved, half))
    return result


def _ordered_pairs(points: _Points, own: _Background, half: bool) -> tuple[Array, Array]:
    """Count each point's pairs with those above it when all are moved, and below it when none is."""
    p, q, place = points.positive, points.negative, np.arange(len(points.x))
    # T never decreases, so a point loses to everything above it but its ties.
    ends = run_ends(points.t)
    ends = place + 1 if ends is None else ends
    moved = 2 * q * (own.p[-1] - own.p[ends])
    unmoved = 2 * p * own.q[:-1]
    if half:
        moved += q * (own.p[ends] - own.p[place + 1]) + p * (own.q[ends] - own.q[place + 1]) + p * q
        unmoved += p * q
    return moved, unmoved


def _straddling(points: _Points, own: _Background, moved: _Background, half: bool) -> Array:
    """Count, for each straddling point, its pairs with A, with R and, once, with its fellows in S."""
    i, c, s = points.straddling, points.cut, points.s
    p, q, low, high = points.positive[i], points.negative[i], points.low[c], points.high[c]
    with_a = moved.count(*_ranks_unsorted(points.t, s), high, len(points.x))
    with_r = own.count(*_ranks_unsorted(points.x, s), 0, low)
    # Inside S the line goes up or down as one, with runs of ties: the fellows below a point are a range.
    new_run = np.concatenate(([True], (s[1:] != s[:-1]) | (c[1:] != c[:-1])))
    starts = i[np.flatnonzero(new_run)]
    run = np.cumsum(new_run) - 1
    begin, end = starts[run], np.append(starts[1:], i[-1] + 1)[run]
    end = np.minimum(end, high)
    below = np.where(points.rises, own.q[begin] - own.q[low], own.q[high] - own.q[end])
    fellows = 2 * p * below
    if half:
        fellows += p * (own.q[end] - own.q[begin])
    return p * (with_a.below + with_r.below) + q * (with_a.above + with_r.above) + fellows


def _lift_to_floor(
    wins: PlanWins, plan: TransportPlan, points: _Points, fixed: _Background, own: _Background, half: bool
) -> None:
    """Recount, in place, the cuts at which the map steps down and the floor at knot c-1 takes effect.

    There every moved or straddling point that would fall below the floor sits on it: one block of ties.
    """
    cuts = np.flatnonzero(plan.projected[1:] < plan.scores[:-1]) + 1
    if len(cuts) == 0:
        return
    p, q, total = points.positive, points.negative, len(points.x)
    floor = plan.scores[cuts - 1]
    low = points.low[cuts]
    under = ranks(points.x, floor)[0]
    end = np.maximum(ranks(points.t, floor)[1], points.high[cuts])
    block_p, block_q = own.p[end] - own.p[low], own.q[end] - own.q[low]
    at_floor = fixed.look_up(floor)
    for target, own_count, side in ((wins.b_over_a, p, "below"), (wins.a_over_b, q, "above")):
        at_x, at_t = getattr(fixed.look_up(points.x), side), getattr(fixed.look_up(points.t), side)
        block = block_p if side == "below" else block_q
        target[cuts] = (
            _prefix(own_count * at_x)[low] + _suffix(own_count * at_t)[end] + block * getattr(at_floor, side)
        )

    above, stay = _ordered_pairs(points, own, half)
    inside = _prefix(stay)[low] + _suffix(above)[end] + 2 * (own.p[-1] - own.p[end]) * (block_q + own.q[low])
    inside += 2 * block_p * own.q[under]
    if half:
        # The block ties with itself and with a point of R that lies exactly on the floor.
        on_p, on_q = own.p[low] - own.p[under], own.q[low] - own.q[under]
        inside += block_p * (block_q + on_q) + on_p * block_q
    wins.b_over_b[cuts] = inside


def _ranks_unsorted(reference: Array, values: Array) -> tuple[Array, Array]:
    """Rank values that need not ascend."""
    if (values[1:] >= values[:-1]).all():
        return ranks(reference, values)
    return np.searchsorted(reference, values, side="left"), np.searchsorted(reference, values, side="right")


def _prefix(values: Array) -> Array:
    """Give the running sums, starting from 0: place k sums the first k values."""
    sums = np.zeros(len(values) + 1, dtype=values.dtype)
    np.cumsum(values, out=sums[1:])
    return sums


def _suffix(values: Array) -> Array:
    """Give the running sums from the end: place k sums the values from k on."""
    sums = np.zeros(len(values) + 1, dtype=values.dtype)
    np.cumsum(values[::-1], out=sums[-2::-1])
    return sums
