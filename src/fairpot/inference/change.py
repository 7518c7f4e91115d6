"""Before and after a repair, or two repairs, on the same rows: what changed, and how surely."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.special import stdtrit

from fairpot._defaults import FEWEST, LEVEL, Ties
from fairpot._html import intervals_svg, paragraph
from fairpot._shown import Bar, ShownBars, bar, ends_of
from fairpot._validation import check_level, check_rows, check_scores, wording
from fairpot.counting import count
from fairpot.inference.shares import (
    Pairs,
    View,
    all_pairs,
    covariance_of,
    cross_pairs,
    influences,
    merge_entries,
    own_scores,
    small_sample_factor,
    why_not,
)
from fairpot.metrics.cells import compared_groups
from fairpot.metrics.rank import check_ties
from fairpot.table import Maps, ScoreTable
from fairpot.transport import Floats

if TYPE_CHECKING:
    from fairpot.inference.dial import Evidence, Part


class _Sums(NamedTuple):
    """Weighted sums of shares: values, covariance, and degrees of freedom."""

    value: Floats
    covariance: Floats
    free: Floats

    def limits(self, tail: float | Floats) -> tuple[Floats, Floats]:
        half = -stdtrit(self.free, tail) * self.se
        return self.value - half, self.value + half

    @property
    def se(self) -> Floats:
        return np.sqrt(np.maximum(np.diag(self.covariance), 0.0))


class _Views:
    """Shares in several views of the same rows, and weighted sums of them."""

    def __init__(self, table: ScoreTable, pairs: Sequence[Pairs], kernel: Ties, views: Sequence[View]) -> None:
        self.table = table
        self.found = influences(table, pairs, kernel, views)
        self.shares = covariance_of(self.found, table, pairs)

    def sums(self, rows: Floats) -> _Sums:
        """Estimate weighted sums of the shares, one for each row of weights."""
        if self.table.clusters is not None:
            fewest = np.minimum(*self.shares.units)
            free = np.where(rows != 0, fewest, np.inf).min(axis=1) - 1.0
        else:
            free = self._degrees_of_freedom(rows)
        covariance = np.nan_to_num(self.shares.covariance)  # that of a share without pairs is in no sum that is read
        return _Sums(rows @ np.nan_to_num(self.shares.value), rows @ covariance @ rows.T, free)

    def se(self, row: Floats) -> float:
        return float(np.sqrt(np.maximum(row @ np.nan_to_num(self.shares.covariance) @ row, 0.0)))

    def _degrees_of_freedom(self, sums: Floats) -> Floats:
        """Compute Welch and Satterthwaite's degrees of freedom over the cells of each sum."""
        top, bottom, fewest = np.zeros(len(sums)), np.zeros(len(sums)), np.full(len(sums), np.inf)
        for side, units in enumerate(self.shares.units):
            factor = np.sqrt(small_sample_factor(units))
            for group, cell in enumerate(self.found.cells[side]):
                square = self.table.squared(group, side == 0)[cell.entries].astype(np.float64)
                weights = (sums * factor)[:, cell.shares]
                variance = ((weights @ np.nan_to_num(cell.values)) ** 2) @ square
                rests = sums[:, cell.shares] != 0
                free = np.where(rests, units[cell.shares] - 1, np.inf).min(axis=1, initial=np.inf)
                top += variance
                bottom += np.divide(variance**2, free, out=np.zeros(len(sums)), where=free > 0)
                fewest = np.minimum(fewest, free)
        return np.divide(top**2, bottom, out=fewest, where=bottom > 0)


# A gap this many standard errors from 0 has a sign that chance does not explain.
_CLEAR = 3.0


