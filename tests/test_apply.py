"""A fitted model on files: what the command line does, from Python, also where the maps look at all rows together."""

import numpy as np
import pandas as pd
import pytest

import fairpot
from fairpot import FairPOT, ScoreMap
from fairpot.engines.adjusting import group_namer
from fairpot.exceptions import OutputFileError, ScaleWarning, UnseenGroupError
from fairpot.files import RowSource, count_rows, score_thresholds
from fairpot.postprocessing import PostLogit, WassersteinRepair
from files_cases import write
from rows_cases import draw

COLUMNS = {"score": "risk", "group": "sex"}


@pytest.fixture
def frame():
    score, y, sex = draw(600)
    return pd.DataFrame({"risk": score, "died": y, "sex": sex})


def batch_models(frame):
    top = FairPOT(0.6, alpha=0.3, region_from="batch")
    middle = WassersteinRepair(0.7, distributions="batch")
    for region in ("pooled", "group"):
        yield top.set_params(region=region).fit(frame["risk"], frame["died"], sensitive_features=frame["sex"])
    yield middle.fit(frame["risk"], frame["died"], sensitive_features=frame["sex"])


@pytest.mark.parametrize("kind", ["csv", "parquet", "jsonl", "arrow"])
@pytest.mark.parametrize("unknown", ["null", "keep"])
def test_batch_models_let_strangers_through(frame, tmp_path, kind, unknown):
    strange = pd.DataFrame({"risk": [0.2, 0.99, 0.5], "died": 0, "sex": ["X", "X", None]})
    path = write(pd.concat([frame, strange], ignore_index=True), tmp_path / f"rows.{kind}")
    for model in batch_models(frame):
        with pytest.raises(ValueError, match=r"rows? (without a group|with a group not seen in fit)"):
            fairpot.apply(model, path, tmp_path / "fair.parquet", **COLUMNS, overwrite=True)
        done = fairpot.apply(model, path, tmp_path / "fair.parquet", **COLUMNS, unknown_group=unknown, overwrite=True)
        assert (done.rows, done.unknown) == (603, 3)
        after = pd.read_parquet(tmp_path / "fair.parquet")["risk_adjusted"]
        assert after[600:].isna().all() if unknown == "null" else after[600:].tolist() == [0.2, 0.99, 0.5]
        known = pd.read_parquet(tmp_path / "fair.parquet")[:600]
        assert known["risk_adjusted"].notna().all()
        assert (known["risk_adjusted"] != known["risk"]).any()


def test_strangers_change_nobody_else_of_their_own_region(frame, tmp_path):
    """The top of each group, and barycentres, are those of the groups the model knows."""
    strange = pd.DataFrame({"risk": [0.99, 0.5], "died": 0, "sex": ["X", None]})
    path = write(pd.concat([frame, strange], ignore_index=True), tmp_path / "rows.csv")
    for model in list(batch_models(frame))[1:]:
        fairpot.apply(model, path, tmp_path / "fair.csv", **COLUMNS, unknown_group="null", overwrite=True)
        expected = model.transform(frame["risk"], sensitive_features=frame["sex"])
        np.testing.assert_array_equal(pd.read_csv(tmp_path / "fair.csv")["risk_adjusted"][:600], expected)


@pytest.mark.parametrize("kind", ["csv", "parquet", "jsonl"])
def test_batch_models_drop_what_is_missing(frame, tmp_path, kind):
    holes = pd.DataFrame({"risk": [None, 0.5], "died": 0, "sex": ["F", None]})
    path = write(pd.concat([frame, holes], ignore_index=True), tmp_path / f"rows.{kind}")
    for model in batch_models(frame):
        with pytest.raises(ValueError, match=r"missing|without a group"):
            fairpot.apply(model, path, tmp_path / "fair.csv", **COLUMNS, overwrite=True)
        done = fairpot.apply(model, path, tmp_path / "fair.csv", **COLUMNS, drop_missing=True, overwrite=True)
        assert (done.rows, done.dropped) == (600, 2)
        expected = model.transform(frame["risk"], sensitive_features=frame["sex"])
        np.testing.assert_array_equal(pd.read_csv(tmp_path / "fair.csv")["risk_adjusted"], expected)


def test_a_quantised_batch_begins_where_it_would_exactly(frame, tmp_path):
    strange = pd.DataFrame({"risk": [0.99, 0.5], "died": 0, "sex": ["X", None]})
    source = RowSource(write(pd.concat([frame, strange]), tmp_path / "rows.csv"), score="risk", groups="sex")
    called = group_namer(["F", "M"], ["sex"], "text")
    rough = count_rows(source, several=False, called=called, max_distinct=20)
    assert rough.quantisation is not None
    for region in ("pooled", "group"):
        exact = score_thresholds(source, 0.3, region=region, called=called)
        assert score_thresholds(source, 0.3, region=region, counted=rough, called=called) == exact


