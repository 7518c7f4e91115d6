"""The README's first command does the whole job."""

import csv
import subprocess
import sys
from pathlib import Path

from fairpot import load

DEMO = Path(__file__).parents[2] / "examples" / "demo.py"


def test_demo(tmp_path):
    result = subprocess.run([sys.executable, DEMO, tmp_path / "out"], capture_output=True, text=True, check=True)
    for part in ("Audit", "overall gap", "is moved", "trade-off", "which the repair was not fitted on", "Next:"):
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
