"""Run tasks in worker processes, one task a worker at a time, so that a worker that dies takes only its task along.

Workers are always spawned anew and compute on one thread each: results depend neither on how many there are nor on
what the parent has loaded. One pipe a worker (an executor breaks as a whole) tells which task was lost.
"""

from __future__ import annotations

import ctypes
import multiprocessing
import os
import pickle
import re
import signal
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from typing import Any, TypeVar

from fairpot._arguments import argument

if sys.platform == "win32":
    from multiprocessing.connection import PipeConnection as Pipe
else:
    from multiprocessing.connection import Connection as Pipe

# A quoted absolute path may hold spaces; a bare one ends at the first. Addresses on the web are kept.
_WEB = r"\b(?!file:)[a-z][a-z0-9+.-]*://[^\s'\"]+"
_QUOTED = r"(?P<quote>['\"])(?P<inner>(?:file://)?(?:[A-Za-z]:)?[\\/][^'\"\n]*)(?P=quote)"
_BARE = r"(?:file://|(?<![\w.\\/]))(?:[A-Za-z]:)?[\\/]+(?:[^\s'\"\\/:,;()]+[\\/]+)+[^\s'\"\\/:,;()]*"
_PATHS = re.compile(f"(?P<web>{_WEB})|{_QUOTED}|{_BARE}")
_ADDRESS = re.compile(r"\b0x[0-9a-fA-F]{6,}\b")


@dataclass(frozen=True)
class Failure:
    """What became of a task that raised, or whose worker died.

    Attributes
    ----------
    kind : str
        The name of the exception's class, or ``"WorkerDied"``.
    message : str
        Its message without a traceback, folders and addresses in memory, which differ between machines and runs.
    """

    kind: str
    message: str


def failure_of(error: BaseException) -> Failure:
    """Return an exception as a failure.

    Examples
    --------
    >>> failure_of(FileNotFoundError(2, "No such file or directory", "/home/ada/scores.csv"))
    Failure(kind='FileNotFoundError', message="[Errno 2] No such file or directory: 'scores.csv'")
    """
    try:
        message = str(error)
    except Exception:  # a faulty __str__ of somebody's class
        message = ""
    return Failure(type(error).__name__, without_folders(message))


def death(exit_code: int | None) -> Failure:
    """Return the failure of a task whose worker died on it.

    Examples
    --------
    >>> death(-9).message
    'the worker process died on this task: killed by SIGKILL (often: memory ran out)'
    """
    if exit_code is None:
        how = "exit code unknown"
    elif exit_code >= 0:
        how = f"exit code {exit_code}"
    else:
        try:
            how = f"killed by {signal.Signals(-exit_code).name}"
        except ValueError:
            how = f"killed by signal {-exit_code}"
        how += " (often: memory ran out)" if exit_code == -9 else ""
    return Failure("WorkerDied", f"the worker process died on this task: {how}")


def without_folders(message: str) -> str:
    """Replace absolute paths in a message by their last part, and addresses in memory by dots.

    Examples
    --------
    >>> without_folders("cannot read /data/bank/full.csv: <Reader object at 0x7f3a5c21d0>")
    'cannot read full.csv: <Reader object at 0x...>'
    """
    home = os.path.expanduser("~")
    if len(home) > 1:  # its last part is the user's name
        message = re.sub(re.escape(home) + r"(?![\w.\\/-])", "~", message)
    for folder in _known_folders():
        message = message.replace(folder + os.sep, f"{os.sep}...{os.sep}")
    return _ADDRESS.sub("0x...", _PATHS.sub(_last_part, message))


def _known_folders() -> list[str]:
    """Return folders to look for as they are: names with spaces are not told from words where nothing quotes them."""
    folders = {os.path.expanduser("~"), tempfile.gettempdir(), sys.prefix}
    with suppress(OSError):  # the working directory may have been removed
        folders.add(os.getcwd())
    return sorted((folder for folder in folders if len(folder) > 1), key=lambda folder: (-len(folder), folder))


