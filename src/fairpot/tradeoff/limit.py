"""The limit: the best AUC at each signed xAUC gap over all repairs that keep the order inside each group.

Such a repair only decides how the two orders are merged. Per pair of a block of a (pa, na) and a block of b
(pb, nb), a above b wins ``pa * nb`` pairs and b above a wins ``pb * na``. The weighted sum
``c_ba * wins_ba + c_ab * wins_ab`` is largest if the groups are pooled to blocks of ascending odds (PAV)
and b is put above a where ``theta * odds_b > odds_a``, ``theta = c_ba / c_ab``. Each pair of blocks changes
its order at one theta, ``pa * nb / (pb * na)``, so running sums over the sorted thetas give every vertex.
AUC plus mu times the signed gap never makes both weights negative; where one of them is, the best merge puts
one group entirely above the other. These two merges are the ends of the line, at signed gaps of -1 and 1.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import isotonic_regression

from fairpot._defaults import Ties
from fairpot._optional import make_frame
from fairpot._validation import check_share
from fairpot.counting import as_table
from fairpot.counts import Counts, GroupCounts
from fairpot.metrics.rank import check_ties, place_of
from fairpot.metrics.wins import WinMatrix, half_wins
from fairpot.table import ScoreTable
from fairpot.tradeoff.curve import TradeoffCurve

# With more pairs of blocks than this, only so many thetas are kept, and the loss is bounded.
_MOST_PAIRS = 2_000_000
_KEPT_THETAS = 20_000


class LimitPoint(NamedTuple):
    """One point on the limit; ``theta`` is the factor on b's odds whose merges reach it."""

    theta: float
    auc: float
    gap: float
    signed_gap: float


@dataclass(frozen=True, eq=False)
class Limit:
    """The highest AUC at each signed gap that keeps the order inside each group, on one sample.

    The line is the upper concave envelope of all such repairs: its vertices are merges of the two groups,
    and between two vertices it is reached by choosing between them at random. It is fitted to the labels of
    the sample, so it tells what was possible there, not what a method can promise for new data.

    Attributes
    ----------
    signed_gap, auc : arrays of shape (k,)
        The vertices, ascending in ``signed_gap = xauc_ab - xauc_ba`` from -1 (b entirely above a) to 1.
    theta : array of shape (k,)
        Never rising. Vertex i is the best merge for a factor on b's odds from ``theta[i]`` to ``theta[i - 1]``.
    moved, reference : names of group b and group a
    error : float
        By how much the line may lie too low at most: 0 unless there were too many vertices to keep.
    """

    signed_gap: NDArray[np.float64]
    auc: NDArray[np.float64]
    theta: NDArray[np.float64]
    moved: Hashable
    reference: Hashable
    error: float = 0.0

    @classmethod
    def of(cls, table: ScoreTable, *, reference: Hashable | None = None, ties: Ties = "half") -> Limit:
        """Compute the limit of a labelled table of two groups; see :func:`auc_limit`."""
        _check_table(table)
        table = table.for_pairs()
        a, b = _reference_first(table, reference, ties)
        blocks = [pool(table[g]) for g in (a, b)]
        # A tie inside a group is worth a half, so with ties="half" pooling helps there; with "strict" it costs.
        inside = blocks if ties == "half" else [table[a], table[b]]
        fixed = sum(float(half_wins(g, g, ties)) for g in inside) / 2
        pairs = _Pairs.of(table[a], table[b])
        line = _every_vertex if len(blocks[0].score) * len(blocks[1].score) <= _MOST_PAIRS else _some_vertices
        ab, ba, theta = line(*blocks)
        # Sums of broken weights may exceed their product by a last bit.
        gap = np.clip(np.asarray(ab / pairs.ab - ba / pairs.ba, dtype=np.float64), -1.0, 1.0)
        auc = np.minimum(np.asarray((fixed + (ab + ba)) / pairs.total, dtype=np.float64), 1.0)
        error = 0.0 if line is _every_vertex else _largest_sag(gap, auc, pairs.slope(theta))
        return cls(gap, auc, theta, b, a, error)

    def __len__(self) -> int:
        return len(self.auc)

    def __repr__(self) -> str:
        return (
            f"<Limit of merging {self.moved} into {self.reference}: {len(self)} vertices, AUC at most "
            f"{self.auc.max():.4f}, {self.best(0.0).auc:.4f} without a gap>"
        )

    def auc_at(self, signed_gap: ArrayLike) -> NDArray[np.float64]:
        """Return the highest AUC at each signed gap, in the shape of the input."""
        wanted = np.asarray(signed_gap, dtype=np.float64)
        if not (np.abs(wanted) <= 1 + 1e-9).all():
            raise ValueError("a signed gap is a difference of two xAUCs and must lie in [-1, 1].")
        return np.asarray(np.interp(wanted, self.signed_gap, self.auc))

    def best(self, max_gap: float = 1.0) -> LimitPoint:
        """Return the point of highest AUC whose gap is at most ``max_gap``."""
        share = check_share(max_gap, "max_gap", zero=True)
        gap = float(np.clip(self.signed_gap[np.argmax(self.auc)], -share, share)) + 0.0  # no minus zero
        # Inside an edge the theta at which its two ends are equally good.
        place = max(int(np.searchsorted(self.signed_gap, gap)) - 1, 0)
        return LimitPoint(float(self.theta[place]), float(self.auc_at(gap)), abs(gap), gap)

    def frame(self) -> Any:
        """Return the vertices as a tidy frame (pandas, Polars or PyArrow, whichever is in use)."""
        return make_frame({"signed_gap": self.signed_gap, "auc": self.auc, "theta": self.theta})


