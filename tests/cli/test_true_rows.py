"""Rows, clusters and weights of 0 at the terminal."""

import re

import numpy as np
import pandas as pd

OPTIONS = ["--score", "s", "--label", "y", "--group", "g"]


def write(folder):
    rng = np.random.default_rng(3)
    frame = pd.DataFrame({"g": rng.choice(["p", "q"], 400), "y": rng.integers(0, 2, 400)})
    frame["s"] = rng.normal(frame["y"] + 0.4 * (frame["g"] == "p")).round(2)
    frame["w"], frame["c"] = rng.choice([0, 1, 3], 400), rng.integers(0, 90, 400)
    frame.to_csv(folder / "rows.csv", index=False)
    return frame


def test_rows_of_weight_0_are_said(tmp_path, run):
    frame = write(tmp_path)
    gone = int((frame["w"] == 0).sum())
    said = run("audit", tmp_path / "rows.csv", *OPTIONS, "--weight", "w").out
    assert f"note: {gone} of the rows have a weight of 0: they are in no count and no number." in said
    assert "weight of 0" not in run("audit", tmp_path / "rows.csv", *OPTIONS).out


def test_clusters_stand_beside_rows(tmp_path, run):
    frame = write(tmp_path)
    said = run("audit", tmp_path / "rows.csv", *OPTIONS, "--cluster", "c", "--weight", "w").out
    [line] = re.findall(r"^ *p +.*$", said, re.MULTILINE)
    own = frame[(frame["g"] == "p") & (frame["w"] > 0)]
    assert line.split()[1:4] == [str(each) for each in (len(own), own["c"].nunique(), own["y"].sum())]
