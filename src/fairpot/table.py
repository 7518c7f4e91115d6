"""ScoreTable: the one small table per group that every number in fairpot depends on."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from fairpot._arguments import argument
from fairpot._defaults import MEANINGS, TOPS_OF, Meaning, TopOf, Weights
from fairpot._docs import documented
from fairpot._html import html_table, notes, paragraph
from fairpot._optional import make_frame
from fairpot._shown import display
from fairpot._validation import check_choice, check_group_name, check_top
from fairpot._validation.grouping import Grouping
from fairpot.counts import (
    NOBODY,
    Clusters,
    Counts,
    GroupCounts,
    Indices,
    Members,
    Sides,
    Units,
    count_units,
    side_by_side,
)
from fairpot.follow_up import FollowUp
from fairpot.transport import Floats

# Up to so many groups, finding each one's rows by comparison is cheaper than one sort.
_FEW_GROUPS = 16
Maps = Mapping[Hashable, Callable[[Floats], Floats]]


class Top(NamedTuple):
    """A top of a list: which share of the rows is in it, of all or of each group, and how many were asked for."""

    share: float
    top_of: TopOf = "all"
    rows: int | None = None  # where it was asked for in rows

    @property
    def size(self) -> float:
        """How large it is, as it was asked for: an int for rows."""
        return self.share if self.rows is None else self.rows


@dataclass(frozen=True)
class QuantisationBound:
    """How far quantising a table can move AUC, any ``xauc[g, h]`` (the share of pairs in one bin) and any score."""

    auc: float
    xauc: NDArray[np.float64]
    score: float


@documented
@dataclass(frozen=True, eq=False, repr=False)
class ScoreTable:
    """Count rows: how many with and without the outcome have each score, in each group.

    :func:`fairpot.score_table` makes it from rows of any kind; every number of fairpot is a function of it.

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
    high_score_means : {"help", "harm"} or None, default None
        What a high score of the rows' own does to the person who has it, if that was said. It changes no count.
    group_columns : tuple of str, default ()
        The names of the columns with the group, where they are known: sentences call group 0 "black=0" by them.
    grouping : Grouping or None, default None
        How values of these columns became groups: bands, a group of missing values, values that mean unknown.
    follow_up : FollowUp or None, default None
        Of outcomes after a time, the horizon and how each group was followed until then.
    unlabelled : ScoreTable or None, default None
        Scores of the rows that were left out as their outcome was missing.
    only_groups, min_group : tuple of group names or None, default None, and int, default 0
        The groups that were said to be compared, and how many rows each needs; :func:`fairpot.counting.kept_groups`
        leaves the others out.
    weightless : int, default 0
        How many rows had a weight of 0: they are in no count.

    Examples
    --------
    >>> import fairpot
    >>> y, score, sex = [1, 0, 1, 0, 1, 0], [0.4, 0.1, 0.9, 0.6, 0.4, 0.3], ["F", "F", "M", "M", "F", "M"]
    >>> table = fairpot.score_table(y, score, sensitive_features=sex)
    >>> table["F"].score, table["F"].positive, table["F"].negative
    (array([0.1, 0.4]), array([0, 2]), array([1, 0]))
    >>> table.rows, table.positives.tolist()
    (6, [2, 1])
    """

    groups: tuple[Hashable, ...]
    counts: tuple[GroupCounts, ...]
    labelled: bool = True
    units: Units | None = None
    lower_is_riskier: bool = False
    high_score_means: Meaning | None = None
    group_columns: tuple[str, ...] = field(default=(), compare=False)
    grouping: Grouping | None = field(default=None, compare=False)
    follow_up: FollowUp | None = None
    unlabelled: ScoreTable | None = field(default=None, compare=False)
    only_groups: tuple[Hashable, ...] | None = field(default=None, compare=False)
    min_group: int = field(default=0, compare=False)
    weightless: int = field(default=0, compare=False)

    def __post_init__(self) -> None:
        if self.high_score_means is not None:
            check_choice(self.high_score_means, "high_score_means", MEANINGS)

    @classmethod
    def from_rows(
        cls,
        scores: NDArray[np.float64],
        labels: NDArray[np.int8] | None,
        codes: NDArray[Any] | None = None,
        groups: Sequence[Hashable] = ("all",),
        weight: Counts | None = None,
        grouping: Grouping | None = None,
        *,
        square: Floats | None = None,
        unit: Indices | None = None,
        units: Units | None = None,
        rows: Counts | None = None,
        lower_is_riskier: bool = False,
        high_score_means: Meaning | None = None,
    ) -> ScoreTable:
        """Count clean rows: finite scores, labels 0 and 1, ``codes`` that index into ``groups``, weights >= 0.

        Nothing is checked here; :func:`fairpot.score_table` is the door for rows as they come.

        ``square`` is what each row adds to the sums of squared weights, where weights say how much a row counts;
        ``unit`` the number of each row's cluster among ``units``; ``rows`` how many rows each is, where that is not
        its weight; ``lower_is_riskier`` stores that the scores have been given a minus.
        """
        scores = np.ascontiguousarray(scores, dtype=np.float64)
        labels = None if labels is None else np.asarray(labels, dtype=np.int8)
        columns: tuple[Any, ...] = (scores, labels, weight, square, unit, rows)
        if codes is None or len(groups) == 1:
            counts = [GroupCounts.from_rows(*columns)]
        else:
            counts = [GroupCounts.from_rows(*_taken(columns, rows)) for rows in _rows_of_groups(codes, len(groups))]
        known: dict[str, Any] = {"lower_is_riskier": lower_is_riskier, "high_score_means": high_score_means}
        if weight is not None and not weight.all():
            known["weightless"] = int((weight == 0).sum() if rows is None else rows[weight == 0].sum())
        return cls(tuple(groups), tuple(counts), labels is not None, units, **known, grouping=grouping)

    def __repr__(self) -> str:
        named = ", ".join(map(str, self.groups[:4])) + (", ..." if len(self.groups) > 4 else "")
        distinct = sum(len(c.score) for c in self.counts)
        known = "" if self.labelled else ", outcomes not known"
        return f"<ScoreTable of {self.rows:,.10g} rows, groups {named}: {distinct:,} entries{known}>"

    def frame(self) -> Any:
        """Return the counts as a tidy frame (pandas, Polars or PyArrow, whichever is in use).

        One row per group and distinct score, with the weight of rows with and without the outcome.
        """
        parts = ("score", "positive", "negative")
        groups = [g for g, c in zip(self.groups, self.counts) for _ in range(len(c.score))]
        return make_frame({"group": groups, **{n: np.concatenate([getattr(c, n) for c in self.counts]) for n in parts}})

    def _repr_html_(self) -> str:
        rows = [
            {
                "group": g,
                "rows": c.size,
                "with the outcome": c.counted[0].sum().item() if self.labelled else None,
                "without it": c.counted[1].sum().item() if self.labelled else None,
                **({"weight": c.weight.sum().item()} if self.weights == "importance" else {}),
                "distinct scores": len(c.score),
            }
            for g, c in zip(self.groups, self.counts)
        ]
        title = "Counts table" + (f", weights as {self.weights}" if self.weighted else "")
        counted = "Counted rows; fairpot.audit(table) measures AUC and gaps with intervals."
        return f"<div>{paragraph(repr(self)[1:-1])}{html_table(rows, title)}{notes([counted])}</div>"

    def plot(self, ax: Any = None) -> Any:
        """Draw the scores of each group by outcome, positives upwards and negatives downwards; return the axes.

        {ax}
        """
        return display("draw_scores")(self, ax)

    def __getitem__(self, group: Hashable) -> GroupCounts:
        if group not in self.groups:
            raise KeyError(f"the table has no group {group!r}, only {list(self.groups)}")
        return self.counts[self.groups.index(group)]

    @property
    def rows(self) -> float:
        """How many rows all groups have; a weight that is said to be so many rows counts for them."""
        return self.rows_of(range(len(self.counts)))

    def rows_of(self, places: Sequence[int]) -> float:
        """Give how many rows some groups have."""
        return sum(self.counts[place].size for place in places)

    @property
    def weight(self) -> float:
        """Weight of all groups: an int where all weights are whole numbers; without weights, their rows."""
        total: float = sum(c.weight.sum() for c in self.counts).item()
        return total

    @property
    def unknown(self) -> tuple[Hashable, ...]:
        """The groups whose name means unknown: they are compared with nobody."""
        return () if self.grouping is None else tuple(filter(self.grouping.means_unknown, self.groups))

    @property
    def sized(self) -> tuple[float, float | None]:
        """How many rows there are, and what they weigh, where weights say how much a row counts."""
        return self.rows, self.weight if self.weights == "importance" else None

    @property
    def weighted(self) -> bool:
        """Whether rows had weights; ``weights`` says what they mean."""
        return any(c.rows is not None for c in self.counts)

    @property
    def rows_by_outcome(self) -> tuple[Floats, Floats]:
        """How many rows with, and without, the outcome each group has; a weight above 0 is one row, or so many."""
        sides = ([c.counted[side].sum().item() for c in self.counts] for side in range(2))
        with_it, without = (np.array(each, dtype=np.float64) for each in sides)
        return with_it, without

    @property
    def importance(self) -> bool:
        """Whether weights say how much a row counts; if not, a weight is so many rows."""
        return any(c.squares is not None for c in self.counts)

    @property
    def weights(self) -> Weights | None:
        """What weights mean: "frequency", so many rows, or "importance", how much a row counts; None without any.

        That rows stand for others who left early is no weight that somebody gave.
        """
        if self.follow_up is not None:
            return self.follow_up.weights
        if self.importance:
            return "importance"
        return "frequency" if self.weighted else None

    @property
    def ranked_high_means(self) -> Meaning | None:
        """What a high place in the ranking does to a person: of scores counted with a minus, what a low one does."""
        return ranked_high_means(self.high_score_means, self.lower_is_riskier)

    def squared(self, group: int, positive: bool) -> Counts:
        """Give the sums of squared weights of one group's positives or negatives."""
        return self.counts[group].squared(positive)

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what is found again when it is asked for."""
        return {each.name: getattr(self, each.name) for each in fields(self)}

    @cached_property
    def clusters(self) -> Clusters | None:
        """The rows that belong together; None where all are independent."""
        if self.units is None:
            return None
        cells = [
            (g, side == 0, rows)
            for g, c in enumerate(self.counts)
            for side, rows in enumerate(c.members or (NOBODY, NOBODY))
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
                found.append([0 if c.members is None else count_units(c.members[side].unit) for c in self.counts])
            else:
                weights = [(c.positive, c.negative)[side].sum() for c in self.counts]
                squares = [c.squared(side == 0).sum() for c in self.counts]
                found.append([float(w) ** 2 / float(q) if q > 0 else 0.0 for w, q in zip(weights, squares)])
        return np.array(found[0], dtype=np.float64), np.array(found[1], dtype=np.float64)

    def require(self, what: str, *, labels: bool = True, groups: int = 1, hint: str | None = None) -> ScoreTable:
        """Insist on outcomes and on so many groups; ``what`` needs them, and ``hint`` is the way out."""
        wrong = None
        if labels and not self.labelled:
            wrong = f"{what} counts outcomes, and this table has no labels."
            way = "count the rows with their outcomes; without them, fairpot.audit shows selection rates and scores"
        elif len(self.groups) < groups:
            wrong = f"{what} compares groups, and this table has a single group, {self.groups[0]!r}."
            way = "pass the group of each row as sensitive_features"
        if wrong is not None:
            raise ValueError(f"{wrong}\nHint: {hint or way}.")
        return self

    def meaning(self, high_score_means: Meaning | None) -> ScoreTable:
        """Store what a high score does to a person; what the table knows already must agree.

        {high_score_means}
        """
        given = replace(self, high_score_means=high_score_means) if high_score_means is not None else self
        if self.high_score_means is not None and given.high_score_means != self.high_score_means:
            raise ValueError(
                f"{argument('high_score_means', high_score_means)} contradicts the rows, which were counted with "
                f"{argument('high_score_means', self.high_score_means)}.\nHint: leave one of them out."
            )
        return given

    def comparing(self, groups: Any = None, min_group: Any = 0) -> ScoreTable:
        """Store which groups are compared; what the table knows already must agree.

        {groups, min_group}
        """
        named, least = self._named(groups), _check_least(min_group)
        told = ("groups", named, self.only_groups), ("min_group", least or None, self.min_group or None)
        for name, value, known in told:
            if value is not None and known not in (None, value):
                raise ValueError(
                    f"{argument(name, value)} contradicts the rows, which were counted with {argument(name, known)}.\n"
                    "Hint: leave one of them out."
                )
        if named is None and not least:
            return self
        return replace(self, only_groups=named or self.only_groups, min_group=least or self.min_group)

    def _named(self, groups: Any) -> tuple[Hashable, ...] | None:
        """Check the names of groups that are to be compared, in the table's own order."""
        if groups is None:
            return None
        listed = list(groups) if isinstance(groups, list | tuple | set | frozenset | np.ndarray) else [groups]
        names = {check_group_name(group, self.groups, "groups") for group in listed}
        if len(names) < 2:
            raise ValueError(
                f"groups must name at least two of {list(self.groups)}, got {list(names)}.\n"
                "Hint: fairpot compares groups; name two or more."
            )
        return tuple(group for group in self.groups if group in names)

    def renamed(self, groups: Sequence[Hashable]) -> ScoreTable:
        """Call the groups by other names, in the table's own order."""
        named = dict(zip(self.groups, groups))
        follow_up = None if self.follow_up is None else self.follow_up.renamed(named)
        kept = None if self.only_groups is None else tuple(named.get(group, group) for group in self.only_groups)
        without = self.unlabelled
        if without is not None:
            without = without.renamed([named.get(group, group) for group in without.groups])
        return replace(self, groups=tuple(groups), follow_up=follow_up, only_groups=kept, unlabelled=without)

    def nameless(self) -> ScoreTable:
        """Drop single rows and the hashes of units: what is kept with a fitted model can give away nobody's name."""
        if self.follow_up is None and self.unlabelled is None and (self.units is None or self.units.hashes is None):
            return self
        return replace(self._with(self.counts), units=None if self.units is None else Units(self.units.size))

    @property
    def positives(self) -> Counts:
        """Weight of the positives of each group."""
        return np.array([c.positive.sum() for c in self.counts])

    @property
    def negatives(self) -> Counts:
        """Weight of the negatives of each group."""
        return np.array([c.negative.sum() for c in self.counts])

    def pooled(self) -> GroupCounts:
        """Put all groups together: scores, weights and their squares, without the clusters of their rows."""
        if len(self.counts) == 1:
            return self.counts[0]
        together = side_by_side(self.counts)
        return together.rescored(together.score)

    def joined(self) -> ScoreTable:
        """All groups as one, "all", with what is known of their rows."""
        total = self.counts[0]
        for counts in self.counts[1:]:
            total = total.plus(counts)
        nothing: dict[str, Any] = dict.fromkeys(("follow_up", "only_groups", "unlabelled"))
        return replace(self, groups=("all",), counts=(total,), **nothing, min_group=0)

    def thresholds(self, top: float, top_of: TopOf = "all") -> dict[Hashable, float]:
        """Return the lowest score of the top, for each group.

        {top, top_of}
        """
        return self.starts(self.find_top(top, top_of))

    def find_top(self, top: float, top_of: str = "all") -> Top:
        """Say which share of these rows a top is that was asked for as a share, or as a number of rows.

        {top, top_of}
        """
        where = cast(TopOf, check_choice(top_of, "top_of", TOPS_OF))
        if not isinstance(size := check_top(top), int):
            return Top(size, where)
        squares = sum(float(c.squared(side).sum()) for c in self.counts for side in (True, False))
        if self.importance and not self.rows == self.weight == squares:  # then all are 1
            said = "the weights say how much a row counts, not how many rows it is"
            way = f"; or, if a weight is a number of rows, {argument('weights', 'frequency')}"
            if self.follow_up is not None:
                said, way = "at a horizon rows stand for others that left before", ""
            told = f"{argument('top', size)} is a number of rows, but {said}."
            raise ValueError(f"{told}\nHint: give a share, such as {argument('top', 0.1)}{way}.")
        if size > self.rows:
            raise ValueError(
                f"{argument('top', size)} is more than the {self.rows:,g} rows there are.\n"
                f"Hint: give a number of rows up to {self.rows:,g}, or a share, such as {argument('top', 0.1)}."
            )
        return Top(size / self.rows, where, size)

    def starts(self, top: Top) -> dict[Hashable, float]:
        """Give the lowest score of a top, for each group.

        Parameters
        ----------
        top : Top
            As :meth:`find_top` gives it.
        """
        where = top.share, top.top_of
        if where not in self._starts:
            if top.top_of == "all":
                self._starts[where] = dict.fromkeys(self.groups, self.pooled().top_score(top.share))
            else:
                self._starts[where] = {g: c.top_score(top.share) for g, c in zip(self.groups, self.counts)}
        return dict(self._starts[where])

    @cached_property
    def _starts(self) -> dict[tuple[float, str], dict[Hashable, float]]:
        return {}

    def above(self, thresholds: Mapping[Hashable, float]) -> ScoreTable:
        """Cut every group at its threshold; scores equal to it stay in.

        Parameters
        ----------
        thresholds : dict of group to float
            The lowest score that stays in, for each group.
        """
        return self._with(c.above(thresholds[g]) for g, c in zip(self.groups, self.counts))

    def top(self, top: float, top_of: TopOf = "all") -> ScoreTable:
        """Keep the top of the list: of all rows, or of each group.

        {top, top_of}
        """
        return self.above(self.thresholds(top, top_of))

    def only(self, groups: Sequence[Hashable]) -> ScoreTable:
        """Keep the named groups, in the table's own order.

        Parameters
        ----------
        groups : list of group names
            The groups to keep.
        """
        unknown = [g for g in groups if g not in self.groups]
        if unknown:
            raise KeyError(f"the table has no group {unknown[0]!r}, only {list(self.groups)}")
        kept = [i for i, g in enumerate(self.groups) if g in groups]
        if len(kept) == len(self.groups):
            return self
        names, counts = tuple(self.groups[i] for i in kept), tuple(self.counts[i] for i in kept)
        return replace(self, groups=names, counts=counts)

    def rescored(self, maps: Maps) -> ScoreTable:
        """Apply a map to the scores of each group named in ``maps``.

        Parameters
        ----------
        maps : dict of group to ScoreMap, or to any function of an array
            The groups that are not named keep their scores.
        """
        return self._with(c.rescored(maps[g](c.score)) if g in maps else c for g, c in zip(self.groups, self.counts))

    def view(self, maps: Maps) -> list[Floats]:
        """Give the scores that maps leave at every entry of every group."""
        return [maps[g](c.score) if g in maps else c.score for g, c in zip(self.groups, self.counts)]

    def viewed(self, scores: Sequence[NDArray[np.float64]]) -> ScoreTable:
        """Give every entry of every group a new score, in any order."""
        return self._with(c if s is c.score else c.rescored(s) for c, s in zip(self.counts, scores))

    def weighing(self, weights: Iterable[Sides]) -> ScoreTable:
        """Put other weights of positives and negatives at the same entries; of their rows nothing is known."""
        counts = (GroupCounts(c.score, *sides) for c, sides in zip(self.counts, weights))
        return replace(self, counts=tuple(counts), units=None)

    def _with(self, counts: Iterable[GroupCounts]) -> ScoreTable:
        # Of other scores, those of single rows and of rows without outcomes are not known.
        follow_up = None if self.follow_up is None else replace(self.follow_up, rows=None)
        return replace(self, counts=tuple(counts), follow_up=follow_up, unlabelled=None)

    def for_pairs(self) -> ScoreTable:
        """Return counts whose pairs can be counted: float64 where int64 could overflow (over 1.5e9 rows)."""
        if 4 * int(self.positives.sum()) * int(self.negatives.sum()) < 2**63:
            return self
        return self._with(replace(c, positive=c.positive * 1.0, negative=c.negative * 1.0) for c in self.counts)

    def merge(self, other: ScoreTable) -> ScoreTable:
        """Add up two tables, as if their rows had been counted together.

        Parameters
        ----------
        other : ScoreTable
            A table of other rows, with outcomes if this one has them.
        """
        meant = "whose weights are so many rows and one whose weights are how much a row counts"
        followed = [getattr(table.follow_up, "groups", None) for table in (self, other)]
        unlike = (
            (self.labelled != other.labelled, "with labels and one without", "outcomes"),
            (
                self.lower_is_riskier != other.lower_is_riskier,
                "whose low scores are risky and another",
                "one direction",
            ),
            ({self.weights, other.weights} == {"frequency", "importance"}, meant, "the same `weights`"),
            ((self.units is None) != (other.units is None), "whose rows belong together and another", "clusters"),
            (followed[0] is not followed[1], "of outcomes after a time and one of other rows", "all rows at once"),
        )
        for wrong, what, way_out in unlike:
            if wrong:
                raise ValueError(f"a table {what} cannot be merged.\nHint: count both with {way_out}.")
        if None not in (self.high_score_means, other.high_score_means):
            self.meaning(other.high_score_means)
        units, here, there = _united(self, other)
        merged = dict(zip(here.groups, here.counts))
        for group, counts in zip(there.groups, there.counts):
            merged[group] = merged[group].plus(counts) if group in merged else counts
        means = self.high_score_means or other.high_score_means
        known: dict[str, Any] = {"units": units, "high_score_means": means}
        known["unlabelled"] = self.unlabelled or other.unlabelled
        if self.unlabelled is not None and other.unlabelled is not None:
            known["unlabelled"] = self.unlabelled.merge(other.unlabelled)
        known["weightless"] = self.weightless + other.weightless
        return replace(self, groups=tuple(merged), counts=tuple(merged.values()), **known)

    def quantise(self, bins: int) -> ScoreTable:
        """Reduce to at most ``bins`` distinct scores, the same for all groups, of about equal weight.

        Scores that share a bin become equal to their mean, so only pairs inside a bin can change.

        Parameters
        ----------
        bins : int
            The largest number of distinct scores.
        """
        if not isinstance(bins, int | np.integer) or bins < 1:
            raise ValueError(f"bins must be a whole number, at least 1, got {bins!r}.")
        pooled = self.pooled()
        if len(pooled.score) <= bins:
            return self
        weight = pooled.weight.astype(np.float64)
        middle = np.cumsum(weight) - weight / 2
        bin_of = np.minimum((middle * (bins / weight.sum())).astype(np.intp), bins - 1)
        first = np.append(0, np.flatnonzero(np.diff(bin_of)) + 1)
        low, high = pooled.score[first], pooled.score[np.append(first[1:], len(bin_of)) - 1]
        mean = np.add.reduceat(weight * pooled.score, first) / np.add.reduceat(weight, first)
        mean = np.clip(mean, low, high)  # scores alone in their bin stay bit for bit as they were
        return self.rescored(dict.fromkeys(self.groups, lambda s: mean[np.searchsorted(low, s, side="right") - 1]))


