"""One door: rows of any kind, the same words, the same table to the last bit or the same refusal."""

import warnings

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fairpot
from fairpot import ScoreTable, score_table
from fairpot.rows import RowSource
from files_cases import write
from followed_cases import followed
from rows_cases import assert_same_tables

NAMES = {"score": "risk", "label": "died", "group": "sex"}
FILES = ("parquet", "csv", "jsonl", "arrow")


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(8)
    n = 300
    return pd.DataFrame(
        {
            "risk": rng.normal(size=n).round(1),
            "died": rng.integers(0, 2, n),
            "sex": rng.choice(["F", "M"], n),
            "age": rng.integers(1, 3, n),
            "times": rng.integers(0, 3, n),
            "share": rng.choice([0.1, 0.7, 2.3], n),
            "patient": rng.integers(0, 70, n),
            "other": "never looked at",
        }
    )


CONNECTIONS = []  # before DuckDB 2 a relation ends with the last name of its connection


def lazy_duckdb(frame):
    connection = duckdb.connect()
    CONNECTIONS.append(connection)
    connection.register("rows_of_the_test", frame)
    return connection.sql("select * from rows_of_the_test")


FRAMES = {
    "pandas": lambda frame: frame,
    "polars": pl.from_pandas,
    "pyarrow": pa.Table.from_pandas,
    "lazy polars": lambda frame: pl.from_pandas(frame).lazy(),
    "duckdb": lazy_duckdb,
}


def ways(frame, folder, names, **meaning):
    """Yield a name for each kind of rows, and how they are counted."""
    for kind, make in FRAMES.items():
        yield kind, lambda make=make: score_table(make(frame), **names, **meaning)
    more = {"drop_missing": True} if meaning.get("drop_missing") else {}
    roles = {"groups" if part == "group" else part: name for part, name in names.items()}
    roles |= {name: value for name, value in meaning.items() if name != "drop_missing"}
    for kind in FILES:
        path = write(frame, folder / f"rows.{kind}")
        yield kind, lambda path=path: score_table(path, **names, **meaning)
        yield f"source of {kind}", lambda path=path: score_table(RowSource(path, **roles), **more)
    query = f"select * from '{write(frame, folder / 'query.parquet')}'"
    yield "sql", lambda: score_table(None, sql=query, **names, **meaning)


def of_columns(frame, names, **meaning):
    def column(part):
        return None if part not in names else frame[names[part]]

    return score_table(
        column("label"),
        column("score"),
        sensitive_features=column("group"),
        sample_weight=column("weight"),
        clusters=column("cluster"),
        **meaning,
    )


@pytest.mark.parametrize(
    ("more", "meaning"),
    [
        ({}, {}),
        ({"weight": "times"}, {}),
        ({"weight": "share"}, {}),
        ({"weight": "share"}, {"weights": "importance"}),
        ({"weight": "share"}, {"weights": "frequency"}),
        ({"weight": "times"}, {"weights": "importance"}),
        ({"cluster": "patient", "weight": "share"}, {}),
        ({"cluster": "patient"}, {}),
        ({"cluster": "patient", "weight": "share"}, {"weights": "importance", "lower_is_riskier": True}),
        ({"cluster": "patient", "weight": "times"}, {"weights": "frequency", "high_score_means": "help"}),
        ({"group": ["sex", "age"]}, {"lower_is_riskier": True, "high_score_means": "harm"}),
        ({}, {"pos_label": 0}),
        ({}, {"pos_label": "0"}),
    ],
)
def test_the_same_table_whatever_the_rows_come_in(frame, tmp_path, more, meaning):
    names = NAMES | more
    expected = of_columns(frame, names, **meaning)
    for kind, counted in ways(frame, tmp_path, names, **meaning):
        try:
            assert_same_tables(counted(), expected)
        except AssertionError as error:
            raise AssertionError(kind) from error


