"""The commands in docs/cli.md work, and what is installed is the command line."""

import importlib
import shlex
import tomllib
from pathlib import Path

import pytest

import fairpot.cli

ROOT = Path(__file__).parents[2]


def test_commands_of_the_page(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    page = (ROOT / "docs" / "cli.md").read_text()
    commands = page.split("```console\n")[1].split("```")[0].splitlines()
    assert len(commands) == 7
    for command in commands:
        name, *arguments = shlex.split(command)
        assert name == "fairpot"
        run(*arguments)


def test_the_page_shows_what_is_printed(run, tmp_path, monkeypatch):
    """Blocks of output in docs/cli.md are what the commands before them print, to the letter."""
    monkeypatch.chdir(tmp_path)
    page = (ROOT / "docs" / "cli.md").read_text()
    run("datasets", "write", "synthetic", "scores.csv")
    audit = run("audit", "scores.csv").out
    fit = run("fit", "scores.csv", "--max-gap", 0.05, "--high-score-means", "harm").out.partition("\n\n")[0]
    for said in (audit, fit):
        shown = "".join(f"    {line}\n" if line else "\n" for line in said.rstrip("\n").split("\n"))
        assert shown in page


def test_entry_point():
    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]
    module, _, name = scripts["fairpot"].partition(":")
    assert getattr(importlib.import_module(module), name) is fairpot.cli.main


def test_main_runs_the_command(monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["fairpot", "datasets", "list"])
    with pytest.raises(SystemExit) as done:
        fairpot.cli.main()
    assert done.value.code == 0
    assert "synthetic" in capsys.readouterr().out
