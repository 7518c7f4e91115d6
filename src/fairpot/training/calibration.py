"""Probabilities from log-odds without changing their order (Platt scaling)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit

Floats = NDArray[np.float64]

# The slope stays above 0, so that the order stays; a model that ranks backwards gets nearly equal probabilities.
_LEAST_SLOPE = 1e-3


class Sigmoid(NamedTuple):
    """``slope * score + intercept`` is the log-odds of a positive."""

    slope: float
    intercept: float

    def log_odds(self, scores: Floats) -> Floats:
        """Bring scores to the scale of log-odds."""
        return self.slope * scores + self.intercept


def fit_sigmoid(scores: Floats, y: NDArray[np.int8], weight: Floats) -> Sigmoid:
    """Fit the two numbers by weighted log-loss, with Platt's targets, which keep them finite."""
    positives, negatives = weight[y == 1].sum(), weight[y == 0].sum()
    target = np.where(y == 1, (positives + 1) / (positives + 2), 1 / (negatives + 2))
    centre = float(np.average(scores, weights=weight))
    spread = float(np.sqrt(np.average((scores - centre) ** 2, weights=weight))) or 1.0
    unit, share = (scores - centre) / spread, weight / weight.sum()

    def loss(parameters: Floats) -> tuple[float, Floats]:
        odds = parameters[0] * unit + parameters[1]
        value = share @ (np.logaddexp(0.0, odds) - target * odds)
        error = share * (expit(odds) - target)
        return float(value), np.array([error @ unit, error.sum()])

    start = np.array([1.0, np.log((positives + 1) / (negatives + 1))])
    found = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=[(_LEAST_SLOPE, None), (None, None)])
    slope = float(found.x[0]) / spread
    return Sigmoid(slope, float(found.x[1]) - slope * centre)
