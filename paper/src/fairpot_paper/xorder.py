"""XOrder: place one group's scores between another's by dynamic programming (Cui et al., 2023)."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fairpot._defaults import Ties
from fairpot._docs import documented
from fairpot.counts import GroupCounts
from fairpot.repair.estimator import OwnStrength, Repair
from fairpot.repair.family import Dial, Family
from fairpot.repair.groups import find_reference, in_rows, require_outcomes
from fairpot.table import ScoreTable
from fairpot.transport import Floats, ScoreMap

DIAL = Dial(
    "lam",
    meaning="weight of the gap beside the AUC",
    symbol="λ",
    setting="{dial} = {value}: weight of the gap in the search",
)

# Cells of lambdas worked on together (vectors of this length stay in the processor's cache), and all that are kept;
# and bits for the way back.
_CELLS, _ROWS, _BYTES = 16_384, 2**22, 2**28
# More cells fill 2 GB for one lambda; more than the second take minutes, and are walked only if asked for by name.
MAX_CELLS, MOST_CELLS = 2**34, 10**8
# Nearly all that xOrder's dial does happens near 0, more so the smaller a group is.
SMALL_LAMS = np.array([0, 5e-4, 1e-3, 2e-3, 3e-3, 5e-3, 0.01, 0.015, 0.02, 0.03, 0.05, 0.1, 1])
_GRID = np.union1d(SMALL_LAMS, np.arange(11) / 10)
# Up to so many cells of any two groups all strengths of a curve are searched for at once; up to so many of all, more
# strengths between two, and how many.
_SHARED, _TOGETHER, _FINER = 4_000_000, 1_000_000, 9


def learn(table: ScoreTable, *, reference: Hashable | None = None, ties: Ties = "half") -> Family:
    """Learn the best place of every group's scores among the reference's, for any weight lam of the gap."""
    require_outcomes(table)
    reference = find_reference(table, reference, ties)
    rows = in_rows(table)
    found: dict[tuple[Hashable, float], ScoreMap] = {}
    wanted: set[float] = set()
    cells = [len(rows[g].score) * len(rows[reference].score) for g in table.groups if g != reference]
    few = max(cells) <= _SHARED

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
    >>> from fairpot_paper import XOrder
    >>> score, sex = [0.9, 0.7, 0.4, 0.2, 0.5, 0.3, 0.2, 0.1], ["M"] * 4 + ["F"] * 4
    >>> repair = XOrder(lam=0.5).fit(score, [1, 1, 0, 0, 1, 1, 0, 0], sensitive_features=sex)
    >>> repair.transform(score, sensitive_features=sex).round(3)
    array([0.9  , 0.7  , 0.4  , 0.2  , 0.6  , 0.5  , 0.167, 0.133])
    """

    dial: ClassVar[Dial] = DIAL
    lam_ = OwnStrength()
    learn = staticmethod(learn)
    _moves_by: ClassVar[str] = "moved to its place among the scores of {reference}"
    _needs_outcomes: ClassVar[bool] = True
    _costly: ClassVar[bool] = True

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
    steps = _with_outer_steps(reference.score, moved.score)
    return [ScoreMap(moved.score, evenly_between(steps, above)) for above in xorder_orders(reference, moved, lams)]


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


