import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def data_home() -> Path:
    """The folder with the real Bank and COMPAS files."""
    folder = Path(os.environ.get("FAIRPOT_DATA", Path(__file__).parents[2] / "shared" / "data"))
    if not (folder / "bank-full.csv").exists():
        pytest.skip(f"no real data in {folder}; set FAIRPOT_DATA to the folder that has it")
    return folder
