"""The architecture as a test: who may import whom, and what importing fairpot may load."""

import ast
import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import fairpot

ROOT = Path(fairpot.__file__).parent
MODULE = re.compile(r"fairpot(\.[a-z_]\w*)+")
# From the bottom up; a layer imports only from those below it.
ORDER = (
    ("_defaults", "_svg", "_lazy"),
    ("_said",),
    ("_docs",),
    ("_arguments", "_html", "_log", "_moved", "_version", "_warn", "exceptions"),
    ("_lineage",),
    ("_optional",),
    ("_shown",),
    ("transport",),
    ("_validation",),
    ("words",),
    ("counts",),
    ("follow_up",),
    ("table",),
    ("counting",),
    ("datasets", "metrics", "splitting"),
    ("inference", "rows"),
    ("export", "modelfile", "tradeoff"),
    ("repair",),
    ("methods",),
    ("results",),
    ("comparison", "display"),
    ("report",),
    ("cli",),
)
# Results draw themselves when they are asked to: one function leads to the pictures above them, by name. Another
# leads from the name of a method to its file: a repair knows no method, and every file of maps names one. A third leads
# from the path of a map file to its maps, which are then applied to rows. The door for columns leads to that for frames
# and files, so that whatever takes the ones takes the others.
BY_NAME = {("_shown", "display"), ("registry", "methods"), ("applying", "repair"), ("counting", "rows")}
LAYERS = {part: layer for layer, parts in enumerate(ORDER) for part in parts}


def imports_of(path):
    """Yield the part of fairpot that each import statement, and each text that is a module's name, leads to."""
    tree = ast.parse(path.read_text())
    typed = [node for node in ast.walk(tree) if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"]
    unread = {each for node in typed for each in ast.walk(node)}  # what only types need is not imported
    for node in ast.walk(tree):
        if node in unread:
            continue
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
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and MODULE.fullmatch(node.value):
            part = node.value.split(".")[1]
            if part in LAYERS and (path.stem, part) not in BY_NAME:
                assert importlib.util.find_spec(node.value), f"{path} names {node.value}, which is not there"
                yield part


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
                assert part != "transport" or other in ("_docs", "_shown"), f"{path} imports {other}"
    assert {"transport", "table", "metrics", "tradeoff", "repair", "methods"} <= seen


HEAVY = ["matplotlib", "altair", "duckdb", "pyarrow", "pyspark", "torch", "xgboost", "pooch", "ot", "polars", "pandas"]


def loaded_after(statement):
    code = f"{statement}; import sys; print(*[m for m in {HEAVY} if m in sys.modules])"
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()


def test_import_is_light():
    """Nothing heavy beyond what scikit-learn itself loads (pandas, if it is installed, and with it PyArrow)."""
    modules = "fairpot, fairpot.metrics, fairpot.methods, fairpot.repair, fairpot.datasets, fairpot.tradeoff"
    loaded = loaded_after(f"import {modules}")
    assert loaded == loaded_after("import sklearn.base")
    assert not set(loaded) - {"pandas", "pyarrow"}


def test_public_names():
    assert len(fairpot.__all__) <= 22
    for name in fairpot.__all__:
        assert getattr(fairpot, name).__doc__
    assert (ROOT / "py.typed").exists()


def test_no_file_is_named_after_nothing():
    for path in ROOT.rglob("*.py"):
        assert path.stem not in {"utils", "helpers", "misc", "common", "base"}
