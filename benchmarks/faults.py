"""Every command, stopped or starved at a random moment, with a seed: ``python benchmarks/faults.py --seconds 300``.

Each trial gives one command one fault, in a folder of its own: a signal, a full disk, a limit on the size of files, a
folder that cannot be written, an input that comes slowly, little memory, a clock that jumps, or 50 runs at once. Then:

- inputs are what they were, byte for byte;
- each output is complete (what a run without a fault writes), or what was there before, or not there;
- the exit code is a documented one, without a traceback and without "this should not happen";
- the next run works, writes what it should, and leaves no temporary file behind.

Anything else is a failure, and is printed with the seed that repeats it. Where memory is short, a library below fairpot
may end the process by a signal, without a word: its files must be right then too, and it is counted by itself, neither
as survived nor as a failure.
"""

from __future__ import annotations

import argparse
import atexit
import gc
import hashlib
import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

ROWS = 6_000
ROLES = ["--group", "sex"]
LIBFAKETIME = [
    "/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1",
    "/usr/lib/aarch64-linux-gnu/faketime/libfaketimeMT.so.1",
    "/usr/lib/faketime/libfaketimeMT.so.1",
]
CROWD = 50
CROWDED = "50 at once"


class Command(NamedTuple):
    """A command line, the files it writes, and the input that may come slowly."""

    line: list[str]
    writes: tuple[str, ...] = ()
    slow: str | None = "scores.csv"
    force: bool = True  # whether --force replaces what is there
    crowded: bool = False  # whether fifty runs at once are tried

    @property
    def name(self) -> str:
        more = {"export": 3, "datasets": 1}.get(self.line[0])
        return self.line[0] if more is None else f"{self.line[0]} {self.line[more]}"


COMMANDS = [
    Command(["audit", "scores.csv", *ROLES, "--json"]),
    Command(["fit", "scores.csv", *ROLES, "--max-gap", "0.05", "-o", "new.json"], ("new.json",), crowded=True),
    Command(
        ["apply", "map.json", "scores.csv", "-o", "out.csv", "--changes", "changes.csv", "--threshold", "0.5"],
        ("out.csv", "changes.csv"),
        crowded=True,
    ),
    Command(["apply", "map.json", "scores.csv", "-o", "out.parquet"], ("out.parquet",), crowded=True),
    Command(["apply", "map.json", "scores.csv", "-o", "out.xlsx"], ("out.xlsx",)),
    Command(["apply", "map.json", "scores.csv", "-o", "-", "--quiet"]),
    Command(["show", "map.json"], slow=None),
    Command(["report", "scores.csv", *ROLES, "--max-gap", "0.05", "-o", "report.html"], ("report.html",)),
    Command(["compare", "scores.csv", *ROLES, "--method", "wasserstein", "--folds", "2"]),
    Command(["plan", "scores.csv", *ROLES, "--gap", "0.2"]),
    Command(
        ["export", "map.json", "--to", "sql", "--dialect", "postgres", "--table", "t", "-o", "map.sql"],
        ("map.sql",),
        slow=None,
        crowded=True,
    ),
    Command(["export", "map.json", "--to", "python", "-o", "score_map.py"], ("score_map.py",), slow=None),
    Command(["datasets", "write", "synthetic", "people.csv", "--rows", "300"], ("people.csv",), slow=None),
]
FETCHED = Path(os.environ.get("FAIRPOT_DATA", "")) / "compas-scores-two-years.csv"
if FETCHED.is_file():  # what is there is verified, and not fetched from anywhere
    line = ["datasets", "write", "compas", "compas.csv"]
    COMMANDS.append(Command(line, ("compas.csv",), slow=FETCHED.name))
NAMES = sorted({command.name for command in COMMANDS})


@dataclass
class Known:
    """What a command does without a fault: how long it takes, how much it writes, and what."""

    seconds: float = 0.0
    written: int = 0
    hashes: dict[str, str] = field(default_factory=dict)  # of outputs that are the same each time
    lines: dict[str, int] = field(default_factory=dict)  # of those that carry a date