def auc_limit(
    y_true: Any,
    y_score: Any,
    *,
    sensitive_features: Any,
    reference: Hashable | None = None,
    sample_weight: Any = None,
    ties: str = "half",
    pos_label: Any = None,
) -> Limit:
    """Compute the line that no repair which keeps the order inside each group can cross.

    Parameters
    ----------
    y_true : column of shape (n,)
        Outcomes, 0/1 or booleans; other two-valued labels with ``pos_label``.
    y_score : column of shape (n,)
        Scores on any scale; rows of a group with equal scores stay together.
    sensitive_features : column of shape (n,)
        Group of each row: two groups, both with positives and negatives.
    reference : name of a group, default None
        Group a of the signed gap; None takes the group that is ahead.
    sample_weight : column of shape (n,), default None
        Weights; a whole weight counts exactly like that many rows.
    ties : {"half", "strict"}, default "half"
        Whether a tie is no win or half a win. Repairs may make ties: with "half" that can help.
    pos_label : default None
        The positive label where ``y_true`` is not 0/1.

    Returns
    -------
    Limit

    Examples
    --------
    >>> from fairpot.tradeoff import auc_limit
    >>> y, sex = [0, 1, 0, 1, 0, 1, 0, 1], ["F"] * 4 + ["M"] * 4
    >>> score = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8]
    >>> line = auc_limit(y, score, sensitive_features=sex)
    >>> line.best(max_gap=0.0)
    LimitPoint(theta=1.0, auc=0.875, gap=0.0, signed_gap=0.0)
    """
    table = as_table(
        y_true, y_score, sensitive_features=sensitive_features, sample_weight=sample_weight, pos_label=pos_label
    )
    return Limit.of(table, reference=reference, ties=check_ties(ties))


