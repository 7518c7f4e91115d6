"""Checks of the numbers that the partial-AUC models are built with."""

from __future__ import annotations

import math
from typing import Any

from fairpot._validation import check_choice, check_share, is_number
from fairpot.training.monitor import MONITORS


def check_shared(estimator: Any) -> None:
    """Check the parameters that both models have."""
    check_share(estimator.alpha, "alpha", zero=False)
    check_positive(estimator.temperature, "temperature")
    check_positive(estimator.margin, "margin")
    check_positive(estimator.learning_rate, "learning_rate")
    check_whole(estimator.patience, "patience")
    check_choice(estimator.monitor, "monitor", MONITORS)
    fraction = estimator.validation_fraction
    if not is_number(fraction) or not 0 < fraction < 1:
        raise ValueError(f"validation_fraction must lie in (0, 1), got {fraction!r}.")
    if estimator.early_stopping not in (True, False, "auto"):
        raise ValueError(f"early_stopping must be True, False or 'auto', got {estimator.early_stopping!r}.")


def check_positive(value: Any, name: str) -> None:
    """Check a finite number above 0."""
    if not is_number(value) or not 0 < value < math.inf:
        raise ValueError(f"{name} must be a finite number above 0, got {value!r}.")


def check_whole(value: Any, name: str, least: int = 1) -> None:
    """Check a whole number that is not too small."""
    if not is_number(value) or value != int(value) or value < least:
        raise ValueError(f"{name} must be a whole number, at least {least}, got {value!r}.")
