"""Rows to report on, and reports of them."""

import numpy as np
import pytest

from display_cases import make_rows
from fairpot import FairPOT
from fairpot.report import FairnessReport


@pytest.fixture(scope="session")
def rows():
    return make_rows(1200)


@pytest.fixture(scope="session")
def fitted(rows):
    scores, y, group = rows
    return FairPOT(None, max_gap=0.03, ties="half").fit(scores, y, sensitive_features=group)


@pytest.fixture(scope="session")
def report(fitted):
    return FairnessReport(fitted.table_, fitted, title="A report", outcome="a stroke", threshold=0.5)


@pytest.fixture(scope="session")
def places(report):
    """Ten settings of the dial, spread over it."""
    return np.linspace(0, len(report.content.dial.settings) - 1, 10).round().astype(int).tolist()