class Ended(NamedTuple):
    code: int
    said: str


# --- starting a command ---------------------------------------------------------------------------------------------


def preload() -> None:
    """Import what commands use, so that a forked child begins at once and faults fall into its own work."""
    import duckdb  # noqa: F401
    import pyarrow.csv
    import pyarrow.parquet  # noqa: F401
    import sklearn.linear_model  # noqa: F401

    import fairpot.cli._app
    import fairpot.report

    for name in fairpot.cli._app.COMMANDS:
        __import__(f"fairpot.cli.{name}")


def start(line: list[str], folder: Path, prepare: Callable[[], None] = lambda: None) -> int:
    """Fork a child that runs one command in ``folder``; what it says goes to files beside. Return its id."""
    said = folder.parent / f"{folder.name}.said"
    child = os.fork()
    if child:
        return child
    code = 1
    try:
        os.chdir(folder)
        for target, flags, number in ((os.devnull, os.O_RDONLY, 0), (os.devnull, os.O_WRONLY, 1)):
            os.dup2(os.open(target, flags), number)
        os.dup2(os.open(said, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666), 2)
        tempfile.tempdir = str(folder.parent / "tmp")
        os.environ["FAIRPOT_DATA"] = "."  # where a copy may come slowly
        sys.argv = ["fairpot", *line]
        prepare()
        from fairpot.cli import main

        main()
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else 1
    except BaseException as error:
        reached = [frame.filename for frame in traceback.extract_tb(error.__traceback__)]
        if isinstance(error, KeyboardInterrupt) and set(reached) == {__file__}:
            code = 130  # the command had not begun, or was over
        else:
            traceback.print_exc()
    try:
        gc.collect()
        atexit._run_exitfuncs()
    finally:
        os._exit(code & 0xFF)
    return 0


def fresh(line: list[str], folder: Path, environment: dict[str, str]) -> int:
    """Start a command in a new interpreter, with variables of its own."""
    places = {"TMPDIR": str(folder.parent / "tmp"), "FAIRPOT_DATA": "."}
    with open(folder.parent / f"{folder.name}.said", "ab") as said:
        started = subprocess.Popen(
            [sys.executable, "-m", "fairpot.cli", *line],
            cwd=folder,
            env=os.environ | places | environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=said,
        )
    started.returncode = 0  # waited for by its id, as forked ones are
    return started.pid


def ended(child: int, folder: Path, patience: float = 60) -> Ended:
    """Wait for a child; one that takes too long is a failure, and killed."""
    end, late = time.monotonic() + patience, False
    while True:
        found, status = os.waitpid(child, os.WNOHANG)
        if found:
            break
        if time.monotonic() > end and not late:
            late = True
            os.kill(child, signal.SIGKILL)
        time.sleep(0.002)
    said = folder.parent / f"{folder.name}.said"
    text = said.read_text(errors="replace") if said.exists() else ""
    return Ended(os.waitstatus_to_exitcode(status), text + ("\nTraceback: it did not end" if late else ""))


# --- faults: each starts the command, does its harm, and returns how it ended and which exit codes are right ----------


class Trial(NamedTuple):
    command: Command
    known: Known
    folder: Path
    rng: random.Random

    @property
    def line(self) -> list[str]:
        replaces = self.command.force and any((self.folder / name).exists() for name in self.command.writes)
        return [*self.command.line, *(["--force"] if replaces else [])]

    def moment(self) -> float:
        return self.rng.random() * self.known.seconds * 1.1


Outcome = tuple[Ended, set[int]]
BY_SIGNAL = {-signal.SIGSEGV, -signal.SIGABRT, -signal.SIGBUS}


