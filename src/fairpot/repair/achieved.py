"""Achieved: what a repair delivers on the rows it was fitted on, of the whole list and of its top."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from fairpot.metrics.wins import WinMatrix
from fairpot.repair.ground import Ground
from fairpot.table import ScoreTable
from fairpot.transport import ScoreMap, moving


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
        nothing = float("nan")
        return Achieved(nothing, nothing, nothing, nothing)
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