@settings(max_examples=10, deadline=None)
@given(st.data())
def test_any_rows_in_any_kind(tmp_path_factory, data):
    rng = np.random.default_rng(data.draw(st.integers(0, 10**6)))
    n = data.draw(st.integers(4, 50))
    frame = pd.DataFrame(
        {
            "risk": rng.normal(size=n).round(data.draw(st.integers(0, 3))),
            "died": rng.integers(0, 2, n),
            "sex": ["F", "M", *rng.choice(["F", "M", "X"], n - 2)],
            "w": rng.choice(data.draw(st.sampled_from([[1.0, 2.0], [0.1, 0.7, 1.9]])), n),
            "c": rng.choice(data.draw(st.sampled_from([[1, 20], ["x", "y", "z"], [0.5, 2.0]])), n),
        }
    )
    names, meaning = dict(NAMES), {"lower_is_riskier": data.draw(st.booleans())}
    if data.draw(st.booleans()):
        names["weight"] = "w"
        meaning["weights"] = data.draw(st.sampled_from(["frequency", "importance"]))
    if data.draw(st.booleans()):
        names["cluster"] = "c"
    expected = of_columns(frame, names, **meaning)
    for kind, counted in ways(frame, tmp_path_factory.mktemp("rows"), names, **meaning):
        try:
            assert_same_tables(counted(), expected)
        except AssertionError as error:
            raise AssertionError(kind) from error


def test_without_outcomes_and_without_groups(frame, tmp_path):
    for names in ({"score": "risk", "group": "sex"}, {"score": "risk", "label": "died"}, {"score": "risk"}):
        expected = of_columns(frame, names)
        assert expected.labelled == ("label" in names)
        for _, counted in ways(frame, tmp_path, names):
            assert_same_tables(counted(), expected)


@pytest.mark.parametrize("hole", ["risk", "died", "sex", "share", "patient"])
def test_missing_values_are_an_error_or_left_out(frame, tmp_path, hole):
    names = NAMES | {"weight": "share", "cluster": "patient"}
    at = np.arange(len(frame)) % 50 == 3
    holes = frame.assign(**{hole: frame[hole].astype(object).where(~at, None)})
    if hole != "sex":
        holes[hole] = holes[hole].astype(float)
    expected = of_columns(frame[~at], names)
    told = rf"6 rows were left out, 294 are left: '{hole}' is missing in 6"
    for _, counted in ways(holes, tmp_path, names):
        with pytest.raises(ValueError, match=rf"column '{hole}' has 6"):
            counted()
    for kind, counted in ways(holes, tmp_path, names, drop_missing=True):
        with pytest.warns(UserWarning, match=told):
            found = counted()
        try:
            assert_same_tables(found, expected)
        except AssertionError as error:
            raise AssertionError(kind) from error
    with pytest.warns(UserWarning, match="6 rows were left out, 294 are left"):
        assert_same_tables(of_columns(holes, names, drop_missing=True), expected)


def test_missing_values_of_arrays_lists_and_several_groups():
    y, s = [0, 1, None, 1, 0], np.array([0.1, np.nan, 0.3, 0.4, 0.5])
    groups = {"sex": ["F", "M", "F", "M", "F"], "age": np.array([1, 1, 2, 2, 1])}
    with pytest.warns(UserWarning, match="2 rows were left out, 3 are left"):
        found = score_table(y, s, sensitive_features=groups, drop_missing=True)
    assert_same_tables(
        found, score_table([0, 1, 0], s[[0, 3, 4]], sensitive_features=pd.DataFrame(groups).loc[[0, 3, 4]])
    )
    matrix = np.array([["F", "a"], ["M", "a"], ["F", None], ["M", "b"]], dtype=object)
    with pytest.warns(UserWarning, match="1 row was left out, 3 are left: 'sensitive_features' is missing in 1"):
        found = score_table([0, 1, 1, 0], [1, 2, 3, 4], sensitive_features=matrix, drop_missing=True)
    assert found.groups == ("F, a", "M, a", "M, b")


def test_a_table_is_returned_as_it_is(frame):
    table = score_table(frame, **NAMES)
    assert score_table(table) is table
    for more in (
        {"y_score": frame["risk"]},
        {"sensitive_features": frame["sex"]},
        {"clusters": frame["patient"]},
        {"weights": "importance"},
        {"pos_label": 1},
        {"lower_is_riskier": True},
        {"score": "risk"},
        {"cluster": "patient"},
        {"drop_missing": True},
        {"memory_limit": "1GB"},
    ):
        with pytest.raises(TypeError, match=f"{next(iter(more))} cannot be given besides"):
            score_table(table, **more)


