"""Help, versions and completion."""

import os
import re
import subprocess
import sys

import click
import pytest

from fairpot.cli._app import COMMANDS, app
from fairpot.cli._options import Sectioned


def test_short_texts_are_those_of_the_commands():
    for name, text in COMMANDS.items():
        assert app.get_command(None, name).short_help == text


def test_version_and_help_load_no_numbers():
    code = "import sys; from fairpot.cli import main\ntry: main()\nexcept SystemExit: pass\n"
    code += "print([m for m in ('numpy', 'sklearn', 'duckdb', 'rich') if m in sys.modules])"
    for words in (["--version"], ["--help"]):
        script = f"import sys; sys.argv[1:] = {words!r}\n" + code
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
        assert done.stdout.splitlines()[-1] == "[]"


# What commands may load of what takes long: an audit and a plan are numbers alone.
HEAVY = ("sklearn", "scipy.stats", "scipy.optimize", "pandas", "matplotlib", "polars", "pyspark", "torch", "rich")
LIGHT = {
    "audit": ["audit", "rows.csv"],
    "audit of a top": ["audit", "rows.csv", "--top", "20%", "--threshold", "0.5", "--json"],
    "plan": ["plan", "--gap", "0.2"],
}
MAY_LOAD = {"fit": {"sklearn", "scipy.stats", "scipy.optimize", "pandas"}}


def loaded_by(words, folder):
    code = f"import sys; sys.argv[1:] = {words!r}\nfrom fairpot.cli import main\ntry: main()\nexcept SystemExit: pass\n"
    code += f"print(*(m for m in {HEAVY!r} if m in sys.modules), file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=folder)
    assert "error" not in done.stderr, done.stderr
    return set(done.stderr.splitlines()[-1].split())


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    folder = tmp_path_factory.mktemp("light")
    lines = [f"0.{(7 * i) % 97:02d},{i % 2},{'ab'[i % 3 == 0]}" for i in range(300)]
    (folder / "rows.csv").write_text("\n".join(["score,label,group", *lines]))
    return folder


@pytest.mark.parametrize("words", LIGHT.values(), ids=LIGHT)
def test_light_commands_load_nothing_heavy(rows, words):
    assert loaded_by(words, rows) == set()


def test_a_fit_loads_no_more_than_it_needs(rows):
    assert loaded_by(["fit", "rows.csv", "--lam", "0.5"], rows) <= MAY_LOAD["fit"]


@pytest.mark.parametrize("name", list(COMMANDS))
def test_help_fits_on_a_page_and_all_of_it_can_be_had(run, name):
    command = app.get_command(None, name)
    if not isinstance(command, Sectioned):
        return
    known = [p for p in command.get_params(click.Context(command)) if isinstance(p, click.Option)]
    short, whole = run(name, "--help").out, run(name, "--help-all").out
    listed = [p for p in known if any(re.search(rf"^  (-\w, )?{flag}\b", short, re.MULTILINE) for flag in p.opts)]
    assert len(listed) <= 25
    for option in known:
        assert max(option.opts, key=len) in whole


def test_help_of_gates_has_the_exit_codes(run):
    assert "Exit codes: 0 fine, 2 an error, 3 " in run("audit", "--help").out
    assert "Exit codes: 0 fine, 2 an error, 4 " in run("fit", "--help").out


def test_help_command(run):
    assert run("help", "fit").out == run("fit", "--help").out
    assert "Commands:" in run("help").out
    assert "No such command" in run("help", "fti", expect=2).err


def test_completion_knows_the_commands():
    env = os.environ | {"_FAIRPOT_COMPLETE": "bash_complete", "COMP_WORDS": "fairpot co", "COMP_CWORD": "1"}
    done = subprocess.run([sys.executable, "-m", "fairpot.cli"], env=env, capture_output=True, text=True, check=False)
    assert "compare" in done.stdout
