"""XOrder: place one group's scores between another's by dynamic programming (Cui et al., 2023)."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fairpot._defaults import Ties
from fairpot._docs import documented
from fairpot.counts import GroupCounts
from fairpot.repair.estimator import Repair
from fairpot.repair.family import Dial, Family
from fairpot.repair.groups import find_reference, in_rows, require_outcomes
from fairpot.table import ScoreTable
from fairpot.transport import Floats, ScoreMap

DIAL = Dial("lam", meaning="weight of the gap beside the AUC")
Array = NDArray[Any]

# Cells of lambdas worked on together (vectors of this length stay in the processor's cache), and bits for the way back.
_CELLS, _BYTES = 16_384, 2**28
# More cells fill 2 GB for one lambda; more than the second take minutes, and are walked only if asked for by name.
MAX_CELLS, MOST_CELLS = 2**34, 10**8
# Nearly all that xOrder's dial does happens near 0, more so the smaller a group is.
SMALL_LAMS = np.array([0, 5e-4, 1e-3, 2e-3, 3e-3, 5e-3, 0.01, 0.015, 0.02, 0.03, 0.05, 0.1, 1])
_GRID = np.union1d(SMALL_LAMS, np.arange(11) / 10)
# Up to so many cells all strengths of a curve are searched for at once; and so many strengths between two.
_TOGETHER, _FINER = 1_000_000, 9


def learn(table: ScoreTable, *, reference: Hashable | None = None, ties: Ties = "half") -> Family:
    """Learn the best place of every group's scores among the reference's, for any weight lam of the gap."""
    require_outcomes(table)
    reference = find_reference(table, reference, ties)
    rows = in_rows(table)
    found: dict[tuple[Hashable, float], ScoreMap] = {}
    wanted: set[float] = set()
    cells = [len(rows[g].score) * len(rows[reference].score) for g in table.groups if g != reference]
    few = max(cells) <= _TOGETHER

    def at(group: Hashable, lam: float) -> ScoreMap:
        if (group, lam) not in found:  # all that is wanted at once costs little more than one
            others = wanted.union(_GRID.tolist() if few and lam in _GRID else ())
            lams = np.array([lam, *sorted(each for each in others - {lam} if (group, each) not in found)])
            maps = xorder_maps(rows[reference], rows[group], lams)
            found.update({(group, each): one for each, one in zip(lams.tolist(), maps)})
        return found[group, lam]

    def finer(low: float, high: float) -> Floats:
        lams = np.linspace(low, high, _FINER)
        wanted.update(lams.tolist())
        return lams

    more = finer if sum(cells) <= _TOGETHER else None
    return Family(DIAL, table.groups, reference, at, _GRID, more, few=SMALL_LAMS)


@documented
@dataclass(eq=False, repr=False)
class XOrder(Repair):
    """Repair scores by xOrder: merge a group into the reference group's order.

    The scores of the reference group do not change. Those of every other group keep their order and are placed between
    the reference's, by the pairs ordered rightly across both groups minus ``lam`` times the gap. For ``lam > 0`` the
    order found need not be the best (``docs/evidence/xorder.md``); no ``lam`` changes nothing. Time grows with the
    product of the numbers of distinct scores.

    Parameters
    ----------
    lam : float in [0, 1] or None, default None
        Weight of the gap; most of what it does happens near 0. None chooses it by rule.
    {repairing}

    Attributes
    ----------
    lam_ : the weight of the gap, given or chosen
    {fitted}

    Examples
    --------
    >>> from fairpot import XOrder
    >>> score, sex = [0.9, 0.7, 0.4, 0.2, 0.5, 0.3, 0.2, 0.1], ["M"] * 4 + ["F"] * 4
    >>> repair = XOrder(lam=0.5).fit(score, [1, 1, 0, 0, 1, 1, 0, 0], sensitive_features=sex)
    >>> repair.transform(score, sensitive_features=sex).round(3)
    array([0.9  , 0.7  , 0.4  , 0.2  , 0.6  , 0.5  , 0.167, 0.133])
    """

    dial: ClassVar[Dial] = DIAL
    learn = staticmethod(learn)
    _moves_by: ClassVar[str] = "moved to its place among the scores of {reference}"
    _needs_outcomes: ClassVar[bool] = True

    lam: float | None = None

    def _obstacle(self, table: ScoreTable) -> str | None:
        sizes = sorted(len(c.score) for c in table.counts)
        reference = self.reference if self.reference in table.groups else None
        fixed = len(table[reference].score) if reference is not None else sizes[-1]
        cells = fixed * (sum(sizes) - fixed)
        if cells <= MOST_CELLS:
            return None
        return f"a grid of {cells:.2g} cells takes minutes a fold (the limit is {MOST_CELLS:.0g}); ask for it by name."


def xorder_maps(reference: GroupCounts, moved: GroupCounts, lams: Floats) -> list[ScoreMap]:
    """Return the map of the moved group for each lambda."""
    paths = xorder_paths(reference, moved, lams)
    steps = _with_outer_steps(reference.score, moved.score)
    return [ScoreMap(moved.score, evenly_between(steps, above)) for above in paths.above]


def evenly_between(steps: Floats, above: NDArray[np.intp]) -> Floats:
    """Space the moved scores evenly inside the gaps of ``steps`` that they were placed in, ``above`` so many others."""
    gap = len(steps) - 2 - above  # gap g lies between steps[g] and steps[g + 1]
    size = np.bincount(gap, minlength=len(steps) - 1)
    rank = np.arange(1, len(above) + 1) - (np.cumsum(size) - size)[gap]
    low, high = steps[gap], steps[gap + 1]
    return np.clip(low + (high - low) * (rank / (size[gap] + 1)), low, high)


def _with_outer_steps(reference: Floats, moved: Floats) -> Floats:
    """Add a step below and one above the reference scores, to place scores beyond its ends.

    It is the moved group's extreme where that lies further out, else one mean distance of the reference's scores. Where
    all scores lie in [0, 1] so does the step, unless the reference reaches that end itself.
    """
    low, high = min(reference[0], moved[0]), max(reference[-1], moved[-1])
    mean = ((high - low) or 1.0) / len(reference)
    bottom = moved[0] if moved[0] < reference[0] else reference[0] - mean
    top = moved[-1] if moved[-1] > reference[-1] else reference[-1] + mean
    if low >= 0 and high <= 1:
        bottom = max(bottom, 0.0) if reference[0] > 0 else bottom
        top = min(top, 1.0) if reference[-1] < 1 else top
    return np.concatenate(([bottom], reference, [top]))


class Paths(NamedTuple):
    """The order found for each lambda, a row each."""

    above: NDArray[np.intp]  # how many reference atoms are placed above each moved atom, ascending
    ab: Floats  # pairs won by reference positives over moved negatives
    ba: Floats  # and the other way round


def xorder_paths(reference: GroupCounts, moved: GroupCounts, lams: Floats) -> Paths:
    """Run the dynamic programme for each lambda.

    The value of a path is ``(ab + ba) / pairs - lam * |ab / pairs_ab - ba / pairs_ba|`` with its counts so far,
    ``pairs`` being all pairs of a positive and a negative, those inside a group included. Of two predecessors
    of equal value the one that agrees with the scores as they were is kept.
    """
    cells = len(reference.score) * len(moved.score)
    if cells > MAX_CELLS:
        raise ValueError(
            f"xOrder would walk a grid of {len(reference.score)} x {len(moved.score)} distinct scores, "
            f"{cells:.2g} cells; the limit is {MAX_CELLS:.2g}.\n"
            "Hint: round the scores to fewer distinct values, or fit on a sample."
        )
    a, b = _Side.of(reference), _Side.of(moved)
    turned = len(a.score) > len(b.score)
    short, long = (b, a) if turned else (a, b)
    together = max(1, min(_CELLS // len(short.score), 8 * _BYTES // cells))
    parts = [_run(short, long, lams[k : k + together], turned) for k in range(0, len(lams), together)]
    before, short_wins, long_wins = (np.concatenate(part) for part in zip(*parts))
    if turned:
        return Paths(before[:, ::-1].copy(), long_wins, short_wins)
    places = np.arange(len(b.score))
    above = np.array([np.searchsorted(row, places, side="right") for row in before])
    return Paths(above[:, ::-1].copy(), short_wins, long_wins)


class _Side(NamedTuple):
    """One group from the top down; ``rest[i]`` is the weight of its negatives once i atoms are placed."""

    score: Floats
    positive: Floats
    rest: Floats

    @classmethod
    def of(cls, counts: GroupCounts) -> _Side:
        rest = np.concatenate((np.cumsum(counts.negative)[::-1], [0])).astype(np.float64)
        return cls(counts.score[::-1], counts.positive[::-1].astype(np.float64), rest)


def _run(short: _Side, long: _Side, lams: Floats, turned: bool) -> tuple[Array, Array, Array]:
    """Walk the grid; return how many long atoms stand above each short one, and the wins of both sides."""
    m, n = len(short.score), len(long.score)
    first, last = _diagonals(m, n)
    offsets = np.concatenate(([0], np.cumsum((last - first + 8) // 8))).tolist()
    bits = np.empty((len(lams), offsets[-1]), dtype=np.uint8)
    short_wins, long_wins = _walk(short, long, lams, turned, bits, offsets)
    before = np.array([_way_back(row.tobytes(), offsets, m, n) for row in bits], dtype=np.intp)
    return before, short_wins, long_wins


def _diagonals(m: int, n: int) -> tuple[Array, Array]:
    """Give the first and last inner cell (short side's index i) of the diagonals k = i + j = 2, ..., m + n."""
    k = np.arange(2, m + n + 1)
    return np.maximum(1, k - n), np.minimum(m, k - 1)


def _walk(
    short: _Side, long: _Side, lams: Floats, turned: bool, bits: Array, offsets: list[int]
) -> tuple[Array, Array]:
    """Fill the bits (1: the short side's atom was placed last) and return the wins at the end."""
    m, n = len(short.score), len(long.score)
    # The value times all pairs: its first part is then a whole number, and equal counts have equal values.
    pairs = (short.positive.sum() + long.positive.sum()) * (short.rest[0] + long.rest[0])
    per_short = (lams * (pairs / (short.positive.sum() * long.rest[0])))[:, None]
    per_long = (lams * (pairs / (long.positive.sum() * short.rest[0])))[:, None]
    # Along a diagonal the long side runs backwards.
    long_score, long_positive, long_rest = long.score[::-1], long.positive[::-1], long.rest[:0:-1]
    lower = np.less_equal if turned else np.less

    shape = (len(lams), m + 1)
    wins_short, wins_long, next_short, next_long = (np.zeros(shape) for _ in range(4))
    value_one, value_two, work = (np.empty(shape) for _ in range(3))
    take, equal = (np.empty(shape, dtype=bool) for _ in range(2))
    edge_short = np.concatenate(([0], np.cumsum(short.positive))) * long.rest[0]
    edge_long = np.concatenate(([0], np.cumsum(long.positive))) * short.rest[0]
    wins_long[:, 0] = edge_long[1]
    wins_short[:, 1] = edge_short[1]

    first, last = (side.tolist() for side in _diagonals(m, n))
    for k, lo, hi, begin, end in zip(range(2, m + n + 1), first, last, offsets, offsets[1:]):
        here, back, width = slice(lo, hi + 1), slice(lo - 1, hi), slice(0, hi - lo + 1)
        there = slice(n - k + lo, n - k + hi + 1)
        v1, v2, w = (x[:, width] for x in (value_one, value_two, work))
        t, same = (x[:, width] for x in (take, equal))
        s1, l2 = wins_short[:, here], wins_long[:, back]
        # One: the long atom comes last, from (i, j - 1). Two: the short atom comes last, from (i - 1, j).
        l1 = np.add(wins_long[:, here], long_positive[there] * short.rest[here], out=next_long[:, here])
        s2 = np.add(wins_short[:, back], short.positive[back] * long_rest[there], out=next_short[:, here])
        _values(s1, l1, per_short, per_long, v1, w)
        _values(s2, l2, per_short, per_long, v2, w)
        np.greater(v2, v1, out=t)
        np.equal(v2, v1, out=same)
        same &= lower(short.score[back], long_score[there])
        t |= same
        bits[:, begin:end] = np.packbits(t, axis=1)
        np.copyto(l1, l2, where=t)
        np.copyto(s2, s1, where=np.logical_not(t, out=t))
        if k <= n:
            next_long[:, 0] = edge_long[k]
        if k <= m:
            next_short[:, k] = edge_short[k]
        wins_short, next_short = next_short, wins_short
        wins_long, next_long = next_long, wins_long
    return wins_short[:, m].copy(), wins_long[:, m].copy()


def _values(short: Array, long: Array, per_short: Array, per_long: Array, out: Array, work: Array) -> None:
    """Write the paths' values, times all pairs, to ``out``."""
    np.multiply(short, per_short, out=out)
    np.multiply(long, per_long, out=work)
    out -= work
    np.abs(out, out=out)
    np.add(short, long, out=work)
    np.subtract(work, out, out=out)


def _way_back(bits: bytes, offsets: list[int], m: int, n: int) -> list[int]:
    """Follow the bits from the last cell; return how many long atoms were placed before each short one."""
    before = [0] * m
    i, j = m, n
    while i and j:
        k = i + j
        place = i - max(1, k - n)
        if bits[offsets[k - 2] + (place >> 3)] >> (7 - (place & 7)) & 1:
            i -= 1
            before[i] = j
        else:
            j -= 1
    return before
