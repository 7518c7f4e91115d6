"""The settings that a report can show: the original scores, and a method at each value of its dial."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from fairpot.display.display import few
from fairpot.repair.fair_maps import FairMaps
from fairpot.report.content import Strength
from fairpot.table import Maps, ScoreTable
from fairpot.tradeoff import TradeoffCurve


@dataclass(frozen=True, eq=False)
class Dial:
    """What can be turned, and what each turn does."""

    # The first is None, the original scores; the others are strengths.
    values: list[Any] = field(default_factory=lambda: [None])
    chosen: int = 0  # the place of the setting that the report is about
    maps: Callable[[int], Maps] = lambda place: {}  # function of the place, which returns the maps to use there
    curve: TradeoffCurve | None = None  # the whole trade-off on the table
    method: Any = None  # what can be turned; None where there is nothing

    def __len__(self) -> int:
        return len(self.values)

    @property
    def name(self) -> str:
        """What the method calls its dial; empty where there is nothing to turn."""
        return "" if self.curve is None else self.curve.dial

    def strengths(self, place: int) -> tuple[Strength, ...] | None:
        """Give each moved group's own strength at one setting; None where they share it."""
        if self.curve is None or self.curve.strengths is None or not place:
            return None
        found = self.method.at(self.values[place]).strengths_
        return tuple(Strength(group, float(value)) for group, value in found.items())


def dial_of(method: Any, maps: FairMaps, table: ScoreTable, ties: str, most: int) -> Dial:
    """Find the settings of a fitted method on a table, at most about ``most``, its own among them."""
    own: Any = getattr(method, "strength_", None)
    if not _can_turn(method, table):
        fixed = own if isinstance(own, float) else None
        return Dial([None, fixed], 1, lambda place: maps.maps_on(table) if place else {})
    curve = method.tradeoff(table, ties=ties)
    values = [None, *_distinct(curve, own, most)]

    def at(place: int) -> Maps:
        value = values[place]
        if value is None:
            return {}
        return maps.maps_on(table) if value == own else method.at(value).fair_maps_.maps_on(table)

    return Dial(values, 0 if own == curve.identity else values.index(own), at, curve, method)


def _can_turn(method: Any, table: ScoreTable) -> bool:
    """Whether a trade-off can be traced: maps from a file cannot, nor can what lacks outcomes to count."""
    counted = bool((table.positives > 0).all() and (table.negatives > 0).all())
    return counted and not isinstance(method, FairMaps)


def _distinct(curve: TradeoffCurve, own: float, most: int) -> list[float]:
    """Choose values along the dial that the curve can tell apart, its best and the fitted one among them."""
    best = float(curve.lam[int(np.argmin(np.where(np.isnan(curve.gap), np.inf, curve.gap)))])
    anywhere = bool(curve.exact and curve.lam[0] == 0 and curve.lam[-1] == 1)  # it knows what is between its points
    spread = np.arange(most + 1) / most if anywhere and len(curve) > most else curve.lam[few(len(curve), most + 1)]

    def seen(value: float) -> Any:
        if not anywhere and value not in curve.lam:
            return value
        point = curve.at(value)
        return point.lam if anywhere else (point.auc, point.gap, point.signed_gap)

    off = curve.identity
    found: dict[Any, float | None] = {} if off is None else {seen(off): None}
    if own != off:  # where it changes nothing, it is the fitted one all the same
        found["own" if seen(own) in found else seen(own)] = own
    for value in (best, *spread.tolist()):
        found.setdefault(seen(value), value)
    return sorted(value for value in found.values() if value is not None)
