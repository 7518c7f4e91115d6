"""Rows with a known gap."""

import pytest

from display_cases import make_rows
from fairpot import FairPOT, ScoreTable


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
