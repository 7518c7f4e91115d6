"""AUC and gaps over a dial with the covariance of all of them, the rows behind a curve, and its band."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fairpot._arguments import argument
from fairpot._defaults import FEWEST, LEVEL, Ties
from fairpot._docs import documented
from fairpot._html import html_table, paragraph
from fairpot._optional import make_frame
from fairpot._validation import check_level, wording
from fairpot.exceptions import InfeasibleRuleError
from fairpot.inference.limits import fold, joint_tail
from fairpot.inference.shares import (
    ENTRIES,
    GapEstimates,
    Pairs,
    ShareEstimates,
    View,
    all_pairs,
    average,
    cross_pairs,
    estimate_shares,
    merge_entries,
    why_not,
)
from fairpot.inference.views import Seen, estimate_seen
from fairpot.metrics.rank import net_benefit, require_probabilities
from fairpot.metrics.wins import WinMatrix
from fairpot.table import Maps, ScoreTable, Top
from fairpot.transport import Floats


class Cut(NamedTuple):
    """A top that begins at written scores, one for each group: those of the fitted rows."""

    top: Top
    starts: Mapping[Hashable, float]


Steps = Callable[[Any], Iterable[Maps]]
# From a table and values of the dial to the scores of its entries at each.
Views = Callable[[ScoreTable, Any], Iterable[View]]


@dataclass(frozen=True, eq=False)
class DialEstimates:
    """What a method's dial does to AUC and gaps, on rows that its maps were not fitted on."""

    values: Floats  # values of the dial
    groups: tuple[Hashable, ...]
    auc: ShareEstimates  # AUC at each value
    xauc: ShareEstimates  # for each value, both directions of every pair of groups, side by side
    reason: str | None = None  # why no interval is honest, if none is
    # The scores at which the top begins after each value, where that is what is promised.
    starts: tuple[dict[Hashable, float], ...] | None = None
    # Whether the last value is the whole repair, as the method says, and what is promised is a top from a score on.
    whole: bool = False
    # Bounds that each value cannot be certified below, whatever its own gap is; None if there are none.
    least: Floats | None = None

    @classmethod
    def of(cls, values: Any, table: ScoreTable, found: ShareEstimates, reason: str | None) -> DialEstimates:
        """Take shares apart that come, for each value, as the AUC and then both directions of every pair."""
        grid = np.arange(len(found)).reshape(len(values), -1)
        auc, xauc = found.take(grid[:, 0]), found.take(grid[:, 1:].ravel())
        return cls(np.asarray(values), table.groups, auc, xauc, reason)

    def __len__(self) -> int:
        return len(self.auc)

    @property
    def many(self) -> int:
        """Number of pairs of groups."""
        return len(self.xauc) // 2 // len(self)

    @property
    def gaps(self) -> GapEstimates:
        """Signed gaps: those of all pairs at the first value, then at the second, ..."""
        return GapEstimates.side_by_side(self.xauc)

    @property
    def gap(self) -> Floats:
        """The largest gap at each value."""
        return np.abs(self.gaps.value).reshape(len(self), -1).max(axis=1)

    def widest(self, tail: float | Floats) -> tuple[Floats, Floats]:
        """Limit the largest gap at each value by limits of the gaps of all pairs."""
        low, high = (side.reshape(len(self), self.many).max(axis=1) for side in fold(*self.gaps.limits(tail)))
        return low, high

    def largest(self, tail: float) -> Floats:
        """Give the upper limit of the largest gap at each value, each wrong with probability ``tail``."""
        return self.widest(tail)[1]

    def at(self, places: Sequence[int]) -> DialEstimates:
        """Keep some of the values."""
        wanted = np.asarray(places, dtype=np.intp)
        size = 2 * self.many
        cells = (wanted[:, None] * size + np.arange(size)).ravel()
        return replace(
            self,
            values=self.values[wanted],
            auc=self.auc.take(wanted),
            xauc=self.xauc.take(cells),
            starts=None if self.starts is None else tuple(self.starts[k] for k in wanted),
            least=None if self.least is None else self.least[wanted],
        )


