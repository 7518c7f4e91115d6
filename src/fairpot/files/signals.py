"""Signals that end a process, as exceptions: what was begun is cleaned up on the way out."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn


@contextmanager
def ending_cleanly() -> Iterator[None]:
    """Let SIGTERM and SIGHUP unwind the stack, so that temporary files go; the exit code is 128 and the signal's.

    Elsewhere than in the main thread, and for signals that somebody else handles or ignores, nothing changes.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {}
    for name in ("SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) == signal.SIG_DFL:
            before[number] = signal.signal(number, _end)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _end(number: int, frame: Any) -> NoReturn:
    raise SystemExit(128 + number)
