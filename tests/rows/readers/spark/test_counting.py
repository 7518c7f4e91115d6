"""Rows counted on a cluster: the table that the same rows give in memory, to the last bit."""

from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from fairpot import score_table
from fairpot._validation import check_rows
from fairpot.exceptions import InputFileError
from fairpot.rows import RowSource, SparkRows, count_rows
from rows_cases import assert_same_tables

SCORES = {
    "rounded": lambda rng, n: rng.normal(size=n).round(1),
    "distinct": lambda rng, n: rng.random(n) * 10.0 ** rng.integers(-300, 290, n),
    "zeros and denormals": lambda rng, n: rng.choice([-0.0, 0.0, 5e-324, -5e-324, 1e-310, 9e299, -9e299], n),
    "float32": lambda rng, n: rng.random(n).astype(np.float32),
    "whole": lambda rng, n: rng.integers(-9, 9, n),
}
GROUPS = {
    "text": ["F", "it's", 'say "x" $1'],
    "numbers": [-1, 2, 30],
    "flags": [True, False],
    "one of few": ["a"] * 60 + ["b"],
}
WEIGHTS = {"none": None, "parts": [0.0, 0.1, 0.25, 1.7]}


def tables():
    """Ten small tables: every kind of scores with two of groups, and each of them with and without weights."""
    pairs = [(score, group) for score in SCORES for group in GROUPS]
    for place, (score, group) in enumerate(pairs):
        if (place // len(GROUPS) + place) % 2:
            continue
        weight = [*WEIGHTS][(place // 8 + place // 2) % len(WEIGHTS)]
        rng = np.random.default_rng(40 + place)
        n = 300
        frame = {"s": SCORES[score](rng, n), "y": rng.integers(0, 2, n), "g": rng.choice(GROUPS[group], n)}
        frame["y"] = frame["y"].astype([np.int64, np.bool_, np.float64][place % 3])
        frame["w"] = rng.choice(WEIGHTS[weight] or [1], n)
        yield f"{score}, {group}, {weight}", pd.DataFrame(frame), WEIGHTS[weight] is not None


def same_table(got, expected):
    assert got.groups == expected.groups
    assert got.labelled == expected.labelled
    for one, other in zip(got.counts, expected.counts):
        for part in ("score", "positive", "negative"):
            left, right = getattr(one, part), getattr(other, part)
            assert left.dtype == right.dtype
            np.testing.assert_array_equal(left.view(np.int64), right.view(np.int64))


def to_spark(spark, frame):
    table = frame if isinstance(frame, pa.Table) else pa.Table.from_pandas(frame, preserve_index=False)
    return spark.createDataFrame(table)


def in_memory(frame, weighted=False):
    weight = frame["w"] if weighted else None
    return score_table(frame["y"], frame["s"], sensitive_features=frame["g"], sample_weight=weight)


def test_ten_tables(spark):
    for name, frame, weighted in tables():
        rows = SparkRows(to_spark(spark, frame), score="s", label="y", groups="g", weight="w" if weighted else None)
        counted = count_rows(rows)
        try:
            same_table(counted.table, in_memory(frame, weighted))
        except AssertionError as error:
            raise AssertionError(name) from error
        assert counted.rows == len(frame)
        assert counted.quantisation is None


def test_decimals_and_intersections(spark):
    rng = np.random.default_rng(1)
    digits = rng.integers(-(10**18), 10**18, 400).tolist()
    scores = [Decimal(d).scaleb(-18) for d in digits]
    sex, age, y = rng.choice(["F", "M"], 400), rng.integers(1, 3, 400), rng.choice(["no", "yes"], 400)
    table = pa.table({"a b": pa.array(scores, pa.decimal128(38, 18)), "y`": y, "sex": sex, "age": age})
    rows = SparkRows(to_spark(spark, table), score="a b", label="y`", groups=["sex", "age"], pos_label="yes")
    expected = score_table(
        y == "yes", [float(s) for s in scores], sensitive_features=pd.DataFrame({"sex": sex, "age": age})
    )
    same_table(count_rows(rows).table, expected)


N = 40
GOOD = {"s": np.arange(N) / N, "y": np.arange(N) % 2, "g": ["a", "b"] * (N // 2), "w": np.ones(N)}
BAD_ROWS = {
    "missing scores": {"s": [np.nan, None, *GOOD["s"][2:]]},
    "infinite scores": {"s": [np.inf, -np.inf, *GOOD["s"][2:]]},
    "huge scores": {"s": [1e301, *GOOD["s"][1:]]},
    "missing labels": {"y": [None, *GOOD["y"][1:].astype(float)]},
    "three labels": {"y": [2, *GOOD["y"][1:]]},
    "text labels": {"y": ["no", "yes"] * (N // 2)},
    "missing groups": {"g": [None, None, *GOOD["g"][2:]]},
    "one group": {"g": ["a"] * N},
    "negative weights": {"w": [-1.5, -1.0, *GOOD["w"][2:]]},
    "missing weights": {"w": [None, *GOOD["w"][1:]]},
    "no weight": {"w": [0.0] * N},
    "no weight in a group": {"w": [0.0, 1.0] * (N // 2)},
}


def plain(message):
    """Drop the names by which columns and arguments are called."""
    for name in ("column 's'", "column 'y'", "column 'g'", "column 'w'", "sensitive_features", "sample_weight"):
        message = message.replace(name, "X")
    message = message.replace("scores has", "X has")
    return message.replace("scores reaches", "X reaches").replace("y has", "X has").replace("y must", "X must")


@pytest.mark.parametrize("case", BAD_ROWS)
def test_bad_rows_are_told_as_in_memory(spark, case):
    frame = pd.DataFrame(GOOD | BAD_ROWS[case])
    with pytest.raises((ValueError, TypeError)) as memory:
        check_rows(frame["s"], frame["y"], frame["g"], frame["w"])
    rows = SparkRows(to_spark(spark, frame), score="s", label="y", groups="g", weight="w")
    with pytest.raises(memory.type) as exact:
        count_rows(rows)
    with pytest.raises(memory.type) as binned:
        count_rows(rows, max_distinct=4)
    for said in (exact, binned):
        assert plain(str(said.value)).splitlines()[0] == plain(str(memory.value)).splitlines()[0]


@pytest.mark.parametrize("max_distinct", [1000, 12])
def test_rows_with_missing_values_can_be_dropped(spark, max_distinct, tmp_path):
    frame = pd.DataFrame(GOOD | {"s": [np.nan, None, *GOOD["s"][2:]], "g": ["a", None, "b", None, *GOOD["g"][4:]]})
    frame.to_parquet(tmp_path / "x.parquet")
    roles = {"score": "s", "label": "y", "groups": "g", "weight": "w"}
    got = count_rows(SparkRows(to_spark(spark, frame), **roles), drop_missing=True, max_distinct=max_distinct)
    source = RowSource(tmp_path / "x.parquet", **roles)
    expected = count_rows(source, drop_missing=True, max_distinct=max_distinct)
    same_table(got.table, expected.table)
    assert got.rows == expected.rows == N - 3
    assert got.dropped == expected.dropped


def test_scores_that_are_no_numbers(spark):
    frame = spark.createDataFrame([("a", True, [1.0], 1)], "text string, flag boolean, many array<double>, g int")
    for column, message in (("text", "got text"), ("flag", "got booleans"), ("many", "must be numbers")):
        with pytest.raises(TypeError, match=message):
            count_rows(SparkRows(frame, score=column, groups="g"))
    with pytest.raises(TypeError, match="plain values"):
        count_rows(SparkRows(frame, score="g", groups="many"))
    with pytest.raises(InputFileError, match="did you mean 'text'"):
        SparkRows(frame, score="texd", groups="g")
    with pytest.raises(ValueError, match="is empty"):
        count_rows(SparkRows(frame.filter("g > 1"), score="g", groups="text"))
    with pytest.raises(ValueError, match=r"beyond 2\*\*53"):
        count_rows(SparkRows(frame.selectExpr("1L << 60 AS s", "g"), score="s", groups="g"), several=False)


@pytest.fixture(scope="module")
def many(tmp_path_factory):
    """Rows with many distinct scores and some that many rows share, in a file."""
    rng = np.random.default_rng(9)
    n = 6000
    frame = pd.DataFrame({"s": rng.normal(size=n), "y": rng.integers(0, 2, n), "g": rng.choice(["a", "b", "c"], n)})
    frame.loc[rng.random(n) < 0.1, "s"] = 0.25
    frame["w"] = rng.integers(0, 4, n)
    path = tmp_path_factory.mktemp("rows") / "many.parquet"
    frame.to_parquet(path)
    return frame, str(path)


@pytest.mark.parametrize("weight", [None, "w"])
def test_bins_and_bound_are_those_of_duckdb(spark, many, weight):
    _, path = many
    roles = {"score": "s", "label": "y", "groups": "g", "weight": weight}
    got = count_rows(SparkRows.read(spark, path, **roles), max_distinct=2000)
    expected = count_rows(RowSource(path, **roles), max_distinct=2000)
    assert got.rows == expected.rows
    same_table(got.table, expected.table)
    assert got.quantisation.auc == expected.quantisation.auc > 0
    assert got.quantisation.score == expected.quantisation.score
    np.testing.assert_array_equal(got.quantisation.xauc, expected.quantisation.xauc)


def test_text_files(spark, tmp_path):
    (tmp_path / "x.csv").write_text('s,y,g\n0.5,yes,"a,""b"""\n 1e-3 ,no,1\n-inf,no,1\n')

    def rows():
        return SparkRows.read(spark, str(tmp_path / "x.csv"), score="s", label="y", groups="g", pos_label="yes")

    with pytest.raises(ValueError, match="'s' has 1 infinite row"):
        count_rows(rows())
    (tmp_path / "x.csv").write_text('s,y,g\n0.5,yes,"a,""b"""\n 1e-3 ,no,1\n0x1p3,no,1\n1_0,no,1\nNA,no,1\n')
    with pytest.raises(TypeError, match="'s' must be numbers, got 2 rows that are not"):
        count_rows(rows())
    (tmp_path / "x.csv").write_text('s,y,g\n0.5,yes,"a,""b"""\n 1e-3 ,no,1\n.25,no,1\n')
    got = count_rows(rows()).table
    same_table(got, score_table([1, 0, 0], [0.5, 1e-3, 0.25], sensitive_features=['a,"b"', "1", "1"]))
    with pytest.raises(InputFileError, match="reads parquet, orc"):
        SparkRows.read(spark, "x.jsonl", score="s")
    with pytest.raises(InputFileError, match="every worker must see the path"):
        SparkRows.read(spark, str(tmp_path / "none.parquet"), score="s")


def test_skew_empty_and_many_partitions(spark):
    """A group with nearly all rows, partitions without any, and far more partitions than workers."""
    made = "pmod(hash(id), 100) / 100.0D AS s", "CAST(pmod(hash(id, 1), 2) AS INT) AS y"
    frame = spark.range(0, 20_000, 1, 25).selectExpr(*made, "IF(id % 997 = 0, 'rare', 'common') AS g")
    expected = in_memory(frame.toArrow().to_pandas())
    for each in (frame, frame.repartition(5, "g")):
        same_table(count_rows(SparkRows(each, score="s", label="y", groups="g")).table, expected)
    empty = frame.repartitionByRange(20, "s")
    same_table(count_rows(SparkRows(empty, score="s", label="y", groups="g")).table, expected)


def test_identifiers_are_no_groups(spark):
    """Found out before more than fifty thousand of them reach the driver."""
    frame = spark.range(0, 100_000, 1, 4).selectExpr("CAST(id AS DOUBLE) AS s", "CAST(id AS STRING) AS g")
    with pytest.raises(ValueError, match="more than 50,000 different values"):
        count_rows(SparkRows(frame, score="s", groups="g"), max_distinct=100)


def clustered(n=400):
    rng = np.random.default_rng(11)
    return pd.DataFrame(
        {
            "s": rng.normal(size=n).round(1),
            "y": rng.integers(0, 2, n),
            "g": rng.choice(["a", "b"], n),
            "w": rng.choice([0.1, 0.7, 1.0, 2.5], n),
            "k": rng.integers(1, 4, n),
            "c": rng.integers(0, 60, n),
        }
    )


def counted_in_memory(frame, weight=None, cluster=None):
    return score_table(
        frame["y"],
        frame["s"],
        sensitive_features=frame["g"],
        sample_weight=None if weight is None else frame[weight],
        weights="importance",
        clusters=None if cluster is None else frame[cluster],
    )


def test_clusters_and_weights_that_say_how_much_a_row_counts(spark, tmp_path):
    frame = clustered()
    frame.to_csv(tmp_path / "rows.csv", index=False)
    roles = {"score": "s", "label": "y", "groups": "g"}
    for weight, cluster in (("w", None), ("w", "c"), ("k", "c"), (None, "c")):
        more = {"weight": weight, "weights": "importance", "cluster": cluster}
        expected = counted_in_memory(frame, weight, cluster)
        for rows in (
            SparkRows(to_spark(spark, frame), **roles, **more),
            SparkRows.read(spark, str(tmp_path / "rows.csv"), **roles, **more),
        ):
            assert_same_tables(count_rows(rows).table, expected)


def test_missing_and_too_many_clusters(spark):
    frame = clustered()
    holes = frame.assign(c=[None, None, *frame["c"][2:].astype(float)])
    rows = SparkRows(to_spark(spark, holes), score="s", label="y", groups="g", cluster="c")
    with pytest.raises(ValueError, match="column 'c' has 2 rows without a cluster"):
        count_rows(rows)
    left = count_rows(rows, drop_missing=True)
    assert left.dropped["c"] == 2
    assert_same_tables(left.table, counted_in_memory(frame[2:], cluster="c"))
    with pytest.raises(ValueError, match="more than 40 rows, and rows that belong together are counted one by one"):
        count_rows(rows, drop_missing=True, max_distinct=20)


def test_squares_in_bins(spark):
    rng = np.random.default_rng(2)
    frame = clustered(2000).assign(s=rng.random(2000))
    roles = {"score": "s", "label": "y", "groups": "g", "weight": "w", "weights": "importance"}
    said, rows = count_rows(SparkRows(to_spark(spark, frame), **roles), max_distinct=100), to_spark(spark, frame)
    found = count_rows(SparkRows(rows, **{**roles, "weights": None}), max_distinct=100)
    assert found.quantisation is not None
    assert said.table.weights == found.table.weights == "importance"
    whole_numbers = count_rows(SparkRows(rows, **{**roles, "weight": "k", "weights": None}), max_distinct=100)
    assert whole_numbers.table.weights == "importance"
    whole = counted_in_memory(frame, "w")
    for small, exact in zip(found.table.counts, whole.counts):
        assert len(small.score) < len(exact.score)
        for side in (0, 1):
            assert small.squares[side].sum() == pytest.approx(exact.squares[side].sum())


def test_the_door_counts_a_frame_of_spark_on_its_cluster(spark):
    frame = clustered().assign(s=lambda f: f["s"] * 2 - 0.0)
    names = {"score": "s", "label": "y", "group": "g", "weight": "w", "cluster": "c"}
    for meaning in ({"weights": "importance"}, {"weights": "frequency"}, {"lower_is_riskier": True, "pos_label": 0}):
        expected = score_table(frame, **names, **meaning)
        assert expected.weights == meaning.get("weights", "importance")
        assert_same_tables(score_table(to_spark(spark, frame), **names, **meaning), expected)
    rows = SparkRows(to_spark(spark, frame), score="s", label="y", groups="g", lower_is_riskier=True)
    expected = score_table(frame, score="s", label="y", group="g", lower_is_riskier=True)
    assert_same_tables(score_table(rows), expected)
    quantised = count_rows(rows.bare(), max_distinct=30, several=False)
    assert quantised.quantisation is not None
    with pytest.raises(TypeError, match="threads is an option for files; these rows are on a cluster"):
        score_table(rows, threads=2)
    with pytest.raises(TypeError, match="'decimal' is an option for files; these rows are on a cluster"):
        score_table(to_spark(spark, frame), **names, decimal=",")
    with pytest.raises(ValueError, match="no column 'x'"):
        score_table(to_spark(spark, frame), score="x")
