"""Limits of a share, of a difference of two, of the largest of several, and of many at once."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from functools import lru_cache
from math import nan
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Self

import numpy as np
from scipy.special import expit, logit, ndtr, ndtri, stdtrit

from fairpot import words
from fairpot._defaults import LEVEL
from fairpot._html import intervals_svg, paragraph
from fairpot._shown import Bar, bar
from fairpot.transport import Floats

if TYPE_CHECKING:
    from fairpot.inference.shares import GapEstimates

# The guard adds this much of a row, worth 1/2, to each side. A whole row makes 95 % intervals of an AUC of .95 cover
# 97-99 % at 30 to 100 positives, none 73-93 % (trial runs); benchmarks/coverage.py measures this choice.
_ADDED = 1 / 3


class Parts(NamedTuple):
    """Shares, their variance, what positives and negatives add to it, and how many of each there are."""

    value: Floats
    variance: Floats
    sides: tuple[Floats, Floats]
    units: tuple[Floats, Floats]

    def take(self, places: Any) -> Parts:
        """Keep some of the shares."""
        (v, w), (m, n) = self.sides, self.units
        return Parts(self.value[places], self.variance[places], (v[places], w[places]), (m[places], n[places]))


def degrees_of_freedom(parts: Parts) -> Floats:
    """Compute Welch and Satterthwaite's degrees of freedom; where nothing varies, those of the smaller side."""
    top = (parts.sides[0] + parts.sides[1]) ** 2
    free = [np.maximum(units - 1, 1e-9) for units in parts.units]
    bottom = parts.sides[0] ** 2 / free[0] + parts.sides[1] ** 2 / free[1]
    return np.divide(top, bottom, out=np.minimum(free[0], free[1]), where=bottom > 0)


def share_limits(parts: Parts, tail: float | Floats) -> tuple[Floats, Floats]:
    """Compute the limits of shares, each wrong with probability ``tail``."""
    x = parts.value
    quantile = -stdtrit(degrees_of_freedom(parts), tail)
    guard_low, guard_high = _guard(parts, -ndtri(tail))
    inner = (x > 0) & (x < 1) & (parts.variance > 0)
    safe = np.where(inner, x, 0.5)
    half = quantile * np.sqrt(np.maximum(parts.variance, 0.0)) / (safe * (1 - safe))
    low, high = expit(logit(safe) - half), expit(logit(safe) + half)
    low = np.where(x > 0.5, np.minimum(low, guard_low), low)
    high = np.where(x < 0.5, np.maximum(high, guard_high), high)
    low, high = np.where(inner, low, guard_low), np.where(inner, high, guard_high)
    return np.minimum(low, x), np.maximum(high, x)  # going to logits and back may pass the share by a last bit


def _guard(parts: Parts, quantile: float | Floats) -> tuple[Floats, Floats]:
    """Compute Wilson's interval after giving every side a part of one more row, worth 1/2."""
    x, (m, n) = parts.value, parts.units
    fewest = np.minimum(m, n)
    added = [_one_more(v, units, x) for v, units in zip(parts.sides, parts.units)]
    shifted = (fewest * x + 0.5 * _ADDED) / (fewest + _ADDED)
    # What clusters with positives and negatives add belongs to neither side.
    total = np.maximum(added[0] + added[1] + (parts.variance - parts.sides[0] - parts.sides[1]), 1e-300)
    size = np.maximum(shifted * (1 - shifted) / total, fewest)
    return wilson_limits(shifted, size, quantile)


def _one_more(variance: Floats, units: Floats, x: Floats) -> Floats:
    spread = variance * units * (units - 1) + _ADDED * (0.5 - x) ** 2 * units / (units + _ADDED)
    return np.asarray(spread / (units * (units - 1 + _ADDED)))


