"""What a worker process does: take a task, run it, send the outcome; end with the parent."""

from __future__ import annotations

import ctypes
import multiprocessing
import os
import pickle
import signal
import sys
import threading
import time
import warnings
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import Any

from fairpot_paper.running.failures import failure_of

_PR_SET_PDEATHSIG = 1  # from linux/prctl.h


def serve(pipe: Connection, pickled_work: bytes) -> None:
    """Answer tasks with ``(outcome, seconds)`` until the pipe is closed.

    The first message is None once all is ready, or the failure to import ``work``, which no task is to blame for.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # an interrupt is the parent's to handle
    _ask_to_be_killed_with_parent()
    threading.Thread(target=_end_with_parent, daemon=True).start()
    warnings.simplefilter("ignore")
    with suppress(EOFError, OSError):  # the parent closed its end, or is gone; what work raises does not come here
        _answer_all(pipe, pickled_work)


def _answer_all(pipe: Connection, pickled_work: bytes) -> None:
    try:
        work = pickle.loads(pickled_work)
    except BaseException as error:
        pipe.send(failure_of(error))
        return
    warnings.simplefilter("ignore")  # again: packages imported for the work put filters of their own first
    pipe.send(None)
    while True:
        pipe.send_bytes(_answer(work, pipe.recv_bytes()))


def _answer(work: Any, pickled_task: bytes) -> bytes:
    """Run the work on a task; whatever it raises is an outcome too."""
    start = time.perf_counter()
    try:
        outcome = work(pickle.loads(pickled_task))
        return pickle.dumps((outcome, time.perf_counter() - start))
    except BaseException as error:
        return pickle.dumps((failure_of(error), time.perf_counter() - start))


def _ask_to_be_killed_with_parent() -> None:
    """Have the system do it where it can: a thread waits in vain while compiled code does not let go."""
    if sys.platform == "linux":
        with suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def _end_with_parent() -> None:
    """Wait until the parent is gone, however it ended, and leave without asking the work."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
