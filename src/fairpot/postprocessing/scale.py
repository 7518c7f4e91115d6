"""Whether scores are on the scale that a map was fitted on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fairpot.exceptions import ScaleWarning

# Beyond the fitted range by more than this share of its width is far outside.
_FAR = 0.5
# So many rows far outside, as a share, and the batch is suspect.
_MANY = 0.01
# A batch that fills less than this share of the fitted range is suspect, if it has scores enough to tell.
_NARROW, _ENOUGH = 0.05, 30


class Mismatch(NamedTuple):
    """What is told about a batch on another scale."""

    message: str
    category: type[Warning]
    outside: int


@dataclass(frozen=True)
class ScoreScale:
    """The range of the fitted scores.

    A batch is on another scale if more than 1 % of its rows lie further outside the fitted range than half its
    width, or if 30 or more distinct scores fill less than a twentieth of it.
    """

    low: float
    high: float

    def mismatch_of_range(self, low: float, high: float) -> str | None:
        """Say what is odd about a batch of which only the range is known; None if nothing is.

        Its ends lie further outside the fitted range than half its width, or it fills less than a twentieth of it.
        """
        width = self.high - self.low
        if width <= 0 or high < low:
            return None
        seen = (
            f"the map was fitted on scores from {self.low:g} to {self.high:g}, and these run from {low:g} to {high:g}"
        )
        if low < self.low - _FAR * width or high > self.high + _FAR * width:
            return f"scores lie far outside the fitted range: {seen} (far: by more than half its width)."
        if 0 < high - low < _NARROW * width:
            return f"scores fill less than a twentieth of the fitted range: {seen}; is this another scale?"
        return None

    def mismatch(self, scores: NDArray[np.float64]) -> Mismatch | None:
        """Say what is odd about the scores of a batch; None if nothing is."""
        width = self.high - self.low
        if len(scores) == 0 or width <= 0:
            return None
        low, high = float(scores.min()), float(scores.max())
        beyond = int(((scores < self.low - _FAR * width) | (scores > self.high + _FAR * width)).sum())
        seen = (
            f"the map was fitted on scores from {self.low:g} to {self.high:g}, and these run from {low:g} to {high:g}"
        )
        hint = "\nHint: bring the scores to the scale of fit (0-1 or 0-100, probabilities or log-odds), or fit anew."
        if beyond > _MANY * len(scores):
            outside = f"{beyond} of {len(scores)} scores lie far outside the fitted range: {seen}"
            return Mismatch(f"{outside} (far: by more than half its width).{hint}", ScaleWarning, beyond)
        if high - low < _NARROW * width and len(np.unique(scores)) >= _ENOUGH:
            inside = f"{len(scores)} scores fill less than a twentieth of the fitted range: {seen}"
            return Mismatch(f"{inside}; is this another scale?{hint}", ScaleWarning, beyond)
        return None
