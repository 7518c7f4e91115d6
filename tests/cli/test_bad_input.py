"""Whatever is wrong: one or two lines that name it, exit code 2, no traceback, nothing left behind."""

import gzip
import os
import re
import shlex

import numpy as np
import pandas as pd
import pytest

import fairpot
from cli.conftest import COLUMNS, draw_people
from fairpot import audit
from fairpot.cli import _errors

HEAD = "score,label,group\n"
GOOD = "0.1,0,a\n0.6,1,a\n0.3,0,b\n0.7,1,b\n"


def _damaged(data):
    return data[:10] + bytes([data[10] | 7]) + data[11:]


# Content of x.csv (or another name), and a part of what is said of it.
FILES = {
    "empty file": ("x.csv", b"", "is empty"),
    "column names only": ("x.csv", HEAD.encode(), "no rows"),
    "missing score": ("x.csv", (HEAD + GOOD + ",1,a\n").encode(), "1 missing"),
    "score nan": ("x.csv", (HEAD + GOOD + "nan,1,a\n").encode(), "1 missing"),
    "score inf": ("x.csv", (HEAD + GOOD + "inf,1,a\n").encode(), "1 infinite"),
    "score text": ("x.csv", (HEAD + GOOD + "high,1,a\n").encode(), "1 row that is not"),
    "score with comma": ("x.csv", (HEAD + GOOD + '"0,5",1,a\n').encode(), "1 row that is not"),
    "score huge": ("x.csv", (HEAD + GOOD + "1e305,1,a\n").encode(), "overflow"),
    "missing label": ("x.csv", (HEAD + GOOD + "0.5,,a\n").encode(), "outcome is not known"),
    "label of three values": ("x.csv", (HEAD + GOOD + "0.5,2,a\n").encode(), "0/1"),
    "label in words": ("x.csv", (HEAD + "0.1,no,a\n0.2,yes,b\n").encode(), "'no' (1 row) and 'yes' (1 row)"),
    "missing group": ("x.csv", (HEAD + GOOD + "0.5,1,\n").encode(), "without a group"),
    "one group": ("x.csv", (HEAD + "0.1,0,a\n0.6,1,a\n").encode(), "nothing to compare"),
    "row too long": ("x.csv", (HEAD + GOOD + "0.5,1,a,b,c\n").encode(), "x.csv"),
    "row too short": ("x.csv", (HEAD + GOOD + "0.5,1\n").encode(), "x.csv"),
    "not utf-8": ("x.csv", (HEAD + GOOD).encode() + b"0.5,1,\xff\xfe\n", "UTF-8"),
    "binary csv": ("x.csv", bytes(range(256)) * 10, "x.csv"),
    "doubled column": ("x.csv", b"score,label,group,score\n0.1,0,a,1\n0.2,1,b,2\n", "2 columns named 'score'"),
    "other columns": ("x.csv", b"Score,label,group\n0.1,0,a\n0.2,1,b\n", "did you mean 'Score'"),
    "no parquet": ("x.parquet", b"hello", "x.parquet"),
    "cut parquet": ("x.parquet", b"PAR1" + b"\0" * 100, "x.parquet"),
    "no arrow": ("x.feather", b"hello", "x.feather"),
    "cut arrow": ("x.arrow", b"ARROW1\0\0" + b"\1" * 40, "x.arrow"),
    "no gzip": ("x.csv.gz", b"hello", "x.csv.gz"),
    "cut gzip": ("x.csv.gz", gzip.compress((HEAD + GOOD * 4000).encode())[:60], "x.csv.gz"),
    "damaged gzip": ("x.csv.gz", _damaged(gzip.compress((HEAD + GOOD).encode())), "damaged"),
    "bad json": ("x.jsonl", b'{"score": 0.1, "label": 0,\n', "x.jsonl"),
    "json list": ("x.jsonl", b"[1, 2]\n", "not a JSON object"),
    "json score of text": ("x.jsonl", b'{"score":"0.1","label":0,"group":"a"}\n' * 2, "number"),
    "json without column": ("x.jsonl", b'{"risk":0.1,"label":0,"group":"a"}\n', "no column 'score'"),
    "unknown ending": ("x.docx", b"PK\3\4", "format"),
    "no workbook": ("x.xlsx", b"PK\3\4", "workbook"),
    "old workbook": ("x.xls", b"\xd0\xcf", ".xlsx or .csv"),
}