def _last_part(match: re.Match[str]) -> str:
    if match["web"] is not None:
        return match["web"]
    path = match["inner"] or match[0]
    quote = match["quote"] or ""
    return quote + re.split(r"[\\/]+", path.rstrip("\\/"))[-1] + quote


T = TypeVar("T")
R = TypeVar("R")

# Sums over threads differ in the last bits with their number; sets of strings differ in order with the hash seed.
_ENVIRONMENT = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "NUMEXPR_NUM_THREADS": "1",
    "PYTHONHASHSEED": "0",
}
_AHEAD = 64  # tasks that may start beyond the first that is not delivered: results that wait are held in memory
_FALSE_STARTS = 3  # workers in a row that may die before they are ready
_PATIENCE = 10.0  # seconds for idle workers to clean up after themselves at the end


def run_all(
    tasks: Sequence[T],
    work: Callable[[T], R],
    *,
    jobs: int,
    done: Callable[[T, R | Failure], None],
    progress: Callable[[T, float], None] | None = None,
) -> None:
    """Run ``work`` on every task in worker processes and hand over the results in the order of the tasks.

    Parameters
    ----------
    tasks : sequence
        What ``work`` is called with, one at a time; must pickle.
    work : callable
        A function at the top level of a module, which the workers import. What it raises becomes a :class:`Failure`.
    jobs : int
        How many workers, at least one; results are the same for any number.
    done : callable
        Called here with a task and its result or failure, in the order of ``tasks``, as soon as the task and all
        before it are finished: a file that it appends to has the same bytes for any ``jobs``.
    progress : callable, optional
        Called here with a task and its seconds as soon as that task is finished, in whatever order.

    Raises
    ------
    ValueError
        If ``jobs`` is no number of processes.
    RuntimeError
        If workers cannot be started. Other errors are those of ``done``, of ``progress``, and of pickling.

    Notes
    -----
    Workers show no warnings, which would tear a progress bar; the numbers are the same with and without. They end
    when this process does, even if it is killed. A script that calls this needs ``if __name__ == "__main__":``.

    Examples
    --------
    >>> from math import sqrt
    >>> run_all([4, -1], sqrt, jobs=1, done=lambda task, result: print(task, result))
    4 2.0
    -1 Failure(kind='ValueError', message='math domain error')
    """
    if isinstance(jobs, bool) or not isinstance(jobs, int) or jobs < 1:
        raise ValueError(f"{argument('jobs', jobs)} is no number of processes.\nHint: a whole number, 1 or more.")
    waiting: dict[int, Any] = {}
    pool = _Pool(tasks, work, jobs)
    try:
        while pool.delivered < len(tasks):
            for position, outcome, seconds in pool.step():
                waiting[position] = outcome
                if progress is not None:
                    progress(tasks[position], seconds)
            while pool.delivered in waiting:
                done(tasks[pool.delivered], waiting.pop(pool.delivered))
                pool.delivered += 1
        pool.dismiss()
    finally:
        pool.kill()


@dataclass
class _Worker:
    """A process, the pipe to it, and the position of the task it is on."""

    process: SpawnProcess
    pipe: Pipe[Any, Any]
    ready: bool = False
    position: int | None = None
    since: float = 0.0

    def message(self) -> bytes | None:
        """Return what the worker sent, or None if it died instead."""
        try:
            return self.pipe.recv_bytes() if self.pipe.poll() else None
        except (EOFError, OSError):
            return None

    def kill(self) -> None:
        self.pipe.close()
        self.process.kill()
        self.process.join()


