"""A progress bar of one line, for work that a call waits for."""

import sys

_WIDTH = 30


def draw_bar(what: str, done: int, total: int, *, note: str = "", last: bool = False) -> None:
    """Draw the bar over itself on the standard error stream; the last one ends the line."""
    full, end = _WIDTH * done // total, "\n" if last else ""
    sys.stderr.write(f"\r{what} [{'#' * full}{'.' * (_WIDTH - full)}] {done}/{total}{note}{end}")
    sys.stderr.flush()
