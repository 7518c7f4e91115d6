"""What is wrong with files or rows is said as the Python API says it, with the same number of rows."""

import os

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from fairpot._validation import check_rows
from fairpot.exceptions import InputFileError, UnseenGroupError
from fairpot.rows import RowSource, apply, count_rows
from fairpot.transport import ScoreMap
from files_cases import SCORE, write

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


IDENTITIES = {1: ScoreMap.identity(), 2: ScoreMap.identity()}


def plain(message):
    """Drop the names by which columns and arguments are called."""
    for name in ("column 's'", "column 'y'", "column 'g'", "column 'w'", "sensitive_features", "sample_weight"):
        message = message.replace(name, "X")
    return message.replace("scores has", "X has").replace("scores reaches", "X reaches")


@pytest.mark.parametrize(
    ("case", "name", "max_distinct"),
    [
        (case, name, (1000, 4)[(row + place) % 2])  # exact and in bins, for typed columns and for text
        for row, case in enumerate(BAD_ROWS)
        for place, name in enumerate(("x.parquet", "x.csv", "x.jsonl", "x.feather"))
        if (case, name) != ("infinite scores", "x.jsonl")  # pandas writes them as missing
    ],
)
def test_bad_rows(tmp_path, case, name, max_distinct):
    frame = pd.DataFrame(GOOD | BAD_ROWS[case])
    with pytest.raises((ValueError, TypeError)) as in_memory:
        check_rows(frame["s"], frame["y"], frame["g"], frame["w"])
    source = RowSource(write(frame, tmp_path / name), score="s", label="y", groups="g", weight="w")
    with pytest.raises(in_memory.type) as in_file:
        count_rows(source, max_distinct=max_distinct)
    expected = plain(str(in_memory.value)).replace("y has", "X has").replace("y must", "X must")
    said = plain(str(in_file.value))
    assert said.splitlines()[0] == expected.splitlines()[0]
    assert ("Hint: " in said) == ("Hint: " in expected)


@pytest.mark.parametrize(
    ("column", "message"),
    [("text", "must be numbers, got text"), ("flag", "got booleans"), ("day", "must be numbers"), ("many", "numbers")],
)
def test_scores_that_are_no_numbers(tmp_path, column, message):
    days = pd.date_range("2020-01-01", periods=2)
    frame = pd.DataFrame({"text": ["a", "b"], "flag": [True, False], "day": days, "many": [[1.0], [2.0]], "g": [1, 2]})
    path = write(frame, tmp_path / "x.parquet")
    with pytest.raises(TypeError, match=message):
        count_rows(RowSource(path, score=column, groups="g"))
    with pytest.raises(TypeError, match=message):
        apply({}, RowSource(path, score=column, groups="g"), output=tmp_path / "y.parquet")
    for act in (count_rows, lambda s: apply({}, s, output=tmp_path / "y.parquet")):
        with pytest.raises(TypeError, match="plain values"):
            act(RowSource(path, score="g", groups="many"))


@pytest.mark.parametrize("word", ["abc", "1_000", "0,5", "true", "12%"])
def test_words_in_a_column_of_numbers(tmp_path, word):
    (tmp_path / "x.csv").write_text(f"s;g\n0.5;a\n{word};b\n;b\n{word};b\n")
    source = RowSource(tmp_path / "x.csv", score="s", groups="g")
    for act in (count_rows, lambda s: apply(dict.fromkeys("ab", ScoreMap.identity()), s, output=tmp_path / "y.csv")):
        with pytest.raises(TypeError, match="got 2 rows that are not") as error:
            act(source)
        assert word not in str(error.value)  # what rows hold is nobody's business
    with pytest.raises(TypeError, match=r"Rows: column 's': 1 missing \(row 3\); .* 2 not numbers \(row 2, row 4\)"):
        count_rows(source)


def test_numbers_as_text_in_json(tmp_path):
    (tmp_path / "x.jsonl").write_text('{"s": "0.5", "g": 1}\n{"s": 1, "g": 2}\n')
    source = RowSource(tmp_path / "x.jsonl", score="s", groups="g")
    with pytest.raises(TypeError, match="1 row that is not"):
        count_rows(source)
    with pytest.raises(TypeError, match="1 row that is not"):
        apply(IDENTITIES, source, output=tmp_path / "y.jsonl")


