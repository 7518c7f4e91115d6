"""Maps applied on a cluster: the numbers that the maps give in memory."""

import datetime
import doctest
import inspect
import math
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import fairpot
from export_cases import NAMES, followed_maps, hostile_maps, hostile_scores, mapped, same_numbers, shift_maps
from fairpot import FairPOT
from fairpot.exceptions import InputFileError, OutputFileError, ScaleWarning, UnseenGroupError
from fairpot.export import to_sql
from fairpot.rows import SparkRows, spark_session
from fairpot.rows.readers.spark import spark_format
from fairpot.transport import ScoreMap, ShiftMap

MAPS = dict(zip(NAMES, hostile_maps().values()))
SMALL = {group: each for group, each in MAPS.items() if len(each.knots) < 1000}


def people(spark, maps, most=300):
    """Return a frame of scores and groups, the same as a temporary view, and what the maps make of them."""
    scores = {group: hostile_scores(each, most) for group, each in maps.items()}
    scores = {group: s[np.abs(s) < 1e300] for group, s in scores.items()}
    groups = np.repeat(np.array([*maps, None], dtype=object)[:-1], [len(s) for s in scores.values()])
    every = np.concatenate([*scores.values()])
    table = pa.table({"id": np.arange(len(every)), "score": every, "group": pa.array(groups.tolist())})
    frame = spark.createDataFrame(table).repartition(3)
    frame.createOrReplaceTempView("people")
    return frame, np.concatenate([mapped(maps[group], scores[group]) for group in maps])


def in_order(frame, column):
    return frame.select("id", column).toArrow().sort_by("id").column(column).to_numpy()


def test_same_numbers(spark):
    frame, expected = people(spark, MAPS)
    after = fairpot.apply(MAPS, SparkRows(frame, score="score", groups="group"), column="new")
    assert after.columns == ["id", "score", "group", "new"]
    same_numbers(in_order(after, "new"), expected)


@pytest.mark.parametrize("form", ["case", "table"])
def test_spark_sql_export(spark, form):
    """What to_sql writes for Spark, run by Spark: a CASE tree or array literals."""
    x = np.linspace(0, 1, 3000)
    maps = SMALL if form == "case" else {"it's": ScoreMap(x, np.sin(99 * x)), "M": SMALL["F"]}
    _, expected = people(spark, maps)
    text = to_sql(maps, dialect="spark", table="people", column="new", form=form)
    same_numbers(in_order(spark.sql(text), "new"), expected)


def test_spark_sql_export_of_rows_without_a_map(spark):
    maps = {"F": SMALL["F"], "S": ShiftMap(factor=3.0)}
    rows = [(0.5, "f"), (0.5, None), (None, "F"), (math.nan, "F"), (math.inf, "S"), (math.nan, "S")]
    spark.createDataFrame(rows, "score double, `group` string").createOrReplaceTempView("strangers")
    through = {"unknown_group": "null", "missing_group": "keep"}
    got = spark.sql(to_sql(maps, dialect="spark", table="strangers", **through)).collect()
    assert [row[-1] for row in got] == [None, 0.5, None, None, None, None]
    stops = to_sql(maps, dialect="spark", table="strangers")
    with pytest.raises(Exception, match="no map for this group"):
        spark.sql(stops).collect()
    good = "SELECT 0.5D AS score, 'S' AS `group`"
    spark.sql(good).createOrReplaceTempView("strangers")
    [row] = spark.sql(stops).collect()
    assert row[-1] == pytest.approx(mapped(maps["S"], np.array([0.5]))[0], rel=4e-16)


def test_shifts(spark):
    maps = shift_maps()
    frame, expected = people(spark, maps)
    after = fairpot.apply(maps, SparkRows(frame, score="score", groups="group"))
    same_numbers(in_order(after, "score_adjusted"), expected)
    text = to_sql(maps, dialect="spark", table="people", column="new")
    same_numbers(in_order(spark.sql(text), "new"), expected)


def test_one_map_follows_all(spark):
    maps = followed_maps()
    frame, expected = people(spark, maps)
    after = fairpot.apply(maps, SparkRows(frame, score="score", groups="group"))
    same_numbers(in_order(after, "score_adjusted"), expected)
    text = to_sql(maps, dialect="spark", table="people", column="new")
    same_numbers(in_order(spark.sql(text), "new"), expected)


