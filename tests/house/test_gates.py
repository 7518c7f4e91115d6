"""The GitHub Action and the pre-commit hook run the gate as they say: their own commands, taken from their files."""

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

import fairpot
from fairpot.cli._app import COMMANDS

ROOT = Path(__file__).parents[2]
ACTION = yaml.safe_load((ROOT / ".github/actions/audit/action.yml").read_text())
HOOKS = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Scores, and the command `fairpot` of this tree on the path."""
    made = tmp_path_factory.mktemp("gate")
    data = fairpot.datasets.make_synthetic(2000, random_state=0, as_frame=False)
    lines = [f"{s},{y},{g}" for s, y, g in zip(data.probability, data.target, data.group)]
    (made / "scores.csv").write_text("\n".join(["score,label,group", *lines]) + "\n")
    command = made / "bin" / "fairpot"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m fairpot.cli "$@"\n')
    command.chmod(0o755)
    return made


def environment(folder, **more):
    source = str(Path(fairpot.__file__).parents[1])
    return os.environ | {"PATH": f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}", "PYTHONPATH": source} | more


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ("--bound 0.6 --require within", 0),
        ("--bound 0.01 --require within", 3),
        ("--no-label --min-ratio 0.9", 3),
        ("--bound 0.01\n--require\nwithin\n", 3),
    ],
)
def test_the_action_passes_and_fails_as_the_gate_does(folder, options, code):
    step = ACTION["runs"]["steps"][-1]
    assert set(step["env"]) == {"FILES", "OPTIONS", "OUTPUT"}
    assert "${{" not in step["run"]  # what somebody else writes is never part of the script
    env = environment(folder, FILES="scores.csv", OPTIONS=options, OUTPUT="audit.json")
    done = subprocess.run(["bash", "-e", "-c", step["run"]], cwd=folder, env=env, capture_output=True, text=True)
    assert done.returncode == code, done.stderr
    assert json.loads((folder / "audit.json").read_text())["fairpot"]["command"] == "audit"
    assert "2,000 rows" in done.stdout


def test_the_action_leaves_no_document_where_there_is_none(folder):
    env = environment(folder, FILES="gone.csv", OPTIONS="", OUTPUT="none.json")
    run = ["bash", "-e", "-c", ACTION["runs"]["steps"][-1]["run"]]
    done = subprocess.run(run, cwd=folder, env=env, capture_output=True, text=True)
    assert (done.returncode, done.stderr.count("gone.csv was not found")) == (2, 1)
    assert not (folder / "none.json").exists()


def test_the_action_installs_the_tree_that_it_comes_from():
    """Another package of that name on an index would be somebody else's."""
    assert ACTION["inputs"]["version"]["default"] == ""
    here = ROOT / ".github/actions/audit"
    said = ACTION["runs"]["steps"][0]["run"].replace("python -m pip install --quiet", "echo")
    done = subprocess.run(["bash", "-c", said], env={"VERSION": "", "HERE": str(here)}, capture_output=True, text=True)
    path = done.stdout.strip().removesuffix("[cli]")
    assert (Path(path) / "pyproject.toml").samefile(ROOT / "pyproject.toml")


@pytest.mark.parametrize(("args", "code"), [(["--bound", "0.6", "--require", "within"], 0), (["--fail-above", "0"], 3)])
def test_the_hook_is_the_gate(folder, args, code):
    [hook] = HOOKS
    assert not hook["pass_filenames"]
    done = subprocess.run(
        [*shlex.split(hook["entry"]), "scores.csv", *args], cwd=folder, env=environment(folder), capture_output=True
    )
    assert done.returncode == code
    assert shlex.split(hook["entry"])[1] in COMMANDS
