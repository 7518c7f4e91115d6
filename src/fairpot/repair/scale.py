"""ScoreScale: the range of the fitted scores, and what is odd about a batch beside it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fairpot._arguments import argument
from fairpot._validation import check_choice
from fairpot._warn import warn_user
from fairpot.exceptions import ScaleWarning
from fairpot.table import ScoreTable

# Beyond the fitted range by more than this share of its width is far outside.
_FAR = 0.5
# So many rows far outside, as a share, and the batch is suspect.
_MANY = 0.01
# So many of them, and the scores as a whole are on another scale.
_ALL = 0.9
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

    @classmethod
    def of(cls, table: ScoreTable) -> ScoreScale:
        """Find the range of a table's scores."""
        edges = [(float(c.score[0]), float(c.score[-1])) for c in table.counts if len(c.score)]
        return cls(min(low for low, _ in edges), max(high for _, high in edges))

    @property
    def far(self) -> tuple[float, float]:
        """The scores below and above which others are far outside."""
        width = self.high - self.low
        return (self.low - _FAR * width, self.high + _FAR * width) if width > 0 else (-np.inf, np.inf)

    def is_left(self, outside: int, rows: int) -> bool:
        """Whether so many rows far outside are another scale, not a few odd people."""
        return outside > _MANY * rows

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
        if self.is_left(beyond, len(scores)):
            outside = f"{beyond} of {len(scores)} scores lie far outside the fitted range: {seen}"
            return Mismatch(f"{outside} (far: by more than half its width).{hint}", ScaleWarning, beyond)
        if high - low < _NARROW * width and len(np.unique(scores)) >= _ENOUGH:
            inside = f"{len(scores)} scores fill less than a twentieth of the fitted range: {seen}"
            return Mismatch(f"{inside}; is this another scale?{hint}", ScaleWarning, beyond)
        return None


def tell(found: Mismatch, rows: int, other_scale: str | None) -> None:
    """Warn of another scale, or refuse it."""
    if other_scale is not None:
        check_choice(other_scale, "other_scale", ("error", "warn"))
    if other_scale == "error" or (other_scale is None and found.outside >= _ALL * rows):
        raise ValueError(f"{found.message} {argument('other_scale', 'warn')} lets them through.")
    warn_user(found.message, found.category)
