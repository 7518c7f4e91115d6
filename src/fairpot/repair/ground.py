"""Ground: the rows that strengths are judged on; Achieved: what a repair delivers on them."""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from fairpot import exceptions
from fairpot._defaults import Ties
from fairpot.inference.dial import Cut, Evidence, Part, Top
from fairpot.inference.shares import merge_entries
from fairpot.metrics.wins import WinMatrix
from fairpot.repair.family import Family
from fairpot.repair.groups import find_reference
from fairpot.table import ScoreTable
from fairpot.tradeoff.building import pair_curve, trace
from fairpot.tradeoff.curve import TradeoffCurve
from fairpot.transport import Floats, ScoreMap, moving

# Scores times strengths that are worked on together.
_CELLS = 2**21


@contextmanager
def passing_over() -> Iterator[None]:
    """Say nothing of strengths at which the gap is undefined: a search passes them over."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", exceptions.UndefinedMetricWarning)
        yield


@dataclass(frozen=True, eq=False)
class Ground:
    """Rows to judge strengths on."""

    table: ScoreTable  # all rows: their AUC counts
    ties: Ties = "half"
    top: Top | None = None  # the part of the list whose gap counts, found again at every strength; None for all of it
    cut: Cut | None = None  # or everybody from these scores on, whatever they become
    fitted: bool = False  # whether the maps were learnt from these rows

    @cached_property
    def rows(self) -> ScoreTable:
        """The rows whose gap counts, if they are the same at every strength."""
        return self.table if self.cut is None else self.table.above(self.cut.starts)

    @property
    def alpha(self) -> float | None:
        """The share of the list whose gap counts."""
        where = self.top or self.cut
        return None if where is None else where.alpha

    def merged(self, entries: int) -> Ground:
        """Give the same with fewer entries; itself where there are no more."""
        if all(len(c.score) <= 2 * entries for c in self.table.counts):
            return self
        plain = self.table.for_pairs().weighing((c.positive, c.negative) for c in self.table.counts)
        if self.cut is None:
            return replace(self, table=merge_entries(plain, entries))
        below, above = _parted(plain, self.cut)  # no entry may lie on both sides of the cut
        return replace(self, table=merge_entries(below, entries).merge(merge_entries(above, entries)))

    def evidence(self, family: Family) -> Evidence:
        """Keep the rows behind a gap, for bands and certificates."""
        how: dict[str, Any] = {"ties": self.ties, "fitted": self.fitted, "top": self.top, "cut": self.cut}
        return Evidence((Part(self.rows, family.steps),), **how)

    def evidence_of_auc(self, family: Family) -> Evidence | None:
        """Keep the rows behind the AUC, where they are others than those behind the gap."""
        if self.top is None and self.cut is None:
            return None
        return Evidence((Part(self.table, family.steps),), self.ties, self.fitted)

    def gap_before(self) -> float:
        """Measure the gap of the scores as they came, in the part of the list that counts."""
        rows = self.rows if self.top is None else self.table.top(*self.top)
        with passing_over():
            first, second = WinMatrix.of(rows, self.ties).widest()
        return abs(first - second)

    def trace(self, family: Family, values: Floats) -> TradeoffCurve:
        """Count AUC and gap at each of some strengths."""
        seen_from = self.ahead if family.reference is None else family.reference
        whole = self._traced(self.table, family, values, seen_from)
        if self.top is not None:
            top = self.top.alpha, self.top.region
            gaps = trace(self.table, values, family.steps(values), reference=seen_from, ties=self.ties, top=top)
        else:
            gaps = whole if self.cut is None else self._traced(self.rows, family, values, seen_from)
        found = replace(gaps, auc=whole.auc, unrepaired_auc=whole.unrepaired_auc, alpha=self.alpha)
        return replace(found, dial=family.dial.name, identity=family.dial.identity)

    def _traced(self, table: ScoreTable, family: Family, values: Floats, seen_from: Hashable) -> TradeoffCurve:
        """Trace on one table: two groups of which one moves all values together, others one after the other."""
        if family.reference is None or len(table.groups) != 2:
            return trace(table, values, family.steps(values), reference=seen_from, ties=self.ties)
        [moved] = family.moved
        score, size = table[moved].score, max(_CELLS // max(len(table[moved].score), 1), 1)
        blocks = (values[k : k + size] for k in range(0, len(values), size))
        move = family.mover(moved, score)
        at = move if family.moves_exactly else lambda value: family.map(moved, value)(score)
        states = (np.stack([at(float(v)) for v in each]) for each in blocks)
        return pair_curve(table, values, states, moved=moved, reference=family.reference, ties=self.ties)

    @cached_property
    def ahead(self) -> Hashable:
        """The group that is ranked first in these rows, where it can be told; signed gaps are seen from it."""
        rows = self.rows
        compared = (rows.positives > 0).all() and (rows.negatives > 0).all()
        return find_reference(rows, None, self.ties) if compared else rows.groups[0]


def _parted(table: ScoreTable, cut: Cut) -> tuple[ScoreTable, ScoreTable]:
    """Part a table into what lies below a cut and what does not."""
    places = [int(np.searchsorted(c.score, cut.starts[g])) for g, c in zip(table.groups, table.counts)]
    below = tuple(c.taken(slice(0, at)) for c, at in zip(table.counts, places))
    return replace(table, counts=below), table.above(cut.starts)


@dataclass(frozen=True)
class Achieved:
    """Hold AUC and gap of the fitted rows, before and after a repair.

    Attributes
    ----------
    auc, gap, auc_before, gap_before : float
        Of all rows; the gap is the largest between any two groups. NaN where there are no outcomes.
    auc_top, gap_top, auc_top_before, gap_top_before : float or None
        In the top that the repair is about; None where it is about all rows.
    starts : dict of group to float, or None
        The scores at which that top begins: of a repair of the top alone those of the fitted rows, else those after it.
    enter, leave : float or None
        How many rows the repair brings into the top, and out of it.

    Examples
    --------
    >>> import fairpot
    >>> data = fairpot.datasets.make_synthetic(1000, random_state=0, as_frame=False)
    >>> repair = fairpot.FairPOT(max_gap=0.05).fit(data.probability, data.target, sensitive_features=data.group)
    >>> round(repair.achieved_.gap, 3), round(repair.achieved_.gap_before, 3)
    (0.05, 0.275)
    """

    auc: float
    gap: float
    auc_before: float
    gap_before: float
    auc_top: float | None = None
    gap_top: float | None = None
    auc_top_before: float | None = None
    gap_top_before: float | None = None
    starts: Mapping[Hashable, float] | None = None
    enter: float | None = None
    leave: float | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON."""
        starts = None if self.starts is None else [{"group": g, "value": v} for g, v in self.starts.items()]
        return {**vars(self), "starts": starts}


