"""Folders of strangers: links and pipes in them are refused, and errors name nothing of a file that was not meant."""

import os
import socket

import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest

from cli.conftest import make_runner
from fairpot.cli._app import app
from fairpot.exceptions import InputFileError
from fairpot.rows import RowSource, count_rows

SECRET = "root-pa55word,x1,y1\nSmith-0001,2,3\n"
ROWS = pd.DataFrame({"s": [0.1, 0.2, 0.3, 0.4], "g": list("abab"), "y": [0, 1, 1, 0]})
COLUMNS = ["--score", "s", "--label", "y", "--group", "g"]


@pytest.fixture
def folder(tmp_path):
    made = tmp_path / "data"
    (made / "sub").mkdir(parents=True)
    for name in ("a.csv", "sub/b.csv"):
        ROWS.to_csv(made / name, index=False)
    (tmp_path / "secret").write_text(SECRET)
    return made


def counted(path, **options):
    return count_rows(RowSource(path, score="s", groups="g", **options), several=False).rows


def to_a_file(folder):
    (folder / "c.csv").symlink_to(folder.parent / "secret")


def to_a_file_of_rows(folder):
    (folder.parent / "more.csv").write_bytes((folder / "a.csv").read_bytes())
    (folder / "c.csv").symlink_to(folder.parent / "more.csv")


def to_a_folder(folder):
    (folder.parent / "more").mkdir()
    (folder.parent / "more" / "c.csv").write_bytes((folder / "a.csv").read_bytes())
    (folder / "c").symlink_to(folder.parent / "more")


def to_itself(folder):
    (folder / "c").symlink_to(folder)


def to_nothing(folder):
    (folder / "c.csv").symlink_to(folder / "none")


@pytest.mark.parametrize("make", [to_a_file, to_a_file_of_rows, to_a_folder, to_itself, to_nothing])
def test_links_are_refused(folder, make):
    assert counted(folder) == 8
    make(folder)
    for path in (folder, str(folder / "**" / "*.csv"), [folder / "sub", folder]):
        if make is to_nothing and "*" in str(path):
            continue  # a pattern does not fit what is not there
        with pytest.raises(InputFileError, match=r"holds \d+ links?, such as (.|\n)*name the file itself"):
            counted(path)
    (folder.parent / "to").symlink_to(folder / "sub")
    assert counted(folder.parent / "to") == 4  # whoever names a link means it


def test_links_are_read_where_they_are_named(folder):
    to_a_file_of_rows(folder)
    assert counted([folder / "a.csv", folder / "c.csv"]) == 8


def test_links_in_parquet(folder):
    """Which DuckDB opens itself."""
    for path in (*folder.glob("*.csv"), *folder.glob("sub/*.csv")):
        pa.parquet.write_table(pa.table(ROWS.to_dict("list")), path.with_suffix(".parquet"))
        path.unlink()
    (folder / "c.parquet").symlink_to(folder / "a.parquet")
    with pytest.raises(InputFileError, match="1 link"):
        counted(folder)
    (folder / "c.parquet").unlink()
    (folder / "[ab].parquet").write_bytes((folder / "a.parquet").read_bytes())  # DuckDB would take it for a pattern
    assert counted(folder) == 12


@pytest.mark.parametrize("name", ["c.csv", "c.jsonl", "c.xlsx"])
def test_what_is_no_file(folder, name, monkeypatch):
    monkeypatch.chdir(folder)  # names of sockets are short
    os.mkfifo(name)
    for path in (folder, f"{folder}/c*"):
        with pytest.raises(InputFileError, match="holds something that is not a file"):
            counted(path)
    os.unlink(name)
    with socket.socket(socket.AF_UNIX) as door:
        door.bind(name)
        with pytest.raises(InputFileError, match="holds something that is not a file"):
            counted(folder)


def run(*words, expect=2):
    answer = make_runner().invoke(app, [str(word) for word in words])
    assert answer.exit_code == expect, answer.output
    return answer.stderr


def test_errors_say_nothing_of_other_files(folder, tmp_path):
    """A wrong name must not print what another file begins with, in any format."""
    pa.parquet.write_table(pa.table({"root-pa55word": ["Smith-0001"]}), tmp_path / "p.parquet")
    pa.feather.write_feather(pa.table({"root-pa55word": ["Smith-0001"]}), str(tmp_path / "p.feather"))
    (tmp_path / "p.jsonl").write_text('{"root-pa55word": "Smith-0001"}\n')
    (tmp_path / "twice.jsonl").write_text('{"root-pa55word": 1, "root-pa55word": "Smith-0001"}\n')
    (tmp_path / "p.json").write_text('[{"root-pa55word": "Smith-0001"}]')
    query = ["--sql", f"select * from '{tmp_path}/p.parquet'"]
    (tmp_path / "two").mkdir()
    ROWS.to_csv(tmp_path / "two" / "a.csv", index=False)
    ROWS.assign(**{"root-pa55word": 1}).to_csv(tmp_path / "two" / "b.csv", index=False)
    for words in (
        *([tmp_path / name] for name in ("p.parquet", "p.feather", "p.jsonl", "twice.jsonl", "p.json")),
        query,
        [tmp_path / "secret", "--format", "csv"],
        *([tmp_path / "secret", "--format", other] for other in ("parquet", "arrow", "jsonl", "tsv")),
    ):
        error = run("audit", *words, *COLUMNS)
        assert "pa55word" not in error
        assert "Smith" not in error
    assert "pa55word" in run("audit", tmp_path / "secret", "--format", "csv", *COLUMNS, "--debug")
    assert "did you mean 's'" in run("audit", folder, *COLUMNS, "--score", "S")
    ROWS.to_csv(tmp_path / "rows.csv", index=False)
    run("fit", tmp_path / "rows.csv", *COLUMNS, "--lam", "0.5", "-o", tmp_path / "map.json", expect=0)
    error = run("apply", tmp_path / "map.json", tmp_path / "two", "-o", tmp_path / "out.csv")
    assert "differ in their columns: 1 of them" in error


def test_spark_is_told_before_it_starts(folder):
    to_a_file(folder)
    error = run("audit", folder, *COLUMNS, "--engine", "spark", "--format", "csv")
    assert "1 link" in error
    assert "name the file itself" in error
