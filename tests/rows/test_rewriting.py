"""Files are adjusted as the Python API adjusts columns, and nothing else in them changes."""

import datetime
import os
import zipfile
from pathlib import Path

import numpy as np
import openpyxl
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from fairpot import FairPOT
from fairpot.exceptions import InputFileError, OutputFileError, UnseenGroupError
from fairpot.rows import RowSource, apply
from fairpot.rows.formats import parquet
from fairpot.rows.output import _lock
from fairpot.transport import ScoreMap
from files_cases import FORMATS, SCORE, read, write


def fitted(frame, groups="sex", **options):
    columns = frame[groups] if isinstance(groups, str) else frame[list(groups)]
    model = FairPOT(0.4, **{"reference": None, **options}).fit(frame[SCORE], frame["y"], sensitive_features=columns)
    return model, model.transform(frame[SCORE], sensitive_features=columns).to_numpy()


@pytest.mark.parametrize("suffix", ["parquet", "csv", "tsv.gz", "feather", "jsonl"])
def test_every_format_to_every_format(file, frame, tmp_path, suffix):
    model, expected = fitted(frame)
    target = tmp_path / f"out.{suffix}"
    told = []
    source = RowSource(file, score=SCORE, groups="sex")
    done = apply(model.maps_, source, output=target, progress=lambda *a: told.append(a))
    assert (done.rows, done.column) == (len(frame), SCORE + "_adjusted")
    assert done.moved == (expected != frame[SCORE]).sum()
    assert told[-1] == (len(frame), len(frame) if file.suffix == ".parquet" else None)
    after, before = read(target), read(file)
    np.testing.assert_array_equal(after.pop(done.column), expected)
    if after.dtypes.to_list() != before.dtypes.to_list():  # text stays text in files that have types
        after, before = after.astype(str), before.astype(str)
    pd.testing.assert_frame_equal(after, before, check_dtype=file.suffix == target.suffix)


@pytest.mark.parametrize("suffix", FORMATS)
@pytest.mark.parametrize("groups", ["age", "old", ("sex", "age"), ("old", "age")])
def test_groups_of_every_type(frame, tmp_path, groups, suffix):
    model, expected = fitted(frame, groups)
    target = tmp_path / f"out.{suffix}"
    source = RowSource(write(frame, tmp_path / f"rows.{suffix}"), score=SCORE, groups=groups)
    apply(model.maps_, source, output=target, column="new")
    np.testing.assert_array_equal(read(target)["new"], expected)


def test_parquet_keeps_its_schema(tmp_path):
    schema = pa.schema(
        [
            pa.field("s", pa.float32(), metadata={"unit": "points"}),
            pa.field("g", pa.dictionary(pa.int32(), pa.string())),
            pa.field("t", pa.timestamp("us", "UTC"), nullable=False),
            pa.field("d", pa.decimal128(12, 3)),
            pa.field("deep", pa.list_(pa.struct([("a", pa.int8())]))),
            pa.field("b", pa.large_binary()),
        ],
        metadata={"who": "we"},
    )
    rows = {
        "s": np.arange(9, dtype=np.float32) / 10,
        "g": pa.array(["a", "b", "a"] * 3).dictionary_encode(),
        "t": pa.array(range(9), pa.timestamp("us", "UTC")),
        "d": pa.array([None, *range(8)], pa.decimal128(12, 3)),
        "deep": pa.array([[{"a": 1}], None, []] * 3, schema.field("deep").type),
        "b": pa.array([b"\0", None, b"x"] * 3, pa.large_binary()),
    }
    table = pa.table(rows, schema=schema)
    maps = {"a": ScoreMap([0, 1], [0, 0.5]), "b": ScoreMap.identity()}
    for name in ("x.parquet", "x.feather", "x.arrow"):
        path, target = tmp_path / name, tmp_path / f"out-{name}"
        if name == "x.parquet":
            pq.write_table(table, path, compression="zstd", row_group_size=4)
        else:
            pa.feather.write_feather(table, path, compression="uncompressed", chunksize=4)
        apply(maps, RowSource(path, score="s", groups="g"), output=target, column="new")
        after = pq.read_table(target) if name == "x.parquet" else pa.feather.read_table(target)
        assert after.drop_columns("new").equals(table)
        before = pq.read_schema(path) if name == "x.parquet" else schema
        assert after.schema.remove(6).equals(before, check_metadata=True)
        new = np.where(np.arange(9) % 3 == 1, 1.0, 0.5) * rows["s"].astype(np.float64)
        np.testing.assert_allclose(after["new"].to_numpy(), new, rtol=1e-15)
    assert pq.read_metadata(tmp_path / "out-x.parquet").row_group(0).column(0).compression == "ZSTD"
    with pytest.raises(OutputFileError, match=r"'deep'.*cannot be written as text"):
        apply(maps, RowSource(tmp_path / "x.parquet", score="s", groups="g"), output=tmp_path / "y.csv")