def test_the_same_refusals(frame, tmp_path):
    path = write(frame, tmp_path / "rows.csv")
    for rows in (frame, pl.from_pandas(frame).lazy(), path):
        with pytest.raises(TypeError, match="clusters is a column of its own"):
            score_table(rows, **NAMES, clusters=frame["patient"])
        with pytest.raises(TypeError, match="score is missing"):
            score_table(rows, label="died")
        with pytest.raises(ValueError, match="no column 'patients'"):
            score_table(rows, **NAMES, cluster="patients")
        with pytest.raises(ValueError, match="weights must be one of 'frequency', 'importance', got 'both'"):
            score_table(rows, **NAMES, weight="share", weights="both")
        with pytest.raises(ValueError, match="pos_label='yes' is not in column 'died', which holds 0, 1"):
            score_table(rows, **NAMES, pos_label="yes")
        with pytest.raises(TypeError, match="unexpected keyword argument 'positive'"):
            score_table(rows, **NAMES, positive="yes")
    with pytest.raises(TypeError, match="'memory_limit' is an option for files; these rows are in memory"):
        score_table(frame, **NAMES, memory_limit="1GB")
    with pytest.raises(TypeError, match="cluster names a column of a frame or file"):
        score_table(frame["died"], frame["risk"], cluster="patient")
    source = RowSource(path, score="risk", label="died", groups="sex")
    for more in ({"weights": "importance"}, {"cluster": "patient"}, {"decimal": ","}):
        with pytest.raises(TypeError, match=f"{next(iter(more))} is given, but the rows are a source"):
            score_table(source, **more)


def test_a_lazy_frame_is_asked_for_the_named_columns_alone(frame):
    def broken(series):
        raise AssertionError("a column that nobody named was asked for")

    lazy = pl.from_pandas(frame).lazy().with_columns(pl.col("other").map_batches(broken, return_dtype=pl.String))
    assert_same_tables(score_table(lazy, **NAMES), score_table(frame, **NAMES))


def test_lower_is_riskier_counts_scores_with_a_minus(frame):
    down = score_table(frame.assign(risk=-frame["risk"]), **NAMES)
    found = score_table(frame, **NAMES, lower_is_riskier=True)
    assert found.lower_is_riskier
    for one, other in zip(found.counts, down.counts):
        np.testing.assert_array_equal(one.score.view(np.int64), other.score.view(np.int64))  # no -0.0
        np.testing.assert_array_equal(one.positive, other.positive)
    assert fairpot.audit(found).gap == fairpot.audit(down).gap
    with pytest.raises(ValueError, match="whose low scores are risky"):
        found.merge(down)
    assert found.merge(found).lower_is_riskier
    for kept in (found.only(["F"]), found.top(0.3), found.quantise(5), found.renamed(["a", "b"])):
        assert kept.lower_is_riskier
    assert not ScoreTable(("all",), found.counts[:1]).lower_is_riskier


FOLLOWED = {"score": "score", "group": "sex", "time": "days", "event": "died"}


@pytest.mark.parametrize(
    ("more", "meaning"),
    [
        ({}, {}),
        ({"weight": "weight"}, {"leaving": "group"}),
        ({"weight": "weight", "cluster": "patient"}, {"lower_is_riskier": True, "high_score_means": "harm"}),
        ({"weight": "times", "cluster": "patient"}, {"weights": "frequency"}),
        ({"group": ["sex", "age"]}, {"bands": {"age": [40, 60]}, "unknown": "X"}),
        ({}, {"drop_missing": True}),
    ],
)
def test_outcomes_after_a_time_whatever_the_rows_come_in(tmp_path, more, meaning):
    rng = np.random.default_rng(4)
    frame = followed(700, 4, competing=0.3, step=0.25, groups=(0.45, 0.45, 0.1))
    frame = frame.assign(times=rng.integers(1, 4, 700), age=rng.integers(20, 90, 700))
    if meaning.get("drop_missing"):
        frame["days"] = frame.days.where(rng.random(700) < 0.9)
    names, said = FOLLOWED | more, {"horizon": 1.0, "competing": 2} | meaning
    columns = {part: frame[names[part]] for part in ("time", "event")}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # rows without a value are counted
        expected = of_columns(frame, names, **columns, **said)
        for kind, counted in ways(frame, tmp_path, names, **said):
            if kind.startswith("source") and {"bands", "drop_missing"} & set(meaning):
                continue  # a source is told of these in another way
            table = counted()
            try:
                assert_same_tables(table, expected)
            except AssertionError as error:
                raise AssertionError(kind) from error
            assert table.follow_up.groups == expected.follow_up.groups, kind
            one, other = (fairpot.audit(each, min_group=20).concordance for each in (table, expected))
            assert one.to_dict() == other.to_dict(), kind


