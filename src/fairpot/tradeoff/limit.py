"""The limit: the best AUC at each signed xAUC gap over all repairs that keep the order inside each group.

Such a repair only decides how the two orders are merged. Per pair of a block of a (pa, na) and a block of b
(pb, nb), a above b wins ``pa * nb`` pairs and b above a wins ``pb * na``. The weighted sum
``c_ba * wins_ba + c_ab * wins_ab`` is largest if the groups are pooled to blocks of ascending odds (PAV)
and b is put above a where ``theta * odds_b > odds_a``, ``theta = c_ba / c_ab``. Each pair of blocks changes
its order at one theta, ``pa * nb / (pb * na)``, so running sums over the sorted thetas give every vertex.
AUC plus mu times the signed gap never makes both weights negative; where one of them is, the best merge puts
one group entirely above the other. These two merges are the ends of the line, at signed gaps of -1 and 1.

The line is fitted to the labels it is judged by, so that chance lifts it above what a rule fixed beforehand can reach.
How far, is found by drawing labels anew: from a logistic line of each group along its ranks, for which the best rule
is known. What the limit of the drawn labels has over that rule, at the rule's own gap, is taken off.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, logit, ndtri

from fairpot._defaults import Ties
from fairpot._docs import documented
from fairpot._html import html_table, lines_svg, notes, paragraph
from fairpot._optional import make_frame
from fairpot._shown import display
from fairpot._validation import check_share, wording
from fairpot.counting import as_table
from fairpot.counts import NOBODY, Counts, GroupCounts, Members, rows_worth
from fairpot.inference.dial import thin
from fairpot.inference.shares import FEWEST
from fairpot.metrics.rank import check_ties, place_of
from fairpot.metrics.wins import WinMatrix, half_wins
from fairpot.table import ScoreTable
from fairpot.tradeoff.curve import TradeoffCurve
from fairpot.transport import Floats

if TYPE_CHECKING:
    from fairpot.tradeoff.upper import UpperLimit

# With more pairs of blocks than this, only so many thetas are kept, and the loss is bounded.
_MOST_PAIRS = 2_000_000
_KEPT_THETAS = 20_000
_DRAWS = 10
# Bounds that a notebook shows, and what is said below the picture.
SHOWN = (0.0, 0.02, 0.05, 0.1, 1.0)
KNOWS = "It knows the outcomes of these rows: no interval belongs to it."
_SEED = 20250101  # the optimism is the same in every run
# Labels are drawn at so many scores of a group at most, and judged by so many merges.
_MOST_SCORES = 5_000
_MERGES = 25
_NEWTON_STEPS = 25
_LEAST_SLOPE = 0.01


class LimitPoint(NamedTuple):
    """Hold one point on the limit; ``theta`` is the factor on b's odds whose merges reach it.

    ``reachable`` is ``auc`` without what chance adds to it: what a rule fixed beforehand can be expected to reach. NaN
    where that cannot be estimated.
    """

    theta: float
    auc: float
    gap: float
    signed_gap: float
    reachable: float = np.nan


@documented
@dataclass(frozen=True, eq=False)
class Limit:
    """Hold the highest AUC at each signed gap that keeps the order inside each group, on one sample.

    The line is the upper concave envelope of all such repairs: its vertices are merges of the two groups,
    and between two vertices it is reached by choosing between them at random. It is fitted to the labels of
    the sample: nothing lies above it there, and a rule fixed beforehand lies below it by ``optimism``, on average.

    Attributes
    ----------
    signed_gap, auc : arrays of shape (k,)
        The vertices, ascending in ``signed_gap = xauc_ab - xauc_ba`` from -1 (b entirely above a) to 1.
    theta : array of shape (k,)
        Never rising. Vertex i is the best merge for a factor on b's odds from ``theta[i]`` to ``theta[i - 1]``.
    moved, reference : names of group b and group a
    error : float
        By how much the line may lie too low at most: 0 unless there were too many vertices to keep.
    optimism : array of shape (k,) or None
        How much of ``auc`` chance is expected to add, because the line knows the labels; ``auc - optimism`` is what a
        rule fixed beforehand can reach. None where it cannot be estimated.
    reason : str or None
        Why ``optimism`` is None.

    Examples
    --------
    >>> from fairpot.tradeoff import auc_limit
    >>> from fairpot.datasets import make_synthetic
    >>> data = make_synthetic(1000, random_state=0, as_frame=False)
    >>> score, y, group = data.probability, data.target, data.group
    >>> limit = auc_limit(y, score, sensitive_features=group)
    >>> best = limit.best(max_gap=0.0)
    >>> round(best.auc, 3), round(best.reachable, 3)
    (0.868, 0.852)
    """

    signed_gap: NDArray[np.float64]
    auc: NDArray[np.float64]
    theta: NDArray[np.float64]
    moved: Hashable
    reference: Hashable
    error: float = 0.0
    optimism: NDArray[np.float64] | None = None
    reason: str | None = None

    @classmethod
    def of(cls, table: ScoreTable, *, reference: Hashable | None = None, ties: Ties = "half") -> Limit:
        """Compute the limit of a labelled table of two groups; see :func:`auc_limit`."""
        _check_table(table)
        table = table.for_pairs()
        a, b = _reference_first(table, reference, ties)
        line = _Line.of(table[a], table[b], ties)
        reason = _too_few(table)
        found = None if reason else _optimism(table, ties)
        optimism = None
        if found is not None:
            optimism = np.interp(line.gap if a == table.groups[0] else -line.gap, *found)
        if reason is None and optimism is None:
            reason = "outcomes drawn like these are not both there in every group"
        return cls(line.gap, line.auc, line.theta, b, a, line.error, optimism, reason)

    def __len__(self) -> int:
        return len(self.auc)

    def __repr__(self) -> str:
        even = self.best(0.0)
        reach = "" if self.optimism is None else f", of which {even.reachable:.4f} is within reach"
        return (
            f"<Limit of merging {self.moved} into {self.reference}: {len(self)} vertices, AUC at most "
            f"{self.auc.max():.4f}, {even.auc:.4f} without a gap{reach}>"
        )

    def auc_at(self, signed_gap: ArrayLike) -> NDArray[np.float64]:
        """Return the highest AUC at each signed gap, in the shape of the input.

        Parameters
        ----------
        signed_gap : array
            Gaps: above 0 where the reference group is ranked higher.
        """
        wanted = np.asarray(signed_gap, dtype=np.float64)
        if not (np.abs(wanted) <= 1 + 1e-9).all():
            raise ValueError("a signed gap is a difference of two xAUCs and must lie in [-1, 1].")
        return np.asarray(np.interp(wanted, self.signed_gap, self.auc))

    def reachable_at(self, signed_gap: ArrayLike) -> NDArray[np.float64]:
        """Return the AUC that a rule fixed beforehand can be expected to reach at each signed gap; NaN if not known.

        Parameters
        ----------
        signed_gap : array
            Gaps: above 0 where the reference group is ranked higher.
        """
        highest = self.auc_at(signed_gap)
        if self.optimism is None:
            return np.full(highest.shape, np.nan)
        wanted = np.asarray(signed_gap, dtype=np.float64)
        return np.asarray(highest - np.interp(wanted, self.signed_gap, self.optimism))

    def along(self, curve: TradeoffCurve, *, signed: bool = True) -> dict[str, NDArray[np.float64]]:
        """Give both lines at the gap of each point of a curve; without its sign, whichever group is ranked higher.

        Parameters
        ----------
        curve : TradeoffCurve
            Of the same rows.
        signed : bool, default True
            Whether the sign of the gap counts.
        """
        if {*curve.moved, curve.reference} != {self.moved, self.reference}:
            raise ValueError(
                f"the curve moves {list(curve.moved)} towards {curve.reference!r}, the limit is that of "
                f"{self.moved!r} and {self.reference!r}.\nHint: both must come from the same rows of two groups."
            )
        own = (1.0 if curve.reference == self.reference else -1.0) * curve.signed_gap
        sides = (own,) if signed else (own, -own)
        lines = {"limit_auc": self.auc_at, "reachable_auc": self.reachable_at}
        return {name: np.max([line(gap) for gap in sides], axis=0) for name, line in lines.items()}

    def best(self, max_gap: float = 1.0) -> LimitPoint:
        """Return the point of highest AUC whose gap is at most ``max_gap``.

        {max_gap}
        """
        share = check_share(max_gap, "max_gap", zero=True)
        gap = float(np.clip(self.signed_gap[np.argmax(self.auc)], -share, share)) + 0.0  # no minus zero
        # Inside an edge the theta at which its two ends are equally good.
        place = max(int(np.searchsorted(self.signed_gap, gap)) - 1, 0)
        auc, reachable = float(self.auc_at(gap)), float(self.reachable_at(gap))
        return LimitPoint(float(self.theta[place]), auc, abs(gap), gap, reachable)

    def _repr_html_(self) -> str:
        """Show the line, and what is within reach below it."""
        some = thin(len(self), 200)
        lines = [("best possible", self.signed_gap[some].tolist(), self.auc[some].tolist())]
        if self.optimism is not None:
            lines.append(
                ("within reach", self.signed_gap[some].tolist(), self.reachable_at(self.signed_gap[some]).tolist())
            )
        axes = (f"signed gap, {self.reference} over {self.moved}", "AUC")
        picture = lines_svg(lines, "Best possible AUC over the gap", axes, note=KNOWS)
        rows = [
            {"gap at most": bound, "best possible AUC": p.auc, "within reach": _or_none(p.reachable)}
            for bound in SHOWN
            for p in [self.best(bound)]
        ]
        why = [] if self.reason is None else [f"within reach: not known; {self.reason}"]
        return f"<div>{paragraph(repr(self)[1:-1])}{picture}{html_table(rows)}{notes(why)}</div>"

    def plot(self, ax: Any = None) -> Any:
        """Draw the line over the signed gap, and what is within reach.

        {ax}
        """
        return display("LimitDisplay").from_limit(self, ax=ax).ax_

    def frame(self) -> Any:
        """Return the vertices as a tidy frame (pandas, Polars or PyArrow, whichever is in use)."""
        columns = {"signed_gap": self.signed_gap, "auc": self.auc, "theta": self.theta}
        return make_frame({**columns, "reachable": self.reachable_at(self.signed_gap)})


def _or_none(value: float) -> float | None:
    return None if value != value else value


@documented
def auc_limit(
    y_true: Any,
    y_score: Any = None,
    *,
    sensitive_features: Any = None,
    reference: Hashable | None = None,
    sample_weight: Any = None,
    clusters: Any = None,
    weights: str | None = None,
    ties: str = "half",
    pos_label: Any = None,
) -> Limit | UpperLimit:
    """Compute the line that no repair which keeps the order inside each group can cross.

    It knows the outcomes. ``reachable`` beside it is what a rule fixed beforehand can be expected to reach. With more
    than two groups the limit of the largest gap is a number that no repair exceeds, and that none need have.

    Parameters
    ----------
    y_true : column of shape (n,), or ScoreTable
        Outcomes, 0/1 or booleans; other two-valued labels with ``pos_label``. A table alone is everything.
    y_score : column of shape (n,)
        Scores on any scale; rows of a group with equal scores stay together.
    {sensitive_features}
    reference : name of a group, default None
        Group a of the signed gap; None takes the group that is ranked higher. With more than two groups the gap
        has no sign.
    {sample_weight}
    clusters : column of shape (n,), default None
        What rows have in common that are not independent: their outcomes are drawn alike.
    {weights}
    ties : {"half", "strict"}, default "half"
        Whether a tie is no win or half a win. Repairs may make ties: with "half" that can help.
    {pos_label}

    Returns
    -------
    Limit, or UpperLimit of more than two groups

    Examples
    --------
    >>> from fairpot.tradeoff import auc_limit
    >>> y, sex = [0, 1, 0, 1, 0, 1, 0, 1], ["F"] * 4 + ["M"] * 4
    >>> score = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8]
    >>> line = auc_limit(y, score, sensitive_features=sex)
    >>> line.best(max_gap=0.0)
    LimitPoint(theta=1.0, auc=0.875, gap=0.0, signed_gap=0.0, reachable=nan)
    >>> line.reason
    "what chance adds to the limit needs 5 rows with the outcome in every group, and group 'F' has 2"
    """
    columns = {"sensitive_features": sensitive_features, "sample_weight": sample_weight, "clusters": clusters}
    table = as_table(y_true, y_score, **columns, weights=weights, pos_label=pos_label)
    checked = check_ties(ties)
    if len(table.groups) < 3:
        return Limit.of(table, reference=reference, ties=checked)
    from fairpot.tradeoff.upper import UpperLimit  # made of limits of two groups

    if reference is not None:
        place_of(table, reference, "reference")
    return UpperLimit.of(table, ties=checked)


def distance_to_limit(
    curve: TradeoffCurve, limit: Limit | UpperLimit, *, corrected: bool = True
) -> NDArray[np.float64]:
    """Compute, for each point of a curve, the AUC left on the table at its signed gap.

    Parameters
    ----------
    curve : TradeoffCurve
        Of any method, on the same rows as the limit.
    limit : Limit or UpperLimit
        With the same convention for ties. Of more than two groups no more than the distance is left.
    corrected : bool, default True
        Whether what chance adds to the limit is taken off (:meth:`Limit.reachable_at`). Without that, the distance is
        the one to the best repair of these rows that knows their outcomes. What chance adds is not estimated for
        more than two groups: NaN.

    Returns
    -------
    array of shape (len(curve),)
        Below 0, the point has more AUC than a rule fixed beforehand is expected to have at its gap: by chance, or
        because it was fitted to these rows, or chosen on them. Nothing is left on the table that these rows could
        show. NaN where what chance adds cannot be estimated (``limit.reason``).
        With ``corrected=False`` not below 0 but for round-off, if the method keeps the order inside each group.
        FairPOT without ``monotone=True`` may not where it moves a group downwards.

    Examples
    --------
    >>> from fairpot import FairPOT
    >>> from fairpot.tradeoff import auc_limit, distance_to_limit
    >>> y, sex = [0, 1, 0, 1, 0, 1, 0, 1], ["F"] * 4 + ["M"] * 4
    >>> score = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8]
    >>> curve = FairPOT(0.5, ties="strict").fit(score, y, sensitive_features=sex).tradeoff()
    >>> limit = auc_limit(y, score, sensitive_features=sex, ties="strict")
    >>> distance_to_limit(curve, limit, corrected=False)
    array([0.    , 0.    , 0.125 , 0.0625, 0.0625])
    """
    return limit.along(curve)["reachable_auc" if corrected else "limit_auc"] - curve.auc


def pool(counts: GroupCounts) -> GroupCounts:
    """Pool a group to blocks of ascending share of positives (PAV), each at its lowest score."""
    first = block_starts(counts)
    positive, negative = (np.add.reduceat(c, first) for c in (counts.positive, counts.negative))
    return GroupCounts(counts.score[first], positive, negative)


def block_starts(counts: GroupCounts) -> NDArray[np.intp]:
    """Give the place at which each pooled block begins."""
    from scipy.optimize import isotonic_regression  # takes a while to load

    weight = counts.weight.astype(np.float64)
    fitted = isotonic_regression(counts.positive / weight, weights=weight)
    return np.asarray(fitted.blocks[:-1], dtype=np.intp)


class _Line(NamedTuple):
    """The vertices of the best merges of two groups, and by how much the line may lie too low."""

    gap: NDArray[np.float64]
    auc: NDArray[np.float64]
    theta: NDArray[np.float64]
    error: float

    @classmethod
    def of(cls, a: GroupCounts, b: GroupCounts, ties: Ties) -> _Line:
        blocks = [pool(a), pool(b)]
        # A tie inside a group is worth a half, so with ties="half" pooling helps there; with "strict" it costs.
        fixed = _inside(blocks if ties == "half" else [a, b], ties)
        total = _Pairs.of(a, b).total
        gap, wins, theta, error = line_of_two(*blocks)
        return cls(gap, np.minimum((fixed + wins) / total, 1.0), theta, error / total)


def line_of_two(a: GroupCounts, b: GroupCounts) -> tuple[Floats, Floats, Floats, float]:
    """Give signed gap, cross wins and theta of the best merges of two pooled groups, and wins that may be missing."""
    pairs = _Pairs.of(a, b)
    line = _every_vertex if len(a.score) * len(b.score) <= _MOST_PAIRS else _some_vertices
    ab, ba, theta = line(a, b)
    gap, auc = pairs.measure(ab, ba, 0.0)
    error = 0.0 if line is _every_vertex else _largest_sag(gap, auc, pairs.slope(theta)) * pairs.total
    return gap, np.asarray(ab + ba, dtype=np.float64), theta, error


def _inside(groups: list[GroupCounts], ties: Ties) -> float:
    """Count the pairs that are won inside the groups, which no merge changes."""
    return sum(float(half_wins(g, g, ties)) for g in groups) / 2


def mean_line(lines: Sequence[tuple[Floats, Floats]]) -> tuple[Floats, Floats, NDArray[np.intp]]:
    """Give the highest mean for each mean signed gap, over all choices of a point on each of some concave lines.

    The best choice has the same slope on each: their edges, a share of each, are laid one after another from the
    steepest down. The last is their order, among all edges, line by line.
    """
    width, rise = (np.concatenate([np.diff(line[k]) for line in lines]) for k in (0, 1))
    kept = np.flatnonzero(width > 0)
    order = kept[np.argsort(-rise[kept] / width[kept], kind="stable")]
    gap, value = (
        np.mean([line[k][0] for line in lines]) + np.append(0.0, np.cumsum(steps[order]) / len(lines))
        for k, steps in enumerate((width, rise))
    )
    return np.clip(gap, -1.0, 1.0), value, order


class _Pairs(NamedTuple):
    """How many pairs there are to win: a over b, b over a, all."""

    ab: float
    ba: float
    total: float

    @classmethod
    def of(cls, a: GroupCounts, b: GroupCounts) -> _Pairs:
        p_a, n_a, p_b, n_b = (float(c.sum()) for c in (a.positive, a.negative, b.positive, b.negative))
        return cls(p_a * n_b, p_b * n_a, (p_a + p_b) * (n_a + n_b))

    def measure(self, ab: Counts, ba: Counts, fixed: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Give signed gap and AUC of merges that win so many pairs."""
        # Sums of broken weights may exceed their product by a last bit.
        gap = np.clip(np.asarray(ab / self.ab - ba / self.ba, dtype=np.float64), -1.0, 1.0)
        return gap, np.minimum(np.asarray((fixed + (ab + ba)) / self.total, dtype=np.float64), 1.0)

    def slope(self, theta: NDArray[np.float64]) -> NDArray[np.float64]:
        """Give the slope of the line where b's odds are multiplied by theta: minus the multiplier mu."""
        share = np.divide(1.0, 1.0 + theta)  # in place of theta, which may be infinite
        return (1 - 2 * share) / self.total / ((1 - share) / self.ab + share / self.ba)


