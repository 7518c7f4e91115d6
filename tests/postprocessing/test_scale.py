"""Scores on another scale than those of fit are told."""

import pytest

import fairpot
from fairpot import FairPOT
from fairpot.exceptions import ScaleWarning
from rows_cases import draw


def test_another_scale_is_told_by_effect_and_curve():
    score, y, sex = draw(400)
    fp = FairPOT(0.5).fit(score, y, sensitive_features=sex)
    assert any("far outside" in text for text in fairpot.effect(fp, y, score * 100, sensitive_features=sex).warnings)
    with pytest.warns(ScaleWarning, match="far outside"):
        fp.tradeoff(score * 100, y, sensitive_features=sex)