@dataclass(frozen=True, repr=False)
class Change:
    """Hold a number before and after, and the change with its confidence limits.

    Attributes
    ----------
    before, after, change, low, high, level, se : float
        The number before and after, their difference, its limits, their confidence level, and its standard error; of a
        gap, that of the signed gap.
    reason : str or None
        Why there are no limits.
    groups, signed : tuple and Change, or None
        Of a gap, the pair of groups (ranked higher, ranked lower) that had the largest before, and the change of its
        signed gap, which words speak of. A size cannot fall below 0: the limits of its own change may say less.

    Examples
    --------
    >>> import numpy as np
    >>> import fairpot
    >>> rng = np.random.default_rng(0)
    >>> y, sex = rng.integers(0, 2, 400), rng.choice(["F", "M"], 400)
    >>> score = rng.normal(y + 0.5 * (sex == "M"))
    >>> adjusted = score + 0.5 * (sex == "F")
    >>> columns = {"score": score, "adjusted": adjusted}
    >>> found = fairpot.audit(y, columns, sensitive_features=sex).changes["adjusted"]
    >>> round(found.gap.before, 3), round(found.gap.after, 3)
    (0.24, 0.036)
    >>> print(found.auc)
    0.744 -> 0.753, a change of +0.009 (95% interval -0.003 to +0.021)
    """

    before: float
    after: float
    change: float
    se: float
    low: float
    high: float
    level: float
    reason: str | None = None
    groups: tuple[Hashable, Hashable] | None = None
    signed: Change | None = None

    def __str__(self) -> str:
        sizes, pair = f"{self.before:.3f} -> {self.after:.3f}", self.signed
        if pair is None:
            return f"{sizes}, {self._limited()}"
        # Both ends of the signed gap, where the sizes do not tell them.
        ends = "" if pair.after == self.after else f"{pair.before:+.3f} -> {pair.after:+.3f}, "
        ahead, behind = self.groups or ("", "")
        return f"{sizes}; signed, {ahead} over {behind}: {ends}{pair._limited()}"

    def _limited(self) -> str:
        said = f"a change of {self.change:+.3f}"
        if self.reason is not None:
            return f"{said} (no interval: {self.reason})"
        return f"{said} ({self.level:.0%} interval {self.low:+.3f} to {self.high:+.3f})"

    def __repr__(self) -> str:
        return f"<Change: {self}>"

    def _repr_html_(self) -> str:
        return f"<div>{paragraph(str(self))}{intervals_svg([bar('change', self)], str(self))}</div>"

    def to_dict(self) -> dict[str, Any]:
        """Give plain values for JSON: None in the place of NaN."""
        numbers = ("before", "after", "change", "se", "low", "high")
        plain: dict[str, Any] = {name: getattr(self, name) for name in numbers}
        plain = {k: None if v != v else v for k, v in plain.items()} | {"level": self.level, "reason": self.reason}
        if self.signed is None:
            return plain
        return plain | {"signed": {"groups": list(self.groups or ()), **self.signed.to_dict()}}

    def reversed(self) -> Change:
        """Give the same seen from the other group."""
        ends = (-self.before, -self.after, -self.change, self.se, -self.high, -self.low)
        return Change(*ends, self.level, self.reason)


