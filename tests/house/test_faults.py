"""A few faults at random moments of some commands; ``make faults`` tries every fault on every command."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("duckdb")
SCRIPT = Path(__file__).parents[2] / "benchmarks" / "faults.py"


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="forks, and asks Linux for its memory")
def test_a_slice_of_the_tier():
    faults = ["kill -9", "SIGTERM", "SIGINT", "file limit", "slow input", "memory"]
    line = [sys.executable, SCRIPT, "--seed", "3", "--trials", "6", "--json"]
    line += ["--commands", "fit", "apply", "export sql", "--faults", *faults]
    done = subprocess.run(line, env=os.environ | {"OMP_NUM_THREADS": "1"}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert json.loads(done.stdout) == {"tried": 6, "survived": 6, "by_signal": 0, "failures": []}
