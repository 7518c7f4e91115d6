"""What a file says is decided once, in ``files.json``, which needs no Python: every reader passes it."""

import json
import re
import warnings
from pathlib import Path

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest

import fairpot
from fairpot.transport import ScoreMap

DECIDED = json.loads((Path(__file__).parent / "files.json").read_text())
COLUMNS = {"score": "score", "label": "label", "group": "group"}
MARKS = {"utf-8": b"\xef\xbb\xbf"}


def written(case, path):
    """Write the characters of a case in its encoding."""
    path.write_bytes(MARKS.get(case.get("mark"), b"") + case["text"].encode(case.get("encoding", "utf-8")))
    return path


def as_text(columns, path):
    words = [["" if value is None else str(value) for value in values] for values in columns.values()]
    path.write_text("\n".join(",".join(row) for row in [columns, *zip(*words)]) + "\n")


def as_lines(columns, path):
    path.write_text("".join(json.dumps(dict(zip(columns, row))) + "\n" for row in zip(*columns.values())))


def as_stream(columns, path):
    table = pa.table(columns)
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_stream(file, table.schema) as writer:
        writer.write_table(table)


def as_workbook(columns, path):
    book = pytest.importorskip("openpyxl").Workbook()
    for row in [list(columns), *zip(*columns.values())]:
        book.active.append(row)
    book.save(path)


FILES = {
    "x.csv": as_text,
    "x.jsonl": as_lines,
    "x.parquet": lambda columns, path: pa.parquet.write_table(pa.table(columns), path),
    "x.feather": lambda columns, path: pa.feather.write_feather(pa.table(columns), path),
    "x.arrows": as_stream,
    "x.xlsx": as_workbook,
}
FRAMES = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table}


def table_of(rows, said):
    """Count rows; return the counts of each group as they are decided, the rows in all, and what was noted."""
    renamed = {"positive": "pos_label"}
    with warnings.catch_warnings(record=True) as noted:
        warnings.simplefilter("always")
        table = fairpot.score_table(rows, **COLUMNS, **{renamed.get(name, name): said[name] for name in said})
    counts = {
        str(group): [
            [*map(float, each)] for each in zip(table[group].score, table[group].positive, table[group].negative)
        ]
        for group in table.groups
    }
    return table, counts, [str(each.message) for each in noted]


def check(rows, case):
    """Check that rows are answered, or refused, as is decided; return their table."""
    said = case.get("said", {})
    if "refused" in case:
        with pytest.raises((ValueError, TypeError), match=case["refused"]):
            table_of(rows, said)
        return None
    table, counts, notes = table_of(rows, said)
    assert counts == DECIDED["answers"][case["answer"]]
    if "note" not in case:
        assert notes == []
    else:
        assert re.search(case["note"], " ".join(notes))
    return table


def decided(case, kind):
    """Return what is decided for a kind of rows."""
    other = case.get("but", {}).get(kind)
    return case if other is None else {"said": case.get("said", {})} | other


@pytest.mark.parametrize("case", DECIDED["files"], ids=lambda case: case["name"])
def test_files_of_text(tmp_path, case):
    table = check(written(case, tmp_path / "x.csv"), case)
    if table is None or "drop_missing" in case.get("said", {}):  # who has no outcome has an adjusted score
        return
    said = {name: value for name, value in case.get("said", {}).items() if name != "positive"}
    maps = dict.fromkeys(table.groups, ScoreMap.identity())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        done = fairpot.apply(maps, tmp_path / "x.csv", tmp_path / "y.csv", score="score", group="group", **said)
    assert done.rows == sum(table[group].weight.sum() for group in table.groups)


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("case", DECIDED["tables"], ids=lambda case: case["name"])
def test_tables_in_files(tmp_path, case, name):
    FILES[name](case["columns"], tmp_path / name)
    check(tmp_path / name, decided(case, "text" if name == "x.csv" else "file"))


@pytest.mark.parametrize("kind", FRAMES)
@pytest.mark.parametrize("case", DECIDED["tables"], ids=lambda case: case["name"])
def test_tables_in_frames(case, kind):
    check(FRAMES[kind](case["columns"]), decided(case, "frame"))
