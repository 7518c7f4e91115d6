"""Columns that do not belong together, or are not there, are refused with the way out."""

import numpy as np
import pandas as pd
import pytest

import fairpot
from fairpot import FairPOT
from fairpot.metrics import auc, xauc_gap
from rows_cases import draw


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


def test_the_hint_for_labels_suggests_neither():
    with pytest.raises(ValueError, match=r"'died' \(1 row\) and 'survived' \(2 rows\)") as told:
        auc(["died", "survived", "survived"], [0.1, 0.2, 0.3])
    assert "pos_label=..." in str(told.value)
