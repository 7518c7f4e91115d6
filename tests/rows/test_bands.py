"""Bands, missing and unknown groups through rows of every kind, and through the map that is fitted on them."""

import itertools
import json
from functools import partial

import numpy as np
import pandas as pd
import polars as pl
import pytest

import fairpot
from fairpot.cli._app import app
from fairpot.exceptions import MissingGroupError, ModelFileError, UnseenGroupError
from fairpot.modelfile.content import checked
from fairpot.modelfile.files import dumps

N = 1500
SAID = [
    {"group": ["age"], "bands": {"age": [30, 50, 70]}},
    {"group": ["age"], "bands": {"age": 4}, "unknown": ["999"]},
    {"group": ["sex", "age"], "bands": {"age": [40.5]}, "unknown": ["Declined"], "missing_group": "own"},
    {"group": ["sex"], "missing_group": "own", "unknown": ["Declined"]},
]


def rows(seed=0):
    rng = np.random.default_rng(seed)
    age = rng.integers(18, 90, N).astype(float)
    age[:40], age[40:80] = np.nan, 999
    sex = rng.choice(["F", "M", "Declined"], N, p=[0.5, 0.4, 0.1]).astype(object)
    sex[60:90] = None
    score, label = np.round(rng.random(N), 2), rng.integers(0, 2, N)
    return pd.DataFrame({"score": score, "label": label, "age": age, "sex": sex})


def options(said):
    found = [word for name in said["group"] for word in ("--group", name)]
    for column, bands in said.get("bands", {}).items():
        found += ["--bands", f"{column}:{','.join(map(str, bands)) if isinstance(bands, list) else bands}"]
    found += ["--unknown", ",".join(said["unknown"])] if "unknown" in said else []
    return found + (["--missing-group", "own"] if "missing_group" in said else [])


def assert_same(one, other):
    assert (one.groups, one.grouping, one.unknown) == (other.groups, other.grouping, other.unknown)
    for counts, same in zip(one.counts, other.counts):
        for name in ("score", "positive", "negative"):
            np.testing.assert_array_equal(getattr(counts, name), getattr(same, name))


@pytest.mark.parametrize("said", SAID)
def test_rows_of_every_kind_give_the_same_table(said, tmp_path):
    frame = rows()
    frame.to_csv(tmp_path / "a.csv", index=False)
    frame.to_parquet(tmp_path / "a.parquet", index=False)
    columns = {name: value for name, value in said.items() if name != "group"}
    groups = frame[said["group"]]
    table = fairpot.score_table(frame.label, frame.score, sensitive_features=groups, **columns)
    assert_same(
        table, fairpot.score_table(frame.label, frame.score, sensitive_features=pl.from_pandas(groups), **columns)
    )
    lists = {name: groups[name].tolist() for name in groups}
    assert_same(table, fairpot.score_table(frame.label, frame.score, sensitive_features=lists, **columns))
    for kind in (frame, pl.from_pandas(frame), tmp_path / "a.csv", tmp_path / "a.parquet"):
        assert_same(table, fairpot.score_table(kind, score="score", label="label", **said))
    query = f"select * from '{tmp_path / 'a.parquet'}'"
    assert_same(table, fairpot.score_table(None, sql=query, score="score", label="label", **said))
    binned = fairpot.rows.count_rows(
        fairpot.rows.RowSource(
            tmp_path / "a.csv",
            score="score",
            label="label",
            groups=said["group"],
            grouping=fairpot.rows.Grouping.of(**columns),
        ),
        max_distinct=60,
    )
    assert (binned.table.groups, binned.table.grouping) == (table.groups, table.grouping)
    assert [each.size for each in binned.table.counts] == [each.size for each in table.counts]


@pytest.mark.parametrize("said", SAID)
def test_audit_of_columns_and_of_a_file_are_one(said, tmp_path, capsys):
    frame = rows(1)
    frame.to_csv(tmp_path / "a.csv", index=False)
    columns = {name: value for name, value in said.items() if name != "group"}
    with pytest.raises(SystemExit, match="0"):
        app(["audit", str(tmp_path / "a.csv"), *options(said), "--json"])
    document = json.loads(capsys.readouterr().out)
    found = fairpot.audit(frame.label, frame.score, sensitive_features=frame[said["group"]], **columns).to_dict()
    assert {name: document[name] for name in found} == json.loads(json.dumps(found))
    assert document["columns"]["bands"] == options(said)[1::2][len(said["group"]) :][: len(said.get("bands", ()))]


