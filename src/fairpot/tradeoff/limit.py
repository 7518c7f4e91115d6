"""The limit: the best AUC at each gap over all repairs that keep the order inside each group.

Such a repair only decides how the orders of the groups are merged. Of a block of a (pa, na) and one of b (pb, nb), a
above b wins ``pa * nb`` pairs and b above a wins ``pb * na``. The sum ``c_ba * wins_ba + c_ab * wins_ab`` is largest if
the groups are pooled to blocks of ascending odds (PAV) and b is put above a where ``theta * odds_b > odds_a``,
``theta = c_ba / c_ab``. Each two blocks change their order at one theta, ``pa * nb / (pb * na)``, so running sums over
the sorted thetas give every vertex. At the ends of the line, at signed gaps of -1 and 1, one group is entirely above
the other.
"""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Unpack

import numpy as np
from numpy.typing import ArrayLike

from fairpot._arguments import by_name
from fairpot._defaults import Ties
from fairpot._docs import documented
from fairpot._html import html_table, paragraph
from fairpot._optional import make_frame
from fairpot._said import Said
from fairpot._validation import check_share, wording
from fairpot.counting import as_table, compared
from fairpot.counts import GroupCounts
from fairpot.metrics.rank import check_ties, place_of
from fairpot.metrics.wins import WinMatrix, inner_half_wins
from fairpot.table import ScoreTable
from fairpot.tradeoff.curve import TradeoffCurve
from fairpot.transport import Floats

