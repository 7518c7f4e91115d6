"""The limit: the best AUC at each gap over all repairs that keep the order inside each group."""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from fairpot._defaults import Ties
from fairpot._docs import documented
from fairpot._html import html_table, lines_svg, notes, paragraph
from fairpot._optional import make_frame
from fairpot._shown import display
from fairpot._validation import check_share, wording
from fairpot.counting import as_table
from fairpot.inference.dial import thin
from fairpot.metrics.rank import check_ties, place_of
from fairpot.metrics.wins import WinMatrix
from fairpot.table import ScoreTable
from fairpot.tradeoff.curve import TradeoffCurve
from fairpot.tradeoff.merging import Line, line_of_two, mean_line, optimism, pool, too_few, won_inside
from fairpot.transport import Floats

# Bounds that a notebook shows and that a frame lists, and what is said below the picture.
_SHOWN = (0.0, 0.02, 0.05, 0.1, 1.0)
_LISTED = (0.0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
_KNOWS = "It knows the outcomes of these rows: no interval belongs to it."


class LimitPoint(NamedTuple):
    """Hold one point on the limit; ``theta`` is the factor on b's odds whose merges reach it.

    ``reachable`` is ``auc`` without what chance adds to it; NaN where that cannot be estimated.
    """

    theta: float
    auc: float
    gap: float
    signed_gap: float
    reachable: float = np.nan


@documented
class _Drawn:
    """What the limits of two and of more groups have in common."""

    def plot(self, ax: Any = None) -> Any:
        """Draw the limit over the gap, and what is within reach.

        {ax}
        """
        return display("LimitDisplay").from_limit(self, ax=ax).ax_


@documented
@dataclass(frozen=True, eq=False)
class Limit(_Drawn):
    """Hold the highest AUC at each signed gap that keeps the order inside each group, on one sample.

    The line is the upper concave envelope of all such repairs: its vertices are merges of the two groups, between which
    one chooses at random. It knows the labels: a rule fixed beforehand lies below it by ``optimism``, on average.

    Attributes
    ----------
    signed_gap, auc, theta : arrays of shape (k,)
        The vertices, ascending in ``signed_gap = xauc_ab - xauc_ba`` from -1 (b entirely above a) to 1. Vertex i is the
        best merge for a factor on b's odds from ``theta[i]`` to ``theta[i - 1]``.
    moved, reference : names of group b and group a
    optimism, reason : array of shape (k,) or None, str or None
        How much of ``auc`` chance is expected to add; and why that is None, where it cannot be estimated.

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

    signed_gap: Floats
    auc: Floats
    theta: Floats
    moved: Hashable
    reference: Hashable
    optimism: Floats | None = None
    reason: str | None = None

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
        a, b = _reference_first(table, reference, ties)
        line = Line.of(table[a], table[b], ties)
        reason, chance = too_few(table), None
        if reason is None:
            found = optimism(table, ties)
            if found is None:
                reason = "outcomes drawn like these are not both there in every group"
            else:
                chance = np.interp(line.gap if a == table.groups[0] else -line.gap, *found)
        return cls(line.gap, line.auc, line.theta, b, a, chance, reason)

    @classmethod
    def mean(cls, limits: Sequence[Limit]) -> Limit:
        """Return the highest mean AUC for each mean signed gap, over all choices of a point on each limit."""
        if len(limits) == 1:
            return limits[0]
        gap, auc, order = mean_line([(line.signed_gap, line.auc) for line in limits])
        theta = np.concatenate([line.theta[:-1] for line in limits])
        # The same slope is another theta in a fold with other rates; what is told stays in order.
        falling = np.append(np.minimum.accumulate(theta[order]), 0.0)
        reason = next((f"in a fold, {line.reason}" for line in limits if line.reason is not None), None)
        known = [line.optimism for line in limits if line.optimism is not None]
        chance = None
        if len(known) == len(limits):  # at the same slope on each
            steps = np.concatenate([np.diff(each) for each in known])[order]
            chance = np.mean([each[0] for each in known]) + np.append(0.0, np.cumsum(steps)) / len(limits)
        return cls(gap, auc, falling, limits[0].moved, limits[0].reference, chance, reason)

    def __len__(self) -> int:
        return len(self.auc)

    def __repr__(self) -> str:
        even = self.best(0.0)
        reach = "" if self.optimism is None else f", of which {even.reachable:.4f} is within reach"
        return (
            f"<Limit of merging {self.moved} into {self.reference}: {len(self)} vertices, AUC at most "
            f"{self.auc.max():.4f}, {even.auc:.4f} without a gap{reach}>"
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

    def reachable_at(self, signed_gap: ArrayLike) -> Floats:
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

    def along(self, curve: TradeoffCurve, *, signed: bool = True) -> dict[str, Floats]:
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
        gaps = self.signed_gap[some].tolist()
        lines = [("best possible", gaps, self.auc[some].tolist())]
        if self.optimism is not None:
            lines.append(("within reach", gaps, self.reachable_at(gaps).tolist()))
        axes = (f"signed gap, {self.reference} over {self.moved}", "AUC")
        picture = lines_svg(lines, "Best possible AUC over the gap", axes, note=_KNOWS)
        best = [(bound, self.best(bound)) for bound in _SHOWN]
        reach = [None if np.isnan(p.reachable) else p.reachable for _, p in best]
        rows = [
            {"gap at most": bound, "best possible AUC": p.auc, "within reach": r} for (bound, p), r in zip(best, reach)
        ]
        why = [] if self.reason is None else [f"within reach: not known; {self.reason}"]
        return f"<div>{paragraph(repr(self)[1:-1])}{picture}{html_table(rows)}{notes(why)}</div>"

    def frame(self) -> Any:
        """Return the vertices as a tidy frame (pandas, Polars or PyArrow, whichever is in use)."""
        columns = {"signed_gap": self.signed_gap, "auc": self.auc, "theta": self.theta}
        return make_frame({**columns, "reachable": self.reachable_at(self.signed_gap)})


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
    optimism: None = None
    reason: str = "what chance adds to the limit is estimated for two groups only"

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

    def along(self, curve: TradeoffCurve, *, signed: bool = True) -> dict[str, Floats]:
        """Give the limit at the gap of each point of a curve; what of it is within reach is not known.

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
        gaps = np.nan_to_num(curve.gap, nan=1.0)
        return {"limit_auc": self.auc_at(gaps), "reachable_auc": np.full(len(gaps), np.nan)}

    def _repr_html_(self) -> str:
        """Show the limit over the target gap."""
        aucs = self.auc_at(_SHOWN).tolist()
        line = [("at most", _SHOWN, aucs)]
        picture = lines_svg(line, "Best possible AUC over the target gap", ("gap at most", "AUC"), note=_KNOWS)
        rows = [{"gap at most": bound, "best possible AUC, at most": auc} for bound, auc in zip(_SHOWN, aucs)]
        return f"<div>{paragraph(repr(self)[1:-1])}{picture}{html_table(rows)}</div>"

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

    It knows the outcomes. ``reachable`` beside it is what a rule fixed beforehand can be expected to reach. With more
    than two groups the limit of the largest gap is a number that no repair exceeds, and that none need have.

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
    LimitPoint(theta=1.0, auc=0.875, gap=0.0, signed_gap=0.0, reachable=nan)
    >>> line.reason
    "what chance adds to the limit needs 5 rows with the outcome in every group, and group 'F' has 2"
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
