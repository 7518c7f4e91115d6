"""fairpot apply: what transform gives, in the file's own format."""

import hashlib
import io
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest

from cli.conftest import COLUMNS, WRITERS, draw_people
from fairpot import FairPOT, load
from fairpot._lineage import lineage_line
from files_cases import read_csv

ROWS = ["--score", "risk", "--group", "sex"]


def read(path):
    name = path.name
    if ".csv" in name:
        return read_csv(path)
    if ".tsv" in name:
        return read_csv(path, sep="\t")
    if ".jsonl" in name:
        return pd.read_json(path, lines=True, precise_float=True)
    if name.endswith(".parquet"):
        return pa.parquet.read_table(path).to_pandas()
    if name.endswith(".feather"):
        return pa.feather.read_table(path).to_pandas()
    with pa.memory_map(str(path)) as source:
        opened = pa.ipc.open_file(source) if source.read(6) == b"ARROW1" else None
    if opened is not None:
        return pa.ipc.open_file(pa.memory_map(str(path))).read_all().to_pandas()
    return pa.ipc.open_stream(pa.memory_map(str(path))).read_all().to_pandas()


@pytest.mark.parametrize("name", WRITERS)
def test_every_format(run, folder, fitted, people, tmp_path, name):
    run("apply", fitted, folder / name, *ROWS, "-o", tmp_path / f"new-{name}")
    found = read(tmp_path / f"new-{name}")
    expected = load(fitted).transform(people["risk"].to_numpy(), sensitive_features=people["sex"])
    np.testing.assert_array_equal(found["risk_adjusted"], expected)
    pd.testing.assert_frame_equal(found.drop(columns="risk_adjusted"), people, check_dtype=False)


@pytest.mark.parametrize("top", ["0.3", "0.7", "200"])
@pytest.mark.parametrize("whose", ["all", "group"])
def test_top_of_the_ranking(run, csv, folder, people, held_out, tmp_path, top, whose):
    options = ["--lam", "0.8", "--top", top, "--top-of", whose, "--repair-top"]
    run("fit", csv, *COLUMNS, *options, "-o", tmp_path / "map.json")
    run("apply", tmp_path / "map.json", folder / "held_out.csv", *ROWS, "-o", tmp_path / "new.csv")
    model = FairPOT(0.8, top=float(top) if "." in top else int(top), top_of=whose, repair="top")
    model.fit(people["risk"], people["outcome"], sensitive_features=people["sex"])
    expected = model.transform(held_out["risk"].to_numpy(), sensitive_features=held_out["sex"])
    np.testing.assert_array_equal(read_csv(tmp_path / "new.csv")["risk_adjusted"], expected)


@pytest.mark.parametrize("columns", [["age"], ["smoker"], ["sex", "age"], ["age", "smoker", "sex"]])
def test_groups_of_any_type(run, csv, folder, people, tmp_path, columns):
    named = [word for name in columns for word in ("--group", name)]
    run("fit", csv, "--score", "risk", "--label", "outcome", *named, "--lam", 0.5, "-o", tmp_path / "map.json")
    model = FairPOT(0.5).fit(people["risk"], people["outcome"], sensitive_features=people[columns])
    expected = model.transform(people["risk"].to_numpy(), sensitive_features=people[columns])
    for name in ("people.csv", "people.parquet", "people.jsonl"):
        target = tmp_path / f"new-{name}"
        run("apply", tmp_path / "map.json", folder / name, "--score", "risk", *named, "-o", target)
        np.testing.assert_array_equal(read(target)["risk_adjusted"], expected)


def test_record_of_changes(run, csv, fitted, people, tmp_path):
    options = ["--changes", tmp_path / "changes.csv", "--threshold", "0.4", "--keep", "id", "--column", "fair"]
    answer = run("apply", fitted, csv, *ROWS, "-o", tmp_path / "new.csv", *options)
    new = read_csv(tmp_path / "new.csv")["fair"]
    record = read_csv(tmp_path / "changes.csv")
    np.testing.assert_array_equal(record["id"], people["id"])
    np.testing.assert_array_equal(record["old_score"], people["risk"])
    np.testing.assert_array_equal(record["new_score"], new)
    np.testing.assert_array_equal(record["old_rank"], people["risk"].rank(method="min", ascending=False))
    np.testing.assert_array_equal(record["new_rank"], new.rank(method="min", ascending=False))
    crossed = np.select(
        [(people["risk"] < 0.4) & (new >= 0.4), (people["risk"] >= 0.4) & (new < 0.4)], ["up", "down"], ""
    )
    np.testing.assert_array_equal(record["crossed"].fillna(""), crossed)
    assert f"{int((new != people['risk']).sum())} scores changed" in answer.out


def _sha256(path):
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()