def opened_and_written(folder, sizes, monkeypatch):
    """Write row groups of some sizes; return how often Parquet is opened to adjust them, and the output's metadata."""
    rng, path = np.random.default_rng(1), folder / f"{len(sizes)}.parquet"
    rows = pa.table({"s": rng.random(sum(sizes)), "g": rng.choice(["a", "b"], sum(sizes)), "x": ["text"] * sum(sizes)})
    with pq.ParquetWriter(path, rows.schema) as writer:
        for end, size in zip(np.cumsum(sizes).tolist(), sizes):
            writer.write_table(rows.slice(end - size, size))
    opened = []

    class Counted(pq.ParquetFile):
        def __init__(self, *args, **options):
            opened.append(1)
            super().__init__(*args, **options)

    monkeypatch.setattr(pq, "ParquetFile", Counted)
    maps = {"a": ScoreMap([0, 1], [0, 0.5]), "b": ScoreMap.identity()}
    apply(maps, path, output=folder / f"out{len(sizes)}.parquet", score="s", group="g")
    monkeypatch.undo()
    after = pq.read_table(folder / f"out{len(sizes)}.parquet")
    assert after.drop_columns("s_adjusted") == rows
    halved = np.where(rows["g"].to_numpy() == "a", rows["s"].to_numpy() / 2, rows["s"].to_numpy())
    np.testing.assert_array_equal(after["s_adjusted"].to_numpy(), halved)
    return len(opened), pq.read_metadata(folder / f"out{len(sizes)}.parquet")


def test_row_groups_cost_what_their_rows_cost(tmp_path, monkeypatch):
    """A file is opened as often for three as for three hundred, and small ones become one."""
    few, _ = opened_and_written(tmp_path, [1, 2, 1], monkeypatch)
    many, written = opened_and_written(tmp_path, [1, 2, 0] * 100, monkeypatch)
    assert many == few
    assert written.num_row_groups == 1


def test_large_row_groups_stay_apart_from_small_ones(tmp_path, monkeypatch):
    _, written = opened_and_written(tmp_path, [5, 200_000, 1, 100_000, 300_000, 2, 3], monkeypatch)
    assert [written.row_group(i).num_rows for i in range(written.num_row_groups)] == [300_006, 262_144, 37_861]


@pytest.mark.parametrize("decimals", [2, 17])
def test_few_adjusted_scores_are_stored_once(tmp_path, decimals):
    scores = np.random.default_rng(2).random(20_000).round(decimals)
    pq.write_table(pa.table({"s": scores, "g": ["a"] * len(scores)}), tmp_path / "x.parquet")
    maps = {"a": ScoreMap([0, 1], [0, 0.5])}
    apply(maps, tmp_path / "x.parquet", output=tmp_path / "y.parquet", score="s", group="g")
    columns = pq.read_metadata(tmp_path / "y.parquet").row_group(0)
    assert columns.column(2).has_dictionary_page == (decimals == 2)


