"""What is missing where no value of the dial can be certified."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from fairpot.inference.dial import DialEstimates
from fairpot.transport import Floats

# Whether some value of the dial is certified for a bound.
Certifies = Callable[[float], bool]


@dataclass(frozen=True)
class Shortfall:
    """Why a bound could not be certified, and what would help.

    Attributes
    ----------
    smallest_bound : float
        The smallest bound that some value of the dial is certified for on these rows.
    smallest_gap : float
        The smallest gap measured on the dial. A bound below it is out of reach however many rows there are.
    group : name of a group, or None
        Whose positives limit the precision most.
    positives : int or None
        How many it has.
    more : int or None
        How many more positives of that group would do, all else equal; None if more of them alone would not.
    times : float or None
        By what factor all rows would have to grow instead; None if no number of rows would do.
    """

    smallest_bound: float
    smallest_gap: float
    group: Hashable | None
    positives: int | None
    more: int | None
    times: float | None

    def __str__(self) -> str:
        said = f"the smallest bound that can be certified on these rows is {self.smallest_bound:.3g}"
        if self.times is None:
            least = f"the smallest gap measured on the dial is {self.smallest_gap:.3g}"
            return f"{said}; {least}, above the bound: more rows alone would not help"
        if self.more is not None:
            there = f"(there are {self.positives:,})"
            return f"{said}; about {self.more:,} more positives of {self.group!r} would be needed {there}"
        more = round((self.times - 1) * (self.positives or 0))
        return (
            f"{said}; about {self.times:.1f} times as many rows of every group would be needed, "
            f"{more:,} more positives of {self.group!r} among them (there are {self.positives:,})"
        )


def smallest_bound(dial: DialEstimates, certifies: Certifies) -> float:
    """Find the smallest bound that some value of the dial is certified for; 1 if none is."""
    low, high = float(dial.gap.min()), 1.0
    for _ in range(40):
        middle = (low + high) / 2
        if certifies(middle):
            high = middle
        else:
            low = middle
        if high - low < 1e-5:
            break
    return high


def shortfall(dial: DialEstimates, bound: float, delta: float, certifies: Certifies) -> Shortfall:
    """Say what stands between these rows and a certified bound."""
    least = smallest_bound(dial, certifies)
    gap = dial.gap
    place = int(np.argmin(gap + -ndtri(delta) * dial.gaps.se.reshape(len(dial), -1).max(axis=1)))
    widest = place * dial.many + int(np.argmax(np.abs(dial.gaps.value[place * dial.many : (place + 1) * dial.many])))
    size, se = float(np.abs(dial.gaps.value[widest])), float(dial.gaps.se[widest])
    if size >= bound or not se > 0:
        return Shortfall(least, float(gap.min()), None, None, None, None)
    # The factor of the standard error that these rows paid for their smallest bound.
    quantile = max((least - size) / se, -float(ndtri(delta)))
    wanted = ((bound - size) / quantile) ** 2
    return _more_rows(dial, widest, se**2, wanted, least)


def _more_rows(dial: DialEstimates, gap: int, variance: float, wanted: float, least: float) -> Shortfall:
    """Split the variance by the positives of the two groups, and ask for more of those that add most."""
    first, second = dial.cell_names(gap)
    shares = [int(dial.gaps.first[gap]), int(dial.gaps.second[gap])]
    added: Floats = np.array([dial.xauc.variance[0][k] for k in shares])
    units: Floats = np.array([dial.xauc.units[0][k] for k in shares])
    most = int(np.argmax(added))
    times = max(variance / wanted, 1.0)
    left = wanted - (variance - added[most])
    more = None if left <= 0 else int(np.ceil(units[most] * (added[most] / left - 1)))
    if more is not None and (more > 20 * units[most] or more <= 0):
        more = None
    return Shortfall(least, float(dial.gap.min()), (first, second)[most], round(float(units[most])), more, float(times))