@dataclass(frozen=True, eq=False, repr=False)
class Changes(ShownBars):
    """Hold what a repair changed on the rows it was measured on.

    Attributes
    ----------
    auc, gap : Change
        ``gap`` is the xAUC gap, the largest over pairs; its ``signed`` is the change of the signed gap of the pair
        that had the largest before.
    headline : Change or None
        The same of the groups that are not too small to be compared, of which audits speak.
    signed_gap : dict of (group, group) to Change
        xAUC(first over second) - xAUC(second over first).
    xauc : dict of (positive, negative) to Change
        How often the first group's rows with the outcome are ranked above the second's without it.
    """

    auc: Change
    gap: Change
    headline: Change | None
    signed_gap: dict[tuple[Hashable, Hashable], Change]
    xauc: dict[tuple[Hashable, Hashable], Change]

    def __repr__(self) -> str:
        ends = [f"{each.before:.3f} -> {each.after:.3f}" for each in (self.auc, self.gap)]
        return f"<Changes: AUC {ends[0]}, gap {ends[1]}>"

    def _listed(self) -> list[dict[str, Any]]:
        named = [("auc", ("", ""), self.auc), ("gap", ("", ""), self.gap)]
        named += [] if self.headline is None else [("headline", ("", ""), self.headline)]
        named += [("signed_gap", (str(g), str(h)), each) for (g, h), each in self.signed_gap.items()]
        named += [("xauc", (str(g), str(h)), each) for (g, h), each in self.xauc.items()]
        return [
            {"metric": metric, "first": pair[0], "second": pair[1], "before": each.before, "after": each.after}
            | ends_of("change", each)
            for metric, pair, each in named
        ]

    def _bars(self) -> list[Bar]:
        return [bar("AUC", self.auc), *(bar(f"gap, {g} over {h}", each) for (g, h), each in self.signed_gap.items())]

    def _says(self) -> list[str]:
        return ["Change by the repair on the same rows, with intervals", f"AUC {self.auc}", f"gap {self.gap}"]

    def renamed(self, name: Callable[[Any], Any]) -> Changes:
        """Call the groups by other names, for people."""

        def named(found: dict[tuple[Hashable, Hashable], Change]) -> dict[tuple[Hashable, Hashable], Change]:
            return {(name(first), name(second)): each for (first, second), each in found.items()}

        def of_pair(found: Change) -> Change:
            if found.groups is None:
                return found
            return replace(found, groups=(name(found.groups[0]), name(found.groups[1])))

        headline = None if self.headline is None else of_pair(self.headline)
        return Changes(self.auc, of_pair(self.gap), headline, named(self.signed_gap), named(self.xauc))

    def to_dict(self) -> dict[str, Any]:
        """Give plain values for JSON."""
        return {
            "auc": self.auc.to_dict(),
            "gap": self.gap.to_dict(),
            "headline": None if self.headline is None else self.headline.to_dict(),
            "signed_gaps": [{"first": g, "second": h, **c.to_dict()} for (g, h), c in self.signed_gap.items()],
            "xauc": [{"positive": g, "negative": h, **c.to_dict()} for (g, h), c in self.xauc.items()],
        }


def change_by_maps(table: ScoreTable, maps: Maps, *, ties: str = "half", level: float = LEVEL) -> Changes:
    """Compare a table with itself after a map for each group, the maps taken as fixed."""
    return compare_views(table, own_scores(table), table.view(maps), ties=ties, level=level)


def change_of_columns(
    y_true: Any,
    columns: Mapping[str, Any],
    *,
    sensitive_features: Any,
    sample_weight: Any = None,
    clusters: Any = None,
    weights: str | None = None,
    table: ScoreTable | None = None,
    ties: str = "half",
    level: float = LEVEL,
    pos_label: Any = None,
) -> dict[str, Changes]:
    """Compare every other score column with the first, on the same rows; of the groups of ``table`` alone."""
    (first, start), *others = columns.items()
    rows = check_rows(
        start,
        y_true,
        sensitive_features,
        sample_weight,
        pos_label=pos_label,
        names=("y_true", first),
        beside=dict(others) if clusters is None else {**dict(others), "clusters": clusters},
        grouping=None if table is None else table.grouping,
    )
    checked = {first: rows.scores}
    for name, column in others:
        checked[name] = check_scores(column, name)
        if len(checked[name]) != len(rows.scores):
            raise ValueError(wording.other_length(name, len(checked[name]), len(rows.scores), f"{first} has {{than}}"))
    numbers = np.arange(len(rows.scores), dtype=np.float64)
    counted = count(rows._replace(scores=numbers), weights=weights, clusters=clusters)
    return compare_columns(counted if table is None else counted.only(table.groups), checked, ties=ties, level=level)


def compare_columns(
    table: ScoreTable, columns: Mapping[str, Floats], *, ties: str = "half", level: float = LEVEL
) -> dict[str, Changes]:
    """Compare score columns with the first; the table has one entry a row, known by its number, so that they can be."""
    order = [c.score.astype(np.intp) for c in table.counts]
    views = {name: [column[own] for own in order] for name, column in columns.items()}
    (_, before), *others = views.items()
    return {name: compare_views(table, before, after, ties=ties, level=level) for name, after in others}


