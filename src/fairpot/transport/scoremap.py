"""ScoreMap: what a post-processor learns for one group, as plain arrays."""

from __future__ import annotations

import numbers
from collections.abc import Callable, Hashable, Mapping
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fairpot._docs import documented
from fairpot.transport.lookup import Floats

Edge = Literal["identity", "hold"]
# The parts of a map that a score may lie in.
PARTS = ("moved", "below", "above", "held", "floored", "still")


@documented
class ScoreMap:
    """A piecewise linear map from scores to scores.

    Between two breakpoints, here called knots, the map interpolates; at a knot it returns the knot's value bit for bit.
    Without knots it is the identity. A map need not be monotone: FairPOT at 0 < lambda < 1 may step down where the
    moved part begins.

    Parameters
    ----------
    knots : array of shape (k,)
        Strictly ascending scores.
    values : array of shape (k,)
        The map's values at the knots.
    below, above : {"identity", "hold"}, default "hold"
        What happens to scores under the first and over the last knot: they stay, or get the value of that knot.
    floor : float or None, default None
        No score above the first knot is mapped lower than this.
    start : float or None, default None
        Scores below this do not change: the map works from here upwards.

    Examples
    --------
    >>> from fairpot import ScoreMap
    >>> move = ScoreMap([0.2, 0.6], [0.2, 0.9], below="identity")
    >>> move([0.1, 0.4, 0.6, 0.8])
    array([0.1 , 0.55, 0.9 , 0.9 ])
    """

    def __init__(
        self,
        knots: ArrayLike,
        values: ArrayLike,
        *,
        below: Edge = "hold",
        above: Edge = "hold",
        floor: float | None = None,
        start: float | None = None,
    ) -> None:
        self.knots: Floats = _frozen(knots, "knots")
        self.values: Floats = _frozen(values, "values")
        if len(self.knots) != len(self.values):
            raise ValueError(
                f"a ScoreMap needs one value for each breakpoint, got {len(self.knots)} and {len(self.values)}."
            )
        if (self.knots[1:] <= self.knots[:-1]).any():
            raise ValueError("the breakpoints of a ScoreMap must be strictly ascending.")
        for edge in (below, above):
            if edge not in ("identity", "hold"):
                raise ValueError(f"an edge of a ScoreMap is 'identity' or 'hold', got {edge!r}.")
        for name, bound in (("floor", floor), ("start", start)):
            if bound is not None and not (isinstance(bound, numbers.Real) and np.isfinite(float(bound))):
                raise ValueError(f"the {name} of a ScoreMap must be a finite number or None, got {bound!r}.")
        self.below: Edge = below
        self.above: Edge = above
        self.floor: float | None = None if floor is None else float(floor)
        self.start: float | None = None if start is None else float(start)
        with np.errstate(over="ignore"):
            beyond = ~np.isfinite(np.diff(self.knots)) | ~np.isfinite(np.diff(self.values))
        if beyond.any():
            raise ValueError(
                f"{beyond.sum()} pieces of a map are wider or higher than {np.finfo(np.float64).max:.3g}, the largest "
                "number.\nHint: rescale the scores before fit."
            )

    @classmethod
    def identity(cls) -> ScoreMap:
        """Return the map that changes no score."""
        return cls([], [])

    def __call__(self, scores: ArrayLike) -> Floats:
        """Map scores; the result has the shape of the input."""
        x = _numbers(scores, "scores")
        gone = int(np.isnan(x).sum())
        if gone:
            raise ValueError(
                f"{gone} of {x.size} scores are missing (NaN): a map has no value for them.\n"
                "Hint: drop those rows, or give them a score first."
            )
        if len(self.knots) == 0:
            return x.copy()
        left = np.searchsorted(self.knots, x, side="right") - 1
        result = self._interpolate(x, left)
        if self.floor is not None:
            result = np.where(left >= 0, np.maximum(result, self.floor), result)
        if self.below == "identity":
            result = np.where(left < 0, x, result)
        if self.above == "identity":
            result = np.where(x > self.knots[-1], x, result)
        if self.start is not None:
            result = np.where(x < self.start, x, result)
        return result

    def _interpolate(self, x: Floats, left: NDArray[np.intp]) -> Floats:
        with np.errstate(over="ignore"):  # far outside the knots a difference may be infinite: it is clipped
            return interpolate(self.knots, self.values, x, left)

    def parts(self, scores: ArrayLike) -> NDArray[np.int8]:
        """Say in which part of the map each score lies, as places in ``PARTS``; :func:`part_words` says them in words.

        Parameters
        ----------
        scores : array
            Scores to look up.
        """
        x = _numbers(scores, "scores")
        found = np.zeros(x.shape, dtype=np.int8)
        if self.is_identity:
            return found + np.int8(PARTS.index("still"))
        left = np.searchsorted(self.knots, x, side="right") - 1
        if self.floor is not None:
            found[(left >= 0) & (self._interpolate(x, left) < self.floor)] = PARTS.index("floored")
        found[(left < 0) | (x > self.knots[-1])] = PARTS.index("held")
        # A knot at an end that is left as it is may itself be the last score that stays.
        ends = self.knots[[0, -1]]
        stays = self(ends) == ends
        if self.below == "identity":
            found[(left < 0) | (stays[0] & (x == ends[0]))] = PARTS.index("below")
        if self.above == "identity":
            found[(x > ends[1]) | (stays[1] & (x == ends[1]))] = PARTS.index("above")
        if self.start is not None:
            found[x < self.start] = PARTS.index("below")
        return found

    def starting_at(self, start: float | None) -> ScoreMap:
        """Return the same map for the region from ``start`` upwards.

        A map with a floor lets nobody be overtaken, also not those below the start: it is the floor where it is higher.
        """
        knots, values, floor = self.knots, self.values, self.floor
        if floor is not None and start is not None and len(knots) > 0:
            if floor == self.start:  # that of another region: what is left is the highest score that stays
                floor = float(knots[0]) if self.below == "identity" else -np.inf
            floor = max(floor, start)
            if self.below == "hold" and start < knots[0]:  # the floor works from the first knot upwards
                knots, values = np.insert(knots, 0, start), np.insert(values, 0, values[0])
        return ScoreMap(knots, values, below=self.below, above=self.above, floor=floor, start=start)

    def reflected(self) -> ScoreMap:
        """Return the map x -> -m(-x): what this one, of scores with a minus, is for the scores themselves.

        It is exact at the knots, and between them within round-off. A map of a kind of its own has none: TypeError.
        """
        if type(self) is not ScoreMap:
            raise TypeError(
                f"a {type(self).__name__} cannot be reflected, as scores of which a low one means high risk need it.\n"
                "Hint: give the scores a minus yourself, before fit and before apply, or take another method."
            )
        if len(self.knots) == 0:
            return self
        x, values, below = self._plain_corners()
        if len(x) == 0:
            return ScoreMap.identity()
        return ScoreMap(-x[::-1] + 0.0, -values[::-1] + 0.0, below=self.above, above=below)

    def _plain_corners(self) -> tuple[Floats, Floats, Edge]:
        """Give knots, values and lower edge that say the same without floor and start; none for the identity."""
        x, values, below = self.knots, self.values, self.below
        if self.floor is not None:
            x, values = _lifted(x, values, self.floor)
            before = np.nextafter(self.knots[0], -np.inf)
            if below == "hold" and self.values[0] < self.floor and np.isfinite(before):
                x, values = np.append(before, x), np.append(self.values[0], values)
        if self.start is None or (below == "identity" and self.start <= x[0]):
            return x, values, below
        if self.start > self.knots[-1] and self.above == "identity":
            return x[:0], values[:0], "identity"
        later = x > self.start
        return np.append(self.start, x[later]), np.append(self(self.start), values[later]), "identity"

    @property
    def is_identity(self) -> bool:
        """Whether every score stays as it is."""
        if len(self.knots) == 0:
            return True
        x = self._corners()
        edges = (self.below == "identity" or self.start is not None) and self.above == "identity"
        floored = self.floor is not None and (self.values < self.floor).any()
        return bool(edges and not floored and (self(x) == x).all())

    @property
    def is_monotone(self) -> bool:
        """Whether a higher score is never mapped lower."""
        if len(self.knots) == 0:
            return True
        x = self._corners()
        values = self(x)
        enters = not (self.below == "identity" or self.start is not None) or x[0] <= values[0]
        leaves = self.above == "hold" or values[-1] <= x[-1]
        return bool(enters and leaves and (values[1:] >= values[:-1]).all())

    def _corners(self) -> Floats:
        """Give the scores between which the map is a straight line (or, at the floor, bends upwards)."""
        if self.start is None or (self.below == "identity" and self.start <= self.knots[0]):
            return self.knots
        return np.concatenate(([self.start], self.knots[self.knots > self.start]))

    def compact(self) -> ScoreMap:
        """Drop the knots that change nothing: inside flat stretches and along an identity edge."""
        if len(self.knots) == 0 or type(self) is not ScoreMap:
            return self
        keep = np.ones(len(self.knots), dtype=bool)
        same = self.values[1:] == self.values[:-1]
        keep[1:-1] = ~(same[:-1] & same[1:])
        fixed = self.knots == self.values
        if self.floor is not None:  # what lies below the floor is lifted to it, and is no identity
            fixed &= self.values >= self.floor
        if self.below == "identity":
            keep[: max(_leading(fixed) - 1, 0)] = False
        if self.above == "identity":
            keep[len(keep) - max(_leading(fixed[::-1]) - 1, 0) :] = False
        return ScoreMap(self.knots[keep], self.values[keep], **self._edges)

    @property
    def _edges(self) -> dict[str, Any]:
        return {"below": self.below, "above": self.above, "floor": self.floor, "start": self.start}

    def to_dict(self) -> dict[str, Any]:
        """Return plain lists and strings, ready for JSON: what a map is made from, by name."""
        return {"knots": self.knots.tolist(), "values": self.values.tolist(), **self._edges}

    def rounded(self, to: Callable[[float], float]) -> ScoreMap:
        """Return the map with rounded numbers, where it is no more than a few.

        Parameters
        ----------
        to : function of a number
            Rounds it.
        """
        return self

    def in_words(self) -> str | None:
        """Say what it does to every score, where that is one thing."""
        return None

    def frame(self) -> Any:
        """Return the breakpoints, ``score`` and ``adjusted``, as a frame of the kind that is in use.

        Between breakpoints the map is a straight line; a map that changes nothing, or adds the same to every score, has
        none.
        """
        from fairpot._shown import make_frame  # nothing else here is more than NumPy

        return make_frame({"score": self.knots, "adjusted": self(self.knots)})

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ScoreMap):
            return NotImplemented
        same = np.array_equal(self.knots, other.knots) and np.array_equal(self.values, other.values)
        return same and self._edges == other._edges

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        if len(self.knots) == 0:
            return "ScoreMap.identity()"
        span = f"[{self.knots[0]:.6g}, {self.knots[-1]:.6g}] -> [{self.values.min():.6g}, {self.values.max():.6g}]"
        return f"<ScoreMap {len(self.knots)} breakpoints, {span}, below={self.below!r}, above={self.above!r}>"


