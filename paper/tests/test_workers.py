"""Worker processes: order, failures, deaths, interrupts; all with real processes."""

import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from types import ModuleType

import pytest

import worker_cases
from fairpot_paper import workers as pool
from fairpot_paper.records import RecordFile
from fairpot_paper.workers import Failure, run_all
from worker_cases import (
    VARIABLES,
    first_waits_for_second,
    mark_and_number,
    may_fail,
    resume,
    started_on,
    surroundings,
    until,
)

posix = pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs POSIX signals")
linux = pytest.mark.skipif(sys.platform != "linux", reason="looks for processes in /proc")


def collect(tasks, work, jobs=2, **options):
    results = []
    run_all(tasks, work, jobs=jobs, done=lambda task, result: results.append((task, result)), **options)
    assert [task for task, _ in results] == list(tasks)
    return [result for _, result in results]


def lines(path):
    return path.read_bytes().count(b"\n") if path.exists() else 0


def session(leader):
    """Processes of a session that run: the workers, and whatever else was started."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):  # it has just ended
            state, _, _, number = stat.read_text().rpartition(")")[2].split()[:4]
            if int(number) == leader and state not in "ZX":
                found.append(int(stat.parent.name))
    return found


def workers(folder):
    return [int(path.stem) for path in Path(folder).glob("*.pid")]


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "marks").mkdir()
    return tmp_path / "marks"


@pytest.fixture
def start(tmp_path, folder):
    """Run the script in a session of its own, so that every process it leaves can be told, and ended."""
    runs = []

    def heard():  # also where the run itself ignores them
        for each in (signal.SIGINT, signal.SIGTERM):
            signal.signal(each, signal.SIG_DFL)

    def started(path, total, jobs, name):
        command = [sys.executable, worker_cases.__file__, path, folder, total, jobs, name]
        with open(tmp_path / "said", "wb") as said:  # a pipe would not end before the last process that holds it
            run = subprocess.Popen(
                [str(part) for part in command],
                start_new_session=True,
                stdout=said,
                stderr=subprocess.STDOUT,
                preexec_fn=heard,
            )
        runs.append(run)
        return run

    yield started
    for run in runs:
        with suppress(ProcessLookupError):
            os.killpg(run.pid, signal.SIGKILL)
        run.wait()


def test_results_come_in_the_order_of_the_tasks(folder):
    finished = []
    tasks = [(number, str(folder)) for number in range(3)]
    assert collect(tasks, first_waits_for_second, progress=lambda task, _: finished.append(task[0])) == [0, 1, 2]
    assert sorted(finished) == [0, 1, 2]
    assert finished.index(1) < finished.index(0)


def test_done_is_called_while_later_tasks_run(folder):
    """The first task is handed over before the last is even started."""
    seen = []
    tasks = [(number, str(folder)) for number in range(4)]

    def done(task, _):
        seen.append(len(workers(folder)) and not (folder / "last").exists())
        if task[0] == 3:
            (folder / "last").touch()

    run_all(tasks, mark_and_number, jobs=1, done=done)
    assert seen == [True] * 4
    assert len(workers(folder)) == 1  # one worker served all


def test_a_failing_task_is_a_result():
    assert collect(["a", "raise", "memory", "exit", "unpicklable", "loads badly", "b"], may_fail) == [
        "a",
        Failure("ValueError", "bad rows in rows.csv"),
        Failure("MemoryError", ""),
        Failure("SystemExit", "3"),
        Failure("TypeError", "cannot pickle '_thread.lock' object"),
        Failure("ValueError", "invalid literal for int() with base 10: 'no number'"),
        "b",
    ]


@posix
@pytest.mark.parametrize("jobs", [1, 2])
def test_a_worker_that_dies_takes_only_its_task_along(jobs):
    first, killed, second, left, third = collect(["a", "kill", "b", "leave", "c"], may_fail, jobs=jobs)
    assert (first, second, third) == ("a", "b", "c")
    assert (killed.kind, left.kind) == ("WorkerDied", "WorkerDied")
    assert "killed by SIGKILL" in killed.message
    assert "exit code 7" in left.message


def test_workers_compute_on_one_thread_and_the_parent_is_left_alone(monkeypatch, capfd):
    monkeypatch.setenv("OMP_NUM_THREADS", "5")
    monkeypatch.delenv("MKL_NUM_THREADS", raising=False)
    before = dict(os.environ)
    for threads, seed, pid, ignores in collect([0, 1], surroundings):
        assert threads == ["1"] * len(VARIABLES)
        assert seed == "0"
        assert pid != os.getpid()
        assert ignores
    assert dict(os.environ) == before
    assert capfd.readouterr() == ("", "")  # the warning of the work is not shown


def test_the_number_of_jobs_does_not_show(tmp_path, folder):
    for jobs in (1, 2):
        resume(tmp_path / f"{jobs}.jsonl", str(folder), 8, jobs)
    assert (tmp_path / "1.jsonl").read_bytes() == (tmp_path / "2.jsonl").read_bytes()
    assert lines(tmp_path / "1.jsonl") == 8


def test_few_results_wait(folder):
    """While the first task runs, no more are started than may wait in memory."""
    tasks = [(number, str(folder), pool._AHEAD) for number in range(pool._AHEAD + 6)]
    first, *rest = collect(tasks, started_on)
    assert first == pool._AHEAD
    assert rest == list(range(1, len(tasks)))


@linux
def test_killed_and_started_again_gives_the_same_bytes(tmp_path, folder, start):
    total, jobs = 60, 2
    resume(tmp_path / "whole.jsonl", str(folder), total, 2)
    path = tmp_path / "killed.jsonl"
    for seen in (2, 20):
        run = start(path, total, jobs, "mark_and_stop")
        until(lambda seen=seen: lines(path) >= seen)
        run.kill()
        run.wait()
        with open(path, "ab") as file:
            file.write(b'{"seed":')  # as if it had been killed while writing
        until(lambda run=run: not session(run.pid))
    resume(path, str(folder), total, jobs)
    assert path.read_bytes() == (tmp_path / "whole.jsonl").read_bytes()


@linux
@pytest.mark.parametrize(
    ("how", "work"),
    [(signal.SIGINT, "mark_and_hold"), (signal.SIGTERM, "mark_and_hang"), (signal.SIGKILL, "mark_and_hold")],
)
def test_busy_workers_end_with_the_parent(tmp_path, folder, start, how, work):
    """Also those in the middle of a task that would never end."""
    path = tmp_path / "runs.jsonl"
    run = start(path, 8, 2, work)
    until(lambda: lines(path) == 3 and (folder / "hangs").exists())
    assert len(session(run.pid)) >= 3
    run.send_signal(how)
    assert run.wait() == -how
    said = (tmp_path / "said").read_text()
    assert said.count("Traceback") == (how == signal.SIGINT)  # the parent's KeyboardInterrupt, none of workers
    until(lambda: not session(run.pid))
    assert [record["seed"] for record in RecordFile(path).read()] == [0, 1, 2]


@linux
def test_an_interrupt_from_the_keyboard_reaches_all_and_only_the_parent_speaks(tmp_path, start, monkeypatch):
    """A terminal sends the interrupt to the whole group: workers ignore it from their very start."""
    path, importing = tmp_path / "runs.jsonl", tmp_path / "importing"
    monkeypatch.setenv("HOLD_IMPORT", str(importing))
    run = start(path, 500, 1, "mark_and_stop")
    until(importing.exists)
    for pid in set(session(run.pid)) - {run.pid}:
        os.kill(pid, signal.SIGINT)
    importing.with_suffix(".go").touch()
    until(lambda: lines(path) >= 1)
    os.killpg(run.pid, signal.SIGINT)
    assert run.wait() == -signal.SIGINT
    said = (tmp_path / "said").read_text()
    assert said.count("Traceback") == 1, said
    assert said.rstrip().endswith("KeyboardInterrupt")
    until(lambda: not session(run.pid))


def test_work_that_cannot_be_imported(monkeypatch):
    module = ModuleType("only_in_the_parent")
    exec("def work(task): return task", module.__dict__)
    monkeypatch.setitem(sys.modules, module.__name__, module)
    with pytest.raises(RuntimeError, match="cannot import the work: ModuleNotFoundError"):
        run_all([1], module.work, jobs=1, done=print)


def test_a_script_without_a_guard(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        "from math import sqrt\nfrom fairpot_paper.workers import run_all\nrun_all([1], sqrt, jobs=1, done=print)\n"
    )
    run = subprocess.run([sys.executable, script], capture_output=True, text=True)
    assert run.returncode == 1
    assert "3 worker processes died before they were ready" in run.stderr
    assert "Hint: a script that runs this needs" in run.stderr


@pytest.mark.parametrize("jobs", [0, -1, 1.5, True, "2"])
def test_jobs_is_a_number_of_processes(jobs):
    with pytest.raises(ValueError, match=r"jobs=.* is no number of processes"):
        run_all([1], abs, jobs=jobs, done=print)


def test_no_tasks():
    assert collect([], abs) == []


def test_an_error_in_done_ends_the_run():
    def done(task, result):
        raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        run_all([1, 2, 3], abs, jobs=2, done=done)