# Bounds that a notebook shows and that a frame lists, and what is said of them.
_SHOWN = (0.0, 0.02, 0.05, 0.1, 1.0)
_LISTED = (0.0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
_KNOWS = "It knows the outcomes of these rows: no interval belongs to it."


class LimitPoint(NamedTuple):
    """Hold one point on the limit."""

    auc: float
    gap: float
    signed_gap: float


class Line(NamedTuple):
    """What every two groups add to the AUC at most: vertices, ascending in ``signed_gap = xauc_ab - xauc_ba``.

    From -1 (b entirely above a) to 1.
    """

    signed_gap: Floats
    auc: Floats

    def best(self, bound: float) -> LimitPoint:
        """Return the highest point whose gap is within a bound."""
        gap = float(np.clip(self.signed_gap[np.argmax(self.auc)], -bound, bound)) + 0.0  # no minus zero
        return LimitPoint(float(np.interp(gap, self.signed_gap, self.auc)), abs(gap), gap)


@documented
@dataclass(frozen=True, eq=False)
class Limit:
    """Hold the highest AUC at each gap that keeps the order inside each group, on one sample.

    Of two groups it is the upper concave envelope of all such repairs: its vertices are merges of the two, between
    which one chooses at random. Of more, the best of every two groups within the bound, added up, are at least those of
    any repair; none need have them all, as the pairs may want a above b, b above c, c above a. It knows the labels: a
    rule fixed beforehand lies below it.

    Attributes
    ----------
    lines : dict of pair of groups to Line
        Arrays ``signed_gap`` and ``auc``: what the pairs of every two groups, and their part of the pairs inside
        groups, add to the AUC at most. Of two groups that is all of it.

    Examples
    --------
    >>> from fairpot.tradeoff import auc_limit
    >>> from fairpot.datasets import make_synthetic
    >>> data = make_synthetic(1000, random_state=0, as_frame=False)
    >>> limit = auc_limit(data.target, data.probability, sensitive_features=data.group)
    >>> round(limit.best(max_gap=0.0).auc, 3)
    0.868
    """

    lines: dict[tuple[Hashable, Hashable], Line]

    @classmethod
    def of(cls, table: ScoreTable, *, reference: Hashable | None = None, ties: Ties = "half") -> Limit:
        """Compute the limit of a labelled table; see :func:`auc_limit`."""
        _require_both_outcomes(table.require("the limit", groups=2))
        table = table.for_pairs()
        first = _ahead(table, ties) if reference is None else place_of(table, reference, "reference")
        pooled = [pool(c) for c in table.counts]
        # No merge changes the pairs that are won inside a group.
        inside = sum(float(inner_half_wins(g, ties)) for g in (pooled if ties == "half" else table.counts)) / 2
        total = float(table.positives.sum()) * float(table.negatives.sum())
        pairs = list(itertools.combinations(sorted(range(len(pooled)), key=lambda place: place != first), 2))
        lines = {}
        for a, b in pairs:
            gap, wins = line_of_two(pooled[a], pooled[b])
            lines[table.groups[a], table.groups[b]] = Line(gap, np.minimum((inside / len(pairs) + wins) / total, 1.0))
        return cls(lines)

    @classmethod
    def mean(cls, limits: Sequence[Limit]) -> Limit:
        """Return the highest mean AUC for each mean signed gap, over all choices of a point on each limit."""
        if len(limits) == 1:
            return limits[0]
        return cls({pair: mean_line([each.lines[pair] for each in limits]) for pair in limits[0].lines})

    @property
    def groups(self) -> tuple[Hashable, ...]:
        """Names of the groups, that from which signed gaps are seen first."""
        return tuple(dict.fromkeys(itertools.chain.from_iterable(self.lines)))

    @property
    def many(self) -> bool:
        """Whether there are more than two groups, and so no sign of the gap."""
        return len(self.lines) > 1

    def __repr__(self) -> str:
        first, *others = self.groups
        return (
            f"<Limit of merging {', '.join(map(str, others))} into {first}: AUC at most "
            f"{self.best().auc:.4f}, {self.best(0.0).auc:.4f} without a gap>"
        )

    def _repr_html_(self) -> str:
        rows = [{"gap at most": bound, "AUC at most": self.best(bound).auc} for bound in _SHOWN]
        return f"<div>{paragraph(repr(self)[1:-1], _KNOWS)}{html_table(rows)}</div>"

    def auc_at(self, signed_gap: ArrayLike) -> Floats:
        """Return the highest AUC at each signed gap, in the shape of the input; of more than two groups, within it.

        Parameters
        ----------
        signed_gap : array
            Gaps: above 0 where the reference group is ranked higher. Between more groups the sign does not matter.
        """
        wanted = np.asarray(signed_gap, dtype=np.float64)
        if not (np.abs(wanted) <= 1 + 1e-9).all():
            raise ValueError("a signed gap is a difference of two xAUCs and must lie in [-1, 1].")
        if self.many:
            return np.reshape([self.best(min(abs(each), 1.0)).auc for each in wanted.ravel().tolist()], wanted.shape)
        [line] = self.lines.values()
        return np.asarray(np.interp(wanted, line.signed_gap, line.auc))

    def along(self, curve: TradeoffCurve) -> Floats:
        """Give the limit at the gap of each point of a curve.

        Parameters
        ----------
        curve : TradeoffCurve
            Of the same rows.
        """
        if {*curve.moved, curve.reference} != set(self.groups):
            raise ValueError(
                f"the curve is one of {[*curve.moved, curve.reference]}, the limit of {list(self.groups)}.\n"
                "Hint: both must come from the same rows."
            )
        if self.many:
            return self.auc_at(np.nan_to_num(curve.gap, nan=1.0))
        return self.auc_at((1.0 if curve.reference == self.groups[0] else -1.0) * curve.signed_gap)

    def best(self, max_gap: float = 1.0) -> LimitPoint:
        """Return the point of highest AUC whose gap is at most ``max_gap``; of more than two groups only its AUC.

        {max_gap}
        """
        bound = check_share(max_gap, "max_gap", zero=True)
        found = [line.best(bound) for line in self.lines.values()]
        if not self.many:
            return found[0]
        return LimitPoint(min(sum(point.auc for point in found), 1.0), bound, np.nan)

    def frame(self) -> Any:
        """Return the vertices, of more than two groups the limit at some bounds, as a frame of the kind in use."""
        if self.many:
            return make_frame({"max_gap": np.array(_LISTED), "auc": self.auc_at(_LISTED)})
        [line] = self.lines.values()
        return make_frame(line._asdict())


_NOT_OF_LIMITS = {
    "clusters": "a limit is a value without an interval, and they change intervals alone.\nHint: leave it out.",
    "high_score_means": "it changes no number.\nHint: reference=... names the group that is seen from.",
}


@by_name(but=_NOT_OF_LIMITS)
def auc_limit(
    y_true: Any,
    y_score: Any = None,
    *,
    reference: Hashable | None = None,
    ties: str = "half",
    **rows: Unpack[Said],
) -> Limit:
    """Compute the line that no repair which keeps the order inside each group can cross.

    It knows the outcomes: what a rule fixed beforehand can reach lies below. With more than two groups the limit of the
    largest gap is a number that no repair exceeds, and that none need have.

    Parameters
    ----------
    y_true : column of shape (n,), ScoreTable, or frame
        Outcomes, 0/1 or booleans; other two-valued labels with ``pos_label``. A table alone is everything, and so is a
        frame whose columns are named.
    {y_score, said}
    reference : name of a group, default None
        Group a of the signed gap; None takes the group that is ranked higher.
    {ties}

    Examples
    --------
    >>> from fairpot.tradeoff import auc_limit
    >>> y, sex = [0, 1, 0, 1, 0, 1, 0, 1], ["F"] * 4 + ["M"] * 4
    >>> score = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8]
    >>> line = auc_limit(y, score, sensitive_features=sex)
    >>> line.best(max_gap=0.0)
    LimitPoint(auc=0.875, gap=0.0, signed_gap=0.0)
    """
    table = compared(as_table(y_true, y_score, **rows))
    return Limit.of(table, reference=reference, ties=check_ties(ties))


def _require_both_outcomes(table: ScoreTable) -> None:
    for what, counts in zip(wording.BOTH_OUTCOMES, (table.positives, table.negatives)):
        empty = [g for g, count in zip(table.groups, counts) if count == 0]
        if empty:
            raise ValueError(
                f"group {empty[0]!r} has no {what}, so that its xAUC is undefined.\n"
                "Hint: the limit needs rows with and without the outcome in every group."
            )


def _ahead(table: ScoreTable, ties: Ties) -> int:
    """Find, of the two groups that are furthest apart, the one that is ranked higher."""
    matrix = WinMatrix.of(table, ties)
    first, second = matrix.widest()
    return (matrix.widest_pair() or (0, 1))[first < second]


def pool(counts: GroupCounts) -> GroupCounts:
    """Pool a group to blocks of ascending share of positives (PAV), each at its lowest score."""
    from scipy.optimize import isotonic_regression  # takes a while to load

    weight = counts.weight.astype(np.float64)
    fitted = isotonic_regression(counts.positive / weight, weights=weight)
    first = np.asarray(fitted.blocks[:-1], dtype=np.intp)
    positive, negative = (np.add.reduceat(c, first) for c in (counts.positive, counts.negative))
    return GroupCounts(counts.score[first], positive, negative)


def line_of_two(a: GroupCounts, b: GroupCounts) -> tuple[Floats, Floats]:
    """Give signed gap and cross wins of the best merges of two pooled groups.

    It starts with all of b above a, and puts a block of a above a block of b at a time, by falling theta.
    """
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
    kept = lost[-1] - lost
    p_a, n_a, p_b, n_b = (float(c.sum()) for c in (a.positive, a.negative, b.positive, b.negative))
    # Sums of broken weights may exceed their product by a last bit.
    gap = np.clip(np.asarray(gained / (p_a * n_b) - kept / (p_b * n_a), dtype=np.float64), -1.0, 1.0)
    return gap, np.asarray(gained + kept, dtype=np.float64)


def mean_line(lines: Sequence[Line]) -> Line:
    """Give the highest mean for each mean signed gap, over all choices of a point on each of some concave lines.

    The best choice has the same slope on each: their edges, a share of each, are laid one after another from the
    steepest down.
    """
    width, rise = (np.concatenate([np.diff(line[k]) for line in lines]) for k in (0, 1))
    kept = np.flatnonzero(width > 0)
    order = kept[np.argsort(-rise[kept] / width[kept], kind="stable")]
    gap, value = (
        np.mean([line[k][0] for line in lines]) + np.append(0.0, np.cumsum(steps[order]) / len(lines))
        for k, steps in enumerate((width, rise))
    )
    return Line(np.clip(gap, -1.0, 1.0), value)
