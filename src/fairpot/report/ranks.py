"""AUC and gaps with their limits at every setting of the dial: an audit's where there is one, else counted here."""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from math import nan

import numpy as np

from fairpot._defaults import LEVEL, Ties
from fairpot.inference import Estimate
from fairpot.inference.dial import DialEstimates, Top, estimate_steps
from fairpot.inference.shares import GapEstimates, ShareEstimates
from fairpot.metrics.wins import WinMatrix, inner_half_wins
from fairpot.report.content import Ranks
from fairpot.report.dial import Dial
from fairpot.results.ranking import MOST_GROUPS, Pair, Ranking, headline_limits, large_groups
from fairpot.table import ScoreTable
from fairpot.transport import Floats

# So many gaps of pairs are estimated together.
_TOGETHER = 300
_TAIL = (1 - LEVEL) / 2
_UNKNOWN = "groups are too many or too small for it away from the reported setting"


@dataclass(frozen=True, eq=False)
class Counted:
    """What was counted at one setting: AUC and every xAUC, and the groups that can carry a headline."""

    auc: float
    xauc: Floats  # groups x groups, NaN without pairs
    large: list[int]

    @classmethod
    def of(cls, matrix: WinMatrix, large: list[int]) -> Counted:
        """Read them off wins."""
        total = float(matrix.pairs.sum())
        return cls(float(matrix.half_wins.sum()) / 2 / total if total else float("nan"), _shares_won(matrix), large)


def _shares_won(matrix: WinMatrix) -> Floats:
    pairs = matrix.pairs
    return np.asarray(np.divide(matrix.half_wins / 2, pairs, out=np.full(pairs.shape, np.nan), where=pairs > 0))


def count_at(dial: Dial, place: int, after: ScoreTable, ties: Ties, large: list[int]) -> Counted:
    """Read AUC and xAUC of all rows off the exact curve where it has them, else count them."""
    point = dial.point(place)
    if point is None or dial.top is not None or dial.curve is None or len(after.groups) != 2:
        return Counted.of(WinMatrix.of(after, ties), large)
    a = after.groups.index(dial.curve.reference)
    counts = after.for_pairs()
    inside = np.diag([float(inner_half_wins(c, ties)) for c in counts.counts])
    xauc = _shares_won(WinMatrix(after.groups, inside, counts.positives, counts.negatives))
    xauc[a, 1 - a], xauc[1 - a, a] = point.xauc_ab, point.xauc_ba
    return Counted(point.auc, xauc, large)


def count_top(dial: Dial, after: ScoreTable, ties: Ties, whole: Ranking) -> Counted:
    """Count the same in the top that the report is about."""
    assert dial.top is not None
    inside = after.top(*dial.top)
    return Counted.of(WinMatrix.of(inside, ties), large_groups(inside, whole.small_groups))


@dataclass(frozen=True, eq=False)
class _Known:
    """What is estimated at one setting: AUC, and both directions of every two of some groups."""

    groups: Sequence[int]
    auc: ShareEstimates
    xauc: ShareEstimates


def ranks(people: ScoreTable, dial: Dial, counted: Sequence[Counted], like: Ranking, ties: Ties) -> list[Ranks]:
    """Put limits beside what was counted at every setting; pairs are those of ``like``, and seen as there."""
    top = None if like.top is None else Top(like.top.alpha, like.top.region)
    known = _estimated(people, dial, counted, ties, top)
    return [_with_limits(people.groups, like, *each) for each in zip(counted, known)]


def _estimated(
    people: ScoreTable, dial: Dial, counted: Sequence[Counted], ties: Ties, top: Top | None
) -> Sequence[_Known | None]:
    """Estimate all pairs at every setting, else those of large groups; None where nothing is honest."""
    measurable = bool((people.positives > 0).all() and (people.negatives > 0).all())
    none = [None] * len(counted)
    if len(dial) < 2 or len(people.groups) > MOST_GROUPS or not measurable:
        return none
    every, large = list(range(len(people.groups))), counted[0].large
    found = _among(people, dial, counted, every, ties, top)
    if found is None and top is None and 2 <= len(large) < len(every):
        found = _among(people, dial, counted, large, ties, top)
    return none if found is None else found


