"""Features for a network: standardised, missing values at the mean and flagged."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

# Standard deviations from the mean beyond which a value counts as this far: a flag that one row in a thousand has
# would otherwise come out at 30 and steer the network.
_FARTHEST = 3.0


class Standardiser(NamedTuple):
    """What brings columns to mean 0 and standard deviation 1.

    A missing value becomes 0, the mean; each column that had missing values when this was learned gets a second
    one that says where (``flagged``).
    """

    mean: Floats
    scale: Floats
    flagged: NDArray[np.intp]

    @classmethod
    def learn(cls, rows: Floats, weight: Floats) -> Standardiser:
        """Learn means and scales from the values that are there; a constant column keeps its scale."""
        there = ~np.isnan(rows)
        share = np.where(there, weight[:, None], 0.0)
        total = share.sum(axis=0)
        known = np.where(there, rows, 0.0)
        mean = np.divide((share * known).sum(axis=0), total, out=np.zeros(rows.shape[1]), where=total > 0)
        spread = (share * np.where(there, rows - mean, 0.0) ** 2).sum(axis=0)
        scale = np.sqrt(np.divide(spread, total, out=np.zeros(rows.shape[1]), where=total > 0))
        tiny = scale <= 1e-12 * np.maximum(np.abs(mean), 1e-300)  # constant but for round-off
        return cls(mean, np.where(tiny, 1.0, scale), np.flatnonzero(~there.all(axis=0)))

    @property
    def width(self) -> int:
        """Number of columns that come out."""
        return len(self.mean) + len(self.flagged)

    def apply(self, rows: Floats) -> Floats:
        """Bring rows to that scale."""
        gone = np.isnan(rows)
        scaled = np.clip((rows - self.mean) / self.scale, -_FARTHEST, _FARTHEST)
        scaled[gone] = 0.0
        return np.hstack([scaled, gone[:, self.flagged].astype(np.float64)])