def distance_to_limit(curve: TradeoffCurve, limit: Limit) -> NDArray[np.float64]:
    """Compute, for each point of a curve, the AUC left on the table at its signed gap.

    Parameters
    ----------
    curve : TradeoffCurve
        Of any method, evaluated on the very rows the limit was computed from.
    limit : Limit
        With the same convention for ties.

    Returns
    -------
    array of shape (len(curve),)
        Not below 0 but for round-off, if the method keeps the order inside each group. FairPOT without
        ``monotone=True`` may not where it moves a group downwards.

    Examples
    --------
    >>> from fairpot import FairPOT
    >>> from fairpot.tradeoff import auc_limit
    >>> y, sex = [0, 1, 0, 1, 0, 1, 0, 1], ["F"] * 4 + ["M"] * 4
    >>> score = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8]
    >>> curve = FairPOT(0.5, ties="strict").fit(score, y, sensitive_features=sex).tradeoff()
    >>> distance_to_limit(curve, auc_limit(y, score, sensitive_features=sex, ties="strict"))
    array([0.    , 0.    , 0.125 , 0.0625, 0.0625])
    """
    if {*curve.moved, curve.reference} != {limit.moved, limit.reference}:
        raise ValueError(
            f"the curve moves {list(curve.moved)} towards {curve.reference!r}, the limit is that of "
            f"{limit.moved!r} and {limit.reference!r}.\nHint: both must come from the same rows of two groups."
        )
    sign = 1.0 if curve.reference == limit.reference else -1.0
    return limit.auc_at(sign * curve.signed_gap) - curve.auc


def pool(counts: GroupCounts) -> GroupCounts:
    """Pool a group to blocks of ascending share of positives (PAV), each at its lowest score.

    Examples
    --------
    >>> import numpy as np
    >>> from fairpot.counts import GroupCounts
    >>> group = GroupCounts(np.array([0.1, 0.2, 0.3]), np.array([0, 2, 1]), np.array([3, 1, 1]))
    >>> pool(group).positive, pool(group).negative
    (array([0, 3]), array([3, 2]))
    """
    first = block_starts(counts)
    positive, negative = (np.add.reduceat(c, first) for c in (counts.positive, counts.negative))
    return GroupCounts(counts.score[first], positive, negative)


def block_starts(counts: GroupCounts) -> NDArray[np.intp]:
    """Give the place at which each pooled block begins."""
    weight = counts.weight.astype(np.float64)
    fitted = isotonic_regression(counts.positive / weight, weights=weight)
    return np.asarray(fitted.blocks[:-1], dtype=np.intp)


class _Pairs(NamedTuple):
    """How many pairs there are to win: a over b, b over a, all."""

    ab: float
    ba: float
    total: float

    @classmethod
    def of(cls, a: GroupCounts, b: GroupCounts) -> _Pairs:
        p_a, n_a, p_b, n_b = (float(c.sum()) for c in (a.positive, a.negative, b.positive, b.negative))
        return cls(p_a * n_b, p_b * n_a, (p_a + p_b) * (n_a + n_b))

    def slope(self, theta: NDArray[np.float64]) -> NDArray[np.float64]:
        """Give the slope of the line where b's odds are multiplied by theta: minus the multiplier mu."""
        share = np.divide(1.0, 1.0 + theta)  # in place of theta, which may be infinite
        return (1 - 2 * share) / self.total / ((1 - share) / self.ab + share / self.ba)


def _check_table(table: ScoreTable) -> None:
    if len(table.groups) != 2:
        raise ValueError(
            f"the limit is that of two groups, got {len(table.groups)}: {list(table.groups)}.\n"
            "Hint: keep the rows of two groups at a time."
        )
    for what, counts in (("positives", table.positives), ("negatives", table.negatives)):
        empty = [g for g, count in zip(table.groups, counts) if count == 0]
        if empty:
            raise ValueError(
                f"group {empty[0]!r} has no {what}, so that its xAUC is undefined.\n"
                "Hint: the limit needs labelled rows, positives and negatives in both groups."
            )


def _reference_first(table: ScoreTable, reference: Hashable | None, ties: Ties) -> tuple[Hashable, Hashable]:
    """Name a and b: the given reference and the other, or the group that is ahead and the other."""
    if reference is None:
        first, second = WinMatrix.of(table, ties).widest()
        place = int(first < second)
    else:
        place = place_of(table, reference, "reference")
    return table.groups[place], table.groups[1 - place]