def difference_limits(first: Parts, second: Parts, covariance: Floats, tail: float | Floats) -> tuple[Floats, Floats]:
    """Compute the limits of ``first - second`` from theirs; 0 covariance unless they share rows."""
    low_1, high_1 = share_limits(first, tail)
    low_2, high_2 = share_limits(second, tail)
    scale = np.sqrt(np.maximum(first.variance * second.variance, 0.0))
    rho = np.clip(np.divide(covariance, scale, out=np.zeros(len(scale)), where=scale > 0), -1, 1)
    value = first.value - second.value
    down, up = (
        np.sqrt(np.maximum(one**2 + other**2 - 2 * rho * one * other, 0.0))
        for one, other in ((first.value - low_1, high_2 - second.value), (high_1 - first.value, second.value - low_2))
    )
    return np.maximum(value - down, -1.0), np.minimum(value + up, 1.0)


def fold(low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """Turn limits of a signed number into limits of its size."""
    ends = np.abs(low), np.abs(high)
    return np.where((low <= 0) & (high >= 0), 0.0, np.minimum(*ends)), np.maximum(*ends)


_DRAWS = 20_000
_SEED = 20250101  # limits are the same in every run


def correlation(covariance: Floats) -> Floats:
    """Scale a covariance to ones on the diagonal; what does not vary is correlated with nothing."""
    sd = np.sqrt(np.maximum(np.diag(covariance), 0.0))
    scale = np.outer(sd, sd)
    result = np.divide(covariance, scale, out=np.zeros(covariance.shape), where=scale > 0)
    np.fill_diagonal(result, 1.0)
    return result


def draw_errors(covariance: Floats, draws: int = _DRAWS) -> Floats:
    """Draw standardised errors with a given covariance, one row a draw: the Gaussian multiplier bootstrap.

    Draws follow their numbers, in whatever order these come and whichever way they are seen, but for one sign of all.
    """
    values, vectors = np.linalg.eigh(correlation(covariance))
    seen = np.copysign(1.0, vectors[:, -1:])
    vectors *= np.copysign(1.0, np.sum((seen * vectors) ** 3, axis=0))  # the sign of each is arbitrary
    kept = values > 1e-6 * values[-1]  # what is left out would not be seen in any quantile
    root = vectors[:, kept] * np.sqrt(values[kept])
    root /= np.sqrt(np.sum(root**2, axis=1, keepdims=True))
    rank = int(kept.sum())
    return _normals(draws, 1 << (rank - 1).bit_length())[:, :rank] @ root.T


@lru_cache(maxsize=4)
def _normals(draws: int, rank: int) -> Floats:
    """Draw independent errors, once for all calls that need about as many."""
    return np.random.default_rng(_SEED).standard_normal((draws, rank))


def joint_tail(covariance: Floats, tail: float) -> float:
    """Find the tail for each of several limits, on both sides, that makes all hold but ``2 * tail`` of the time.

    Errors are taken as normal for this one number; each limit then has the t quantile of its own.
    """
    if len(covariance) == 1:
        return tail
    critical = float(np.quantile(np.abs(draw_errors(covariance)).max(axis=1), 1 - 2 * tail))
    return float(np.clip(ndtr(-critical), tail / len(covariance), tail))  # never beyond Bonferroni's


Answer = Literal["within", "exceeds", "cannot tell"]


def gap_limits(gaps: GapEstimates, tail: float) -> tuple[float, float]:
    """Compute limits of the largest gap over pairs, each wrong with probability ``tail`` at most.

    The upper limit is the largest of the pairs' own: the pair that is truly the widest is among them, so the number
    of pairs costs nothing. The lower limit holds for all pairs together.
    """
    upper = fold(*gaps.limits(tail))[1].max()
    lower = fold(*gaps.limits(joint_tail(gaps.covariance, tail)))[0].max()
    return float(lower), float(upper)


def seen_limits(gaps: GapEstimates, tail: float) -> tuple[float, float]:
    """Compute limits of the largest gap over pairs, seen from the group of its pair that is ranked higher.

    They hold for that pair, though it was chosen for its size, and for the gap that is truly the largest. The lower
    limit is that of the pair with all pairs together in mind, and is below 0 where chance could explain the gap. The
    upper one is the largest of the pairs' own.
    """
    widest = int(np.nanargmax(np.abs(gaps.value)))
    low, high = gaps.limits(tail)
    behind = bool(gaps.value[widest] < 0)
    upper = -low[widest] if behind else high[widest]
    if len(low) == 1:
        return float(-high[0] if behind else low[0]), float(upper)
    lows, highs = gaps.limits(joint_tail(gaps.covariance, tail))
    lower = -highs[widest] if behind else lows[widest]
    return float(lower), float(max(upper, fold(low, high)[1].max()))


def judge(gaps: GapEstimates, bound: float, delta: float) -> Answer:
    """Say whether every gap is within a bound, one exceeds it, or neither can be told; wrong at most ``delta``.

    Within: both one-sided limits of every signed gap lie inside the bound (two one-sided tests; with several pairs
    their intersection, at no price). Exceeds: the lower limit of a gap is above the bound.
    """
    low, high = gaps.limits(delta)
    if (low >= -bound).all() and (high <= bound).all():
        return "within"
    share = joint_tail(gaps.covariance, delta / 2) / (delta / 2)  # what each pair may spend of its tail
    return "exceeds" if gaps.above(bound, delta, share).any() else "cannot tell"


def exceeding_tail(bound: float, se: float, delta: float) -> float:
    """Find the tail at which a lower limit of a size is wrong ``delta`` of the time at most.

    At a true gap of ``bound`` both signs can exceed it: F(-c) + F(-c - 2 bound / se) = delta.
    """
    from scipy.optimize import brentq

    if not se > 0:
        return delta
    twice = 2 * bound / se
    critical = brentq(lambda c: ndtr(-c) + ndtr(-c - twice) - delta, 0.0, -float(ndtri(delta / 2)) + 1e-9)
    return float(ndtr(-critical))


def wilson(share: float, size: float, quantile: float) -> tuple[float, float]:
    """Compute Wilson's interval of a share of so many rows."""
    low, high = wilson_limits(share, size, quantile)
    return min(max(float(low), 0.0), share), max(min(float(high), 1.0), share)  # never past it by a last bit


def wilson_limits(share: Any, size: Any, quantile: float | Floats) -> tuple[Any, Any]:
    """Compute the same of many shares; rounding may lead an end past 0, 1 or the share by a last bit."""
    extra = quantile**2 / size
    centre = (share + extra / 2) / (1 + extra)
    half = np.sqrt(extra * share * (1 - share) + extra**2 / 4) / (1 + extra)
    return centre - half, centre + half


class Estimate(float):
    """Hold a number with its confidence limits; it counts and compares as the plain number.

    Attributes
    ----------
    metric, method : str
        What was measured, and how the limits were found, such as "analytic".
    value, se : float
        The number itself, NaN where there are no pairs to count, and its standard error; of a gap, of the signed one.
    low, high, level : float
        Limits, and their confidence level; NaN where there is no interval.
    signed, groups : float and tuple, or None
        Of a gap, xAUC(first over second) - xAUC(second over first) of the pair with the largest, and that pair.
    reason, note : str or None
        Why there is no interval; what a reader should know beside the numbers.

    Examples
    --------
    >>> from fairpot.inference import Estimate
    >>> found = Estimate("auc", 0.75, 0.05, 0.64, 0.84)
    >>> found, found.low, found + 0.1
    (0.75, 0.64, 0.85)
    >>> print(found)
    0.750 (95% interval 0.640 to 0.840)
    """

    metric: str
    se: float
    low: float
    high: float
    level: float
    method: str
    signed: float | None
    groups: tuple[Hashable, Hashable] | None
    reason: str | None
    note: str | None

    def __new__(
        cls,
        metric: str,
        value: float,
        se: float = nan,
        low: float = nan,
        high: float = nan,
        level: float = LEVEL,
        method: str = "analytic",
        signed: float | None = None,
        groups: tuple[Hashable, Hashable] | None = None,
        reason: str | None = None,
        note: str | None = None,
    ) -> Self:
        """Make a number with its limits."""
        made = super().__new__(cls, value)
        known = (metric, se, low, high, level, method, signed, groups, reason, note)
        made.__dict__.update(zip(_KNOWN, known))
        return made

    def __getnewargs__(self) -> tuple[Any, ...]:
        known = [getattr(self, name) for name in _KNOWN]
        return (known[0], float(self), *known[1:])

    @property
    def value(self) -> float:
        """The number alone."""
        return float(self)

    def reversed(self) -> Estimate:
        """Return the number seen from the other group: with the other sign, and its limits likewise."""
        signed = None if self.signed is None else 0.0 - self.signed
        groups = None if self.groups is None else self.groups[::-1]
        known = (self.level, self.method, signed, groups, self.reason, self.note)
        return Estimate(self.metric, 0.0 - float(self), self.se, 0.0 - self.high, 0.0 - self.low, *known)

    def renamed(self, name: Callable[[Any], Any]) -> Estimate:
        """Return the same with its groups called by other names."""
        made = self.of(float(self))
        made.groups = None if self.groups is None else (name(self.groups[0]), name(self.groups[1]))
        return made

    def of(self, value: float) -> Estimate:
        """Return what is known of this number with the number itself as it was counted exactly."""
        metric, _, *known = self.__getnewargs__()
        return Estimate(metric, value, *known)

    def __str__(self) -> str:
        return words.FRACTIONS.with_interval(self)

    def __format__(self, spec: str) -> str:
        return format(self.value, spec)

    def _repr_html_(self) -> str:
        return f"<div>{paragraph(str(self))}{intervals_svg([bar(self.metric, self)], str(self))}</div>"

    def to_dict(self) -> dict[str, Any]:
        """Give plain values for JSON: None in the place of NaN."""
        numbers = {"estimate": self.value, "se": self.se, "low": self.low, "high": self.high, "signed": self.signed}
        plain: dict[str, Any] = {name: None if value != value else value for name, value in numbers.items()}
        return plain | {
            "level": self.level,
            "method": self.method,
            "groups": None if self.groups is None else list(self.groups),
            "reason": self.reason,
            "note": self.note,
        }


_KNOWN = ("metric", "se", "low", "high", "level", "method", "signed", "groups", "reason", "note")


@dataclass(frozen=True)
class Verdict:
    """Hold what the rows say about a target gap.

    Attributes
    ----------
    answer : {"within", "exceeds", "cannot tell"}
        "within" and "exceeds" are each wrong at most ``1 - level`` of the time.
    bound, level : float
        The target gap, and the confidence level.
    interval, reason : Estimate, and str or None
        The gap with its two-sided limits, or why there are none. The answer looks at one side, so that they may reach
        a little beyond the bound where it is "within".
    top : float or None
        The top of the ranking whose gap this is.

    Examples
    --------
    >>> import numpy as np
    >>> from fairpot.inference import verdict
    >>> rng = np.random.default_rng(0)
    >>> y, sex = rng.integers(0, 2, 400), rng.choice(["F", "M"], 400)
    >>> score = rng.normal(y + 0.5 * (sex == "M"))
    >>> found = verdict(y, score, sensitive_features=sex, bound=0.05)
    >>> found.answer, round(found.interval.value, 2)
    ('exceeds', 0.24)
    """

    answer: Answer
    bound: float
    level: float
    interval: Estimate
    top: float | None = None

    @property
    def metric(self) -> str:
        """Name the gap: "overall gap", or "gap in the top 10%"."""
        return words.gap_name(self.top)

    @property
    def reason(self) -> str | None:
        """Why there is no interval, if there is none."""
        return self.interval.reason

    def __str__(self) -> str:
        return words.verdict(self)

    def _repr_html_(self) -> str:
        rows = [bar(self.metric, self.interval), Bar("bound", self.bound, self.bound, self.bound)]
        return f"<div>{paragraph(f'{self.answer}: {self}')}{intervals_svg(rows, self.metric)}</div>"