def test_text_stays_as_it_is(tmp_path):
    text = 'zip;s;g;"a ""q"""\n007;0.50;x;\n 1 ;1e0;y;"p;q"\nNA;.5;x;"l\nl"\n'
    (tmp_path / "x.csv").write_text(text)
    maps = {"x": ScoreMap.identity(), "y": ScoreMap([0, 1], [0, 0.25])}
    apply(maps, RowSource(tmp_path / "x.csv", score="s", groups="g"), output=tmp_path / "y.csv")
    after = (tmp_path / "y.csv").read_text()
    assert after == ('zip;s;g;"a ""q""";s_adjusted\n007;0.50;x;;0.5\n 1 ;1e0;y;"p;q";0.25\nNA;.5;x;"l\nl";0.5\n')


def test_lines_stay_as_they_are(tmp_path):
    lines = ['{"s":0.50,"g":"x","n":{"s_adjusted":1}}', '{ "g":"y", "s":1.0, "big": 12345678901234567890 }']
    (tmp_path / "x.jsonl").write_text("\n\n".join(lines))
    maps = {"x": ScoreMap.identity(), "y": ScoreMap([0, 1], [0, 0.25])}
    apply(maps, RowSource(tmp_path / "x.jsonl", score="s", groups="g"), output=tmp_path / "y.jsonl")
    assert (tmp_path / "y.jsonl").read_text().splitlines() == [
        '{"s":0.50,"g":"x","n":{"s_adjusted":1}, "s_adjusted": 0.5}',
        '{ "g":"y", "s":1.0, "big": 12345678901234567890, "s_adjusted": 0.25}',
    ]


@pytest.mark.parametrize("suffix", ["parquet", "csv", "feather", "jsonl"])
def test_replace_a_column(frame, tmp_path, suffix):
    model, expected = fitted(frame)
    source = RowSource(write(frame, tmp_path / f"x.{suffix}"), score=SCORE, groups="sex")
    target = tmp_path / f"y.{suffix}"
    with pytest.raises(OutputFileError, match="has a column"):
        apply(model.maps_, source, output=target, column=SCORE)
    apply(model.maps_, source, output=target, column=SCORE, replace=True)
    after = read(target)
    assert [*after.columns] == [*frame.columns]
    np.testing.assert_array_equal(after[SCORE], expected)


@pytest.mark.parametrize("suffix", ["parquet", "csv", "jsonl"])
def test_record_of_changes(frame, tmp_path, suffix):
    model, new = fitted(frame)
    source = RowSource(write(frame, tmp_path / f"x.{suffix}"), score=SCORE, groups="sex")
    options = {"changes": tmp_path / f"changes.{suffix}", "threshold": 0.5, "keep": ["id"]}
    done = apply(model.maps_, source, output=tmp_path / f"y.{suffix}", **options)
    assert done.ranks_exact
    record = read(tmp_path / f"changes.{suffix}")
    old = frame[SCORE].to_numpy()
    np.testing.assert_array_equal(record["row"], np.arange(1, len(frame) + 1))
    np.testing.assert_array_equal(record["id"].astype(int), frame["id"])
    np.testing.assert_array_equal(record["group"], frame["sex"])
    np.testing.assert_array_equal(record["old_score"], old)
    np.testing.assert_array_equal(record["new_score"], new)
    for name, scores in (("old_rank", old), ("new_rank", new)):
        np.testing.assert_array_equal(record[name], pd.Series(scores).rank(method="min", ascending=False))
    crossed = np.select([(old < 0.5) & (new >= 0.5), (old >= 0.5) & (new < 0.5)], ["up", "down"], "")
    np.testing.assert_array_equal(record["crossed"].fillna(""), crossed)
    assert "up" in crossed or "down" in crossed


