"""Limits of the largest gap of several pairs of groups, and what can be said of it against a bound."""

from __future__ import annotations

from typing import Literal

import numpy as np
from scipy.optimize import brentq
from scipy.special import ndtr, ndtri

from fairpot.inference.estimates import GapEstimates
from fairpot.inference.limits import fold
from fairpot.inference.simultaneous import joint_tail

Answer = Literal["within", "exceeds", "cannot tell"]


def gap_limits(gaps: GapEstimates, tail: float) -> tuple[float, float]:
    """Compute limits of the largest gap over pairs, each wrong with probability ``tail`` at most.

    The upper limit is the largest of the pairs' own: the pair that is truly the widest is among them, so the number
    of pairs costs nothing. The lower limit holds for all pairs together.
    """
    upper = fold(*gaps.limits(tail))[1].max()
    lower = fold(*gaps.limits(joint_tail(gaps.covariance, tail)))[0].max()
    return float(lower), float(upper)


def judge(gaps: GapEstimates, bound: float, delta: float) -> Answer:
    """Say whether every gap is within a bound, one exceeds it, or neither can be told; wrong at most ``delta``.

    Within: both one-sided limits of every signed gap lie inside the bound (two one-sided tests; with several pairs
    their intersection, at no price). Exceeds: the lower limit of a gap is above the bound.
    """
    low, high = gaps.limits(delta)
    if (low >= -bound).all() and (high <= bound).all():
        return "within"
    tails = [exceeding_tail(bound, se, delta) for se in gaps.se]
    share = joint_tail(gaps.covariance, delta / 2) / (delta / 2)  # what each pair may spend of its tail
    low, high = gaps.limits(np.array(tails) * share)
    return "exceeds" if (fold(low, high)[0] > bound).any() else "cannot tell"


def exceeding_tail(bound: float, se: float, delta: float) -> float:
    """Find the tail at which a lower limit of a size is wrong ``delta`` of the time at most.

    At a true gap of ``bound`` both signs can exceed it: F(-c) + F(-c - 2 bound / se) = delta.
    """
    if not se > 0:
        return delta
    twice = 2 * bound / se
    critical = brentq(lambda c: ndtr(-c) + ndtr(-c - twice) - delta, 0.0, -float(ndtri(delta / 2)) + 1e-9)
    return float(ndtr(-critical))
