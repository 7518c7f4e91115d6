"""From the plan to records: train what is missing, run what is missing, and go on where a killed run stopped."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from fairpot.rows.output import atomic_file
from fairpot_paper.data_sets import DATA_SETS, Folder, missing_data
from fairpot_paper.plan import QUICK_SEEDS, SEEDS, Run, Training, all_trainings, cost_of, make_plan, trainings_of
from fairpot_paper.records import RecordFile, check_same_origin, claim_folder, provenance
from fairpot_paper.runs import make_results
from fairpot_paper.scores import place_of, read_scores, train
from fairpot_paper.timing import timed_results
from fairpot_paper.workers import Failure, run_all

Report = Callable[[str, float], object]
Record = dict[str, Any]


@dataclass(frozen=True)
class Setting:
    """What is the same for every run: where results are, where data are, and whether it is the quick version."""

    folder: Path
    data_dir: str | None = None
    quick: bool = False


@dataclass
class Outcome:
    """What a call has done: how many models and runs were made, and what is missing."""

    trained: int = 0
    made: int = 0
    kept: int = 0
    failed: list[Record] = field(default_factory=list)
    missing: dict[str, str] = field(default_factory=dict)


def reproduce(
    folder: str | os.PathLike[str],
    *,
    seeds: int | None = None,
    only: Collection[str] = (),
    jobs: int = 1,
    data_dir: Folder = None,
    quick: bool = False,
    retry: bool = False,
    report: Report | None = None,
) -> Outcome:
    """Rerun the paper's experiments, as far as they are not in the folder yet.

    Parameters
    ----------
    folder : path
        Where scores and records are kept. Started again with the same folder, it goes on where it stopped, and the
        records are the same, byte for byte, as without a stop.
    seeds : int or None, default None
        Splits of each data set; None takes 20, or 2 for ``quick``.
    only : names of parts and data sets, default ()
        See :data:`fairpot_paper.plan.KINDS`.
    jobs : int, default 1
        Processes; results are the same for any number. Timed runs are made one at a time, after all others.
    data_dir : path or None, default None
        The folder with the real data sets; None looks in ``FAIRPOT_DATA`` and in the cache. Nothing is downloaded.
    quick : bool, default False
        Fewer rows of generated data, fewer epochs and two seeds: to see that all of it runs. Its numbers mean nothing.
    retry : bool, default False
        Whether runs that failed are made again.
    report : callable or None, default None
        Called with a line that says what was done and the share of the expected time that is done.

    Returns
    -------
    Outcome
    """
    setting = Setting(Path(folder), None if data_dir is None else os.fspath(data_dir), quick)
    usual = QUICK_SEEDS if quick else SEEDS
    runs = make_plan(usual if seeds is None else seeds, only)
    outcome = Outcome(missing=_missing(runs, setting))
    runs = [run for run in runs if run.data not in outcome.missing]
    if not runs:
        return outcome
    versions = provenance()
    claim_folder(setting.folder, versions, quick)
    known = known_runs(setting.folder, runs, retry)
    pending = [run for run in runs if run not in known]
    outcome.kept = len(known)
    outcome.failed = [record for record in known.values() if record["status"] != "ok"]
    _carry_out(setting, pending, versions, jobs, outcome, report)
    return outcome


def _carry_out(
    setting: Setting, pending: list[Run], versions: dict[str, str], jobs: int, outcome: Outcome, report: Report | None
) -> None:
    wanted = [t for t in all_trainings(pending) if not place_of(setting.folder, t).exists()]
    meter = _Meter([*wanted, *pending], report)
    failures: dict[Training, Failure] = {}
    files = {path: RecordFile(path) for path in dict.fromkeys(records_file(setting.folder, run) for run in pending)}

    def trained(training: Training, result: Any) -> None:
        if isinstance(result, Failure):
            failures[training] = result
            return
        outcome.trained += 1
        _note_seconds(setting, training, result)

    def made(run: Run, result: Any) -> None:
        if not isinstance(result, Failure):
            result, seconds = result
            _note_seconds(setting, run, seconds)
        record = make_record(run, result, versions)
        files[records_file(setting.folder, run)].append(record)
        outcome.made += 1
        if record["status"] != "ok":
            outcome.failed.append(record)

    run_all(wanted, partial(_train, setting), jobs=jobs, done=trained, progress=meter)
    timed = [run for run in pending if run.kind == "runtime"]
    others = [run for run in pending if run.kind != "runtime"]
    for group, workers in ((others, jobs), (timed, 1)):
        # A run whose model could not be trained fails in its place, without being started.
        run_all(group, partial(_run, setting, failures), jobs=workers, done=made, progress=meter)


def _train(setting: Setting, training: Training) -> float:
    """Train a model, in a worker; return the seconds of its processor."""
    start = time.process_time()
    train(training, setting.folder, setting.data_dir, setting.quick)
    return time.process_time() - start


def _run(setting: Setting, failures: dict[Training, Failure], run: Run) -> tuple[Any, float]:
    """Make a run, in a worker; return its results and the seconds of its processor."""
    start = time.process_time()
    return _results(setting, failures, run), time.process_time() - start


def _results(setting: Setting, failures: dict[Training, Failure], run: Run) -> Any:
    for training in trainings_of(run):
        if training in failures:
            failed = failures[training]
            raise RuntimeError(f"the model {training.name} could not be trained: {failed.kind}: {failed.message}")
    if run.kind == "runtime":
        [scored] = (read_scores(setting.folder, training) for training in trainings_of(run))
        return timed_results(scored, DATA_SETS[run.data].reference, run.resamples)
    return make_results(run, setting.folder)


def make_record(run: Run, result: Any, versions: dict[str, str]) -> Record:
    """Return the record of a run that was made, or that failed."""
    head = {"run": run.as_dict(), "versions": versions}
    if isinstance(result, Failure):
        return {**head, "status": "failed", "error": {"kind": result.kind, "message": result.message}}
    return {**head, "status": "ok", "results": result}


def records_file(folder: Path, run: Run) -> Path:
    """Return the file of records that a run belongs to."""
    return folder / "records" / f"{run.file}.jsonl"


def known_runs(folder: Path, runs: Iterable[Run], retry: bool = False) -> dict[Run, Record]:
    """Read the records of planned runs; with ``retry`` failed ones are taken out of their files."""
    wanted = set(runs)
    found: dict[Run, Record] = {}
    for path in dict.fromkeys(records_file(folder, run) for run in runs):
        file = RecordFile(path)
        records = file.read()
        check_same_origin(records, provenance())
        if retry and any(record["status"] != "ok" for record in records):
            records = [record for record in records if record["status"] == "ok"]
            _rewrite(path, records)
        for record in records:
            run = Run(**record["run"])
            if run in wanted:
                found[run] = record
    return found


def _rewrite(path: Path, records: list[Record]) -> None:
    with atomic_file(path, overwrite=True) as temporary:
        fresh = RecordFile(temporary)
        temporary.touch()
        for record in records:
            fresh.append(record)


def _missing(runs: list[Run], setting: Setting) -> dict[str, str]:
    reasons = {name: missing_data(name, setting.data_dir) for name in dict.fromkeys(run.data for run in runs)}
    return {name: reason for name, reason in reasons.items() if reason is not None}


def _note_seconds(setting: Setting, task: Training | Run, seconds: float) -> None:
    """Note how long a task took, apart from the records, which are the same whenever they are made."""
    kind = "train" if isinstance(task, Training) else task.kind
    line = {"task": _name(task), "kind": kind, "seconds": round(seconds, 2), "at": int(time.time())}
    with (setting.folder / "seconds.jsonl").open("a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")


def _name(task: Training | Run) -> str:
    return task.name if isinstance(task, Training) else f"{task.file}-{task.seed:02d}-{task.model}"


class _Meter:
    """Tells what was done and what share of the expected time that is."""

    def __init__(self, tasks: list[Training | Run], report: Report | None) -> None:
        self._total = sum(map(cost_of, tasks)) or 1.0
        self._done, self._tasks, self._made = 0.0, len(tasks), 0
        self._report = report

    def __call__(self, task: Training | Run, seconds: float) -> None:
        self._done += cost_of(task)
        if self._report is not None:
            phase = "training models" if isinstance(task, Training) else f"running {task.kind}"
            self._made += 1
            self._report(f"{phase}, {self._made} of {self._tasks}: {_name(task)}", self._done / self._total)