def check(answer, part):
    """One or two lines on stderr, the first with the error; nothing on stdout."""
    lines = answer.err.splitlines()
    assert 1 <= len(lines) <= 2, answer.err
    assert lines[0].startswith("error: ")
    assert "Traceback" not in answer.err
    assert "unexpected" not in answer.err
    assert part in answer.err, answer.err
    assert answer.out == ""


@pytest.mark.parametrize(("name", "content", "part"), FILES.values(), ids=FILES)
@pytest.mark.parametrize("command", ["audit", "fit"])
def test_files(run, tmp_path, command, name, content, part):
    path = tmp_path / name
    path.write_bytes(content)
    more = ["--lam", 0.4, "-o", tmp_path / "map.json"] if command == "fit" else []
    check(run(command, path, *more, expect=2), part)
    assert list(tmp_path.iterdir()) == [path]


APPLIED = [
    "missing score",
    "score inf",
    "score text",
    "missing group",
    "not utf-8",
    "no parquet",
    "bad json",
    "empty file",
]


@pytest.mark.parametrize("case", APPLIED)
def test_files_to_adjust(run, tmp_path, case):
    name, content, part = FILES[case]
    (tmp_path / "good.csv").write_text(HEAD + GOOD)
    run("fit", tmp_path / "good.csv", "--lam", 1, "-o", tmp_path / "map.json", "--quiet")
    (tmp_path / name).write_bytes(content)
    before = set(tmp_path.iterdir())
    target = tmp_path / f"new-{name}"
    check(run("apply", tmp_path / "map.json", tmp_path / name, "-o", target, expect=2), part)
    assert set(tmp_path.iterdir()) == before


