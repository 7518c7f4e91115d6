"""Maps that look at the batch, and those that do not."""

import pandas as pd

from cli.conftest import COLUMNS


def test_a_map_that_looks_at_the_batch_says_so(run, csv, tmp_path):
    batch = ["--alpha", 0.3, "--region-from", "batch"]
    run("fit", csv, *COLUMNS, "--lam", 0.5, *batch, "-o", tmp_path / "map.json")
    assert (
        "other files give the same person other scores"
        in run("apply", tmp_path / "map.json", csv, "-o", tmp_path / "a.csv").out
    )
    assert "depend on who else is in the file" in run("show", tmp_path / "map.json").out


def test_nobody_depends_on_the_batch_by_default(run, csv, people, tmp_path):
    run("fit", csv, *COLUMNS, "--lam", 0.5, "--alpha", 0.3, "-o", tmp_path / "map.json")
    run("apply", tmp_path / "map.json", csv, "-o", tmp_path / "all.csv")
    people.nlargest(100, "risk").to_csv(tmp_path / "top.csv", index=False)
    run("apply", tmp_path / "map.json", tmp_path / "top.csv", "-o", tmp_path / "some.csv")
    together = pd.read_csv(tmp_path / "all.csv").set_index("id")["risk_adjusted"]
    alone = pd.read_csv(tmp_path / "some.csv").set_index("id")["risk_adjusted"]
    assert (together.loc[alone.index] == alone).all()
