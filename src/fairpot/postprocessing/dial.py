"""Dial: the one number that says how far a method goes, and the values it may take."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairpot._validation import as_double, is_number

Value = float | dict[Hashable, float]


@dataclass(frozen=True)
class Dial:
    """What a method declares of its dial.

    Parameters
    ----------
    name : str
        Of the constructor's argument; the fitted value is the attribute with an underscore.
    low, high : float
        The values it may take, ends included.
    above : bool
        Whether ``low`` itself is left out.
    identity : float or None
        The value that changes nothing; None if there is none.
    ratio : bool
        Whether values are compared by their ratio, as a factor is, not by their difference.
    by_group : bool
        Whether a dict may give each moved group its own value.
    meaning : str
        What the number is, for people.
    """

    name: str
    low: float = 0.0
    high: float = 1.0
    above: bool = False
    identity: float | None = None
    ratio: bool = False
    by_group: bool = False
    meaning: str = ""

    @property
    def rule(self) -> str:
        """Say which values it may take."""
        if self.high == np.inf:
            return f"{'above' if self.above else 'at least'} {self.low:g}"
        return f"in {'(' if self.above else '['}{self.low:g}, {self.high:g}]"

    def check(self, value: Any, name: str | None = None) -> float:
        """Check one number."""
        name = self.name if name is None else name
        if not is_number(value):
            raise TypeError(f"{name} must be a number {self.rule}, got {value!r}.")
        if not self.low <= value <= self.high or not np.isfinite(value) or (self.above and value == self.low):
            hint = "" if self.identity is None or not self.above else f"\nHint: {self.identity:g} changes the least."
            raise ValueError(f"{name} must be finite and {self.rule}, got {value!r}.{hint}")
        return as_double(value)

    def check_given(self, value: Any, moved: Sequence[Hashable]) -> Value:
        """Check what the constructor was given: a number for all moved groups, or one for each."""
        if not isinstance(value, Mapping):
            return self.check(value)
        if not self.by_group:
            raise TypeError(f"{self.name} must be a number {self.rule}, the same for all groups, got a dict.")
        same_groups(value, moved, self.name)
        return {g: self.check(value[g], f"{self.name}[{g!r}]") for g in moved}

    def check_values(self, values: Any, moved: Sequence[Hashable], name: str = "lams") -> NDArray[np.float64]:
        """Check values to trace: ascending, each once; or a column for each moved group from a dict of lists."""
        if not isinstance(values, Mapping):
            return check_list(values, name, self.check)
        if not self.by_group:
            raise TypeError(f"{name} must be a list of numbers, got {type(values).__name__}.")
        same_groups(values, moved, name)
        columns = [[self.check(value, f"{name}[{g!r}]") for value in listed_values(values[g])] for g in moved]
        if len({len(c) for c in columns}) != 1 or not columns[0]:
            raise ValueError(f"the lists of {name} must have the same length, at least 1, for every group.")
        return np.array(columns).T

    def far_apart(self, one: Value, other: Value) -> bool:
        """Whether two values differ by more than a hundredth, of the range or of themselves."""
        pairs = [(one[g], other[g]) for g in one] if isinstance(one, dict) and isinstance(other, dict) else []
        if isinstance(one, float) and isinstance(other, float):
            pairs = [(one, other)]
        scale = 1.0 if self.high == np.inf else self.high - self.low
        if self.ratio:
            return any(abs(np.log(a / b)) > 0.01 for a, b in pairs)
        return any(abs(a - b) > 0.01 * scale for a, b in pairs)


def check_list(values: Any, name: str, check: Callable[[Any, str], float]) -> NDArray[np.float64]:
    """Check a list of numbers; return them ascending, each once."""
    if isinstance(values, Mapping):
        raise TypeError(f"{name} must be a list of numbers, got {type(values).__name__}.")
    listed = listed_values(values)
    if not listed:
        raise ValueError(f"{name} is empty: give at least one number, or None for the default.")
    return np.unique([check(value, name) for value in listed])


def listed_values(values: Any) -> list[Any]:
    """List values with their own types: a float32 must be seen to be one."""
    array = values if isinstance(values, np.ndarray) else np.asarray(values, dtype=object)
    return list(np.atleast_1d(array))


def same_groups(given: Mapping[Hashable, Any], moved: Sequence[Hashable], name: str) -> None:
    """Insist that a dict has an entry for each moved group and no other."""
    if set(given) != set(moved):
        raise ValueError(f"{name} must have one entry for each moved group {list(moved)}, got {list(given)}.")
