"""Estimate: a number that knows its limits; and what a verdict says of one."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from math import nan
from typing import Any, Self

from fairpot.inference.limits import LEVEL, Answer


class Estimate(float):
    """A number that knows how far it can be trusted; it counts and compares as the plain number it is.

    Attributes
    ----------
    metric : str
    value : float
        The number itself; NaN where there are no pairs to count.
    se : float
        Standard error; of the signed gap for gaps.
    low, high : float
        Limits at ``level``; NaN where no interval is honest, and ``reason`` says why.
    level : float
    method : {"analytic", "bootstrap"}
    signed : float or None
        Of a gap, the signed one: xAUC(first over second) - xAUC(second over first) of the widest pair.
    groups : tuple or None
        Of a gap, the pair of groups (first, second).
    reason : str or None
        Why there is no interval.
    note : str or None
        What a reader should know beside the numbers.

    Examples
    --------
    >>> found = Estimate("auc", 0.75, 0.05, 0.64, 0.84)
    >>> found, found.low, found + 0.1
    (0.75, 0.64, 0.85)
    >>> print(found)
    0.7500 (95% interval 0.6400 to 0.8400)
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

    def of(self, value: float) -> Estimate:
        """Return what is known of this number with the number itself as it was counted exactly."""
        given = self.__getnewargs__()
        return Estimate(given[0], value, *given[2:])

    def __str__(self) -> str:
        if self.reason is not None:
            return f"{self.value:.4f} (no interval: {self.reason})"
        return f"{self.value:.4f} ({self.level:.0%} interval {self.low:.4f} to {self.high:.4f})"

    def __format__(self, spec: str) -> str:
        return format(self.value, spec)

    def to_dict(self) -> dict[str, Any]:
        """Give plain values for JSON: None in the place of NaN."""
        numbers = {"estimate": self.value, "se": self.se, "low": self.low, "high": self.high}
        plain: dict[str, Any] = {name: None if value != value else value for name, value in numbers.items()}
        return plain | {
            "level": self.level,
            "method": self.method,
            "signed": self.signed,
            "groups": None if self.groups is None else list(self.groups),
            "reason": self.reason,
            "note": self.note,
        }


_KNOWN = ("metric", "se", "low", "high", "level", "method", "signed", "groups", "reason", "note")


@dataclass(frozen=True)
class Verdict:
    """What the rows say about a bound on the gap.

    Attributes
    ----------
    answer : {"within", "exceeds", "cannot tell"}
        "within" and "exceeds" are each wrong at most ``1 - level`` of the time.
    bound, level : float
    interval : Estimate
        The gap with its limits.
    reason : str or None
        Why it cannot be told, where there are too few rows for any interval.
    """

    answer: Answer
    bound: float
    level: float
    interval: Estimate

    @property
    def reason(self) -> str | None:
        """Why there is no interval, if there is none."""
        return self.interval.reason

    def __str__(self) -> str:
        gap = self.interval
        if gap.reason is not None:
            return f"cannot tell whether the gap is within {self.bound:g}: {gap.reason}"
        said = {
            "within": f"the gap is within {self.bound:g}",
            "exceeds": f"the gap exceeds {self.bound:g}",
            "cannot tell": f"the rows cannot tell whether the gap is within {self.bound:g}",
        }[self.answer]
        return (
            f"{said} (measured {gap.value:.4f}, {gap.level:.0%} interval {gap.low:.4f} to {gap.high:.4f}; "
            f"wrong at most {1 - self.level:.0%} of the time)"
        )
