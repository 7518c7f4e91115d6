"""Checks of single values: shares, weights of rules, names of options."""

import numbers
from collections.abc import Sequence
from typing import Any


def is_number(value: Any) -> bool:
    """Whether a value is a real number (booleans are not)."""
    return isinstance(value, numbers.Real) and not isinstance(value, bool)


def check_share(value: Any, name: str, *, zero: bool) -> float:
    """Check a number in [0, 1], or in (0, 1] if ``zero`` is False."""
    rule = "[0, 1]" if zero else "(0, 1]"
    if not is_number(value):
        raise TypeError(f"{name} must be a number in {rule}, got {value!r}.")
    if not (0 <= value <= 1) or (value == 0 and not zero):
        raise ValueError(f"{name} must lie in {rule}, got {value!r}.")
    return float(value)


def check_choice(value: Any, name: str, allowed: Sequence[str]) -> str:
    """Check that an option is one of the allowed names."""
    if not isinstance(value, str) or value not in allowed:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, allowed))}, got {value!r}.")
    return value
