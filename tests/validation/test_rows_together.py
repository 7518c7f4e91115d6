"""Columns that do not belong together, or are not there, are refused with the way out."""

from functools import cache

import numpy as np
import pandas as pd
import pytest

import fairpot
from fairpot import FairPOT
from fairpot.metrics import auc, xauc_gap
from rows_cases import draw


def test_shuffled_index_is_refused_and_a_numbering_is_not():
    score, y, sex = draw()
    frame = pd.DataFrame({"score": score, "y": y, "sex": sex})
    mixed = frame.sample(frac=1, random_state=1)
    for bad in (
        lambda: xauc_gap(frame["y"], mixed["score"], sensitive_features=frame["sex"]),
        lambda: FairPOT(0.5).fit(frame["score"], frame["y"], sensitive_features=mixed["sex"]),
        lambda: fairpot.audit(frame["y"], frame["score"], sensitive_features=mixed[["sex"]]),
    ):
        with pytest.raises(ValueError, match=r"in another order \(\d+ of 400 rows differ\)(.|\n)*Hint: pass the same"):
            bad()
    later = frame.set_axis(np.arange(1000, 1400))
    as_arrays = xauc_gap(y, score, sensitive_features=sex)
    assert xauc_gap(later["y"], pd.Series(score), sensitive_features=later["sex"]) == as_arrays


def drawn_frame() -> pd.DataFrame:
    """Scores with a gap, under ids that are no numbering."""
    rng = np.random.default_rng(12)
    region, ill = rng.choice(["north", "south", "west"], 900), rng.integers(0, 2, 900)
    score = rng.normal(ill + 0.8 * (region == "south"))
    ids = [f"p{k}" for k in rng.permutation(5000)[:900]]
    return pd.DataFrame({"score": score, "y": ill, "group": region}, index=ids)


@cache
def uses_of_rows():
    """Name everything that takes rows, as a function of a frame's scores, outcomes, groups and another column."""
    from sklearn.linear_model import LogisticRegression

    from fairpot.inference import confidence_interval
    from fairpot.metrics import xauc_gap_scorer

    rows = drawn_frame()
    fitted = FairPOT(0.5).fit(rows["score"], rows["y"], sensitive_features=rows["group"])
    model = LogisticRegression().fit(rows[["score"]], rows["y"])
    made = fairpot.FairScoreClassifier(LogisticRegression()).fit(
        rows[["score"]], rows["y"], sensitive_features=rows["group"]
    )
    return {
        "score_table": lambda s, y, g: fairpot.score_table(y, s, sensitive_features=g),
        "drop_missing": lambda s, y, g: fairpot.score_table(y, s, sensitive_features=g, drop_missing=True),
        "metric": lambda s, y, g: xauc_gap(y, s, sensitive_features=g),
        "scorer": lambda s, y, g: xauc_gap_scorer(model, s.to_frame(), y, sensitive_features=g),
        "audit": lambda s, y, g: fairpot.audit(y, s, sensitive_features=g),
        "clusters": lambda s, y, g: fairpot.audit(y, s, sensitive_features=g.to_numpy(), clusters=g),
        "fit": lambda s, y, g: FairPOT(0.5).fit(s, y, sensitive_features=g),
        "intersections": lambda s, y, g: FairPOT(0.5).fit(s, y, sensitive_features={"a": g, "b": g}),
        "transform": lambda s, y, g: fitted.transform(s, sensitive_features=g),
        "tradeoff": lambda s, y, g: fitted.tradeoff(s, y, sensitive_features=g),
        "certify": lambda s, y, g: fitted.certify(s, y, sensitive_features=g, max_gap=0.9),
        "effect": lambda s, y, g: fairpot.effect(fitted, s, y, sensitive_features=g),
        "compare": lambda s, y, g: fairpot.compare(y, s, sensitive_features=g, cv=2, methods=["fairpot"]),
        "interval": lambda s, y, g: confidence_interval("xauc_gap", y, s, sensitive_features=g),
        "change": lambda s, y, g: fairpot.audit(y.to_numpy(), {"a": s.to_numpy(), "b": s}, sensitive_features=g),
        "classifier": lambda s, y, g: made.fit(s.to_frame(), y, sensitive_features=g),
        "predict": lambda s, y, g: made.predict_proba(s.to_frame(), sensitive_features=g),
        "accuracy": lambda s, y, g: made.score(s.to_frame(), y, sensitive_features=g),
    }


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("use", uses_of_rows())
def test_groups_of_another_split_are_refused_wherever_rows_come_in(use):
    call, frame = uses_of_rows()[use], drawn_frame()
    train, test = frame.iloc[:450], frame.iloc[450:]
    with pytest.raises(ValueError, match=r"has other index labels than (.|\n)*\.reset_index\(drop=True\)"):
        call(train["score"], train["y"], test["group"])
    call(train["score"], train["y"], train["group"])
    call(train["score"], train["y"], test["group"].reset_index(drop=True))  # meant by position: said so


def test_a_split_keeps_its_labels():
    from sklearn.model_selection import train_test_split

    frame = drawn_frame().reset_index(drop=True)
    for part in train_test_split(frame, random_state=3):
        same = xauc_gap(part["y"], part["score"], sensitive_features=part["group"])
        assert same == xauc_gap(*(part[c].to_numpy() for c in ("y", "score")), sensitive_features=list(part["group"]))
    drawn_twice = frame.sample(900, replace=True, random_state=1)
    xauc_gap(drawn_twice["y"], drawn_twice["score"], sensitive_features=drawn_twice["group"])
    other = frame.sample(900, replace=True, random_state=2)
    with pytest.raises(ValueError, match="y_true has other index labels than y_score"):
        xauc_gap(other["y"], drawn_twice["score"], sensitive_features=drawn_twice["group"])
    numbered = drawn_twice["score"].reset_index(drop=True)  # goes with any other column; these two do not
    with pytest.raises(ValueError, match="sensitive_features has other index labels than y_true"):
        xauc_gap(other["y"], numbered, sensitive_features=drawn_twice["group"])
    by_two = drawn_twice.set_index("group", append=True)
    with pytest.raises(ValueError, match="other index labels"):
        fairpot.metrics.auc(by_two["y"], other["score"])


def test_the_gap_of_another_split_is_not_reported():
    """A gap of groups that belong to other rows is near 0, whatever the true one."""
    frame = drawn_frame()
    train, test = frame.iloc[:450], frame.iloc[450:]
    true = xauc_gap(train["y"], train["score"], sensitive_features=train["group"])
    wrong = xauc_gap(train["y"], train["score"], sensitive_features=test["group"].to_numpy())
    assert true > 3 * wrong
    with pytest.raises(ValueError, match="these look like other rows"):
        xauc_gap(pd.Series(train["y"].to_numpy()), train["score"], sensitive_features=test["group"])


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
