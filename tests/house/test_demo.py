"""The README's first command does the whole job."""

import csv
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from fairpot import load

DEMO = Path(__file__).parents[2] / "examples" / "demo.py"


def test_demo(tmp_path):
    result = subprocess.run([sys.executable, DEMO, tmp_path / "out"], capture_output=True, text=True, check=True)
    for part in ("Audit", "overall gap", "is moved", "trade-off", "before 0.", "Next:"):
        assert part in result.stdout
    with (tmp_path / "out" / "tradeoff.csv").open() as file:
        curve = list(csv.DictReader(file))
    assert float(curve[0]["lam"]) == 0
    assert float(curve[-1]["lam"]) == 1
    with (tmp_path / "out" / "adjusted.csv").open() as file:
        people = list(csv.DictReader(file))
    model = load(tmp_path / "out" / "map.json")
    scores, groups = [float(row["score"]) for row in people], [row["group"] for row in people]
    expected = model.transform(scores, sensitive_features=groups)
    assert [float(row["adjusted"]) for row in people] == expected.tolist()


@pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")
@pytest.mark.parametrize(("given", "taken"), [("C", "C.UTF-8"), ("POSIX", "C.UTF-8"), ("C.UTF-8", "C.UTF-8")])
def test_make_reads_and_writes_paths_in_more_than_ascii(given, taken):
    """In a folder called Übung, setuptools writes the path of an editable install as the locale says."""
    show = f"include {DEMO.parents[1] / 'Makefile'}\nshow-locale:\n\t@echo $$LC_ALL\n\t@locale charmap\n"
    words = ["make", "--no-print-directory", "-f", "-", "show-locale"]
    environment = os.environ | {"LC_ALL": given}
    done = subprocess.run(words, input=show, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.split() == [taken, "UTF-8"]
