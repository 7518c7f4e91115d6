"""Maps that are no straight pieces: a shift by one constant, and a map that a common one follows."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fairpot.transport.lookup import Floats
from fairpot.transport.pieces import LARGEST, Formula, added, first_double
from fairpot.transport.scoremap import PARTS, ScoreMap

# Where a shift of log-odds can be looked at as a line; it needs no knots itself.
_PROBES = np.arange(101) / 100


class Odds(NamedTuple):
    """The map p -> 1 / (1 + ((1 - p) / p) / factor) of probabilities; below 0 ``factor`` is of those with a minus.

    Of both: s -> sign / (1 + ((1 - sign s) / s) / factor) where 0 < sign s < 1, with the sign of the factor; else s.
    """

    factor: float

    @property
    def sign(self) -> float:
        """1, or -1 for probabilities with a minus."""
        return 1.0 if self.factor > 0 else -1.0

    @property
    def lowest(self) -> float:
        """The lowest probability whose odds are not beyond the largest number; those below it become 0."""
        with np.errstate(all="ignore"):
            return first_double(0.0, 1.0, lambda p: bool(p > 0 and ((1 - p) / p) / abs(self.factor) <= LARGEST))


class ShiftMap(ScoreMap):
    """The map that multiplies the odds of probabilities by a factor, or adds a number to any other scores.

    A probability p becomes p k / (1 - p + p k); 0 and 1 stay, and so does what is no probability. It is computed as
    1 / (1 + ((1 - p) / p) / k): no step of that reverses an order, and every export takes the same steps to the same
    bits.

    Parameters
    ----------
    factor : float > 0 or None, default None
        What the odds are multiplied by.
    added : float, default 0
        What is added, where ``factor`` is None.
    negative : bool, default False
        Whether the scores are probabilities with a minus: x -> -m(-x).

    Examples
    --------
    >>> from fairpot.transport import ShiftMap
    >>> ShiftMap(factor=3.0)([0.0, 0.25, 0.5, 1.0])
    array([0.  , 0.5 , 0.75, 1.  ])
    >>> ShiftMap(added=2.0)([1.0, 7.0])
    array([3., 9.])
    """

    def __init__(self, *, factor: float | None = None, added: float = 0.0, negative: bool = False) -> None:
        if factor is not None and not (np.isfinite(factor) and factor > 0):
            raise ValueError(f"the factor of a shift must be finite and above 0, got {factor!r}.")
        if not np.isfinite(added):
            raise ValueError(f"what a shift adds must be finite, got {added!r}.")
        self.factor = None if factor is None else float(factor)
        self.added = float(added)
        self.negative = bool(negative) and factor is not None
        probes = _PROBES[:0] if factor is None else -_PROBES[::-1] + 0.0 if self.negative else _PROBES
        super().__init__(probes, self(probes))

    def __call__(self, scores: ArrayLike) -> Floats:
        """Map scores; the result has the shape of the input."""
        x = np.asarray(scores, dtype=np.float64)
        if self.factor is None:
            return np.asarray(x + self.added)
        return -shifted(-x, self.factor) + 0.0 if self.negative else shifted(x, self.factor)

    def parts(self, scores: ArrayLike) -> NDArray[np.int8]:
        """Say in which part each score lies: all are moved but those that are no probabilities between 0 and 1."""
        x = np.asarray(scores, dtype=np.float64)
        found = np.zeros(x.shape, dtype=np.int8)
        if self.is_identity:
            return found + np.int8(PARTS.index("still"))
        if self.factor is not None:
            low, high = (-1.0, 0.0) if self.negative else (0.0, 1.0)
            found[x <= low], found[x >= high] = PARTS.index("below"), PARTS.index("above")
        return found

    def reflected(self) -> ShiftMap:
        """Return the map x -> -m(-x)."""
        if self.factor is None:
            return ShiftMap(added=-self.added)
        return ShiftMap(factor=self.factor, negative=not self.negative)

    def starting_at(self, start: float | None) -> ScoreMap:
        """Refuse: a shift has no region."""
        if start is None:
            return self
        raise TypeError("a shift moves all scores of a group and has no region.")

    @property
    def is_identity(self) -> bool:
        """Whether every score stays as it is."""
        return self.added == 0 if self.factor is None else self.factor == 1

    @property
    def is_monotone(self) -> bool:
        """A higher score is never mapped lower."""
        return True

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers, ready for JSON."""
        return {"factor": self.factor, "added": self.added, "negative": self.negative}

    def formula(self) -> Formula:
        """Return the numbers that say all about it."""
        if self.factor is None or self.is_identity:
            return added(self.added)
        return Odds(-self.factor if self.negative else self.factor)

    def rounded(self, to: Callable[[float], float]) -> ShiftMap:
        """Return the map with rounded numbers, on the scale of the repair strength."""
        if self.factor is None:
            return ShiftMap(added=to(self.added))
        return ShiftMap(factor=math.exp(to(math.log(self.factor))), negative=self.negative)

    def in_words(self) -> str:
        """Say what it does to a score, such as ``odds times 0.5``."""
        if self.factor is not None:
            return f"odds times {self.factor:.4g}"
        return f"score {'-' if self.added < 0 else '+'} {abs(self.added):.4g}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ShiftMap) and self.to_dict() == other.to_dict()

    __hash__ = None

    def __repr__(self) -> str:
        moved = f"added={self.added:.6g}" if self.factor is None else f"factor={self.factor:.6g}"
        return f"ShiftMap({moved}{', negative=True' if self.negative else ''})"