def estimate_steps(
    table: ScoreTable,
    steps: Steps,
    values: Sequence[Any] | Floats,
    *,
    ties: Ties = "half",
    exact: tuple[Floats, Floats] | None = None,
    top: Top | None = None,
    cut: Cut | None = None,
    guide: Views | None = None,
) -> DialEstimates:
    """Estimate AUC and gaps at every value of a dial.

    ``table``: rows that the maps were not fitted on. ``steps``: from values of the dial to the maps of each, one after
    the other. ``exact``: AUCs (k,) and xAUCs (k, 2 * pairs) where they are known. Covariances come from a merged table.
    ``top`` looks at the top of the ranking only; ``cut`` says which top the rows themselves are. With a ``guide``, from
    a table and values to the scores of its entries, all numbers are those of the merged table.
    """
    pairs = (all_pairs(table), *cross_pairs(table))
    of = top or (None if cut is None else cut.top)

    def scored(entries: ScoreTable) -> Sequence[View]:
        return [entries.view(maps) for maps in steps(values)] if guide is None else list(guide(entries, values))

    small = merge_entries(table)
    if top is None:
        found = estimate_shares(small, pairs, ties, scored(small))
    else:
        starts = ([small.viewed(view).starts(top)[g] for g in small.groups] for view in scored(small))
        found = estimate_seen(small, ties, [Seen(v, tuple(at), pairs) for v, at in zip(scored(small), starts)])
    reason = why_not(table, pairs, found.fewest(len(pairs)), None if of is None else of.size)
    dial = DialEstimates.of(values, table, found, reason)
    if exact is None and small is not table and guide is None:
        exact = _count(table, steps(values), pairs, ties, top)
    if exact is None:
        return dial
    return replace(dial, auc=dial.auc.with_values(exact[0]), xauc=dial.xauc.with_values(np.asarray(exact[1]).ravel()))


def average_dials(folds: Sequence[DialEstimates]) -> DialEstimates:
    """Combine cross-fitted folds: the mean, se^2 = sum of se_k^2 / K^2."""
    reason = next((fold.reason for fold in folds if fold.reason is not None), None)
    auc, xauc = average([f.auc for f in folds]), average([f.xauc for f in folds])
    return DialEstimates(folds[0].values, folds[0].groups, auc, xauc, reason)


def count_shares(table: ScoreTable, pairs: Sequence[Pairs], ties: Ties) -> Floats:
    """Count shares of pairs that are won, NaN where there are no pairs."""
    wins = WinMatrix.of(table, ties).half_wins / 2
    p, n = table.positives.astype(np.float64), table.negatives.astype(np.float64)
    won = np.array([wins[np.ix_(winners, losers)].sum() for winners, losers in pairs])
    count = np.array([p[list(winners)].sum() * n[list(losers)].sum() for winners, losers in pairs])
    return np.divide(won, count, out=np.full(len(pairs), np.nan), where=count > 0)


def _count(
    table: ScoreTable, steps: Iterable[Maps], pairs: Sequence[Pairs], ties: Ties, top: Top | None
) -> tuple[Floats, Floats]:
    """Count AUC and xAUC at every value on the whole table."""
    moved = (table.rescored(maps) for maps in steps)
    tops = moved if top is None else (each.above(each.starts(top)) for each in moved)
    found = np.array([count_shares(each, pairs, ties) for each in tops])
    return found[:, 0], found[:, 1:]


# Values of a dial that a band is computed at, where a curve has more.
MOST_VALUES = 256


class Part(NamedTuple):
    """Rows, and the maps that other rows taught, for a list of values of the dial."""

    table: ScoreTable
    steps: Steps
    guide: Views | None = None  # the scores of entries, quicker than by the maps and the same but for round-off


@dataclass(frozen=True, eq=False)
class SameMaps:
    """The same maps at every value."""

    maps: Maps

    def __call__(self, values: Any) -> list[Maps]:
        """Give them once for each value."""
        return [self.maps for _ in values]


