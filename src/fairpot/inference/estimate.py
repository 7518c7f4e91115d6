"""What an interval, a verdict and a change say."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

from fairpot.inference.limits import Answer


@dataclass(frozen=True)
class Interval:
    """An estimate with its uncertainty.

    Attributes
    ----------
    metric : str
    estimate : float
        NaN where there are no pairs to count.
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
    """

    metric: str
    estimate: float
    se: float
    low: float
    high: float
    level: float = 0.95
    method: str = "analytic"
    signed: float | None = None
    groups: tuple[Hashable, Hashable] | None = None
    reason: str | None = None
    note: str | None = None

    def __str__(self) -> str:
        if self.reason is not None:
            return f"{self.estimate:.4f} (no interval: {self.reason})"
        return f"{self.estimate:.4f} ({self.level:.0%} interval {self.low:.4f} to {self.high:.4f})"

    def as_dict(self) -> dict[str, Any]:
        """Give plain values for JSON: None in the place of NaN."""
        numbers = {name: getattr(self, name) for name in ("estimate", "se", "low", "high")}
        plain: dict[str, Any] = {name: None if value != value else value for name, value in numbers.items()}
        return plain | {
            "level": self.level,
            "method": self.method,
            "signed": self.signed,
            "groups": None if self.groups is None else list(self.groups),
            "reason": self.reason,
            "note": self.note,
        }


@dataclass(frozen=True)
class Verdict:
    """What the rows say about a bound on the gap.

    Attributes
    ----------
    answer : {"within", "exceeds", "cannot tell"}
        "within" and "exceeds" are each wrong at most ``1 - level`` of the time.
    bound, level : float
    interval : Interval
        The gap with its limits.
    reason : str or None
        Why it cannot be told, where there are too few rows for any interval.
    """

    answer: Answer
    bound: float
    level: float
    interval: Interval

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
            f"{said} (measured {gap.estimate:.4f}, {gap.level:.0%} interval {gap.low:.4f} to {gap.high:.4f}; "
            f"wrong at most {1 - self.level:.0%} of the time)"
        )
