"""Outcomes after a time on the command line: the same numbers as in Python, in every command, said in the next one."""

import json
import shlex

import jsonschema
import numpy as np
import pytest

import fairpot
from fairpot.results.concordances import concordance
from files_cases import write
from followed_cases import followed

SAID = ["--group", "sex", "--time", "days", "--event", "died", "--horizon", "1", "--competing", "2"]


@pytest.fixture(scope="module")
def frame():
    return followed(800, 3, competing=0.3, by_score=0.2)


@pytest.fixture(scope="module")
def path(frame, tmp_path_factory):
    return str(write(frame, tmp_path_factory.mktemp("followed") / "rows.csv"))


def test_audit_says_what_python_does(run, frame, path):
    given = {"time": frame.days, "event": frame.died, "horizon": 1.0, "competing": 2, "sensitive_features": frame.sex}
    found = fairpot.audit(fairpot.score_table(None, frame.score, **given))
    document = run("audit", path, *SAID, "--json").json
    for name, value in json.loads(json.dumps(found.to_dict())).items():
        assert document[name] == value, name
    told = {"horizon": 1.0, "competing": "2", "time": "days", "event": "died", "label": None, "leaving": None}
    assert {name: document["columns"][name] for name in told} == told
    assert [each["left"] for each in document["follow_up"]["groups"]] == [each.left for each in found.follow_up.groups]
    printed = run("audit", path, *SAID).out
    assert all(text in printed for text in found.answer[:3])
    assert "note: Left before 1 without the outcome: F" in printed
    [pair] = document["concordance"]["pairs"]
    there, back = (f"{100 * float(pair[key]):.0f}" for key in ("xci_first", "xci_second"))
    assert f"in {there} of 100 pairs; the reverse ({pair['second']} over {pair['first']}) in {back}: " in printed
    by_group = run("audit", path, *SAID, "--leaving", "group", "--json").json["concordance"]["pairs"][0]
    more = {"event": frame.died, "competing": 2, "sensitive_features": frame.sex, "tau": 1.0, "leaving": "group"}
    assert by_group["signed_gap"] == concordance(frame.days, frame.score, **more).pairs[0].signed_gap
    assert by_group["signed_gap"] != document["concordance"]["pairs"][0]["signed_gap"]


def test_the_next_command_is_about_the_same_outcomes(run, path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    said = run("audit", path, *SAID).out
    [command] = [line for line in said.splitlines() if line.startswith("Next: fairpot fit")]
    assert "--time days --event died --horizon 1 --competing 2" in command
    run(*shlex.split(command.removeprefix("Next: fairpot ").replace("GAP", "0.05")))
    after = run("apply", "map.json", path, "-o", "new.csv").out
    assert "800 rows" in after
    shown = run("audit", "new.csv", "--score", "score_adjusted", *SAID, "--bound", "0.1").out
    assert "0.1" in shown


@pytest.mark.parametrize("command", ["fit", "compare", "report"])
def test_documents_of_other_commands_follow_the_schema(run, path, tmp_path, command):
    more = {"fit": ["--max-gap", "0.1", "--confidence", "0.6"], "report": ["-o", tmp_path / "page.html"]}.get(
        command, []
    )
    if command == "compare":
        more = ["--method", "fairpot", "--max-gap", "0.1"]
    document = run(command, path, *SAID, *more, "--json").json
    schema = json.loads((fairpot_docs() / "documents.schema.json").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator({**schema, "$ref": f"#/$defs/{command}"}).validate(document)
    assert document["columns"]["horizon"] == 1.0
    if command == "report":
        assert "Up to 1, someone in " in (tmp_path / "page.html").read_text(encoding="utf-8")


def fairpot_docs():
    from pathlib import Path

    return Path(__file__).parents[2] / "docs" / "reference"


def test_several_scores_have_the_same_weights(run, frame, tmp_path):
    frame = frame.assign(other=frame.score + np.random.default_rng(0).normal(size=len(frame)))
    both = ["audit", str(write(frame, tmp_path / "rows.csv")), "--score", "score", "--score", "other", *SAID]
    assert "add --leaving group" in run(*both, expect=2).err
    first, second = run(*both, "--leaving", "group", "--json").json["models"].values()
    assert second["change"]["gap"]["change"] == pytest.approx(second["gap"] - first["gap"], abs=1e-9)
    assert second["change"]["auc"]["change"] == pytest.approx(second["auc"] - first["auc"], abs=1e-9)


@pytest.mark.parametrize(
    "command",
    [
        ["plan", "--max-gap", "0.1"],
        ["compare", "--method", "wasserstein", "--max-gap", "0.1"],
        ["audit", "--for", "clinical", "--threshold", "0.5"],
        ["audit", "--score", "score", "--score", "other", "--leaving", "group"],
    ],
)
def test_every_answer_says_who_left(run, frame, tmp_path, command):
    path = write(frame.assign(other=-frame.score.abs()), tmp_path / "rows.csv")
    assert "Left before 1 without the outcome: F" in run(*command, path, *SAID).out


def test_settings_say_it_too(run, path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "fairpot.toml").write_text(
        '[columns]\ngroup = "sex"\ntime = "days"\nevent = "died"\nhorizon = 1\ncompeting = "2"\n'
    )
    assert run("audit", path, "--json").json["follow_up"] == run("audit", path, *SAID, "--json").json["follow_up"]


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (SAID[:6], "--time is given without --horizon"),
        ([*SAID[:2], "--event", "died"], "--event is given without --time"),
        ([*SAID, "--label", "kind"], "--event says who had the outcome, and so does --label"),
        ([*SAID, "--label", "died"], "the column 'died' cannot play two parts"),
        ([*SAID, "--positive", "1"], "so does --positive"),
        (SAID[:8], "if it is a competing event, such as death before the outcome: --competing 2"),
        ([*SAID, "--horizon", "365"], "--horizon 365.0 is after the last follow-up"),
        ([*SAID, "--horizon", "nan"], "of the times, got nan.\nHint: give the time by which"),
        ([*SAID, "--competing", "3"], "must be 0, 1 or 3, got"),
        ([*SAID, "--engine", "spark"], "outcomes after a time need every row in memory"),
    ],
)
def test_wrong_use_is_one_clear_error(run, path, more, said):
    assert said in run("audit", path, *more, expect=2).err
