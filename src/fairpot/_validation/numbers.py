"""Checks of single values: shares, weights of rules, names of options."""

import numbers
from collections.abc import Sequence
from typing import Any

import numpy as np


def is_number(value: Any) -> bool:
    """Whether a value is a real number (booleans are not)."""
    return isinstance(value, numbers.Real) and not isinstance(value, bool)


def as_double(value: Any) -> float:
    """Return a number as a double; a float32 or float16 is read as the shortest decimal that it prints as.

    So ``np.float32(0.1)`` is 0.1, as whoever typed it meant, not the 0.10000000149 of its bits: the top 0.1 of ten
    rows is one row in either type.

    Examples
    --------
    >>> import numpy as np
    >>> as_double(np.float32(0.1))
    0.1
    """
    return float(str(value)) if isinstance(value, np.float32 | np.float16) else float(value)


def check_share(value: Any, name: str, *, zero: bool) -> float:
    """Check a number in [0, 1], or in (0, 1] if ``zero`` is False."""
    rule = "[0, 1]" if zero else "(0, 1]"
    if not is_number(value):
        raise TypeError(f"{name} must be a number in {rule}, got {value!r}.")
    if not (0 <= value <= 1) or (value == 0 and not zero):
        raise ValueError(f"{name} must lie in {rule}, got {value!r}.")
    return as_double(value)


def check_choice(value: Any, name: str, allowed: Sequence[str]) -> str:
    """Check that an option is one of the allowed names."""
    if not isinstance(value, str) or value not in allowed:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, allowed))}, got {value!r}.")
    return value