def measure(ground: Ground, maps: Mapping[Hashable, ScoreMap]) -> Achieved:
    """Measure what maps do to the rows of a ground."""
    table = ground.table
    moved = moving({g: each for g, each in maps.items() if g in table.groups})
    after = table.rescored(moved)
    if not table.labelled:
        return Achieved(np.nan, np.nan, np.nan, np.nan)
    whole = (*_numbers(after, ground), *_numbers(table, ground))
    if ground.cut is not None:
        rows = ground.rows
        there = (*_numbers(rows.rescored(moved), ground), *_numbers(rows, ground))
        return Achieved(*whole, *there, starts=dict(ground.cut.starts), enter=0.0, leave=0.0)
    if ground.top is None:
        return Achieved(*whole)
    top = ground.top
    now, then = table.thresholds(*top), after.thresholds(*top)
    there = (*_numbers(after.above(then), ground), *_numbers(table.above(now), ground))
    enter, leave = _crossing(table, moved, now, then)
    return Achieved(*whole, *there, starts=then, enter=enter, leave=leave)


def _numbers(table: ScoreTable, ground: Ground) -> tuple[float, float]:
    if min(*table.positives, *table.negatives) == 0:
        total = float(table.positives.sum()) * float(table.negatives.sum())
        return (WinMatrix.of(table, ground.ties).auc() if total else float("nan")), float("nan")
    wins = WinMatrix.of(table, ground.ties)
    first, second = wins.widest()
    return wins.auc(), abs(first - second)


def _crossing(
    table: ScoreTable, maps: Mapping[Hashable, ScoreMap], now: Mapping[Hashable, float], then: Mapping[Hashable, float]
) -> tuple[float, float]:
    """Count the rows that come into the top and those that leave it."""
    enter = leave = 0.0
    for group, counts in zip(table.groups, table.counts):
        was = counts.score >= now[group]
        scores = maps[group](counts.score) if group in maps else counts.score
        stays = np.asarray(scores >= then[group])
        enter += float(counts.weight[stays & ~was].sum())
        leave += float(counts.weight[was & ~stays].sum())
    return enter, leave
