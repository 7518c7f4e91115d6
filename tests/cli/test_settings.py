"""Settings: those of the working directory or a named file hold and are told; those beside the data are mentioned."""

import os
import threading

import pytest

from cli.conftest import COLUMNS

ROWS = '[columns]\nscore = "risk"\nlabel = "outcome"\ngroup = "sex"\n'


@pytest.fixture
def here(many, tmp_path, monkeypatch):
    """A working directory beside that of the data."""
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


def test_settings_of_the_working_directory(run, many, here):
    (here / "fairpot.toml").write_text("threshold = 0.4\nmin_group = 30\n" + ROWS)
    assert run("audit", many).err.splitlines()[0] == (
        "settings: fairpot.toml (score = 'risk', label = 'outcome', group = ['sex'], min_group = 30, threshold = [0.4])"
    )
    given = run("audit", many, "--threshold", "0.6")
    assert "Flagged at 0.6" in given.out
    assert "threshold" not in given.err.splitlines()[0]
    found = run("audit", many, "--json").json["fairpot"]["settings"]
    assert found["file"] == "fairpot.toml"
    assert (found["in_force"]["threshold"], found["in_force"]["score"]) == ([0.4], "risk")
    run("fit", many, "--lam", "0.5", "-o", "map.json")
    assert run("apply", "map.json", many, "-o", "new.csv").err.startswith("settings: fairpot.toml (")
    run("report", many, "-o", "page.html")
    command = (here / "page.html").read_text(encoding="utf-8").partition("fairpot report ")[2]
    assert "--threshold 0.4" in command
    assert "--score risk" in command
    named = here / "other.toml"
    named.write_text(ROWS)
    assert "Flagged" not in run("audit", many, "--settings", named).out
    assert "settings: fairpot.toml" in run("audit", many, "--group", "none", expect=2).err


@pytest.mark.parametrize("quiet", [["-q"], ["--quiet", "--json"], []])
def test_settings_that_turn_a_gate_are_told(run, many, here, quiet):
    gate = ["audit", many, "--score", "risk", "--label", "outcome", "--group", "sex", "--fail-above", "0.05", *quiet]
    before = run(*gate, expect=3)
    assert "settings" not in before.err
    (here / "fairpot.toml").write_text('min_group = 7\nlevel = 0.9\n[files]\nformat = "csv"\ndelimiter = ","\n')
    [told, *_] = run(*gate).err.splitlines()
    assert told == "settings: fairpot.toml (format = 'csv', delimiter = ',', min_group = 7, level = 0.9)"
    after = run(*gate, "--no-settings", expect=3)
    assert (after.out, after.err) == (before.out, before.err)


def test_a_long_setting_hides_no_other(run, many, here):
    (here / "fairpot.toml").write_text(ROWS.replace("outcome", "x" * 5000) + 'weights = "importance"\n')
    [told, *_] = run("audit", many, "-q", expect=2).err.splitlines()
    assert "score = 'risk'" in told
    assert "weights = 'importance'" in told
    assert len(told) < 500


def test_no_settings(run, many, here):
    """Neither looked for nor read; and not together with a file that is named."""
    columns = ["--score", "risk", "--label", "outcome", "--group", "sex"]
    (here / "fairpot.toml").symlink_to("/etc/passwd")
    run("audit", many, *columns, "--no-settings")
    assert "is a link" in run("audit", many, *columns, expect=2).err
    error = run("audit", many, *columns, "--settings", "fairpot.toml", "--no-settings", expect=2).err
    assert "give one of the two" in error
    assert "is a link" in run("audit", *columns, "--", many, "--no-settings", expect=2).err


def test_settings_beside_the_data_are_not_read(run, many, here):
    """One line beside the data, and a gate that failed passed."""
    gate = ["--score", "risk", "--label", "outcome", "--group", "sex", "--fail-above", "0.01", "--json"]
    before = run("audit", many, *gate, expect=3)
    (many.parent / "fairpot.toml").write_text('min_group = 301\n[columns]\npositive = "0"\n')
    after = run("audit", many, *gate, expect=3)
    assert after.json == before.json
    assert after.json["fairpot"]["settings"] is None


def test_names_of_files_are_no_settings(run, many, here):
    """After -- a file that is called like the option is a file."""
    (here / "evil.toml").write_text('[columns]\nscore = "outcome"\n')
    (here / "--settings=evil.toml").write_text("")
    error = run("audit", "--", many, "--settings=evil.toml", expect=2).err
    assert "evil.toml" in error
    assert "settings: " not in error


