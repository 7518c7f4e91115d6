"""A level that holds for many numbers together: the quantile of the largest of correlated errors (sup-t)."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from scipy.special import ndtr

from fairpot.inference.placements import Floats

_DRAWS = 20_000
_SEED = 20250101  # limits are the same in every run


def correlation(covariance: Floats) -> Floats:
    """Scale a covariance to ones on the diagonal; what does not vary is correlated with nothing."""
    sd = np.sqrt(np.maximum(np.diag(covariance), 0.0))
    scale = np.outer(sd, sd)
    result = np.divide(covariance, scale, out=np.zeros(covariance.shape), where=scale > 0)
    np.fill_diagonal(result, 1.0)
    return result


def draw_errors(covariance: Floats, draws: int = _DRAWS, seed: int = _SEED) -> Floats:
    """Draw standardised errors with a given covariance, one row a draw: the Gaussian multiplier bootstrap."""
    values, vectors = np.linalg.eigh(correlation(covariance))
    kept = values > 1e-6 * values[-1]  # what is left out would not be seen in any quantile
    root = vectors[:, kept] * np.sqrt(values[kept])
    root /= np.sqrt(np.sum(root**2, axis=1, keepdims=True))
    rank = int(kept.sum())
    return _normals(draws, 1 << (rank - 1).bit_length(), seed)[:, :rank] @ root.T


@lru_cache(maxsize=4)
def _normals(draws: int, rank: int, seed: int) -> Floats:
    """Draw independent errors, once for all calls that need about as many."""
    return np.random.default_rng(seed).standard_normal((draws, rank))


def joint_tail(covariance: Floats, tail: float) -> float:
    """Find the tail for each of several limits, on both sides, that makes all hold but ``2 * tail`` of the time.

    Errors are taken as normal for this one number; each limit then has the t quantile of its own.

    Examples
    --------
    >>> joint_tail(np.eye(1), 0.025)
    0.025
    >>> round(joint_tail(np.ones((5, 5)), 0.025), 3)  # five times the same number
    0.025
    >>> round(joint_tail(np.eye(2), 0.025), 3)
    0.013
    """
    if len(covariance) == 1:
        return tail
    largest = np.abs(draw_errors(covariance)).max(axis=1)
    return joint_tail_of(largest, tail, len(covariance))


def joint_tail_of(largest: Floats, tail: float, many: int) -> float:
    """Turn draws of the largest error into a tail, never beyond Bonferroni's and never above the plain one."""
    critical = float(np.quantile(largest, 1 - 2 * tail))
    return float(np.clip(ndtr(-critical), tail / many, tail))