def _signalled(number: int, codes: set[int]) -> Callable[[Trial], Outcome]:
    def fault(trial: Trial) -> Outcome:
        anew = trial.rng.random() < 0.1  # while Python is still loading, too
        if anew:
            child, wait = fresh(trial.line, trial.folder, {}), trial.rng.random() * (1 + trial.known.seconds)
        else:
            child, wait = start(trial.line, trial.folder), trial.moment()
        time.sleep(wait)
        os.kill(child, number)
        result = ended(child, trial.folder)
        if anew and "KeyboardInterrupt" in result.said and ", in main" not in result.said:
            result = Ended(-number, "")  # Python met it by itself, before the first line of a command
        return result, {0, *codes}

    return fault


def full_disk(trial: Trial) -> Outcome:
    """A disk on which only a part of the output finds room; a file system of its own, so that it really is full."""
    room = sum(path.stat().st_size for path in trial.folder.rglob("*")) + int(trial.rng.random() * trial.known.written)
    kept = trial.folder.with_name("kept")
    shutil.copytree(trial.folder, kept)
    pages = room // 4096 + 2 * len([*kept.rglob("*")]) + 2
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={pages * 4096}", "tmpfs", trial.folder], check=True)
    try:
        shutil.copytree(kept, trial.folder, dirs_exist_ok=True)
        result = ended(start(trial.line, trial.folder), trial.folder)
        left = leftovers(trial.folder)
        shutil.rmtree(kept)
        shutil.copytree(trial.folder, kept)
    finally:
        subprocess.run(["umount", trial.folder], check=True)
    shutil.rmtree(trial.folder)
    kept.rename(trial.folder)
    return Ended(result.code, result.said + (f"\nTraceback: left {left}" if left else "")), {0, 2}


def large_file(trial: Trial) -> Outcome:
    """A limit on the size of a file, which ends writing in the middle."""
    most = int(trial.rng.random() * max(trial.known.written, 4096))
    child = start(trial.line, trial.folder, lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (most, most)))
    return ended(child, trial.folder), {0, 2}


def read_only(trial: Trial) -> Outcome:
    """A disk on which nothing may be written, not even by root."""
    subprocess.run(["mount", "--bind", trial.folder, trial.folder], check=True)
    try:
        subprocess.run(["mount", "-o", "remount,ro,bind", trial.folder], check=True)
        return ended(start(trial.line, trial.folder), trial.folder), {2} if trial.command.writes else {0}
    finally:
        subprocess.run(["umount", trial.folder], check=True)


def slow_disk(trial: Trial) -> Outcome:
    """An input that comes in pieces, with pauses, through a pipe that has a name."""
    name = trial.command.slow
    if name is None:
        return ended(start(trial.line, trial.folder), trial.folder), {0}
    pipe = trial.folder / f"pipe-{name}"
    os.mkfifo(pipe)
    content, pieces = (trial.folder / name).read_bytes(), trial.rng.randint(2, 20)

    def feed() -> None:
        step = len(content) // pieces + 1
        with pipe.open("wb", buffering=0) as stream:
            for begin in range(0, len(content), step):
                try:
                    stream.write(content[begin : begin + step])
                except BrokenPipeError:
                    return
                time.sleep(0.3 / pieces)

    feeding = threading.Thread(target=feed, daemon=True)
    child = start([pipe.name if word == name else word for word in trial.line], trial.folder)
    feeding.start()
    result = ended(child, trial.folder)
    if feeding.is_alive():  # nobody opened it: let the writer go
        os.close(os.open(pipe, os.O_RDONLY | os.O_NONBLOCK))
    feeding.join()
    pipe.unlink()
    return result, {0}


def little_memory(trial: Trial) -> Outcome:
    """A limit on memory, a little above what the process has at its start.

    Libraries may end the process where they get no memory, as the system does: files must be right then, too.
    """
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    most = pages * resource.getpagesize() + int(trial.rng.random() * 1.5e9)

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (most, most))

    return ended(start(trial.line, trial.folder, limit), trial.folder), {0, 2, *BY_SIGNAL}


