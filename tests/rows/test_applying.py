"""A fitted model on files: what the command line does, from Python."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import fairpot
from fairpot import FairPOT, ScoreMap
from fairpot.exceptions import OutputFileError, ScaleWarning, UnseenGroupError
from fairpot.methods import WassersteinRepair
from fairpot.rows import RowSource
from files_cases import write
from rows_cases import draw

COLUMNS = {"score": "risk", "group": "sex"}


@pytest.fixture
def frame():
    score, y, sex = draw(600)
    return pd.DataFrame({"risk": score, "died": y, "sex": sex})


def models_of(frame):
    """Maps of all rows, of a top of all and of each group, and of every group."""
    top = {"top": 0.3, "repair": "top"}
    methods = (FairPOT(0.6), FairPOT(0.6, **top), FairPOT(0.6, **top, top_of="group"), WassersteinRepair(0.7))
    return [each.fit(frame["risk"], frame["died"], sensitive_features=frame["sex"]) for each in methods]


@pytest.mark.parametrize("kind", ["csv", "parquet", "jsonl", "arrow"])
@pytest.mark.parametrize("unknown", ["null", "keep"])
def test_strangers_are_let_through_and_change_nobody_else(frame, tmp_path, kind, unknown):
    strange = pd.DataFrame({"risk": [0.2, 0.99, 0.5], "died": 0, "sex": ["X", "X", None]})
    path = write(pd.concat([frame, strange], ignore_index=True), tmp_path / f"rows.{kind}")
    for model in models_of(frame):
        with pytest.raises(ValueError, match=r"rows? (without a group|with a group not seen in fit)"):
            fairpot.apply(model, path, tmp_path / "fair.parquet", **COLUMNS, overwrite=True)
        ways = {"unknown_group": unknown, "missing_group": unknown}
        done = fairpot.apply(model, path, tmp_path / "fair.parquet", **COLUMNS, **ways, overwrite=True)
        assert (done.rows, done.unknown, done.missing) == (603, 2, 1)
        after = pd.read_parquet(tmp_path / "fair.parquet")["risk_adjusted"]
        assert after[600:].isna().all() if unknown == "null" else after[600:].tolist() == [0.2, 0.99, 0.5]
        np.testing.assert_array_equal(after[:600], model.transform(frame["risk"], sensitive_features=frame["sex"]))
        assert (after[:600] != frame["risk"]).any()


@pytest.mark.parametrize("kind", ["csv", "parquet", "jsonl"])
def test_what_is_missing_is_dropped_if_asked(frame, tmp_path, kind):
    holes = pd.DataFrame({"risk": [None, 0.5], "died": 0, "sex": ["F", None]})
    path = write(pd.concat([frame, holes], ignore_index=True), tmp_path / f"rows.{kind}")
    for model in models_of(frame):
        with pytest.raises(ValueError, match=r"missing|without a group"):
            fairpot.apply(model, path, tmp_path / "fair.csv", **COLUMNS, overwrite=True)
        done = fairpot.apply(model, path, tmp_path / "fair.csv", **COLUMNS, drop_missing=True, overwrite=True)
        assert (done.rows, done.dropped) == (600, 2)
        expected = model.transform(frame["risk"], sensitive_features=frame["sex"])
        np.testing.assert_array_equal(
            pd.read_csv(tmp_path / "fair.csv", converters={"risk_adjusted": float})["risk_adjusted"], expected
        )


def test_unseen_groups_are_told_alike(frame, tmp_path):
    path = write(frame.assign(sex=frame["sex"].replace("F", "X")), tmp_path / "rows.csv")
    rows = int((frame["sex"] == "F").sum())
    for model in models_of(frame):
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
    with pytest.raises(OutputFileError, match=r"(?s)already exists.*overwrite=True"):
        fairpot.apply(tmp_path / "map.json", path, tmp_path / "fair.csv")
    done = fairpot.apply(
        model, None, tmp_path / "new.csv", sql=f"select * from '{tmp_path / 'rows.csv'}'", **COLUMNS, column="new"
    )
    assert done.column == "new"
    with pytest.raises(TypeError, match=r"rows in memory come back as a frame, and are not written to .*x\.csv"):
        fairpot.apply(model, frame, tmp_path / "x.csv", **COLUMNS)
    with pytest.raises(
        TypeError, match=r"(?s)apply takes files, a RowSource or a frame, got list.*\(model, scores, sensitive"
    ):
        fairpot.apply(model, [0.1, 0.2], tmp_path / "x.csv")


def test_another_scale(frame, tmp_path):
    path = write(frame.assign(risk=frame["risk"] * 100), tmp_path / "rows.csv")
    model = FairPOT(0.5).fit(frame["risk"], frame["died"], sensitive_features=frame["sex"])
    for said in ({}, {"other_scale": "error"}):
        with pytest.raises(ValueError, match=r"(?s)of 600 scores lie far outside the fitted range.*other_scale='warn'"):
            fairpot.apply(model, path, tmp_path / "fair.csv", **COLUMNS, **said)
    assert not (tmp_path / "fair.csv").exists()
    with pytest.warns(ScaleWarning, match="far outside the fitted range"):
        fairpot.apply(model, path, tmp_path / "fair.csv", **COLUMNS, other_scale="warn")


def test_few_odd_scores_are_no_other_scale(frame, tmp_path):
    """Six of 600 far outside are a warning, seven a column on another scale."""
    model = FairPOT(0.5).fit(frame["risk"], frame["died"], sensitive_features=frame["sex"])
    odd = frame.copy()
    odd.loc[:5, "risk"] = 40.0
    with pytest.warns(ScaleWarning, match="^6 of 600 scores lie far outside"):
        fairpot.apply(model, write(odd, tmp_path / "rows.csv"), tmp_path / "six.csv", **COLUMNS)
    with pytest.raises(ValueError, match="6 of 600"):
        fairpot.apply(model, tmp_path / "rows.csv", tmp_path / "x.csv", **COLUMNS, other_scale="error")
    odd.loc[6, "risk"] = -40.0
    with pytest.raises(ValueError, match="7 of 600 scores"):
        fairpot.apply(model, write(odd, tmp_path / "rows.csv"), tmp_path / "x.csv", **COLUMNS)


def test_scores_that_are_turned_round(frame, tmp_path):
    model = FairPOT(0.5).fit(frame["risk"] + 3, frame["died"], sensitive_features=frame["sex"]).fair_maps_
    down = write(frame.assign(risk=-3 - frame["risk"]), tmp_path / "rows.parquet")
    with pytest.raises(ValueError, match="With a minus they have that scale: are they reversed"):
        fairpot.apply(model, down, tmp_path / "x.csv", **COLUMNS)
    model.lower_is_riskier_ = True
    assert fairpot.apply(model, down, tmp_path / "x.csv", **COLUMNS).moved > 0


WAYS = [(unknown, missing) for unknown in ("error", "keep", "null") for missing in ("error", "keep", "null")]


@pytest.mark.parametrize(("unknown", "missing"), WAYS)
def test_strangers_in_memory_and_in_files(frame, tmp_path, unknown, missing):
    """Lists, arrays, frames of two libraries, several columns and files, against the rows that have a map."""
    pl = pytest.importorskip("polars")
    ways = {"unknown_group": unknown, "missing_group": missing}
    model = FairPOT(0.5).fit(frame["risk"], frame["died"], sensitive_features=frame["sex"])
    sex = frame["sex"].astype(object).to_numpy().copy()
    sex[[3, 50, 51]], sex[[7, 400]] = "X", None
    known = np.isin(sex, ["F", "M"])
    expected = frame["risk"].to_numpy().copy()
    expected[known] = model.transform(expected[known], sensitive_features=sex[known])
    for rows, way in (([3, 50, 51], unknown), ([7, 400], missing)):
        if way == "null":
            expected[rows] = np.nan
    scores, both = frame["risk"].to_numpy(), {"risk": frame["risk"].to_numpy(), "sex": sex.tolist()}
    columns = [sex.tolist(), sex, pd.Series(sex), pd.DataFrame({"sex": sex}), pl.Series(sex.tolist()), {"sex": sex}]
    files = [write(pd.DataFrame(both), tmp_path / f"rows.{kind}") for kind in ("csv", "parquet", "jsonl")]
    reports = []
    for given in [*columns, *files]:
        target = tmp_path / "new.parquet"
        try:
            if isinstance(given, Path):
                done = fairpot.apply(model, given, target, **COLUMNS, **ways, overwrite=True)
                assert (done.unknown, done.missing) == (3, 2)
                got = pd.read_parquet(target)["risk_adjusted"]
            else:
                got = model.transform(scores, sensitive_features=given, **ways)
        except ValueError as error:
            reports.append(str(error))
            assert not target.exists()
        else:
            np.testing.assert_array_equal(got, expected)
    assert len(reports) == (len(columns) + len(files) if "error" in (unknown, missing) else 0)
    for said in reports:
        assert ("3 rows with a group not seen in fit: ['X']" in said) == (unknown == "error")
        assert ("unknown_group='keep'" in said) == (unknown == "error")
        assert ("2 rows without a group" in said) == (missing == "error")
        assert ("missing_group='keep'" in said) == (missing == "error")


def test_strangers_are_let_through_in_memory_as_in_files(frame, tmp_path):
    strange = pd.DataFrame({"risk": [0.2, 0.99, 0.5], "died": 0, "sex": ["X", "X", None]})
    everyone = pd.concat([frame, strange], ignore_index=True)
    path = write(everyone, tmp_path / "rows.parquet")
    ways = {"unknown_group": "keep", "missing_group": "null"}
    for model in models_of(frame):
        fairpot.apply(model, path, tmp_path / "new.parquet", **COLUMNS, **ways, overwrite=True)
        got = model.transform(everyone["risk"], sensitive_features=everyone["sex"], **ways)
        np.testing.assert_array_equal(got, pd.read_parquet(tmp_path / "new.parquet")["risk_adjusted"])
        assert got[600:602].tolist() == [0.2, 0.99]
        assert np.isnan(got[602])


@pytest.mark.parametrize("kind", ["csv", "parquet", "jsonl"])
def test_everything_that_is_wrong_is_told_at_once(frame, tmp_path, kind):
    bad = pd.DataFrame({"risk": [0.2, 0.3, None, 0.5], "died": 0, "sex": ["X", None, "F", None]})
    path = write(pd.concat([frame, bad], ignore_index=True), tmp_path / f"rows.{kind}")
    for model in models_of(frame):
        with pytest.raises(ValueError, match=r"(?s)1 missing.*2 rows without a group.*1 row with a group not seen"):
            fairpot.apply(model, path, tmp_path / "new.csv", **COLUMNS)
        assert not (tmp_path / "new.csv").exists()


def test_one_word_for_rows_without_a_group(frame, tmp_path):
    path = write(frame, tmp_path / "rows.csv")
    model = FairPOT(0.5).fit(frame["risk"], frame["died"], sensitive_features=frame["sex"])
    with pytest.raises(ValueError, match="give one of the two"):
        fairpot.apply(model, path, tmp_path / "x.csv", **COLUMNS, drop_missing=True, missing_group="keep")
    for way in ("unknown_group", "missing_group"):
        with pytest.raises(ValueError, match=f"{way} must be one of"):
            fairpot.apply(model, path, tmp_path / "x.csv", **COLUMNS, **{way: "drop"})
        with pytest.raises(ValueError, match=f"{way} must be one of"):
            model.transform(frame["risk"], sensitive_features=frame["sex"], **{way: "drop"})
    assert np.isnan(model.transform([0.5, 0.6], sensitive_features=[None, np.nan], missing_group="null")).all()


def test_outputs_among_the_input(frame, tmp_path):
    """A folder, a pattern, Hive folders, links to any of them; a file beside a file is all right."""
    model = FairPOT(0.5).fit(frame["risk"], frame["died"], sensitive_features=frame["sex"])
    folder = tmp_path / "in"
    (folder / "year=1").mkdir(parents=True)
    write(frame, folder / "year=1" / "a.csv")
    (tmp_path / "alias").symlink_to(folder)
    (folder / "leads-out.csv").symlink_to(tmp_path / "elsewhere.csv")
    inside = [
        folder / "new.csv",
        folder / "year=1" / "new.csv",
        tmp_path / "alias" / "new.csv",
        folder / "leads-out.csv",
    ]
    for rows in (folder, tmp_path / "alias", [folder], str(folder / "**" / "*.csv"), str(tmp_path / "alias/**/*.csv")):
        for target in inside:
            with pytest.raises(OutputFileError, match=r"lies among the input(?s:.*)outside the input"):
                fairpot.apply(model, rows, target, **COLUMNS)
        with pytest.raises(OutputFileError, match="lies among the input"):
            fairpot.apply(model, rows, tmp_path / "new.csv", **COLUMNS, changes=folder / "changes.csv")
    (folder / "leads-out.csv").unlink()  # it leads nowhere yet, and would be refused
    for rows, target in (
        (folder, tmp_path / "out.csv"),
        (str(folder / "*" / "*.csv"), folder / "out.csv"),
        (str(folder / "year=?" / "a*.csv"), folder / "year=1" / "out.csv"),
        (folder / "year=1" / "a.csv", folder / "year=1" / "beside.csv"),
    ):
        fairpot.apply(model, rows, target, **COLUMNS)
        target.unlink()


def test_an_output_that_is_there_is_told_before_any_row_is_read(frame, tmp_path):
    """The input is damaged, which reading would find out first."""
    model = models_of(frame)[0]
    (tmp_path / "rows.parquet").write_bytes(b"PAR1 and nothing more")
    (tmp_path / "there.csv").write_text("mine")
    for names in (
        {"output": tmp_path / "there.csv"},
        {"output": tmp_path / "x.csv", "changes": tmp_path / "there.csv"},
    ):
        with pytest.raises(OutputFileError, match="already exists"):
            fairpot.apply(model, tmp_path / "rows.parquet", **names, **COLUMNS)


def test_what_scores_and_groups_show_to_be_odd(frame, tmp_path):
    maps = {"F": ScoreMap([2.0, 8.0], [3.0, 7.5], below="identity", above="identity"), "M": ScoreMap.identity()}

    def notes(scores, groups, chosen=maps):
        path = write(pd.DataFrame({"risk": scores, "sex": groups}), tmp_path / "rows.csv")
        done = fairpot.apply(chosen, path, output=tmp_path / "x.csv", score="risk", group="sex", overwrite=True)
        return " ".join(done.notes)

    assert notes([2.5, 9.5], ["F", "M"]) == ""
    assert "all 3 scores are 4" in notes([4, 4, 4], ["F", "F", "M"])
    assert "the map leaves every group as it is" in notes(
        [0.1, 0.2], ["F", "M"], dict.fromkeys("FM", ScoreMap.identity())
    )
    assert "other groups than those that the map moves ('F')" in notes([0.1, 0.2], ["M", "M"])
    assert "no score lies where the map moves" in notes([0.1, 0.2], ["F", "M"])
    assert "whole numbers, and adjusted ones are not" in notes([3, 4, 9], ["F", "F", "M"])
    assert notes([2, 9], ["F", "M"]) == ""  # 2 becomes 3


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_where_a_low_score_means_high_risk(frame, tmp_path, kind):
    """The file has scores that point down; the model was fitted on them with a minus, and says so."""
    down = frame.assign(risk=-frame["risk"])
    path = write(down, tmp_path / f"rows.{kind}")
    for fitted in models_of(frame):
        model = fitted.fair_maps_
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


def test_a_map_of_a_kind_of_its_own_cannot_be_turned_round(frame, tmp_path):
    class Own(ScoreMap):
        pass

    path = write(frame, tmp_path / "rows.csv")
    model = models_of(frame)[0].fair_maps_
    model.lower_is_riskier_, model.maps_ = True, model.maps_ | {"F": Own([0.0, 1.0], [0.0, 0.5])}
    with pytest.raises(TypeError, match="Own cannot be reflected"):
        fairpot.apply(model, path, tmp_path / "x.csv", **COLUMNS)


def test_files_apply_takes_maps_of_the_scores_as_they_are(frame, tmp_path):
    path = write(frame, tmp_path / "rows.csv")
    maps = {"F": ScoreMap([0, 1], [0, 0.5]), "M": ScoreMap.identity()}
    outputs = []
    for lower in (False, True):
        source = RowSource(path, score="risk", groups="sex", lower_is_riskier=lower)
        made = tmp_path / f"{lower}.csv", tmp_path / f"{lower}-changes.csv"
        fairpot.apply(maps, source, output=made[0], changes=made[1])
        outputs.append([each.read_bytes() for each in made])
    assert outputs[0] == outputs[1]
