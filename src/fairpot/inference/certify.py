"""Which values of a dial can be signed for: a true gap within the bound, whatever value is then chosen.

Every value is a hypothesis (its true gap exceeds the bound), and rejecting one certifies the value. Step-down
(Romano and Wolf 2005) rejects with the joint distribution of all errors and holds for any curve. Where the signed gap
falls along the dial, a chain from each end needs no correction for the number of values (a fixed sequence): from the
far end as long as the upper limit stays inside the bound, from the near end as long as the lower limit does. Of the
values that both chains reach, those are certified that do not turn the measured gap round, or else the first.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri, stdtrit

from fairpot.inference.placements import Floats
from fairpot.inference.simultaneous import draw_errors

How = Literal["step-down", "walk"]
# A rise of the curve by less than this part of a standard error is taken for level ground.
_LEVEL_GROUND = 0.25


class SignedGaps(Protocol):
    """Signed gaps with limits and the covariance of their errors."""

    @property
    def value(self) -> Floats:
        """Signed gaps."""

    @property
    def covariance(self) -> Floats:
        """Covariance of their errors."""

    @property
    def se(self) -> Floats:
        """Standard errors."""

    def limits(self, tail: float | Floats) -> tuple[Floats, Floats]:
        """Compute limits, each wrong with probability ``tail``."""


@dataclass(frozen=True, eq=False)
class PlainGaps:
    """Signed gaps with symmetric limits, from estimates and their covariance alone.

    Examples
    --------
    >>> gaps = PlainGaps(np.array([0.1, 0.0]), 0.01**2 * np.eye(2))
    >>> step_down(gaps, bound=0.05, delta=0.05)
    array([False,  True])
    """

    value: Floats
    covariance: Floats
    free: float = np.inf

    @property
    def se(self) -> Floats:
        """Standard errors."""
        return np.sqrt(np.maximum(np.diag(self.covariance), 0.0))

    def limits(self, tail: float | Floats) -> tuple[Floats, Floats]:
        """Compute limits, each wrong with probability ``tail``."""
        quantile = -ndtri(tail) if np.isinf(self.free) else -stdtrit(self.free, tail)
        return self.value - quantile * self.se, self.value + quantile * self.se


def step_down(gaps: SignedGaps, bound: float, delta: float, pairs: int = 1) -> NDArray[np.bool_]:
    """Mark the values whose gaps are certified within a bound: any of them false at most ``delta`` of the time.

    Parameters
    ----------
    gaps : SignedGaps
        Those of all pairs of groups at the first value, then at the second, ...
    bound, delta : float
    pairs : int, default 1
        Number of pairs of groups; a value is certified if all its gaps are.
    """
    size = len(gaps.value) // pairs
    # An error counts if it makes a gap beyond the bound look small: it points from the gap towards 0.
    errors = draw_errors(gaps.covariance) * np.where(gaps.value < 0, -1.0, 1.0)
    errors = errors.reshape(len(errors), size, pairs).max(axis=2)
    certified = np.zeros(size, dtype=bool)
    while not certified.all():
        critical = float(np.quantile(errors[:, ~certified].max(axis=1), 1 - delta))
        tail = float(np.clip(ndtr(-critical), delta / (pairs * (~certified).sum()), delta))
        low, high = gaps.limits(tail)
        inside = ((low >= -bound) & (high <= bound)).reshape(size, pairs).all(axis=1)
        if not (inside & ~certified).any():
            break
        certified |= inside
    return certified


def walk(gaps: SignedGaps, bound: float, delta: float, *, backwards: bool = False) -> NDArray[np.bool_]:
    """Mark the values that two chains certify, if the signed gap falls (or rises) along the dial.

    Any of them false at most ``delta`` of the time. ``backwards`` walks from the last value to the first.
    """
    value, (low, high) = gaps.value, gaps.limits(walking_tail(bound, gaps.se, delta))
    if backwards:
        value, low, high = value[::-1], low[::-1], high[::-1]
    if value[-1] > value[0]:
        value, low, high = -value, -high, -low
    upper = np.logical_and.accumulate((high <= bound)[::-1])[::-1]
    lower = np.logical_and.accumulate(low >= -bound)
    reached = upper & lower
    kept = reached & (value >= 0)
    if reached.any():
        kept[np.argmax(reached)] = True
    return np.asarray(kept[::-1] if backwards else kept)


def walking_tail(bound: float, se: Floats, delta: float) -> Floats:
    """Find the tail of each limit of the walk: F(-c) + F(-max(c, bound / se)) = delta.

    A certified value is wrong if the far chain passes a gap above the bound, with chance F(-c), or if a gap below minus
    the bound is measured at 0 or above, with chance F(-bound / se). (The first value, if it is below 0, is
    wrong on that side only if the error reaches twice the bound less c, which is rarer.)
    """
    width = np.divide(bound, se, out=np.full(len(se), np.inf), where=se > 0)
    low, high = np.full(len(se), -ndtri(delta)), np.full(len(se), -ndtri(delta / 2))
    for _ in range(60):
        middle = (low + high) / 2
        wrong = ndtr(-middle) + ndtr(-np.maximum(middle, width))
        low, high = np.where(wrong > delta, middle, low), np.where(wrong > delta, high, middle)
    return np.asarray(ndtr(-high))


def falls(gaps: SignedGaps) -> bool:
    """Whether the signed gap goes one way along the dial, but for rises that its standard error hides."""
    value = gaps.value if gaps.value[-1] <= gaps.value[0] else -gaps.value
    rise = value - np.minimum.accumulate(value)
    return bool((rise <= _LEVEL_GROUND * gaps.se + 1e-12).all())


def certify(
    gaps: SignedGaps,
    bound: float,
    delta: float,
    pairs: int = 1,
    how: Literal["auto", "step-down", "walk"] = "auto",
    *,
    backwards: bool = False,
) -> tuple[NDArray[np.bool_], How]:
    """Certify values by the walk where it holds, else by step-down; say which.

    Any value may be chosen from those that are marked.
    """
    if how == "walk" or (how == "auto" and pairs == 1 and falls(gaps)):
        return walk(gaps, bound, delta, backwards=backwards), "walk"
    return step_down(gaps, bound, delta, pairs), "step-down"