def _every_vertex(a: GroupCounts, b: GroupCounts) -> tuple[Counts, Counts, NDArray[np.float64]]:
    """Start with all of b above a, and put a block of a above a block of b at a time, by falling theta."""
    ab = np.outer(a.positive, b.negative).ravel()
    ba = np.outer(a.negative, b.positive).ravel()
    worth = np.flatnonzero((ab > 0) | (ba > 0))
    ab, ba = ab[worth], ba[worth]
    theta = np.divide(ab, ba, out=np.full(len(ab), np.inf), where=ba > 0)
    order = np.argsort(-theta)
    theta = theta[order]
    # Thetas that differ by round-off are one: those vertices would lie inside an edge.
    last = np.append(np.flatnonzero(theta[:-1] > theta[1:] * (1 + 1e-14)), len(theta) - 1)
    gained, lost = (np.concatenate(([0], np.cumsum(c[order])[last])) for c in (ab, ba))
    return gained, lost[-1] - lost, np.append(theta[last], 0.0)


def _some_vertices(a: GroupCounts, b: GroupCounts) -> tuple[Counts, Counts, NDArray[np.float64]]:
    """Find the merges at some thetas, spread evenly over those at which the order changes."""
    odds_a, odds_b = _odds(a), _odds(b)
    theta = _spread(odds_a, odds_b)
    p_b, n_b = (np.concatenate(([0], np.cumsum(c))) for c in (b.positive, b.negative))
    ab, ba = (np.zeros(len(theta), dtype=c.dtype) for c in (p_b, n_b))
    for odds, positive, negative in zip(odds_a, a.positive, a.negative):
        under = np.searchsorted(odds_b, odds / theta, side="left")  # blocks of b with theta * odds_b < odds
        ab += positive * n_b[under]
        ba += negative * (p_b[-1] - p_b[under])
    ends = [0, a.positive.sum() * n_b[-1]], [a.negative.sum() * p_b[-1], 0]
    ab, ba = (np.concatenate(([e[0]], c, [e[1]])) for e, c in zip(ends, (ab, ba)))
    return ab, ba, np.concatenate(([np.inf], theta, [0.0]))


def _spread(odds_a: NDArray[np.float64], odds_b: NDArray[np.float64]) -> NDArray[np.float64]:
    """Choose thetas, falling: quantiles of the ratios of a thousand blocks of each group."""
    few = [o[np.linspace(0, len(o) - 1, min(len(o), 1000)).astype(np.intp)] for o in (odds_a, odds_b)]
    finite = [np.log(o[(o > 0) & (o < np.inf)]) for o in few]
    ratios = np.sort(np.subtract.outer(*finite).ravel())
    chosen = ratios[np.linspace(0, len(ratios) - 1, _KEPT_THETAS).astype(np.intp)]
    widest = np.log([1e-300, 1e300])
    return np.asarray(np.exp(np.unique(np.concatenate((chosen, widest)))[::-1]))


def _odds(blocks: GroupCounts) -> NDArray[np.float64]:
    negative = blocks.negative.astype(np.float64)
    everywhere = np.full(len(negative), np.inf)
    return np.asarray(np.divide(blocks.positive, negative, out=everywhere, where=negative > 0))


def _largest_sag(gap: NDArray[np.float64], auc: NDArray[np.float64], slope: NDArray[np.float64]) -> float:
    """Bound how far the kept chords lie under the true line: to where the tangents of their ends meet."""
    width = np.diff(gap)
    chord = np.divide(np.diff(auc), width, out=np.zeros(len(width)), where=width > 0)
    left, right = np.maximum(slope[:-1], slope[1:]), np.minimum(slope[:-1], slope[1:])
    rise = np.clip(left - chord, 0, None) * np.clip(chord - right, 0, None) * width
    height = np.divide(rise, left - right, out=np.zeros(len(width)), where=left > right)
    return float(height.max(initial=0.0))
