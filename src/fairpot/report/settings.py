"""The settings a report can show: the scores as they came, and a method at each value of its dial."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from copy import copy
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairpot.postprocessing.own_dials import has_own_dials
from fairpot.table import Maps, ScoreTable
from fairpot.tradeoff import TradeoffCurve, TradeoffPoint
from fairpot.transport import ScoreMap

_STEPS = 100


@dataclass(frozen=True, eq=False)
class Dial:
    """What can be turned, and what each turn does.

    Attributes
    ----------
    values : list
        The first is None, the scores as they came; the others are values of the method's dial: a number, or a list of
        dicts with ``group`` and ``value`` where each moved group has its own.
    chosen : int
        The place of the setting that the report is about.
    maps : function of the place, which returns the maps to use there
    curve : TradeoffCurve or None
        The whole trade-off on the table.
    name : str
        What the method calls its dial; empty where there is nothing to turn.
    points : TradeoffCurve or None
        A curve that has a point for each of the values.
    off : float or None
        The value of the dial that changes nothing.
    """

    values: list[Any] = field(default_factory=lambda: [None])
    chosen: int = 0
    maps: Callable[[int], Maps] = lambda place: {}
    curve: TradeoffCurve | None = None
    name: str = ""
    points: TradeoffCurve | None = None
    off: float | None = None

    def __len__(self) -> int:
        return len(self.values)

    def point(self, place: int) -> TradeoffPoint | None:
        """Return the point of the curve at one setting, if it has one."""
        if self.points is None or self.points.lam.ndim == 2:
            return None
        value = self.off if self.values[place] is None else self.values[place]
        if value is None:
            return None
        if self.points.exact:
            return self.points.at(value)
        found = np.flatnonzero(self.points.lam == value)
        return self.points.point(int(found[0])) if len(found) else None


def no_dial() -> Dial:
    """Return the one setting of an audit: the scores as they came."""
    return Dial()


def dial_of(method: Any, table: ScoreTable, ties: str, most: int = _STEPS) -> Dial:
    """Find the settings of a fitted method on a table, at most about ``most``, its own among them."""
    own = _own_value(method)
    fixed = Dial([None, own], 1, lambda place: method.maps_for(table) if place else {})
    if not _can_turn(method, table):
        return fixed
    if own is None:
        return fixed if _value(method) is None else _own_way(method, table, ties, most)
    off = None if method.dial.identity is None else float(method.dial.identity)
    curve, points, values = _curves(method, table, ties, own, off, most)
    kept: list[float | None] = [None, *(v for v in values.tolist() if v != off)]
    if curve.exact and off is not None:
        kept = _distinct(curve, kept, own, off)
    elif not curve.exact:
        kept = _differing(method, table, points, kept, own)

    whole = _whole(method)

    def maps(place: int) -> Maps:
        value = kept[place]
        if value is None:
            return {}
        return method.maps_for(table) if value == own else whole.at(value).maps_for(table)

    return Dial(kept, 0 if own == off else kept.index(own), maps, curve, curve.dial, points, off)


def _whole(method: Any) -> Any:
    """Give the method with every breakpoint of its maps: to simplify them anew at each setting takes longer."""
    return copy(method).set_params(exact=True) if "exact" in method.get_params(deep=False) else method


def _own_way(method: Any, table: ScoreTable, ties: str, most: int) -> Dial:
    """Give the settings where each group has its own value: some of the curve's, in the order of how far they go."""
    curve, own = method.tradeoff(table, ties=ties), _value(method)
    off = 0.0 if method.dial.identity is None else float(method.dial.identity)
    few = curve.lam[np.unique(np.linspace(0, len(curve) - 1, min(len(curve), most // 2)).round().astype(np.intp))]
    fitted = np.array([own[g] for g in curve.moved])
    ways = np.unique(np.vstack([few, fitted]), axis=0)
    ways = ways[(ways != off).any(axis=1)]
    ways = ways[np.argsort(np.abs(ways - off).sum(axis=1), kind="stable")]
    chosen = next(iter(np.flatnonzero((ways == fitted).all(axis=1)).tolist()), -1) + 1
    each, whole = [dict(zip(curve.moved, row.tolist())) for row in ways], _whole(method)

    def maps(place: int) -> Maps:
        if place == 0:
            return {}
        return method.maps_for(table) if place == chosen else whole.at(own | each[place - 1]).maps_for(table)

    values = [[{"group": str(g), "value": value} for g, value in way.items()] for way in each]
    return Dial([None, *values], chosen, maps, curve, curve.dial)


def _curves(
    method: Any, table: ScoreTable, ties: str, own: float, off: float | None, most: int
) -> tuple[TradeoffCurve, TradeoffCurve, NDArray[np.float64]]:
    """Trace the curve, and one that has all values to stop at; return both, and the values."""
    ends = [own] if off is None else [own, off]
    if most < _STEPS / 2 and np.isfinite(method.dial.high):  # many groups: each value is dear
        few = np.linspace(method.dial.low, method.dial.high, most + 1)[1 if method.dial.above else 0 :]
        curve = method.tradeoff(table, lams=np.union1d(few, ends), ties=ties)
        return curve, curve, curve.lam
    if has_own_dials(method, table):  # here one value is turned for all
        grid = method._common_values(table)
        few = grid[np.unique(np.linspace(0, len(grid) - 1, min(len(grid), most)).round().astype(np.intp))]
        curve = method.tradeoff(table, lams=np.union1d(few, ends), ties=ties)
    else:
        curve = method.tradeoff(table, ties=ties)
    values = _spread(curve, own, most)
    if curve.exact:
        return curve, curve, values
    return curve, method.tradeoff(table, lams=np.union1d(values, ends), ties=ties), values


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
    if points.lam.ndim == 2 or (first.auc, first.signed_gap) != (second.auc, second.signed_gap):
        return False
    maps = [method.at(value).maps_for(table) for value in (one, other)]
    return all(
        np.array_equal(first_map(counts.score), second_map(counts.score))
        for (first_map, second_map), counts in zip(
            ([each.get(group, ScoreMap.identity()) for each in maps] for group in table.groups), table.counts
        )
    )


def _can_turn(method: Any, table: ScoreTable) -> bool:
    """Whether a trade-off can be traced: maps from a file cannot, nor can what lacks outcomes to count."""
    counted = bool((table.positives > 0).all() and (table.negatives > 0).all())
    return counted and hasattr(method, "at")


def _own_value(method: Any) -> float | None:
    """Return the fitted value of the dial, if it is one number, or the same for every group."""
    value = _value(method)
    if isinstance(value, Mapping):
        value = next(iter(value.values())) if len(set(value.values())) == 1 else None
    return None if value is None else float(value)


def _value(method: Any) -> Any:
    dial = getattr(method, "dial", None)
    return getattr(method, f"{dial.name}_", None) if dial is not None else None


def _spread(curve: TradeoffCurve, own: float, most: int) -> NDArray[np.float64]:
    """Choose values along the dial: round ones where any can be had, else some of the curve's."""
    gap = np.where(np.isnan(curve.gap), np.inf, curve.gap)
    best = float(curve.lam[int(np.argmin(gap))])
    if curve.exact:
        spread = curve.lam if len(curve) <= most else np.arange(most + 1) / most
        return np.union1d(spread, [own, best])
    few = np.unique(np.linspace(0, len(curve) - 1, min(len(curve), most + 1)).round().astype(np.intp))
    return np.union1d(curve.lam[few], [own, best])


def moved_groups(method: Any, groups: tuple[Hashable, ...]) -> tuple[Hashable, ...]:
    """Name the groups whose scores a method changes."""
    reference = getattr(method, "reference_", None)
    return tuple(g for g in groups if g != reference)
