"""Every lambda at once: the wins between two groups at each cut of a transport plan, in O(n log n).

At cut ``c`` the held-out points of the moved group b, sorted upwards, fall into three consecutive ranges:

- R, the rest, ``[0, low[c])``: not above knot c-1, where they were;
- S, the straddling, ``[low[c], high[c])``: strictly between knot c-1 and knot c, on the line between the two;
- A, the moved, ``[high[c], r)``: not below knot c, at T(x), the fully transported score.

On the fitted data every point is a knot, so S is empty. Each point straddles at one cut at most; pairs inside a
part are running sums, and pairs between parts are look-ups clipped to the part.

All counts are kept in half pairs: a win counts 2, a tie 1 if ties count half. So they are exact in int64.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fairpot.counts import GroupCounts
from fairpot.transport import TransportPlan, ranks, run_ends
from fairpot.transport.lookup import blocks, running
from fairpot.transport.scoremap import between, interpolate

Array = NDArray[Any]


class PlanWins(NamedTuple):
    """Wins in half pairs at each cut c = 0 ... m: of b over a, of a over b, of b over b."""

    b_over_a: Array
    a_over_b: Array
    b_over_b: Array


def exact_wins(
    plan: TransportPlan, moved: GroupCounts, reference: GroupCounts, *, half: bool = False, monotone: bool = False
) -> PlanWins:
    """Count the wins between a moved group and its reference at every cut of a plan, on any rows.

    With ``half`` a tie counts as half a win; with ``monotone`` no moved score falls below the highest that stays.
    """
    points = _Points.of(plan, moved)
    fixed, own = _Background.of(reference, half), _Background.of(moved, half)
    lifted = own._replace(score=points.t)
    sums = _Sums(points, np.result_type(fixed.p, own.p))
    for block in blocks(len(points.x)):
        sums.add(block, _unmoved(points, fixed, own, block), _moved(points, fixed, own, block))
        sums.leave(block, _leaving(points, lifted, block))
    wins = PlanWins(*sums.at_cuts())
    if len(points.straddling):
        for count, values in zip(wins, _straddling(points, fixed, own, lifted)):
            count += points.sum_straddling(values)
    if monotone and len(points.x):
        _lift_to_floor(wins, plan, points, fixed, own)
    return wins


def flat_cuts(plan: TransportPlan, scores: Array, *, monotone: bool = False) -> NDArray[np.bool_]:
    """Mark the cuts at which all of several ascending scores become one, so that nothing of their order is left.

    Where two scores stay they differ. Before, all but the lowest are moved, and moved scores keep their order: they
    are one if their ends are. Where some straddle, which is so at two of these cuts at most, the map is asked.
    """
    flat = np.zeros(len(plan.scores) + 1, dtype=bool)
    if len(scores) < 2:
        return flat
    last = int(np.searchsorted(plan.scores, scores[1]))  # the last cut at which fewer than two stay
    floor = np.full(last + 1, -np.inf)
    if monotone:
        floor[1:] = plan.scores[:last]
    lowest, low, high = (np.maximum(value, floor) for value in plan.map(0)(scores[[0, 1, -1]]))
    stays = int(np.searchsorted(plan.scores, scores[0]))  # the last cut at which the lowest does not stay
    lowest[stays + 1 :] = scores[0]
    flat[: last + 1] = (lowest == low) & (low == high)
    for cut in {stays, last}:
        move = plan.map(cut, monotone=monotone)
        flat[cut] = np.ptp(move(scores[[0, 1, -1]])) == 0 and np.ptp(move(scores)) == 0
    return flat


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
    run_ends: Array | None  # of the tied among the fully moved

    @classmethod
    def of(cls, plan: TransportPlan, moved: GroupCounts) -> _Points:
        knots, projected, x = plan.scores, plan.projected, moved.score
        m, r = len(knots), len(x)
        counts = (moved.positive, moved.negative)
        nobody = np.empty(0, dtype=np.intp)
        if r == m and (knots is x or np.array_equal(knots, x)):
            every = np.arange(m + 1)
            never = np.empty(0, dtype=bool)
            return cls(x, *counts, projected, nobody, nobody, np.empty(0), never, every, every, run_ends(projected))
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
        t = interpolate(knots, projected, x, left)
        return cls(x, *counts, t, straddling, at + 1, s, rises, low, high, run_ends(t))

    def passes(self, bounds: Array, block: slice) -> Any:
        """Give, for each point of a block, the first cut at which a bound (``high`` or ``low``) is beyond it."""
        if self.low is self.high:
            return slice(block.start + 1, block.stop + 1)
        return np.searchsorted(bounds, np.arange(block.start, block.stop), side="right")

    def sum_straddling(self, values: Array) -> Array:
        """Add up a value of each straddling point at the cut where it straddles."""
        [sums] = running(values)
        upto = np.cumsum(np.bincount(self.cut, minlength=len(self.low)))
        return np.diff(sums[upto], prepend=sums[:1])


class _LookUp(NamedTuple):
    below: Array
    above: Array


class _Background(NamedTuple):
    """A group to compare with: half-pair counts of its negatives below and positives above a value."""

    score: Array
    p: Array
    q: Array
    half: bool

    @classmethod
    def of(cls, counts: GroupCounts, half: bool) -> _Background:
        p, q = running(counts.positive, counts.negative)
        return cls(counts.score, p, q, half)

    def look_up(self, values: Array, first: Any = 0, end: Any = None) -> _LookUp:
        """Count against the points at the places [first, end), or against all."""
        if (values[1:] >= values[:-1]).all():
            below, upto = ranks(self.score, values)
        else:
            below, upto = (np.searchsorted(self.score, values, side=side) for side in ("left", "right"))
        if end is not None:
            below, upto = np.clip(below, first, end), np.clip(upto, first, end)
        before, last = self.q[first], self.p[-1 if end is None else end]
        if self.half:
            return _LookUp(self.q[below] + self.q[upto] - 2 * before, 2 * last - self.p[below] - self.p[upto])
        return _LookUp(2 * (self.q[below] - before), 2 * (last - self.p[upto]))


class _Sums:
    """Sums over R and over A at every cut, of the three counts that each point brings in either state."""

    def __init__(self, points: _Points, dtype: np.dtype[Any]) -> None:
        self.low, self.high = points.low, points.high
        self.same = self.low is self.high
        size = len(points.x) + 1
        self.rest = np.zeros((3, size), dtype=dtype)
        self.lead = self.rest if self.same else np.zeros((3, size), dtype=dtype)
        self.total = [dtype.type(0)] * 3

    def add(self, block: slice, unmoved: tuple[Array, ...], moved: tuple[Array, ...]) -> None:
        place = slice(block.start + 1, block.stop + 1)
        for k, (r, a) in enumerate(zip(unmoved, moved)):
            self.total[k] += a.sum()
            self.rest[k][place] += r
            self.lead[k][place] -= a

    def leave(self, block: slice, leaving: Array) -> None:
        """Take in what is lost inside b when each point of a block leaves R: present while it is outside."""
        self.total[2] -= leaving.sum()
        self.rest[2][block.start + 1 : block.stop + 1] += leaving

    def at_cuts(self) -> list[Array]:
        """Sum the unmoved below ``low`` and the moved from ``high`` up."""
        for sums in (*self.rest, *(() if self.same else self.lead)):
            np.cumsum(sums, out=sums)
        if self.same:
            for total, sums in zip(self.total, self.rest):
                sums += total
            return list(self.rest)
        return [t + r[self.low] + a[self.high] for t, r, a in zip(self.total, self.rest, self.lead)]


def _unmoved(points: _Points, fixed: _Background, own: _Background, block: slice) -> tuple[Array, ...]:
    """Count what each point of R brings: over a, under a, and inside R (the points are distinct and ascend)."""
    p, q = points.positive[block], points.negative[block]
    with_a = fixed.look_up(points.x[block])
    inside = p * (2 * own.q[block] + q) if own.half else 2 * p * own.q[block]
    return p * with_a.below, q * with_a.above, inside


def _leaving(points: _Points, lifted: _Background, block: slice) -> Array:
    """Count the pairs of A with R that go when a point leaves R: those with A as it is then, [high, ...)."""
    left = block if points.low is points.high else points.passes(points.low, block) - 1
    pairs = lifted.look_up(points.x[block], points.high[left], len(points.x))
    return points.positive[block] * pairs.below + points.negative[block] * pairs.above


def _moved(points: _Points, fixed: _Background, own: _Background, block: slice) -> tuple[Array, ...]:
    """Count what each point of A brings: over a, under a, and inside b, where R is as it was just before."""
    t, p, q = points.t[block], points.positive[block], points.negative[block]
    with_a = fixed.look_up(t)
    inside = _lost_to_higher(points, own, block)
    with_rest = own.look_up(t, 0, points.low[points.passes(points.high, block)])
    return p * with_a.below, q * with_a.above, inside + p * with_rest.below + q * with_rest.above


def _lost_to_higher(points: _Points, own: _Background, block: slice) -> Array:
    """Count each point's pairs with those above it when all are moved: T never decreases, so all but ties lose."""
    p, q, place = points.positive[block], points.negative[block], np.arange(block.start, block.stop)
    ends = place + 1 if points.run_ends is None else points.run_ends[block]
    inside = 2 * q * (own.p[-1] - own.p[ends])
    if own.half:
        inside += q * (own.p[ends] - own.p[place + 1]) + p * (own.q[ends] - own.q[place + 1]) + p * q
    return inside


