"""A ScoreMap as rows of numbers, one for each straight piece: what every export and engine works from.

The pieces need no case distinction: y = min(max(v0 + ((s - x0) / w) * d, vmin), vmax), with the last piece whose
``lo`` is not above s. Identity, held edges, floor and start are pieces like any other.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from fairpot.transport.lookup import Floats as Floats
from fairpot.transport.scoremap import ScoreMap

LARGEST = float(np.finfo(np.float64).max)
_FIELDS = 7


class Pieces(NamedTuple):
    """The straight pieces of a map, from the lowest finite number on: v0 + ((s - x0) / w) * d in [vmin, vmax]."""

    lo: Floats
    x0: Floats
    w: Floats
    v0: Floats
    d: Floats
    vmin: Floats
    vmax: Floats

    def __call__(self, scores: ArrayLike) -> Floats:
        """Map finite scores as the ScoreMap does, bit for bit but for the sign of a zero."""
        s = np.asarray(scores, dtype=np.float64)
        p = Pieces(*(field[np.searchsorted(self.lo, s, side="right") - 1] for field in self))
        return np.minimum(np.maximum(p.v0 + ((s - p.x0) / p.w) * p.d, p.vmin), p.vmax)

    @property
    def size(self) -> int:
        """How many pieces there are."""
        return len(self.lo)


Formula = Pieces | tuple[float, ...]  # the numbers of straight pieces, or those of one formula


def formula_of(score_map: ScoreMap) -> Formula:
    """Return the numbers that say all about a map: its pieces, or those of a formula that its kind has.

    Raises :class:`TypeError` if it is a map of a kind of its own.
    """
    if type(score_map) is ScoreMap:
        return pieces(score_map)
    if not hasattr(score_map, "formula"):
        raise TypeError(f"a map must be a ScoreMap, got {type(score_map).__name__}, whose rule is not known here.")
    formula: Formula = score_map.formula()
    return formula


def added(number: float) -> Pieces:
    """Give the one piece that adds a number to every score; of 0 it gives back the score, 0.0 and -0.0 too."""
    return Pieces(*np.array([[-LARGEST, 0.0, 1.0, number or -0.0, 1.0, -LARGEST, LARGEST]]).T)


def pieces(score_map: ScoreMap) -> Pieces:
    """Cut a piecewise linear map into its straight pieces."""
    knots, values = score_map.knots, score_map.values
    if len(knots) == 0:
        return Pieces(*_identity(-LARGEST).T)
    floor = -LARGEST if score_map.floor is None else score_map.floor
    rows = [_inside(knots, values, floor), _flat(float(knots[-1]), max(float(values[-1]), floor))]
    if knots[0] > -LARGEST:
        rows.insert(0, _identity(-LARGEST) if score_map.below == "identity" else _flat(-LARGEST, float(values[0])))
    if score_map.above == "identity" and knots[-1] < LARGEST:
        rows.append(_identity(float(np.nextafter(knots[-1], np.inf))))
    return Pieces(*_merged(_starting_at(np.concatenate(rows), score_map.start)).T)


def _identity(lo: float) -> Floats:
    # -0.0 + s is s, also for s = -0.0 and 0.0
    return np.array([[lo, 0.0, 1.0, -0.0, 1.0, -LARGEST, LARGEST]])


def _flat(lo: float, value: float) -> Floats:
    return np.array([[lo, 0.0, 1.0, value, 0.0, value, value]])


def _inside(knots: Floats, values: Floats, floor: float) -> Floats:
    """Return the pieces between knots."""
    w, d = np.diff(knots), np.diff(values)
    low = np.maximum(np.minimum(values[:-1], values[1:]), floor)
    high = np.maximum(np.maximum(values[:-1], values[1:]), floor)
    rows = np.column_stack((knots[:-1], knots[:-1], w, values[:-1], d, low, high))
    level = (d == 0) | (low == high)
    step = ~level & (np.nextafter(knots[:-1], np.inf) == knots[1:])  # the piece holds one number, its first
    value = np.where(step, np.maximum(values[:-1], floor), low)
    level |= step
    rows[level, 1:] = 0.0, 1.0, 0.0, 0.0, 0.0, 0.0
    rows[level, 3] = rows[level, 5] = rows[level, 6] = value[level]
    return _without_underflow(rows, knots)


def _without_underflow(rows: Floats, knots: Floats) -> Floats:
    """Begin a sloping piece where its product is not rounded to 0: PostgreSQL takes such a product for an error."""
    with np.errstate(under="ignore"):
        first = np.nextafter(knots[:-1], np.inf)
        vanishes = (rows[:, 4] != 0) & (((first - rows[:, 1]) / rows[:, 2]) * rows[:, 4] == 0) & (first < knots[1:])
        if not vanishes.any():
            return rows
        made = list(rows[:, None, :])
        for place in np.flatnonzero(vanishes).tolist():
            made[place] = _counting(rows[place], float(knots[place + 1]))
    return np.concatenate([np.empty((0, _FIELDS)), *made])


def _counting(row: Floats, end: float) -> Floats:
    """Make a piece flat up to where its product counts."""
    later = row.copy()
    later[0] = first_double(float(row[0]), end, lambda s: bool(((s - row[1]) / row[2]) * row[4]))
    flat = _flat(row[0], float(min(max(row[3], row[5]), row[6])))
    return np.concatenate((flat, later[None])) if later[0] < end else flat


def first_double(begin: float, end: float, holds: Callable[[np.float64], bool]) -> float:
    """Bisect the doubles for the first for which something holds, as for all above it; ``end`` if there is none."""
    low, high = _order(begin), _order(end)
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(np.float64(_double(middle))) else (middle + 1, high)
    return _double(low)


def _order(value: float) -> int:
    """Number the doubles in their order."""
    bits = int(np.float64(value).view(np.int64))
    return bits if bits >= 0 else -(bits & (2**63 - 1))


def _double(order: int) -> float:
    return float(np.int64(abs(order)).view(np.float64)) * (1 if order >= 0 else -1)


def _starting_at(rows: Floats, start: float | None) -> Floats:
    """Leave scores below the start as they are."""
    if start is None or start <= -LARGEST:
        return rows
    later = rows[max(int(np.searchsorted(rows[:, 0], start, side="right")) - 1, 0) :].copy()
    later[0, 0] = max(later[0, 0], start)
    return np.concatenate((_identity(-LARGEST), later))


def _merged(rows: Floats) -> Floats:
    """Join neighbours that say the same."""
    keep = np.ones(len(rows), dtype=bool)
    keep[1:] = (rows[1:, 1:] != rows[:-1, 1:]).any(axis=1)
    return rows[keep]