def shifted(p: Floats, factor: float) -> Floats:
    """Multiply the odds of probabilities; what is none stays as it is."""
    if factor == 1:
        return p.copy()
    with np.errstate(all="ignore"):
        result = 1 / (1 + ((1 - p) / p) / factor)
    return np.where((p > 0) & (p < 1), result, p)


class FollowedMap(ScoreMap):
    """The map s -> then(first(s)): a group's own, of any kind, and a piecewise linear one that is common to all groups.

    Two scores that ``first`` makes equal, of one group or of two, stay equal bit for bit.

    Parameters
    ----------
    first, then : ScoreMap
        The group's own map, and the common one.

    Examples
    --------
    >>> from fairpot.transport import FollowedMap, ScoreMap
    >>> repair, calibration = ScoreMap([0.2, 0.6], [0.3, 0.9]), ScoreMap([0, 1], [0, 0.5])
    >>> FollowedMap(repair, calibration)([0.2, 0.4])
    array([0.15, 0.3 ])
    """

    def __init__(self, first: ScoreMap, then: ScoreMap) -> None:
        self.first, self.then = first, then
        seen = first.knots if len(first.knots) else then.knots
        super().__init__(seen, self(seen))

    def __call__(self, scores: ArrayLike) -> Floats:
        """Map scores; the result has the shape of the input."""
        return self.then(self.first(scores))

    def parts(self, scores: ArrayLike) -> NDArray[np.int8]:
        """Say in which part of the group's own map each score lies."""
        return self.first.parts(scores)

    def starting_at(self, start: float | None) -> FollowedMap:
        """Return the same map, with the group's own for the region from ``start`` upwards."""
        return FollowedMap(self.first.starting_at(start), self.then)

    def reflected(self) -> FollowedMap:
        """Return the map x -> -m(-x)."""
        return FollowedMap(self.first.reflected(), self.then.reflected())

    @property
    def is_identity(self) -> bool:
        """Whether every score stays as it is."""
        return self.first.is_identity and self.then.is_identity

    @property
    def is_monotone(self) -> bool:
        """Whether a higher score is never mapped lower."""
        return self.first.is_monotone and self.then.is_monotone

    def to_dict(self) -> dict[str, Any]:
        """Return both maps as plain values."""
        return {"first": self.first.to_dict(), "then": self.then.to_dict()}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FollowedMap) and (self.first, self.then) == (other.first, other.then)

    __hash__ = None

    def __repr__(self) -> str:
        return f"FollowedMap({self.first!r}, {self.then!r})"


def followed(maps: Mapping[Hashable, ScoreMap], then: ScoreMap | None) -> dict[Hashable, ScoreMap]:
    """Let one map follow those of all groups; None follows nothing."""
    return dict(maps) if then is None else {group: FollowedMap(each, then) for group, each in maps.items()}


def parted(maps: Mapping[Any, ScoreMap]) -> tuple[dict[Any, ScoreMap], ScoreMap | None]:
    """Part maps into each group's own and the one that follows them all; None where nothing does."""
    thens = [each.then if isinstance(each, FollowedMap) else None for each in maps.values()]
    then = thens[0] if thens else None
    if any((each is None) != (then is None) or each != then for each in thens):
        raise ValueError(
            "the maps of the groups are followed by different maps, where one must follow them all.\n"
            "Hint: take all maps of one fitted method."
        )
    return {g: each.first if isinstance(each, FollowedMap) else each for g, each in maps.items()}, then
