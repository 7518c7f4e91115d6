"""Ground: the rows that strengths are judged on, and in which part of the list their gap counts."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from fairpot._defaults import Ties
from fairpot.inference.dial import Cut, Evidence, Part, Top
from fairpot.inference.shares import merge_entries
from fairpot.repair.family import Family
from fairpot.repair.groups import find_reference
from fairpot.table import ScoreTable
from fairpot.tradeoff.building import pair_curve, trace
from fairpot.tradeoff.curve import TradeoffCurve
from fairpot.transport import Floats

# Scores times strengths that are worked on together.
_CELLS = 2**21


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

    def trace(self, family: Family, values: Floats) -> TradeoffCurve:
        """Count AUC and gap at each of some strengths."""
        seen_from = self.ahead if family.reference is None else family.reference
        whole = self._traced(self.table, family, values, seen_from)
        if self.top is not None:
            top = self.top.alpha, self.top.region
            gaps = trace(self.table, values, family.steps(values), reference=seen_from, ties=self.ties, top=top)
        elif self.cut is not None:
            gaps = self._traced(self.rows, family, values, seen_from)
        else:
            return replace(whole, dial=family.dial.name, identity=family.dial.identity)
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
