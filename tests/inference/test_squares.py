"""Squared weights that a table carries: through cuts, maps, folds and files."""

import numpy as np
import pytest

from fairpot.files import RowSource, count_rows
from fairpot.inference import confidence_interval, interval_of_table, sample_rows
from fairpot.metrics import score_table
from fairpot.splitting import split_table


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    y, g = rng.integers(0, 2, 500), rng.choice(["a", "b"], 500)
    return {"y": y, "s": np.round(rng.normal(y), 1), "g": g, "w": rng.exponential(size=500)}


def counted(rows, **changed):
    r = rows | changed
    return score_table(r["y"], r["s"], sensitive_features=r["g"], sample_weight=r["w"], weights="importance")


def test_a_table_with_squares_gives_the_interval_of_its_rows(rows):
    given = {"sensitive_features": rows["g"], "sample_weight": rows["w"], "weights": "importance"}
    for metric, alpha in (("xauc_gap", None), ("partial_auc", 0.5)):
        one = interval_of_table(metric, counted(rows), alpha=alpha)
        two = confidence_interval(metric, rows["y"], rows["s"], alpha=alpha, **given)
        assert one == two
    plain = interval_of_table("xauc_gap", score_table(rows["y"], rows["s"], sensitive_features=rows["g"]))
    assert one.estimate != plain.estimate


def test_squares_follow_the_table(rows):
    table = counted(rows)
    moved = table.rescored({"a": lambda s: s + 0.5})
    again = counted(rows, s=np.round(rows["s"] + 0.5 * (rows["g"] == "a"), 10))
    for group in "ab":
        np.testing.assert_allclose(moved.squares[group].positive, again.squares[group].positive)
    top = table.top(0.3)
    assert [len(c.score) for c in top.squares.counts] == [len(c.score) for c in top.counts]
    assert table.only(["a"]).squares.groups == ("a",)
    small, _ = table.quantise(5)
    np.testing.assert_allclose(small.squares["a"].positive.sum(), table.squares["a"].positive.sum())
    np.testing.assert_array_equal(small.squares["a"].score, small["a"].score)


def test_folds_add_up_and_merge_back(rows):
    table = counted(rows)
    folds = split_table(table, 4, 0)
    total = folds[0].merge(folds[1]).merge(folds[2]).merge(folds[3])
    for name in ("positive", "negative"):
        np.testing.assert_allclose(getattr(total.squares["b"], name), getattr(table.squares["b"], name))
    with pytest.raises(ValueError, match="cannot be merged"):
        table.merge(score_table(rows["y"], rows["s"], sensitive_features=rows["g"]))
    with pytest.raises(ValueError, match="groups and scores"):
        table.with_squares(table.only(["a"]))


def test_files_know_their_squares(rows, tmp_path):
    path = tmp_path / "rows.csv"
    lines = [f"{s},{y},{g},{w!r}" for s, y, g, w in zip(*(rows[k].tolist() for k in "sygw"))]
    path.write_text("\n".join(["score,label,group,weight", *lines]))
    found = count_rows(RowSource(path, score="score", label="label", groups="group", weight="weight"))
    whole = sample_rows(
        rows["y"], rows["s"], sensitive_features=rows["g"], sample_weight=rows["w"], weights="importance"
    )
    for one, two in zip(found.squares.counts, whole.squares.counts):
        np.testing.assert_allclose(one.positive, two.positive, rtol=1e-12)
    table = found.table.with_squares(found.squares)
    np.testing.assert_allclose(
        interval_of_table("xauc_gap", table).se, interval_of_table("xauc_gap", whole).se, rtol=1e-12
    )
