"""Real files where they are at hand, and scores of boosted models on them: what every method is tried on."""

import os
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest

COMPAS_FEATURES = ["age", "race", "juv_fel_count", "juv_misd_count", "juv_other_count", "priors_count"]


@pytest.fixture(scope="session")
def data_home() -> Path:
    """The folder with the real Bank and COMPAS files."""
    folder = Path(os.environ.get("FAIRPOT_DATA") or Path(__file__).parents[3] / "shared" / "data")
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
