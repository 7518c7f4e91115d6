"""FollowedMap: a group's own map, and after it one that is common to all groups."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fairpot.transport.scoremap import ScoreMap


class FollowedMap(ScoreMap):
    """The map s -> then(first(s)), taken in two steps.

    ``then`` is the same for all groups. Two scores that ``first`` makes equal, of one group or of two, therefore stay
    equal bit for bit, and where ``then`` ascends no order changes.

    Parameters
    ----------
    first : ScoreMap
        The group's own map, of any kind.
    then : ScoreMap
        A piecewise linear map.

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

    def __call__(self, scores: ArrayLike) -> NDArray[np.float64]:
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

    def compact(self) -> ScoreMap:
        """Drop the knots that change nothing."""
        return FollowedMap(self.first.compact(), self.then)

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