class _Pool:
    """The workers and which task each of them is on."""

    def __init__(self, tasks: Sequence[Any], work: Callable[[Any], Any], jobs: int) -> None:
        self.delivered = 0  # tasks that the caller is through with
        self._tasks = tasks
        self._work = pickle.dumps(work)
        self._jobs = jobs
        self._given = 0  # tasks that a worker was given
        self._workers: list[_Worker] = []
        self._false_starts = 0

    def step(self) -> list[tuple[int, Any, float]]:
        """Keep the workers busy, wait until one has news, and return what was finished: position, outcome, seconds."""
        self._start()
        self._give()
        news = wait([end for worker in self._workers for end in (worker.pipe, worker.process.sentinel)])
        finished = []
        for worker in [w for w in self._workers if w.pipe in news or w.process.sentinel in news]:
            message = worker.message()
            if message is None:
                finished += self._bury(worker)
            elif worker.ready:
                finished.append(_outcome(worker, message))
            else:
                self._welcome(worker, pickle.loads(message))
        return finished

    def dismiss(self) -> None:
        """Let idle workers end by themselves: they may have temporary files to remove."""
        for worker in self._workers:
            worker.pipe.close()
        deadline = time.monotonic() + _PATIENCE
        for worker in self._workers:
            worker.process.join(max(0.0, deadline - time.monotonic()))

    def kill(self) -> None:
        """End all workers at once."""
        for worker in self._workers:
            worker.process.kill()
        while self._workers:
            self._workers.pop().kill()

    def _start(self) -> None:
        """Start workers while there are fewer than jobs and more tasks than workers without one."""
        idle = sum(worker.position is None for worker in self._workers)
        for _ in range(min(self._jobs - len(self._workers), len(self._tasks) - self._given - idle)):
            self._workers.append(_started(self._work))

    def _give(self) -> None:
        """Give a task to each worker that has none, but start none too far ahead of what is delivered."""
        end = min(len(self._tasks), self.delivered + max(_AHEAD, 2 * self._jobs))
        for worker in self._workers:
            if worker.ready and worker.position is None and self._given < end:
                task = pickle.dumps(self._tasks[self._given])
                try:
                    worker.pipe.send_bytes(task)
                except OSError:
                    continue  # it died while idle: its sentinel tells, and the task goes to another
                worker.position, worker.since = self._given, time.perf_counter()
                self._given += 1

    def _welcome(self, worker: _Worker, failure: Failure | None) -> None:
        if failure is not None:
            raise RuntimeError(
                f"a worker process cannot import the work: {failure.kind}: {failure.message}\n"
                "Hint: it must be a function at the top level of a module that can be imported."
            )
        worker.ready = True
        self._false_starts = 0

    def _bury(self, worker: _Worker) -> list[tuple[int, Any, float]]:
        """Take a dead worker out, and return the failure of the task it was on."""
        worker.process.join(1.0)  # its pipe closes a moment before it is gone with its own exit code
        worker.kill()
        self._workers.remove(worker)
        if worker.position is not None:
            return [(worker.position, death(worker.process.exitcode), time.perf_counter() - worker.since)]
        self._false_starts += not worker.ready
        if self._false_starts >= _FALSE_STARTS:
            raise RuntimeError(
                f"{self._false_starts} worker processes died before they were ready "
                f"(the last with exit code {worker.process.exitcode}).\n"
                'Hint: a script that runs this needs `if __name__ == "__main__":` around what it does.'
            )
        return []


def _outcome(worker: _Worker, message: bytes) -> tuple[int, Any, float]:
    """Return position, outcome and seconds of the task that a worker has finished."""
    assert worker.position is not None
    position, worker.position = worker.position, None
    try:
        outcome, seconds = pickle.loads(message)
    except Exception as error:  # a class that pickles and does not unpickle
        return position, failure_of(error), time.perf_counter() - worker.since
    return position, outcome, seconds


def _started(work: bytes) -> _Worker:
    """Start a worker on one thread; the parent's environment is as it was afterwards."""
    context = multiprocessing.get_context("spawn")
    ours, its = context.Pipe()
    process = context.Process(target=serve, args=(its, work), daemon=True)
    with _environment(_ENVIRONMENT), _interrupts_held():
        process.start()
    its.close()  # so that the pipe ends when the worker does
    return _Worker(process, ours)


@contextmanager
def _environment(values: dict[str, str]) -> Iterator[None]:
    """Set variables for processes that are started in the block: libraries read them when they are loaded."""
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


@contextmanager
def _interrupts_held() -> Iterator[None]:
    """Hold back interrupts in the block, and in processes it starts until they handle them themselves."""
    if sys.platform == "win32":
        yield
        return
    from multiprocessing import resource_tracker

    resource_tracker.ensure_running()  # would let interrupts through again if it were started in the block
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


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
