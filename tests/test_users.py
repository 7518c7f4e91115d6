"""What people met who used the library in a notebook for the first time."""

import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.metrics import roc_auc_score

import fairpot
from fairpot import FairPOT, FairScoreClassifier, compare
from fairpot.exceptions import (
    InfeasibleRuleError,
    PredictionsWarning,
    ScaleWarning,
    SmallGroupWarning,
    TiesWarning,
)
from fairpot.metrics import auc, by_group, xauc_gap, xauc_matrix
from fairpot.postprocessing import PostLogit


def draw(n=400, seed=0, digits=3):
    rng = np.random.default_rng(seed)
    sex = rng.choice(["F", "M"], n)
    score = np.round(rng.beta(2, 3, n) * np.where(sex == "M", 1.0, 0.75), digits)
    return score, (rng.random(n) < score + 0.1 * (sex == "F")).astype(int), sex


def test_import_loads_nothing_and_reaches_everything():
    code = (
        "import sys, fairpot; print('sklearn' in sys.modules); fairpot.metrics.auc; fairpot.datasets; fairpot.FairPOT"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
    assert {"FairPOT", "metrics", "audit"} <= set(dir(fairpot))
    with pytest.raises(AttributeError, match="no attribute 'fairpott'"):
        fairpot.fairpott


def test_shuffled_index_is_refused_and_other_labels_are_not():
    score, y, sex = draw()
    frame = pd.DataFrame({"score": score, "y": y, "sex": sex})
    mixed = frame.sample(frac=1, random_state=1)
    for bad in (
        lambda: xauc_gap(frame["y"], mixed["score"], sensitive_features=frame["sex"]),
        lambda: FairPOT(0.5).fit(frame["score"], frame["y"], sensitive_features=mixed["sex"]),
        lambda: fairpot.audit(frame["y"], frame["score"], sensitive_features=mixed[["sex"]]),
    ):
        with pytest.raises(ValueError, match=r"in another order \(\d+ of 400 rows differ\)(.|\n)*Hint: bring them"):
            bad()
    later = frame.set_axis(np.arange(1000, 1400))
    as_arrays = xauc_gap(y, score, sensitive_features=sex)
    assert xauc_gap(later["y"], pd.Series(score), sensitive_features=later["sex"]) == as_arrays


def test_the_default_repairs_and_does_not_overshoot():
    score, y, sex = draw(2000)
    fp = FairPOT().fit(score, y, sensitive_features=sex)
    after = xauc_gap(y, fp.transform(score, sensitive_features=sex), sensitive_features=sex)
    assert after < 0.01 < xauc_gap(y, score, sensitive_features=sex)
    with pytest.raises(ValueError, match=r"lam=\.\.\. and reference=\.\.\."):
        FairPOT().fit(score, sensitive_features=sex)


def test_tiny_cells_are_told_with_their_counts():
    score, y, sex = draw(200)
    sex[:3] = "X"
    y[:3] = [0, 1, 0]
    with pytest.warns(SmallGroupWarning, match="'X' has only 1 positives"):
        FairPOT().fit(score, y, sensitive_features=sex)
    with pytest.warns(SmallGroupWarning, match=r"left out of the comparison: 'X' \(3 rows\)"):
        FairPOT(min_group=20).fit(score, y, sensitive_features=sex)


def test_ties_that_choose_otherwise_are_told():
    score, y, sex = draw(600, digits=1)
    with pytest.warns(TiesWarning, match="ties matter"):
        FairPOT().fit(score, y, sensitive_features=sex)


def test_half_ties_are_those_of_scikit_learn():
    score, y, sex = draw(600, digits=1)
    assert auc(y, score) == pytest.approx(roc_auc_score(y, score), abs=1e-14)
    found = fairpot.audit(y, score, sensitive_features=sex)
    assert found.auc == pytest.approx(roc_auc_score(y, score), abs=1e-14)
    assert any("ties matter" in text for text in found.warnings)


def test_frames_come_back_in_the_callers_library():
    score, y, sex = draw(100)
    for make, kind in ((pl.Series, pl.DataFrame), (pd.Series, pd.DataFrame)):
        columns = {"y_true": make(y), "y_score": make(score), "sensitive_features": make(sex)}
        assert isinstance(by_group(**columns), kind)
        assert isinstance(xauc_matrix(**columns), kind)
    narrow = pa.array(score.astype(np.float32))
    back = FairPOT(0.5).fit(score, y, sensitive_features=sex).transform(narrow, sensitive_features=sex)
    assert type(back) is pa.DoubleArray


def test_groups_of_pd_cut_can_be_saved(tmp_path):
    score, y, _ = draw(300)
    band = pd.cut(np.random.default_rng(1).integers(1, 90, 300), [0, 25, 90])
    fp = FairPOT(0.5).fit(score, y, sensitive_features=band)
    fp.save(tmp_path / "map.json")
    again = fairpot.load(tmp_path / "map.json").transform(score, sensitive_features=band)
    np.testing.assert_array_equal(again, fp.transform(score, sensitive_features=band))


def test_a_group_called_positive():
    score, y, sex = draw(100)
    named = np.where(sex == "F", "positive", "other")
    frame = xauc_matrix(y, score, sensitive_features=named)
    assert list(frame.columns) == ["positive_group", "other", "positive"]


def test_the_hint_for_labels_suggests_neither():
    with pytest.raises(ValueError, match=r"'died' \(1 rows\) and 'survived' \(2 rows\)") as told:
        auc(["died", "survived", "survived"], [0.1, 0.2, 0.3])
    assert "pos_label=..." in str(told.value)


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
    models = [FairPOT(max_gap=0.05).fit_table(table) for table in tables]
    assert len({fairpot.audit(table).gap for table in tables}) == 1
    assert len({model.lam_ for model in models}) == 1
    found = fairpot.effect(models[0], tables[3])
    assert found.after["gap"] <= 0.05
    assert found.frame().shape[0] >= 2
    done = fairpot.apply(models[3], tmp_path / "rows.csv", tmp_path / "fair.csv", score="risk", group="sex")
    assert done.rows == 600
    expected = models[0].transform(score, sensitive_features=sex)
    np.testing.assert_array_equal(pd.read_csv(tmp_path / "fair.csv")["risk_fair"], expected)
    models[0].save(tmp_path / "map.json", columns={"score": "risk", "group": ["sex"]})
    fairpot.apply(tmp_path / "map.json", tmp_path / "rows.csv", tmp_path / "again.csv")
    assert (tmp_path / "again.csv").read_bytes() == (tmp_path / "fair.csv").read_bytes()


def test_score_table_says_what_is_missing():
    score, y, sex = draw(10)
    frame = pd.DataFrame({"risk": score, "outcome": y, "sex": sex})
    with pytest.raises(TypeError, match="score is missing"):
        fairpot.score_table(frame, label="outcome", group="sex")
    with pytest.raises(ValueError, match="no column 'rsk'"):
        fairpot.score_table(frame, score="rsk", label="outcome", group="sex")
    with pytest.raises(TypeError, match="names a column of a frame or file"):
        fairpot.score_table(y, score, group="sex")
    with pytest.raises(TypeError, match="cannot be given besides"):
        fairpot.audit(fairpot.score_table(y, score, sensitive_features=sex), score)


def test_an_audit_object():
    score, y, sex = draw()
    found = fairpot.audit(y, score, sensitive_features=sex, threshold=0.4, alpha=0.2)
    assert found.gap == xauc_gap(y, score, sensitive_features=sex)
    assert set(found.frame("rates")["at"]) == {"score", "top"}
    assert len(found.frame("groups")) == 2
    assert found.frame().loc[0, "gap"] == found.gap
    assert "Of 1,000 pairs" in str(found)
    assert "<table>" in found._repr_html_()
    with pytest.raises(ValueError, match="part must be one of"):
        found.frame("all")


def test_names_are_escaped_in_notebooks():
    score, y, sex = draw(100)
    nasty = np.where(sex == "F", "<script>alert(1)</script>", "M")
    fp = FairPOT(0.5).fit(score, y, sensitive_features=nasty)
    result = compare(score, y, sensitive_features=nasty, methods="FairPOT", cv=2)
    shown = [fairpot.audit(y, score, sensitive_features=nasty), fp.table_, fp.tradeoff(), result]
    shown.append(fairpot.effect(fp, y, score, sensitive_features=nasty))
    for each in shown:
        assert "<script>" not in each._repr_html_()


def test_the_winner_of_a_comparison_can_be_fitted():
    score, y, sex = draw(1500)
    result = compare(score, y, sensitive_features=sex, methods=["FairPOT", "WassersteinRepair"], random_state=0)
    model = result.fit_best(0.03)
    assert type(model).__name__ == result.best(0.03).method
    assert xauc_gap(y, model.transform(score, sensitive_features=sex), sensitive_features=sex) <= 0.03 + 1e-12
    assert type(result.fit_best(0.03, method="FairPOT")) is FairPOT
    unbeaten = compare(score, y, sensitive_features=sex, methods={"flat": PostLogit(grid=[0.0])}, cv=2)
    with pytest.raises(InfeasibleRuleError, match="nothing beats the scores as they came"):
        unbeaten.fit_best(1.0)


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


def test_a_failed_refit_of_the_classifier_leaves_it_as_it_was():
    from sklearn.linear_model import LogisticRegression

    score, y, sex = draw(300)
    clf = FairScoreClassifier(LogisticRegression(), FairPOT(0.5)).fit(score[:, None], y, sensitive_features=sex)
    before = clf.predict_proba(score[:, None], sensitive_features=sex)
    clf.set_params(postprocessor=FairPOT(max_gap=0.0, max_auc_loss=0.0))
    with pytest.raises(InfeasibleRuleError):
        clf.fit(score[:, None], y, sensitive_features=sex)
    np.testing.assert_array_equal(clf.predict_proba(score[:, None], sensitive_features=sex), before)


def test_columns_beside_a_frame_or_a_file_are_refused(tmp_path):
    score, y, sex = draw(50)
    frame = pd.DataFrame({"risk": score, "outcome": y, "sex": sex})
    frame.to_csv(tmp_path / "rows.csv", index=False)
    named = {"score": "risk", "label": "outcome", "group": "sex"}
    for rows in (frame, tmp_path / "rows.csv"):
        with pytest.raises(TypeError, match="sample_weight is a column of its own"):
            fairpot.score_table(rows, **named, sample_weight=np.ones(50))
    words = fairpot.score_table(np.where(y, "a", "b").tolist(), score, sensitive_features=sex, pos_label="a")
    assert words.positives.sum() == y.sum()


def test_another_scale_is_told_by_effect_and_curve():
    score, y, sex = draw(400)
    fp = FairPOT(0.5).fit(score, y, sensitive_features=sex)
    assert any("far outside" in text for text in fairpot.effect(fp, y, score * 100, sensitive_features=sex).warnings)
    with pytest.warns(ScaleWarning, match="far outside"):
        fp.tradeoff(score * 100, y, sensitive_features=sex)


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
    assert "flagged at 0.4 or above, F" in str(fairpot.audit(y, score, sensitive_features=sex, threshold=0.4))
