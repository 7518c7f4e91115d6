"""What the pages about the command line say is what it does: printed lines, JSON fields, settings, entry point."""

import importlib
import json
import re
import tomllib
from pathlib import Path

import jsonschema
import pytest

import fairpot.cli
from fairpot.cli._settings import known_keys

ROOT = Path(__file__).parents[2]
PAGES = ROOT / "docs" / "reference"


def fields(page, heading):
    """The first column of the table under a heading."""
    text = page.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    return re.findall(r"^\| `(\w+)` \|", text, re.MULTILINE)


def whole(schema):
    """The schema with no room for a field that it does not describe, at any depth."""
    if isinstance(schema, list):
        return [whole(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    closed = {"additionalProperties": False} if schema.get("type") == "object" and "properties" in schema else {}
    return {key: whole(value) for key, value in schema.items()} | closed


def test_the_page_shows_what_is_printed(run, tmp_path, monkeypatch):
    """Blocks of output are what the commands before them print, to the letter."""
    monkeypatch.chdir(tmp_path)
    page = (PAGES / "output.md").read_text(encoding="utf-8")
    run("datasets", "write", "synthetic", "scores.csv")
    audit = run("audit", "scores.csv").out
    fit = run("fit", "scores.csv", "--max-gap", 0.05, "--high-score-means", "harm").out.partition("\n\n")[0]
    for said in (audit, fit):
        shown = "".join(f"    {line}\n" if line else "\n" for line in said.rstrip("\n").split("\n"))
        assert shown in page


def test_documents_have_the_fields_that_schema_and_page_name(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    schema = json.loads((PAGES / "documents.schema.json").read_text(encoding="utf-8"))
    page = (PAGES / "programs.md").read_text(encoding="utf-8")
    run("datasets", "write", "synthetic", "scores.csv")
    gates = ["--threshold", 0.3, "--alpha", 0.5, "--bound", 0.9, "--require", "within", "--fail-above", 0.9]
    made = {
        "datasets write": ["datasets", "write", "synthetic", "again.csv", "--rows", 50],
        "audit": ["audit", "scores.csv", *gates],
        "fit": ["fit", "scores.csv", "--max-gap", 0.05, "--validate", "scores.csv", "--top", 99, "-o", "map.json"],
        "apply": ["apply", "map.json", "scores.csv", "-o", "adjusted.csv"],
        "compare": ["compare", "scores.csv", "--method", "fairpot", "--method", "wasserstein"],
        "plan": ["plan", "--gap", 0.2, "--auc", 0.75, "--share", 0.2, "--rate", 0.1],
        "show": ["show", "map.json"],
        "show an export": ["show", "map.py", "--map", "map.json"],
        "report": ["report", "scores.csv", "--map", "map.json", "-o", "page.html"],
        "export": ["export", "map.json", "--to", "python"],
    }
    for name, arguments in made.items():
        if name == "show an export":
            run("export", "map.json", "--to", "python", "-o", "map.py")
        document = json.loads(run(*arguments, "--json").out)
        jsonschema.Draft202012Validator({**whole(schema), "$ref": f"#/$defs/{name}"}).validate(document)
        named = [field for field in schema["$defs"][name]["properties"] if field != "fairpot"]
        assert fields(page, name) == named, name
        assert set(document) == {"fairpot", *named}, name
    for heading, name in (("estimate", "Estimate"), ("finding", "Finding"), ("change", "Change")):
        found = fields(page, f"What is a{'n' * (name == 'Estimate')} {heading}?")
        assert found == list(schema["$defs"][name]["properties"])
    bare = json.loads(run("report", "scores.csv", "-o", "audit.html", "--json").out)
    jsonschema.Draft202012Validator({**whole(schema), "$ref": "#/$defs/report"}).validate(bare)
    top = ["--top", 0.5, "--repair-top", "--max-gap", 0.5, "--confidence", 0.9]
    certified = json.loads(run("fit", "scores.csv", *top, "--json").out)
    jsonschema.Draft202012Validator({**whole(schema), "$ref": "#/$defs/fit"}).validate(certified)
    assert [each["group"] for each in certified["certificate"]["starts"]] == ["a", "b"]
    short = json.loads(run("fit", "scores.csv", "--max-gap", 0.01, "--confidence", 0.95, "--json", expect=4).out)
    jsonschema.Draft202012Validator({**schema, "$ref": "#/$defs/fit"}).validate(short)
    assert all(f"`{field}`" in page.partition("\n## shortfall\n")[2] for field in short["shortfall"])


def test_every_key_of_the_settings_is_on_their_page():
    page = (PAGES / "settings.md").read_text(encoding="utf-8")
    named = re.findall(r"^\| `(\w+)` \| `(--[\w-]+)` \|", page, re.MULTILINE)
    assert [key for key, _ in named] == [key for section in known_keys().values() for key in section]
    assert all(flag == f"--{key.replace('_', '-')}" for key, flag in named)


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
