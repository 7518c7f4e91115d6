"""Nobody's score depends on who else is in the file."""

import pandas as pd
import pytest

from cli.conftest import COLUMNS


@pytest.mark.parametrize("more", [[], ["--repair-top"]])
def test_nobody_depends_on_the_batch(run, csv, people, tmp_path, more):
    run("fit", csv, *COLUMNS, "--lam", 0.5, "--top", 0.3, *more, "-o", tmp_path / "map.json")
    run("apply", tmp_path / "map.json", csv, "-o", tmp_path / "all.csv")
    people.nlargest(100, "risk").to_csv(tmp_path / "top.csv", index=False)
    run("apply", tmp_path / "map.json", tmp_path / "top.csv", "-o", tmp_path / "some.csv")
    together = pd.read_csv(tmp_path / "all.csv").set_index("id")["risk_adjusted"]
    alone = pd.read_csv(tmp_path / "some.csv").set_index("id")["risk_adjusted"]
    assert (together.loc[alone.index] == alone).all()
