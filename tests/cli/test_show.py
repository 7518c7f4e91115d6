"""fairpot show: what is in a map."""

import re

import pytest

from cli.conftest import COLUMNS
from fairpot import load


def test_what_is_printed(run, fitted):
    out = run("show", fitted).out
    for part in ("FairPOT, lam = 0.4", "fitted on 600 rows", "does not change", "up to"):
        assert part in out
    assert "breakpoints" in out


def test_json(run, fitted, people):
    found = run("show", fitted, "--json").json
    assert found["method"] == "FairPOT"
    assert found["dial"] == {"name": "lam", "value": 0.4, "groups": []}
    assert found["reference"] == "M"
    assert found["fitted_on"]["rows"] == 600
    identity = {each["group"]: each["identity"] for each in found["maps"]}
    assert identity == {"F": False, "M": True}
    assert found["certificate"] is None


@pytest.mark.parametrize(
    "options",
    [
        ["--lam", "0.4", "--top", "0.3", "--repair-top"],
        ["--method", "wasserstein", "--strength", "1"],
        ["--method", "logit-shift", "--max-gap", "0.05"],
        ["--method", "optimal-merge", "--smallest-gap", "--group", "smoker"],
    ],
)
def test_every_kind_of_map(run, csv, tmp_path, options):
    run("fit", csv, *COLUMNS, *options, "-o", tmp_path / "map.json")
    assert "Groups" in run("show", tmp_path / "map.json").out
    assert run("show", tmp_path / "map.json", "--json").json["maps"]


def test_show_rounds_the_dial(run, csv, tmp_path):
    run("fit", csv, *COLUMNS, "--lam", 0.41000000000000003, "-o", tmp_path / "map.json")
    answer = run("show", tmp_path / "map.json").out
    assert "lam = 0.41\n" in answer
    assert "columns: score 'risk', group 'sex'" in answer


def test_a_map_is_said_to_raise_scores_where_it_does(run, people, csv, tmp_path):
    """Below the first moved score nothing is raised, and the range that is named is that of the moved scores."""
    path = tmp_path / "map.json"
    run("fit", csv, *COLUMNS, "--lam", 0.3, "-o", path)
    said = run("show", path).out.splitlines()[0]
    low, high = map(float, re.search(r"raises scores of F between (\S+) and (\S+);", said).groups())
    own = people[people["sex"] == "F"]["risk"].to_numpy()
    moved = own[load(path).transform(own, sensitive_features=["F"] * len(own)) != own]
    assert low == pytest.approx(moved.min(), abs=0.02)
    assert high >= moved.max() - 0.001
    assert "scores of M do not change." in said
    run("fit", csv, *COLUMNS, "--lam", 0, "-o", path, "--force")
    assert run("show", path).out.startswith("This map changes no score.")