def xorder_orders(reference: GroupCounts, moved: GroupCounts, lams: Floats) -> NDArray[np.intp]:
    """Find for each lambda, a row each, how many reference atoms to place above each moved atom, ascending.

    It is a dynamic programme. The value of a path is ``(ab + ba) / pairs - lam * |ab / pairs_ab - ba / pairs_ba|`` with
    its counts so far, ``pairs`` being all pairs of a positive and a negative, those inside a group included. Of two
    predecessors of equal value the one that agrees with the scores as they were is kept.
    """
    cells = len(reference.score) * len(moved.score)
    if cells > MAX_CELLS:
        raise ValueError(
            f"xOrder would walk a grid of {len(reference.score)} x {len(moved.score)} distinct scores, "
            f"{cells:.2g} cells; the limit is {MAX_CELLS:.2g}.\n"
            "Hint: round the scores to fewer distinct values, or fit on a sample."
        )
    b, a = _Side.of(moved), _Side.of(reference)
    diagonal = min(len(a.score), len(b.score))
    together = max(1, min(_CELLS // diagonal, _ROWS // len(b.score), 8 * _BYTES // cells))
    return np.concatenate([_walk(b, a, lams[k : k + together]) for k in range(0, len(lams), together)])[:, ::-1].copy()


class _Side(NamedTuple):
    """One group from the top down; ``rest[i]`` is the weight of its negatives once i atoms are placed."""

    score: Floats
    positive: Floats
    rest: Floats

    @classmethod
    def of(cls, counts: GroupCounts) -> _Side:
        rest = np.concatenate((np.cumsum(counts.negative)[::-1], [0])).astype(np.float64)
        return cls(counts.score[::-1], counts.positive[::-1].astype(np.float64), rest)

    def alone(self, other: _Side) -> Floats:
        """Give the pairs won while none of the other side is placed."""
        return np.concatenate(([0], np.cumsum(self.positive))) * other.rest[0]


def _walk(b: _Side, a: _Side, lams: Floats) -> NDArray[np.intp]:
    """Walk the grid; return how many atoms of a stand above each of b.

    Cell (i, j) has i atoms of b and j of a placed. Diagonal after diagonal, i + j = k, is worked out at once; what is
    known of a cell stands at the place i.
    """
    m, n = len(b.score), len(a.score)
    # The value times all pairs: its first part is then a whole number, and equal counts have equal values.
    pairs = (b.positive.sum() + a.positive.sum()) * (b.rest[0] + a.rest[0])
    per_b = (lams * (pairs / (b.positive.sum() * a.rest[0])))[:, None]
    per_a = (lams * (pairs / (a.positive.sum() * b.rest[0])))[:, None]

    def value(won_b: Floats, won_a: Floats) -> Floats:
        return won_b + won_a - np.abs(won_b * per_b - won_a * per_a)

    # Along a diagonal a runs backwards.
    a_score, a_positive, a_rest = a.score[::-1], a.positive[::-1], a.rest[:0:-1]
    alone_b, alone_a = b.alone(a), a.alone(b)
    wins_b, wins_a = np.zeros((2, len(lams), m + 1))
    b_last = []
    for k in range(1, m + n + 1):
        low, high = max(1, k - n), min(m, k - 1)
        here, before, there = slice(low, high + 1), slice(low - 1, high), slice(n - k + low, n - k + high + 1)
        # Either a's atom was placed last, from (i, j - 1), or b's, from (i - 1, j).
        first = wins_b[:, here], wins_a[:, here] + a_positive[there] * b.rest[here]
        second = wins_b[:, before] + b.positive[before] * a_rest[there], wins_a[:, before]
        one, two = value(*first), value(*second)
        taken = (two > one) | ((two == one) & (b.score[before] <= a_score[there]))
        b_last.append(np.packbits(taken, axis=1))
        wins_b[:, here], wins_a[:, here] = (np.where(taken, s, f) for f, s in zip(first, second))
        if k <= n:
            wins_a[:, 0] = alone_a[k]
        if k <= m:
            wins_b[:, k] = alone_b[k]
    starts = np.cumsum([0, *(bits.shape[1] for bits in b_last)]).tolist()
    above = [_way_back(bits.tobytes(), starts, m, n) for bits in np.concatenate(b_last, axis=1)]
    return np.array(above, dtype=np.intp)


def _way_back(b_last: bytes, starts: list[int], m: int, n: int) -> list[int]:
    """Follow the bits of all diagonals from the last cell; return how many of a were placed before each of b."""
    before = [0] * m
    i, j = m, n
    while i and j:
        place = i - max(1, i + j - n)
        if b_last[starts[i + j - 1] + (place >> 3)] >> (7 - (place & 7)) & 1:
            i -= 1
            before[i] = j
        else:
            j -= 1
    return before
