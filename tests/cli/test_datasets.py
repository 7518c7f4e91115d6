"""fairpot datasets: something real to try."""

import numpy as np
import pandas as pd
import pytest

from fairpot.datasets import make_synthetic
from fairpot.metrics import xauc_gap


def test_list(run):
    said = run("datasets", "--help").out
    assert all(f"  {name} " in said for name in ("synthetic", "bank", "compas"))


@pytest.mark.parametrize("ending", ["csv", "tsv.gz", "parquet", "feather", "arrow", "jsonl"])
def test_write(run, tmp_path, ending):
    path = tmp_path / f"scores.{ending}"
    found = run("datasets", "write", "synthetic", path, "--rows", 200, "--seed", 4, "--json").json
    assert found["rows"] == 200
    assert found["columns"][:3] == ["score", "label", "group"]
    assert run("audit", path, "--json").json["rows"] == 200


def test_written_rows_are_the_drawn_ones(run, tmp_path):
    run("datasets", "write", "synthetic", tmp_path / "s.csv", "--rows", 300, "--seed", 4)
    frame, drawn = pd.read_csv(tmp_path / "s.csv"), make_synthetic(300, random_state=4)
    np.testing.assert_array_equal(frame["label"], drawn.target)
    np.testing.assert_array_equal(frame["group"], drawn.group)
    np.testing.assert_array_equal(frame["x1"], drawn.data["x1"])
    gap = run("audit", tmp_path / "s.csv", "--json").json["gap"]
    assert gap == xauc_gap(frame["label"], frame["score"], sensitive_features=frame["group"])


def test_same_seed_same_bytes(run, tmp_path):
    for name in ("one.csv", "two.csv"):
        run("datasets", "write", "synthetic", tmp_path / name, "--rows", 100)
    assert (tmp_path / "one.csv").read_bytes() == (tmp_path / "two.csv").read_bytes()


def test_fetch_and_write_real_data(run, data_home, tmp_path, monkeypatch):
    monkeypatch.setenv("FAIRPOT_DATA", str(data_home))
    answer = run("datasets", "write", "compas", tmp_path / "c.parquet")
    assert "7,214 rows" in answer.out
    assert run("audit", tmp_path / "c.parquet", "--json").json["rows"] == 7214


def test_real_data_that_cannot_be_had_say_where_to_get_them(run, tmp_path, monkeypatch):
    monkeypatch.setenv("FAIRPOT_DATA", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:9")  # nobody is there
    said = run("datasets", "write", "bank", tmp_path / "bank.csv", expect=2).err
    assert said.startswith("error: bank-full.csv was not found")
    assert said.count("Hint:") == 1


def test_group_without_a_command_shows_help(run):
    assert "Usage: fairpot datasets" in run("datasets").out
    assert "Usage: fairpot" in run().out
