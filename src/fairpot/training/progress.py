"""A one-line progress bar on the standard error stream."""

from __future__ import annotations

import sys
from typing import Protocol

_WIDTH = 30


class Progress(Protocol):
    """What a training loop tells about itself after each of its rounds."""

    def __call__(self, done: int, total: int, note: str, *, last: bool) -> None:
        """Take the number of rounds done, of how many, a few words, and whether it was the last."""


def make_progress(what: str, verbose: bool) -> Progress:
    """Return a function that draws the bar over itself and ends the line with the last round; or one that is silent."""

    def draw(done: int, total: int, note: str, *, last: bool) -> None:
        full = _WIDTH * done // total
        end = "\n" if last else ""
        sys.stderr.write(f"\r{what} [{'#' * full}{'.' * (_WIDTH - full)}] {done}/{total} {note}{end}")
        sys.stderr.flush()

    def stay_silent(done: int, total: int, note: str, *, last: bool) -> None:
        return

    return draw if verbose else stay_silent
