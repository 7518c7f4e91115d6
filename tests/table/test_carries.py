"""What a table knows of its rows beside counts, squared weights and clusters: through cuts, maps, folds and merges."""

import pickle

import numpy as np
import pytest

from fairpot import score_table
from fairpot.counts import GroupCounts
from fairpot.inference import confidence_interval
from fairpot.rows import RowSource, count_rows
from fairpot.splitting import all_but, split_table


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    y, g = rng.integers(0, 2, 500), rng.choice(["a", "b"], 500)
    return {
        "y": y,
        "s": np.round(rng.normal(y), 1),
        "g": g,
        "w": rng.exponential(size=500),
        "c": rng.integers(0, 90, 500),
    }


def counted(rows, keep=slice(None), *, clusters=True, **changed):
    r = {name: np.asarray(column)[keep] for name, column in (rows | changed).items()}
    given = {"clusters": r["c"]} if clusters else {}
    return score_table(r["y"], r["s"], sensitive_features=r["g"], sample_weight=r["w"], weights="importance", **given)


def known(table):
    """Everything of a table, row by row: weight of each (unit's name, group, label, score), and squares by score."""
    found = {}
    for group, c in zip(table.groups, table.counts):
        for label, (members, squares) in enumerate(zip(c.members[::-1], c.squares[::-1])):
            for unit, entry, weight in zip(*members):
                key = int(table.units.hashes[unit]), group, label, float(c.score[entry])
                found.setdefault(key, []).append(round(float(weight), 9))
            for score, square in zip(c.score, squares):
                if square:
                    found["square", group, label, float(score)] = round(float(square), 9)
    return {key: sorted(value) if isinstance(value, list) else value for key, value in found.items()}


def test_a_table_gives_the_interval_of_its_rows(rows):
    given = {
        "sensitive_features": rows["g"],
        "sample_weight": rows["w"],
        "weights": "importance",
        "clusters": rows["c"],
    }
    for metric, top in (("xauc_gap", None), ("auc", 0.5)):
        one = confidence_interval(metric, counted(rows), top=top)
        two = confidence_interval(metric, rows["y"], rows["s"], top=top, **given)
        assert one.to_dict() == two.to_dict()
        assert one.se != confidence_interval(metric, counted(rows, clusters=False), top=top).se


def test_cut_rescored_and_one_group_alone(rows):
    table = counted(rows)
    shifted = {"a": lambda s: np.round(-2 * s, 9)}
    again = counted(rows, s=np.where(rows["g"] == "a", np.round(-2 * rows["s"], 9), rows["s"]))
    assert known(table.rescored(shifted)) == known(again)
    assert known(table.above({"a": 0.5, "b": 1.0})) == known(
        counted(rows, rows["s"] >= np.where(rows["g"] == "a", 0.5, 1))
    )
    assert known(table.only(["b"])) == {k: v for k, v in known(table).items() if k[1] == "b"}
    coarse = {g: lambda s: np.floor(s) for g in "ab"}
    assert known(table.rescored(coarse)) == known(counted(rows, s=np.floor(rows["s"])))


def test_quantised(rows):
    small = counted(rows).quantise(5)
    for counts in small.counts:
        for weight, square, members in zip((counts.positive, counts.negative), counts.squares, counts.members):
            np.testing.assert_allclose(np.bincount(members.entry, members.weight, len(weight)), weight)
            np.testing.assert_allclose(np.bincount(members.entry, members.weight**2, len(weight)), square)


def test_merged_parts_are_the_whole(rows):
    first = np.arange(500) < 200
    assert known(counted(rows, first).merge(counted(rows, ~first))) == known(counted(rows))
    with pytest.raises(ValueError, match="cannot be merged"):
        counted(rows).merge(counted(rows, clusters=False))
    kinds = {"sensitive_features": rows["g"], "clusters": rows["c"]}
    times = score_table(rows["y"], rows["s"], **kinds, sample_weight=np.full(500, 2), weights="frequency")
    with pytest.raises(ValueError, match=r"cannot be merged.\nHint: count both with the same `weights`"):
        counted(rows).merge(times)
    plain = score_table(rows["y"], rows["s"], **kinds)
    assert plain.merge(times).weights == "frequency"
    ones = score_table(rows["y"], rows["s"], **kinds, sample_weight=np.ones(500), weights="importance")
    assert known(counted(rows).merge(plain)) == known(plain.merge(counted(rows))) == known(counted(rows).merge(ones))


@pytest.mark.parametrize("seed", [None, 0])
def test_folds_hold_whole_clusters_and_add_up(rows, seed):
    table = counted(rows)
    folds = split_table(table, 4, seed)
    names = [{key[0] for key in known(fold) if key[0] != "square"} for fold in folds]
    for k, own in enumerate(names):
        assert not own & set().union(*(other for i, other in enumerate(names) if i != k))
    rest = all_but(folds, 0).merge(folds[0])
    assert known(rest) == known(table)
    weight = [sum(c.weight.sum() for c in fold.counts) for fold in folds]
    assert max(weight) < 1.5 * min(weight)


def test_the_order_of_rows_changes_nothing(rows):
    mixed = np.random.default_rng(1).permutation(500)
    for top in (None, 0.3):
        one, two = (confidence_interval("xauc_gap", counted(rows, keep), top=top) for keep in (slice(None), mixed))
        assert one.to_dict() == two.to_dict()


@pytest.mark.parametrize("kind", [int, str, float, np.int16])
def test_a_cluster_is_its_text_whatever_its_type(rows, kind):
    other = counted(rows, c=np.array([kind(c) for c in rows["c"]], dtype=object))
    np.testing.assert_array_equal(other.units.hashes, counted(rows).units.hashes)


def test_names_can_be_dropped(rows):
    names = np.array([f"patient-{c}" for c in rows["c"]])
    table = counted(rows, c=names)
    assert b"patient-" not in pickle.dumps(table)
    bare = table.nameless()
    assert bare.units.hashes is None
    assert confidence_interval("auc", bare).to_dict() == confidence_interval("auc", table).to_dict()
    with pytest.raises(ValueError, match="without names"):
        bare.merge(table)


def test_what_is_required_is_said_in_one_place(rows):
    table = score_table(rows["y"], rows["s"])
    with pytest.raises(ValueError, match="an audit compares groups, and this table has a single group, 'all'"):
        table.require("an audit", groups=2)
    unlabelled = type(table)(table.groups, table.counts, labelled=False)
    with pytest.raises(ValueError, match="counts outcomes"):
        unlabelled.require("an audit")
    assert table.require("an AUC") is table


def test_plain_counts_have_squares_that_are_themselves():
    counts = GroupCounts(np.array([0.5]), np.array([2]), np.array([3]))
    assert counts.squared(True).tolist() == [2]


def test_files_know_their_squares(rows, tmp_path):
    path = tmp_path / "rows.csv"
    lines = [f"{s},{y},{g},{w!r}" for s, y, g, w in zip(*(rows[k].tolist() for k in "sygw"))]
    path.write_text("\n".join(["score,label,group,weight", *lines]))
    roles = {"score": "score", "label": "label", "groups": "group", "weight": "weight", "weights": "importance"}
    found = count_rows(RowSource(path, **roles)).table
    whole = counted(rows, clusters=False)
    for one, two in zip(found.counts, whole.counts):
        np.testing.assert_array_equal(one.squares, two.squares)
