"""The engine's table is the Python API's table, bit for bit, whatever the file."""

import decimal
import gc
import io
import sys

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import fairpot
from fairpot._validation import check_rows
from fairpot.rows import RowSource, count_rows
from fairpot.table import ScoreTable
from files_cases import SCORE, read, write


def in_memory(frame, groups="sex", weight=None, label="y", pos_label=None):
    columns = frame[groups] if isinstance(groups, str) else frame[list(groups)]
    y = None if label is None else frame[label]
    w = None if weight is None else frame[weight]
    return ScoreTable.from_rows(*check_rows(frame[SCORE], y, columns, w, pos_label=pos_label))


def assert_same(one, other):
    assert one.groups == other.groups
    assert [type(g) for g in one.groups] == [type(g) for g in other.groups]
    assert one.labelled == other.labelled
    for a, b in zip(one.counts, other.counts):
        for part in ("score", "positive", "negative"):
            x, y = getattr(a, part), getattr(b, part)
            assert x.dtype == y.dtype
            np.testing.assert_array_equal(x, y)


@pytest.mark.parametrize(
    ("groups", "weight"),
    [("sex", None), ("sex", "w"), ("age", "wf"), ("old", None), (("sex", "age"), "w"), (("old", "age", "sex"), None)],
)
def test_same_as_in_memory(file, frame, groups, weight):
    counted = count_rows(RowSource(file, score=SCORE, label="y", groups=groups, weight=weight))
    assert_same(counted.table, in_memory(frame, groups, weight))
    assert counted.rows == len(frame)
    assert counted.quantisation is None


def test_without_label_and_without_group(file, frame):
    assert_same(count_rows(RowSource(file, score=SCORE, groups="sex")).table, in_memory(frame, label=None))
    table = count_rows(RowSource(file, score=SCORE, label="y")).table
    assert table.groups == ("all",)
    assert_same(ScoreTable(("all",), table.counts), ScoreTable(("all",), (in_memory(frame).pooled(),)))


@pytest.mark.parametrize("name", ["rows.csv", "rows.parquet", "rows.jsonl", "rows.feather"])
@pytest.mark.parametrize(
    ("values", "positive"),
    [((False, True), None), ((0.0, 1.0), None), (("no", "yes"), "yes"), ((1, 2), "2"), ((1, 2), 2)],
)
def test_labels(save, frame, name, values, positive):
    changed = frame.assign(y=[values[v] for v in frame["y"]])
    counted = count_rows(RowSource(save(changed, name), score=SCORE, label="y", groups="sex", pos_label=positive))
    assert_same(counted.table, in_memory(frame))


@pytest.mark.parametrize("name", ["rows.csv", "rows.parquet", "rows.jsonl", "rows.feather"])
def test_boolean_labels_by_their_text(save, frame, name):
    changed = frame.assign(y=frame["y"] == 1)
    counted = count_rows(RowSource(save(changed, name), score=SCORE, label="y", groups="sex", pos_label="true"))
    assert_same(counted.table, in_memory(frame))


@pytest.mark.parametrize("type_", [np.float32, np.int16, np.int64, np.uint8])
def test_types_of_scores(save, frame, type_):
    changed = frame.assign(**{SCORE: (frame[SCORE] * 20 + 100).astype(type_)})
    for name in ("rows.parquet", "rows.feather", "rows.csv"):
        path = save(changed, name)
        counted = count_rows(RowSource(path, score=SCORE, label="y", groups="sex"))
        assert_same(counted.table, in_memory(changed if name != "rows.csv" else read(path)))


def test_decimals_and_dictionaries(tmp_path, frame):
    exact = [decimal.Decimal(str(v)) for v in frame[SCORE]]
    table = pa.table({"s": pa.array(exact, pa.decimal128(20, 4)), "g": pa.array(frame["sex"]).dictionary_encode()})
    for name in ("rows.parquet", "rows.arrow"):
        path = tmp_path / name
        pq.write_table(table, path) if name.endswith("parquet") else pa.feather.write_feather(table, path)
        counted = count_rows(RowSource(path, score="s", groups="g"))
        assert_same(counted.table, in_memory(frame, label=None))


def test_full_doubles_in_text(tmp_path):
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({SCORE: rng.normal(size=2000) * 10.0 ** rng.integers(-12, 12, 2000), "g": ["a", "b"] * 1000})
    frame = frame.assign(sex=frame["g"])
    for name in ("x.csv", "x.parquet"):
        counted = count_rows(RowSource(write(frame, tmp_path / name), score=SCORE, groups="g"))
        assert_same(counted.table, in_memory(frame, label=None))


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
@pytest.mark.parametrize("delimiter", [",", ";", "|"])
def test_dialects_of_csv(tmp_path, newline, mark, delimiter):
    rows = [["s c", '"g"""'], ["0.5", "a"], [" 1e-3 ", '"b\nb"'], ["0.5", '"c""c"'], ["2", "a"]]
    text = newline.join(delimiter.join(row) for row in rows) + newline
    (tmp_path / "x.csv").write_bytes((mark + text).encode())
    table = count_rows(RowSource(tmp_path / "x.csv", score="s c", groups='g"')).table
    assert table.groups == ("a", "b\nb", 'c"c')
    assert table["a"].score.tolist() == [0.5, 2.0]