def clock(trial: Trial) -> Outcome:
    """Inputs from the future, and a clock that jumps by years while the command runs."""
    years = trial.rng.choice((-30, -1, 1, 40))
    moment = time.time() + years * 31_536_000
    for path in trial.folder.iterdir():
        os.utime(path, (moment, moment))
    library = next((place for place in LIBFAKETIME if Path(place).exists()), None)
    if library is None:
        return ended(start(trial.line, trial.folder), trial.folder), {0}
    stamp = trial.folder.parent / "clock"
    stamp.write_text("+0")
    variables = {"LD_PRELOAD": library, "FAKETIME_TIMESTAMP_FILE": str(stamp), "FAKETIME_NO_CACHE": "1"}
    child = fresh(trial.line, trial.folder, variables | {"DONT_FAKE_MONOTONIC": "1"})
    time.sleep(trial.rng.random() * (1.5 + trial.known.seconds))
    stamp.with_suffix(".new").write_text(f"{years * 365:+}d")
    stamp.with_suffix(".new").replace(stamp)
    return ended(child, trial.folder), {0}


def crowd(trial: Trial) -> Outcome:
    """Fifty runs at once: without --force one of them writes, and all others say that the output is there."""
    line = trial.line
    children = [start(line, trial.folder) for _ in range(CROWD)]
    ends = [ended(child, trial.folder, 600) for child in children]
    codes = Counter(each.code for each in ends)
    fine = {0, 2} if trial.command.writes and "--force" not in line else {0}
    odd = [code for code in codes if code not in fine]
    one = codes[0] == 1 or "--force" in line or not trial.command.writes
    said = (trial.folder.parent / f"{trial.folder.name}.said").read_text(errors="replace")
    return Ended(odd[0] if odd else 0, said + ("" if one else f"\nTraceback: exit codes {dict(codes)}")), {0}


FAULTS: dict[str, Callable[[Trial], Outcome]] = {
    "kill -9": _signalled(signal.SIGKILL, {-9}),
    "SIGTERM": _signalled(signal.SIGTERM, {143, -15}),
    "SIGINT": _signalled(signal.SIGINT, {130, -2}),
    "full disk": full_disk,
    "file limit": large_file,
    "read-only": read_only,
    "slow input": slow_disk,
    "memory": little_memory,
    "clock": clock,
    CROWDED: crowd,
}


# --- what must hold ---------------------------------------------------------------------------------------------------


def fill(folder: Path) -> None:
    """Make the inputs of all commands: rows and a map."""
    import numpy as np

    rng = np.random.default_rng(5)
    sex = rng.choice(["F", "M"], ROWS)
    score = np.round(rng.beta(2, 3, ROWS) * np.where(sex == "M", 1, 0.8), 4)
    label = (rng.random(ROWS) < score).astype(int)
    rows = (f"{i},{s},{y},{g}\n" for i, (s, y, g) in enumerate(zip(score, label, sex)))
    (folder / "scores.csv").write_text("id,score,label,sex\n" + "".join(rows))
    if FETCHED.is_file():
        shutil.copyfile(FETCHED, folder / FETCHED.name)
    work(["fit", "scores.csv", *ROLES, "--max-gap", "0.05", "-o", "map.json"], folder)


def work(line: list[str], folder: Path) -> None:
    """Run a command that must work."""
    result = ended(start(line, folder), folder)
    if result.code != 0:
        raise SystemExit(f"without a fault, fairpot {' '.join(line)} ended with {result.code}:\n{result.said}")


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def learn(command: Command, given: Path, place: Path) -> Known:
    """Run a command twice without a fault; what differs then carries a date, and is compared by its lines."""
    known, seen = Known(), []
    for time_around in range(2):
        folder = place / f"learn{time_around}"
        shutil.copytree(given, folder)
        begin = time.monotonic()
        work(command.line, folder)
        known.seconds = time.monotonic() - begin
        known.written = max((sum((folder / name).stat().st_size for name in command.writes), 1))
        seen.append({name: digest(folder / name) for name in command.writes})
        known.lines = {name: (folder / name).read_bytes().count(b"\n") for name in command.writes}
        shutil.rmtree(folder)
        folder.with_name(f"{folder.name}.said").unlink(missing_ok=True)
    # A page says when it was made, to the minute.
    known.hashes = {n: sha for n, sha in seen[0].items() if seen[1][n] == sha and not n.endswith(".html")}
    return known