def test_large_integers(tmp_path):
    path = write(pd.DataFrame({"s": [2**60, 1], "g": [1, 2]}), tmp_path / "x.parquet")
    with pytest.raises(ValueError, match=r"beyond 2\*\*53"):
        count_rows(RowSource(path, score="s", groups="g"))


def test_identifiers_are_no_groups(tmp_path):
    path = write(pd.DataFrame({"s": np.zeros(60_000), "g": np.arange(60_000)}), tmp_path / "x.parquet")
    with pytest.raises(ValueError, match="more than 50,000 different values"):
        count_rows(RowSource(path, score="s", groups="g"))


def test_nearest_column(file):
    for wrong, hint in (
        ("Sex", "did you mean 'sex'"),
        ("sexx", "'sex'"),
        ("zzzzzz", "say which column holds the group"),
    ):
        with pytest.raises(InputFileError, match=hint):
            count_rows(RowSource(file, score=SCORE, groups=wrong))


def cut_in_half(path):
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


@pytest.mark.parametrize("name", ["x.parquet", "x.feather", "x.csv.gz", "x.jsonl.gz"])
@pytest.mark.parametrize("damage", [cut_in_half, lambda p: p.write_bytes(b"\0" * 500), lambda p: p.write_bytes(b"")])
def test_damaged_files(tmp_path, frame, name, damage):
    path = write(frame, tmp_path / name)
    damage(path)
    source = RowSource(path, score=SCORE, groups="sex")
    for act in (count_rows, lambda s: apply({}, s, output=tmp_path / f"out-{name}")):
        with pytest.raises(InputFileError, match=r"(?s)x\..*Hint: "):
            act(source)
    assert [p.name for p in tmp_path.iterdir()] == [name]


def test_damaged_in_the_middle(tmp_path, frame):
    path = write(pd.concat([frame] * 20), tmp_path / "x.parquet")
    content = bytearray(path.read_bytes())
    content[2000 : len(content) // 2] = os.urandom(len(content) // 2 - 2000)
    path.write_bytes(content)
    source = RowSource(path, score=SCORE, groups="sex")
    for act in (count_rows, lambda s: apply({}, s, output=tmp_path / "y.parquet")):
        with pytest.raises(InputFileError, match="cannot be read"):
            act(source)
    assert [p.name for p in tmp_path.iterdir()] == ["x.parquet"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"s,g\n", "no rows"),
        (b"\n1,2\n", "column names"),
        (b"s,g\n1,a\n2\n", "cannot be read"),
        (b"s,g\n1,a\n2,b,c\n", "cannot be read"),
        ("s,g\n1,ä\n2,b\n".encode("latin-1"), "not UTF-8"),
        (b"s,g,s\n1,a,2\n", "2 columns named 's'"),
    ],
)
def test_bad_csv(tmp_path, content, message):
    (tmp_path / "x.csv").write_bytes(content)
    for act in (count_rows, lambda s: apply({}, s, output=tmp_path / "y.csv")):
        with pytest.raises(InputFileError, match=message):
            act(RowSource(tmp_path / "x.csv", score="s", groups="g"))
    assert [p.name for p in tmp_path.iterdir()] == ["x.csv"]


@pytest.mark.parametrize("content", ["[1, 2]\n", '{"s": 1, "g"', "\n\n"])
def test_bad_json_lines(tmp_path, content):
    (tmp_path / "x.jsonl").write_text(content)
    for act in (count_rows, lambda s: apply({}, s, output=tmp_path / "y.jsonl")):
        with pytest.raises(InputFileError, match="Hint"):
            act(RowSource(tmp_path / "x.jsonl", score="s", groups="g"))


@pytest.mark.parametrize(
    ("word", "message"), [("NaN", "1 missing"), ("null", "1 missing"), ("-Infinity", "1 infinite")]
)
def test_numbers_that_are_no_json(tmp_path, word, message):
    (tmp_path / "x.jsonl").write_text(f'{{"s": 1, "g": 2}}\n{{"s": {word}, "g": 1}}\n')
    source = RowSource(tmp_path / "x.jsonl", score="s", groups="g")
    for act in (count_rows, lambda s: apply(IDENTITIES, s, output=tmp_path / "y.jsonl")):
        with pytest.raises(ValueError, match=message):
            act(source)


