"""LogitMap: the map s -> sigma(alpha s + beta)."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit

from fairpot.transport import ScoreMap

# Where the sigmoid is shown as a line; no scores of people, which it does not need.
PROBES = np.arange(101) / 100


class LogitMap(ScoreMap):
    """The map s -> sigma(alpha s + beta), exact everywhere.

    Its knots are where it can be looked at, the hundredths in [0, 1] after a fit: it needs none itself.
    """

    __slots__ = ("alpha", "beta")

    def __init__(self, knots: ArrayLike, alpha: float, beta: float) -> None:
        self.alpha = alpha
        self.beta = beta
        super().__init__(knots, self(knots))

    def __call__(self, scores: ArrayLike) -> NDArray[np.float64]:
        """Map scores; the result has the shape of the input."""
        return sigmoid(np.asarray(scores, dtype=np.float64), self.alpha, self.beta)

    def parts(self, scores: ArrayLike) -> NDArray[np.int8]:
        """Say that every score is moved."""
        return np.zeros(np.shape(scores), dtype=np.int8)


def sigmoid(scores: NDArray[np.float64], alpha: float, beta: float) -> NDArray[np.float64]:
    """Return sigma(alpha s + beta)."""
    return np.asarray(expit(alpha * scores + beta))
