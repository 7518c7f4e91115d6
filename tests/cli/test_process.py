"""The command as a process: pipes, signals, exit codes, terminals, and a machine without the extra."""

import os
import resource
import signal
import subprocess
import sys
from functools import partial

import pandas as pd
import pytest

from cli.conftest import COLUMNS, draw_people

FAIRPOT = [sys.executable, "-m", "fairpot.cli"]


def start(*arguments, **options):
    environment = {k: v for k, v in os.environ.items() if k not in ("FORCE_COLOR", "PYTHONWARNINGS")}
    return subprocess.run(
        [*FAIRPOT, *map(str, arguments)], capture_output=True, timeout=300, env=environment, check=False, **options
    )


def test_pipes(folder, tmp_path, people):
    text = (folder / "people.csv").read_bytes()
    done = start("audit", "-", *COLUMNS, input=text)
    assert done.returncode == 0
    assert done.stderr == b""
    assert b"600 rows" in done.stdout
    assert b"\x1b" not in done.stdout
    assert all(not line.endswith(b" ") for line in done.stdout.splitlines())


def test_failure(folder):
    done = start("audit", folder / "nowhere.csv")
    assert done.returncode == 2
    assert done.stdout == b""
    assert done.stderr.startswith(b"error: ")


def test_nobody_reads(csv):
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run([*FAIRPOT, "audit", csv, *COLUMNS], stdout=writer, stderr=subprocess.PIPE, check=False)
    os.close(writer)
    assert done.stderr == b""
    assert done.returncode == 141


def test_json_to_nobody(csv):
    """A standard output that was closed from the start takes no document."""
    closed = partial(os.close, 1)
    done = subprocess.run([*FAIRPOT, "audit", csv, *COLUMNS, "--json"], stderr=subprocess.PIPE, preexec_fn=closed)
    assert (done.returncode, done.stderr) == (141, b"")


def test_interrupted_while_reading():
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    heard = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)  # also where the run itself ignores it
    with subprocess.Popen([*FAIRPOT, "audit", "-"], **pipes, preexec_fn=heard) as process:
        process.stdin.write(b"score,label,group\n" + b"0.5,1,a\n" * 200_000)  # more than a pipe holds: it is being read
        process.stdin.flush()
        process.send_signal(signal.SIGINT)
        process.stdin.close()  # Ctrl-C ends what writes into the pipe as well
        assert process.wait(300) == 130
        assert process.stdout.read() == b""
        assert process.stderr.read() == b"error: interrupted.\n"


INTERRUPTED = """
import signal, sys
from fairpot.cli import main
signal.signal(signal.SIGINT, signal.default_int_handler)

class Last:
    def __del__(self):
        signal.raise_signal(signal.SIGINT)

class Finder:
    left = [Last()]

    def find_spec(self, name, path=None, target=None):
        if name == "duckdb" and self.left:
            self.left.clear()
            for _ in range(1 << 31):  # Ctrl-C comes here, not in what DuckDB does as it loads, where it may abort
                pass

sys.meta_path.insert(0, Finder())
sys.argv = ["fairpot", "audit", "-", *sys.argv[1:]]
main()
"""


def test_interrupted_where_python_cannot_end(folder):
    """In what is called when an object goes, Python tells of Ctrl-C with a traceback, and goes on."""
    with subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED, *COLUMNS],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        process.stdin.write((folder / "people.csv").read_bytes())
        process.stdin.flush()
        out, said = process.communicate()
    assert (process.returncode, out, said) == (130, b"", b"error: interrupted.\n")


def test_file_larger_than_allowed(fitted, tmp_path):
    draw_people(20_000).to_csv(tmp_path / "x.csv", index=False)
    rows = ["--score", "risk", "--group", "sex", "-o", tmp_path / "new.csv"]
    done = start(
        "apply",
        fitted,
        tmp_path / "x.csv",
        *rows,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000)),
    )
    assert done.returncode == 2
    assert done.stderr.startswith(b"error: ")
    assert len(done.stderr.splitlines()) <= 2
    assert [p.name for p in tmp_path.iterdir()] == ["x.csv"]


def test_without_the_extra():
    code = "import sys; sys.modules['click'] = None; sys.argv[1:] = ['audit', 'x.csv']; "
    code += "from fairpot.cli import main; main()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.splitlines() == [
        "error: the command line needs the package 'click', which is not installed.",
        "Hint: pip install 'fairpot[cli]'",
    ]


def test_terminal_that_knows_no_unicode(tmp_path):
    frame = pd.DataFrame(
        {"score": [0.1, 0.6, 0.3, 0.7], "label": [0, 1, 0, 1], "group": ["größe", "größe", "好", "好"]}
    )
    frame.to_csv(tmp_path / "x.csv", index=False)
    done = subprocess.run(
        [*FAIRPOT, "audit", tmp_path / "x.csv"],
        capture_output=True,
        env=os.environ | {"PYTHONIOENCODING": "latin-1"},
        check=False,
    )
    assert done.returncode == 0
    assert b"\\u597d" in done.stdout


class TestTerminal:
    """On a terminal there are colours and a bar on standard error."""

    @pytest.fixture(autouse=True)
    def terminal(self, monkeypatch):
        monkeypatch.setenv("FORCE_COLOR", "1")
        monkeypatch.setenv("COLUMNS", "90")

    def test_answers_are_bold_and_bars_are_drawn(self, run, csv, fitted):
        answer = run("fit", csv, *COLUMNS, "--max-gap", "0.05")
        assert "counting rows" in answer.err
        assert "\x1b[1m" in answer.out
        assert "\x1b[32m" in run("show", fitted, "--map", fitted).out

    def test_no_bar_with_json_or_quiet(self, run, csv):
        for option in ("--json", "--quiet"):
            answer = run("audit", csv, *COLUMNS, option)
            assert answer.err == ""
            assert "\x1b" not in answer.out

    def test_apply_and_compare_show_a_bar(self, run, csv, fitted, tmp_path):
        answer = run("apply", fitted, csv, "--score", "risk", "--group", "sex", "-o", tmp_path / "x.csv")
        assert "adjusting" in answer.err
        assert "comparing" in run("compare", csv, *COLUMNS, "--method", "wasserstein").err


@pytest.mark.parametrize("command", ["audit", "fit", "apply", "show", "compare", "datasets"])
def test_help_teaches_with_an_example(run, command):
    out = run(command, "--help").out
    assert "Example" in out
    assert f"fairpot {command}" in out
    assert command in run("--help").out


def test_version(run):
    assert "fairpot" in run("--version").out


def test_two_runs_for_one_output(run, csv, fitted, tmp_path):
    """One of them writes it, whole; the other is told, and leaves nothing."""
    words = [*FAIRPOT, "apply", fitted, csv, "-o"]
    run("apply", fitted, csv, "-o", tmp_path / "alone.csv")
    both = [subprocess.Popen([*map(str, words), tmp_path / "out.csv"], stderr=subprocess.PIPE) for _ in range(2)]
    told = [each.communicate()[1] for each in both]
    assert sorted(each.returncode for each in both) == [0, 2]
    assert sum(b"Traceback" in each or b"should not happen" in each for each in told) == 0
    assert (tmp_path / "out.csv").read_bytes() == (tmp_path / "alone.csv").read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["alone.csv", "out.csv"]
