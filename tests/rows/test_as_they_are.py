"""Files as people have them: delimiters, encodings, packings, arrays, sheets, missing values, names that look alike."""

import io
import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import ClassVar

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest
from click.testing import CliRunner

import fairpot
from fairpot.cli._app import app
from fairpot.exceptions import InputFileError, OutputFileError, UnseenGroupError
from fairpot.rows import RowSource, apply, count_rows
from fairpot.transport import ScoreMap

MAPS = {"a": ScoreMap.identity(), "b": ScoreMap([0, 1], [0.5, 1])}
COLUMNS = {"score": "s", "group": "g"}
EXPECTED = {"a": [0.25], "b": [0.5, 0.75]}


def scores(path, **options):
    table = fairpot.score_table(path, score="s", group="g", **options)
    return {g: c.score.tolist() for g, c in zip(table.groups, table.counts)}


@pytest.mark.parametrize(
    ("text", "encoding", "options"),
    [
        ("s^g\n0.25^a\n0.5^b\n0.75^b\n", "utf-8", {"delimiter": "^"}),
        ("s;g\n0,25;a\n0,5;b\n0,75;b\n", "utf-8", {"decimal": ","}),
        ("s\tg\n0,25\ta\n0,5\tb\n0,75\tb\n", "utf-16", {"encoding": "utf-16", "decimal": ","}),
    ],
)
def test_delimiter_decimal_and_encoding(tmp_path, text, encoding, options):
    (tmp_path / "x.csv").write_bytes(text.encode(encoding))
    assert scores(tmp_path / "x.csv", **options) == EXPECTED
    apply(MAPS, RowSource(tmp_path / "x.csv", score="s", groups="g", **options), output=tmp_path / "y.csv")
    after = pd.read_csv(tmp_path / "y.csv", sep=text[1], decimal=options.get("decimal", "."))
    assert after["s_adjusted"].tolist() == [0.25, 0.75, 0.875]


def test_latin(tmp_path):
    (tmp_path / "x.csv").write_bytes("s,g\n0.25,männlich\n0.5,weiblich\n".encode("latin-1"))
    with pytest.raises(InputFileError, match=r"(?s)not UTF-8 text \(line 2\).*iconv -f latin1 -t utf-8 OLD > NEW"):
        scores(tmp_path / "x.csv")
    assert list(scores(tmp_path / "x.csv", encoding="latin-1")) == ["männlich", "weiblich"]
    for bad, message in (
        ({"encoding": "klingon"}, "no encoding"),
        ({"delimiter": ",,"}, "one character"),
        ({"decimal": "'"}, "decimal"),
    ):
        with pytest.raises(InputFileError, match=message):
            scores(tmp_path / "x.csv", **bad)


def test_a_thousands_mark_is_no_decimal_mark(tmp_path):
    (tmp_path / "x.csv").write_text("s;g\n1.234;a\n0,5;b\n")
    with pytest.raises(TypeError, match="1 row that is not"):
        scores(tmp_path / "x.csv", decimal=",")


