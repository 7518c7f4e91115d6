"""What may mislead is said: small cells, ties, predictions."""

import pytest
from sklearn.metrics import roc_auc_score

import fairpot
from fairpot import FairPOT
from fairpot.exceptions import PredictionsWarning, SmallGroupWarning
from fairpot.metrics import auc
from rows_cases import draw


def test_tiny_cells_are_told_with_their_counts():
    score, y, sex = draw(200)
    sex[:3] = "X"
    y[:3] = [0, 1, 0]
    with pytest.warns(SmallGroupWarning, match="X has only 1 row with the outcome "):
        FairPOT().fit(score, y, sensitive_features=sex)
    with pytest.warns(SmallGroupWarning, match=r"left out of the comparison: 'X' \(3 rows\)"):
        FairPOT().fit(score, y, sensitive_features=sex, min_group=20)


def test_predictions_and_small_groups_are_told_by_fit_and_audit():
    score, y, sex = draw(400)
    hard = (score > 0.4).astype(float)
    for call in (
        lambda: FairPOT(0.5).fit(hard, y, sensitive_features=sex),
        lambda: fairpot.audit(y, hard, sensitive_features=sex),
    ):
        with pytest.warns(PredictionsWarning, match="look like predictions"):
            call()
    with pytest.warns(SmallGroupWarning, match="has only"):
        fairpot.audit(y[:40], score[:40], sensitive_features=sex[:40])


def test_half_ties_are_those_of_scikit_learn():
    score, y, sex = draw(600, digits=1)
    assert auc(y, score) == pytest.approx(roc_auc_score(y, score), abs=1e-14)
    found = fairpot.audit(y, score, sensitive_features=sex)
    assert found.auc == pytest.approx(roc_auc_score(y, score), abs=1e-14)
    assert any("Ties matter" in text for text in found.warnings)