def part_words(moved: str, stays: str, after: str = "") -> tuple[str, ...]:
    """Say what the parts of a map do, in the order of ``PARTS``: who moves, who stays, and everybody after that."""
    found = (
        moved,
        "below the part that is moved: the score stays",
        "above the part that is moved: the score stays",
        f"{moved}; beyond the fitted scores, so that it gets the value at their end",
        f"{moved}, held up so that it does not fall below scores that stay",
        stays,
    )
    return tuple(text + after for text in found)


def interpolate(knots: Floats, values: Floats, x: Floats, left: NDArray[np.intp]) -> Floats:
    """Interpolate at ``x``, whose last knot not above it is ``left``; edges hold.

    Exact at knots, monotone inside each segment, and never outside the segment's two values.
    """
    low = np.clip(left, 0, len(knots) - 1)
    high = np.minimum(low + 1, len(knots) - 1)
    return between(knots[low], knots[high], values[low], values[high], x)


def between(x0: Floats, x1: Floats, v0: Floats, v1: Floats, x: Floats) -> Floats:
    """Interpolate from (x0, v0) to (x1, v1), holding the value outside; x0 == x1 gives v0."""
    width = x1 - x0
    share = np.clip(np.divide(x - x0, width, out=np.zeros_like(x), where=width > 0), 0.0, 1.0)
    return np.clip(v0 + share * (v1 - v0), np.minimum(v0, v1), np.maximum(v0, v1))