def compare_views(table: ScoreTable, before: View, after: View, *, ties: str = "half", level: float = LEVEL) -> Changes:
    """Compare two scores of every entry of a table."""
    kernel = check_ties(ties)
    tail = (1 - check_level(level)) / 2
    pairs = (all_pairs(table), *cross_pairs(table))
    many = len(pairs)
    differ = np.hstack((-np.eye(many), np.eye(many)))
    gaps = differ[1::2] - differ[2::2]
    paired = _Views(table, pairs, kernel, (before, after))
    found = paired.sums(np.vstack((differ, gaps)))
    reasons = [why_not(table, [pair], paired.shares.take([k])) for k, pair in enumerate(pairs)]
    low, high = found.limits(tail)
    names = [(table.groups[p.winners[0]], table.groups[p.losers[0]]) for p in pairs[1:]]

    def change(k: int, ends: Floats, reason: str | None) -> Change:
        first, second = map(float, ends)
        limits = (np.nan, np.nan) if reason is not None else (float(low[k]), float(high[k]))
        se = float(found.se[k]) if first == first else np.nan
        return Change(first, second, second - first, se, *limits, level, reason)

    value = paired.shares.value.reshape(2, many)
    signed = value[:, 1::2] - value[:, 2::2]
    why = [there or back for there, back in zip(reasons[1::2], reasons[2::2])]
    by_pair = {names[2 * k]: change(many + k, signed[:, k], why[k]) for k in range(signed.shape[1])}

    def largest(groups: Collection[Hashable]) -> Change | None:
        places = [k for k, pair in enumerate(by_pair) if set(pair) <= set(groups)]
        reason = next((why[k] for k in places if why[k] is not None), None)
        measured = [k for k in places if not np.isnan(signed[:, k]).any()]
        if not measured:
            return None
        gap = _gap_change(paired, many, (signed[:, measured], measured), tail, level, reason)
        # With the change of the largest gap goes that of its pair, seen from the group that was ahead.
        pair = list(by_pair)[max(measured, key=lambda k: abs(signed[0, k]))]
        own = by_pair[pair]
        pair, own = (pair[::-1], own.reversed()) if own.before < 0 else (pair, own)
        return replace(gap, groups=pair, signed=own)

    by_direction = {name: change(1 + k, value[:, 1 + k], reasons[1 + k]) for k, name in enumerate(names)}
    auc = change(0, value[:, 0], reasons[0])
    nothing = Change(np.nan, np.nan, np.nan, np.nan, np.nan, np.nan, level, next(filter(None, why), None))
    return Changes(auc, largest(table.groups) or nothing, largest(compared_groups(table)), by_pair, by_direction)


# Signed gaps before and after, a column for each pair of groups, and the places of these pairs among all.
Signed = tuple[Floats, Sequence[int]]