WRONG = {
    "time is given without event": {"event": None},
    "event is given without time": {"time": None},
    "time is given without horizon": {"horizon": None},
    "says who had the outcome, and so does label": {"label": "died"},
    "says who had the outcome, and so does pos_label": {"pos_label": 1},
    "horizon=365.0 is after the last follow-up, which ended at": {"horizon": 365.0},
    "horizon=0.0001 is before the first row had the outcome, at": {"horizon": 0.0001},
    "horizon must be above 0": {"horizon": -1.0},
    "horizon must be a number": {"horizon": "1 year"},
    "horizon must be a number in the unit of the times, got inf": {"horizon": float("inf")},
    "column 'died' must be 0 or 1, got 75 rows with 2.\nHint: if it is a competing event": {"competing": None},
    "competing=3 is not in column 'died', which holds 0, 1, 2": {"competing": 3},
    "competing=3 is not in column 'one', which holds 0, 1": {"event": "one", "competing": 3},
    "competing=1 has a meaning of its own in column 'died'": {"competing": 1},
    "leaving must be one of 'score', 'group', got 'sex'": {"leaving": "sex"},
    "column 'below' has 300 negative rows": {"time": "below"},
    "column 'gone' has 7 missing": {"time": "gone"},
    "column 'unsaid' has 7 missing rows": {"event": "unsaid", "competing": None},
    "the column 'score' cannot play two parts": {"event": "score"},
    "column 'text' must be 0 or 1, got 300 rows with 'alive', 'dead'": {"event": "text", "competing": None},
    "competing=2 is not in column 'text', which holds 'alive', 'dead'": {"event": "text"},
    "no row had the event": {"event": "none", "competing": None},
    "leaves too few rows for any interval: group '[FM]' is worth": {"horizon": 0.02},
    "any interval: group 'M' is worth 0 rows": {"time": "early", "event": "none_of_m", "competing": None},
}


@pytest.mark.parametrize("said", WRONG)
def test_wrong_use_of_outcomes_after_a_time(tmp_path, said):
    frame = followed(300, 5, competing=0.3)
    late, of_m = np.arange(300) < 293, frame.sex == "M"
    frame = frame.assign(below=-1 - frame.days, gone=frame.days.where(late), none=0)
    frame = frame.assign(one=(frame.died == 1).astype(int), text=np.where(frame.died == 1, "dead", "alive"))
    frame = frame.assign(unsaid=(frame.died == 1).astype(float).where(late), early=frame.days.where(~of_m, 0.5))
    frame = frame.assign(none_of_m=(frame.died == 1).where(~of_m, False).astype(int))
    given = FOLLOWED | {"horizon": 1.0, "competing": 2} | WRONG[said]
    path = write(frame, tmp_path / "rows.csv")
    heard = []
    for rows in (frame, path, write(frame, tmp_path / "rows.parquet")):
        with pytest.raises((TypeError, ValueError), match=said.replace("(", r"\(")) as refused:
            score_table(rows, **given)
        heard.append(str(refused.value).partition("\nRows:")[0].partition("\nHint")[0])
    assert len(set(heard)) == 1
    if given["time"] and given["event"] and not {"label", "pos_label"} & set(given):
        columns = {part: frame[given.pop(part)] for part in ("time", "event")}
        known = {name: value for name, value in given.items() if name not in ("score", "group")}
        with pytest.raises((TypeError, ValueError)) as refused:
            score_table(None, frame.score, sensitive_features=frame.sex, **columns, **known)
        assert "Hint:" in str(refused.value) or "must be" in str(refused.value)


def test_outcomes_after_a_time_take_memory_row_by_row(tmp_path):
    path = write(followed(60_000, 6), tmp_path / "rows.parquet")
    with pytest.raises(
        ValueError, match=r"more than 50,000 rows, and rows with outcomes after a time are counted one by one"
    ):
        score_table(path, **FOLLOWED, horizon=1.0, memory_limit="300MB")
    assert score_table(path, **FOLLOWED, horizon=1.0).follow_up.horizon == 1.0