def test_several_files_become_one(frame, tmp_path):
    model, expected = fitted(frame)
    parts = [write(part, tmp_path / f"{i}.parquet") for i, part in enumerate((frame[:1000], frame[1000:]))]
    apply(model.maps_, RowSource(parts, score=SCORE, groups="sex"), output=tmp_path / "all.parquet", column="n")
    np.testing.assert_array_equal(read(tmp_path / "all.parquet")["n"], expected)


def test_query(frame, tmp_path):
    model, expected = fitted(frame)
    path = write(frame, tmp_path / "x.parquet")
    source = RowSource(sql=f"select * from '{path}' order by id", score=SCORE, groups="sex")
    apply(model.maps_, source, output=tmp_path / "y.parquet", column="n", progress=lambda *a: None)
    np.testing.assert_array_equal(read(tmp_path / "y.parquet")["n"], expected)


@pytest.mark.parametrize("suffix", ["parquet", "csv", "feather", "jsonl"])
def test_bad_rows_leave_nothing(frame, tmp_path, suffix):
    """The last rows are the bad ones, and all of them are counted."""
    model, _ = fitted(frame)
    cases = [
        ({"sex": "X"}, UnseenGroupError, r"3 rows with a group not seen in fit: \['X'\] \(seen: \['F', 'M'\]\)"),
        ({"sex": None}, ValueError, "column 'sex' has 3 rows without a group"),
        ({SCORE: None}, ValueError, "has 3 missing"),
    ]
    for number, (bad, kind, message) in enumerate(cases):
        changed = frame.copy()
        for column, value in bad.items():
            changed.loc[len(frame) - 3 :, column] = value
        path = write(changed, tmp_path / f"{number}.{suffix}")
        target = tmp_path / f"out.{suffix}"
        target.write_bytes(b"as it was")
        before = sorted(tmp_path.iterdir())
        for options in ({}, {"changes": tmp_path / "changes.csv"}):
            with pytest.raises(kind, match=message):
                apply(model.maps_, RowSource(path, score=SCORE, groups="sex"), output=target, overwrite=True, **options)
        assert sorted(tmp_path.iterdir()) == before
        assert target.read_bytes() == b"as it was"


ODD = pa.table(
    {
        "s": [0.1, 0.2, 0.30000000000000004],
        "g": ["a", "b", "a"],
        "code": ["007", "=1+1", " <a&b>\r\n\ttext "],
        "number": pa.array([2**53 + 1, -1, None]),
        "day": [datetime.date(2026, 1, 2), None, datetime.date(1, 1, 1)],
        "flag": [True, False, None],
        "deep": [[1, 2], [], None],
        "odd": [float("nan"), float("inf"), 1e-300],
    }
)
HALVED = {"a": ScoreMap([0, 1], [0, 0.5]), "b": ScoreMap([0, 1], [0, 0.5])}


def cells(path):
    return [list(row) for row in openpyxl.load_workbook(path).active.iter_rows(values_only=True)]


def test_workbooks_hold_what_was_read(tmp_path):
    """Numbers as numbers, where a spreadsheet holds them exactly; formulas and all else as text."""
    pq.write_table(ODD, tmp_path / "x.parquet")
    columns = {"score": "s", "group": "g"}
    apply(HALVED, tmp_path / "x.parquet", tmp_path / "y.xlsx", **columns, changes=tmp_path / "c.xlsx", keep=["code"])
    assert cells(tmp_path / "y.xlsx") == [
        [*ODD.column_names, "s_adjusted"],
        [0.1, "a", "007", str(2**53 + 1), "2026-01-02", True, "[1, 2]", None, 0.05],
        [0.2, "b", "=1+1", -1, None, False, "[]", None, 0.1],
        [0.30000000000000004, "a", " <a&b>\r\n\ttext ", None, "0001-01-01", None, None, 1e-300, 0.15000000000000002],
    ]
    assert openpyxl.load_workbook(tmp_path / "y.xlsx").active["C3"].data_type == "s"
    assert {part.date_time[0] for part in zipfile.ZipFile(tmp_path / "y.xlsx").infolist()} == {1980}
    assert [row[0] for row in cells(tmp_path / "c.xlsx")] == ["code", *ODD["code"].to_pylist()]
    apply(HALVED, tmp_path / "y.xlsx", tmp_path / "z.xlsx", **columns, column="again")  # read and written again
    again = [[*map(str, row[:-1])] for row in cells(tmp_path / "z.xlsx")]
    assert again == [[*map(str, row)] for row in cells(tmp_path / "y.xlsx")]  # what is mixed becomes text


