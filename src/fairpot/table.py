"""ScoreTable: the one small table per group that every number in fairpot depends on."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from fairpot._html import html_table
from fairpot._validation import check_choice, check_share
from fairpot.transport import Floats, top_place

Region = Literal["pooled", "group"]
REGIONS = ("pooled", "group")
# Up to so many groups, finding each one's rows by comparison is cheaper than one sort.
_FEW_GROUPS = 16
Counts = NDArray[Any]  # int64, or float64 where weights are not whole numbers
Maps = Mapping[Hashable, Callable[[Floats], Floats]]


@dataclass(frozen=True, eq=False)
class GroupCounts:
    """Distinct scores of one group, ascending, with the weight of positives and negatives at each.

    Whole weights are kept as int64, so that every count made from them is exact; any other
    weights are float64.
    """

    score: NDArray[np.float64]
    positive: Counts
    negative: Counts

    @property
    def weight(self) -> Counts:
        """Weight at each score, whatever the label."""
        return self.positive + self.negative

    @classmethod
    def from_rows(
        cls, scores: NDArray[np.float64], labels: NDArray[np.int8] | None, weight: Counts | None = None
    ) -> GroupCounts:
        """Count rows: one sort. Without labels all weight is put down as negative."""
        labels = np.zeros(len(scores), dtype=np.int8) if labels is None else labels
        if weight is None:
            return _add_up_units(*_sort_by_score(scores.copy(), labels))
        scores = scores + 0.0  # -0.0 and 0.0 are one score
        # Equal scores are added up in the order of weights and labels: the sum does not depend on row order.
        order = np.argsort(scores) if weight.dtype.kind == "i" else np.lexsort((labels, weight, scores))
        order = order[weight[order] > 0]
        scores, labels, weight = scores[order], labels[order], weight[order]
        return cls(*_add_up(scores, weight * labels, weight * (1 - labels)))

    def above(self, threshold: float) -> GroupCounts:
        """Keep the scores >= threshold."""
        first = int(np.searchsorted(self.score, threshold, side="left"))
        return GroupCounts(self.score[first:], self.positive[first:], self.negative[first:])

    def rescored(self, scores: NDArray[np.float64]) -> GroupCounts:
        """Give each entry a new score (in any order) and add up those that become equal."""
        order = np.argsort(scores, kind="stable")
        return GroupCounts(*_add_up(scores[order] + 0.0, self.positive[order], self.negative[order]))

    def plus(self, other: GroupCounts) -> GroupCounts:
        """Add the counts of another part of the same group."""
        scores = np.concatenate((self.score, other.score))
        positive = np.concatenate((self.positive, other.positive))
        negative = np.concatenate((self.negative, other.negative))
        return GroupCounts(scores, positive, negative).rescored(scores)


@dataclass(frozen=True)
class QuantisationBound:
    """How far quantising a table can move any number made from it.

    ``xauc[g, h]`` and ``auc`` bound the change of those metrics (the share of pairs that fall into
    one bin), ``score`` the change of any score.
    """

    auc: float
    xauc: NDArray[np.float64]
    score: float


@dataclass(frozen=True, eq=False)
class ScoreTable:
    """One :class:`GroupCounts` per group.

    All rank metrics, the transport map and the whole trade-off curve are functions of this table;
    engines that cannot hold the rows build it with one ``GROUP BY group, score``. From rows of any kind it comes
    with :func:`fairpot.metrics.score_table`, which checks them.

    Parameters
    ----------
    groups : tuple of hashable
        Names of the groups.
    counts : tuple of GroupCounts
        The counts of each group, in the order of ``groups``.
    labelled : bool, default True
        Whether labels were known; if not, all weight counts as negative.
    squares : ScoreTable or None, default None
        The sums of squared weights at the same entries, where weights say how much a row counts: what intervals
        need to know how many rows the weights are worth. None where a weight is so many rows.

    Examples
    --------
    >>> import numpy as np
    >>> table = ScoreTable.from_rows(np.array([0.3, 0.9, 0.3]), np.array([0, 1, 1], dtype=np.int8))
    >>> table.counts[0].score, table.counts[0].positive, table.counts[0].negative
    (array([0.3, 0.9]), array([1, 1]), array([1, 0]))
    """

    groups: tuple[Hashable, ...]
    counts: tuple[GroupCounts, ...]
    labelled: bool = True
    squares: ScoreTable | None = None

    @classmethod
    def from_rows(
        cls,
        scores: NDArray[np.float64],
        labels: NDArray[np.int8] | None,
        codes: NDArray[Any] | None = None,
        groups: Sequence[Hashable] = ("all",),
        weight: Counts | None = None,
    ) -> ScoreTable:
        """Count clean rows: finite scores, labels 0 and 1, ``codes`` that index into ``groups``, weights >= 0.

        :func:`fairpot.metrics.score_table` makes them clean, whatever they come in.
        """
        scores, labels = _plain(scores, labels)
        if codes is not None and not (codes.min() >= 0 and codes.max() < len(groups)):
            raise ValueError(f"codes must lie in 0 ... {len(groups) - 1}, got {codes.min()} to {codes.max()}.")
        if weight is not None and not (weight >= 0).all():
            raise ValueError("weights must be numbers >= 0.")
        if codes is None or len(groups) == 1:
            counts = [GroupCounts.from_rows(scores, labels, weight)]
        else:
            counts = [_count_group(rows, scores, labels, weight) for rows in _rows_of_groups(codes, len(groups))]
        return cls(tuple(groups), tuple(counts), labels is not None)

    def _repr_html_(self) -> str:
        rows = [
            {
                "group": g,
                "rows": c.weight.sum().item(),
                "positives": c.positive.sum().item() if self.labelled else None,
                "negatives": c.negative.sum().item() if self.labelled else None,
                "distinct scores": len(c.score),
            }
            for g, c in zip(self.groups, self.counts)
        ]
        return html_table(rows, "ScoreTable")

    def __getitem__(self, group: Hashable) -> GroupCounts:
        if group not in self.groups:
            raise KeyError(f"the table has no group {group!r}, only {list(self.groups)}")
        return self.counts[self.groups.index(group)]

    @property
    def positives(self) -> Counts:
        """Weight of the positives of each group."""
        return np.array([c.positive.sum() for c in self.counts])

    @property
    def negatives(self) -> Counts:
        """Weight of the negatives of each group."""
        return np.array([c.negative.sum() for c in self.counts])

    def pooled(self) -> GroupCounts:
        """All groups as one."""
        if len(self.counts) == 1:
            return self.counts[0]
        parts = [np.concatenate([getattr(c, name) for c in self.counts]) for name in ("score", "positive", "negative")]
        return GroupCounts(*parts).rescored(parts[0])

    def thresholds(self, alpha: float, region: Region = "pooled") -> dict[Hashable, float]:
        """Return the lowest score of each group's top-alpha region, ties included."""
        alpha = check_share(alpha, "alpha", zero=False)
        check_choice(region, "region", REGIONS)
        if region == "pooled":
            return dict.fromkeys(self.groups, _top_score(self.pooled(), alpha))
        return {g: _top_score(c, alpha) for g, c in zip(self.groups, self.counts)}

    def above(self, thresholds: Mapping[Hashable, float]) -> ScoreTable:
        """Cut every group at its threshold; scores equal to it stay in."""
        cut = tuple(c.above(thresholds[g]) for g, c in zip(self.groups, self.counts))
        squares = None if self.squares is None else self.squares.above(thresholds)
        return ScoreTable(self.groups, cut, self.labelled, squares)

    def top(self, alpha: float, region: Region = "pooled") -> ScoreTable:
        """Cut to the top-alpha region: of the pooled ranking, or of each group."""
        return self.above(self.thresholds(alpha, region))

    def only(self, groups: Sequence[Hashable]) -> ScoreTable:
        """Keep the named groups, in the table's own order."""
        unknown = [g for g in groups if g not in self.groups]
        if unknown:
            raise KeyError(f"the table has no group {unknown[0]!r}, only {list(self.groups)}")
        kept = [i for i, g in enumerate(self.groups) if g in groups]
        names, counts = tuple(self.groups[i] for i in kept), tuple(self.counts[i] for i in kept)
        squares = None if self.squares is None else self.squares.only(groups)
        return ScoreTable(names, counts, self.labelled, squares)

    def rescored(self, maps: Mapping[Hashable, Callable[[NDArray[np.float64]], NDArray[np.float64]]]) -> ScoreTable:
        """Apply a map to the scores of each group named in ``maps``."""
        counts = tuple(c.rescored(maps[g](c.score)) if g in maps else c for g, c in zip(self.groups, self.counts))
        squares = None if self.squares is None else self.squares.rescored(maps)
        return ScoreTable(self.groups, counts, self.labelled, squares)

    def for_pairs(self) -> ScoreTable:
        """Return counts whose pairs can be counted: float64 where int64 could overflow (over 1.5e9 rows)."""
        if 4 * int(self.positives.sum()) * int(self.negatives.sum()) < 2**63:
            return self
        counts = tuple(GroupCounts(c.score, c.positive * 1.0, c.negative * 1.0) for c in self.counts)
        return ScoreTable(self.groups, counts, self.labelled, self.squares)

    def merge(self, other: ScoreTable) -> ScoreTable:
        """Add up two tables, as if their rows had been counted together."""
        if self.labelled != other.labelled:
            raise ValueError(
                "a table with labels and one without cannot be merged: the sum would have half its labels."
            )
        if (self.squares is None) != (other.squares is None):
            raise ValueError("a table that knows its squared weights and one that does not cannot be merged.")
        merged = dict(zip(self.groups, self.counts))
        for group, counts in zip(other.groups, other.counts):
            merged[group] = merged[group].plus(counts) if group in merged else counts
        squares = None if self.squares is None or other.squares is None else self.squares.merge(other.squares)
        return ScoreTable(tuple(merged), tuple(merged.values()), self.labelled, squares)

    def with_squares(self, squares: ScoreTable) -> ScoreTable:
        """Say how much the weights count: ``squares`` has the sums of squared weights at the same entries."""
        same = self.groups == squares.groups and all(
            np.array_equal(a.score, b.score) for a, b in zip(self.counts, squares.counts)
        )
        if not same:
            raise ValueError("the table of squared weights must have the groups and scores of the table itself.")
        return ScoreTable(self.groups, self.counts, self.labelled, squares)

    def quantise(self, bins: int) -> tuple[ScoreTable, QuantisationBound]:
        """Reduce to at most ``bins`` distinct scores, the same for all groups, of about equal weight.

        Scores that share a bin become equal to their mean, so only pairs inside a bin can change.

        Returns
        -------
        (ScoreTable, QuantisationBound)
            The smaller table, and how far any metric made from it can be off.
        """
        if not isinstance(bins, int | np.integer) or bins < 1:
            raise ValueError(f"bins must be a whole number, at least 1, got {bins!r}.")
        pooled = self.pooled()
        if len(pooled.score) <= bins:
            return self, QuantisationBound(0.0, np.zeros((len(self.groups),) * 2), 0.0)
        weight = pooled.weight.astype(np.float64)
        middle = np.cumsum(weight) - weight / 2
        bin_of = np.minimum((middle * (bins / weight.sum())).astype(np.intp), bins - 1)
        first = np.append(0, np.flatnonzero(np.diff(bin_of)) + 1)
        low, high = pooled.score[first], pooled.score[np.append(first[1:], len(bin_of)) - 1]
        mean = np.add.reduceat(weight * pooled.score, first) / np.add.reduceat(weight, first)
        mean = np.clip(mean, low, high)
        # Scores alone in their bin are left bit for bit as they were: the bound must not hide round-off.
        small = self.rescored(dict.fromkeys(self.groups, lambda s: mean[np.searchsorted(low, s, side="right") - 1]))
        shift = float(np.maximum(mean - low, high - mean).max())
        return small, _bound(self, low, shift)


