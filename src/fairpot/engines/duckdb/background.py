"""Work in a second thread, so that Ctrl-C reaches the first at once and stops the second."""

from __future__ import annotations

import queue
from collections.abc import Callable, Iterator
from threading import Event, Thread
from typing import Any, TypeVar

T = TypeVar("T")
_WAIT = 0.1  # seconds between two looks at the progress


def in_background(
    work: Callable[[], Iterator[T]], stop: Callable[[], object], tick: Callable[[], object] | None = None
) -> Iterator[T]:
    """Yield what ``work`` yields, made in a second thread, at most two items ahead.

    Parameters
    ----------
    work : callable
        Gives an iterator; what it raises is raised here.
    stop : callable
        Makes the work end soon; called when this iterator is left early, by Ctrl-C for example.
    tick : callable or None, default None
        Called every tenth of a second meanwhile.
    """
    made: queue.Queue[tuple[str, Any]] = queue.Queue(maxsize=2)
    left = Event()

    def put(what: str, value: Any) -> bool:
        while not left.is_set():
            try:
                made.put((what, value), timeout=_WAIT)
                return True
            except queue.Full:
                continue
        return False

    def run() -> None:
        try:
            for item in work():
                if not put("item", item):
                    return
            put("done", None)
        except BaseException as error:
            put("error", error)

    thread = Thread(target=run, name="fairpot-scan", daemon=True)
    thread.start()
    try:
        while True:
            try:
                what, value = made.get(timeout=_WAIT)
            except queue.Empty:
                if tick is not None:
                    tick()
                continue
            if what == "done":
                return
            if what == "error":
                raise value
            yield value
    finally:
        left.set()
        thread.join(_WAIT)
        while thread.is_alive():
            stop()
            thread.join(_WAIT)
