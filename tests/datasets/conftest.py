"""Where the published files lie, and a machine that has none of them."""

import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def data_home() -> Path:
    folder = Path(os.environ.get("FAIRPOT_DATA") or Path(__file__).parents[3] / "shared" / "data")
    if not (folder / "bank-full.csv").is_file() or not (folder / "compas-scores-two-years.csv").is_file():
        pytest.skip(f"the published files are not in {folder}; set FAIRPOT_DATA to their folder")
    return folder


@pytest.fixture
def clean_machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """No data folder, an empty cache, and a network where nothing answers; returns the cache's parent."""
    monkeypatch.delenv("FAIRPOT_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path / "cache"))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("https_proxy", "http://127.0.0.1:9")
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    return tmp_path
