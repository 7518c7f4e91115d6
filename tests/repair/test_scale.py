"""Scores on another scale than those of fit are told."""

import warnings

import numpy as np
import pytest

import fairpot
from fairpot import FairPOT
from fairpot.exceptions import ScaleWarning
from rows_cases import draw


def test_another_scale_is_told_by_effect_and_curve():
    score, y, sex = draw(400)
    fp = FairPOT(0.5).fit(score, y, sensitive_features=sex)
    assert any("far outside" in text for text in fairpot.effect(fp, score * 100, y, sensitive_features=sex).warnings)
    with pytest.warns(ScaleWarning, match="far outside"):
        fp.tradeoff(score * 100, y, sensitive_features=sex)


@pytest.mark.parametrize(("far", "told"), [(0, False), (2, False), (3, True), (100, True)])
def test_more_than_one_row_in_a_hundred_far_outside_is_another_scale(far, told):
    score, y, sex = draw(400)
    fp = FairPOT(0.5).fit(score, y, sensitive_features=sex)
    batch = np.resize(score, 200)
    batch[:far] = score.max() + 0.6 * (score.max() - score.min())
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fp.transform(batch, sensitive_features=sex[:200])
    said = [str(each.message) for each in caught if each.category is ScaleWarning]
    assert bool(said) == told
    assert all(f"{far} of 200 scores lie far outside the fitted range" in text for text in said)
