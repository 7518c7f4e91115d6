"""Real files where they are at hand, and scores of boosted models on them: what every method is tried on."""

import gc
import os
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, settings

# The same examples in every run, however busy the machine; HYPOTHESIS_PROFILE=default looks for new ones, and for more.
calm = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("steady", derandomize=True, max_examples=60, **calm)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "steady"))

# What a terminal or a CI says of itself changes what is printed: tests say it where they mean it.
for name in (
    "COLUMNS",
    "FORCE_COLOR",
    "LINES",
    "NO_COLOR",
    "PYTHONWARNINGS",
    "TERM",
    "TTY_COMPATIBLE",
    "TTY_INTERACTIVE",
):
    os.environ.pop(name, None)

os.environ.setdefault("MPLBACKEND", "agg")  # pictures are drawn, and shown to nobody

# What takes longest begins first, so that no worker is left alone with it at the end.
LONGEST = ("paper/tests/test_rerun.py", "spark")

COMPAS_FEATURES = ["age", "race", "juv_fel_count", "juv_misd_count", "juv_other_count", "priors_count"]


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Keep the tests of a file on one worker, and those of the Spark cluster, which is started once and first."""
    from xdist.scheduler import LoadScopeScheduling

    class ByFile(LoadScopeScheduling):
        def _split_scope(self, nodeid):
            return "spark" if "/spark" in nodeid else nodeid.partition("::")[0]

        def _assign_work_unit(self, node):
            for scope in LONGEST:
                if scope in self.workqueue:
                    self.workqueue.move_to_end(scope, last=False)
            super()._assign_work_unit(node)

    return ByFile(config, log)


def pytest_collection_finish(session):
    """Look no more for garbage among all that the tests have imported: each look would take a fifth of a second."""
    gc.collect()
    gc.freeze()


def pytest_unconfigure(config):
    gc.unfreeze()


@pytest.fixture(autouse=True)
def closed_figures():
    """Close what a test has drawn."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")


@pytest.fixture
def few_draws(monkeypatch):
    """Draw a tenth of the tables for a plan, where it is compared with the same plan asked for in another way."""
    monkeypatch.setattr("fairpot.inference.sample_size._FINE", 600)


@pytest.fixture(scope="session")
def data_home() -> Path:
    """The folder with the real Bank and COMPAS files."""
    folder = Path(os.environ.get("FAIRPOT_DATA") or Path(__file__).parents[2] / "shared" / "data")
    if not all((folder / name).is_file() for name in ("bank-full.csv", "compas-scores-two-years.csv")):
        pytest.skip(f"the published files are not in {folder}; set FAIRPOT_DATA to their folder")
    return folder


class Scored(NamedTuple):
    scores: np.ndarray
    y: np.ndarray
    group: np.ndarray

    def take(self, rows):
        return Scored(*(column[rows] for column in self))


def scored(frame: pd.DataFrame, y: np.ndarray, group: np.ndarray) -> Scored:
    """Score one half of the rows with a model trained on the other."""
    xgboost = pytest.importorskip("xgboost")
    features = pd.get_dummies(frame).to_numpy(dtype=np.float64)
    training = np.random.default_rng(0).random(len(y)) < 0.5
    model = xgboost.XGBClassifier(n_estimators=60, max_depth=4, n_jobs=1, random_state=0)
    model.fit(features[training], y[training])
    probability = model.predict_proba(features[~training])[:, 1].astype(np.float64)
    return Scored(probability, y[~training], group[~training])


@pytest.fixture(scope="session")
def bank_scores(data_home: Path) -> Scored:
    frame = pd.read_csv(data_home / "bank-full.csv", sep=";")
    y = (frame.pop("y") == "yes").to_numpy(dtype=np.int64)
    return scored(frame, y, np.where(frame["age"] < 25, "young", "older"))


@pytest.fixture(scope="session")
def compas_scores(data_home: Path) -> Scored:
    frame = pd.read_csv(data_home / "compas-scores-two-years.csv")
    y = frame["two_year_recid"].to_numpy(dtype=np.int64)
    return scored(frame[COMPAS_FEATURES], y, frame["sex"].to_numpy(dtype=object))
