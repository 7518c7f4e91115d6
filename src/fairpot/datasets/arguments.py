"""Checks of what the loaders and generators are given."""

import numbers
from typing import Any

import numpy as np


def check_whole(value: Any, name: str, least: int, hint: str = "") -> int:
    """Check a whole number that is not too small."""
    if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        raise TypeError(f"{name} must be a whole number, at least {least}, got {value!r}.")
    if value < least:
        raise ValueError(f"{name} must be at least {least}, got {value!r}." + (f"\nHint: {hint}" if hint else ""))
    return int(value)


def check_flag(value: Any, name: str) -> bool:
    """Check a boolean; texts such as "no" are none, and would count as True."""
    if not isinstance(value, bool | np.bool_):
        raise TypeError(f"{name} must be True or False, got {value!r}.")
    return bool(value)


def make_rng(random_state: Any) -> np.random.Generator:
    """Turn a seed into a generator."""
    try:
        return np.random.default_rng(random_state)
    except (TypeError, ValueError) as error:
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(
            f"random_state must be a whole number, at least 0, a NumPy Generator or None, got {random_state!r}."
        ) from error
