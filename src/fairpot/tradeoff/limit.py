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
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fairpot._defaults import Ties
from fairpot._docs import documented
from fairpot._html import html_table, lines_svg, paragraph
from fairpot._optional import make_frame
from fairpot._shown import display
from fairpot._validation import check_share, wording
from fairpot.counting import as_table
from fairpot.counts import GroupCounts
from fairpot.inference.dial import thin
from fairpot.metrics.rank import check_ties, place_of
from fairpot.metrics.wins import WinMatrix, inner_half_wins
from fairpot.table import ScoreTable
from fairpot.tradeoff.curve import TradeoffCurve
from fairpot.transport import Floats

# Bounds that a notebook shows and that a frame lists, and what is said below the picture.
_SHOWN = (0.0, 0.02, 0.05, 0.1, 1.0)
_LISTED = (0.0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
_KNOWS = "It knows the outcomes of these rows: no interval belongs to it."


class LimitPoint(NamedTuple):
    """Hold one point on the limit; ``theta`` is the factor on b's odds whose merges reach it."""

    theta: float
    auc: float
    gap: float
    signed_gap: float


@documented
class _Drawn:
    """What the limits of two and of more groups have in common."""

    def plot(self, ax: Any = None) -> Any:
        """Draw the limit over the gap.

        {ax}
        """
        return display("draw_limit")(self, ax)

    def _picture(self, gaps: Sequence[float], aucs: Sequence[float], names: tuple[str, str, str]) -> str:
        """Show the line, and the AUC at some bounds."""
        line, over, best = names
        title = f"Best possible AUC over the {over.partition(',')[0]}"
        picture = lines_svg([(line, gaps, aucs)], title, (over, "AUC"), note=_KNOWS)
        rows = [{"gap at most": bound, best: self.best(bound).auc} for bound in _SHOWN]  # type: ignore[attr-defined]
        return f"<div>{paragraph(repr(self)[1:-1])}{picture}{html_table(rows)}</div>"


@documented
@dataclass(frozen=True, eq=False)
class Limit(_Drawn):
    """Hold the highest AUC at each signed gap that keeps the order inside each group, on one sample.

    The line is the upper concave envelope of all such repairs: its vertices are merges of the two groups, between which
    one chooses at random. It knows the labels: a rule fixed beforehand lies below it.

    Attributes
    ----------
    signed_gap, auc, theta : arrays of shape (k,)
        The vertices, ascending in ``signed_gap = xauc_ab - xauc_ba`` from -1 (b entirely above a) to 1. Vertex i is the
        best merge for a factor on b's odds from ``theta[i]`` to ``theta[i - 1]``.
    moved, reference : names of group b and group a

    Examples
    --------
    >>> from fairpot.tradeoff import auc_limit
    >>> from fairpot.datasets import make_synthetic
    >>> data = make_synthetic(1000, random_state=0, as_frame=False)
    >>> limit = auc_limit(data.target, data.probability, sensitive_features=data.group)
    >>> round(limit.best(max_gap=0.0).auc, 3)
    0.868
    """

    signed_gap: Floats
    auc: Floats
    theta: Floats
    moved: Hashable
    reference: Hashable

    @classmethod
    def of(cls, table: ScoreTable, *, reference: Hashable | None = None, ties: Ties = "half") -> Limit:
        """Compute the limit of a labelled table of two groups; see :func:`auc_limit`."""
        if len(table.groups) != 2:
            raise ValueError(
                f"one line is the limit of two groups, got {len(table.groups)}: {list(table.groups)}.\n"
                "Hint: auc_limit knows what more than two cannot exceed."
            )
        _require_both_outcomes(table)
        table = table.for_pairs()
        first, second = _reference_first(table, reference, ties)
        a, b = table[first], table[second]
        blocks = [pool(a), pool(b)]
        gap, wins, theta = line_of_two(*blocks)
        total = float(table.positives.sum()) * float(table.negatives.sum())
        fixed = won_inside(blocks if ties == "half" else [a, b], ties)
        return cls(gap, np.minimum((fixed + wins) / total, 1.0), theta, second, first)

    @classmethod
    def mean(cls, limits: Sequence[Limit]) -> Limit:
        """Return the highest mean AUC for each mean signed gap, over all choices of a point on each limit."""
        if len(limits) == 1:
            return limits[0]
        gap, auc, order = mean_line([(line.signed_gap, line.auc) for line in limits])
        theta = np.concatenate([line.theta[:-1] for line in limits])
        # The same slope is another theta in a fold with other rates; what is told stays in order.
        falling = np.append(np.minimum.accumulate(theta[order]), 0.0)
        return cls(gap, auc, falling, limits[0].moved, limits[0].reference)

    def __len__(self) -> int:
        return len(self.auc)

    def __repr__(self) -> str:
        return (
            f"<Limit of merging {self.moved} into {self.reference}: {len(self)} vertices, AUC at most "
            f"{self.auc.max():.4f}, {self.best(0.0).auc:.4f} without a gap>"
        )

    def auc_at(self, signed_gap: ArrayLike) -> Floats:
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

    def along(self, curve: TradeoffCurve, *, signed: bool = True) -> Floats:
        """Give the limit at the gap of each point of a curve; without its sign, whichever group is ranked higher.

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
        return self.auc_at(own) if signed else np.maximum(self.auc_at(own), self.auc_at(-own))

    def best(self, max_gap: float = 1.0) -> LimitPoint:
        """Return the point of highest AUC whose gap is at most ``max_gap``.

        {max_gap}
        """
        share = check_share(max_gap, "max_gap", zero=True)
        gap = float(np.clip(self.signed_gap[np.argmax(self.auc)], -share, share)) + 0.0  # no minus zero
        # Inside an edge the theta at which its two ends are equally good.
        place = max(int(np.searchsorted(self.signed_gap, gap)) - 1, 0)
        return LimitPoint(float(self.theta[place]), float(self.auc_at(gap)), abs(gap), gap)

    def _repr_html_(self) -> str:
        some = thin(len(self), 200)
        names = "best possible", f"signed gap, {self.reference} over {self.moved}", "best possible AUC"
        return self._picture(self.signed_gap[some].tolist(), self.auc[some].tolist(), names)

    def frame(self) -> Any:
        """Return the vertices as a tidy frame (pandas, Polars or PyArrow, whichever is in use)."""
        return make_frame({"signed_gap": self.signed_gap, "auc": self.auc, "theta": self.theta})


@documented
@dataclass(frozen=True, eq=False)
class UpperLimit(_Drawn):
    """What the AUC of more than two groups whose largest gap is within a bound cannot exceed on these rows.

    The best cross wins of every two groups within the bound, added up, are at least those of any repair that keeps the
    order inside each group. No repair need have them all: the pairs may want a above b, b above c, c above a.

    Attributes
    ----------
    groups : names of the groups
    inside : float
        What the pairs inside groups add to the AUC; no merge changes it.
    lines : dict of pair of groups to two arrays
        Signed gaps, and what the pairs of every two groups add at most there: a concave line.

    Examples
    --------
    >>> from fairpot.tradeoff import auc_limit
    >>> y, score = [0, 1, 0, 1, 0, 1], [0.1, 0.2, 0.3, 0.4, 0.5, 0.6]
    >>> auc_limit(y, score, sensitive_features=["a", "a", "b", "b", "c", "c"]).best(max_gap=0.0).auc
    1.0
    """

    groups: tuple[Hashable, ...]
    inside: float
    lines: dict[tuple[Hashable, Hashable], tuple[Floats, Floats]]

    @classmethod
    def of(cls, table: ScoreTable, *, ties: Ties = "half") -> UpperLimit:
        """Compute the limit of a labelled table; see :func:`auc_limit`."""
        _require_both_outcomes(table)
        table = table.for_pairs()
        pooled = [pool(c) for c in table.counts]
        total = float(table.positives.sum()) * float(table.negatives.sum())
        inside = won_inside(pooled if ties == "half" else table.counts, ties) / total
        lines = {}
        for g, h in itertools.combinations(range(len(pooled)), 2):
            gap, wins, _ = line_of_two(pooled[g], pooled[h])
            lines[table.groups[g], table.groups[h]] = gap, wins / total
        return cls(table.groups, inside, lines)

    @classmethod
    def mean(cls, limits: Sequence[UpperLimit]) -> UpperLimit:
        """Return the limit of means over folds: of AUC, and of every two groups' signed gap."""
        lines = {pair: mean_line([each.lines[pair] for each in limits])[:2] for pair in limits[0].lines}
        return cls(limits[0].groups, float(np.mean([each.inside for each in limits])), lines)

    def __repr__(self) -> str:
        names, most, even = ", ".join(map(str, self.groups)), self.best().auc, self.best(0.02).auc
        return f"<UpperLimit of merging {names}: AUC at most {most:.4f}, {even:.4f} at a gap of at most 0.02>"

    def best(self, max_gap: float = 1.0) -> LimitPoint:
        """Return what no repair that keeps the order inside each group exceeds within a gap.

        {max_gap}
        """
        bound = check_share(max_gap, "max_gap", zero=True)
        added = self.inside
        for gaps, line in self.lines.values():
            best = float(np.clip(gaps[np.argmax(line)], -bound, bound))
            added += float(np.interp(best, gaps, line))
        return LimitPoint(np.nan, min(added, 1.0), bound, np.nan)

    def auc_at(self, gap: ArrayLike) -> Floats:
        """Return the limit at each gap, in the shape of the input; it does not matter which group is higher.

        Parameters
        ----------
        gap : array
            Gaps between any two groups.
        """
        wanted = np.asarray(gap, dtype=np.float64)
        return np.reshape([self.best(abs(float(each))).auc for each in wanted.ravel()], wanted.shape)

    def along(self, curve: TradeoffCurve, *, signed: bool = True) -> Floats:
        """Give the limit at the gap of each point of a curve.

        Parameters
        ----------
        curve : TradeoffCurve
            Of the same rows.
        signed : bool, default True
            Not used: the gap of several groups has no sign.
        """
        if {*curve.moved, curve.reference} != set(self.groups):
            raise ValueError(
                f"the curve is one of {[*curve.moved, curve.reference]}, the limit of {list(self.groups)}.\n"
                "Hint: both must come from the same rows."
            )
        return self.auc_at(np.nan_to_num(curve.gap, nan=1.0))

    def _repr_html_(self) -> str:
        names = "at most", "target gap", "best possible AUC, at most"
        return self._picture(_SHOWN, self.auc_at(_SHOWN).tolist(), names)

    def frame(self) -> Any:
        """Return the limit at some bounds as a tidy frame (pandas, Polars or PyArrow, whichever is in use)."""
        return make_frame({"max_gap": np.array(_LISTED), "auc": self.auc_at(_LISTED)})


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

    It knows the outcomes: what a rule fixed beforehand can reach lies below. With more than two groups the limit of the
    largest gap is a number that no repair exceeds, and that none need have.

    Parameters
    ----------
    y_true : column of shape (n,), or ScoreTable
        Outcomes, 0/1 or booleans; other two-valued labels with ``pos_label``. A table alone is everything.
    {y_score, sensitive_features}
    reference : name of a group, default None
        Group a of the signed gap; None takes the group that is ranked higher.
    {sample_weight, clusters, weights, ties, pos_label}

    Examples
    --------
    >>> from fairpot.tradeoff import auc_limit
    >>> y, sex = [0, 1, 0, 1, 0, 1, 0, 1], ["F"] * 4 + ["M"] * 4
    >>> score = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8]
    >>> line = auc_limit(y, score, sensitive_features=sex)
    >>> line.best(max_gap=0.0)
    LimitPoint(theta=1.0, auc=0.875, gap=0.0, signed_gap=0.0)
    """
    columns = {"sensitive_features": sensitive_features, "sample_weight": sample_weight, "clusters": clusters}
    table = as_table(y_true, y_score, **columns, weights=weights, pos_label=pos_label)
    checked = check_ties(ties)
    if len(table.groups) < 3:
        return Limit.of(table, reference=reference, ties=checked)
    if reference is not None:
        place_of(table, reference, "reference")
    return UpperLimit.of(table, ties=checked)


def _require_both_outcomes(table: ScoreTable) -> None:
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


def pool(counts: GroupCounts) -> GroupCounts:
    """Pool a group to blocks of ascending share of positives (PAV), each at its lowest score."""
    from scipy.optimize import isotonic_regression  # takes a while to load

    weight = counts.weight.astype(np.float64)
    fitted = isotonic_regression(counts.positive / weight, weights=weight)
    first = np.asarray(fitted.blocks[:-1], dtype=np.intp)
    positive, negative = (np.add.reduceat(c, first) for c in (counts.positive, counts.negative))
    return GroupCounts(counts.score[first], positive, negative)


def line_of_two(a: GroupCounts, b: GroupCounts) -> tuple[Floats, Floats, Floats]:
    """Give signed gap, cross wins and theta of the best merges of two pooled groups.

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
    return gap, np.asarray(gained + kept, dtype=np.float64), np.append(theta[last], 0.0)


def won_inside(groups: Iterable[GroupCounts], ties: Ties) -> float:
    """Count the pairs that are won inside the groups, which no merge changes."""
    return sum(float(inner_half_wins(g, ties)) for g in groups) / 2


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