def test_json(run, csv, fitted, people, tmp_path):
    found = run("apply", fitted, csv, *ROWS, "-o", tmp_path / "new.csv", "--json").json
    moved = int((read_csv(tmp_path / "new.csv")["risk_adjusted"] != people["risk"]).sum())
    assert found.pop("fairpot")["command"] == "apply"
    assert found.pop("columns") == {
        "score": "risk",
        "group": ["sex"],
        "lower_is_riskier": False,
        "high_score_means": None,
    }
    assert found.pop("inputs") == [csv]
    assert found.pop("files")["format"] is None
    assert found == {
        "score_range": [people["risk"].min(), people["risk"].max()],
        "output": str(tmp_path / "new.csv"),
        "changes": None,
        "map": str(fitted),
        "rows": 600,
        "moved": moved,
        "column": "risk_adjusted",
        "ranks_exact": True,
        "unknown": 0,
        "missing": 0,
        "dropped": 0,
        "notes": [],
        "made_by": lineage_line(_sha256(fitted), inputs=[_sha256(csv)]),
        "sha256": _sha256(tmp_path / "new.csv"),
        "changes_sha256": None,
    }
    assert run("apply", fitted, csv, *ROWS, "-o", tmp_path / "other.csv", "--quiet").out == ""


def test_standard_input_and_query(run, csv, folder, fitted, people, tmp_path):
    expected = load(fitted).transform(people["risk"].to_numpy(), sensitive_features=people["sex"])
    text = (folder / "people.csv").read_bytes()
    run("apply", fitted, "-", *ROWS, "-o", tmp_path / "piped.csv", stdin=text)
    np.testing.assert_array_equal(read_csv(tmp_path / "piped.csv")["risk_adjusted"], expected)
    query = f"select * from read_csv('{csv}') order by id"
    run("apply", fitted, "--sql", query, *ROWS, "-o", tmp_path / "asked.parquet")
    np.testing.assert_array_equal(read(tmp_path / "asked.parquet")["risk_adjusted"], expected)


def test_column_that_is_there(run, csv, fitted, tmp_path):
    answer = run("apply", fitted, csv, *ROWS, "-o", tmp_path / "new.csv", "--column", "share", expect=2)
    assert "--replace" in answer.err
    run("apply", fitted, csv, *ROWS, "-o", tmp_path / "new.csv", "--column", "share", "--replace")


def test_existing_output(run, csv, fitted, tmp_path):
    place = tmp_path / "new.csv"
    place.write_text("mine")
    assert "--force" in run("apply", fitted, csv, *ROWS, "-o", place, expect=2).err
    assert place.read_text() == "mine"
    run("apply", fitted, csv, *ROWS, "-o", place, "--force")
    assert len(read_csv(place)) == 600


def test_input_is_never_the_output(run, fitted, tmp_path):
    place = tmp_path / "people.csv"
    draw_people(50).to_csv(place, index=False)
    before = place.read_bytes()
    (tmp_path / "link.csv").symlink_to(place)
    (tmp_path / "hard.csv").hardlink_to(place)
    for target in (place, tmp_path / "link.csv", tmp_path / "hard.csv"):
        assert "input" in run("apply", fitted, place, *ROWS, "-o", target, "--force", expect=2).err
    assert place.read_bytes() == before


def test_columns_are_those_of_fit(run, folder, csv, people, held_out, tmp_path):
    """The map knows what the columns were called; other names can be given, and files without them are refused."""
    run("fit", csv, *COLUMNS, "--lam", "0.5", "-o", tmp_path / "map.json")
    run("apply", tmp_path / "map.json", folder / "held_out.csv", "-o", tmp_path / "new.csv")
    model = FairPOT(0.5).fit(people["risk"], people["outcome"], sensitive_features=people["sex"])
    expected = model.transform(held_out["risk"].to_numpy(), sensitive_features=held_out["sex"])
    np.testing.assert_array_equal(read_csv(tmp_path / "new.csv")["risk_adjusted"], expected)
    held_out.rename(columns={"sex": "gender"}).to_csv(tmp_path / "renamed.csv", index=False)
    command = ["apply", tmp_path / "map.json", tmp_path / "renamed.csv"]
    answer = run(*command, "-o", tmp_path / "b.csv", expect=2)
    assert "no column 'sex'" in answer.err
    run(*command, "--group", "gender", "-o", tmp_path / "b.csv")
    np.testing.assert_array_equal(read_csv(tmp_path / "b.csv")["risk_adjusted"], expected)
    model.save(tmp_path / "plain.json")  # from Python, without names: the usual ones
    answer = run("apply", tmp_path / "plain.json", folder / "held_out.csv", "-o", tmp_path / "c.csv", expect=2)
    assert "no column 'score'" in answer.err


def test_standard_output(run, csv, fitted, people, tmp_path):
    """Rows on standard output, complete or not at all, and nothing else there."""
    expected = load(fitted).transform(people["risk"].to_numpy(), sensitive_features=people["sex"])
    command = ["apply", fitted, csv, *ROWS, "-o", "-"]
    line = [sys.executable, "-m", "fairpot.cli", *command]
    done = subprocess.run([*line, "--output-format", "parquet"], capture_output=True, check=True)
    np.testing.assert_array_equal(pd.read_parquet(io.BytesIO(done.stdout))["risk_adjusted"], expected)
    assert done.stderr == b""
    answer = run(*command)
    np.testing.assert_array_equal(read_csv(io.StringIO(answer.out))["risk_adjusted"], expected)
    assert answer.err == ""
    (tmp_path / "bad.csv").write_text("risk,sex\n0.5,F\n,M\n")
    assert run("apply", fitted, tmp_path / "bad.csv", *ROWS, "-o", "-", expect=2).out == ""


