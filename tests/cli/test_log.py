"""The log: nothing unless it is asked for; then what was opened, counted, refused and written, with sizes."""

import json
import logging

import pytest

import fairpot
from fairpot.cli import _errors

COLUMNS = ["--score", "risk", "--label", "outcome", "--group", "sex"]


def objects(answer):
    """Read standard error, of which every line is an object."""
    return [json.loads(line) for line in answer.err.splitlines()]


def test_a_run_as_objects(run, csv, fitted, tmp_path):
    done = run("apply", fitted, csv, "-o", tmp_path / "o.csv", "--changes", tmp_path / "c.csv", "--log-format=json")
    told = objects(done)
    assert [each["event"] for each in told] == ["began", "loaded", "opened", "written", "written", "adjusted", "ended"]
    by_event = {each["event"]: each for each in told}
    assert by_event["opened"] | {"files": [csv], "format": "csv", "found": 1} == by_event["opened"]
    assert by_event["adjusted"]["rows"] == 600
    assert by_event["written"]["bytes"] == (tmp_path / "o.csv").stat().st_size
    assert by_event["ended"]["code"] == 0
    assert all(each["seconds"] >= 0 for each in told if "seconds" in each)


def test_the_map_is_written_once(run, csv, tmp_path):
    told = objects(run("fit", csv, *COLUMNS, "--lam", 0.4, "-o", tmp_path / "m.json", "--log-format", "json", "-q"))
    assert [each["file"] for each in told if each["event"] == "written"] == [str(tmp_path / "m.json")]


@pytest.mark.parametrize(
    ("line", "code", "events"),
    [
        (["audit", "CSV", *COLUMNS, "--fail-above", 0], 3, ["began", "opened", "counted", "gate", "ended"]),
        (["audit", "CSV", "--score", "nothing"], 2, ["began", "refused", "ended"]),
        (["audit", "CSV", *COLUMNS, "--no-such"], 2, ["began", "ended"]),
    ],
)
def test_what_goes_wrong_is_an_object_too(run, csv, line, code, events):
    words = [csv if word == "CSV" else word for word in line]
    told = objects(run(*words, "--log-format", "json", "-q", expect=code))
    assert [each["event"] for each in told] == events
    assert told[-1]["code"] == code
    assert ("error" in told[-1]) == ("hint" in told[-1]) == (code == 2)


def test_warnings_and_settings_are_objects(run, csv, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "fairpot.toml").write_text('[columns]\nscore = "risk"\nlabel = "outcome"\ngroup = "sex"\n')
    told = objects(run("audit", csv, "--log-format", "json"))
    assert "fairpot.toml" in next(each["text"] for each in told if each["event"] == "settings")


def test_lines_for_people_stand_beside_the_error(run, tmp_path):
    said = run("audit", tmp_path / "no.csv", "--log-format", "text", expect=2).err
    assert "error: " in said
    assert "ERROR refused files=" in said
    assert "INFO began command=" in said


def test_quiet_unless_asked(run, csv):
    assert run("audit", csv, *COLUMNS, "-q").err == ""
    assert run("audit", csv, *COLUMNS, "--log-format", "xml", expect=2).err.startswith("error: Invalid value")


def test_a_signal_is_the_last_line(capsys):
    def ended():
        raise SystemExit(143)

    with pytest.raises(SystemExit):
        _errors.run(ended, log="json")
    assert json.loads(capsys.readouterr().err)["code"] == 143


def test_python_listens_by_name(csv, caplog):
    with caplog.at_level(logging.INFO, "fairpot"):
        fairpot.score_table(csv, score="risk", label="outcome", group="sex")
        with pytest.raises(ValueError, match="no column"):
            fairpot.score_table(csv, score="nobody")
    assert [record.event for record in caplog.records] == ["opened", "counted", "refused"]
    assert caplog.records[1].facts["rows"] == 600


def test_the_last_form_counts_and_files_are_not_options(run, csv):
    assert run("audit", csv, *COLUMNS, "--log-format=json", "--log-format", "text", "-q").err.count("INFO") == 4
    assert run("audit", "--", "--log-format", "json", expect=2).err.startswith("error: ")