def is_complete(folder: Path, name: str, known: Known) -> bool:
    if name in known.hashes:
        return digest(folder / name) == known.hashes[name]
    return (folder / name).read_bytes().count(b"\n") == known.lines[name]


OLD = b"old\n"


def leftovers(folder: Path) -> list[str]:
    places = [*folder.rglob("*"), *(folder.parent / "tmp").iterdir()]
    return [path.name for path in places if path.name.endswith(".tmp") or path.parent.name == "tmp"]


def wrong_words(result: Ended) -> list[str]:
    """Say what is wrong with what was said: a traceback, an excuse, or an error without its word."""
    bad = ("Traceback", "this should not happen", *(("terminate called",) if result.code not in BY_SIGNAL else ()))
    found = [text for text in bad if text in result.said]
    return found + (["no error"] if result.code == 2 and "error: " not in result.said else [])


def attempt(command: Command, known: Known, fault: str, given: Path, seed: str) -> tuple[list[str], bool]:
    """Try one fault on one command; return what was wrong, and whether a signal of a library's ended it."""
    rng = random.Random(seed)
    place = Path(tempfile.mkdtemp(prefix="fairpot-faults-"))
    os.chmod(place, 0o755)
    folder, wrong = place / "work", []
    shutil.copytree(given, folder)
    (place / "tmp").mkdir()
    os.chmod(place / "tmp", 0o777)
    (place / "work.said").touch()
    os.chmod(place / "work.said", 0o666)
    old = bool(command.writes) and rng.random() < 0.3
    for name in command.writes if old else ():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(OLD)
    try:
        trial = Trial(command, known, folder, rng)
        inputs = {path.name: digest(path) for path in given.iterdir()}
        result, codes = FAULTS[fault](trial)
        if result.code not in codes:
            wrong.append(f"exit code {result.code}: {result.said.strip()[-300:]}")
        wrong += wrong_words(result)
        wrong += [f"{n} changed" for n, sha in inputs.items() if digest(folder / n) != sha and n not in command.writes]
        there = {name: folder / name for name in command.writes if (folder / name).exists()}
        for name, path in there.items():
            if not is_complete(folder, name, known) and not (old and path.read_bytes() == OLD):
                wrong.append(f"{name} is partial: {path.stat().st_size} bytes")
        done = {name for name in there if is_complete(folder, name, known)}
        if result.code == 0:
            wrong += [f"{name} was not written" for name in command.writes if name not in done]
        if result.code >= 0 and leftovers(folder):
            wrong.append(f"left behind: {leftovers(folder)[:3]}")
        again = trial.line
        after = ended(start(again, folder), folder)
        if after.code != 0:
            wrong.append(f"the next run ended with {after.code}: {after.said.strip()[-300:]}")
        elif any(not is_complete(folder, name, known) for name in command.writes):
            wrong.append("the next run wrote something else")
        if leftovers(folder):
            wrong.append(f"left behind after the next run: {leftovers(folder)[:3]}")
    finally:
        shutil.rmtree(place, ignore_errors=True)
    return wrong, result.code in BY_SIGNAL


# --- the tier -------------------------------------------------------------------------------------------------------


def trials(seed: int, commands: list[Command], faults: list[str]) -> list[tuple[Command, str]]:
    """List one round: every fault on every command, in a random order."""
    made = [(command, fault) for command in commands for fault in faults if fault != CROWDED or command.crowded]
    random.Random(seed).shuffle(made)
    return made


