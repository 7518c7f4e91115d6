"""The oracles themselves, against each other: an error in one of them would hide an error in the code."""

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

import oracles


def test_projection_by_fractions_equals_the_linear_programme():
    rng = np.random.default_rng(0)
    for _ in range(40):
        b, a = rng.integers(0, 9, rng.integers(1, 7)) / 8, rng.integers(0, 9, rng.integers(1, 7)) / 8
        exact, lp = oracles.project(b, a), oracles.project_lp(b, a)
        assert exact.keys() == lp.keys()
        assert [exact[s] for s in exact] == pytest.approx([lp[s] for s in exact], abs=1e-9)


def test_half_auc_equals_scikit_learn():
    rng = np.random.default_rng(1)
    y, s = np.r_[0, 1, rng.integers(0, 2, 50)], rng.integers(0, 9, 52) / 8
    assert oracles.auc(y, s, half=True) == pytest.approx(roc_auc_score(y, s), abs=1e-14)