def _lifted(knots: Floats, values: Floats, floor: float) -> tuple[Floats, Floats]:
    """Lift values to a floor, with a knot wherever the line between two of them meets it."""
    over = values / 4 - floor / 4  # a quarter, so that no difference overflows
    crossing = np.flatnonzero(over[:-1] * np.sign(over[1:]) < 0)
    share = over[crossing] / (over[crossing] - over[crossing + 1])
    met = 4 * (knots[crossing] / 4 + share * (knots[crossing + 1] / 4 - knots[crossing] / 4))
    inside = (met > knots[crossing]) & (met < knots[crossing + 1])
    crossing, met = crossing[inside], met[inside]
    return np.insert(knots, crossing + 1, met), np.insert(np.maximum(values, floor), crossing + 1, floor)


def _numbers(values: ArrayLike, name: str) -> Floats:
    array = np.asarray(values)
    if array.dtype.kind not in "iufbO":
        raise TypeError(f"the {name} of a ScoreMap must be numbers, got {array.dtype}.")
    try:
        return array.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise TypeError(f"the {name} of a ScoreMap must be numbers: {error}.") from error


def _frozen(values: ArrayLike, name: str) -> Floats:
    array = _numbers(values, name)
    if array.ndim != 1 or not np.isfinite(array).all():
        raise ValueError(f"the {name} of a ScoreMap must be a one-dimensional array of finite numbers.")
    array.flags.writeable = False
    return array


def _leading(flags: NDArray[np.bool_]) -> int:
    """Count the leading True values."""
    return len(flags) if flags.all() else int(np.argmin(flags))


def moving(maps: Mapping[Hashable, ScoreMap]) -> dict[Hashable, ScoreMap]:
    """Keep the maps that change a score."""
    return {g: m for g, m in maps.items() if not m.is_identity}