OPTIONS = {
    "no input": (["audit"], "no file is named"),
    "file that is not there": (["audit", "nowhere.csv"], "nowhere.csv was not found"),
    "pattern without files": (["audit", "*.nothing"], "no file matches"),
    "file and query": (["audit", "CSV", "--sql", "select 1"], "not both"),
    "query that is none": (["audit", "--sql", "selekt 1"], "query"),
    "two queries": (["audit", "--sql", "select 1; select 2"], "single SELECT"),
    "query that writes": (["audit", "--sql", "create table x (y int)"], "single SELECT"),
    "query without the column": (["audit", "--sql", "select 1 as risk"], "no column 'score'"),
    "input and files": (["audit", "-", "CSV"], "standard input"),
    "unknown column": (["audit", "CSV", "--score", "riks"], "did you mean 'risk'"),
    "unknown group column": (["audit", "CSV", "--score", "risk", "--label", "outcome", "--group", "Sex"], "'sex'"),
    "one column twice": (["audit", "CSV", "--score", "risk", "--label", "risk"], "two parts"),
    "group given twice": (["audit", "CSV", *COLUMNS, "--group", "sex"], "two parts"),
    "score of text": (["audit", "CSV", "--score", "answer", "--label", "outcome", "--group", "sex"], "numbers"),
    "score of booleans": (["audit", "PARQUET", "--score", "smoker", *COLUMNS[2:]], "booleans"),
    "label of numbers": (["audit", "CSV", "--score", "risk", "--label", "age", "--group", "sex"], "0/1"),
    "positive that is not there": (
        ["audit", "CSV", "--score", "risk", "--label", "answer", "--group", "sex", "--positive", "si"],
        "--positive si",
    ),
    "group of identifiers": (
        ["audit", "CSV", "--score", "risk", "--label", "outcome", "--group", "id", "--fail-above", "1"],
        "600 groups",
    ),
    "unknown reference": (["audit", "CSV", *COLUMNS, "--reference", "X"], "no group 'X'"),
    "near reference": (
        ["fit", "CSV", *COLUMNS, "--lam", "1", "--group", "age", "--reference", "sex=F, age=11"],
        "did you",
    ),
    "alpha of 0": (["audit", "CSV", *COLUMNS, "--top", "0"], "--top"),
    "alpha above 1": (["audit", "CSV", *COLUMNS, "--top", "1.5"], "--top"),
    "alpha in words": (["audit", "CSV", *COLUMNS, "--top", "ten"], "not a number"),
    "alpha nan": (["audit", "CSV", *COLUMNS, "--top", "nan"], "--top"),
    "limit nan": (["audit", "CSV", *COLUMNS, "--fail-above", "nan"], "--fail-above"),
    "limit below 0": (["audit", "CSV", *COLUMNS, "--fail-above", "-1"], "--fail-above"),
    "unknown ties": (["audit", "CSV", *COLUMNS, "--ties", "most"], "--ties"),
    "unknown format": (["audit", "CSV", *COLUMNS, "--format", "xlsx"], "--format"),
    "wrong format": (["audit", "CSV", *COLUMNS, "--format", "parquet"], "cannot be read as parquet"),
    "memory in words": (["audit", "CSV", *COLUMNS, "--memory", "much"], "much"),
    "no threads": (["audit", "CSV", *COLUMNS, "--threads", "0"], "--threads"),
    "weight of text": (["audit", "CSV", *COLUMNS, "--weight", "answer"], "numbers"),
    "unknown command": (["adit"], "Did you mean 'audit'"),
    "unknown option": (["audit", "CSV", "--scoer", "x"], "--score"),
    "option without value": (["audit", "CSV", "--score"], "--score"),
    "fit without a rule": (["fit", "CSV", *COLUMNS], "how far should the repair go? Add"),
    "fit with two rules": (["fit", "CSV", *COLUMNS, "--lam", "0.1", "--max-gap", "0.1"], "Say it in one way"),
    "lam above 1": (["fit", "CSV", *COLUMNS, "--lam", "1.1"], "--lam"),
    "lam for wasserstein": (["fit", "CSV", *COLUMNS, "--method", "wasserstein", "--lam", "1"], "--lam is not for"),
    "theta": (["fit", "CSV", *COLUMNS, "--theta", "1"], "No such option"),
    "theta of 0": (["fit", "CSV", *COLUMNS, "--method", "optimal-merge", "--strength", "0"], "theta must be"),
    "lam for others": (
        ["fit", "CSV", *COLUMNS, "--method", "logit-shift", "--lam", "1"],
        "--lam is not for logit-shift",
    ),
    "repair of no top": (["fit", "CSV", *COLUMNS, "--lam", "1", "--repair-top"], "no top is given"),
    "group's top of nothing": (["fit", "CSV", *COLUMNS, "--lam", "1", "--top-of", "group"], "no top is given"),
    "whose top of nothing": (["report", "CSV", *COLUMNS, "--top-of", "group", "-o", "r.html"], "it needs --top"),
    "whose top of a map": (
        ["report", "CSV", "--label", "outcome", "--map", "MAP", "--top", "0.1", "--top-of", "group", "-o", "r.html"],
        "--top-of does not go with it",
    ),
    "grid of no repair": (["report", "CSV", *COLUMNS, "--keep", "grid", "-o", "r.html"], "--keep goes with a repair"),
    "top of no repair": (["report", "CSV", *COLUMNS, "--repair-top", "-o", "r.html"], "--repair-top goes with"),
    "reference of no repair": (["report", "CSV", *COLUMNS, "--reference", "F", "-o", "r.html"], "--reference goes"),
    "alpha of a fit": (["fit", "CSV", *COLUMNS, "--lam", "1", "--alpha", "0.1"], "--top 10%"),
    "capacity": (["report", "CSV", *COLUMNS, "--max-gap", "1", "--capacity", "9"], "No such option"),
    "region-from": (["fit", "CSV", *COLUMNS, "--max-gap", "1", "--region-from", "batch"], "No such option"),
    "common-dial": (["fit", "CSV", *COLUMNS, "--max-gap", "1", "--common-dial"], "No such option"),
    "reference for wasserstein": (
        ["fit", "CSV", *COLUMNS, "--method", "wasserstein", "--strength", "1", "--reference", "M"],
        "--reference is not for",
    ),
    "monotone wasserstein": (
        ["fit", "CSV", *COLUMNS, "--method", "wasserstein", "--strength", "1", "--monotone"],
        "--monotone",
    ),
    "unknown method": (["fit", "CSV", *COLUMNS, "--method", "magic", "--lam", "1"], "--method"),
    "output in no folder": (["fit", "CSV", *COLUMNS, "--lam", "1", "-o", "no/where/map.json"], "folder"),
    "output is a folder": (["fit", "CSV", *COLUMNS, "--lam", "1", "-o", "TMP"], "folder"),
    "output is the input": (["fit", "CSV", *COLUMNS, "--lam", "1", "-o", "CSV", "--force"], "input"),
    "held-out file that is not there": (["fit", "CSV", *COLUMNS, "--lam", "1", "--validate", "no.csv"], "no.csv"),
    "apply without output": (["apply", "MAP", "CSV"], "--output"),
    "apply without a map": (["apply", "nowhere.json", "CSV", "-o", "x.csv"], "no such file"),
    "apply a table": (["apply", "CSV", "CSV", "-o", "x.csv"], "cannot be used"),
    "apply without rows": (["apply", "MAP", "-o", "x.csv"], "no file is named"),
    "apply to an unknown format": (
        ["apply", "MAP", "CSV", "--score", "risk", "--group", "sex", "-o", "x.ods"],
        "format",
    ),
    "apply with other groups": (
        ["apply", "MAP", "CSV", "--score", "risk", "--group", "age", "-o", "x.csv"],
        "not seen in fit",
    ),
    "threshold without changes": (["apply", "MAP", "CSV", "-o", "x.csv", "--threshold", "0.5"], "--changes"),
    "changes into the output": (
        ["apply", "MAP", "CSV", "--score", "risk", "--group", "sex", "-o", "x.csv", "--changes", "x.csv"],
        "two files",
    ),
    "keep what is not there": (
        [
            "apply",
            "MAP",
            "CSV",
            "--score",
            "risk",
            "--group",
            "sex",
            "-o",
            "x.csv",
            "--changes",
            "y.csv",
            "--keep",
            "ID",
        ],
        "'id'",
    ),
    "show nothing": (["show"], "FILE"),
    "show a folder": (["show", "TMP"], "directory"),
    "bands of one column twice": (["audit", "CSV", *COLUMNS, "--bands", "sex:2", "--bands", "sex:3"], "named twice"),
    "no unknown value": (["audit", "CSV", *COLUMNS, "--unknown", "F,"], "--unknown names an empty value: 'F,'"),
    "times without outcomes": (
        ["audit", "CSV", *COLUMNS[:2], "--no-label", *COLUMNS[4:], "--time", "age", "--event", "x", "--horizon", "9"],
        "--time needs outcomes",
    ),
    "report times without outcomes": (
        ["report", "CSV", *COLUMNS[:2], "--no-label", *COLUMNS[4:], "--horizon", "9", "-o", "x.html"],
        "--horizon needs outcomes",
    ),
    "bands beside a map": (
        ["report", "CSV", "--label", "outcome", "--map", "MAP", "--bands", "age:2", "-o", "x.html"],
        "the map says how values become groups, and so does --bands",
    ),
    "missing groups beside a map": (
        ["report", "CSV", "--label", "outcome", "--map", "MAP", "--missing-group", "own", "-o", "x.html"],
        "and so does --missing-group",
    ),
    "a plan of rows without rows": (["plan", "--max-gap", "0.1", "--group", "sex"], "--group is about rows"),
    "folds": (["compare", "CSV", *COLUMNS, "--folds", "1"], "--folds"),
    "too many folds": (["compare", "CSV", *COLUMNS, "--folds", "500"], "500"),
    "unknown data set": (["datasets", "write", "iris", "x.csv"], "synthetic"),
    "unknown dataset": (["datasets", "write", "clinical", "x.csv"], "clinical"),
    "data set to an unknown format": (["datasets", "write", "synthetic", "x.docx"], "format"),
    "rows of a fixed data set": (["datasets", "write", "compas", "x.csv", "--rows", "100"], "--rows"),
    "data set into no folder": (["datasets", "write", "synthetic", "no/where.csv"], "folder"),
    "name with a null": (["audit", "a\0b.csv"], "error: "),
    "name too long": (["audit", "x" * 5000], "error: "),
}