def _bound(table: ScoreTable, low: NDArray[np.float64], shift: float) -> QuantisationBound:
    """Count the pairs of different scores that fall into one bin."""

    def per_bin(score: NDArray[np.float64], counts: Counts) -> NDArray[Any]:
        places = np.searchsorted(low, score, side="right") - 1
        return np.bincount(places, weights=counts, minlength=len(low))

    positive = np.stack([per_bin(c.score, c.positive) for c in table.counts])
    negative = np.stack([per_bin(c.score, c.negative) for c in table.counts])
    pairs = positive @ negative.T
    total = np.outer(table.positives * 1.0, table.negatives * 1.0)
    share = np.divide(pairs, total, out=np.zeros(pairs.shape), where=total > 0)
    return QuantisationBound(float(pairs.sum() / (total.sum() or 1.0)), share, shift)


def _plain(
    scores: NDArray[np.float64], labels: NDArray[np.int8] | None
) -> tuple[NDArray[np.float64], NDArray[np.int8] | None]:
    """Bring rows to the types that are counted; refuse what would be counted wrongly."""
    scores = np.ascontiguousarray(scores, dtype=np.float64)
    if not np.isfinite(scores).all():
        raise ValueError(f"{int((~np.isfinite(scores)).sum())} scores are NaN or infinite.")
    if labels is None:
        return scores, None
    labels = np.asarray(labels)
    if len(labels) != len(scores) or not _are_binary(labels):
        raise ValueError(f"labels must be 0 or 1, one for each of the {len(scores)} scores.")
    return scores, labels.astype(np.int8, copy=False)


