"""Which groups are compared."""

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
    assert (new.loc[tiny, "risk"] == new.loc[tiny, "risk_adjusted"]).all()
    assert (new.loc[~tiny, "risk"] != new.loc[~tiny, "risk_adjusted"]).any()
    picked = run("audit", many, *COLUMNS, "--groups", "M,X", "--json").json
    assert [each["group"] for each in picked["groups"]] == ["M", "X"]
    assert "no group 'Z'" in run("audit", many, *COLUMNS, "--groups", "M,Z", expect=2).err
