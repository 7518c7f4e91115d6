"""What the pages about the command line say is what it does: printed lines, JSON fields, settings, entry point."""

import importlib
import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import jsonschema
import numpy as np
import pandas as pd
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


def told(properties):
    """The fields that a table names: a number with limits has one line."""
    ends = ("low", "high", "se", "reason")
    beside = {f"{name}_{end}" for name in properties for end in ends if f"{name}_low" in properties}
    return [name for name in properties if name not in beside and name != "fairpot"]


def test_the_schema_is_that_of_the_records():
    """To write it anew: python docs/_schema.py > docs/reference/documents.schema.json."""
    made = subprocess.run([sys.executable, ROOT / "docs" / "_schema.py"], capture_output=True, text=True, check=True)
    assert (PAGES / "documents.schema.json").read_text(encoding="utf-8") == made.stdout


def test_documents_have_the_fields_that_schema_and_page_name(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    schema = json.loads((PAGES / "documents.schema.json").read_text(encoding="utf-8"))
    page = (PAGES / "programs.md").read_text(encoding="utf-8")

    def check(name, *arguments, expect=0):
        document = json.loads(run(*arguments, "--json", expect=expect).out)
        jsonschema.Draft202012Validator({**whole(schema), "$ref": f"#/$defs/{name}"}).validate(document)
        return document

    run("datasets", "write", "synthetic", "scores.csv")
    gates = ["--threshold", 0.3, "--top", 0.5, "--bound", 0.9, "--require", "within", "--fail-above", 0.9]
    made = {
        "datasets write": ["datasets", "write", "synthetic", "again.csv", "--rows", 50],
        "audit": ["audit", "scores.csv", *gates],
        "fit": ["fit", "scores.csv", "--max-gap", 0.05, "--validate", "scores.csv", "--top", 99, "-o", "map.json"],
        "apply": ["apply", "map.json", "scores.csv", "-o", "adjusted.csv"],
        "compare": ["compare", "scores.csv", "--method", "fairpot", "--method", "wasserstein"],
        "plan": ["plan", "--gap", 0.2, "--auc", 0.75, "--share", 0.2, "--rate", 0.1],
        "show": ["show", "map.json"],
        "export": ["export", "map.json", "--to", "python"],
    }
    for name, arguments in made.items():
        check(name, *arguments)
    run("export", "map.json", "--to", "python", "-o", "map.py")
    check("show an export", "show", "map.py", "--map", "map.json")
    for name in (*made, "report", "uncertified", "show an export"):
        assert fields(page, name) == told(schema["$defs"][name]["properties"]), name
    for name in ("Statement", "Change", "Effect"):
        heading = f"What is a{'n' * (name == 'Effect')} {name.lower()}?"
        assert fields(page, heading) == told(schema["$defs"][name]["properties"])
    top = ["--top", 0.5, "--repair-top", "--max-gap", 0.5, "--confidence", 0.9]
    certified = check("fit", "fit", "scores.csv", *top)
    assert [each["group"] for each in certified["certificate"]["starts"]] == ["a", "b"]
    assert certified["fitted"]["checked"]["certificate"]["bound"] == 0.5
    check("fit", "fit", "scores.csv", "--max-gap", 0.1, "--keep", "probabilities")
    short = check("uncertified", "fit", "scores.csv", "--max-gap", 0.01, "--confidence", 0.95, expect=4)
    assert all(f"`{field}`" in page.partition("\n## shortfall\n")[2] for field in short["shortfall"])


def test_documents_of_reports_follow_the_schema(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    schema = json.loads((PAGES / "documents.schema.json").read_text(encoding="utf-8"))
    run("datasets", "write", "synthetic", "scores.csv")
    for more in ([], ["--max-gap", 0.05, "--top", "10%", "--threshold", 0.4]):
        document = run("report", "scores.csv", *more, "-o", "page.html", "--force", "--json").json
        jsonschema.Draft202012Validator({**whole(schema), "$ref": "#/$defs/report"}).validate(document)


@pytest.mark.parametrize("more", [["--lower-is-riskier"], ["--weight", "w"], ["--cluster", "c"]])
def test_documents_follow_the_schema_whatever_rows_are(run, tmp_path, more):
    """Three groups that are numbers, one of them tiny, so that there is more than one kind of missing number."""
    rng = np.random.default_rng(0)
    n = 400
    rows = {"score": rng.normal(size=n).round(2), "label": rng.integers(0, 2, n), "group": rng.integers(0, 2, n)}
    frame = pd.DataFrame({**rows, "w": rng.random(n), "c": rng.integers(0, 90, n)})
    frame.loc[:2, "group"] = 7
    frame.to_csv(tmp_path / "rows.csv", index=False)
    schema = json.loads((PAGES / "documents.schema.json").read_text(encoding="utf-8"))
    for name, asked in (("audit", ["--top", 0.2, "--threshold", 0]), ("fit", ["--lam", 0.5, "--min-group", 30])):
        document = run(name, tmp_path / "rows.csv", *asked, *more, "--json").json
        jsonschema.Draft202012Validator({**whole(schema), "$ref": f"#/$defs/{name}"}).validate(document)


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
    monkeypatch.setattr("sys.argv", ["fairpot", "datasets"])
    with pytest.raises(SystemExit) as done:
        fairpot.cli.main()
    assert done.value.code == 0
    assert "synthetic" in capsys.readouterr().out
