"""ScoreTable: the one small table per group that every number in fairpot depends on.

It knows what the rows were: the weight of positives and negatives at each score of each group, the sums of squared
weights where weights say how much a row counts, and which rows belong together. All of it is carried along when a
table is cut, rescored, merged or quantised.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fairpot._defaults import REGIONS, Region
from fairpot._html import html_table
from fairpot._validation import check_choice, check_share
from fairpot.transport import Floats, top_place

# Up to so many groups, finding each one's rows by comparison is cheaper than one sort.
_FEW_GROUPS = 16
Indices = NDArray[np.intp]
Counts = NDArray[Any]  # int64, or float64 where weights are not whole numbers
Maps = Mapping[Hashable, Callable[[Floats], Floats]]


class Members(NamedTuple):
    """The rows of one group and label that belong to clusters: the unit, the place of the score, the weight of each.

    In the order of places, units and weights, so that no sum depends on the order of rows.
    """

    unit: Indices
    entry: Indices
    weight: Counts

    @classmethod
    def of_rows(cls, unit: Indices, entry: Indices, weight: Counts | None = None) -> Members:
        """Put rows in order; those of no weight are left out, and without weights each counts once."""
        if weight is not None and not weight.all():
            kept = np.flatnonzero(weight)
            unit, entry, weight = unit[kept], entry[kept], weight[kept]
        many = int(unit.max(initial=0)) + 1
        # One number for place and unit: to sort values costs a tenth of a sort by several columns.
        key = entry.astype(np.int64) * many
        key += unit
        if weight is None:
            key.sort()
            weight = np.ones(len(key), dtype=np.int64)
        else:
            order = _by_key_and_weight(key, weight)
            key, weight = key[order], weight[order]
        entry, unit = np.divmod(key, many)
        return cls(unit.astype(np.intp, copy=False), entry.astype(np.intp, copy=False), weight)

    def at(self, place: Indices) -> Members:
        """Give each entry a new place; one below 0 leaves the table."""
        entry = place[self.entry]
        if len(entry) and entry.min() < 0:
            kept = np.flatnonzero(entry >= 0)
            return Members(self.unit[kept], entry[kept], self.weight[kept])._in_order()
        return Members(self.unit, entry, self.weight)._in_order()

    def _in_order(self) -> Members:
        """Put rows in order again, where new places have brought them out of it."""
        if (self.entry[1:] > self.entry[:-1]).all():
            return self
        ones = self.weight.dtype.kind == "i" and bool((self.weight == 1).all())
        return Members.of_rows(self.unit, self.entry, None if ones else self.weight)

    def only(self, chosen: NDArray[np.bool_]) -> Members:
        """Keep the rows of some units."""
        kept = np.flatnonzero(chosen[self.unit])
        return Members(self.unit[kept], self.entry[kept], self.weight[kept])

    def plus(self, other: Members) -> Members:
        """Add other rows, whose entries and units are numbered alike."""
        return Members.of_rows(*(np.concatenate(both) for both in zip(self, other)))


Sides = tuple[Counts, Counts]


@dataclass(frozen=True, eq=False)
class GroupCounts:
    """Distinct scores of one group, ascending, with the weight of positives and negatives at each.

    Whole weights are kept as int64, so that every count made from them is exact; any other
    weights are float64. ``squares`` has the sums of squared weights of positives and of negatives, where a weight is
    how much a row counts, and ``members`` the rows of either where rows belong together.
    """

    score: NDArray[np.float64]
    positive: Counts
    negative: Counts
    squares: Sides | None = None
    members: tuple[Members, Members] | None = None

    @property
    def weight(self) -> Counts:
        """Weight at each score, whatever the label."""
        return self.positive + self.negative

    def squared(self, positive: bool) -> Counts:
        """Give the sums of squared weights of positives or negatives: the weights themselves, where they are rows."""
        if self.squares is None:
            return self.positive if positive else self.negative
        return self.squares[0 if positive else 1]

    @classmethod
    def from_rows(
        cls,
        scores: NDArray[np.float64],
        labels: NDArray[np.int8] | None,
        weight: Counts | None = None,
        square: Floats | None = None,
    ) -> GroupCounts:
        """Count rows: one sort. Without labels all weight is put down as negative."""
        labels = np.zeros(len(scores), dtype=np.int8) if labels is None else labels
        if weight is None:
            return _add_up_units(*_sort_by_score(scores.copy(), labels))
        scores = scores + 0.0  # -0.0 and 0.0 are one score
        # Equal scores are added up in the order of weights and labels: the sum does not depend on row order.
        exact = weight.dtype.kind == "i" and square is None
        order = np.argsort(scores) if exact else np.lexsort((labels, weight, scores))
        order = order[weight[order] > 0]
        scores, labels, weight = scores[order], labels[order], weight[order]
        columns: list[Counts] = [weight * labels, weight * (1 - labels)]
        if square is not None:
            columns += [square[order] * labels, square[order] * (1 - labels)]
        scores, added, _ = _add_up(scores, columns)
        return cls(scores, added[0], added[1], None if square is None else (added[2], added[3]))

    def with_members(
        self,
        scores: NDArray[np.float64],
        labels: NDArray[np.int8] | None,
        weight: Counts | None,
        unit: Indices,
    ) -> GroupCounts:
        """Note which of the rows that were counted belong together."""
        rows = np.argsort(scores)
        if weight is not None:
            rows = rows[weight[rows] > 0]
        # In the order of scores places are counted; to look each score up would cost ten times as much.
        ordered = scores[rows]
        entry = np.zeros(len(rows), dtype=np.intp)
        np.cumsum(ordered[1:] != ordered[:-1], out=entry[1:])
        positive = np.zeros(len(rows), dtype=bool) if labels is None else labels[rows] == 1
        sides = [
            Members.of_rows(unit[rows[side]], entry[side], None if weight is None else weight[rows[side]])
            for side in (positive, ~positive)
        ]
        return replace(self, members=(sides[0], sides[1]))

    def above(self, threshold: float) -> GroupCounts:
        """Keep the scores >= threshold."""
        first = int(np.searchsorted(self.score, threshold, side="left"))
        return self.taken(slice(first, None))

    def without_empty(self) -> GroupCounts:
        """Drop entries that have no weight."""
        return self.taken(np.flatnonzero(self.weight))

    def taken(self, kept: slice | Indices) -> GroupCounts:
        """Keep some of the entries, in their order."""
        cut = GroupCounts(self.score[kept], self.positive[kept], self.negative[kept])
        if self.squares is None and self.members is None:
            return cut
        place = np.full(len(self.score), -1, dtype=np.intp)
        place[kept] = np.arange(len(cut.score))
        return replace(cut, squares=self._squares(lambda q: q[kept]), members=self._members(place))

    def rescored(self, scores: NDArray[np.float64]) -> GroupCounts:
        """Give each entry a new score (in any order) and add up those that become equal."""
        order = np.argsort(scores, kind="stable")
        columns = [column[order] for column in (self.positive, self.negative, *(self.squares or ()))]
        merged, added, first = _add_up(scores[order] + 0.0, columns)
        squares = None if self.squares is None else (added[2], added[3])
        if self.members is None:
            return GroupCounts(merged, added[0], added[1], squares)
        place = np.empty(len(scores), dtype=np.intp)
        ranks = np.arange(len(scores))
        place[order] = ranks if first is None else np.searchsorted(first, ranks, side="right") - 1
        return GroupCounts(merged, added[0], added[1], squares, self._members(place))

    def merged(self, first: Indices, score: NDArray[np.float64]) -> GroupCounts:
        """Add up runs of entries that begin at ``first``; each is known by a score of its own."""
        positive, negative = (np.add.reduceat(c, first) for c in (self.positive, self.negative))
        place = np.searchsorted(first, np.arange(len(self.score)), side="right") - 1
        squares = self._squares(lambda q: np.add.reduceat(q, first))
        return GroupCounts(score, positive, negative, squares, self._members(place))

    def plus(self, other: GroupCounts) -> GroupCounts:
        """Add the counts of another part of the same group."""
        scores, positive, negative = (
            np.concatenate((getattr(self, name), getattr(other, name))) for name in ("score", "positive", "negative")
        )
        squares = members = None
        if self.squares is not None and other.squares is not None:
            squares = tuple(np.concatenate(both) for both in zip(self.squares, other.squares))
        if self.members is not None and other.members is not None:
            behind = np.arange(len(other.score)) + len(self.score)
            members = tuple(own.plus(more.at(behind)) for own, more in zip(self.members, other.members))
        return GroupCounts(scores, positive, negative, squares, members).rescored(scores)  # type: ignore[arg-type]

    def _squares(self, change: Callable[[Counts], Counts]) -> Sides | None:
        return None if self.squares is None else (change(self.squares[0]), change(self.squares[1]))

    def _members(self, place: Indices) -> tuple[Members, Members] | None:
        return None if self.members is None else (self.members[0].at(place), self.members[1].at(place))


@dataclass(frozen=True, eq=False)
class Units:
    """The independent units that rows belong to: how many, and a hash of each one's name, ascending.

    Hashes match the units of tables that are merged; where they were dropped, nobody's name can be tried against them.
    """

    size: int
    hashes: NDArray[np.uint64] | None = None


@dataclass(frozen=True, eq=False)
class Clusters:
    """The rows of a table that belong together, one column a property: what sums over units are made from.

    ``unit`` numbers the cluster of each row, ``group`` and ``entry`` tell where its score stands in the table,
    ``positive`` its label, ``weight`` its weight; ``size`` is the number of clusters.
    """

    unit: Indices
    group: Indices
    entry: Indices
    positive: NDArray[np.bool_]
    weight: Counts
    importance: bool
    size: int


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
    with :func:`fairpot.score_table`, which checks them.

    Parameters
    ----------
    groups : tuple of hashable
        Names of the groups.
    counts : tuple of GroupCounts
        The counts of each group, in the order of ``groups``.
    labelled : bool, default True
        Whether labels were known; if not, all weight counts as negative.
    units : Units or None, default None
        The clusters that rows belong to; None where every row is independent of the others.
    lower_is_riskier : bool, default False
        Whether a low score meant high risk: the scores of the table are then those of the rows with a minus.

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
    units: Units | None = None
    lower_is_riskier: bool = False

    @classmethod
    def from_rows(
        cls,
        scores: NDArray[np.float64],
        labels: NDArray[np.int8] | None,
        codes: NDArray[Any] | None = None,
        groups: Sequence[Hashable] = ("all",),
        weight: Counts | None = None,
        *,
        square: Floats | None = None,
        unit: Indices | None = None,
        units: Units | None = None,
        lower_is_riskier: bool = False,
    ) -> ScoreTable:
        """Count clean rows: finite scores, labels 0 and 1, ``codes`` that index into ``groups``, weights >= 0.

        ``square`` is what each row adds to the sums of squared weights, where weights say how much a row counts;
        ``unit`` the number of each row's cluster among ``units``; ``lower_is_riskier`` puts down that the scores have
        been given a minus. :func:`fairpot.score_table` makes rows clean, whatever they come in.
        """
        scores, labels = _plain(scores, labels)
        if codes is not None and not (codes.min() >= 0 and codes.max() < len(groups)):
            raise ValueError(f"codes must lie in 0 ... {len(groups) - 1}, got {codes.min()} to {codes.max()}.")
        if weight is not None and not (weight >= 0).all():
            raise ValueError("weights must be numbers >= 0.")
        if codes is None or len(groups) == 1:
            counts = [GroupCounts.from_rows(scores, labels, weight, square)]
            if unit is not None:
                counts = [counts[0].with_members(scores, labels, weight, unit)]
        else:
            counts = [
                _count_group(rows, scores, labels, weight, square, unit) for rows in _rows_of_groups(codes, len(groups))
            ]
        return cls(tuple(groups), tuple(counts), labels is not None, units, lower_is_riskier)

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

    def rows_of(self, places: Sequence[int]) -> float:
        """Give the weight of some groups."""
        return float(sum(self.counts[place].weight.sum() for place in places))

    @property
    def importance(self) -> bool:
        """Whether weights say how much a row counts; if not, a weight is so many rows."""
        return any(c.squares is not None for c in self.counts)

    def squared(self, group: int, positive: bool) -> Counts:
        """Give the sums of squared weights of one group's positives or negatives."""
        return self.counts[group].squared(positive)

    @cached_property
    def clusters(self) -> Clusters | None:
        """The rows that belong together; None where all are independent."""
        if self.units is None:
            return None
        cells = [
            (g, side == 0, rows)
            for g, c in enumerate(self.counts)
            for side, rows in enumerate(c.members or (_NOBODY, _NOBODY))
        ]
        sizes = [len(rows.unit) for _, _, rows in cells]
        return Clusters(
            np.concatenate([rows.unit for _, _, rows in cells]),
            np.repeat([g for g, _, _ in cells], sizes),
            np.concatenate([rows.entry for _, _, rows in cells]),
            np.repeat([positive for _, positive, _ in cells], sizes),
            np.concatenate([rows.weight for _, _, rows in cells]).astype(np.float64),
            self.importance,
            self.units.size,
        )

    @property
    def independent(self) -> tuple[Floats, Floats]:
        """How many independent units the positives, and the negatives, of each group are.

        Clusters where rows belong together; where weights say how much a row counts, as many rows as they are worth.
        """
        found: list[list[float]] = []
        for side in range(2):
            if self.units is not None:
                found.append([0 if c.members is None else len(np.unique(c.members[side].unit)) for c in self.counts])
            else:
                weights = [(c.positive, c.negative)[side].sum() for c in self.counts]
                squares = [c.squared(side == 0).sum() for c in self.counts]
                found.append([float(w) ** 2 / float(q) if q > 0 else 0.0 for w, q in zip(weights, squares)])
        return np.array(found[0], dtype=np.float64), np.array(found[1], dtype=np.float64)

    def require(self, what: str, *, labels: bool = True, groups: int = 1, hint: str | None = None) -> ScoreTable:
        """Insist on outcomes and on so many groups; ``what`` needs them, and ``hint`` is the way out."""
        wrong = None
        if labels and not self.labelled:
            wrong, way = f"{what} counts outcomes, and this table has no labels.", "count the rows with their outcomes"
        elif len(self.groups) < groups:
            wrong = f"{what} compares groups, and this table has a single group, {self.groups[0]!r}."
            way = "pass the group of each row as sensitive_features"
        if wrong is not None:
            raise ValueError(f"{wrong}\nHint: {hint or way}.")
        return self

    def renamed(self, groups: Sequence[Hashable]) -> ScoreTable:
        """Call the groups by other names, in the table's own order."""
        return replace(self, groups=tuple(groups))

    def nameless(self) -> ScoreTable:
        """Drop the hashes of units: what is kept with a fitted model can give away nobody's name."""
        if self.units is None or self.units.hashes is None:
            return self
        return replace(self, units=Units(self.units.size))

    @property
    def positives(self) -> Counts:
        """Weight of the positives of each group."""
        return np.array([c.positive.sum() for c in self.counts])

    @property
    def negatives(self) -> Counts:
        """Weight of the negatives of each group."""
        return np.array([c.negative.sum() for c in self.counts])

    def pooled(self) -> GroupCounts:
        """All groups as one: scores and weights, without what is known of rows beside them."""
        if len(self.counts) == 1:
            return self.counts[0]
        parts = [np.concatenate([getattr(c, name) for c in self.counts]) for name in ("score", "positive", "negative")]
        return GroupCounts(parts[0], parts[1], parts[2]).rescored(parts[0])

    def joined(self) -> ScoreTable:
        """All groups as one, "all", with what is known of their rows."""
        total = self.counts[0]
        for counts in self.counts[1:]:
            total = total.plus(counts)
        return replace(self, groups=("all",), counts=(total,))

    def thresholds(self, alpha: float, region: Region = "pooled") -> dict[Hashable, float]:
        """Return the lowest score of each group's top-alpha region, ties included."""
        alpha = check_share(alpha, "alpha", zero=False)
        check_choice(region, "region", REGIONS)
        if region == "pooled":
            return dict.fromkeys(self.groups, _top_score(self.pooled(), alpha))
        return {g: _top_score(c, alpha) for g, c in zip(self.groups, self.counts)}

    def above(self, thresholds: Mapping[Hashable, float]) -> ScoreTable:
        """Cut every group at its threshold; scores equal to it stay in."""
        return self._with(c.above(thresholds[g]) for g, c in zip(self.groups, self.counts))

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
        return replace(self, groups=names, counts=counts)

    def rescored(self, maps: Maps) -> ScoreTable:
        """Apply a map to the scores of each group named in ``maps``."""
        return self._with(c.rescored(maps[g](c.score)) if g in maps else c for g, c in zip(self.groups, self.counts))

    def view(self, maps: Maps) -> list[Floats]:
        """Give the scores that maps leave at every entry of every group."""
        return [maps[g](c.score) if g in maps else c.score for g, c in zip(self.groups, self.counts)]

    def viewed(self, scores: Sequence[NDArray[np.float64]]) -> ScoreTable:
        """Give every entry of every group a new score, in any order."""
        return self._with(c.rescored(s) for c, s in zip(self.counts, scores))

    def weighing(self, weights: Iterable[Sides]) -> ScoreTable:
        """Put other weights of positives and negatives at the same entries; of their rows nothing is known."""
        counts = (GroupCounts(c.score, *sides) for c, sides in zip(self.counts, weights))
        return replace(self, counts=tuple(counts), units=None)

    def _with(self, counts: Iterable[GroupCounts]) -> ScoreTable:
        """Put other counts in the place of these."""
        return replace(self, counts=tuple(counts))

    def for_pairs(self) -> ScoreTable:
        """Return counts whose pairs can be counted: float64 where int64 could overflow (over 1.5e9 rows)."""
        if 4 * int(self.positives.sum()) * int(self.negatives.sum()) < 2**63:
            return self
        return self._with(replace(c, positive=c.positive * 1.0, negative=c.negative * 1.0) for c in self.counts)

    def merge(self, other: ScoreTable) -> ScoreTable:
        """Add up two tables, as if their rows had been counted together."""
        if self.labelled != other.labelled:
            raise ValueError(
                "a table with labels and one without cannot be merged: the sum would have half its labels."
            )
        if self.importance != other.importance:
            raise ValueError("a table that knows its squared weights and one that does not cannot be merged.")
        if self.lower_is_riskier != other.lower_is_riskier:
            raise ValueError(
                "a table in which a low score meant high risk and one in which a high one did cannot be merged."
            )
        units, here, there = _united(self, other)
        merged = dict(zip(here.groups, here.counts))
        for group, counts in zip(there.groups, there.counts):
            merged[group] = merged[group].plus(counts) if group in merged else counts
        return replace(self, groups=tuple(merged), counts=tuple(merged.values()), units=units)

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