def _check_least(min_group: Any) -> int:
    if isinstance(min_group, bool) or not isinstance(min_group, int | np.integer) or min_group < 0:
        raise ValueError(f"min_group must be a whole number of rows, at least 0, got {min_group!r}.")
    return int(min_group)


def ranked_high_means(high_score_means: Meaning | None, lower_is_riskier: bool) -> Meaning | None:
    """Say what a high place does to a person: where low scores mean high risk, what a low score does."""
    if high_score_means is None or not lower_is_riskier:
        return high_score_means
    return "harm" if high_score_means == "help" else "help"


def _united(one: ScoreTable, other: ScoreTable) -> tuple[Units | None, ScoreTable, ScoreTable]:
    """Number the units of two tables alike: those of the same name are the same."""
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


def _taken(columns: Sequence[Any], rows: NDArray[np.intp]) -> list[Any]:
    return [None if column is None else column.take(rows) for column in columns]


def _rows_of_groups(codes: NDArray[Any], groups: int) -> Iterator[NDArray[np.intp]]:
    """Give the rows of each group in turn: compare for a few groups, sort for many."""
    if groups <= _FEW_GROUPS:
        yield from (np.flatnonzero(codes == g) for g in range(groups))
    else:
        ends = np.cumsum(np.bincount(codes, minlength=groups))
        yield from np.split(np.argsort(codes, kind="stable"), ends[:-1])