def _among(
    people: ScoreTable, dial: Dial, counted: Sequence[Counted], groups: Sequence[int], ties: Ties, top: Top | None
) -> list[_Known] | None:
    table = people.only([people.groups[g] for g in groups])
    pairs = list(itertools.combinations(groups, 2))
    cells = [cell for g, h in pairs for cell in ((g, h), (h, g))]
    # A covariance of all settings at once would be large, and only those inside a setting are used.
    together = max(1, _TOGETHER // len(pairs))
    found: list[_Known] = []
    for start in range(0, len(dial), together):
        places = range(start, min(start + together, len(dial)))
        some = [counted[place] for place in places]
        exact = np.array([each.auc for each in some]), np.array([[s.xauc[cell] for cell in cells] for s in some])
        estimates: DialEstimates = estimate_steps(
            table,
            lambda given: map(dial.maps, given),
            places,
            ties=ties,
            exact=exact if top is None else None,
            top=top,
        )
        if estimates.reason is not None:
            return None
        found += [_Known(groups, *estimates.shares_at(k)) for k in range(len(places))]
    return found


def _with_limits(groups: Sequence[Hashable], like: Ranking, counted: Counted, known: _Known | None) -> Ranks:
    """Make estimates of what was counted at one setting."""
    auc = _auc(counted, known, len(groups))
    cells, gaps = _cells(counted, known)
    told = _largest(groups, counted.large, known, gaps)
    # Pairs that were chosen for their size have limits that allow for it: of all groups, and of large ones.
    chosen = {
        frozenset(each.groups or ()): each
        for each in (_largest(groups, range(len(groups)), known, gaps), told)
        if each is not None
    }
    places = {group: g for g, group in enumerate(groups)}
    pairs = []
    for pair in like.gaps:
        i, j = places[pair.first], places[pair.second]
        gap, own = gaps[i, j], chosen.get(frozenset((pair.first, pair.second)))
        if own is not None:
            gap = own if own.groups == (pair.first, pair.second) else own.reversed()
        pairs.append(Pair(pair.first, pair.second, cells[i, j], cells[j, i], gap))
    return Ranks(auc, told, tuple(pairs))


def _auc(counted: Counted, known: _Known | None, groups: int) -> Estimate | None:
    if np.isnan(counted.auc):
        return None
    if known is None or len(known.groups) < groups:  # what was estimated is the AUC of some groups
        return Estimate("auc", counted.auc, reason=_UNKNOWN)
    [low], [high] = known.auc.limits(_TAIL)
    return Estimate("auc", counted.auc, float(known.auc.se[0]), float(low), float(high))


Cells = dict[tuple[int, int], Estimate | None]


def _cells(counted: Counted, known: _Known | None) -> tuple[Cells, Cells]:
    """Give every xAUC and every gap, as far as they can be measured, with limits where they are known."""
    size = range(len(counted.xauc))
    values = {(i, j): float(counted.xauc[i, j]) for i in size for j in size if i != j}
    cells: Cells = {at: None if np.isnan(v) else Estimate("xauc", v, reason=_UNKNOWN) for at, v in values.items()}
    gap = {(i, j): v - values[j, i] for (i, j), v in values.items()}
    gaps: Cells = {at: None if np.isnan(v) else Estimate("gap", v, signed=v, reason=_UNKNOWN) for at, v in gap.items()}
    if known is None:
        return cells, gaps
    each = GapEstimates.side_by_side(known.xauc)
    (low, high), (first, last) = known.xauc.limits(_TAIL), each.limits(_TAIL)
    for k, (i, j) in enumerate(itertools.combinations(known.groups, 2)):
        for side, at in ((2 * k, (i, j)), (2 * k + 1, (j, i))):
            se = float(known.xauc.se[side])
            cells[at] = Estimate("xauc", values[at], se, float(low[side]), float(high[side]))
        found = Estimate("gap", gap[i, j], float(each.se[k]), float(first[k]), float(last[k]), signed=gap[i, j])
        gaps[i, j], gaps[j, i] = found, found.reversed()
    return cells, gaps


def _largest(groups: Sequence[Hashable], among: Sequence[int], known: _Known | None, gaps: Cells) -> Estimate | None:
    """Give the largest gap between some groups, seen from the group ranked higher, as an audit does."""
    pairs = [pair for pair in itertools.combinations(among, 2) if gaps[pair] is not None]
    if not pairs:
        return None
    pairs.sort(key=lambda pair: -abs(gaps[pair] or 0.0))
    place, ends = 0, (nan, nan)
    reason: str | None = _UNKNOWN
    if known is not None and set(among) <= set(known.groups):
        order = list(itertools.combinations(known.groups, 2))
        each = GapEstimates.side_by_side(known.xauc).take([order.index(pair) for pair in pairs])
        place, *both = headline_limits(each, _TAIL)
        ends, reason = (both[0], both[1]), None
    i, j = pairs[place]
    found = gaps[i, j]
    assert found is not None
    i, j = (i, j) if found >= 0 else (j, i)
    size, names = abs(float(found)), (groups[i], groups[j])
    return Estimate("gap", size, found.se, *ends, LEVEL, "analytic", size, names, reason)