def test_transform_of_a_fitted_method(spark):
    """Several group columns of several types, names that SQL does not like, a column that is replaced."""
    rng = np.random.default_rng(2)
    n = 500
    frame = pd.DataFrame(
        {
            "id": np.arange(n),
            "a`b $": rng.random(n).round(3),
            "old": rng.random(n) < 0.5,
            "se.x": rng.choice(["F", "it's"], n),
        }
    )
    frame["fair"] = "x"
    groups = frame[["old", "se.x"]]
    model = FairPOT(0.5).fit(frame["a`b $"], rng.integers(0, 2, n), sensitive_features=groups)
    rows = SparkRows(spark.createDataFrame(pa.Table.from_pandas(frame)), score="a`b $", groups=["old", "se.x"])
    with pytest.raises(OutputFileError, match="has a column 'fair' already"):
        fairpot.apply(model.maps_, rows, column="fair")
    after = fairpot.apply(model.maps_, rows, column="fair", replace=True)
    assert after.columns == list(frame.columns)
    same_numbers(in_order(after, "fair"), model.transform(frame["a`b $"], sensitive_features=groups))


def test_rows_without_a_map(spark, tmp_path):
    maps = {"F": SMALL["F"]}
    strange = spark.createDataFrame([(0.5, "F"), (0.5, "X"), (0.5, "X")], "score double, g string")
    with pytest.raises(UnseenGroupError, match="2 rows with a group not seen in fit"):
        fairpot.apply(maps, SparkRows(strange, score="score", groups="g"))
    gone = spark.createDataFrame([(0.5, "F"), (0.5, None)], "score double, g string")
    with pytest.raises(ValueError, match="1 row without a group"):
        fairpot.apply(maps, SparkRows(gone, score="score", groups="g"))
    bad = spark.createDataFrame([(0.5, "F"), (math.nan, "F"), (None, "F")], "score double, g string")
    with pytest.raises(ValueError, match=r"2 missing \(NaN\) rows"):
        fairpot.apply(maps, SparkRows(bad, score="score", groups="g"), str(tmp_path / "x.parquet"))
    with pytest.raises(Exception, match="a score is missing, infinite or too large"):
        fairpot.apply(maps, SparkRows(bad, score="score", groups="g")).collect()
    with pytest.raises(InputFileError, match="no group column"):
        fairpot.apply(maps, SparkRows(bad, score="score"))


@pytest.mark.parametrize("ending", ["parquet", "csv"])
def test_written_files(spark, tmp_path, ending):
    maps = {group: each for group, each in SMALL.items() if "\n" not in group and group}
    # Blanks around the name of a group are no part of it in text.
    frame, expected = people(spark, maps | ({" F": maps["F"]} if ending == "csv" else {}), 60)
    source, output = str(tmp_path / f"in.{ending}"), str(tmp_path / f"out.{ending}")
    frame.write.options(**spark_format("csv")[1]).format(ending).save(source)
    rows = SparkRows.read(spark, source, score="score", groups="group")
    fairpot.apply(maps, rows, output)
    again = SparkRows.read(spark, output, score="score").frame.selectExpr(
        "CAST(id AS INT) AS id", "double(score_adjusted) AS new"
    )
    same_numbers(in_order(again, "new"), expected)
    with pytest.raises(OutputFileError, match="already exists"):
        fairpot.apply(maps, rows, output)
    with pytest.raises(OutputFileError, match="holds the input"):
        fairpot.apply(maps, rows, source, overwrite=True)
    fairpot.apply(maps, rows, output, overwrite=True)


def test_a_model_is_applied_to_a_frame_of_spark(spark, tmp_path):
    rng = np.random.default_rng(4)
    n = 300
    frame = pd.DataFrame({"s": rng.random(n).round(2), "y": rng.integers(0, 2, n), "g": rng.choice(["a", "b"], n)})
    given = {"sensitive_features": frame["g"]}
    for place, model in enumerate((FairPOT(0.5), FairPOT(0.5, top=0.3, repair="top"))):
        expected = model.fit(frame["s"], frame["y"], **given).transform(frame["s"], **given)
        model = model.fair_maps_
        rows = spark.createDataFrame(pa.Table.from_pandas(frame, preserve_index=False))
        output = tmp_path / f"up{place}.parquet"
        done = fairpot.apply(model, rows, output, score="s", group="g", column="new")
        assert (done.rows, done.moved, done.column) == (n, None, "new")
        found = pd.read_parquet(output).sort_values(["g", "s", "y"])
        wanted = frame.assign(new=expected).sort_values(["g", "s", "y"])
        np.testing.assert_array_equal(found["new"], wanted["new"])
        model.lower_is_riskier_ = True
        down = spark.createDataFrame(pa.Table.from_pandas(frame.assign(s=-frame["s"]), preserve_index=False))
        source = SparkRows(down, score="s", groups="g", lower_is_riskier=True)
        fairpot.apply(model, source, tmp_path / f"down{place}.parquet", column="new")
        found = pd.read_parquet(tmp_path / f"down{place}.parquet").sort_values(["g", "s", "y"], ascending=[1, 0, 1])
        np.testing.assert_allclose(found["new"], -wanted["new"].to_numpy(), rtol=0, atol=1e-12)
    for more in ({"drop_missing": True}, {"changes": "x.csv"}):
        with pytest.raises(TypeError, match=f"adjusted score alone, without {next(iter(more))}"):
            fairpot.apply(model, rows, tmp_path / "x.parquet", score="s", group="g", **more)


