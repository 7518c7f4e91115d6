"""Checks of the arguments that inference adds."""

from typing import Any

from fairpot._validation import is_number


def check_level(level: Any, name: str = "level") -> float:
    """Check a level of confidence, strictly between 1/2 and 1."""
    if not is_number(level):
        raise TypeError(f"{name} must be a number such as 0.95, got {level!r}.")
    if not 0.5 < level < 1:
        raise ValueError(f"{name} must lie between 0.5 and 1, got {level!r}.\nHint: 95 % is {name}=0.95.")
    return float(level)


def check_replicates(replicates: Any) -> int:
    """Check a number of bootstrap draws."""
    if not is_number(replicates) or replicates != int(replicates) or replicates < 100:
        raise ValueError(f"replicates must be a whole number, at least 100, got {replicates!r}.")
    return int(replicates)