@dataclass(frozen=True, eq=False)
class Evidence:
    """The rows behind a curve."""

    # One for rows that were held out; one a fold for a cross-fitted curve, whose numbers are averaged.
    parts: tuple[Part, ...]
    ties: Ties = "half"
    fitted: bool = False  # whether the maps were fitted on these very rows: then nothing can be certified
    top: Top | None = None  # the top that the numbers are those of, found again at every value; None for all rows
    cut: Cut | None = None  # where the rows themselves are those of a top, from which score on

    @property
    def rows(self) -> str:
        """Say which rows they are."""
        if self.fitted:
            return "the fitted rows"
        said = "held-out rows" if len(self.parts) == 1 else f"{len(self.parts)} cross-fitted folds"
        said += ", by clusters" if self.parts[0].table.units is not None else ""
        return f"{said}, weights as importance" if self.parts[0].table.weights == "importance" else said

    @property
    def seen_in(self) -> Top | Cut | None:
        """The part of the list that the gap is of."""
        return self.top or self.cut

    def net_benefits(self, values: Any, threshold: float) -> Floats:
        """Give the net benefit at each value of the dial; of folds, their mean."""
        require_probabilities([part.table for part in self.parts], threshold)
        after = [
            [net_benefit(part.table, threshold, part.table.view(maps)) for maps in part.steps(values)]
            for part in self.parts
        ]
        return np.asarray(np.mean(after, axis=0))

    def tops(self, values: Any, dial: str) -> FixedTops | None:
        """Find where the top begins at the values at which every group has rows enough in it; insist on one."""
        return None if self.top is None else FixedTops.of(self.parts[0], self.top, self.ties, values, dial)

    def held(self, values: Any, tops: FixedTops | None) -> DialEstimates:
        """Estimate what can be promised: of a top, about everybody from the score on at which it begins."""
        return self.estimate(values) if tops is None else tops.estimate(self.parts)

    def unrepaired(self) -> DialEstimates:
        """Estimate AUC and gaps of the scores as they came."""
        unmoved = tuple(Part(part.table, SameMaps({})) for part in self.parts)
        return replace(self, parts=unmoved).estimate([0.0])

    def estimate(self, values: Any, exact: tuple[Floats, Floats] | None = None) -> DialEstimates:
        """Estimate AUC and gaps at values of the dial; ``exact`` numbers replace those counted on rows held out."""
        how: dict[str, Any] = {"ties": self.ties, "top": self.top, "cut": self.cut}
        how["exact"] = exact if len(self.parts) == 1 else None
        dials = [estimate_steps(part.table, part.steps, values, **how) for part in self.parts]
        return dials[0] if len(dials) == 1 else average_dials(dials)

    def sketch(self, values: Any) -> DialEstimates:
        """Estimate AUC and gaps of all rows at values of the dial from few entries alone; :meth:`count` counts some."""
        dials = [
            estimate_steps(
                part.table, part.steps, values, ties=self.ties, cut=self.cut, guide=part.guide or by_maps(part)
            )
            for part in self.parts
        ]
        return dials[0] if len(dials) == 1 else average_dials(dials)

    def count(self, dial: DialEstimates, values: Any, places: NDArray[np.intp]) -> DialEstimates:
        """Put the numbers of all rows at some places of a sketch."""
        pairs = (all_pairs(self.parts[0].table), *cross_pairs(self.parts[0].table))
        each = [_count(part.table, part.steps(values[places]), pairs, self.ties, None) for part in self.parts]
        auc, xauc = dial.auc.value.copy(), dial.xauc.value.reshape(len(dial), -1).copy()
        auc[places], xauc[places] = (np.mean(counted, axis=0) for counted in zip(*each))
        return replace(dial, auc=dial.auc.with_values(auc), xauc=dial.xauc.with_values(xauc.ravel()))


def by_maps(part: Part) -> Views:
    """Give the scores of entries by the maps themselves."""
    return lambda table, values: (table.view(maps) for maps in part.steps(values))


def thin(places: int, most: int = MOST_VALUES) -> NDArray[np.intp]:
    """Choose places of a curve, its ends among them, where it has too many."""
    return np.unique(np.linspace(0, places - 1, min(places, most)).round().astype(np.intp))