def test_workbooks_from_text_have_numbers(tmp_path):
    (tmp_path / "x.csv").write_text("s,g,code,n\n0.1,a,007,1\n0.2,b,=A1,2\n")
    apply(HALVED, tmp_path / "x.csv", tmp_path / "y.xlsx", score="s", group="g")
    assert cells(tmp_path / "y.xlsx")[1] == [0.1, "a", "007", 1, 0.05]
    options = {"neutralise_formulas": True, "overwrite": True}
    apply(HALVED, tmp_path / "x.csv", tmp_path / "y.xlsx", score="s", group="g", **options)
    assert cells(tmp_path / "y.xlsx")[2][2] == "'=A1"
    (tmp_path / "x.csv").write_text("s;g;n\n0,5;a;-1,25e3\n0,25;b;\n")
    apply(HALVED, tmp_path / "x.csv", tmp_path / "y.xlsx", score="s", group="g", decimal=",", overwrite=True)
    assert cells(tmp_path / "y.xlsx")[1:] == [[0.5, "a", -1250, 0.25], [0.25, "b", None, 0.125]]


@pytest.mark.parametrize("text", ["a\x01b", "_x0041_", "x" * 40_000])
def test_what_no_workbook_holds(tmp_path, text):
    pq.write_table(pa.table({"s": [0.1, 0.2], "g": ["a", "b"], "t": ["fine", text]}), tmp_path / "x.parquet")
    with pytest.raises(OutputFileError, match=r"a workbook cannot hold these rows(.|\n)*Hint: write CSV"):
        apply(HALVED, tmp_path / "x.parquet", tmp_path / "y.xlsx", score="s", group="g")
    assert [path.name for path in tmp_path.iterdir()] == ["x.parquet"]


def test_more_rows_than_a_sheet_holds(tmp_path, monkeypatch):
    monkeypatch.setattr("fairpot.rows.formats.xlsx.MOST_ROWS", 3)
    (tmp_path / "x.csv").write_text("s,g\n0.1,a\n0.2,b\n0.3,b\n")
    with pytest.raises(OutputFileError, match="more than 2 rows, which is all a sheet holds"):
        apply(HALVED, tmp_path / "x.csv", tmp_path / "y.xlsx", score="s", group="g")


@pytest.mark.skipif(not hasattr(os, "fchmod"), reason="Windows has no such locks")
def test_two_runs_do_not_mix_their_files(tmp_path, monkeypatch):
    """While a run puts its record and its rows in place, no other can."""
    (tmp_path / "x.csv").write_text("s,g\n0.1,a\n0.2,b\n")
    seen = []

    def replace(made, place, really=os.replace):
        seen.append((Path(place).name, _lock(tmp_path, wait=False)))
        really(made, place)

    monkeypatch.setattr(os, "replace", replace)
    where = {"output": tmp_path / "y.csv", "changes": tmp_path / "c.csv"}
    for _ in range(2):
        apply(HALVED, tmp_path / "x.csv", score="s", group="g", overwrite=True, **where)
    assert seen == [("c.csv", None), ("y.csv", None)] * 2
    free = _lock(tmp_path, wait=False)
    assert free is not None
    os.close(free)


