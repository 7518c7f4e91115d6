"""A one-line progress bar, or a function that is told how far the work is."""

from __future__ import annotations

import sys
from collections.abc import Callable

Report = Callable[[int, int], object]
_WIDTH = 30


def make_report(progress: bool | Report | None) -> Report:
    """Return the function to call after each step: a bar on stderr, the user's own, or nothing."""
    if callable(progress):
        return progress
    if progress not in (None, True, False):
        raise TypeError(f"progress must be True, False, None or a function of (done, total), got {progress!r}.")
    shown = sys.stderr.isatty() if progress is None else progress
    return draw_bar if shown else lambda done, total: None


def draw_bar(done: int, total: int) -> None:
    """Draw the bar over itself; the last one ends the line.

    Parameters
    ----------
    done, total : int
        Steps done, of how many.
    """
    full = _WIDTH * done // total
    end = "\n" if done == total else ""
    sys.stderr.write(f"\rcomparing [{'#' * full}{'.' * (_WIDTH - full)}] {done}/{total}{end}")
    sys.stderr.flush()