_NOBODY = Members(np.empty(0, dtype=np.intp), np.empty(0, dtype=np.intp), np.empty(0, dtype=np.int64))


def _by_key_and_weight(key: NDArray[np.int64], weight: Counts) -> Indices:
    """Order rows by a key; those with the same, usually few, by their weight."""
    order = np.argsort(key)
    same = key[order[1:]] == key[order[:-1]]
    if same.any():
        ties = np.flatnonzero(np.append(same, False) | np.append(False, same))
        rows = order[ties]
        order[ties] = rows[np.lexsort((weight[rows], key[rows]))]
    return order


def _united(one: ScoreTable, other: ScoreTable) -> tuple[Units | None, ScoreTable, ScoreTable]:
    """Number the units of two tables alike: those of the same name are the same."""
    if (one.units is None) != (other.units is None):
        raise ValueError("a table whose rows belong together and one whose rows do not cannot be merged.")
    if one.units is None or other.units is None or one.units is other.units:
        return one.units, one, other
    if one.units.hashes is None or other.units.hashes is None:
        raise ValueError("clusters without names cannot be told to be the same; merge tables before a fit.")
    hashes = np.union1d(one.units.hashes, other.units.hashes)
    return Units(len(hashes), hashes), _renumbered(one, hashes), _renumbered(other, hashes)


