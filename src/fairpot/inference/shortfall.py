"""What is missing where no value of the dial can be certified."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import ndtri

from fairpot._arguments import argument
from fairpot._validation import wording
from fairpot.inference.dial import DialEstimates
from fairpot.inference.limits import Parts, difference_limits, draw_errors
from fairpot.transport import Floats

# Whether some value of the dial is certified for a bound.
Certifies = Callable[[float], bool]
CHANCES = (0.5, 0.9)
_DRAWS = 1000
# Samples beyond these sizes are not asked for.
_MOST_TIMES, _MOST_POSITIVES = 10_000.0, 21.0


@dataclass(frozen=True)
class Shortfall:
    """Why a bound could not be certified, and what would help.

    Pairs of figures are for an even chance and for a chance of 90% that a new sample certifies the bound; None where no
    size that can be asked for has that chance.
    """

    # The smallest bound of three digits that some value of the dial is certified for on these rows; NaN if none is.
    smallest_bound: float
    # The smallest gap measured on the dial. A bound below it is unlikely to be reached however many rows there are.
    smallest_gap: float
    group: Hashable | None = None  # whose positives limit the precision most
    positives: int | None = None  # how many it has
    times: tuple[float | None, float | None] = (None, None)  # how many times as large the sample would have to be
    # How many more positives of that group would do instead, all else equal.
    more: tuple[int | None, int | None] = (None, None)
    # Why the top alpha of coarse scores is in the way, if it is; how many rows would do is not known then.
    region: str | None = None

    def __str__(self) -> str:
        said = f"the smallest bound that can be certified on these rows is {self.smallest_bound:g}"
        if math.isnan(self.smallest_bound):
            said = "no bound at all can be certified on these rows"
        even, likely = self.times
        if self.region is not None:
            return f"{said}; {self.region}"
        if math.isnan(self.smallest_bound):
            return f"{said}: there are too few in the top"
        if even is None:
            return f"{said}; more rows will not help: the smallest gap measured is {self.smallest_gap:.3g}"
        sure = "" if likely is None else f" ({likely:.3g} times for a chance of 90%)"
        said += f"; for an even chance of a certificate you would need about {even:.3g} times as many rows{sure}"
        whose = f"with the outcome in {self.group!r}, which has {self.positives:,}"
        if self.more[0] is None:
            return f"{said}; there are too few rows {whose}"
        sure = "" if self.more[1] is None else f" ({self.more[1]:,} for a chance of 90%)"
        return f"{said}, or {wording.counted(self.more[0], 'more row', ',')}{sure} {whose}"

    @property
    def hint(self) -> str:
        """The way out."""
        ways = [] if math.isnan(self.smallest_bound) else [f"accept {argument('max_gap', self.smallest_bound)}"]
        ways += ["collect more rows"] if self.times[0] is not None else []
        if self.region is not None or math.isnan(self.smallest_bound):
            ways.append(f"try {'another' if self.region is not None else 'a larger'} {argument('top')}")
        return f"{', '.join(ways)}, or leave {argument('confidence')} out to choose by the measured gap alone"

    def to_dict(self) -> dict[str, Any]:
        """Give plain values for JSON."""
        return {
            "smallest_bound": None if math.isnan(self.smallest_bound) else self.smallest_bound,
            "smallest_gap": self.smallest_gap,
            "group": self.group,
            "positives": self.positives,
            "region": self.region,
            "chances": [
                {"chance": chance, "times": times, "more_positives": more}
                for chance, times, more in zip(CHANCES, self.times, self.more)
            ],
        }


def smallest_bound(dial: DialEstimates, certifies: Certifies) -> float:
    """Find the smallest bound that some value of the dial is certified for; NaN if none is, not even for 1."""
    low, high = float(dial.gap.min()), 1.0
    if not certifies(high):
        return math.nan
    while high - low > 1e-5:
        middle = (low + high) / 2
        low, high = (low, middle) if certifies(middle) else (middle, high)
    return high


def rounded_up(bound: float, certifies: Certifies) -> float:
    """Round a bound up to three digits, so that what is printed can be typed in and is certified."""
    if not 0 < bound < 1:
        return bound
    digits = 2 - math.floor(math.log10(bound))
    steps = math.ceil(bound * 10**digits - 1e-9)
    while steps < 10**digits and not certifies(round(steps / 10**digits, digits)):
        steps += 1
    return round(steps / 10**digits, digits)


def shortfall(dial: DialEstimates, bound: float, delta: float, certifies: Certifies) -> Shortfall:
    """Say what stands between these rows and a certified bound.

    How large another sample has to be is found by drawing it: its errors, and those of the gaps that were measured, so
    that a gap which came out small by luck is not counted on.
    """
    least = smallest_bound(dial, certifies)
    said = Shortfall(rounded_up(least, certifies), float(dial.gap.min()))
    region = None if dial.regions is None else dial.regions.note(int(np.argmin(dial.gap)))
    if region is not None:
        return replace(said, region=region)
    if math.isnan(least) or not (dial.gaps.se > 0).all():
        return said
    sample = _NextSample(dial, bound, _tail_paid(dial, least, delta))
    times = [_least_factor(sample.of_size, chance, _MOST_TIMES) for chance in CHANCES]
    if times[0] is None:
        return said
    group, units = _weakest(dial, delta)
    factors = [_least_factor(lambda f: sample.with_positives(group, f), chance, _MOST_POSITIVES) for chance in CHANCES]
    more = [None if factor is None else max(math.ceil(units * (factor - 1) - 1e-9), 1) for factor in factors]
    rounded = [None if t is None else max(math.ceil(100 * t - 1e-6), 101) / 100 for t in times]
    return Shortfall(
        said.smallest_bound,
        said.smallest_gap,
        dial.groups[group],
        round(units),
        (rounded[0], rounded[1]),
        (more[0], more[1]),
    )


def _tail_paid(dial: DialEstimates, least: float, delta: float) -> float:
    """Find the tail at which the limits of one value alone lie within the smallest bound: what all values cost."""

    def within(tail: float) -> bool:
        low, high = dial.gaps.limits(tail)
        inside = np.maximum(-low, high) <= least
        return bool(inside.reshape(len(dial), -1).all(axis=1).any())

    if within(delta / 1000):
        return delta
    low, high = math.log(delta / 1000), math.log(delta)
    for _ in range(30):
        middle = (low + high) / 2
        low, high = (middle, high) if not within(math.exp(middle)) else (low, middle)
    return math.exp(high)


def _weakest(dial: DialEstimates, delta: float) -> tuple[int, float]:
    """Find the group whose positives add most to the variance where a certificate is nearest, and their number."""
    reach = np.abs(dial.gaps.value) - ndtri(delta) * dial.gaps.se
    place = int(np.argmin(reach.reshape(len(dial), -1).max(axis=1)))
    gap = place * dial.many + int(np.argmax(reach.reshape(len(dial), -1)[place]))
    shares = [int(dial.gaps.first[gap]), int(dial.gaps.second[gap])]
    most = int(np.argmax(dial.xauc.variance[0][shares]))
    group = list(itertools.combinations(range(len(dial.groups)), 2))[gap % dial.many][most]
    return group, float(dial.xauc.units[0][shares[most]])


def _least_factor(chance_of: Callable[[float], float], chance: float, most: float) -> float | None:
    """Find the smallest factor, from 1 on, that gives a chance; None if none does."""
    if chance_of(most) < chance:
        return None
    low, high = 0.0, math.log(most)
    for _ in range(13):
        middle = (low + high) / 2
        low, high = (low, middle) if chance_of(math.exp(middle)) >= chance else (middle, high)
    return math.exp(high)


class _NextSample:
    """How likely another sample certifies the bound, given what these rows say and how uncertain that is."""

    def __init__(self, dial: DialEstimates, bound: float, tail: float) -> None:
        self.dial, self.bound, self.tail = dial, bound, tail
        gaps = dial.gaps
        self.variance = gaps.se**2
        self.errors = draw_errors(gaps.covariance, _DRAWS) * gaps.se
        self.between = dial.xauc.covariance[gaps.first, gaps.second]
        pairs = [pair for i, j in itertools.combinations(range(len(dial.groups)), 2) for pair in (i, j)]
        self.winners = np.tile(pairs, len(dial))

    def of_size(self, times: float) -> float:
        """Give the chance with so many times as many rows."""
        each = np.full(len(self.winners), times)
        return self._chance(each, each)

    def with_positives(self, group: int, times: float) -> float:
        """Give the chance with so many times as many positives of one group."""
        return self._chance(np.where(self.winners == group, times, 1.0), np.ones(len(self.winners)))

    def _chance(self, positives: Floats, negatives: Floats) -> float:
        now = self.dial.xauc.parts()
        plus, minus = now.sides[0] / positives, now.sides[1] / negatives
        both = (now.variance - now.sides[0] - now.sides[1]) / np.sqrt(positives * negatives)
        variance = plus + minus + both
        then = Parts(now.value, variance, (plus, minus), (now.units[0] * positives, now.units[1] * negatives))
        first, second = self.dial.gaps.first, self.dial.gaps.second
        shrunk = np.sqrt(variance / np.maximum(now.variance, 1e-300))
        between = self.between * shrunk[first] * shrunk[second]
        low, high = difference_limits(then.take(first), then.take(second), between, self.tail)
        ratio = (variance[first] + variance[second] - 2 * between) / self.variance
        errors = self.errors * np.sqrt(1 + np.maximum(ratio, 0.0))
        inside = (low + errors >= -self.bound) & (high + errors <= self.bound)
        return float(inside.reshape(len(errors), len(self.dial), -1).all(axis=2).any(axis=1).mean())
