"""Importing the package costs little and reaches everything."""

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

import fairpot


def test_import_loads_nothing_and_reaches_everything():
    code = (
        "import sys, fairpot; print('sklearn' in sys.modules); fairpot.metrics.auc; fairpot.datasets; fairpot.FairPOT"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
    assert {"FairPOT", "metrics", "audit"} <= set(dir(fairpot))
    with pytest.raises(AttributeError, match="no attribute 'fairpott'"):
        fairpot.fairpott


@pytest.mark.parametrize("name", ["rows.csv", "rows.parquet"])
def test_rows_are_counted_and_adjusted_without_heavy_packages(tmp_path, name):
    """What a small file needs is NumPy, Narwhals, PyArrow and, to count, DuckDB."""
    frame = pd.DataFrame({"score": np.arange(40) / 40, "label": [0, 1] * 20, "group": ["a", "a", "b", "b"] * 10})
    getattr(frame, f"to_{name.split('.')[1]}")(tmp_path / name, index=False)
    fairpot.FairPOT(0.5).fit(fairpot.score_table(frame)).save(tmp_path / "map.json")
    heavy = ["sklearn", "pandas", "polars", "scipy.stats", "scipy.special", "pyarrow.dataset", "openpyxl"]
    code = f"""
import sys, fairpot
fairpot.score_table({name!r})
fairpot.apply("map.json", {name!r}, "adjusted-{name}")
print(*[module for module in {heavy} if module in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert done.stdout.split() == []
    assert (tmp_path / f"adjusted-{name}").exists()


def test_the_methods_and_the_report_are_at_the_top():
    for name in fairpot.methods.__all__:
        assert getattr(fairpot, name) is getattr(fairpot.methods, name)
        assert name in dir(fairpot)
    assert fairpot.FairnessReport.__name__ in fairpot.__all__


@pytest.mark.parametrize("first", ["", "import fairpot.report, fairpot.tradeoff"])
def test_parts_that_read_like_functions_lead_to_one(first):
    ways = {"report": "FairnessReport.from_predictions(", "tradeoff": ".tradeoff()"}
    code = f"""
import fairpot
{first}
for part in (fairpot.report, fairpot.tradeoff):
    try:
        part([0, 1], [0.2, 0.3])
    except TypeError as error:
        print(str(error).splitlines()[0], str(error).splitlines()[-1])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    for (name, way), line in zip(ways.items(), done.stdout.splitlines(), strict=True):
        assert line.startswith(f"fairpot.{name} is a part of the library")
        assert way in line
    assert fairpot.tradeoff.auc_limit.__doc__  # they go on being modules


def test_a_part_shows_what_is_its_own():
    assert dir(fairpot.metrics) == sorted(fairpot.metrics.__all__)