def _gap_change(paired: _Views, many: int, gaps: Signed, tail: float, level: float, reason: str | None) -> Change:
    """Limit the change of the largest of some gaps, whichever pair has it before and after.

    Let a be the pair that is truly the widest after. The gap before is at least that of any pair b, so that the change
    is at most (after of a) - (before of b): of a itself, and of the pair that looks the widest. Of every a that may be
    it, the smaller of the two upper limits holds, which share the tail; the largest of these is the upper limit. The
    lower one is the same with before and after, and all signs, changed over.
    """
    signed, places = gaps
    widest = [int(np.argmax(np.abs(row))) for row in signed]
    start, end = (float(abs(signed[when, widest[when]])) for when in range(2))
    was, now = (_gap_row(many, when, places[widest[when]]) for when in range(2))
    alike = widest[0] == widest[1] or signed[0, widest[0]] * signed[1, widest[1]] >= 0
    se = paired.se(now - was if alike else now + was)
    if reason is not None:
        return Change(start, end, end - start, se, np.nan, np.nan, level, reason)
    keys = list(itertools.product(range(len(places)), (1.0, -1.0)))
    rows = [{(k, sign): sign * _gap_row(many, when, places[k]) for k, sign in keys} for when in range(2)]
    named = [_may_be_widest(paired, rows[when], signed[when]) for when in range(2)]
    sums, spent = [], []
    for when in (1, 0):
        top = named[1 - when][0]
        for key in named[when]:
            for other in (key, top):
                then, first = (key, other) if when == 1 else (other, key)
                sums.append(rows[1][then] - rows[0][first])
                chosen = tail / 2 / len(named[1 - when])  # it was chosen for its size, from so many
                spent.append(tail if key == top else tail / 2 if other == key else chosen)
    low, high = paired.sums(np.array(sums)).limits(np.array(spent))
    cut = 2 * len(named[1])
    upper = high[:cut].reshape(-1, 2).min(axis=1).max()
    lower = low[cut:].reshape(-1, 2).max(axis=1).min()
    return Change(start, end, end - start, se, float(lower), float(upper), level)


# A pair of groups, by its place, and the sign with which its gap is looked at.
Side = tuple[int, float]


def _may_be_widest(paired: _Views, rows: dict[Side, Floats], signed: Floats) -> list[Side]:
    """Name the pairs and signs that chance may keep from being the largest, that which is so first."""
    widest = int(np.argmax(np.abs(signed)))
    top = widest, 1.0 if signed[widest] >= 0 else -1.0
    kept = [top]
    for (k, sign), row in rows.items():
        behind = float(abs(signed[widest])) - sign * float(signed[k])
        if (k, sign) != top and behind <= _CLEAR * paired.se(row - rows[top]) + 1e-12:
            kept.append((k, sign))
    return kept


def _gap_row(many: int, when: int, pair: int) -> Floats:
    row = np.zeros(2 * many)
    row[when * many + 1 + 2 * pair], row[when * many + 2 + 2 * pair] = 1.0, -1.0
    return row


Chosen = tuple["Evidence", Any]


def auc_difference(first: Chosen, second: Chosen, values: tuple[float, float], *, level: float = LEVEL) -> Change:
    """Compare the AUCs of two repairs on the same rows, or the same folds of them.

    ``values`` are their AUCs, as they were counted; what both have in common cancels in the standard error.
    """
    ones, others = first[0].parts, second[0].parts
    found = [_fold(one, other, (first[1], second[1]), first[0].ties) for one, other in zip(ones, others, strict=True)]
    variance, free, units = (np.array(column) for column in zip(*found))
    folds = len(found)
    se = float(np.sqrt(variance.sum())) / folds
    change = values[1] - values[0]
    if units.sum() < FEWEST:
        few = f"there are {units.sum():g} rows with or without the outcome"
        reason = f"{few}, and with fewer than {FEWEST} nothing can be said"
        return Change(*values, change, se, np.nan, np.nan, level, reason)
    bottom = float(np.sum(variance**2 / np.maximum(free, 1e-9)))
    degrees = float(variance.sum() ** 2 / bottom) if bottom > 0 else float(free.sum())
    half = -float(stdtrit(degrees, (1 - level) / 2)) * se
    return Change(*values, change, se, change - half, change + half, level)


def _fold(one: Part, other: Part, values: Sequence[Any], ties: Ties) -> tuple[float, float, float]:
    """Give variance, degrees of freedom and units of the difference on one fold."""
    table = merge_entries(one.table)
    maps = [next(iter(part.steps(np.asarray([value])))) for part, value in zip((one, other), values)]
    paired = _Views(table, [all_pairs(table)], ties, [table.view(each) for each in maps])
    found = paired.sums(np.array([[-1.0, 1.0]]))
    return float(found.covariance[0, 0]), float(found.free[0]), float(min(u.min() for u in paired.shares.units))
