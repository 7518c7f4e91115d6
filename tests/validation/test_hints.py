"""A call that is nearly right is told what the right one looks like."""

import inspect

import numpy as np
import pandas as pd
import pytest

import fairpot
from fairpot import FairPOT
from fairpot.inference import confidence_interval
from fairpot.metrics import xauc, xauc_gap
from oracles import METRICS

RNG = np.random.default_rng(21)
Y, RISK, SITE = RNG.integers(0, 2, 240), RNG.normal(size=240), RNG.choice(["n", "s"], 240)
FITTED = FairPOT(0.5).fit(RISK, Y, sensitive_features=SITE)


@pytest.mark.parametrize(
    ("call", "right"),
    [
        (lambda *g: fairpot.audit(Y, RISK, *g), "audit(y_true, y_score, sensitive_features=...)"),
        (lambda *g: fairpot.compare(Y, RISK, *g), "compare(y_true, y_score, sensitive_features=...)"),
        (lambda *g: xauc_gap(Y, RISK, *g), "xauc_gap(y_true, y_score, sensitive_features=...)"),
        (lambda *g: FairPOT().fit(RISK, Y, *g), "fit(scores, y, sensitive_features=...)"),
        (lambda *g: FairPOT().fit_transform(RISK, Y, *g), "fit_transform(scores, y, sensitive_features=...)"),
        (lambda *g: FITTED.transform(RISK, *g), "transform(scores, sensitive_features=...)"),
    ],
)
def test_groups_by_place_or_not_at_all(call, right):
    with pytest.raises(TypeError, match="goes by its name") as told:
        call(SITE)
    assert f"Hint: {right}" in str(told.value)
    with pytest.raises(TypeError, match="sensitive_features") as told:
        call()
    assert "Hint:" in str(told.value)
    assert "keyword-only" not in str(told.value)


def test_other_arguments_are_named_too():
    with pytest.raises(TypeError, match="xauc needs positive and negative, not given"):
        xauc(Y, RISK, sensitive_features=SITE)
    with pytest.raises(TypeError, match="sensitive_features goes by its name"):
        FITTED.tradeoff(RISK, Y, SITE)
    with pytest.raises(TypeError, match="sensitive_features goes by its name"):
        fairpot.score_table(Y, RISK, SITE)
    with pytest.raises(TypeError, match="sensitive_features goes by its name"):
        confidence_interval("auc", Y, RISK, SITE)


def test_signatures_read_as_before():
    for function in (fairpot.audit, FairPOT.fit, *(m.function for m in METRICS.values())):
        assert "args" not in inspect.signature(function).parameters
        assert function.__doc__


def test_frames_and_names_in_the_place_of_columns(tmp_path):
    frame = pd.DataFrame({"points": RISK, "site": SITE, "ill": Y})
    with pytest.raises(fairpot.exceptions.InputFileError, match=r"no column 'score'(.|\n)*say which column holds"):
        fairpot.audit(frame)
    with pytest.raises(TypeError, match=r"got str(.|\n)*pass the column itself"):
        fairpot.audit("ill", "points", sensitive_features="site")
    FITTED.save(tmp_path / "m.json", columns={"score": "points", "group": ["site"]})
    wanted = FITTED.transform(frame["points"], sensitive_features=frame["site"])
    adjusted = fairpot.apply(fairpot.load(tmp_path / "m.json"), frame)
    np.testing.assert_array_equal(adjusted["points_adjusted"], wanted)
    with pytest.raises(fairpot.exceptions.InputFileError, match=r"no column 'score'(.|\n)*score=\.\.\."):
        fairpot.apply(FITTED, frame)
    frame.to_csv(tmp_path / "new.csv")
    with pytest.raises(TypeError, match="output is missing"):
        fairpot.apply(FITTED, tmp_path / "new.csv")


def test_a_decimal_mark_is_offered_where_there_is_one(tmp_path):
    mixed = np.array([*RISK[:-1], "0,5"], dtype=object)
    with pytest.raises(TypeError) as told:
        fairpot.audit(Y, mixed, sensitive_features=SITE)
    assert "decimal" not in str(told.value)
    path = tmp_path / "x.csv"
    path.write_text('s,g,y\n"0,5",a,1\n0.2,b,0\n0.7,b,1\n')
    with pytest.raises(TypeError, match=r"decimal=','"):
        fairpot.score_table(path, score="s", label="y", group="g")


def test_a_column_that_is_not_there_leads_to_its_option(tmp_path, capsys):
    from fairpot.cli._app import app

    path = tmp_path / "x.csv"
    path.write_text("zz1,zz2,zz3\n0.5,a,1\n0.2,b,0\n")
    with pytest.raises(SystemExit):
        app.main(["audit", str(path), "--label", "zz3", "--group", "zz2"])
    assert "say which column holds the score, --score" in capsys.readouterr().err
    with pytest.raises(ValueError, match=r"has no column 'risk'(.|\n)*say which column holds the score, score=..."):
        fairpot.score_table(path, score="risk", label="zz3", group="zz2")
    with pytest.raises(ValueError, match=r"say which column holds the group, group=..."):
        fairpot.score_table(path, score="zz1", label="zz3", group="place")
    with pytest.raises(ValueError, match="did you mean 'zz"):
        fairpot.score_table(path, score="zz", label="zz3", group="zz2")


def test_fit_takes_a_table_instead_of_columns():
    y, scores, group = [0, 1, 0, 1], [0.1, 0.2, 0.3, 0.4], list("aabb")
    table = fairpot.score_table(y, scores, sensitive_features=group)
    columns = fairpot.FairPOT(lam=0.5).fit(scores, y, sensitive_features=group)
    assert fairpot.FairPOT(lam=0.5).fit(table).maps_ == columns.maps_
    with pytest.raises((TypeError, ValueError), match="sensitive_features"):
        fairpot.FairPOT(lam=0.5).fit(table, sensitive_features=group)
