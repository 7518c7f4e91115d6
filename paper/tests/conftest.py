"""The real files where they are available."""

import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def data_home() -> Path:
    """The folder with the real Bank and COMPAS files."""
    folder = Path(os.environ.get("FAIRPOT_DATA") or Path(__file__).parents[3] / "shared" / "data")
    if not all((folder / name).is_file() for name in ("bank-full.csv", "compas-scores-two-years.csv")):
        pytest.skip(f"the published files are not in {folder}; set FAIRPOT_DATA to their folder")
    return folder
