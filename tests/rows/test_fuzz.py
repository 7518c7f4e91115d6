"""A few damaged files of every kind; ``benchmarks/fuzz.py`` tries as many as time allows."""

import importlib.util
from pathlib import Path

import pytest

pytest.importorskip("duckdb")
SCRIPT = Path(__file__).parents[2] / "benchmarks" / "fuzz.py"


def test_damaged_files():
    spec = importlib.util.spec_from_file_location("fuzz", SCRIPT)
    fuzz = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(fuzz)
    tried, refused, failures = fuzz.fuzz(seed=1, seconds=600, most=80)
    assert failures == []
    assert tried == 80
    assert 0 < refused < tried