@pytest.mark.parametrize("said", SAID)
def test_a_map_cuts_new_rows_as_those_that_it_was_fitted_on(said, tmp_path):
    frame, new = rows(2), rows(3).iloc[::-1]
    columns = {name: value for name, value in said.items() if name != "group"}
    repair = fairpot.LogitShift(shift=1.0, reference=None)
    repair.fit(frame.score, frame.label, sensitive_features=frame[said["group"]], **columns)
    assert {group for group in repair.groups_ if not repair.maps_[group].is_identity}.isdisjoint(repair.table_.unknown)
    assert set(repair.table_.unknown) <= set(repair.left_out_)
    wanted = repair.transform(new.score, sensitive_features=new[said["group"]])
    repair.save(tmp_path / "map.json", columns={"score": "score", "group": said["group"]})
    loaded = fairpot.load(tmp_path / "map.json")
    assert (loaded.grouping_, loaded.left_out_) == (repair.table_.grouping, repair.left_out_)
    np.testing.assert_array_equal(loaded.transform(new.score, sensitive_features=new[said["group"]]), wanted)
    new.to_csv(tmp_path / "new.csv", index=False)
    new.to_parquet(tmp_path / "new.parquet", index=False)
    exactly = partial(pd.read_csv, converters={"score_adjusted": float})  # pandas before 3 rounds by itself
    for name, read in (("csv", exactly), ("parquet", pd.read_parquet)):
        output = tmp_path / f"out.{name}"
        fairpot.apply(tmp_path / "map.json", tmp_path / f"new.{name}", output, changes=tmp_path / f"changes.{name}")
        np.testing.assert_array_equal(read(output)["score_adjusted"], wanted)
    np.testing.assert_array_equal(fairpot.apply(loaded, new)["score_adjusted"], wanted)
    score_one = loaded.row_scorer()
    for row, adjusted in itertools.islice(zip(new.to_dict("records"), wanted), 200):
        given = {name: row[name] for name in said["group"]}
        values = tuple(given.values())
        for group in (given, values) if len(given) > 1 else values:
            assert score_one(row["score"], group) == adjusted
    effect = fairpot.effect(loaded, new.score, new.label, sensitive_features=new[said["group"]], level=None)
    assert effect.before.ranking.rows == new.shape[0] - sum(
        each.rows for each in (effect.before.unknown.groups if effect.before.unknown else ())
    )


def test_band_names_are_taken_for_groups_and_exports_say_so(tmp_path):
    frame = rows()
    repair = fairpot.LogitShift(shift=1.0).fit(
        frame.score, frame.label, sensitive_features=frame.age, bands={"age": [30, 50]}, unknown=[999]
    )
    loaded = repair.fair_maps_
    numbers = loaded.transform([0.3, 0.3, 0.3], sensitive_features=[29, 30, None])
    names = loaded.transform([0.3, 0.3, 0.3], sensitive_features=["under 30", "30 to 49", "(missing)"])
    np.testing.assert_array_equal(names, numbers)
    told = "groups are names of bands of age: under 30, 30 to 49, 50+"
    for text in (loaded.to_sql("duckdb"), loaded.to_python(), loaded.to_javascript()):
        assert told in text.partition("\n")[0] + text.partition("\n")[2].partition("\n")[0]
    assert told in loaded.simplify(max_error=0.01).takes
    pytest.importorskip("onnx")
    assert told in loaded.to_onnx().doc_string


def test_a_missing_group_without_a_map_is_still_an_error():
    frame = rows().query("age < 900")
    repair = fairpot.LogitShift(shift=1.0).fit(
        frame.score, frame.label, sensitive_features=frame.age, bands={"age": [30, 50]}
    )
    with pytest.raises(MissingGroupError, match="2 rows without a group"):
        repair.transform([0.1, 0.2, 0.3], sensitive_features=[20, None, np.nan])
    with pytest.raises(UnseenGroupError, match="1 row"):
        repair.transform([0.1, 0.2], sensitive_features=[20, "young"])
    kept = repair.transform([0.1, 0.2], sensitive_features=[55, None], missing_group="null")
    assert np.isnan(kept[1])
    assert not np.isnan(kept[0])


def test_edges_of_a_map_file_are_checked(tmp_path):
    frame = rows()
    repair = fairpot.LogitShift(shift=1.0).fit(
        frame.score, frame.label, sensitive_features=frame.age, bands={"age": [30, 50]}
    )
    content = json.loads(dumps(repair.fair_maps_.file_content()))
    for change in ({"edges": [50.0, 30.0]}, {"names": ["under 30", "30 to 49", "30 to 49"]}, {"names": ["a", "b"]}):
        cut = content["grouping"]["bands"][0] | change
        with pytest.raises(ModelFileError, match=r"grouping.bands\[0\]"):
            checked(content | {"grouping": content["grouping"] | {"bands": [cut]}})


def test_numbers_with_many_values_are_cut(tmp_path):
    many = pd.DataFrame({"score": np.arange(60_000) / 1e5, "label": np.arange(60_000) % 2, "pay": np.arange(60_000.0)})
    many.to_parquet(tmp_path / "a.parquet", index=False)
    named = {"score": "score", "label": "label", "group": "pay"}
    with pytest.raises(ValueError, match=r"50,000 different values\.\nHint: .* bands={'pay': 4} cuts numbers"):
        fairpot.score_table(tmp_path / "a.parquet", **named)
    table = fairpot.score_table(tmp_path / "a.parquet", **named, bands={"pay": [20_000]})
    assert [counts.size for counts in table.counts] == [20_000, 40_000]
    with pytest.raises(ValueError, match=r"50,000 different values\.\nHint: round the numbers"):
        fairpot.score_table(tmp_path / "a.parquet", **named, bands={"pay": 4}, max_distinct=1000)
