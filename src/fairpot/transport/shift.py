"""ShiftMap: a group's scores moved by one constant, probabilities by their log-odds."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fairpot.transport.scoremap import PARTS, ScoreMap

# Where a shift of log-odds can be looked at as a line; it needs no knots itself.
_PROBES = np.arange(101) / 100


class ShiftMap(ScoreMap):
    """The map that multiplies the odds of probabilities by a factor, or adds a number to any other scores.

    With ``factor`` k a probability p becomes p k / (1 - p + p k); 0 and 1 stay, and so does what is not a
    probability. It is computed as 1 / (1 + ((1 - p) / p) / k): no step of that reverses an order, whatever is
    rounded, and every export takes the same steps to the same bits. With ``negative`` it is the map of scores
    with a minus: x -> -m(-x).

    Parameters
    ----------
    factor : float > 0 or None, default None
        What the odds are multiplied by.
    added : float, default 0
        What is added, where ``factor`` is None.
    negative : bool, default False
        Whether the scores have a minus.

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

    def __call__(self, scores: ArrayLike) -> NDArray[np.float64]:
        """Map scores; the result has the shape of the input."""
        x = np.asarray(scores, dtype=np.float64)
        if self.factor is None:
            return np.asarray(x + self.added)
        return -shifted(-x, self.factor) + 0.0 if self.negative else shifted(x, self.factor)

    def parts(self, scores: ArrayLike) -> NDArray[np.int8]:
        """Say in which part each score lies: all are moved but those that are no probabilities between 0 and 1.

        >>> [PARTS[place] for place in ShiftMap(factor=2.0).parts([0.0, 0.5, 1.0])]
        ['below', 'moved', 'above']
        """
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

    def compact(self) -> ScoreMap:
        """Return the map itself: it has no knots to drop."""
        return self

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

    @classmethod
    def from_dict(cls, content: Any) -> ShiftMap:
        """Rebuild a map from :meth:`to_dict`."""
        return cls(**content)

    def in_words(self) -> str:
        """Say what it does to a score.

        >>> ShiftMap(factor=0.5).in_words(), ShiftMap(added=-3.0).in_words()
        ('odds times 0.5', 'score - 3')
        """
        if self.factor is not None:
            return f"odds times {self.factor:.4g}"
        return f"score {'-' if self.added < 0 else '+'} {abs(self.added):.4g}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ShiftMap) and self.to_dict() == other.to_dict()

    __hash__ = None

    def __repr__(self) -> str:
        moved = f"added={self.added:.6g}" if self.factor is None else f"factor={self.factor:.6g}"
        return f"ShiftMap({moved}{', negative=True' if self.negative else ''})"


def shifted(p: NDArray[np.float64], factor: float) -> NDArray[np.float64]:
    """Multiply the odds of probabilities; what is none stays as it is."""
    if factor == 1:
        return p.copy()
    with np.errstate(all="ignore"):
        result = 1 / (1 + ((1 - p) / p) / factor)
    return np.where((p > 0) & (p < 1), result, p)