def run(
    seed: int, seconds: float, most: int, commands: list[Command], faults: list[str]
) -> tuple[Counter[tuple[str, str]], Counter[tuple[str, str]], list[str]]:
    """Try rounds until the time or the number is up; return how many were tried and ended by a signal, and failures."""
    preload()
    place = Path(tempfile.mkdtemp(prefix="fairpot-faults-"))
    given = place / "given"
    given.mkdir()
    (place / "tmp").mkdir()
    tried: Counter[tuple[str, str]] = Counter()
    by_signal: Counter[tuple[str, str]] = Counter()
    failures: list[str] = []
    try:
        fill(given)
        known = {id(command): learn(command, given, place) for command in commands}
        end, number = time.monotonic() + seconds, 0
        while number < most and time.monotonic() < end:
            # Fifty runs take as long as fifty others: once for each command that others may disturb.
            wanted = faults if number == 0 else [name for name in faults if name != CROWDED]
            for command, fault in trials(seed + number, commands, wanted):
                if number >= most or time.monotonic() >= end:
                    break
                wrong, ended_by_signal = attempt(command, known[id(command)], fault, given, f"{seed}/{number}")
                tried[command.name, fault] += 1
                by_signal[command.name, fault] += ended_by_signal and not wrong
                found = [f"{' '.join(command.line)} | {fault} | {seed}/{number} | {each}" for each in wrong[:3]]
                failures += found
                if found:
                    print("\n".join(found), file=sys.stderr, flush=True)
                number += 1
    finally:
        shutil.rmtree(place, ignore_errors=True)
    return tried, by_signal, failures


def table(
    tried: Counter[tuple[str, str]], by_signal: Counter[tuple[str, str]], failures: list[str], faults: list[str]
) -> str:
    """Show survived / tried for each command and fault, and those that a signal ended."""
    lost: Counter[tuple[str, str]] = Counter()
    for line, fault, _ in {tuple(each.split(" | ")[:3]) for each in failures}:
        name = Command(line.split()).name
        lost[name, fault] += 1
    names = sorted({name for name, _ in tried})
    lines = ["| command | " + " | ".join(faults) + " |", "| --- " * (len(faults) + 1) + "|"]
    for name in names:
        cells = [_cell(tried[name, f], lost[name, f], by_signal[name, f]) for f in faults]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    sums = [_cell(*(sum(c[name, f] for name in names) for c in (tried, lost, by_signal))) for f in faults]
    lines.append("| all | " + " | ".join(sums) + " |")
    return "\n".join(lines)


def _cell(tried: int, lost: int, by_signal: int) -> str:
    return f"{tried - lost - by_signal} / {tried}" + (f" ({by_signal} by a signal)" if by_signal else "")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=300)
    parser.add_argument("--trials", type=int, default=1_000_000)
    parser.add_argument("--commands", nargs="+", choices=NAMES, default=NAMES)
    parser.add_argument("--faults", nargs="+", choices=list(FAULTS), default=list(FAULTS))
    parser.add_argument("--json", action="store_true", help="one document instead of the table")
    options = parser.parse_args()
    needs_root = ("full disk", "read-only")  # they mount file systems
    faults = [name for name in options.faults if os.geteuid() == 0 or name not in needs_root]
    commands = [command for command in COMMANDS if command.name in options.commands]
    tried, by_signal, failures = run(options.seed, options.seconds, options.trials, commands, faults)
    number, signalled = sum(tried.values()), sum(by_signal.values())
    survived = number - signalled - len({tuple(each.split(" | ")[:3]) for each in failures})
    if options.json:
        print(json.dumps({"tried": number, "survived": survived, "by_signal": signalled, "failures": failures}))
    else:
        print(table(tried, by_signal, failures, faults))
        print(f"\n{number} tried, {survived} survived, {signalled} ended by a signal of a library's, files right")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