@pytest.mark.parametrize("name", ["x.csv.zst", "x.jsonl.zst"])
def test_zstandard(tmp_path, name):
    frame = pd.DataFrame({"s": [0.25, 0.5, 0.75], "g": [*"abb"]})
    text = frame.to_csv(index=False) if "csv" in name else frame.to_json(orient="records", lines=True)
    with pa.CompressedOutputStream(str(tmp_path / name), "zstd") as out:
        out.write(text.encode())
    assert scores(tmp_path / name) == EXPECTED
    apply(MAPS, tmp_path / name, output=tmp_path / f"y-{name}", **COLUMNS)
    assert scores(tmp_path / f"y-{name}") == EXPECTED
    whole = (tmp_path / name).read_bytes()
    (tmp_path / name).write_bytes(whole[: len(whole) // 2])
    with pytest.raises(InputFileError, match="x"):
        scores(tmp_path / name)


def test_json_arrays_are_told_apart(tmp_path):
    (tmp_path / "x.json").write_text(' [{"s": 0.25, "g": "a"}]')
    with pytest.raises(InputFileError, match=r"is a JSON array(.|\n)*Hint: one object a line is read: jq"):
        scores(tmp_path / "x.json")


def test_excel(tmp_path):
    pytest.importorskip("openpyxl")
    frame = pd.DataFrame({"s": [0.25, 0.5, 0.75], "g": [*"abb"], "day": pd.Timestamp("2020-01-31")})
    frame.to_excel(tmp_path / "x.xlsx", index=False)
    assert scores(tmp_path / "x.xlsx") == EXPECTED
    apply(MAPS, tmp_path / "x.xlsx", output=tmp_path / "y.csv", **COLUMNS)
    assert pd.read_csv(tmp_path / "y.csv")["s_adjusted"].tolist() == [0.25, 0.75, 0.875]


def test_pipes_as_files(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    text = "s,g\n0.25,a\n0.5,b\n0.75,b\n"
    writer = threading.Thread(target=lambda: (tmp_path / "pipe").write_text(text))
    writer.start()
    assert scores(tmp_path / "pipe") == EXPECTED
    writer.join()


def test_doubled_column_names(tmp_path):
    (tmp_path / "x.csv").write_text("s,g,note,note\n0.25,a,1,2\n0.5,b,3,4\n0.75,b,5,6\n")
    assert scores(tmp_path / "x.csv") == EXPECTED
    apply(MAPS, tmp_path / "x.csv", output=tmp_path / "y.csv", **COLUMNS)
    assert (tmp_path / "y.csv").read_text().splitlines()[1] == "0.25,a,1,2,0.25"
    with pytest.raises(OutputFileError, match="JSON cannot have 1 columns twice"):
        apply(MAPS, tmp_path / "x.csv", output=tmp_path / "y.jsonl", **COLUMNS)


class TestMissing:
    @pytest.fixture(params=["csv", "jsonl", "parquet", "feather"])
    def path(self, request, tmp_path):
        frame = pd.DataFrame(
            {
                "s": [0.25, None, 0.5, 0.75, 0.9, 0.1],
                "g": ["a", "a", "b", "b", None, "b"],
                "y": [0, 1, 0, 1, 1, None],
            }
        )
        path = tmp_path / f"x.{request.param}"
        if request.param == "csv":
            frame.to_csv(path, index=False)
        elif request.param == "jsonl":
            frame.to_json(path, orient="records", lines=True)
        else:
            table = pa.Table.from_pandas(frame, preserve_index=False)
            pa.parquet.write_table(table, path) if request.param == "parquet" else pa.feather.write_feather(table, path)
        return path

    @pytest.mark.parametrize("distinct", [100, 2])
    def test_counting(self, path, distinct):
        source = RowSource(path, score="s", groups="g", label="y")
        counted = count_rows(source, drop_missing=True, max_distinct=distinct)
        assert counted.rows == 3
        assert counted.dropped == {"rows": 3, "s": 1, "y": 1, "g": 1}
        assert counted.table.groups == ("a", "b")
        with pytest.warns(UserWarning, match=r"3 rows were left out, 3 are left: 's' is missing in 1, .*'g'"):
            assert scores(path, label="y", drop_missing=True) == EXPECTED

    def test_every_problem_is_told_with_its_rows(self, path):
        with pytest.raises(ValueError, match=r"(?s)Rows: .*'s'.*1 missing \(row 2\).*Hint") as error:
            count_rows(RowSource(path, score="s", groups="g", label="y"))
        assert "column 'y': 1 missing (row 6)" in str(error.value)
        assert "column 'g': 1 missing (row 5)" in str(error.value)

    def test_adjusting(self, path, tmp_path):
        done = apply(MAPS, path, output=tmp_path / "y.csv", drop_missing=True, changes=tmp_path / "c.csv", **COLUMNS)
        assert (done.rows, done.dropped) == (4, 2)
        assert pd.read_csv(tmp_path / "y.csv")["s_adjusted"].tolist() == [0.25, 0.75, 0.875, 0.55]
        assert pd.read_csv(tmp_path / "c.csv")["new_rank"].tolist() == [4, 2, 1, 3]


class TestUnknownGroups:
    @pytest.fixture
    def path(self, tmp_path):
        pd.DataFrame({"s": [0.25, 0.5, 0.75], "g": ["a", "X", "b"]}).to_csv(tmp_path / "x.csv", index=False)
        return tmp_path / "x.csv"

    @pytest.mark.parametrize("suffix", ["csv", "jsonl", "parquet"])
    @pytest.mark.parametrize(("unknown", "expected"), [("keep", 0.5), ("null", np.nan)])
    def test_kept_or_without_a_score(self, path, tmp_path, unknown, expected, suffix):
        target, changes = tmp_path / f"y.{suffix}", tmp_path / "c.csv"
        done = apply(MAPS, path, output=target, unknown_group=unknown, changes=changes, threshold=0.6, **COLUMNS)
        assert (done.rows, done.unknown, done.moved) == (3, 1, 1)
        read = {"csv": pd.read_csv, "jsonl": lambda p: pd.read_json(p, lines=True), "parquet": pd.read_parquet}
        np.testing.assert_array_equal(read[suffix](target)["s_adjusted"].astype(float), [0.25, expected, 0.875])
        record = pd.read_csv(changes)
        assert record["group"].isna().tolist() == [False, True, False]
        assert record["new_rank"].isna().tolist() == [False, unknown == "null", False]

    def test_an_error_unless_asked(self, path, tmp_path):
        with pytest.raises(UnseenGroupError, match=r"1 row with a group not seen in fit: \['X'\]"):
            apply(MAPS, path, output=tmp_path / "y.csv", **COLUMNS)
        with pytest.raises(ValueError, match="unknown_group must be one of"):
            apply(MAPS, path, output=tmp_path / "y.csv", unknown_group="drop", **COLUMNS)


class TestTextStaysText:
    TEXT = "s,g,zip,flag,big,when,half\n0.50,yes,007,yes,1e5,2020-01-31,0.5\n1e-1,no,8,no,2,2020-02-01,\n"
    MAPS: ClassVar = {"yes": ScoreMap.identity(), "no": ScoreMap([0, 1], [0.5, 1])}

    @pytest.mark.parametrize("suffix", ["parquet", "feather", "jsonl"])
    def test_between_formats(self, tmp_path, suffix):
        (tmp_path / "x.csv").write_text(self.TEXT)
        target = tmp_path / f"y.{suffix}"
        apply(self.MAPS, tmp_path / "x.csv", output=target, **COLUMNS)
        read = {"parquet": pd.read_parquet, "feather": pd.read_feather}.get(
            suffix, lambda p: pd.DataFrame([json.loads(line) for line in p.read_text().splitlines()])
        )
        after = read(target)
        assert after.pop("s_adjusted").tolist() == [0.5, 0.55]
        pd.testing.assert_frame_equal(
            after, pd.read_csv(io.StringIO(self.TEXT), dtype=str, keep_default_na=False), check_dtype=False
        )

    def test_json_to_columns(self, tmp_path):
        """The types of JSON, not those that a text seems to have."""
        lines = ['{"s":0.5,"g":"a","d":"2020-01-31","i":1,"b":true,"m":1,"l":[1]}', '{"s":1,"g":"b","d":null,"m":"x"}']
        (tmp_path / "x.jsonl").write_text("\n".join(lines))
        apply(MAPS, tmp_path / "x.jsonl", output=tmp_path / "y.parquet", **COLUMNS)
        after = pa.parquet.read_table(tmp_path / "y.parquet")
        assert [str(t) for t in after.schema.types] == [
            "double",
            "string",
            "string",
            "int64",
            "bool",
            "string",
            "string",
            "double",
        ]
        assert after.to_pylist()[0] == {
            "s": 0.5,
            "g": "a",
            "d": "2020-01-31",
            "i": 1,
            "b": True,
            "m": "1",
            "l": "[1]",
            "s_adjusted": 0.5,
        }


@pytest.mark.parametrize("groups", [(1, 2), ("1", "2")])
@pytest.mark.parametrize("extra", ["", "0.9,x\n"])
def test_ranks_where_groups_read_as_numbers(tmp_path, groups, extra):
    """A group that is a number in one place and text in another is one group, also for its rank."""
    maps = {groups[0]: ScoreMap.identity(), groups[1]: ScoreMap([0, 1], [0.5, 1]), "x": ScoreMap.identity()}
    (tmp_path / "x.csv").write_text("s,g\n0.6,1\n0.4,2\n0.5,1\n" + extra)
    apply(maps, tmp_path / "x.csv", output=tmp_path / "y.csv", changes=tmp_path / "c.csv", **COLUMNS)
    record = pd.read_csv(tmp_path / "c.csv")
    np.testing.assert_array_equal(record["new_rank"], record["new_score"].rank(method="min", ascending=False))
    assert record["new_score"].tolist()[:3] == [0.6, 0.7, 0.5]


def test_groups_that_look_alike(tmp_path):
    pd.DataFrame({"s": [0.1, 0.2, 0.3], "g": ["F", "f", "M"]}).to_csv(tmp_path / "x.csv", index=False)
    with pytest.warns(UserWarning, match="'F' and 'f' differ only by spaces, case or how"):
        scores(tmp_path / "x.csv")


def test_standard_output(tmp_path, capfdbinary):
    (tmp_path / "x.csv").write_text("s,g\n0.25,a\n0.5,b\n")
    apply(MAPS, tmp_path / "x.csv", output="-", **COLUMNS)
    assert capfdbinary.readouterr().out == b"s,g,s_adjusted\n0.25,a,0.25\n0.5,b,0.75\n"


COUNT = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
for name in ("SIGTERM", "SIGHUP"):  # a run under nohup, or in the background of a script, ignores some of them
    signal.signal(getattr(signal, name), signal.SIG_DFL)
from fairpot.rows import RowSource, count_rows
from fairpot.rows.output import ending_cleanly
sql = "select i / 1e9 as s, i % 2 as g from range(1000000000) t(i)"
with ending_cleanly():
    try:
        count_rows(RowSource(sql=sql, score="s", groups="g"))
    except KeyboardInterrupt:
        sys.exit(130)
"""


def seconds_worked(process):
    fields = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@pytest.mark.skipif(not os.path.exists("/proc/self/stat"), reason="looks how long a process has worked in /proc")
@pytest.mark.parametrize(("number", "code"), [("SIGINT", 130), ("SIGTERM", 143), ("SIGHUP", 129)])
def test_stopped_while_counting(tmp_path, number, code):
    """A billion rows would take minutes; the signal ends it, and nothing is left in the temporary directory."""
    environment = os.environ | {"TMPDIR": str(tmp_path)}
    with subprocess.Popen([sys.executable, "-c", COUNT], stdout=subprocess.PIPE, env=environment) as process:
        begun = None
        while begun is None or seconds_worked(process.pid) < begun + 0.5:
            if begun is None and [*tmp_path.glob(".scratch*")]:  # where DuckDB spills: the scan begins
                begun = seconds_worked(process.pid)
            assert process.poll() is None
            time.sleep(0.001)
        process.send_signal(getattr(signal, number))
        try:
            assert process.wait(300) == code
        finally:
            process.kill()
    assert not [*tmp_path.iterdir()]


def test_thousands_of_columns(tmp_path):
    """Each column costs once: what asks for all names at every column takes minutes here."""
    names = [f"c{i}" for i in range(20_000)]
    fields = ",".join(["1"] * len(names))
    (tmp_path / "x.csv").write_text(f"s,g,{','.join(names)}\n0.25,a,{fields}\n0.5,b,{fields}\n0.75,b,{fields}\n")
    assert scores(tmp_path / "x.csv") == EXPECTED
    assert apply(MAPS, tmp_path / "x.csv", output=tmp_path / "y.csv", **COLUMNS).rows == 3


@pytest.fixture
def workbook(tmp_path):
    """A workbook with a cover and the rows."""
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    book.active.title = "About us"
    book.active.append(["nothing", "here"])
    sheet = book.create_sheet("Scores 2024")
    for row in (["s", "y", "g"], [0.1, 0, "a"], [0.6, 1, "a"], [0.2, 0, "b"], [0.9, 1, "b"]):
        sheet.append(row)
    book.save(tmp_path / "x.xlsx")
    return tmp_path / "x.xlsx"


def test_a_workbook_with_several_sheets(workbook):
    roles = {"score": "s", "label": "y", "groups": "g"}
    with pytest.raises(InputFileError, match=r"(?s)x.xlsx has 2 sheets: 'About us', 'Scores 2024'.*sheet=\.\.\."):
        count_rows(RowSource(workbook, **roles))
    with pytest.raises(InputFileError, match=r"(?s)has no sheet 'scores'.*'About us', 'Scores 2024'"):
        count_rows(RowSource(workbook, **roles, sheet="scores"))
    table = count_rows(RowSource(workbook, **roles, sheet="Scores 2024")).table
    assert table["a"].score.tolist() == [0.1, 0.6]
    assert fairpot.score_table(workbook, score="s", label="y", group="g", sheet="Scores 2024").groups == table.groups
    (workbook.parent / "x.csv").write_text("s,g\n0.1,a\n0.2,b\n")
    with pytest.raises(InputFileError, match=r"x.csv is not a workbook, and has no sheet 'a'"):
        count_rows(RowSource(workbook.parent / "x.csv", score="s", groups="g", sheet="a"))


def test_the_command_line_names_sheets(workbook):
    columns = ["--score", "s", "--label", "y", "--group", "g"]
    told = CliRunner().invoke(app, ["audit", str(workbook), *columns])
    assert told.exit_code == 2
    assert "2 sheets: 'About us', 'Scores 2024'" in told.output
    assert "--sheet" in told.output
    done = CliRunner().invoke(app, ["audit", str(workbook), *columns, "--sheet", "Scores 2024", "--json"])
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["files"]["sheet"] == "Scores 2024"


OTHERS = {
    "xlsx": (b"PK\x03\x04rest", r"is a zip archive, as Excel workbooks are, not csv\.\nHint: name it \.xlsx"),
    "xls": (b"\xd0\xcf\x11\xe0rest", r"is an old Excel or Word file, not csv\.\nHint: save the sheet"),
    "pdf": (b"%PDF-1.7\n", r"is a PDF, not csv\.\nHint: save the table"),
    "parquet": (b"PAR1rest", r"is Parquet, not csv\.\nHint: name it \.parquet"),
}


@pytest.mark.parametrize("kind", OTHERS)
def test_other_files_that_are_named_csv(tmp_path, kind):
    content, message = OTHERS[kind]
    (tmp_path / "x.csv").write_bytes(content)
    with pytest.raises(InputFileError, match=message):
        count_rows(RowSource(tmp_path / "x.csv", score="s", groups="g"))


@pytest.mark.parametrize("name", ["y.jsonl", "y.csv", "y.parquet", "y.xlsx"])
def test_groups_of_json_that_are_not_of_one_type(tmp_path, name):
    """What a group is called does not depend on the format that is written; text and truth stay apart."""
    groups = ["a", True, "high", None, 7, False] * 20
    rows = [{"s": i / 120, "y": i % 2, "g": group, "h": "x"} for i, group in enumerate(groups)]
    (tmp_path / "x.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows if row["g"] is not None))
    columns = {"score": "s", "group": ["g", "h"]}
    table = fairpot.score_table(tmp_path / "x.jsonl", label="y", **columns)
    assert len(table.groups) == 5
    maps = {group: ScoreMap([0, 1], [2 + i, 3 + i]) for i, group in enumerate(table.groups)}
    lined = apply(maps, tmp_path / "x.jsonl", tmp_path / "lined.jsonl", **columns)
    done = apply(maps, tmp_path / "x.jsonl", tmp_path / name, **columns)
    assert (done.rows, done.moved) == (lined.rows, lined.moved) == (100, 100)
    if name == "y.parquet":
        adjusted = [json.loads(line)["s_adjusted"] for line in (tmp_path / "lined.jsonl").read_text().splitlines()]
        assert pyarrow.parquet.read_table(tmp_path / name)["s_adjusted"].to_pylist() == adjusted
    with (tmp_path / "x.jsonl").open("a") as file:
        file.write('{"s": 0.5, "y": 1, "g": null, "h": "x"}\n')
    with pytest.raises(ValueError, match="1 row without a group"):
        apply(maps, tmp_path / "x.jsonl", tmp_path / f"again-{name}", **columns)


@pytest.mark.parametrize("name", ["y.jsonl", "y.csv", "y.parquet", "y.xlsx"])
@pytest.mark.parametrize("score", ["[0.3]", '{"a": 1}', '"high"', "true"])
def test_scores_of_json_that_are_no_numbers_are_named(tmp_path, score, name):
    lines = [f'{{"s": 0.{i}, "g": "{"ab"[i % 2]}"}}' for i in range(10)]
    lines[7] = f'{{"s": {score}, "g": "b"}}'
    (tmp_path / "x.jsonl").write_text("\n".join(lines))
    said = r"column 's' must be numbers, got 1 row that is not\.(.|\n)*\(row 8\)"
    with pytest.raises(TypeError, match=said):
        fairpot.score_table(tmp_path / "x.jsonl", **COLUMNS)
    with pytest.raises(TypeError, match=said):
        apply(MAPS, tmp_path / "x.jsonl", tmp_path / name, **COLUMNS)
    assert not (tmp_path / name).exists()