def same_rows(one: ScoreTable, other: ScoreTable) -> bool:
    """Whether two tables count the same rows in the groups that they share."""
    shared = [g for g in one.groups if g in other.groups]
    columns = ("score", "positive", "negative")
    return bool(shared) and all(
        one[g] is other[g] or all(np.array_equal(getattr(one[g], each), getattr(other[g], each)) for each in columns)
        for g in shared
    )


class Ribbon(NamedTuple):
    """A number along a dial: ``low`` and ``high`` hold at each value, ``low_all`` and ``high_all`` at all together."""

    value: Floats
    low: Floats
    high: Floats
    low_all: Floats
    high_all: Floats


@documented
@dataclass(frozen=True, eq=False, repr=False)
class Band:
    """Hold AUC and gap over the repair strength, with confidence limits.

    Attributes
    ----------
    values, dial : array of shape (k,), and str
        Repair strengths, and what the method calls them.
    auc, gap : Ribbon
        Each with ``value``, ``low``, ``high`` (right at each value with probability ``level``) and ``low_all``,
        ``high_all`` (right at all values together). The gap is the largest over pairs.
    level, reason : float, and str or None
        Confidence level; why there are no limits, if there are none: they are NaN then.

    Examples
    --------
    >>> import fairpot
    >>> data = fairpot.datasets.make_synthetic(1000, random_state=0, as_frame=False)
    >>> score, y, group = data.probability, data.target, data.group
    >>> curve = fairpot.FairPOT(lam=0).fit(score, y, sensitive_features=group).tradeoff(lams=[0, 0.5, 1])
    >>> band = curve.band()
    >>> band.gap.high.round(2)
    array([0.36, 0.11, 0.15])
    """

    values: Floats
    auc: Ribbon
    gap: Ribbon
    level: float
    dial: str = "lam"
    reason: str | None = None

    def __len__(self) -> int:
        return len(self.values)

    def __repr__(self) -> str:
        why = "" if self.reason is None else f", no limits: {self.reason}"
        return f"<Band of AUC and gap at {len(self)} values of {self.dial}, {100 * self.level:.4g}% limits{why}>"

    def _repr_html_(self) -> str:
        said = f"no intervals: {self.reason}" if self.reason else f"with {100 * self.level:.4g}% intervals"
        some = thin(len(self), 6)
        columns = self._columns()
        rows = [{name: column[place].item() for name, column in columns.items()} for place in some.tolist()]
        rows = [{k: v if v == v else None for k, v in row.items() if not k.endswith("_all")} for row in rows]
        return f"<div>{paragraph(repr(self)[1:-1])}{html_table(rows, f'Some of the values, {said}')}</div>"

    def frame(self) -> Any:
        """Return the band as a tidy frame (pandas, Polars or PyArrow, whichever is in use)."""
        return make_frame(self._columns())

    def _columns(self) -> dict[str, Floats]:
        numbers = {
            name if field == "value" else f"{name}_{field}": getattr(ribbon, field)
            for name, ribbon in (("auc", self.auc), ("gap", self.gap))
            for field in Ribbon._fields
        }
        return {self.dial: self.values} | numbers


def band_of(dial: DialEstimates, level: float = LEVEL, name: str = "lam") -> Band:
    """Put limits around the estimates of a dial."""
    tail = (1 - check_level(level)) / 2
    if dial.reason is not None:
        none = np.full(len(dial), np.nan)
        auc, gap = (Ribbon(value, none, none, none, none) for value in (dial.auc.value, dial.gap))
        return Band(dial.values, auc, gap, level, name, dial.reason)
    together = joint_tail(dial.auc.covariance, tail)
    auc = Ribbon(dial.auc.value, *dial.auc.limits(tail), *dial.auc.limits(together))
    together = joint_tail(dial.gaps.covariance, tail)
    gap = Ribbon(dial.gap, *_largest(dial, tail), *dial.widest(together))
    return Band(dial.values, auc, gap, level, name)