def _check_table(table: ScoreTable) -> None:
    if len(table.groups) != 2:
        raise ValueError(
            f"one line is the limit of two groups, got {len(table.groups)}: {list(table.groups)}.\n"
            "Hint: auc_limit knows what more than two cannot exceed."
        )
    require_both_outcomes(table)


def require_both_outcomes(table: ScoreTable) -> None:
    """Insist on positives and negatives in every group."""
    for what, counts in zip(wording.BOTH_OUTCOMES, (table.positives, table.negatives)):
        empty = [g for g, count in zip(table.groups, counts) if count == 0]
        if empty:
            raise ValueError(
                f"group {empty[0]!r} has no {what}, so that its xAUC is undefined.\n"
                "Hint: the limit needs rows with and without the outcome in every group."
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


def _too_few(table: ScoreTable) -> str | None:
    """Say which group has too few independent rows of an outcome to draw labels for; None if all have enough."""
    for what, units in zip(wording.BOTH_OUTCOMES, table.independent):
        for group, found in zip(table.groups, units):
            if found < FEWEST - 1e-9:
                counted = what if table.units is None else what.replace("rows", "clusters")
                needs = f"what chance adds to the limit needs {FEWEST} {counted} in every group"
                return f"{needs}, and group {group!r} has {found:.3g}"
    return None


def _optimism(table: ScoreTable, ties: Ties) -> tuple[Floats, Floats] | None:
    """Give signed gaps, ascending, and how far the limit of labels like these lies above the best fixed rule there.

    Signs are those of the table's first group as the reference, whichever is: the same rows have the same optimism.
    """
    table = table._with(_thinned(c) for c in table.counts)
    lots = [_Lot.of(c) for c in table.counts]
    merges = _Merges.of(*(lot.log_odds for lot in lots))
    found = []
    for a, b in _drawings(table, lots):
        gap, auc = merges.measure(a, b, ties)
        line = _Line.of(a, b, ties)
        found.append((gap, np.interp(gap, line.gap, line.auc) - auc))
    if not found:
        return None
    gap, above = np.mean(found, axis=0)
    return gap, above


def _thinned(counts: GroupCounts) -> GroupCounts:
    """Join neighbours where there are too many scores."""
    if len(counts.score) <= _MOST_SCORES:
        return counts
    part = np.minimum((_ranks(counts) * _MOST_SCORES).astype(np.intp), _MOST_SCORES - 1)
    first = np.append(0, np.flatnonzero(np.diff(part)) + 1)
    return counts.merged(first, counts.score[first])


def _ranks(counts: GroupCounts) -> Floats:
    """Give the share of the group below each score, half of its own included."""
    weight = counts.weight.astype(np.float64)
    return np.asarray((np.cumsum(weight) - weight / 2) / weight.sum())


def _log_odds(counts: GroupCounts, rows: int) -> Floats:
    """Fit log-odds that rise in a straight line with the normal quantile of the rank, whatever the scale of scores."""
    z, scale = ndtri(_ranks(counts)), rows / counts.weight.sum()
    weight, positive = counts.weight * scale, counts.positive * scale
    sides = np.stack((np.ones(len(z)), z))
    # A tenth of a row holds the slope to 0, so that outcomes which the scores part have an end.
    hold = np.array([0.0, 0.1])
    found = np.array([logit(positive.sum() / weight.sum()), 0.0])
    for _ in range(_NEWTON_STEPS):
        chance = expit(found @ sides)
        bend = (sides * (weight * chance * (1 - chance))) @ sides.T + np.diag(hold + 1e-9)
        step = np.linalg.solve(bend, sides @ (positive - weight * chance) - hold * found)
        size = float(np.abs(step).max())
        found = found + step * min(1.0, 2.0 / max(size, 1e-300))
        if size < 1e-6:
            break
    # A line that falls is no order to keep: the best rule ties the group, as a line that hardly rises all but does.
    return np.asarray(found[0] + max(found[1], _LEAST_SLOPE) * z)


class _Merges(NamedTuple):
    """Rules fixed beforehand: how many scores of a each score of b is put above, one row a merge."""

    under: NDArray[np.intp]

    @classmethod
    def of(cls, log_odds_a: Floats, log_odds_b: Floats) -> _Merges:
        """Spread the thetas evenly over those at which the order changes, from all of b above a to all below."""
        few = [o[np.linspace(0, len(o) - 1, min(len(o), 60)).astype(np.intp)] for o in (log_odds_a, log_odds_b)]
        ratios = np.quantile(np.subtract.outer(*few), np.linspace(1, 0, _MERGES))
        log_theta = np.concatenate(([np.inf], ratios, [-np.inf]))
        return cls(np.stack([np.searchsorted(log_odds_a, log_odds_b + t) for t in log_theta]))

    def measure(self, a: GroupCounts, b: GroupCounts, ties: Ties) -> tuple[Floats, Floats]:
        """Give signed gap and AUC of each merge."""
        positive, negative = (np.concatenate(([0], np.cumsum(c))) for c in (a.positive, a.negative))
        ab = np.array([np.dot(b.negative, positive[-1] - positive[under]) for under in self.under])
        ba = np.array([np.dot(b.positive, negative[under]) for under in self.under])
        return _Pairs.of(a, b).measure(ab, ba, _inside([a, b], ties))


class _Lot(NamedTuple):
    """What outcomes of one group are drawn from: its rows at each score, and what a row counts with either outcome."""

    score: Floats
    log_odds: Floats
    rows: NDArray[np.int64]
    weights: tuple[Floats, Floats]  # of a row at each score if it is a positive, or a negative
    typical: tuple[float, float]

    @classmethod
    def of(cls, counts: GroupCounts) -> _Lot:
        """Take as many rows as the weights are worth; weights may depend on the outcome, as in case-control studies."""
        sides = counts.positive, counts.negative
        rows = [rows_worth(w, counts.squared(k == 0)) for k, w in enumerate(sides)]
        one, other = (float(w.sum() / m.sum()) for w, m in zip(sides, rows))
        heavy = counts.weight / (rows[0] * one + rows[1] * other)
        log_odds = _log_odds(counts, int(rows[0].sum() + rows[1].sum()))
        return cls(counts.score, log_odds, rows[0] + rows[1], (heavy * one, heavy * other), (one, other))

    @property
    def chance(self) -> Floats:
        """The chance that a row is a positive; the odds of weights are not those of rows."""
        return np.asarray(expit(self.log_odds - np.log(self.typical[0] / self.typical[1])))

    def draw(self, generator: np.random.Generator) -> GroupCounts:
        """Draw the outcomes of rows that are independent."""
        positive = generator.binomial(self.rows, self.chance)
        return GroupCounts(self.score, positive * self.weights[0], (self.rows - positive) * self.weights[1])

    def draw_alike(
        self, members: tuple[Members, Members], common: Floats, alike: float, generator: np.random.Generator
    ) -> GroupCounts:
        """Draw the outcomes of rows that belong together: a share of them by what their cluster has in common."""
        unit, entry = (np.concatenate((getattr(members[0], k), getattr(members[1], k))) for k in ("unit", "entry"))
        size = np.concatenate([m.weight / typical for m, typical in zip(members, self.typical)])
        decided = np.where(generator.random(len(unit)) < alike, common[unit], generator.random(len(unit)))
        positive = decided < self.chance[entry]
        drawn = [
            np.bincount(entry, weights=typical * size * kept, minlength=len(self.score))
            for typical, kept in zip(self.typical, (positive, ~positive))
        ]
        return GroupCounts(self.score, drawn[0], drawn[1])


def _drawings(table: ScoreTable, lots: list[_Lot]) -> Iterator[list[GroupCounts]]:
    """Draw outcomes of the same rows, some times over; draws without both outcomes in a group are left out."""
    generator, alike = np.random.default_rng(_SEED), _alike(table, [lot.chance for lot in lots])
    for _ in range(_DRAWS):
        if table.units is None:
            drawn = [lot.draw(generator) for lot in lots]
        else:
            common = generator.random(table.units.size)
            members = [c.members or (NOBODY, NOBODY) for c in table.counts]
            drawn = [lot.draw_alike(m, common, alike, generator) for lot, m in zip(lots, members)]
        if all(c.positive.sum() > 0 and c.negative.sum() > 0 for c in drawn):
            yield drawn


def _alike(table: ScoreTable, chances: list[Floats]) -> float:
    """Find the share of rows that take what their cluster has in common: the root of the correlation inside them."""
    rows = table.clusters
    if rows is None:
        return 0.0
    chance = np.concatenate(chances)[np.append(0, np.cumsum([len(p) for p in chances]))[rows.group] + rows.entry]
    parts = rows.weight * (rows.positive - chance), rows.weight * np.sqrt(chance * (1 - chance))
    together, apart = (
        np.sum(np.bincount(rows.unit, weights=part, minlength=rows.size) ** 2) - np.sum(part**2) for part in parts
    )
    return float(np.sqrt(np.clip(together / apart, 0.0, 1.0))) if apart > 0 else 0.0
