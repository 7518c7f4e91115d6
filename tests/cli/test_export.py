"""``fairpot export``: what is written gives what ``fairpot apply`` gives."""

import sqlite3

import numpy as np
import pandas as pd
import pytest

import fairpot


@pytest.fixture(scope="module")
def expected(fitted, people):
    model = fairpot.load(fitted)
    return model.transform(people["risk"].to_numpy(), sensitive_features=people["sex"].to_numpy())


def test_sql(run, fitted, people, expected):
    text = run("export", fitted, "--to", "sql", "--dialect", "sqlite", "--table", "people").out
    connection = sqlite3.connect(":memory:")
    people.to_sql("people", connection, index=False)
    got = pd.read_sql_query(text, connection).sort_values("id")["risk_adjusted"].to_numpy()
    connection.close()
    np.testing.assert_array_equal(got, expected)


def test_python_in_a_file(run, fitted, people, expected, tmp_path):
    answer = run("export", fitted, "--to", "python", "-o", tmp_path / "made.py")
    assert "2 groups" in answer.out
    names = {}
    exec((tmp_path / "made.py").read_text(), names)
    got = [names["adjusted_score"](s, g) for s, g in zip(people["risk"], people["sex"])]
    np.testing.assert_array_equal(got, expected)
    run("export", fitted, "--to", "javascript", "-o", tmp_path / "made.py", expect=2)
    run("export", fitted, "--to", "javascript", "-o", tmp_path / "made.py", "--force")
    assert "function adjustedScore" in (tmp_path / "made.py").read_text()


def test_onnx(run, fitted, people, expected, tmp_path):
    runtime = pytest.importorskip("onnxruntime")
    runtime.disable_telemetry_events()
    run("export", fitted, "--to", "onnx", "-o", tmp_path / "made.onnx")
    session = runtime.InferenceSession(tmp_path / "made.onnx", providers=["CPUExecutionProvider"])
    rows = {"risk": people["risk"].to_numpy(), "sex": people["sex"].to_numpy(dtype=object)}
    np.testing.assert_array_equal(session.run(["risk_adjusted"], rows)[0], expected)


def test_ways_of_rows_without_a_map(run, fitted, tmp_path):
    run("export", fitted, "--to", "python", "--missing-group", "keep", "-o", tmp_path / "made.py")
    names = {}
    exec((tmp_path / "made.py").read_text(), names)
    assert names["adjusted_score"](0.5, None) == 0.5
    with pytest.raises(ValueError, match="no map for the group 'X'"):
        names["adjusted_score"](0.5, "X")
    text = run("export", fitted, "--to", "javascript", "--module", "esm", "--unknown-group", "null").out
    assert "export function" in text
    assert "return NaN" in text
    text = run("export", fitted, "--to", "sql", "--dialect", "duckdb", "--missing-group", "null").out
    assert '"sex" IS NULL THEN NULL' in text
    run("export", fitted, "--to", "onnx", "--missing-group", "null", "-o", tmp_path / "made.onnx")


def test_an_output_that_is_there_is_told_before_the_map_is_read(run, tmp_path):
    (tmp_path / "there.py").write_text("mine")
    (tmp_path / "map.json").write_text("no map")
    answer = run("export", tmp_path / "map.json", "--to", "python", "-o", tmp_path / "there.py", expect=2)
    assert "already exists" in answer.err


def test_simplified(run, fitted, tmp_path):
    plain = run("export", fitted, "--to", "javascript", "--json").json
    small = run("export", fitted, "--to", "javascript", "--max-error", 0.01, "--json").json
    assert small["pieces"] < plain["pieces"]
    assert 0 < small["largest_error"] <= 0.01
    assert "scores within 0.0" in small["text"]
    said = run("export", fitted, "--to", "javascript", "--max-error", 0.01, "-o", tmp_path / "x.js").out
    assert "Simplified from" in said


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--to", "sql"], "--to sql needs a --dialect, such as --dialect duckdb"),
        (["--to", "python", "--dialect", "duckdb"], "--dialect goes with --to sql"),
        (["--to", "onnx"], "name a file with -o"),
        (["--to", "python", "--module", "esm"], "--module goes with --to javascript"),
        (["--to", "python", "--table", "x"], "--table goes with --to sql"),
    ],
)
def test_refusals(run, fitted, arguments, message):
    assert message in run("export", fitted, *arguments, expect=2).err


def test_the_map_is_never_replaced(run, fitted):
    before = fitted.read_bytes()
    run("export", fitted, "--to", "python", "-o", fitted, "--force", expect=2)
    assert fitted.read_bytes() == before
