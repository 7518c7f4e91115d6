"""From rows to a repair in use: audit, fit, effect, apply, save; compare and fit the winner."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

import fairpot
from fairpot import FairPOT, FairScoreClassifier
from fairpot.exceptions import InfeasibleRuleError
from fairpot.metrics import xauc_gap
from rows_cases import draw


def test_the_default_repairs_and_does_not_overshoot():
    score, y, sex = draw(2000)
    fp = FairPOT().fit(score, y, sensitive_features=sex)
    after = xauc_gap(y, fp.transform(score, sensitive_features=sex), sensitive_features=sex)
    assert after < 0.01 < xauc_gap(y, score, sensitive_features=sex)
    with pytest.raises(ValueError, match=r"lam=\.\.\. and reference=\.\.\."):
        FairPOT().fit(score, sensitive_features=sex)


def test_the_whole_journey_from_a_frame_and_from_a_file(tmp_path):
    score, y, sex = draw(600)
    frame = pd.DataFrame({"risk": score, "outcome": y, "sex": sex})
    frame.to_csv(tmp_path / "rows.csv", index=False)
    columns = {"score": "risk", "label": "outcome", "group": "sex"}
    tables = [
        fairpot.score_table(y, score, sensitive_features=sex),
        fairpot.score_table(frame, **columns),
        fairpot.score_table(pl.from_pandas(frame), **columns),
        fairpot.score_table(tmp_path / "rows.csv", **columns),
    ]
    models = [FairPOT(max_gap=0.05).fit(table) for table in tables]
    assert len({fairpot.audit(table).gap for table in tables}) == 1
    assert len({model.lam_ for model in models}) == 1
    found = fairpot.effect(models[0], tables[3])
    assert found.after.gap <= 0.05
    assert found.frame().shape[0] >= 2
    done = fairpot.apply(models[3], tmp_path / "rows.csv", tmp_path / "fair.csv", score="risk", group="sex")
    assert done.rows == 600
    expected = models[0].transform(score, sensitive_features=sex)
    np.testing.assert_array_equal(pd.read_csv(tmp_path / "fair.csv")["risk_adjusted"], expected)
    models[0].save(tmp_path / "map.json", columns={"score": "risk", "group": ["sex"]})
    fairpot.apply(tmp_path / "map.json", tmp_path / "rows.csv", tmp_path / "again.csv")
    assert (tmp_path / "again.csv").read_bytes() == (tmp_path / "fair.csv").read_bytes()


def test_a_failed_refit_of_the_classifier_leaves_it_as_it_was():
    from sklearn.linear_model import LogisticRegression

    score, y, sex = draw(300)
    clf = FairScoreClassifier(LogisticRegression(), FairPOT(0.5)).fit(score[:, None], y, sensitive_features=sex)
    before = clf.predict_proba(score[:, None], sensitive_features=sex)
    clf.set_params(postprocessor=FairPOT(max_gap=0.0, max_auc_loss=0.0))
    with pytest.raises(InfeasibleRuleError):
        clf.fit(score[:, None], y, sensitive_features=sex)
    np.testing.assert_array_equal(clf.predict_proba(score[:, None], sensitive_features=sex), before)
