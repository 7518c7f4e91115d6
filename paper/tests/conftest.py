"""The real files where they are available, and rows with a signal."""

import os
from pathlib import Path

import numpy as np
import pytest


@pytest.fixture(scope="session")
def data_home() -> Path:
    """The folder with the real Bank and COMPAS files."""
    folder = Path(os.environ.get("FAIRPOT_DATA") or Path(__file__).parents[3] / "shared" / "data")
    if not all((folder / name).is_file() for name in ("bank-full.csv", "compas-scores-two-years.csv")):
        pytest.skip(f"the published files are not in {folder}; set FAIRPOT_DATA to their folder")
    return folder


@pytest.fixture(scope="session")
def rows():
    """Features, labels and weights; the outcome of one row in five."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(700, 4))
    y = (rng.random(700) < 1 / (1 + np.exp(2 - 1.5 * X[:, 0] - X[:, 1]))).astype(int)
    return X, y, rng.integers(1, 4, 700).astype(float)
