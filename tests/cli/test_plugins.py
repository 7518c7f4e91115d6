"""Commands of other distributions: found when they are asked for, listed without being imported, told when broken."""

import importlib.metadata
import os
import subprocess
import sys
import zipfile
from pathlib import Path
from shutil import copy, copytree

import pytest

from fairpot.cli._app import COMMANDS

ROOT = Path(__file__).parents[2]
GREETING = """
from pathlib import Path
import click
Path(__file__).with_suffix(".imported").touch()

@click.command(short_help="Say hello.")
@click.option("--loud", is_flag=True)
def greet(loud):
    if loud:
        raise click.ClickException("too loud.")
    click.echo("hello")
"""


@pytest.fixture
def install(tmp_path, monkeypatch):
    """Put a distribution with one command on the path, as pip would."""
    monkeypatch.syspath_prepend(tmp_path)

    def put(source, target="greeting:greet", name="greet"):
        (tmp_path / "greeting.py").write_text(source)
        about = tmp_path / "fairpot_greeting-1.0.dist-info"
        about.mkdir()
        said = ["Metadata-Version: 2.1", "Name: fairpot-greeting", "Version: 1.0", "Summary: Hello."]
        (about / "METADATA").write_text("\n".join(said) + "\n")
        (about / "entry_points.txt").write_text(f"[fairpot.commands]\n{name} = {target}\n")
        return tmp_path

    yield put
    sys.modules.pop("greeting", None)


@pytest.fixture
def nothing_installed(monkeypatch):
    monkeypatch.setattr(importlib.metadata, "entry_points", lambda **_: importlib.metadata.EntryPoints(()))


def test_help_lists_it_by_its_summary_and_does_not_import_it(run, install):
    folder = install(GREETING)
    lines = [line.split(maxsplit=1) for line in run("--help").out.splitlines()]
    assert ["greet", "Hello."] in lines
    assert not (folder / "greeting.imported").exists()
    assert run("greet").out == "hello\n"
    assert "--loud" in run("help", "greet").out


def test_its_errors_are_lines_and_exit_codes(run, install):
    install(GREETING)
    assert run("greet", "--loud", expect=2).err == "error: too loud.\n"
    assert "Did you mean 'greet'?" in run("gret", expect=2).err


def test_a_command_of_ours_looks_for_no_other(run, monkeypatch):
    monkeypatch.setattr(importlib.metadata, "entry_points", lambda **_: pytest.fail("looked"))
    assert "synthetic" in run("datasets").out


def test_ours_are_not_replaced(run, install):
    folder = install(GREETING, name="datasets")
    assert "synthetic" in run("datasets").out
    assert run("--help").out.count("  datasets ") == 1
    assert not (folder / "greeting.imported").exists()


@pytest.mark.parametrize(
    ("source", "target", "why"),
    [
        ("import nowhere_at_all", "greeting:greet", "ModuleNotFoundError: No module named 'nowhere_at_all'"),
        ("1 / 0", "greeting:greet", "ZeroDivisionError"),
        ("", "greeting:greet", "AttributeError"),
        ("greet = 3", "greeting:greet", "greeting:greet is not a click command"),
    ],
)
def test_one_that_cannot_be_loaded(run, install, source, target, why):
    install(source, target)
    said = run("greet", expect=2).err
    assert said.startswith("error: the command 'greet' of fairpot-greeting cannot be loaded: ")
    assert why in said
    assert "Traceback" not in said
    assert "greet" in run("--help").out


def test_completion_imports_nothing_and_survives_a_broken_one(install):
    folder = install(GREETING)
    env = os.environ | {"PYTHONPATH": os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")])}

    def complete(words, place):
        asked = env | {"_FAIRPOT_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": str(place)}
        command = [sys.executable, "-m", "fairpot.cli"]
        return subprocess.run(command, env=asked, capture_output=True, text=True, check=False)

    assert complete("fairpot gr", 1).stdout.split() == ["plain,greet"]
    assert not (folder / "greeting.imported").exists()
    assert "--loud" in complete("fairpot greet --", 2).stdout
    (folder / "greeting.py").write_text("1 / 0")
    broken = complete("fairpot greet --", 2)
    assert (broken.stdout, broken.stderr) == ("", "")


def test_the_paper_is_elsewhere(run, nothing_installed):
    for words in (["reproduce"], ["reproduce", "--quick"], ["help", "reproduce"]):
        said = run(*words, expect=2).err
        assert said == "error: the command 'reproduce' comes with `pip install fairpot-paper`.\n"
    assert "reproduce" not in run("--help").out
    assert "reproduce" not in COMMANDS


def test_the_wheel_holds_fairpot_alone(tmp_path):
    """Built from a copy, as setuptools leaves its own files beside the sources."""
    pytest.importorskip("setuptools", "77")
    for name in ("pyproject.toml", "setup.py", "README.md", "LICENSE"):
        copy(ROOT / name, tmp_path)
    for name in ("src", "paper"):
        copytree(ROOT / name, tmp_path / name)
    options = ["--quiet", "--disable-pip-version-check", "--no-deps", "--no-build-isolation", "--wheel-dir", "made"]
    subprocess.run([sys.executable, "-m", "pip", "wheel", *options, "."], cwd=tmp_path, check=True)
    [wheel] = (tmp_path / "made").iterdir()
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        about = archive.read(next(name for name in names if name.endswith("/METADATA"))).decode()
    assert {name.split("/")[0].split("-")[0] for name in names} == {"fairpot"}
    assert not [name for name in names if "paper" in name or "experiment" in name or "reproduc" in name]
    assert "fairpot/report/page.css" in names
    assert "Provides-Extra: reproduce" not in about