def test_wrong_settings(run, many, here):
    named = here / "named.toml"

    def refused(text):
        named.write_bytes(text.encode() if isinstance(text, str) else text)
        error = run("audit", many, "--settings", named, expect=2).err
        assert "this should not happen" not in error
        assert len(error) < 1000
        return error

    assert "'bond'" in refused("bond = 0.05\n")
    assert "more than 20000" in refused("#" * 20_001)
    for text in (
        "top = " + "[" * 9000,
        "top = 1" + "0" * 15_000,
        "top = 2024-99-99",
        b"\xff\xfe",
        "a = {a = " * 999,
    ):
        assert "is not TOML" in refused(text)
    for text in ("top" + ".a" * 2000 + " = 1", "top = [[0.1]]", "top = {a = 1}", "top = 2024-01-01"):
        assert "top must be a text, a number" in refused(text)
    for text in ("top = true", "bound = true", "bound = nan", "min_group = true", 'min_group = "x"', "level = inf"):
        refused(text + "\n" + ROWS)
    assert "must be a section" in refused("columns = 1")
    assert len(refused("k" * 15_000 + " = 1")) < 1000


def test_settings_that_are_no_file(run, many, here):
    assert "--settings names a file" in run("audit", many, "--settings", "none.toml", expect=2).err
    for wrong in (here, "/dev/zero", "\0"):
        assert "Hint: " in run("audit", many, "--settings", wrong, expect=2).err
    os.mkfifo("pipe")
    answer = []
    asked = threading.Thread(target=lambda: answer.append(run("audit", many, "--settings", "pipe", expect=2)))
    asked.start()
    asked.join(300)
    assert "not a regular file" in answer[0].err
    (here / "secret").write_text("root:x:0:0\n")
    (here / "fairpot.toml").symlink_to("secret")
    error = run("audit", many, expect=2).err
    assert "is a link" in error
    assert "root" not in error
    with open("huge.toml", "wb") as file:
        file.truncate(3 << 30)
    assert "more than 20000" in run("audit", many, "--settings", "huge.toml", expect=2).err


def test_settings_give_way_to_what_is_typed(run, many, here):
    """With a map or a strength there is nothing left to choose, and nothing is told that does not hold."""
    every = 'max_gap = 0.05\nconfidence = 0.9\ntop_of = "group"\nreference = "F"\nthreshold = 0.4\n'
    (here / "fairpot.toml").write_text(every + ROWS)

    def told(*words):
        return run(*words).err.splitlines()[0].partition("group = ['sex']")[2]

    assert told("fit", many, "--lam", "0.5", "-o", "map.json") == ", reference = 'F', threshold = [0.4])"
    assert told("report", many, "--map", "map.json", "-o", "page.html") == ", threshold = [0.4])"
    assert told("apply", "map.json", many, "-o", "new.csv") == ")"
    assert told("audit", many) == ", reference = 'F', threshold = [0.4])"
    assert "--max-gap" not in (here / "page.html").read_text(encoding="utf-8").partition("fairpot report ")[2][:300]
    (here / "fairpot.toml").write_text("confidence = 0.9\n" + ROWS)
    assert told("fit", many, "--max-auc-loss", "0.01") == ")"
    assert "certif" not in run("report", many, "-o", "page.html", "--force").out
    assert (
        "does not go with it" in run("report", many, "--map", "map.json", "--max-gap", "1%", "-o", "x.md", expect=2).err
    )


def test_gates_in_settings_decide_and_give_way(run, many, here):
    (here / "fairpot.toml").write_text("fail_above = 0.001\nmin_ratio = 0.99\n" + ROWS)
    run("audit", many, expect=3)
    run("audit", many, "--fail-above", "0.9", "--min-ratio", "0.01")
    assert "fail_above" not in run("audit", many, "--no-label", "--min-ratio", "0.01").err
    (here / "fairpot.toml").write_text('require = "within"\n' + ROWS)
    assert "require" not in run("audit", many).err.splitlines()[0]
    run("audit", many, "--bound", "0.001", expect=3)
    (here / "fairpot.toml").write_text('for = "four-fifths"\n' + ROWS)
    assert run("audit", many).out == run("audit", many, "--no-settings", *COLUMNS, "--for", "four-fifths").out