def _largest(dial: DialEstimates, tail: float) -> tuple[Floats, Floats]:
    """Limit the largest gap at each value; of several pairs only the lower limit pays for their number."""
    low, high = dial.widest(tail)
    if dial.many == 1:
        return low, high
    covariance, many = dial.gaps.covariance, dial.many  # of all gaps: once
    blocks = [covariance[k : k + many, k : k + many] for k in range(0, len(covariance), many)]
    return dial.widest(np.repeat([joint_tail(block, tail) for block in blocks], many))[0], high


_LOWEST = float(np.finfo(np.float64).min)


@dataclass(frozen=True, eq=False)
class FixedTops:
    """All rows, the maps that they taught, and where the top begins after each.

    That is found once for each value, by the maps that are delivered, and then held: what is promised is about the
    people from that score on, not about the top of other rows. So ties at the cut do no harm, and cells are counted in
    the top of all rows, however these are dealt to folds.
    """

    part: Part
    top: Top
    ties: Ties
    places: NDArray[Any]  # what the maps of parts are asked for by
    starts: tuple[dict[Hashable, float], ...]

    @classmethod
    def of(cls, part: Part, top: Top, ties: Ties, places: NDArray[Any], dial: str) -> FixedTops:
        """Find the tops, at the places where every group has rows enough in them; insist on one."""
        kept, starts = [], []
        for place, maps in zip(places, part.steps(places)):
            moved = part.table.rescored(maps)
            begin = moved.starts(top)
            if float(np.min(moved.above(begin).independent)) >= FEWEST - 1e-9:
                kept.append(place)
                starts.append(begin)
        if not kept:
            raise InfeasibleRuleError(
                f"no {dial} can be certified:{wording.in_top(top.size)} some group has fewer than "
                f"{FEWEST} rows with, or without, the outcome, whatever the repair.\n"
                f"Hint: allow a larger {argument('top')}, collect more rows, or leave {argument('confidence')} "
                "out to choose by the measured gap alone."
            )
        return cls(part, top, ties, np.array(kept), tuple(starts))

    def estimate(self, parts: Sequence[Part]) -> DialEstimates:
        """Estimate AUC and gaps in the tops on folds, each moved by its own maps, put together as one table."""
        small = [merge_entries(part.table, max(2 * ENTRIES // len(parts), 100)) for part in parts]
        table = _beside(small)
        pairs = (all_pairs(table), *cross_pairs(table))
        level = (_LOWEST,) * len(table.groups)
        found = estimate_seen(table, self.ties, [Seen(v, level, pairs) for v in self._views(parts, small)])
        reason = why_not(table, pairs, found.fewest(len(pairs)), self.top.size)
        if any(each is not part.table for each, part in zip(small, parts)):
            whole = [part.table for part in parts]
            every, cut = _beside(whole), dict.fromkeys(table.groups, _LOWEST)
            tops = (every.viewed(view).above(cut) for view in self._views(parts, whole))
            found = found.with_values(np.concatenate([count_shares(top, pairs, self.ties) for top in tops]))
        return replace(DialEstimates.of(self.places.astype(np.float64), table, found, reason), starts=self.starts)

    def _views(self, parts: Sequence[Part], tables: Sequence[ScoreTable]) -> Iterator[View]:
        """Give the scores of all entries at each place."""
        for views in zip(*map(self._view, parts, tables)):
            yield [np.concatenate(group) for group in zip(*views)]

    def _view(self, part: Part, table: ScoreTable) -> Iterator[View]:
        """Give scores by the maps of a part; entries that the delivered maps leave outside the top get none."""
        own, delivered = (map(table.view, each.steps(self.places)) for each in (part, self.part))
        for scores, moved, starts in zip(own, delivered, self.starts):
            inside = [m >= starts[g] for m, g in zip(moved, table.groups)]
            yield [np.where(up, s, -np.inf) for up, s in zip(inside, scores)]


def _beside(tables: Sequence[ScoreTable]) -> ScoreTable:
    """Put tables together without adding up their entries: these are numbered, and known by their views alone."""
    first = np.cumsum([0, *(max(len(c.score) for c in table.counts) for table in tables)])
    numbered = [t.viewed([at + np.arange(float(len(c.score))) for c in t.counts]) for at, t in zip(first, tables)]
    return reduce(ScoreTable.merge, numbered)
