"""The real files where they are available, and rows with a signal."""

import numpy as np
import pytest

from real_scores import bank_scores, compas_scores, data_home  # noqa: F401  fixtures of all tests


@pytest.fixture(scope="session")
def rows():
    """Features, labels and weights; the outcome of one row in five."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(700, 4))
    y = (rng.random(700) < 1 / (1 + np.exp(2 - 1.5 * X[:, 0] - X[:, 1]))).astype(int)
    return X, y, rng.integers(1, 4, 700).astype(float)
