"""Two models' scores of the same rows."""

import numpy as np
import pytest

from fairpot import effect
from fairpot.metrics import auc


def test_limits_of_a_difference_cover_it_and_are_narrower_than_those_of_both_apart():
    """Resampled rows give the spread of the difference, which pairing makes small."""
    n, rng = 900, np.random.default_rng(12)
    ward, y = rng.choice(["east", "hill"], n, p=[0.55, 0.45]), (rng.random(n) < 0.35).astype(int)
    old = y + rng.normal(0, 1, n) + 0.6 * (ward == "hill")
    new = old - 0.4 * (ward == "hill") + rng.normal(0, 0.1, n)
    change = effect(y, before=old, after=new, sensitive_features=ward).changes.auc
    drawn = [rng.integers(0, n, n) for _ in range(300)]
    spread = np.std([auc(y[i], new[i]) - auc(y[i], old[i]) for i in drawn])
    apart = np.std([auc(y[i], new[i]) for i in drawn]) * np.sqrt(2)
    assert change.se == pytest.approx(spread, rel=0.15)
    assert change.se < apart / 2
