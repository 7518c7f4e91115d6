"""Warnings that point at the caller's own line."""

from __future__ import annotations

import sys
import warnings
from types import FrameType


def warn_user(message: str, category: type[Warning]) -> None:
    """Warn at the first line outside fairpot, so that Python shows it once for each place it comes from."""
    warnings.warn(message, category, stacklevel=callers_level())


def callers_level() -> int:
    """Count the frames up to the first one outside fairpot and scikit-learn's wrappers."""
    frame: FrameType | None = sys._getframe(1)
    level = 0
    while frame is not None and frame.f_globals.get("__name__", "").split(".")[0] in ("fairpot", "sklearn", "joblib"):
        frame, level = frame.f_back, level + 1
    return level + 1