def test_bad_arguments(frame, tmp_path):
    source = RowSource(write(frame, tmp_path / "x.parquet"), score=SCORE, groups="sex")
    cases = [
        ({"output": tmp_path / "y.ods"}, OutputFileError, "does not say its format"),
        ({"output": tmp_path / "y.csv", "changes": tmp_path / "y.csv"}, OutputFileError, "need two files"),
        ({"output": tmp_path / "y.csv", "column": "sex", "replace": True}, OutputFileError, "is the group"),
        ({"output": tmp_path / "y.csv", "keep": ["id"]}, ValueError, "say what goes into changes"),
        (
            {"output": tmp_path / "y.csv", "changes": tmp_path / "z.csv", "keep": ["idd"]},
            InputFileError,
            "did you mean 'id'",
        ),
        ({"output": tmp_path / "no" / "y.csv"}, OutputFileError, "not found"),
    ]
    for arguments, kind, message in cases:
        with pytest.raises(kind, match=message):
            apply({}, source, **arguments)
    with pytest.raises(InputFileError, match="no group column"):
        apply({}, RowSource(tmp_path / "x.parquet", score=SCORE), output=tmp_path / "y.csv")


def test_paths_and_columns(frame, tmp_path):
    """The public way: a path, and columns named by their part."""
    model, expected = fitted(frame)
    path, target = write(frame, tmp_path / "x.parquet"), tmp_path / "y.parquet"
    apply(model.maps_, path, output=target, score=SCORE, group="sex", column="new")
    np.testing.assert_array_equal(read(target)["new"], expected)
    with pytest.raises(InputFileError, match=r"(?s)has no column 'score'.*say which column holds the score, score="):
        apply(model.maps_, path, output=tmp_path / "z.parquet")
    with pytest.raises(TypeError, match="score is given, but the rows are a source"):
        apply(model.maps_, RowSource(path, score=SCORE, groups="sex"), output=target, score="s")


@pytest.mark.parametrize(("unknown", "nulls"), [("null", 3), ("keep", 0)])
def test_rows_without_an_adjusted_score_have_not_moved(tmp_path, unknown, nulls):
    rows = pd.DataFrame({"risk": [0.5, 0.25, 0.8, 0.75, 0.5, 0.1], "sex": ["F", "D", "F", None, "M", "D"]})
    rows.to_csv(tmp_path / "rows.csv", index=False)
    maps = {"F": ScoreMap([0, 1], [0, 0.5]), "M": ScoreMap.identity()}
    named = {"score": "risk", "group": "sex", "unknown_group": unknown, "missing_group": unknown}
    done = apply(maps, tmp_path / "rows.csv", output=tmp_path / "fair.csv", **named)
    assert (done.rows, done.moved, done.unknown, done.missing) == (6, 2, 2, 1)
    assert read(tmp_path / "fair.csv")["risk_adjusted"].isna().sum() == nulls


def test_small_row_groups_come_together(tmp_path):
    """Each has a dictionary of its own, which must not make a batch of each."""
    table = pa.table({"s": np.arange(1000) / 1000, "g": ["a", "b", "c", "d"] * 250})
    pq.write_table(table, tmp_path / "small.parquet", row_group_size=10)
    pq.write_table(table, tmp_path / "large.parquet")
    [small] = parquet.read_batches(tmp_path / "small.parquet", coded=["g"])
    [large] = parquet.read_batches(tmp_path / "large.parquet", coded=["g"])
    assert (small.column("g").type, large.column("g").type) == (pa.string(), pa.dictionary(pa.int32(), pa.string()))
    maps = dict.fromkeys("abcd", ScoreMap([0, 1], [0, 0.5]))
    for name in ("small", "large"):
        apply(maps, tmp_path / f"{name}.parquet", tmp_path / "y.parquet", score="s", group="g", overwrite=True)
        made = pq.read_table(tmp_path / "y.parquet")
        assert made.schema.field("g").type == pa.string()
        np.testing.assert_array_equal(made["s_adjusted"], table["s"].to_numpy() / 2)
