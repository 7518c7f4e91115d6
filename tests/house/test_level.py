"""The confidence level stands once: another one in _defaults is the level of every surface."""

import ast
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import fairpot

ROOT = Path(fairpot.__file__).parent
# Whatever is loaded before the level is changed must not have taken it over.
PROGRAM = """
import json, sys, fairpot, fairpot._defaults as defaults
assert [name for name, module in sys.modules.items() if name.startswith("fairpot.") and hasattr(module, "LEVEL")] == [
    "fairpot._defaults"
]
defaults.LEVEL = 0.8
from fairpot.cli import main
for command in json.loads(sys.argv[1]):
    print("$", *command, flush=True)
    try:
        sys.argv = ["fairpot", *command]
        main()
    except SystemExit as end:
        assert end.code in (0, None, 3), end.code
import pandas as pd
rows = pd.read_csv("rows.csv")
found = fairpot.audit(rows.outcome, rows.risk, sensitive_features=rows.sex)
better = fairpot.LogitShift(max_gap=0.05).fit(rows.risk, rows.outcome, sensitive_features=rows.sex)
effect = fairpot.effect(better, rows.risk, rows.outcome, sensitive_features=rows.sex)
compared = fairpot.compare(rows.outcome, rows.risk, sensitive_features=rows.sex, methods=["logit-shift", "wasserstein"])
for result in (found, effect, compared, better.tradeoff(), found.verdict(0.1), found.ratio_verdict()):
    print(result, getattr(result, "_repr_html_", str)(), sep="\\n")
from fairpot.report import people
print("quantile", people._QUANTILE)
"""
COMMANDS = (
    "audit rows.csv --score risk --label outcome --group sex --threshold 0.3 --all --bound 0.3 --min-ratio 0.1",
    "audit rows.csv --score risk --label outcome --group sex --high-score-means harm --rates --threshold 0.3",
    "audit rows.csv --score risk --group sex --for four-fifths --top 20%",
    "audit rows.csv --score risk --label outcome --group sex --json",
    "audit rows.csv --score risk --group sex --no-label",
    "fit rows.csv --score risk --label outcome --group sex --max-gap 0.05 --all --validate rows.csv -o map.json",
    "fit rows.csv --score risk --label outcome --group sex --max-gap 0.05 --json",
    "show map.json",
    "compare rows.csv --score risk --label outcome --group sex --method logit-shift --method wasserstein",
    "compare rows.csv --score risk --label outcome --group sex --method logit-shift --method wasserstein --json",
    "plan --max-gap 0.05",
    "plan rows.csv --score risk --label outcome --group sex --max-gap 0.05 --json",
    "report rows.csv --score risk --label outcome --group sex --map map.json -o repair.html",
    "report rows.csv --score risk --label outcome --group sex --map map.json -o repair.md",
    "report rows.csv --score risk --label outcome --group sex --map map.json -o repair.json",
    "report rows.csv --score risk --label outcome --group ward -o audit.html",
    "audit --help",
    "plan --help",
)


@pytest.fixture(scope="module")
def surfaces(tmp_path_factory):
    """What every surface says after the level was changed: by command and by file."""
    folder, rng, n = tmp_path_factory.mktemp("level"), np.random.default_rng(0), 1500
    sex, ward = rng.choice(["F", "M"], n), rng.choice(["north", "south", "west"], n)
    risk = np.round(rng.beta(2, 3, n) * np.where(sex == "M", 0.93, 0.7), 3)
    outcome = (rng.random(n) < risk).astype(int)
    pd.DataFrame({"risk": risk, "outcome": outcome, "sex": sex, "ward": ward}).to_csv(folder / "rows.csv", index=False)
    commands = json.dumps([each.split() for each in COMMANDS])
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, commands],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONWARNINGS": "ignore"},
    )
    assert done.returncode == 0, done.stdout[-500:] + done.stderr.partition("nanobind")[0][-2000:]
    files = {path.name: path.read_text(encoding="utf-8") for path in folder.glob("repair.*")}
    return {"printed": done.stdout, "audit.html": (folder / "audit.html").read_text(encoding="utf-8"), **files}


def test_a_level_that_is_changed_once_is_changed_everywhere(surfaces):
    for name, text in surfaces.items():
        shown = "\n".join(line for line in text.splitlines() if not line.strip().startswith("fairpot "))  # examples
        style = re.compile(r"<style>.*?</style>|<svg.*?</svg>", re.DOTALL)
        assert not re.findall(
            r".{30}\b95 ?%.{10}|.{30}\b95 of 100|.{30}[\s=]0?\.95[\s,.].{10}", style.sub("", shown)
        ), name
        if name != "repair.json":
            assert "80%" in shown, name
    assert re.search(r"quantile 1\.28155\d+", surfaces["printed"])


def test_documents_have_it_too(surfaces):
    found = re.findall(r'"(?:\w+_)?level": ([0-9.]+)', surfaces["printed"] + surfaces["repair.json"])
    assert len(found) > 5
    assert set(found) == {"0.8"}


def test_no_file_has_a_level_of_its_own():
    wrong = []
    for path in [*ROOT.rglob("*.py"), *ROOT.rglob("*.html"), *ROOT.rglob("*.js")]:
        text = path.read_text(encoding="utf-8")
        if path.suffix != ".py":
            wrong += [path.name] * ("95%" in text)
            continue
        tree = ast.parse(text)
        holders = (ast.Module, ast.ClassDef, ast.FunctionDef)
        docs = {
            id(node.body[0].value) for node in ast.walk(tree) if isinstance(node, holders) and ast.get_docstring(node)
        }
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and id(node) not in docs:
                number = isinstance(node.value, float) and (node.value in (0.95, 0.975) or 1.9599 < node.value < 1.9601)
                said = isinstance(node.value, str) and ("95%" in node.value or "0.95" in node.value)
                wrong += [f"{path.name}:{node.lineno}"] * (number or said)
    assert [each for each in wrong if not each.startswith("_defaults")] == []
