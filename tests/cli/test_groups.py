"""Which groups are compared."""

import numpy as np
import pandas as pd

from cli.conftest import COLUMNS


def test_small_groups_are_left_out_by_name(run, many, tmp_path):
    found = run("audit", many, *COLUMNS, "--min-group", 30, "--json").json
    assert [each["group"] for each in found["groups"]] == ["F", "M"]
    assert found["left_out"] == [{"group": "X", "rows": 6}]
    assert any("'X' is left out" in text for text in found["warnings"])
    answer = run("fit", many, *COLUMNS, "--lam", 0.5, "--min-group", 30, "-o", tmp_path / "map.json")
    assert "group X is left out" in answer.out
    run("apply", tmp_path / "map.json", many, "-o", tmp_path / "new.csv")
    new = pd.read_csv(tmp_path / "new.csv")
    tiny = new["sex"] == "X"
    assert (new.loc[tiny, "risk"] == new.loc[tiny, "risk_fair"]).all()
    assert (new.loc[~tiny, "risk"] != new.loc[~tiny, "risk_fair"]).any()
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
    assert pair["signed_low"] < pair["signed_gap"] < pair["signed_high"]
    row = [f"{pair['signed_gap']:.4f}", f"{pair['signed_low']:+.4f}", f"{pair['signed_high']:+.4f}"]
    lines = [line.split() for line in run("audit", path, *COLUMNS).out.splitlines()]
    assert ["mid", pair["second"], *row] in [line[:5] for line in lines]
    turned = next(pair for pair in found["gaps"] if pair["signed_gap"] < 0)
    ends = [f"{-turned['signed_gap']:.4f}", f"{-turned['signed_high']:+.4f}", f"{-turned['signed_low']:+.4f}"]
    assert [turned["second"], turned["first"], *ends] in [line[:5] for line in lines]