def _are_binary(labels: NDArray[Any]) -> bool:
    """Whether all labels are 0 or 1: one pass over the bytes of what the checks hand over."""
    if labels.dtype == np.int8:
        return len(labels) == 0 or bool(labels.view(np.uint8).max() <= 1)
    return bool(np.isin(labels, (0, 1)).all())


def _rows_of_groups(codes: NDArray[Any], groups: int) -> Iterator[NDArray[np.intp]]:
    """Give the rows of each group in turn: compare for a few groups, sort for many."""
    if groups <= _FEW_GROUPS:
        yield from (np.flatnonzero(codes == g) for g in range(groups))
    else:
        ends = np.cumsum(np.bincount(codes, minlength=groups))
        yield from np.split(np.argsort(codes, kind="stable"), ends[:-1])


def _count_group(
    rows: NDArray[np.intp],
    scores: NDArray[np.float64],
    labels: NDArray[np.int8] | None,
    weight: Counts | None,
) -> GroupCounts:
    """Count the rows of one group."""
    own = None if labels is None else labels.take(rows)
    if weight is None:
        own = np.zeros(len(rows), dtype=np.int8) if own is None else own
        return _add_up_units(*_sort_by_score(scores.take(rows), own))
    return GroupCounts.from_rows(scores.take(rows), own, weight.take(rows))