def test_no_such_files(tmp_path):
    (tmp_path / "empty").mkdir()
    (tmp_path / "x.docx").write_bytes(b"PK")
    (tmp_path / "x.csv").write_text("s,g\n1,a\n")
    write(pd.DataFrame({"s": [1.0], "g": [1]}), tmp_path / "x.parquet")
    cases = {
        "no.csv": "not found",
        "*.json": "no file matches",
        "empty": "holds no file",
        "x.docx": "does not say its format",
        "x.[cp]*": "different formats",
    }
    for name, message in cases.items():
        with pytest.raises(InputFileError, match=message):
            count_rows(RowSource(tmp_path / name, score="s", groups="g"))
    with pytest.raises(InputFileError, match="no file is named"):
        count_rows(RowSource([], score="s", groups="g"))


def test_mixed_files(tmp_path):
    one = write(pd.DataFrame({"s": [1.0], "g": ["a"]}), tmp_path / "1.parquet")
    two = write(pd.DataFrame({"s": [1], "g": ["b"]}), tmp_path / "2.parquet")
    three = write(pd.DataFrame({"other": [1], "g": ["b"]}), tmp_path / "3.parquet")
    with pytest.raises(InputFileError, match=r"'s' is double in .*1.parquet but int64 in .*2.parquet"):
        count_rows(RowSource([one, two], score="s", groups="g"))
    with pytest.raises(InputFileError, match=r"3.parquet has no column 's'"):
        count_rows(RowSource([one, three], score="s", groups="g"))
    four = write(pd.DataFrame({"s": [1.0], "g": ["b"], "more": [1]}), tmp_path / "4.parquet")
    assert count_rows(RowSource([one, four], score="s", groups="g")).rows == 2
    with pytest.raises(InputFileError, match=r"differ in their columns: \['more'\]"):
        apply({}, RowSource([one, four], score="s", groups="g"), output=tmp_path / "out.parquet")


def test_bad_sources():
    for arguments, message in (
        ({}, "either from files or from sql"),
        ({"path": "x.csv", "sql": "select 1"}, "either from files or from sql"),
        ({"path": "x.csv", "format": "xls"}, "format must be one of"),
        ({"path": "x.csv", "groups": ["a", "a"]}, "twice"),
    ):
        with pytest.raises(InputFileError, match=message):
            RowSource(**arguments, score="s")


def test_bad_queries():
    frame = pd.DataFrame({"s": [1.0], "g": [1]})  # a variable that must not be taken for a table
    assert len(frame) == 1
    for sql, message in (
        ("select * from frame", "frame"),
        ("select * form t", "syntax error"),
        ("select 0.5 as s", "the query has no column 'g'"),
        ("drop table t", "single SELECT"),
        ("select 1; select 2", "single SELECT"),
        ("", "single SELECT"),
        ("select 0.5 as s, 1 as g where error('no') is null", "cannot be read"),
    ):
        with pytest.raises(InputFileError, match=message):
            count_rows(RowSource(sql=sql, score="s", groups="g"))


def test_bad_memory_limit(tmp_path):
    path = write(pd.DataFrame({"s": [1.0, 2.0], "g": [1, 2]}), tmp_path / "x.parquet")
    with pytest.raises(InputFileError, match="memory"):
        count_rows(RowSource(path, score="s", groups="g"), memory_limit="lots")
    with pytest.raises(ValueError, match="max_distinct"):
        count_rows(RowSource(path, score="s", groups="g"), max_distinct=0)


def test_empty_tables(tmp_path):
    for name in ("x.parquet", "x.feather"):
        table = pa.table({"s": pa.array([], pa.float64()), "g": pa.array([], pa.string())})
        path = tmp_path / name
        pq.write_table(table, path) if name == "x.parquet" else pa.feather.write_feather(table, path)
        for act in (count_rows, lambda s, n=name: apply({}, s, output=tmp_path / f"y-{n}")):
            with pytest.raises(ValueError, match="there are no rows"):
                act(RowSource(path, score="s", groups="g"))
        assert not (tmp_path / f"y-{name}").exists()


def test_lists_are_no_groups_in_json(tmp_path):
    (tmp_path / "x.jsonl").write_text('{"s": 1, "g": [1]}\n{"s": 2, "g": {"a": 1}}\n')
    source = RowSource(tmp_path / "x.jsonl", score="s", groups="g")
    with pytest.raises(TypeError, match="plain values"):
        count_rows(source)
    with pytest.raises(UnseenGroupError, match="2 rows with a group not seen"):
        apply(IDENTITIES, source, output=tmp_path / "y.jsonl")
