"""--memory bounds the whole process: tables that would not fit are quantised, rows that cannot be are refused."""

import json
import re
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from fairpot.exceptions import InputFileError
from fairpot.rows.readers import Memory

_TELLING = """
import atexit, runpy, sys
atexit.register(lambda: sys.stderr.write(open("/proc/self/status").read()))
runpy.run_module("fairpot.cli", run_name="__main__", alter_sys=True)
"""
COLUMNS = ["--score", "s", "--label", "y", "--group", "g"]


def draw(path, rows):
    """Write rows whose scores are all different, two visits for each person."""
    rng = np.random.default_rng(0)
    group = rng.choice(3, rows)
    y = (rng.random(rows) < 0.2 - 0.03 * group).astype(int)
    score = 1 / (1 + np.exp(1 + 0.3 * group - y - rng.normal(size=rows)))
    frame = pd.DataFrame({"s": score, "y": y, "g": np.array(list("abc"))[group], "who": np.arange(rows) // 2})
    frame.to_parquet(path)
    return path


@pytest.fixture(scope="module")
def some(tmp_path_factory):
    return draw(tmp_path_factory.mktemp("memory") / "some.parquet", 60_000)


@pytest.fixture(scope="module")
def many(tmp_path_factory):
    return draw(tmp_path_factory.mktemp("memory") / "many.parquet", 1_000_000)


def measured(*command):
    """Run a command; return what it answered and the most memory its process held, in bytes."""
    done = subprocess.run([sys.executable, "-c", _TELLING, *map(str, command)], capture_output=True, text=True)
    assert done.returncode == 0
    [peak] = re.findall(r"VmHWM:\s+(\d+) kB", done.stderr)  # of the program alone: a fork's parent may have held more
    return json.loads(done.stdout), int(peak) * 1024


@pytest.mark.parametrize("command", ["audit", pytest.param("fit", marks=pytest.mark.slow)])
def test_the_process_keeps_to_it(many, command):
    rule = ["--max-gap", "0.05"] if command == "fit" else []
    found, peak = measured(command, many, *COLUMNS, *rule, "--memory", "400MB", "--json")
    assert peak < 1.1 * 400e6
    assert 0 < found["quantisation"]["xauc"] < 1e-4
    if command == "fit":
        assert found["fitted"]["after"]["gap"] <= 0.05
        exact, more = measured(command, many, *COLUMNS, "--lam", "0.5", "--json")
        assert more > 1.1 * 400e6  # without the limit it would have been too much
        assert exact["quantisation"] is None
        gaps = [each["fitted"]["before"]["gap"] for each in (found, exact)]
        assert abs(gaps[0] - gaps[1]) <= 2 * found["quantisation"]["xauc"]


def test_more_memory_keeps_every_score(run, some):
    """A table of 50,000 entries is kept whatever the limit is; one of 60,000 is quantised at 350 MB."""
    command = ["fit", some, *COLUMNS, "--lam", "0.5", "--json"]
    assert json.loads(run(*command, "--memory", "350MB").out)["quantisation"] is not None
    assert json.loads(run(*command, "--memory", "1GB").out)["quantisation"] is None


@pytest.mark.parametrize("size", ["50MB", "300MB", "349MB", "10KB"])
def test_less_than_the_libraries_take_is_refused(run, some, size):
    told = run("audit", some, *COLUMNS, "--memory", size, expect=2).err
    assert "is less than the libraries that read rows take.\nHint: --memory 350MB is the least" in told


@pytest.mark.slow
@pytest.mark.parametrize("command", [["audit"], ["fit", "--lam", "0.5"], ["compare", "--folds", "2"]])
def test_the_least_is_kept(some, command):
    _, peak = measured(command[0], some, *COLUMNS, *command[1:], "--memory", "350MB", "--json")
    assert peak < 1.1 * 350e6


def test_clusters_are_refused_where_they_do_not_fit(run, some):
    """Rows that belong together cannot be put into bins."""
    told = run("audit", some, *COLUMNS, "--cluster", "who", "--memory", "350MB", expect=2).err
    assert "there are more than 50,000 rows, and rows that belong together are counted one by one" in told
    assert "or --memory 1GB." in told


def test_simplified_maps_are_told(run, many, tmp_path):
    output = tmp_path / "map.json"
    command = ["fit", many, *COLUMNS, "--lam", "0.9", "--memory", "400MB", "-o", output]
    assert "maps simplified from " in run(*command).out
    assert output.stat().st_size < 5_000_000
    shown = json.loads(run("show", output, "--json").out)["simplified"]
    assert shown["knots"] <= 100_000 < shown["knots_before"]
    assert f"adjusted scores within {shown['largest_error']:.2g} of the full maps'" in run("show", output).out
    again = json.loads(run(*command, "--force", "--json").out)
    assert again["simplified"] == shown
    assert abs(shown["gap_change"]) < 1e-5


def test_sizes():
    sizes = {"2GB": 2 * 10**9, "1.5 gib": 1610612736, "500MB": 5 * 10**8, "10B": 10}
    assert {text: Memory.of(text).size for text in sizes} == sizes
    assert Memory.of(Memory.for_clustered(10**7)).clustered_rows >= 10**7
    for wrong in ("lots", "2", "GB", "-1GB", "80%"):
        with pytest.raises(InputFileError, match="memory_limit is an amount of memory"):
            Memory.of(wrong)
