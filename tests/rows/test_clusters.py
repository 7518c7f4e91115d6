"""Rows that belong together, in files of every format: the table that the same columns give in memory."""

import datetime
import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairpot import score_table
from fairpot.counting import hash_names
from fairpot.rows import RowSource, count_rows
from files_cases import SCORE, write
from rows_cases import assert_same_tables

ROLES = {"score": SCORE, "label": "y", "groups": "sex"}


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(5)
    n = 3000
    return pd.DataFrame(
        {
            SCORE: rng.normal(size=n).round(2),
            "y": rng.integers(0, 2, n),
            "sex": rng.choice(["F", "M"], n),
            "w": rng.integers(0, 4, n),
            "wf": rng.choice([0.0, 0.1, 0.7, 2.3], n),
            "patient": rng.integers(0, 400, n),
            "name": [f"P-{i:03d}" for i in rng.integers(0, 400, n)],
            "half": rng.integers(0, 400, n) / 2,
        }
    )


def in_memory(frame, cluster, weight=None, weights=None):
    return score_table(
        frame["y"],
        frame[SCORE],
        sensitive_features=frame["sex"],
        sample_weight=None if weight is None else frame[weight],
        weights=weights,
        clusters=frame[cluster],
    )


@pytest.mark.parametrize("weight", [None, "w", "wf"])
@pytest.mark.parametrize("weights", ["frequency", "importance"])
@pytest.mark.parametrize("name", ["rows.parquet", "rows.csv", "rows.jsonl", "rows.arrow"])
def test_same_as_in_memory(frame, tmp_path, name, weight, weights):
    path = write(frame, tmp_path / name)
    for cluster in ("patient", "name", "half"):
        found = count_rows(RowSource(path, **ROLES, cluster=cluster, weight=weight, weights=weights))
        assert found.rows == len(frame)
        assert_same_tables(found.table, in_memory(frame, cluster, weight, weights))


@settings(max_examples=25, deadline=None)
@given(st.data())
def test_any_rows(tmp_path_factory, data):
    """Ties, weights, clusters and groups at random, in any format."""
    rng = np.random.default_rng(data.draw(st.integers(0, 10**6)))
    n = data.draw(st.integers(2, 60))
    weight = data.draw(st.sampled_from([None, [1.0], [0.0, 1.0, 3.0], [0.1, 0.7, 2.5]]))
    frame = pd.DataFrame(
        {
            "s": rng.normal(size=n).round(data.draw(st.integers(0, 3))),
            "y": rng.integers(0, 2, n),
            "g": ["a", "b", *rng.choice(data.draw(st.sampled_from([["a", "b"], ["a", "b", "c"]])), n - 2)],
            "c": rng.choice(data.draw(st.sampled_from([[1, 2, 30], ["x", "y y", "0z"], [1.5, 2.0, -3.0]])), n),
            "w": rng.choice(weight or [1.0], n),
        }
    )
    if weight is not None:
        frame.loc[:1, "w"] = 1.0
    options = {"weights": data.draw(st.sampled_from(["frequency", "importance"]))} if weight is not None else {}
    kind = data.draw(st.sampled_from(["parquet", "csv", "jsonl", "arrow"]))
    path = write(frame, tmp_path_factory.mktemp("rows") / f"x.{kind}")
    roles = {"score": "s", "label": "y", "groups": "g", "cluster": "c", "weight": "w" if weight is not None else None}
    expected = score_table(
        frame["y"].to_numpy(),
        frame["s"].tolist(),
        sensitive_features=frame["g"],
        sample_weight=frame["w"] if weight is not None else None,
        clusters=frame["c"].tolist(),
        **options,
    )
    assert_same_tables(count_rows(RowSource(path, **roles, **options)).table, expected)


def test_sixty_thousand_patients_in_text(tmp_path):
    rng = np.random.default_rng(0)
    n = 90_000
    patient = np.append(np.arange(60_000), rng.integers(0, 60_000, n - 60_000))
    frame = pd.DataFrame({SCORE: rng.random(n).round(3), "y": rng.integers(0, 2, n), "sex": rng.choice(["F", "M"], n)})
    frame = frame.assign(patient=patient)
    found = count_rows(RowSource(write(frame, tmp_path / "rows.csv"), **ROLES, cluster="patient")).table
    assert found.units.size == 60_000
    assert_same_tables(found, in_memory(frame, "patient"))