def _straddling(
    points: _Points, fixed: _Background, own: _Background, lifted: _Background
) -> tuple[Array, Array, Array]:
    """Count what each straddling point brings: over a, under a, and inside b."""
    i, c, s = points.straddling, points.cut, points.s
    p, q, low, high = points.positive[i], points.negative[i], points.low[c], points.high[c]
    with_a = fixed.look_up(s)
    with_moved = lifted.look_up(s, high, len(points.x))
    with_rest = own.look_up(s, 0, low)
    # Inside S the line goes up or down as one, with runs of ties: the fellows below a point are a range.
    new_run = np.concatenate(([True], (s[1:] != s[:-1]) | (c[1:] != c[:-1])))
    starts = i[np.flatnonzero(new_run)]
    run = np.cumsum(new_run) - 1
    begin, end = starts[run], np.minimum(np.append(starts[1:], i[-1] + 1)[run], high)
    below = np.where(points.rises, own.q[begin] - own.q[low], own.q[high] - own.q[end])
    fellows = 2 * p * below
    if own.half:
        fellows += p * (own.q[end] - own.q[begin])
    inside = p * (with_moved.below + with_rest.below) + q * (with_moved.above + with_rest.above) + fellows
    return p * with_a.below, q * with_a.above, inside


def _lift_to_floor(wins: PlanWins, plan: TransportPlan, points: _Points, fixed: _Background, own: _Background) -> None:
    """Recount, in place, the cuts at which the map steps down and the floor takes effect: knot c-1.

    There every moved or straddling point that would fall below the floor sits on it: one block of ties.
    """
    p, q, total = points.positive, points.negative, len(points.x)
    floor = np.concatenate(([-np.inf], plan.scores[:-1]))
    cuts = np.flatnonzero(plan.projected < floor)
    if len(cuts) == 0:
        return
    floor = floor[cuts]
    low = points.low[cuts]
    under = ranks(points.x, floor)[0]
    end = np.maximum(ranks(points.t, floor)[1], points.high[cuts])
    block_p, block_q = own.p[end] - own.p[low], own.q[end] - own.q[low]
    at_floor = fixed.look_up(floor)
    for target, own_count, side in ((wins.b_over_a, p, "below"), (wins.a_over_b, q, "above")):
        at_x, at_t = getattr(fixed.look_up(points.x), side), getattr(fixed.look_up(points.t), side)
        block = block_p if side == "below" else block_q
        target[cuts] = (
            running(own_count * at_x)[0][low] + _suffix(own_count * at_t)[end] + block * getattr(at_floor, side)
        )

    above = _lost_to_higher(points, own, slice(0, total))
    stay = p * (2 * own.q[:-1] + q) if own.half else 2 * p * own.q[:-1]
    inside = running(stay)[0][low] + _suffix(above)[end] + 2 * (own.p[-1] - own.p[end]) * (block_q + own.q[low])
    inside += 2 * block_p * own.q[under]
    if own.half:
        # The block ties with itself and with a point of R that lies exactly on the floor.
        on_p, on_q = own.p[low] - own.p[under], own.q[low] - own.q[under]
        inside += block_p * (block_q + on_q) + on_p * block_q
    wins.b_over_b[cuts] = inside


def _suffix(values: Array) -> Array:
    """Give the running sums from the end: place k sums the values from k on."""
    return running(values[::-1])[0][::-1]