def test_unknown_groups_and_missing_values(run, fitted, tmp_path):
    (tmp_path / "x.csv").write_text("risk;sex\n0,5;F\n0,25;D\n;M\n0,75;\n0,5;M\n")
    options = ["--decimal", ",", "--delimiter", ";"]
    assert "row" in run("apply", fitted, tmp_path / "x.csv", *options, "-o", tmp_path / "y.csv", expect=2).err
    everything = run("apply", fitted, tmp_path / "x.csv", *options, "-o", tmp_path / "y.csv", expect=2).err
    assert "1 row without a group" in everything
    assert "1 row with a group not seen in fit: ['D']" in everything
    assert "--missing-group keep" in everything
    assert "--unknown-group keep" in everything
    options += ["--drop-missing"]
    assert "['D']" in run("apply", fitted, tmp_path / "x.csv", *options, "-o", tmp_path / "y.csv", expect=2).err
    for unknown, value in (("null", None), ("keep", 0.25)):
        answer = run(
            "apply",
            fitted,
            tmp_path / "x.csv",
            *options,
            "--unknown-group",
            unknown,
            "-o",
            tmp_path / "y.csv",
            "--force",
        )
        assert "1 row with a group that the map does not know" in answer.err
        assert "2 rows without a score or a group: left out" in answer.err
        after = read_csv(tmp_path / "y.csv", sep=";", decimal=",")
        assert after["sex"].tolist() == ["F", "D", "M"]
        assert after["risk_adjusted"][1] == value if value is not None else np.isnan(after["risk_adjusted"][1])


def test_rows_without_a_group(run, fitted, tmp_path):
    (tmp_path / "x.csv").write_text("risk,sex\n0.5,F\n0.25,\n0.75,NA\n0.5,M\n")
    for way, said in (("keep", "score kept as it is"), ("null", "no adjusted score")):
        target = tmp_path / f"{way}.csv"
        answer = run("apply", fitted, tmp_path / "x.csv", "--missing-group", way, "-o", target)
        assert f"2 rows without a group: {said}" in answer.err
        after = read_csv(target)["risk_adjusted"]
        assert after[1:3].tolist() == [0.25, 0.75] if way == "keep" else after[1:3].isna().all()
    found = run("apply", fitted, tmp_path / "x.csv", "--missing-group", "null", "-o", tmp_path / "j.csv", "--json").json
    assert (found["missing"], found["unknown"]) == (2, 0)


def test_what_is_odd_is_said(run, csv, tmp_path):
    """Whole scores that become others, a score that is the same for all, and nobody who moves."""
    people = draw_people(300)
    people["risk"] = (people["risk"] * 10).round()
    people.to_csv(tmp_path / "whole.csv", index=False)
    run("fit", tmp_path / "whole.csv", *COLUMNS, "--lam", "0.8", "-o", tmp_path / "map.json")
    command = ["apply", tmp_path / "map.json"]
    answer = run(*command, tmp_path / "whole.csv", "-o", tmp_path / "a.csv")
    assert answer.out.count("the scores are whole numbers, and adjusted ones are not") == 1
    people.assign(risk=5, sex="F").to_csv(tmp_path / "same.csv", index=False)
    assert "all 300 scores are 5" in run(*command, tmp_path / "same.csv", "-o", tmp_path / "b.csv").out
    run("fit", tmp_path / "whole.csv", *COLUMNS, "--lam", "0", "-o", tmp_path / "idle.json")
    answer = run("apply", tmp_path / "idle.json", tmp_path / "whole.csv", "-o", tmp_path / "c.csv")
    assert "nobody's score changed: the map leaves every group as it is" in answer.out


def test_an_output_that_is_there_is_told_before_the_map_is_read(run, csv, tmp_path):
    (tmp_path / "map.json").write_text("no map")
    (tmp_path / "there.csv").write_text("mine")
    answer = run("apply", tmp_path / "map.json", csv, "-o", tmp_path / "there.csv", expect=2)
    assert "already exists" in answer.err


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b"risk,place\n0.5,F\n", "standard input has no column"),
        (b"risk,sex\n0.5,F\n0.5,\xff\n", "standard input is not UTF-8 text"),
        (b"PAR1 and nothing more", "standard input cannot be read as parquet"),
    ],
)
def test_errors_name_standard_input(run, fitted, tmp_path, text, said):
    for command in (["apply", fitted, "-", *ROWS, "-o", tmp_path / "x.csv"], ["audit", "-", *COLUMNS]):
        error = run(*command, stdin=text, expect=2).err
        assert said in error
        assert "fairpot-" not in error