def _renumbered(table: ScoreTable, hashes: NDArray[np.uint64]) -> ScoreTable:
    assert table.units is not None
    assert table.units.hashes is not None
    place = np.searchsorted(hashes, table.units.hashes)

    def again(members: Members) -> Members:
        return members._replace(unit=place[members.unit])

    return table._with(
        c if c.members is None else replace(c, members=(again(c.members[0]), again(c.members[1]))) for c in table.counts
    )


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
    square: Floats | None,
    unit: Indices | None,
) -> GroupCounts:
    """Count the rows of one group."""
    own = None if labels is None else labels.take(rows)
    if weight is None:
        plain = np.zeros(len(rows), dtype=np.int8) if own is None else own
        counts = _add_up_units(*_sort_by_score(scores.take(rows), plain))
    else:
        weight = weight.take(rows)
        counts = GroupCounts.from_rows(scores.take(rows), own, weight, None if square is None else square.take(rows))
    return counts if unit is None else counts.with_members(scores.take(rows), own, weight, unit.take(rows))


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
    scores: NDArray[np.float64], columns: Sequence[Counts]
) -> tuple[NDArray[np.float64], Sequence[Counts], Indices | None]:
    """Add up sorted entries with equal scores; tell where each run of them begins, None if all differ."""
    step = scores[1:] != scores[:-1]
    if step.all():
        return scores, columns, None
    first = _run_starts(step)
    return scores[first], [np.add.reduceat(column, first) for column in columns], first


def _run_starts(step: NDArray[np.bool_]) -> NDArray[np.intp]:
    """Give the places where a new score begins, from where neighbours differ."""
    return np.concatenate(([0], np.flatnonzero(step) + 1))
