"""Which groups are compared."""

import numpy as np
import pandas as pd

from cli.conftest import COLUMNS


def test_small_groups_are_left_out_by_name(run, many, tmp_path):
    found = run("audit", many, *COLUMNS, "--min-group", 30, "--json").json
    assert [each["group"] for each in found["groups"]] == ["F", "M"]
    assert found["left_out"] == [{"group": "X", "rows": 6}]
    assert [each["text"] for each in found["notes"] if each["kind"] == "left out"] == [
        "X is left out of the comparison (6 rows)."
    ]
    answer = run("fit", many, *COLUMNS, "--lam", 0.5, "--min-group", 30, "-o", tmp_path / "map.json")
    assert "left out of the comparison, with scores that do not change: X" in answer.out
    run("apply", tmp_path / "map.json", many, "-o", tmp_path / "new.csv")
    new = pd.read_csv(tmp_path / "new.csv")
    tiny = new["sex"] == "X"
    assert (new.loc[tiny, "risk"] == new.loc[tiny, "risk_adjusted"]).all()
    assert (new.loc[~tiny, "risk"] != new.loc[~tiny, "risk_adjusted"]).any()
    picked = run("audit", many, *COLUMNS, "--groups", "M,X", "--json").json
    assert [each["group"] for each in picked["groups"]] == ["M", "X"]
    assert "no group 'Z'" in run("audit", many, *COLUMNS, "--groups", "M,Z", expect=2).err


def test_pairs_of_three_groups_have_intervals(run, tmp_path):
    rng = np.random.default_rng(9)
    region, outcome = rng.choice(["low", "mid", "top"], 1200), rng.integers(0, 2, 1200)
    risk = rng.normal(outcome + 0.4 * (region == "mid"))
    path = tmp_path / "rows.csv"
    pd.DataFrame({"risk": risk, "outcome": outcome, "sex": region}).to_csv(path, index=False)
    found = run("audit", path, *COLUMNS, "--json").json
    pair = max(found["gaps"], key=lambda pair: abs(pair["signed_gap"]))
    assert (pair["first"], pair["signed_gap"] > 0) == ("mid", True)
    assert pair["signed_gap_low"] < pair["signed_gap"] < pair["signed_gap_high"]
    row = [f"{pair['signed_gap']:.3f}", f"{pair['signed_gap_low']:.3f}", f"{pair['signed_gap_high']:.3f}"]
    lines = [line.split() for line in run("audit", path, *COLUMNS).out.splitlines()]
    assert ["mid", pair["second"], *row] in [line[:5] for line in lines]
    turned = next(pair for pair in found["gaps"] if pair["signed_gap"] < 0)
    ends = [f"{-turned['signed_gap']:.3f}", f"{-turned['signed_gap_high']:.3f}", f"{-turned['signed_gap_low']:.3f}"]
    assert [turned["second"], turned["first"], *ends] in [line[:5] for line in lines]


def test_groups_that_are_numbers_are_called_by_their_column(run, people, tmp_path):
    """In words; JSON has them as they are, and names of other groups stay."""
    path = tmp_path / "rows.csv"
    people.assign(black=(people["sex"] == "M").astype(int)).to_csv(path, index=False)
    columns = ["--score", "risk", "--label", "outcome", "--group"]
    said = run("audit", path, *columns, "black", "--fail-above", 0.9).out
    assert "The score ranks black=1 higher than black=0:" in said
    assert "Someone in black=1 with the outcome is ranked above someone in black=0 without it" in said
    assert "between black=1 and black=0" in said
    assert {str(each["group"]) for each in run("audit", path, *columns, "black", "--json").json["groups"]} == {"0", "1"}
    fitted = run("fit", path, *columns, "black", "--lam", 0.5).out
    assert "reference group: black=1, whose scores do not change" in fitted
    assert "scores in black=0 change" in fitted
    assert "smoker=true" in run("audit", path, *columns, "smoker").out.lower()
    assert "sex=" not in run("audit", path, *columns, "sex").out


def test_missing_values_that_are_a_band_are_not_told_as_bad_rows(people, tmp_path, run):
    people.assign(age=people.age.where(people.age < 30)).to_csv(tmp_path / "a.csv", index=False)
    of_age = [*COLUMNS[:4], "--group", "age"]
    err = run("audit", tmp_path / "a.csv", *of_age, "--bands", "age:2,40", expect=2).err
    assert "leave 'under 2' without rows" in err
    assert "missing" not in err


def test_one_edge_of_a_band_is_written_with_a_comma(csv, run):
    found = run("audit", csv, *COLUMNS[:4], "--group", "age", "--bands", "age:10,", "--json").json
    assert [each["group"] for each in found["groups"]] == ["under 10", "10+"]