@pytest.mark.parametrize(("knots", "kind"), [(20, "text"), (1500, "typed")])
def test_rows_without_a_map_have_their_way(spark, tmp_path, knots, kind):
    """Small maps are expressions, large ones go through Python; in text a word such as NA is a missing group."""
    x = np.linspace(0, 1, knots)
    maps = {"a": ScoreMap(x, np.sqrt(x)), "b": ScoreMap.identity()}
    gone = None if kind == "typed" else "NA"
    rows = [(0.25, "a"), (0.5, "b"), (0.75, "new"), (0.125, gone), (0.375, "new")]
    if kind == "text":
        rows = [(str(s), g) for s, g in rows]
    frame = spark.createDataFrame(rows, f"s {'double' if kind == 'typed' else 'string'}, g string").coalesce(1)
    source = SparkRows(frame, score="s", groups="g", kind=kind)
    with pytest.raises(UnseenGroupError, match=r"(?s)'g' has 1 row without a group.*2 rows with a group not seen"):
        fairpot.apply(maps, source)
    expected = [maps["a"](np.array([0.25]))[0], 0.5]
    for unknown, missing, last in (("keep", "null", [0.75, None, 0.375]), ("null", "keep", [None, 0.125, None])):
        ways = {"unknown_group": unknown, "missing_group": missing}
        got = [row["s_adjusted"] for row in fairpot.apply(maps, source, **ways).collect()]
        assert got == [*expected, *last]
        done = fairpot.apply(maps, source, str(tmp_path / f"{unknown}.parquet"), **ways)
        assert (done.rows, done.unknown, done.missing) == (5, 2, 1)


def test_a_cluster_refuses_another_scale_and_its_own_input(spark, tmp_path):
    rng = np.random.default_rng(8)
    frame = pd.DataFrame({"s": rng.random(200), "y": rng.integers(0, 2, 200), "g": rng.choice(["a", "b"], 200)})
    model = FairPOT(0.5).fit(frame["s"], frame["y"], sensitive_features=frame["g"])
    points = spark.createDataFrame(pa.Table.from_pandas(frame.assign(s=frame["s"] * 10), preserve_index=False))
    named = {"score": "s", "group": "g"}
    with pytest.raises(ValueError, match="of 200 scores lie far outside"):
        fairpot.apply(model, points, tmp_path / "x.parquet", **named)
    with pytest.warns(ScaleWarning, match="far outside"):
        fairpot.apply(model, points, tmp_path / "x.parquet", **named, other_scale="warn")
    points.write.partitionBy("g").parquet(str(tmp_path / "in.parquet"))
    read = spark.read.parquet(str(tmp_path / "in.parquet"))
    with pytest.raises(OutputFileError, match="lies in the folder of the input"):
        fairpot.apply(model, read, tmp_path / "in.parquet" / "out.parquet", **named)


def test_groups_that_are_dates_and_fractions(spark):
    """Values of any plain type are written into SQL as that type."""
    early, late, half = datetime.date(2024, 1, 31), datetime.date(2024, 2, 1), Decimal("0.50")
    rows = [(0.25, early, half), (0.5, late, half)]
    frame = spark.createDataFrame(rows, "s double, day date, share decimal(5,2)").coalesce(1)
    maps = {early: ScoreMap([0, 1], [0, 0.5]), late: ScoreMap.identity()}
    after = fairpot.apply(maps, frame, score="s", group="day").collect()
    assert [row["s_adjusted"] for row in after] == [0.125, 0.5]
    after = fairpot.apply({half: ScoreMap([0, 1], [0, 0.5])}, frame, score="s", group="share").collect()
    assert [row["s_adjusted"] for row in after] == [0.125, 0.25]


@pytest.mark.parametrize("value", [spark_session, SparkRows], ids=lambda value: value.__name__)
def test_examples(spark, value):
    """They are marked as skipped where docstrings are run without a cluster."""
    found = doctest.DocTestParser().get_doctest(inspect.getdoc(value), {}, value.__name__, None, 0)
    for each in found.examples:
        each.options.pop(doctest.SKIP, None)
    assert doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE).run(found).failed == 0
    assert len(found.examples) > 2