def _top_score(counts: GroupCounts, alpha: float) -> float:
    """Return the ceil(alpha N)-th largest score."""
    from_top = np.cumsum(counts.weight[::-1])
    return float(counts.score[::-1][top_place(from_top, alpha)])


def _sort_by_score(
    scores: NDArray[np.float64], labels: NDArray[np.int8]
) -> tuple[NDArray[np.float64], NDArray[np.int8]]:
    """Sort scores, which may be overwritten, with their labels as a plain sort of integers.

    Floats >= 0 order like their bits and leave the sign bit free, so the label rides along as the
    lowest bit of a 64-bit key. Sorting values is several times cheaper than an argsort and its gathers.
    """
    below = np.flatnonzero(scores < 0)
    if len(below) == 0:
        return _sort_nonnegative(scores, labels)
    lower, lower_labels = _sort_nonnegative(-scores.take(below), labels.take(below))
    rest = np.flatnonzero(scores >= 0)
    upper, upper_labels = _sort_nonnegative(scores.take(rest), labels.take(rest))
    return np.concatenate((-lower[::-1], upper)), np.concatenate((lower_labels[::-1], upper_labels))


def _sort_nonnegative(
    scores: NDArray[np.float64], labels: NDArray[np.int8]
) -> tuple[NDArray[np.float64], NDArray[np.int8]]:
    scores += 0.0  # -0.0 becomes 0.0
    keys = scores.view(np.uint64)
    keys <<= np.uint64(1)
    keys |= labels.view(np.uint8)
    keys.sort()
    sorted_labels = keys.astype(np.uint8)
    sorted_labels &= np.uint8(1)
    keys >>= np.uint64(1)
    return keys.view(np.float64), sorted_labels.view(np.int8)


def _add_up_units(scores: NDArray[np.float64], labels: NDArray[np.int8]) -> GroupCounts:
    """Add up sorted rows of weight one."""
    step = scores[1:] != scores[:-1]
    if step.all():
        positive = labels.astype(np.int64)
        return GroupCounts(scores, positive, 1 - positive)
    first = _run_starts(step)
    positive = np.add.reduceat(labels, first, dtype=np.int64)
    return GroupCounts(scores[first], positive, np.diff(first, append=len(scores)) - positive)


def _add_up(
    scores: NDArray[np.float64], positive: Counts, negative: Counts
) -> tuple[NDArray[np.float64], Counts, Counts]:
    """Add up sorted entries with equal scores."""
    step = scores[1:] != scores[:-1]
    if step.all():
        return scores, positive, negative
    first = _run_starts(step)
    return scores[first], np.add.reduceat(positive, first), np.add.reduceat(negative, first)


def _run_starts(step: NDArray[np.bool_]) -> NDArray[np.intp]:
    """Give the places where a new score begins, from where neighbours differ."""
    return np.concatenate(([0], np.flatnonzero(step) + 1))