def test_whole_csv_is_looked_at_for_types(tmp_path):
    """A group that is no number in the last row makes all groups text."""
    lines = [f"{i},{i % 2}" for i in range(60_000)]
    (tmp_path / "x.csv").write_text("\n".join(["s,g", *lines, "1,other"]) + "\n")
    assert count_rows(RowSource(tmp_path / "x.csv", score="s", groups="g")).table.groups == ("0", "1", "other")


def test_folder_pattern_and_list(tmp_path, frame):
    parts = [frame[:1000], frame[1000:2000], frame[2000:][[*frame.columns[::-1]]]]  # the last in another order
    odd = tmp_path / "sex=M" / "p[1]*.parquet"
    odd.parent.mkdir()
    paths = [write(parts[0], odd), write(parts[1], tmp_path / "b.parquet"), write(parts[2], tmp_path / "c.parquet")]
    (tmp_path / "_SUCCESS").touch()
    (tmp_path / "notes.md").write_text("not rows")
    for given in (tmp_path, str(tmp_path / "**" / "*.parquet"), paths):
        counted = count_rows(RowSource(given, score=SCORE, label="y", groups="sex"))
        assert_same(counted.table, in_memory(frame))
    csv = [write(part, tmp_path / f"{i}.csv") for i, part in enumerate(parts)]
    assert_same(count_rows(RowSource(csv, score=SCORE, label="y", groups="sex")).table, in_memory(frame))


def test_standard_input(file, frame, monkeypatch):
    """What comes in is kept for a second pass, recognised by its bytes, and gone with the source."""
    with file.open("rb") as stream:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(stream))
        source = RowSource("-", score=SCORE, label="y", groups="sex")
        assert_same(count_rows(source).table, in_memory(frame))
        assert_same(count_rows(source).table, in_memory(frame))
    [spooled] = source.files
    del source
    gc.collect()
    assert not spooled.exists()


def test_query(tmp_path, frame):
    people = f"'{tmp_path}/people.parquet'"
    frame.to_parquet(tmp_path / "people.parquet")
    for sql in (f"select * from {people}", f'with p as (from {people}) select *, 1 as "Y" from p; -- all\n'):
        source = RowSource(sql=sql, score=SCORE, label="y", groups=("sex", "age"))
        assert_same(count_rows(source).table, in_memory(frame, ("sex", "age")))


def test_progress(save, frame):
    told = []
    count_rows(RowSource(save(frame), score=SCORE, label="y", groups="sex"), progress=told.append)
    assert told == sorted(told)
    assert told[-1] == 1.0


def test_score_table_of_files(file, frame):
    """The public way: columns named by their part, a ScoreTable back; a quantised one says so."""
    assert_same(
        fairpot.score_table(file, score=SCORE, label="y", group="sex", weight="w"), in_memory(frame, weight="w")
    )
    with pytest.warns(UserWarning, match="put into bins"):
        fairpot.score_table(file, score=SCORE, label="y", group="sex", max_distinct=20)


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_repeated_fractional_weights_add_up_as_in_memory(tmp_path, suffix):
    """Six rows of 0.1 add up to a last bit less than 6 * 0.1: an engine that counts equal rows must add them up too."""
    repeats = [6, 3, 7, 1, 6, 11]
    frame = pd.DataFrame(
        {
            SCORE: np.repeat([0.2, 0.4, 0.4, 0.6, 0.6, 0.8], repeats),
            "y": np.repeat([0, 1, 0, 1, 0, 1], repeats),
            "sex": np.repeat(["F", "M", "F", "M", "M", "F"], repeats),
            "share": np.repeat([0.1, 0.1, 0.3, 0.7, 0.1, 0.7], repeats),
        }
    ).sample(frac=1, random_state=0)
    path = write(frame, tmp_path / f"rows.{suffix}")
    table = fairpot.score_table(path, score=SCORE, label="y", group="sex", weight="share")
    memory = fairpot.score_table(frame, score=SCORE, label="y", group="sex", weight="share")
    assert memory["F"].negative[0] == 0.1 + 0.1 + 0.1 + 0.1 + 0.1 + 0.1 != 6 * 0.1
    assert_same(table, memory)