@pytest.mark.parametrize(("arguments", "part"), OPTIONS.values(), ids=OPTIONS)
def test_options(run, folder, csv, fitted, tmp_path, monkeypatch, arguments, part):
    monkeypatch.chdir(tmp_path)
    places = {"CSV": csv, "PARQUET": str(folder / "people.parquet"), "MAP": str(fitted), "TMP": str(tmp_path)}
    before = set(tmp_path.iterdir())
    check(run(*(places.get(a, a) for a in arguments), expect=2), part)
    assert set(tmp_path.iterdir()) == before


DAMAGES = {
    "empty": lambda text: "",
    "cut": lambda text: text[: len(text) // 2],
    "changed": lambda text: text.replace("0.4", "0.5", 1),
    "version": lambda text: re.sub(r'"schema_version": ?\d+', '"schema_version": 99', text),
    "no json": lambda text: "import os",
    "other json": lambda text: "[]",
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_damaged_maps(run, csv, fitted, tmp_path, damage):
    broken = tmp_path / "broken.json"
    broken.write_text(damage(fitted.read_text()))
    check(run("show", broken, expect=2), "cannot be used")
    check(run("apply", broken, csv, "--score", "risk", "--group", "sex", "-o", tmp_path / "x.csv", expect=2), "cannot")


def test_mixed_files(run, tmp_path):
    people = draw_people(60)
    people.to_csv(tmp_path / "one.csv", index=False)
    people.rename(columns={"risk": "Risk"}).to_csv(tmp_path / "two.csv", index=False)
    check(run("audit", tmp_path, *COLUMNS, expect=2), "did you mean 'Risk'")
    people.to_parquet(tmp_path / "three.parquet", index=False)
    check(run("audit", tmp_path, *COLUMNS, expect=2), "different formats")
    (tmp_path / "more").mkdir()
    people.to_parquet(tmp_path / "more" / "a.parquet", index=False)
    people.assign(risk=people["risk"].astype(str)).to_parquet(tmp_path / "more" / "b.parquet", index=False)
    check(run("audit", tmp_path / "more", *COLUMNS, expect=2), "'risk' is")


def test_cut_arrow_file(run, folder, tmp_path):
    whole = (folder / "people.arrow").read_bytes()
    (tmp_path / "x.arrow").write_bytes(whole[: len(whole) // 2])
    answer = run("audit", tmp_path / "x.arrow", *COLUMNS, expect=2)
    check(answer, "x.arrow cannot be read")
    assert "registered" not in answer.err


def test_folder_without_data(run, tmp_path):
    check(run("audit", tmp_path, expect=2), "holds no file")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_file_that_may_not_be_read(run, tmp_path):
    (tmp_path / "x.csv").write_text(HEAD + GOOD)
    (tmp_path / "x.csv").chmod(0)
    check(run("audit", tmp_path / "x.csv", expect=2), "permission")


def test_group_that_the_map_does_not_know(run, fitted, people, tmp_path):
    people.assign(sex=np.where(people["id"] < 7, "D", people["sex"])).to_csv(tmp_path / "x.csv", index=False)
    rows = ["--score", "risk", "--group", "sex", "-o", tmp_path / "new.csv"]
    check(run("apply", fitted, tmp_path / "x.csv", *rows, expect=2), "7 rows with a group not seen in fit: ['D']")


def test_full_disk(run, csv, fitted):
    if not os.path.exists("/dev/full"):
        pytest.skip("no /dev/full here")
    error = OSError(28, "No space left on device", "x.csv")
    assert _errors.explain(error) == ["x.csv: the disk is full.", "Hint: free some space, or write to another disk."]


def test_only_labels_of_one_class(run, tmp_path):
    pd.DataFrame({"score": [0.1, 0.2, 0.3], "label": [0, 0, 0], "group": list("aab")}).to_csv(tmp_path / "x.csv")
    check(run("fit", tmp_path / "x.csv", "--lam", 0.4, expect=2), "no rows with the outcome")
    out = run("audit", tmp_path / "x.csv").out
    assert "No gap can be measured" in out
    assert "no rows with the outcome" in out


class Broken:
    def __init__(self, error):
        self.error = error

    def __call__(self, *_, **__):
        raise self.error


@pytest.mark.parametrize(
    "error",
    [
        RuntimeError("broken"),
        KeyError("x"),
        AttributeError("broken"),
        AssertionError(),
        ZeroDivisionError("z"),
        IndexError(),
    ],
)
def test_whatever_else_happens(run, csv, monkeypatch, error):
    monkeypatch.setattr("fairpot.cli.audit.audit_table", Broken(error))
    answer = run("audit", csv, *COLUMNS, expect=2)
    lines = answer.err.splitlines()
    assert lines[0].startswith(f"error: unexpected {type(error).__name__}")
    assert "--debug" in lines[1]
    assert len(lines) == 2
    assert answer.out == ""
    shown = run("audit", csv, *COLUMNS, "--debug", expect=2).err
    assert "Traceback" in shown
    assert shown.splitlines()[-2].startswith("error: unexpected")


def test_memory(run, csv, monkeypatch):
    monkeypatch.setattr("fairpot.cli.audit.audit_table", Broken(MemoryError()))
    check(run("audit", csv, *COLUMNS, expect=2), "not enough memory")


def test_what_rows_hold_is_not_shown(run, tmp_path):
    (tmp_path / "x.csv").write_text(HEAD + GOOD + "HIV positive,1,a\n")
    assert "HIV" not in run("audit", tmp_path / "x.csv", expect=2).err
    assert "(row 5)" in run("audit", tmp_path / "x.csv", "--debug", expect=2).err


def test_debug_shows_where_a_known_error_came_from(run):
    err = run("audit", "nowhere.csv", "--debug", expect=2).err
    assert "Traceback" in err
    assert "InputFileError" in err


def test_interrupted(run, csv, monkeypatch):
    monkeypatch.setattr("fairpot.cli.audit.audit_table", Broken(KeyboardInterrupt()))
    assert run("audit", csv, *COLUMNS, expect=130).err == "error: interrupted.\n"


def test_errors_with_json_leave_standard_output_empty(run, csv):
    assert run("audit", csv, "--score", "riks", "--json", expect=2).out == ""


def test_outputs_never_replace_inputs(run, csv, folder, tmp_path):
    held_out, copy = tmp_path / "held_out.csv", tmp_path / "map.csv"
    held_out.write_bytes((folder / "held_out.csv").read_bytes())
    before = held_out.read_bytes()
    fit = ["fit", csv, "--score", "risk", "--label", "outcome", "--group", "sex", "--lam", "0.4"]
    run(*fit, "--validate", held_out, "-o", held_out, "--force", expect=2)
    assert held_out.read_bytes() == before
    run(*fit, "-o", tmp_path / "map.json")
    copy.write_bytes((tmp_path / "map.json").read_bytes())
    for output in (["-o", copy], ["-o", tmp_path / "new.csv", "--changes", copy]):
        answer = run("apply", copy, held_out, *output, "--force", expect=2)
        assert "is also an input" in answer.err
    assert copy.read_bytes() == (tmp_path / "map.json").read_bytes()
    assert not (tmp_path / "new.csv").exists()


def test_empty_names_and_huge_seeds(run, csv):
    assert "empty text" in run("audit", "", expect=2).err
    assert "--seed" in run("compare", csv, "--seed", "99999999999999999999", expect=2).err


@pytest.mark.parametrize("command", [["audit"], ["compare"], ["fit", "--lam", "0.4"], ["report"]], ids=" ".join)
@pytest.mark.parametrize("name", ["people.csv", "people.parquet", "people.jsonl"])
def test_swapped_columns_are_told_in_options(run, folder, tmp_path, people, command, name):
    output = ["-o", tmp_path / "x.json"] if command[0] in ("fit", "report") else []
    swapped = ["--score", "outcome", "--label", "risk", "--group", "sex"]
    answer = run(*command, folder / name, *swapped, *output, expect=2)
    check(answer, f"look swapped: an outcome has two values, but column 'risk' has {people['risk'].nunique()}, and")
    assert "Hint: name the columns the other way round, --score risk and --label outcome." in answer.err
    assert not (tmp_path / "x.json").exists()


def test_swapped_columns_with_more_values_than_are_kept(run, tmp_path):
    rows = np.arange(120_000)
    frame = pd.DataFrame({"risk": rows / 7, "flag": rows // 2 % 2, "outcome": rows % 2, "sex": rows % 3, "id": rows})
    frame.to_parquet(tmp_path / "many.parquet", index=False)

    def audit(**columns):
        options = [word for name, column in columns.items() for word in (f"--{name}", column)]
        return run("audit", tmp_path / "many.parquet", *options, expect=2)

    check(audit(score="outcome", label="risk", group="sex"), "was a column of identifiers or of scores named")
    check(audit(score="flag", label="outcome", group="id"), "was a column of identifiers")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("score,label\n0.1,1\n", "standard input has no column 'group'"),
        ("score,label,group\n0.1,1,a\n0.2,0,b,7\n", "standard input cannot be read as csv"),
        ('score,label,group\n"0.1,1,a\n', "standard input, line 2: a quote"),
        ('{"score": 1\n{', "standard input"),
    ],
)
def test_standard_input_is_called_by_its_name(run, text, said):
    told = run("audit", "-", expect=2, stdin=text).err
    assert told.startswith(f"error: {said}")
    assert "scratch" not in told


@pytest.mark.parametrize("output", ["-o", "--changes"])
def test_nul_in_the_name_of_an_output(run, csv, fitted, tmp_path, output):
    more = ["-o", tmp_path / "x.csv"] if output == "--changes" else []
    error = run("apply", fitted, csv, *more, output, f"{tmp_path}/a\0b.csv", expect=2).err
    assert "is not the name of a file" in error
    assert "should not happen" not in error
    assert list(tmp_path.iterdir()) == []
    for words in (["fit", csv, *COLUMNS, "--lam", "0.5", "-o"], ["report", csv, *COLUMNS, "-o"]):
        assert "not the name of a file" in run(*words, f"{tmp_path}/a\0b.html", expect=2).err


def test_a_missing_column_lists_those_there_are(run, tmp_path):
    """The first 20 of a table whose names look like names; nothing of a file without a head."""
    names = [f"column.{k}" for k in range(25)]
    (tmp_path / "wide.csv").write_text(",".join(names) + "\n" + ",".join("1" * 25) + "\n")
    error = run("audit", tmp_path / "wide.csv", expect=2).err
    assert "'column.19' and 5 more)" in error
    assert "column.20" not in error
    for secret in ("0.3,1,Smith\n0.2,0,Jones\n", "Smith: HIV positive\n"):
        (tmp_path / "bare.csv").write_text(secret)
        assert "Smith" not in run("audit", tmp_path / "bare.csv", expect=2).err


def test_a_missing_outcome_names_the_option_that_drops_it(run, tmp_path):
    (tmp_path / "gaps.csv").write_text("score,label,group\n0.1,1,a\n0.2,,b\n0.3,0,a\n")
    assert "Hint: leave those rows out with --drop-missing" in run("audit", tmp_path / "gaps.csv", expect=2).err


def foreign(path, rows=400, *, header="Punkte;Rückfall;Größe", words=("oui", "non"), encoding="cp1252"):
    """Write a file as a French or German spreadsheet does: neither UTF-8, nor points, nor 0 and 1."""
    people = draw_people(rows, seed=5)
    lines = [
        f"{risk:.3f}".replace(".", ",") + f";{words[1 - y]};{'Äther' if sex == 'F' else 'Öl'}"
        for risk, y, sex in zip(people["risk"], people["outcome"], people["sex"])
    ]
    path.write_text("\n".join([header, *lines]) + "\n", encoding=encoding)
    return path


@pytest.mark.parametrize("encoding", ["cp1252", "utf-16", "utf-16-le"])
@pytest.mark.parametrize("given", [[], ["--score=Punkt", "--group", "Größe"]])
def test_one_look_names_all_that_a_foreign_file_needs(run, tmp_path, given, encoding):
    """The command that is printed works."""
    path = foreign(tmp_path / "Datei 1.csv", encoding=encoding)
    said = run("audit", path, *given, "--json", expect=2).err
    [hint] = [line for line in said.splitlines() if line.startswith("Hint: ")]  # after notes of how it is read
    command = shlex.split(hint.partition(" are right: ")[2])
    assert command[:2] == ["fairpot", "audit"]
    assert run(*command[1:]).json["columns"]["positive"] == "oui"


def test_what_an_answer_means_is_not_guessed(run, tmp_path):
    path = foreign(tmp_path / "x.csv", words=("A", "B"))
    assert run("audit", path, expect=2).err.rstrip().endswith("--group 'Größe' --positive VALUE")


def test_a_file_without_names_of_columns_tells_nothing_of_its_rows(run, tmp_path):
    path = foreign(tmp_path / "x.csv", header="0,123;oui;Geheim")
    said = run("audit", path, expect=2).err
    assert "Geheim" not in said
    assert "--encoding cp1252 --decimal ," in said


def test_python_says_what_a_foreign_file_needs(tmp_path):
    needed = r"encoding='cp1252', decimal=',', label='Rückfall', score='Punkte', group='Größe', pos_label='oui'"
    with pytest.raises(ValueError, match=needed):
        fairpot.score_table(str(foreign(tmp_path / "x.csv")), score="s", label="y", group="g")


def test_odd_outcomes_are_counted_by_themselves(run, tmp_path):
    """One value that is no number makes a column of text, whose zeros and ones are not wrong."""
    label = ["0", "1"] * 50 + ["?", "?", "unknown"]
    frame = pd.DataFrame({"risk": np.linspace(0, 1, 103), "outcome": label, "sex": ["F", "M", "M"] * 34 + ["F"]})
    frame.to_csv(tmp_path / "odd.csv", index=False)
    frame.to_parquet(tmp_path / "odd.parquet")
    for name in ("odd.csv", "odd.parquet"):
        told = run("audit", tmp_path / name, *COLUMNS, expect=2).err
        assert "4 values in all, 3 rows other than 0/1: '?', 'unknown'." in told
    with pytest.raises(ValueError, match=r"3 rows other than 0/1: '\?', 'unknown'\.\nHint: give those rows"):
        audit(frame["outcome"], frame["risk"], sensitive_features=frame["sex"])
