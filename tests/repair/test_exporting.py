"""Every method as SQL, ONNX and plain functions: what it transforms to, or a refusal with the way out."""

import sqlite3
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import fairpot
from fairpot import FairPOT
from fairpot.methods import WassersteinRepair
from modelfile_cases import make_data, models

DATA = make_data(n=60)


def values(model, data):
    """Return what three exports give for rows."""
    model = model.fair_maps_
    names = {}
    exec(model.to_python(), names)
    rows = list(zip(data.scores.tolist(), data.group.tolist()))
    yield [names["adjusted_score"](s, g) for s, g in rows]
    scorer = model.row_scorer()
    yield [scorer(s, g) for s, g in rows]
    connection = sqlite3.connect(":memory:")
    connection.execute('CREATE TABLE rows (score REAL, "group" TEXT)')
    connection.executemany("INSERT INTO rows VALUES (?, ?)", rows)
    select = model.to_sql("sqlite", table="rows")
    yield [row[-2] for row in connection.execute(select)]  # the last column says which map it is
    connection.close()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", models())
def test_every_method(name):
    model = DATA.fit(models()[name])
    expected = model.transform(DATA.scores, sensitive_features=DATA.group)
    for got in values(model, DATA):
        np.testing.assert_array_equal(got, expected)


def test_rows_without_a_group_are_one_where_they_were_in_fit():
    group = np.array([None if g == "F" else g for g in DATA.group], dtype=object)
    data = SimpleNamespace(scores=DATA.scores, group=group)
    model = WassersteinRepair(0.7).fit(DATA.scores, sensitive_features=group, missing_group="own")
    expected = model.transform(DATA.scores, sensitive_features=group)
    for got in values(model, data):
        np.testing.assert_array_equal(got, expected)
    with pytest.raises(ValueError, match="rows without a group are a group here"):
        model.fair_maps_.to_sql("sqlite", missing_group="keep")
    with pytest.raises(ValueError, match="rows without a group are a group here"):
        model.transform(DATA.scores, sensitive_features=group, missing_group="null")
    rows = pd.DataFrame({"score": DATA.scores, "group": group})
    with pytest.raises(ValueError, match="rows without a group are a group here"):
        fairpot.apply(model, rows, missing_group="keep")
    crossed = pd.DataFrame({"sex": group, "race": np.resize(["A", "B"], len(group))})
    model = WassersteinRepair(0.7).fit(DATA.scores, sensitive_features=crossed, missing_group="own")
    connection = sqlite3.connect(":memory:")
    crossed.assign(score=DATA.scores).to_sql("rows", connection, index=False)
    select = model.fair_maps_.to_sql("sqlite", table="rows", group=["sex", "race"])
    got = [row[-2] for row in connection.execute(select)]
    np.testing.assert_array_equal(got, model.transform(DATA.scores, sensitive_features=crossed))
    connection.close()


def test_other_forms():
    model = FairPOT(0.4).fit(DATA.scores, DATA.y, sensitive_features=DATA.group)
    model = model.fair_maps_
    assert "function adjustedScore" in model.to_javascript()
    assert [each.name for each in model.to_onnx(group="sex").graph.input] == ["score", "sex"]


def test_simplify(tmp_path):
    model = WassersteinRepair(t=1).fit(DATA.scores, sensitive_features=DATA.group)
    small = model.fair_maps_.simplify(max_error=0.05)
    assert small.error <= 0.05 + 1e-12
    assert sum(after for _, after in small.knots.values()) < sum(before for before, _ in small.knots.values())
    model.save(tmp_path / "map.json")
    loaded = fairpot.load(tmp_path / "map.json")
    assert loaded.simplify(max_error=0.05).knots == small.knots
    assert loaded.to_python() == model.fair_maps_.to_python()


def test_unfitted():
    with pytest.raises(Exception, match="not fitted"):
        FairPOT(0.4).fair_maps_.to_sql("duckdb")
