"""The settings that a report can show: the original scores, and a method at each value of its dial."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairpot.inference.dial import Top
from fairpot.repair.fair_maps import FairMaps
from fairpot.report.content import Strength
from fairpot.table import Maps, ScoreTable
from fairpot.tradeoff import TradeoffCurve, TradeoffPoint
from fairpot.transport import ScoreMap

_STEPS = 100


@dataclass(frozen=True, eq=False)
class Dial:
    """What can be turned, and what each turn does."""

    # The first is None, the original scores; the others are strengths.
    values: list[Any] = field(default_factory=lambda: [None])
    chosen: int = 0  # the place of the setting that the report is about
    maps: Callable[[int], Maps] = lambda place: {}  # function of the place, which returns the maps to use there
    curve: TradeoffCurve | None = None  # the whole trade-off on the table
    name: str = ""  # what the method calls its dial; empty where there is nothing to turn
    points: TradeoffCurve | None = None  # a curve that has a point for each of the values
    off: float | None = None  # the value of the dial that changes nothing
    top: Top | None = None  # the top of the list that the report is about

    def __len__(self) -> int:
        return len(self.values)

    def point(self, place: int) -> TradeoffPoint | None:
        """Return the point of the curve at one setting, if it has one."""
        if self.points is None:
            return None
        value = self.off if self.values[place] is None else self.values[place]
        if value is None:
            return None
        if _known_anywhere(self.points):
            return self.points.at(value)
        found = np.flatnonzero(self.points.lam == value)
        return self.points.point(int(found[0])) if len(found) else None

    def strengths(self, place: int) -> tuple[Strength, ...] | None:
        """Give each moved group's own strength at one setting; None where they share it."""
        point = self.point(place) if place else None
        if point is None or point.strengths is None:
            return None
        return tuple(Strength(group, float(value)) for group, value in point.strengths.items())


def dial_of(method: Any, maps: FairMaps, table: ScoreTable, ties: str, most: int = _STEPS) -> Dial:
    """Find the settings of a fitted method on a table, at most about ``most``, its own among them."""
    own: Any = getattr(method, "strength_", None)
    if not _can_turn(method, table):
        fixed = own if isinstance(own, float) else None
        return Dial([None, fixed], 1, lambda place: maps.maps_on(table) if place else {})
    curve = method.tradeoff(table, ties=ties)
    off = None if curve.identity is None else float(curve.identity)
    values = _spread(curve, own, most)
    anywhere = _known_anywhere(curve)
    points = curve if anywhere else method.tradeoff(table, lams=np.union1d(values, own), ties=ties)
    kept: list[float | None] = [None, *(v for v in values.tolist() if v != off)]
    if anywhere and off is not None:
        kept = _distinct(curve, kept, own, off)
    elif not anywhere:
        kept = _differing(method, table, points, kept, own)

    def at(place: int) -> Maps:
        value = kept[place]
        if value is None:
            return {}
        return maps.maps_on(table) if value == own else method.at(value).fair_maps_.maps_on(table)

    return Dial(kept, 0 if own == off else kept.index(own), at, curve, curve.dial, points, off)


def _known_anywhere(curve: TradeoffCurve) -> bool:
    """Whether a curve knows what is between its points: that of a share that is moved, at every share."""
    return bool(curve.exact and curve.lam[0] == 0 and curve.lam[-1] == 1)


def _distinct(curve: TradeoffCurve, values: list[float | None], own: float, off: float) -> list[float | None]:
    """Keep one value of those between which nothing changes: the fitted one, else the lowest."""
    found: dict[Any, float | None] = {curve.at(off).lam: None}
    for value in [own, *values[1:]]:
        if value is not None:
            found.setdefault(curve.at(value).lam, value)
    if own != off and found[curve.at(own).lam] is None:  # it changes nothing, and is the fitted one all the same
        found["own"] = own
    return [None, *sorted(value for value in found.values() if value is not None)]


def _differing(
    method: Any, table: ScoreTable, points: TradeoffCurve, values: list[float | None], own: float
) -> list[float | None]:
    """Leave out values of a grid whose scores are those of the value before; never the fitted one."""
    kept: list[float | None] = [values[0]]
    for value in values[1:]:
        before = kept[-1]
        if value != own and before is not None and value is not None and _alike(method, table, points, before, value):
            continue
        kept.append(value)
    return kept


def _alike(method: Any, table: ScoreTable, points: TradeoffCurve, one: float, other: float) -> bool:
    """Whether two values give the same scores; only where the curve cannot tell them apart are maps compared."""
    first, second = (points.at(value) for value in (one, other))
    if (first.auc, first.signed_gap) != (second.auc, second.signed_gap):
        return False
    maps = [method.at(value).fair_maps_.maps_on(table) for value in (one, other)]
    return all(
        np.array_equal(first_map(counts.score), second_map(counts.score))
        for (first_map, second_map), counts in zip(
            ([each.get(group, ScoreMap.identity()) for each in maps] for group in table.groups), table.counts
        )
    )


def _can_turn(method: Any, table: ScoreTable) -> bool:
    """Whether a trade-off can be traced: maps from a file cannot, nor can what lacks outcomes to count."""
    counted = bool((table.positives > 0).all() and (table.negatives > 0).all())
    return counted and not isinstance(method, FairMaps)


def _spread(curve: TradeoffCurve, own: float, most: int) -> NDArray[np.float64]:
    """Choose values along the dial: round ones where any can be had, else some of the curve's."""
    gap = np.where(np.isnan(curve.gap), np.inf, curve.gap)
    best = float(curve.lam[int(np.argmin(gap))])
    if _known_anywhere(curve):
        spread = curve.lam if len(curve) <= most else np.arange(most + 1) / most
        return np.union1d(spread, [own, best])
    few = np.unique(np.linspace(0, len(curve) - 1, min(len(curve), most + 1)).round().astype(np.intp))
    return np.union1d(curve.lam[few], [own, best])
