"""The command line with --engine spark: what it says and writes with DuckDB."""

import json
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from fairpot.cli._app import app
from spark_cluster import java_or_skip, own_process

COLUMNS = ["--score", "risk", "--label", "outcome", "--group", "sex"]


@pytest.fixture(scope="module")
def people(tmp_path_factory):
    rng = np.random.default_rng(8)
    n = 500
    sex = rng.choice(["F", "M"], n)
    frame = pd.DataFrame({"id": np.arange(n), "risk": (rng.beta(2, 3, n) * np.where(sex == "M", 1, 0.7)).round(3)})
    frame["outcome"], frame["sex"] = (rng.random(n) < frame["risk"]).astype(int), sex
    path = tmp_path_factory.mktemp("people") / "people.parquet"
    frame.to_parquet(path)
    return str(path)


def run(*arguments, expect=0):
    done = CliRunner().invoke(app, [str(each) for each in arguments])
    assert done.exit_code == expect, done.stderr + done.stdout
    return done.stdout if expect == 0 else done.stderr


def test_audit_fit_and_apply(spark, cluster, people, tmp_path):
    there = ["--engine", "spark", "--master", cluster.url]
    audit = [json.loads(run("audit", people, *COLUMNS, *more, "--json")) for more in ([], there)]
    assert audit[0] == audit[1]
    for name, more in (("duck", []), ("spark", there)):
        run("fit", people, *COLUMNS, "--lam", 0.4, "-o", tmp_path / f"{name}.json", *more)
    assert (tmp_path / "duck.json").read_bytes() == (tmp_path / "spark.json").read_bytes()
    run("apply", tmp_path / "duck.json", people, "-o", tmp_path / "duck.parquet")
    said = run("apply", tmp_path / "duck.json", people, "-o", tmp_path / "spark.parquet", *there)
    assert "500 rows with the column 'risk_adjusted'" in said
    one, other = (pd.read_parquet(tmp_path / f"{name}.parquet").sort_values("id") for name in ("duck", "spark"))
    pd.testing.assert_frame_equal(one.reset_index(drop=True), other.reset_index(drop=True), check_exact=True)
    assert "already exists" in run(
        "apply", tmp_path / "duck.json", people, "-o", tmp_path / "spark.parquet", *there, expect=2
    )


def test_rows_without_a_group(spark, cluster, people, tmp_path):
    """The same rows, ways and counts; a folder of the input is refused before the cluster is asked."""
    there = ["--engine", "spark", "--master", cluster.url]
    run("fit", people, *COLUMNS, "--lam", 0.4, "-o", tmp_path / "map.json")
    frame = pd.read_parquet(people)
    frame["sex"] = frame["sex"].astype(object)
    frame.loc[frame.index[:4], "sex"] = None
    frame.loc[frame.index[10:13], "sex"] = "X"
    (tmp_path / "in").mkdir()
    frame.to_parquet(tmp_path / "in" / "holes.parquet")
    command = ["apply", tmp_path / "map.json", tmp_path / "in" / "holes.parquet"]
    for more in ([], there):
        error = run(*command, "-o", tmp_path / "x.parquet", *more, expect=2)
        assert "4 rows without a group" in error
        assert "3 rows with a group not seen in fit" in error
    ways, found = ["--missing-group", "keep", "--unknown-group", "null"], []
    for name, more in (("duck", []), ("spark", there)):
        said = json.loads(run(*command, "-o", tmp_path / f"{name}.parquet", *ways, *more, "--json"))
        assert (said["missing"], said["unknown"]) == (4, 3)
        found.append(pd.read_parquet(tmp_path / f"{name}.parquet").sort_values("id").reset_index(drop=True))
    np.testing.assert_array_equal(found[0]["risk_adjusted"], found[1]["risk_adjusted"])
    command[2] = tmp_path / "in"
    said = run(
        *command, "-o", tmp_path / "in" / "new.parquet", "--engine", "spark", "--master", "spark://no:1", expect=2
    )
    assert "lies among the input" in said


def test_a_map_of_the_top(spark, cluster, people, tmp_path):
    """A map that begins at the score of the fitted top moves the same rows here and on the cluster."""
    top = ["--top", 0.3, "--top-of", "group", "--repair-top"]
    run("fit", people, *COLUMNS, "--lam", 0.4, *top, "-o", tmp_path / "map.json")
    run("apply", tmp_path / "map.json", people, "-o", tmp_path / "duck.parquet")
    there = ["--engine", "spark", "--master", cluster.url]
    run("apply", tmp_path / "map.json", people, "-o", tmp_path / "spark.parquet", *there)
    one, other = (pd.read_parquet(tmp_path / f"{name}.parquet").sort_values("id") for name in ("duck", "spark"))
    pd.testing.assert_frame_equal(one.reset_index(drop=True), other.reset_index(drop=True), check_exact=True)
    assert 0 < (one["risk"] != one["risk_adjusted"]).sum() < 150


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["audit", "x.parquet", "--master", "local[1]"], "--master is not an option of --engine duckdb"),
        (["audit", "-", "--engine", "spark"], "names of files"),
        (["audit", "--sql", "select 1", "--engine", "spark"], "--sql is not an option of --engine spark"),
        (["audit", "x.jsonl", "--engine", "spark"], "all of one format"),
    ],
)
def test_refusals(spark, arguments, message):
    assert message in run(*arguments, expect=2)


@pytest.mark.slow
def test_local_mode_in_a_process_of_its_own(people):
    java_or_skip()
    command = [sys.executable, "-m", "fairpot.cli", "audit", people, *COLUMNS, "--json"]
    there = ["--engine", "spark", "--master", "local[1]"]
    done = subprocess.run([*command, *there], env=own_process(), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    assert json.loads(done.stdout) == json.loads(run(*command[3:]))
