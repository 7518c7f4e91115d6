"""Intercepts that give a logistic model a wanted rate."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import bisect
from scipy.special import expit, logit


def calibrate_intercept(linear: NDArray[np.float64], rate: float) -> float:
    """Return, by bisection, the intercept that makes the mean of ``sigmoid(linear + intercept)`` the rate."""

    def excess(intercept: float) -> Any:
        return expit(linear + intercept).mean() - rate

    # Below the first end every probability is under the rate, above the second every one is over it.
    ends = logit(rate) - linear.max() - 1.0, logit(rate) - linear.min() + 1.0
    return float(bisect(excess, *ends, xtol=1e-12))
