"""What an effect warns of."""

import numpy as np

import fairpot
from fairpot import FairPOT


def test_lost_calibration_and_a_small_reference_are_said():
    rng = np.random.default_rng(0)
    n = 4000
    sex = np.where(rng.random(n) < 0.04, "F", "M")
    score = rng.beta(2, 6, n)
    y = (rng.random(n) < score).astype(int)
    score = np.where(sex == "F", np.minimum(score * 1.6, 1), score)
    fp = FairPOT(1.0, reference="F").fit(score, y, sensitive_features=sex)
    told = " ".join(fairpot.effect(fp, y, score, sensitive_features=sex).warnings)
    assert "small beside 'M'" in told
    assert "times worse" in told or "is lost" in told
