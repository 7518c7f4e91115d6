"""Maps with fewer knots, within a stated error."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairpot._validation import is_number
from fairpot.transport import Floats, ScoreMap, followed, parted
from fairpot.transport.scoremap import interpolate

Maps = Mapping[Any, ScoreMap]
# Up to this many points the fewest are found; beyond, a walk that is close to it, in linear time.
EXACT_UP_TO = 2000
_WINDOW = 64


def fewest_points(x: Floats, v: Floats, low: Floats, high: Floats) -> NDArray[np.intp]:
    """Return the places of points of a polyline, first and last among them, that stay between ``low`` and ``high``.

    They are the fewest there are up to 2,000 points, and about as few beyond.
    """
    if len(x) <= 2:
        return np.arange(len(x))
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        return _shortest(x, v, low, high) if len(x) <= EXACT_UP_TO else _walked(x, v, low, high)


def _reachable(x: Floats, v: Floats, low: Floats, high: Floats, first: int) -> NDArray[np.intp]:
    """Return the points to which a straight line from ``first`` stays in the corridor, the next one always."""
    size = _WINDOW
    while True:
        end = min(len(x), first + 1 + size)
        inside = slice(first + 1, end)
        width = x[inside] - x[first]
        slope = (v[inside] - v[first]) / width
        least = np.maximum.accumulate((low[inside] - v[first]) / width)
        most = np.minimum.accumulate((high[inside] - v[first]) / width)
        if end == len(x) or not least[-1] <= most[-1]:
            break
        size *= 4
    fits = np.ones(len(slope), dtype=bool)
    fits[1:] = (least[:-1] <= slope[1:]) & (slope[1:] <= most[:-1])
    return np.flatnonzero(fits) + first + 1


def _shortest(x: Floats, v: Floats, low: Floats, high: Floats) -> NDArray[np.intp]:
    """Find the shortest way from the first point to the last by the lines that fit."""
    steps = np.full(len(x), len(x))
    before = np.zeros(len(x), dtype=np.intp)
    steps[0] = 0
    for first in range(len(x) - 1):
        ends = _reachable(x, v, low, high, first)
        better = ends[steps[ends] > steps[first] + 1]
        steps[better], before[better] = steps[first] + 1, first
    way = [len(x) - 1]
    while way[-1] > 0:
        way.append(int(before[way[-1]]))
    return np.array(way[::-1], dtype=np.intp)


def _walked(x: Floats, v: Floats, low: Floats, high: Floats) -> NDArray[np.intp]:
    """Go from each chosen point as far as a line fits."""
    way = [0]
    while way[-1] < len(x) - 1:
        way.append(int(_reachable(x, v, low, high, way[-1])[-1]))
    return np.array(way, dtype=np.intp)


def _spread_points(x: Floats, v: Floats, count: int) -> NDArray[np.intp]:
    """Choose so many points of a long polyline, the first and the last among them, with a small largest error.

    A quarter of them lie evenly among all points; the others where a line between two chosen ones misses by most.
    """
    chosen = np.unique(np.linspace(0, len(x) - 1, max(count // 4, 2)).astype(np.intp))
    missed, at = _worst(x, v, chosen[:-1], chosen[1:])
    while len(chosen) < count and missed.max() > 0:
        parts = np.flatnonzero(missed >= missed.max() / 2)
        if len(parts) > count - len(chosen):
            parts = np.sort(parts[np.argsort(-missed[parts], kind="stable")[: count - len(chosen)]])
        first, middle, last = chosen[parts], at[parts], chosen[parts + 1]
        missed[parts], at[parts] = _worst(x, v, first, middle)
        after, places = _worst(x, v, middle, last)
        missed, at = np.insert(missed, parts + 1, after), np.insert(at, parts + 1, places)
        chosen = np.insert(chosen, parts + 1, middle)
    return chosen


def _worst(x: Floats, v: Floats, first: NDArray[np.intp], last: NDArray[np.intp]) -> tuple[Floats, NDArray[np.intp]]:
    """Find how far, and where, the line from each first to its last point misses those between them by most."""
    size = last - first
    begin = np.cumsum(size) - size
    part = np.repeat(np.arange(len(first)), size)
    place = np.arange(len(part)) + (first - begin)[part]
    # Shares of the way, in which nothing overflows; a line may not fall short of numbers that differ by rounding.
    share = (x[place] / 4 - x[first][part] / 4) / (x[last] / 4 - x[first] / 4)[part]
    missed = np.abs(v[place] / 4 - ((1 - share) * (v[first] / 4)[part] + share * (v[last] / 4)[part]))
    missed[begin] = 0.0
    most = np.maximum.reduceat(missed, begin)
    hits = np.flatnonzero(missed == most[part])[::-1]
    where = np.empty(len(first), dtype=np.intp)
    where[part[hits]] = place[hits]
    most[where == first] = 0.0
    return most, where


@dataclass(frozen=True, eq=False)
class KnownMaps:
    """Hold maps with what is known of them: the scores that are taken, the map file they are of, what groups are."""

    maps: Maps
    limits: tuple[float, float] | None = None
    map_sha256: str | None = None
    takes: str = ""


@dataclass(frozen=True, eq=False)
class SimplifiedMaps(KnownMaps):
    """Hold maps with fewer breakpoints, to be exported or applied in place of the full ones, and what that changes.

    Attributes
    ----------
    maps, errors : dict of group to ScoreMap, and of group to float
        The maps, and by how much each differs from the full one at most.
    knots : dict of group to (int, int)
        How many knots there were, and are.
    limits, map_sha256, takes : (float, float) or None, str or None, and str
        Which scores are taken, which file the full maps are of, and what is taken for a group, where it is known.

    Examples
    --------
    >>> from fairpot import ScoreMap
    >>> from fairpot.export import simplify
    >>> simplify({"F": ScoreMap([0, 1, 2], [0, 1, 2.1])}, max_error=0.1).knots
    {'F': (3, 2)}
    """

    maps: dict[Hashable, ScoreMap]
    errors: dict[Hashable, float] = field(kw_only=True)
    knots: dict[Hashable, tuple[int, int]] = field(kw_only=True)

    @property
    def error(self) -> float:
        """The largest error of any group."""
        return max(self.errors.values())

    def __str__(self) -> str:
        before, after = (sum(pair[i] for pair in self.knots.values()) for i in (0, 1))
        return f"simplified from {before} to {after} breakpoints, scores within {self.error:.3g}"


def spread_knots(maps: Maps, total: int) -> SimplifiedMaps:
    """Leave so many knots to all maps together, each its share, with a small largest error.

    For maps of hundreds of thousands of knots, for which :func:`simplify` takes long. Closed forms stay as they are.
    """
    full = {group: each.compact() if type(each) is ScoreMap else each for group, each in maps.items()}
    knots = sum(len(each.knots) for each in full.values() if type(each) is ScoreMap)
    made = dict(maps)
    for group, each in full.items():
        if knots > total and type(each) is ScoreMap and len(each.knots) > 2:
            share = max(total * len(each.knots) // knots, 2)
            made[group] = _chosen(each, _spread_points(each.knots, each.values, share))
    return _simplified(maps, made)


def simplify(maps: Maps | KnownMaps, *, max_error: float) -> SimplifiedMaps:
    """Use as few of the maps' own breakpoints as a stated error allows.

    Breakpoints (knots) are scores of people; those that are dropped are no longer in what is exported.

    Parameters
    ----------
    maps : dict of group to ScoreMap
        Shifts and identities do not change, nor does a map that follows those of all groups.
    max_error : float >= 0
        No score's new value may differ by more than this.

    Returns
    -------
    SimplifiedMaps
        Which the exports take as they take maps, and say so in what they write.

    Examples
    --------
    >>> import numpy as np
    >>> from fairpot import ScoreMap
    >>> from fairpot.export import simplify
    >>> grid = np.linspace(0, 1, 101)
    >>> print(simplify({"F": ScoreMap(grid, grid**2)}, max_error=0.012))
    simplified from 101 to 6 breakpoints, scores within 0.011
    """
    if not (is_number(max_error) and 0 <= max_error < np.inf):
        raise ValueError(f"max_error must be a number >= 0, got {max_error!r}.")
    known = maps if isinstance(maps, KnownMaps) else KnownMaps(maps)
    maps, then = parted(known.maps)
    # The most by which a map that follows can enlarge a difference.
    factor = 1.0 if then is None else float(np.abs(np.diff(then.values) / np.diff(then.knots)).max(initial=0.0))
    made = dict(maps)
    for group, full in maps.items():
        if type(full) is ScoreMap and len(full.knots) > 2:
            made[group] = _within(full, float(max_error) / factor)
    found = replace(_simplified(maps, made), limits=known.limits, map_sha256=known.map_sha256, takes=known.takes)
    if then is None:
        return found
    errors = {group: factor * error for group, error in found.errors.items()}
    return replace(found, maps=followed(found.maps, then), errors=errors)


def _simplified(maps: Maps, made: dict[Hashable, ScoreMap]) -> SimplifiedMaps:
    return SimplifiedMaps(
        maps=made,
        errors={group: _error(full, made[group]) for group, full in maps.items()},
        knots={group: (len(full.knots), len(made[group].knots)) for group, full in maps.items()},
    )


def _chosen(full: ScoreMap, places: NDArray[np.intp]) -> ScoreMap:
    edges: dict[str, Any] = {"below": full.below, "above": full.above, "floor": full.floor, "start": full.start}
    return ScoreMap(full.knots[places], full.values[places], **edges)


def _within(full: ScoreMap, reach: float) -> ScoreMap:
    """Choose points within the error, and add those that rounding put outside of it."""
    x, v = full.knots, full.values
    low, high = v - reach, v + reach
    places = fewest_points(x, v, low, high)
    while True:
        left = np.searchsorted(x[places], x, side="right") - 1
        now = interpolate(x[places], v[places], x, left)
        wrong = np.flatnonzero(~((now >= low) & (now <= high)))
        if len(wrong) == 0:
            return _chosen(full, places)
        places = np.union1d(places, wrong)


def _error(full: ScoreMap, small: ScoreMap) -> float:
    """Measure the largest difference: both are straight between the knots of either."""
    if small is full:
        return 0.0
    x = np.union1d(full.knots, small.knots)
    return float(np.abs(small.starting_at(None)(x) - full.starting_at(None)(x)).max())