@pytest.mark.parametrize("name", ["rows.parquet", "rows.csv", "rows.jsonl", "rows.arrow"])
def test_missing_clusters(frame, tmp_path, name):
    holes = frame.assign(patient=frame["patient"].where(np.arange(len(frame)) % 100 != 7))
    source = RowSource(write(holes, tmp_path / name), **ROLES, cluster="patient")
    with pytest.raises(ValueError, match="column 'patient' has 30 rows without a cluster") as told:
        count_rows(source)
    assert "row 8, row 108" in str(told.value)
    with pytest.raises(ValueError, match="clusters has 30 rows without a cluster"):
        in_memory(holes, "patient")
    left = count_rows(source, drop_missing=True)
    assert left.dropped["rows"] == left.dropped["patient"] == 30
    assert left.rows == len(frame) - 30
    assert_same_tables(left.table, in_memory(frame[holes["patient"].notna()], "patient"))


def test_tables_of_different_files_are_merged_by_patient(frame, tmp_path):
    first, second = frame[:1000], frame[1000:].assign(patient=frame["patient"][1000:].astype(float))
    paths = [write(first, tmp_path / "a.csv"), write(second, tmp_path / "b.parquet")]
    one, two = (count_rows(RowSource(path, **ROLES, cluster="patient")).table for path in paths)
    text = in_memory(frame[1000:].assign(patient=frame["patient"][1000:].astype(str)), "patient")
    assert one.merge(two).units.size == frame["patient"].nunique()
    assert_same_tables(two, text)
    assert_same_tables(one.merge(two), in_memory(frame, "patient"))


@pytest.mark.parametrize(
    "values",
    [
        pa.array([1, 2, 1, 2], pa.int8()),
        pa.array(["007", "7", "8.0", "8"]),
        pa.array([True, False, True, False]),
        pa.array([datetime.date(2024, 1, 1), datetime.date(2024, 1, 2)] * 2),
        pa.array([datetime.datetime(2024, 1, 1, 12, 0, 0, 500000), datetime.datetime(2024, 1, 2)] * 2),
        pa.array([1.25, 3.0, 1.25, 3.0], pa.float32()),
        pa.array(["a", "b", "a", "b"]).dictionary_encode(),
        pa.array([b"a", b"b", b"a", b"b"]),
    ],
    ids=lambda values: str(values.type),
)
@pytest.mark.parametrize("name", ["x.parquet", "x.arrow"])
def test_clusters_of_any_type(tmp_path, values, name):
    table = pa.table({"s": [0.1, 0.2, 0.3, 0.3], "y": [0, 1, 0, 1], "g": ["a", "a", "b", "b"], "c": values})
    path = tmp_path / name
    pq.write_table(table, path) if name == "x.parquet" else pa.feather.write_feather(table, path)
    found = count_rows(RowSource(path, score="s", label="y", groups="g", cluster="c")).table
    assert found.units.size == 2
    for column in (values, values.to_pylist()):
        expected = score_table([0, 1, 0, 1], [0.1, 0.2, 0.3, 0.3], sensitive_features=list("aabb"), clusters=column)
        assert_same_tables(found, expected)


def test_a_number_is_the_same_patient_however_it_is_written():
    same = [12, 12.0, "12", "012", "12.0", " 12", "+12", np.float32(12), np.int8(12)]
    assert len(set(hash_names(same).tolist())) == 1
    assert len(set(hash_names([12, "A12", "12a", 12.5, -12, "1e1", "", "0"]).tolist())) == 8
    assert len(set(hash_names([1e-5, "0.00001", "-0.000010"]).tolist())) == 2


def test_bins_cannot_keep_clusters(frame, tmp_path):
    source = RowSource(write(frame, tmp_path / "x.parquet"), **ROLES, cluster="patient")
    with pytest.raises(ValueError, match="more than 40 rows, and rows that belong together are counted one by one"):
        count_rows(source, max_distinct=20)


def test_lists_are_no_clusters(tmp_path):
    lines = [json.dumps({"s": i / 4, "y": i % 2, "g": "ab"[i // 2], "c": [i]}) for i in range(4)]
    (tmp_path / "x.jsonl").write_text("\n".join(lines))
    with pytest.raises(TypeError, match="column 'c' must hold plain values"):
        count_rows(RowSource(tmp_path / "x.jsonl", score="s", label="y", groups="g", cluster="c"))
