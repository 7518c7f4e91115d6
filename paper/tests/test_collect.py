"""Records side by side: rows are seeds, columns values of the dial, and what failed leaves a hole."""

import copy

import numpy as np
import pytest

from fairpot_paper.tables import Key, collect, curve_columns, mean_of, spread, standard_error
from record_cases import make_records

KEY = Key("compas", "xgboost", "", "in_sample", "half", "fairpot")


@pytest.fixture(scope="module")
def records():
    return make_records(3, ["tradeoff", "partial", "compas", "clinical"])


def of(records, data, seed, kind="tradeoff", model="xgboost"):
    [one] = [
        r
        for r in records
        if (r["run"]["kind"], r["run"]["data"], r["run"]["seed"], r["run"]["model"]) == (kind, data, seed, model)
    ]
    return one


def test_rows_are_seeds_in_order(records):
    found = collect(reversed(records))[KEY]
    assert found.auc.shape == found.signed_gap.shape == (3, 101)
    for seed in range(3):
        series = of(records, "compas", seed)["results"]["tests"][0]["in_sample"]["fairpot"]["half"]
        assert found.auc[seed].tolist() == series["auc"]
        assert found.signed_gap[seed].tolist() == series["gap"]


def test_rows_are_resamples_where_the_split_is_fixed(records):
    found = collect(records)[Key("clinical", "stacked_in", "group", "test", "strict", "xgboost")]
    tests = of(records, "clinical", 0, "partial", "stacked_in")["results"]["tests"]
    assert found.auc[:, 0].tolist() == [test["group"]["test"]["xgboost"]["strict"]["auc"][0] for test in tests]
    assert len(tests) == 3


def test_what_failed_leaves_a_hole(records):
    holed = copy.deepcopy(records)
    del of(holed, "compas", 1)["results"]["tests"][0]["in_sample"]["xorder"]
    found = collect(holed)
    theirs = found[KEY._replace(method="xorder")]
    assert np.isnan(theirs.auc[1]).all()
    assert np.isfinite(theirs.auc[[0, 2]]).all()
    assert np.isfinite(found[KEY].auc).all()
    of(holed, "compas", 1).update(status="failed", error={"message": "x"})
    assert collect(holed)[KEY].auc.shape == (2, 101)  # a seed that nobody has


def test_the_gap_has_no_sign(records):
    found = collect(records)[KEY]
    assert (found.gap == abs(found.signed_gap)).all()
    assert (found.signed_gap < 0).any()


def test_errors_over_splits_and_over_resamples():
    values = np.array([[1.0, 5.0], [2.0, np.nan], [6.0, 7.0]])
    assert mean_of(values) == pytest.approx([3, 6])
    assert spread(values) == pytest.approx([np.std([1, 2, 6], ddof=1), np.std([5, 7], ddof=1)])
    assert standard_error(values, "bank") == pytest.approx(spread(values) / np.sqrt([3, 2]))
    assert standard_error(values, "clinical") == pytest.approx(spread(values))
    nothing = np.array([[np.nan, 1.0], [np.nan, np.nan]])
    assert np.isnan(mean_of(nothing)[0])
    assert np.isnan(spread(nothing)).all()


def test_columns(records):
    columns = curve_columns(collect(records))
    rows = [dict(zip(columns, values)) for values in zip(*columns.values())]
    [row] = [r for r in rows if Key(*(r[name] for name in Key._fields)) == KEY and r["dial"] == 0.3]
    series = [of(records, "compas", s)["results"]["tests"][0]["in_sample"]["fairpot"]["half"] for s in range(3)]
    auc, gap = ([each[name][30] for each in series] for name in ("auc", "gap"))
    assert row["n"] == 3
    assert row["auc"] == pytest.approx(np.mean(auc))
    assert row["auc_sd"] == pytest.approx(np.std(auc, ddof=1))
    assert row["auc_se"] == pytest.approx(np.std(auc, ddof=1) / np.sqrt(3))
    assert row["gap"] == pytest.approx(np.mean(np.abs(gap)))
    assert row["signed_gap"] == pytest.approx(np.mean(gap))
