"""Before and after a repair on the same rows: what changed, and how surely."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairpot._validation import check_rows, check_scores
from fairpot.inference.checks import check_level
from fairpot.inference.contrasts import Contrasts, estimate_views
from fairpot.inference.estimates import ShareEstimates
from fairpot.inference.influence import View, own_scores
from fairpot.inference.pairs import all_pairs, cross_pairs
from fairpot.inference.placements import Floats
from fairpot.inference.question import Question
from fairpot.inference.refusal import why_not
from fairpot.inference.rows import sample_checked
from fairpot.inference.sample import Clusters, Sample
from fairpot.inference.simultaneous import joint_tail
from fairpot.metrics.tables import check_ties
from fairpot.table import GroupCounts, ScoreTable

Maps = Mapping[Hashable, Callable[[NDArray[np.float64]], NDArray[np.float64]]]
# A gap this many standard errors from 0 has a sign that chance does not explain.
_CLEAR = 3.0


@dataclass(frozen=True)
class Change:
    """A number before and after, and the change with its limits; ``se`` is that of the change.

    Of a gap it is the standard error of the change of the signed gap.
    """

    before: float
    after: float
    change: float
    se: float
    low: float
    high: float
    level: float
    reason: str | None = None

    def __str__(self) -> str:
        moved = f"{self.before:.4f} -> {self.after:.4f}, a change of {self.change:+.4f}"
        if self.reason is not None:
            return f"{moved} (no interval: {self.reason})"
        return f"{moved} ({self.level:.0%} interval {self.low:+.4f} to {self.high:+.4f})"

    def as_dict(self) -> dict[str, Any]:
        """Give plain values for JSON: None in the place of NaN."""
        numbers = ("before", "after", "change", "se", "low", "high")
        plain = {name: getattr(self, name) for name in numbers}
        return {k: None if v != v else v for k, v in plain.items()} | {"level": self.level, "reason": self.reason}


@dataclass(frozen=True, eq=False)
class Changes:
    """What a repair changed on the rows it was measured on.

    Attributes
    ----------
    auc, gap : Change
        ``gap`` is the xAUC gap, the largest over pairs.
    signed_gap : dict of (group, group) to Change
        xAUC(first over second) - xAUC(second over first).
    xauc : dict of (positive, negative) to Change
    """

    auc: Change
    gap: Change
    signed_gap: dict[tuple[Hashable, Hashable], Change]
    xauc: dict[tuple[Hashable, Hashable], Change]

    def to_dict(self) -> dict[str, Any]:
        """Give plain values for JSON."""
        return {
            "auc": self.auc.as_dict(),
            "gap": self.gap.as_dict(),
            "signed_gaps": [{"first": g, "second": h, **c.as_dict()} for (g, h), c in self.signed_gap.items()],
            "xauc": [{"positive": g, "negative": h, **c.as_dict()} for (g, h), c in self.xauc.items()],
        }


def change_by_maps(table: ScoreTable | Sample, maps: Maps, *, ties: str = "half", level: float = 0.95) -> Changes:
    """Compare a table with itself after a map for each group, the map taken as fixed.

    Parameters
    ----------
    table : ScoreTable or Sample
        With labels and at least two groups; of rows that the maps were not fitted on, to be fair.
    maps : mapping of group to function
        Groups that are not named keep their scores.
    ties : {"half", "strict"}, default "half"
    level : float, default 0.95

    Returns
    -------
    Changes

    Examples
    --------
    >>> from fairpot.metrics import score_table
    >>> rng = np.random.default_rng(0)
    >>> y, sex = rng.integers(0, 2, 400), rng.choice(["F", "M"], 400)
    >>> table = score_table(y, rng.normal(y + (sex == "M")), sensitive_features=sex)
    >>> print(change_by_maps(table, {"F": lambda s: s + 1}).gap)
    0.4376 -> 0.0362, a change of -0.4014 (95% interval -0.4533 to -0.2947)
    """
    sample = Sample.of(table)
    before = own_scores(sample.table)
    after = [maps[g](s) if g in maps else s for g, s in zip(sample.table.groups, before)]
    return compare_views(sample, before, after, ties=ties, level=level)


def change_of_scores(
    y_true: Any,
    before: Any,
    after: Any,
    *,
    sensitive_features: Any,
    sample_weight: Any = None,
    clusters: Any = None,
    weights: str = "frequency",
    ties: str = "half",
    level: float = 0.95,
    pos_label: Any = None,
) -> Changes:
    """Compare two score columns of the same rows.

    Parameters
    ----------
    y_true, sensitive_features, sample_weight, clusters, weights, ties, level, pos_label
        As in :func:`confidence_interval`.
    before, after : columns of shape (n,)

    Returns
    -------
    Changes

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> y, sex = rng.integers(0, 2, 400), rng.choice(["F", "M"], 400)
    >>> score = rng.normal(y)
    >>> print(change_of_scores(y, score, np.round(score), sensitive_features=sex).auc)
    0.7530 -> 0.7455, a change of -0.0075 (95% interval -0.0215 to +0.0066)
    """
    rows = check_rows(
        before, y_true, sensitive_features, sample_weight, pos_label=pos_label, names=("y_true", "before")
    )
    other = check_scores(after, "after")
    if len(other) != len(rows.scores):
        raise ValueError(f"after has {len(other)} rows, but before has {len(rows.scores)}.")
    sample, order = _row_by_row(rows, weights, clusters)
    views = [[scores[own] for own in order] for scores in (rows.scores, other)]
    return compare_views(sample, views[0], views[1], ties=ties, level=level)


def _row_by_row(rows: Any, weights: str, clusters: Any) -> tuple[Sample, list[NDArray[np.intp]]]:
    """Make a sample with one entry a row, so that two columns can stand side by side."""
    counted = sample_checked(rows, weights=weights, clusters=clusters)
    weight = np.ones(len(rows.scores), dtype=np.int64) if rows.weight is None else rows.weight
    order = [np.flatnonzero((rows.codes == g) & (weight > 0)) for g in range(len(rows.groups))]

    def table(value: NDArray[Any]) -> ScoreTable:
        parts = [GroupCounts(rows.scores[o], value[o] * rows.labels[o], value[o] * (1 - rows.labels[o])) for o in order]
        return ScoreTable(rows.groups, tuple(parts))

    squares = None if counted.squares is None else table(weight.astype(np.float64) ** 2)
    units = counted.clusters
    if units is not None:
        place = np.empty(len(weight), dtype=np.intp)
        for own in order:
            place[own] = np.arange(len(own))
        kept = np.flatnonzero(weight > 0)
        units = Clusters(
            units.unit, units.group, place[kept], units.positive, units.weight, units.importance, units.size
        )
    return Sample(table(weight), squares, units), order


def compare_views(sample: Sample, before: View, after: View, *, ties: str = "half", level: float = 0.95) -> Changes:
    """Compare two scores of every entry of a sample."""
    kernel = check_ties(ties)
    tail = (1 - check_level(level)) / 2
    table = sample.table
    pairs = (all_pairs(table), *cross_pairs(table))
    many = len(pairs)
    differ = np.hstack((-np.eye(many), np.eye(many)))
    gaps = differ[1::2] - differ[2::2]
    shares, found = estimate_views(sample, pairs, kernel, (before, after), np.vstack((differ, gaps)))
    reason = why_not(sample, Question("xauc_gap", pairs, True, kernel, None, "pooled"), shares)
    low, high = found.limits(tail)
    names = [(table.groups[p.winners[0]], table.groups[p.losers[0]]) for p in pairs[1:]]

    def change(k: int, first: float, second: float) -> Change:
        limits = (np.nan, np.nan) if reason is not None else (float(low[k]), float(high[k]))
        return Change(first, second, second - first, float(found.se[k]), *limits, level, reason)

    value = shares.value.reshape(2, many)
    signed = value[:, 1::2] - value[:, 2::2]
    return Changes(
        change(0, *map(float, value[:, 0])),
        _gap_change(shares, many, signed, sample, (before, after), kernel, tail, level, reason),
        {names[2 * k]: change(many + k, *map(float, signed[:, k])) for k in range(signed.shape[1])},
        {name: change(1 + k, *map(float, value[:, 1 + k])) for k, name in enumerate(names)},
    )


def _gap_change(
    shares: ShareEstimates,
    many: int,
    signed: Floats,
    sample: Sample,
    views: Sequence[View],
    kernel: Any,
    tail: float,
    level: float,
    reason: str | None,
) -> Change:
    """Limit the change of the largest gap: the largest of linear changes, one for each pair and sign after."""
    widest = [int(np.argmax(np.abs(row))) for row in signed]
    start, end = (float(abs(signed[when, widest[when]])) for when in range(2))
    se = _signed_se(shares, many, widest)
    if reason is not None:
        return Change(start, end, end - start, se, np.nan, np.nan, level, reason)
    sums = _gap_sums(shares, many, signed, widest[0])
    table = sample.table
    _, found = estimate_views(sample, (all_pairs(table), *cross_pairs(table)), kernel, views, sums)
    upper = found.limits(tail)[1].max()
    lower = found.limits(joint_tail(found.covariance, tail))[0].max()
    return Change(start, end, end - start, se, float(lower), float(upper), level)


def _gap_sums(shares: ShareEstimates, many: int, signed: Floats, widest: int) -> Floats:
    """List sign * (gap after of a pair) - (gap before of the widest), for pairs and signs that may be the largest."""
    before = _gap_row(many, 0, widest) * np.sign(signed[0, widest] or 1.0)
    rows = []
    for k, sign in itertools.product(range(signed.shape[1]), (1.0, -1.0)):
        row = _gap_row(many, 1, k)
        se = _se(shares, row)
        if sign * signed[1, k] > -_CLEAR * se or sign * signed[1, k] >= 0:
            rows.append(sign * row - before)
    return np.array(rows)


def _gap_row(many: int, when: int, pair: int) -> Floats:
    row = np.zeros(2 * many)
    row[when * many + 1 + 2 * pair], row[when * many + 2 + 2 * pair] = 1.0, -1.0
    return row


def _se(shares: ShareEstimates, row: Floats) -> float:
    return float(np.sqrt(np.maximum(row @ shares.covariance @ row, 0.0)))


def _signed_se(shares: ShareEstimates, many: int, widest: list[int]) -> float:
    row = _gap_row(many, 1, widest[1]) - _gap_row(many, 0, widest[0])
    return _se(shares, row)


__all__ = ["Change", "Changes", "Contrasts", "change_by_maps", "change_of_scores", "compare_views"]
