"""Rows with a known gap, and a picture-less matplotlib."""

import matplotlib as mpl
import pytest

from display_cases import make_rows
from fairpot import FairPOT, ScoreTable

mpl.use("agg")


@pytest.fixture(autouse=True)
def closed_figures():
    from matplotlib import pyplot as plt

    yield
    plt.close("all")


@pytest.fixture(scope="session")
def rows():
    return make_rows()


@pytest.fixture(scope="session")
def fitted(rows):
    scores, y, group = rows
    return FairPOT(0.5, ties="half").fit(scores, y, sensitive_features=group)


@pytest.fixture(scope="session")
def table(fitted) -> ScoreTable:
    return fitted.table_
