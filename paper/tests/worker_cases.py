"""Work for worker processes (they import it by name), and a script that is killed and started again."""

import os
import signal
import sys
import threading
import time
import warnings
from pathlib import Path

import numpy as np

from fairpot_paper.records import RecordFile
from fairpot_paper.workers import Failure, run_all

VARIABLES = ["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS"]


def numbers(seed):
    """A record whose bytes tell whether anything changed."""
    rng = np.random.default_rng(seed)
    matrix = rng.normal(size=(60, 60))
    return {"seed": seed, "values": rng.normal(size=3), "norm": np.linalg.norm(matrix @ matrix), "nan": np.nan}


def first_waits_for_second(task):
    """The first task ends only after the second has: ``task`` is its number and a folder both can see."""
    number, folder = task
    if number == 0:
        until(lambda: (Path(folder) / "1").exists())
    (Path(folder) / str(number)).touch()
    return number


def may_fail(task):
    if task == "raise":
        raise ValueError(f"bad rows in {os.getcwd()}/data/rows.csv")
    if task == "memory":
        raise MemoryError
    if task == "exit":
        sys.exit(3)
    if task == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    if task == "leave":
        os._exit(7)
    if task == "unpicklable":
        return threading.Lock()
    if task == "loads badly":
        return Unloadable()
    return task


class Unloadable:
    def __reduce__(self):
        return int, ("no number",)


def surroundings(_):
    warnings.warn("not to be seen", stacklevel=1)
    blas = [os.environ.get(name) for name in VARIABLES]
    return blas, os.environ.get("PYTHONHASHSEED"), os.getpid(), signal.getsignal(signal.SIGINT) == signal.SIG_IGN


def mark_and_number(task):
    """Leave one's process number in a folder, then compute."""
    seed, folder = task
    (Path(folder) / f"{os.getpid()}.pid").touch()
    return numbers(seed)


def mark_and_hang(task):
    """The same, but later tasks do not end."""
    if task[0] >= 3:
        (Path(task[1]) / "hangs").touch()
        threading.Event().wait()
    return mark_and_number(task)


def mark_and_hold(task):
    """The same, but later tasks are in compiled code that lets no other thread run, and do not end either."""
    if task[0] >= 3:
        (Path(task[1]) / "hangs").touch()
        sum(range(10**14))
    return mark_and_number(task)


def mark_and_stop(task):
    """The same, but only half of sixty tasks end, so that a run is never done before it is killed."""
    if task[0] >= 30:
        threading.Event().wait()
    return mark_and_number(task)


def started_on(task):
    """Leave a mark per task; the first ends once as many as are told were started."""
    number, folder, expected = task
    (Path(folder) / str(number)).touch()
    if number == 0:
        until(lambda: len(list(Path(folder).iterdir())) >= expected)
        return len(list(Path(folder).iterdir()))
    return number


def until(condition, seconds=300):
    """Poll until a condition holds; the deadline only ends a broken test."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.005)


def resume(path, folder, total, jobs, work=mark_and_number):
    """What a run does: skip what is recorded, append the rest in order."""
    file = RecordFile(path)
    recorded = {record["seed"] for record in file.read()}

    def done(task, result):
        file.append({"seed": task[0], "error": result.kind} if isinstance(result, Failure) else result)

    run_all([(seed, folder) for seed in range(total) if seed not in recorded], work, jobs=jobs, done=done)


if __name__ == "__mp_main__" and "HOLD_IMPORT" in os.environ:  # a worker of the script, before it does anything
    Path(os.environ["HOLD_IMPORT"]).touch()
    until(Path(os.environ["HOLD_IMPORT"]).with_suffix(".go").exists)

if __name__ == "__main__":
    path, folder, total, jobs, name = sys.argv[1:]
    resume(path, folder, int(total), int(jobs), globals()[name])
