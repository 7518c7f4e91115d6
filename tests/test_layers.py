"""The architecture as a test: who may import whom, and what importing fairpot may load."""

import ast
import subprocess
import sys
from pathlib import Path

import fairpot

ROOT = Path(fairpot.__file__).parent
LAYERS = {
    "exceptions": 0,
    "_version": 0,
    "_optional": 0.5,
    "_warn": 0,
    "_html": 0,
    "_arguments": 0,
    "_leftovers": 0,
    "transport": 0,  # imports nothing of ours
    "_validation": 1,
    "table": 1.5,
    "counting": 1.6,
    "metrics": 2,
    "datasets": 2,
    "models": 2,
    "engines": 2,
    "files": 2.5,
    "inference": 2.5,
    "splitting": 2,
    "tradeoff": 3,
    "training": 3,
    "modelfile": 3,
    "export": 3,
    "postprocessing": 4,
    "auditing": 5,
    "comparison": 5,
    "journeys": 5,
    "display": 5,
    "report": 6,
    "cli": 7,
}


def imports_of(path):
    """Yield the part of fairpot that each import statement names."""
    for node in ast.walk(ast.parse(path.read_text())):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} has a relative import"
            names = [node.module]
            if node.module == "fairpot":
                names = [f"fairpot.{alias.name}" for alias in node.names]
        for name in names:
            parts = name.split(".")
            assert parts[0] != "fairpot_paper", f"{path} imports what is built on it"
            if parts[0] == "fairpot" and len(parts) > 1:
                yield parts[1]


def test_layers():
    seen = set()
    for path in ROOT.rglob("*.py"):
        part = path.relative_to(ROOT).with_suffix("").parts[0]
        if part == "__init__":
            continue
        assert part in LAYERS, f"{path} belongs to no layer"
        seen.add(part)
        for other in imports_of(path):
            if other != part:
                assert LAYERS[other] < LAYERS[part], f"{path} imports {other}, which is not a lower layer"
                assert part != "transport", f"{path} imports {other}"
    assert {"transport", "table", "metrics", "tradeoff", "postprocessing"} <= seen


HEAVY = ["matplotlib", "altair", "duckdb", "pyarrow", "pyspark", "torch", "xgboost", "pooch", "ot", "polars", "pandas"]


def loaded_after(statement):
    code = f"{statement}; import sys; print(*[m for m in {HEAVY} if m in sys.modules])"
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()


def test_import_is_light():
    """Nothing heavy beyond what scikit-learn itself loads (pandas, if it is installed, and with it PyArrow)."""
    modules = "fairpot, fairpot.metrics, fairpot.postprocessing, fairpot.datasets, fairpot.tradeoff"
    assert loaded_after(f"import {modules}") == loaded_after("import sklearn.base")
    assert not set(loaded_after(f"import {modules}")) - {"pandas", "pyarrow"}


def test_public_names():
    assert len(fairpot.__all__) <= 15
    for name in fairpot.__all__:
        assert getattr(fairpot, name).__doc__
    assert (ROOT / "py.typed").exists()


def test_no_file_is_named_after_nothing():
    for path in ROOT.rglob("*.py"):
        assert path.stem not in {"utils", "helpers", "misc", "common", "base"}
