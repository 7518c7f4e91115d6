"""Outcomes that are known of some people only, on the command line: audit, fit, report, compare, rules."""

import numpy as np
import pandas as pd
import pytest


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    rng, n = np.random.default_rng(0), 2000
    sex = rng.choice(["F", "M"], n)
    risk = np.round(rng.beta(2, 3, n) * np.where(sex == "M", 1.0, 0.75), 3)
    known = (risk < 0.4) | (rng.random(n) < 0.3)
    label = pd.array(np.where(known, rng.random(n) < risk, 0).astype(int), dtype="Int64")
    label[~known] = pd.NA
    path = tmp_path_factory.mktemp("selected") / "rows.csv"
    pd.DataFrame({"score": risk, "label": label, "group": sex}).to_csv(path, index=False)
    return path, int((~known).sum())


def test_every_command_that_measures_says_whose_gap_it_is(run, rows, tmp_path):
    path, gone = rows
    said = "Outcomes are missing more often at high scores: this gap is of those with outcomes."
    assert "https://fairpot.github.io/fairpot/understand/selective-labels.html" in run("audit", path, expect=2).err
    told = [path, "--drop-missing"]
    text = run("audit", *told).out
    assert said in text
    assert "lies between" in text
    document = run("audit", *told, "--json").json["missing_outcomes"]
    assert sum(each["rows"] for each in document["groups"]) == gone
    assert document["lowest"] < document["highest"]
    assert said in run("fit", *told, "--max-gap", 0.05, "-o", tmp_path / "map.json").out
    for ending in ("html", "md"):
        run("report", *told, "--map", tmp_path / "map.json", "-o", tmp_path / f"page.{ending}")
        assert said in (tmp_path / f"page.{ending}").read_text(encoding="utf-8")
    assert said in run("compare", *told, "--method", "logit-shift", "--method", "wasserstein").out
    assert said in run("plan", *told, "--max-gap", 0.05).out
    assert said not in (tmp_path / "map.json").read_text(encoding="utf-8")