def test_unseen_groups_are_told_alike(frame, tmp_path):
    path = write(frame.assign(sex=frame["sex"].replace("F", "X")), tmp_path / "rows.csv")
    rows = int((frame["sex"] == "F").sum())
    row_by_row = FairPOT(0.5).fit(frame["risk"], frame["died"], sensitive_features=frame["sex"])
    for model in (row_by_row, *batch_models(frame)):
        with pytest.raises(
            UnseenGroupError, match=rf"the input has {rows} rows? with a group not seen in fit: \['X'\]"
        ):
            fairpot.apply(model, path, tmp_path / "fair.csv", **COLUMNS)


def test_outputs_are_guarded(frame, tmp_path):
    path = write(frame, tmp_path / "rows.csv")
    model = FairPOT(0.5).fit(frame["risk"], frame["died"], sensitive_features=frame["sex"])
    model.save(tmp_path / "map.json", columns={"score": "risk", "group": ["sex"]})
    with pytest.raises(OutputFileError, match="is also the input"):
        fairpot.apply(tmp_path / "map.json", path, tmp_path / "map.json", overwrite=True, output_format="csv")
    fairpot.apply(tmp_path / "map.json", path, tmp_path / "fair.csv", threads=1, memory_limit="1GB")
    with pytest.raises(OutputFileError, match=r"(?s)is there already.*overwrite=True"):
        fairpot.apply(tmp_path / "map.json", path, tmp_path / "fair.csv")
    done = fairpot.apply(
        model, None, tmp_path / "new.csv", sql=f"select * from '{tmp_path / 'rows.csv'}'", **COLUMNS, column="new"
    )
    assert done.column == "new"
    with pytest.raises(TypeError, match=r"apply takes files, a RowSource or a frame of Spark, got DataFrame"):
        fairpot.apply(model, frame, tmp_path / "x.csv", **COLUMNS)


def test_another_scale(frame, tmp_path):
    path = write(frame.assign(risk=frame["risk"] * 100), tmp_path / "rows.csv")
    model = FairPOT(0.5).fit(frame["risk"], frame["died"], sensitive_features=frame["sex"])
    with pytest.raises(ValueError, match="far outside the fitted range"):
        fairpot.apply(model, path, tmp_path / "fair.csv", **COLUMNS, other_scale="error")
    assert not (tmp_path / "fair.csv").exists()
    with pytest.warns(ScaleWarning, match="far outside the fitted range"):
        fairpot.apply(model, path, tmp_path / "fair.csv", **COLUMNS)


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_where_a_low_score_means_high_risk(frame, tmp_path, kind):
    """The file has scores that point down; the model was fitted on them with a minus, and says so."""
    down = frame.assign(risk=-frame["risk"])
    path = write(down, tmp_path / f"rows.{kind}")
    row_by_row = FairPOT(0.6).fit(frame["risk"], frame["died"], sensitive_features=frame["sex"])
    region = FairPOT(0.6, alpha=0.3).fit(frame["risk"], frame["died"], sensitive_features=frame["sex"])
    for model in (row_by_row, region, *batch_models(frame)):
        model.lower_is_riskier_ = False
        expected = model.transform(frame["risk"], sensitive_features=frame["sex"])
        model.lower_is_riskier_ = True
        np.testing.assert_array_equal(model.transform(down["risk"], sensitive_features=down["sex"]), -expected)
        for says in (False, True):  # what the source says changes nothing: scores are turned round once
            source = RowSource(path, score="risk", groups="sex", lower_is_riskier=says)
            done = fairpot.apply(model, source, tmp_path / "fair.parquet", overwrite=True)
            after = pd.read_parquet(tmp_path / "fair.parquet")["risk_adjusted"]
            np.testing.assert_allclose(after, -expected, rtol=0, atol=1e-12)
            assert done.moved > 0
    sigmoid = PostLogit(slope=2.0, reference="M").fit(frame["risk"], sensitive_features=frame["sex"])
    sigmoid.lower_is_riskier_ = True
    with pytest.raises(TypeError, match="LogitMap cannot be reflected"):
        fairpot.apply(sigmoid, path, tmp_path / "x.csv", **COLUMNS)


def test_files_apply_takes_maps_of_the_scores_as_they_are(frame, tmp_path):
    path = write(frame, tmp_path / "rows.csv")
    maps = {"F": ScoreMap([0, 1], [0, 0.5]), "M": ScoreMap.identity()}
    outputs = []
    for lower in (False, True):
        source = RowSource(path, score="risk", groups="sex", lower_is_riskier=lower)
        made = tmp_path / f"{lower}.csv", tmp_path / f"{lower}-changes.csv"
        fairpot.files.apply(source, maps, output=made[0], changes=made[1])
        outputs.append([each.read_bytes() for each in made])
    assert outputs[0] == outputs[1]
