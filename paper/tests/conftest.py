"""The real files where they are at hand, and the tests of a file kept together on one core."""

import os
from pathlib import Path

import pytest


def pytest_collection_modifyitems(config, items):
    """Keep the tests of a file together: most of them share one run."""
    if not config.pluginmanager.hasplugin("xdist"):
        return
    for item in items:
        if item.path.is_relative_to(Path(__file__).parent):
            item.add_marker(pytest.mark.xdist_group(item.path.as_posix()))


@pytest.fixture(scope="session")
def data_home() -> Path:
    """The folder with the real Bank and COMPAS files."""
    folder = Path(os.environ.get("FAIRPOT_DATA") or Path(__file__).parents[3] / "shared" / "data")
    if not all((folder / name).is_file() for name in ("bank-full.csv", "compas-scores-two-years.csv")):
        pytest.skip(f"the published files are not in {folder}; set FAIRPOT_DATA to their folder")
    return folder
