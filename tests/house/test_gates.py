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
    (made / "bin").mkdir()
    python = shlex.quote(sys.executable)
    for name, words in (
        ("fairpot", f"echo ran >> runs.txt; exec {python} -m fairpot.cli"),
        ("python", f"exec {python}"),
    ):
        (made / "bin" / name).write_text(f'#!/bin/sh\n{words} "$@"\n')
        (made / "bin" / name).chmod(0o755)
    return made


def environment(folder, **more):
    source = str(Path(fairpot.__file__).parents[1])
    return os.environ | {"PATH": f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}", "PYTHONPATH": source} | more


def act(folder, options="", files="scores.csv", output="audit.json"):
    """Run the last step of the action as it stands in its file, with a folder of its own for what is temporary."""
    step = ACTION["runs"]["steps"][-1]
    assert set(step["env"]) == {"FILES", "OPTIONS", "OUTPUT"}
    assert "${{" not in step["run"]  # what somebody else writes is never part of the script
    temporary = folder / "temporary"
    temporary.mkdir(exist_ok=True)
    env = environment(folder, FILES=files, OPTIONS=options, OUTPUT=output, TMPDIR=str(temporary))
    (folder / "runs.txt").write_text("")
    run = ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", "-c", step["run"]]  # as GitHub calls it
    done = subprocess.run(run, cwd=folder, env=env, capture_output=True, text=True)
    assert not list(temporary.iterdir())
    return done, (folder / "runs.txt").read_text().count("ran")


@pytest.mark.parametrize(
    ("options", "code", "said"),
    [
        ("--bound 0.6 --require within", 0, "is within 0.6"),
        ("--bound 0.01 --require within", 3, "exceeds 0.01"),
        ("--no-label --min-ratio 0.9", 3, "below 0.9 of another's"),
        ("--bound 0.01\n--require\nwithin\n", 3, "exceeds 0.01"),
    ],
)
def test_the_action_passes_and_fails_as_the_gate_does(folder, options, code, said):
    (folder / "audit.json").unlink(missing_ok=True)
    done, runs = act(folder, options)
    assert (done.returncode, runs) == (code, 1), done.stderr
    document = json.loads((folder / "audit.json").read_text())
    assert document["fairpot"]["command"] == "audit"
    assert document["statements"][0]["text"] in done.stdout
    assert "2,000 rows" in done.stdout
    assert said in done.stdout


def test_the_action_counts_a_folder_without_its_own_document(folder):
    (folder / "rows").mkdir()
    (folder / "rows" / "scores.csv").write_bytes((folder / "scores.csv").read_bytes())
    done, _ = act(folder, files="rows", output="rows/audit.json")
    assert done.returncode == 0, done.stderr
    assert json.loads((folder / "rows" / "audit.json").read_text())["rows"] == 2000


@pytest.mark.parametrize("taken", ["scores.csv", "notes.txt", "link.json"])
def test_the_action_replaces_nothing(folder, taken):
    """Neither an input, nor another file, nor what a link leads to, be it there or not."""
    (folder / "notes.txt").write_text("mine")
    if not (folder / "link.json").is_symlink():
        (folder / "link.json").symlink_to("nowhere.json")
    before = (folder / taken).read_bytes() if taken != "link.json" else None
    done, runs = act(folder, output=taken)
    assert (done.returncode, runs) == (2, 0)
    assert f"::error::output: {taken} exists already" in done.stdout
    assert not (folder / "nowhere.json").exists()
    assert before is None or (folder / taken).read_bytes() == before


@pytest.mark.parametrize(("files", "options"), [("gone.csv", ""), ("scores.csv", "--no-such-option")])
def test_the_action_leaves_no_document_where_there_is_none(folder, files, options):
    done, runs = act(folder, options, files=files, output="none.json")
    assert (done.returncode, runs) == (2, 1)
    assert done.stderr
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
