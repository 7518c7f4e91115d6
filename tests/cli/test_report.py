"""fairpot report: the report of the Python API, from files."""

import json
import re
import shlex
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from cli.conftest import COLUMNS, draw_people
from fairpot import FairPOT, audit, effect, load, score_table
from fairpot.cli._printing import plain
from fairpot.metrics import xauc_gap

ROOT = Path(__file__).parents[2]


def table_of(people):
    return score_table(people["outcome"], people["risk"], sensitive_features=people["sex"])


def test_a_repair(run, folder, people, tmp_path):
    for name in ("people.csv", "people.parquet"):
        options = ["--max-gap", "0.03", "--threshold", "0.4", "-o", tmp_path / f"{name}.html", "--json"]
        found = run("report", folder / name, *COLUMNS, *options).json
        fp = FairPOT(max_gap=0.03).fit(table_of(people))
        expected = plain(effect(fp, table_of(people), threshold=0.4).to_dict())
        for part in ("moves", "actions", "checked"):
            assert found["effect"][part] == expected[part]
        for when in ("before", "after"):
            assert found["effect"][when]["gap"] == expected[when]["gap"]
        assert found["gap"] == expected["before"]["gap"]


@pytest.mark.parametrize("given", [["--min-group", 50], ["--groups", "F,M"]])
def test_small_groups_can_be_left_out_as_in_audit_and_fit(run, many, tmp_path, given):
    page = ["-o", tmp_path / "page.json", "--json", "--force"]
    found = run("report", many, *COLUMNS, *given, *page).json
    alone = run("audit", many, *COLUMNS, *given, "--json").json
    for part in ("gap", "groups", "left_out", "notes"):
        assert found[part] == alone[part]
    repaired = run("report", many, *COLUMNS, *given, "--max-gap", 0.05, *page).json["effect"]
    fitted = run("fit", many, *COLUMNS, *given, "--max-gap", 0.05, "--json").json["fitted"]
    assert repaired["after"]["gap"] == fitted["after"]["gap"]
    assert repaired["left_out"] == fitted["left_out"] == ["X"]
    selected = run("report", many, *COLUMNS[:2], *COLUMNS[4:], "--no-label", *given, *page).json
    assert [each["group"] for each in selected["groups"]] == ["F", "M"]
    run("fit", many, *COLUMNS, "--max-gap", 0.05, "-o", tmp_path / "map.json")
    said = run("report", many, *COLUMNS, *given, "--map", tmp_path / "map.json", *page, expect=2).err
    assert f"{given[0]} does not go with it" in said


def test_rows_without_a_fitted_group_are_reported_as_with_the_saved_map(run, people, many, tmp_path):
    new = tmp_path / "new.csv"
    people.to_csv(new, index=False)
    run("fit", many, *COLUMNS, "--max-gap", 0.05, "-o", tmp_path / "map.json")
    found = []
    for given in (["--fit-on", many, "--max-gap", 0.05], ["--map", tmp_path / "map.json"]):
        found.append(run("report", new, *COLUMNS, *given, "-o", tmp_path / f"{len(found)}.json", "--json").json)
    assert found[0]["effect"]["after"]["gap"] == found[1]["effect"]["after"]["gap"]
    said = run("compare", many, *COLUMNS, "--validate", new, expect=2).err
    assert "--validate has no rows of the group 'X'" in said
    assert "--folds 5" in said


def test_on_rows_that_the_repair_was_not_fitted_on(run, folder, people, held_out, tmp_path):
    fitted = ["--fit-on", folder / "people.csv", "--lam", "0.4", "-o", tmp_path / "report.html", "--json"]
    found = run("report", folder / "held_out.csv", *COLUMNS, *fitted).json
    expected = effect(FairPOT(0.4).fit(table_of(people)), table_of(held_out))
    assert found["effect"]["after"]["gap"] == float(expected.after.gap)
    assert found["effect"]["checked"]["same_rows"] is False


def test_bands_are_those_of_the_rows_that_are_fitted(run, tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"score": rng.random(900), "label": rng.integers(0, 2, 900), "group": np.arange(900)})
    for name, rows in (("past", frame[:600]), ("new", frame)):
        rows.to_csv(tmp_path / f"{name}.csv", index=False)
    more = ["--bands", "group:3", "--method", "logit-shift", "--strength", "0.1", "-o", tmp_path / "r.html", "--json"]
    found = run("report", tmp_path / "new.csv", "--fit-on", tmp_path / "past.csv", *more).json
    names = [each["group"] for each in found["effect"]["before"]["groups"]]
    assert names == ["under 200", "200 to 399", "400+"]


def test_small_groups_stay_out_of_the_repair_as_the_notes_say(run, tmp_path):
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"sex": rng.choice(["F", "M"], 900), "race": rng.choice(["k", "l"], 900, p=[0.98, 0.02])})
    frame["label"], frame["weight"] = rng.integers(0, 2, 900), 0.5 + rng.random(900)
    frame["score"] = rng.normal(frame["label"] + 0.8 * (frame["sex"] == "F"))
    frame.to_csv(tmp_path / "rows.csv", index=False)
    page = tmp_path / "page.html"
    asked = ["--group", "sex", "--group", "race", "--weight", "weight", "--max-gap", "0.1", "-o", page]
    said = run("report", tmp_path / "rows.csv", *asked, "--min-group", "50").out
    assert "note: M / l is left out of the comparison (" in said
    drawn = page.read_text()
    assert "Rows, by weight" not in drawn
    assert f"of {((frame['sex'] == 'F') & (frame['race'] == 'k')).sum()}</p>" in drawn  # rows, not weight


def test_a_saved_map(run, folder, held_out, fitted, tmp_path):
    page = ["--map", fitted, "-o", tmp_path / "report.html", "--json"]
    found = run("report", folder / "held_out.csv", *COLUMNS, *page).json
    assert found["rows"] == len(held_out)
    assert sum(each["moved"] for each in found["effect"]["moves"]) > 0


def test_settings_for_a_fit_do_not_break_a_map(run, folder, fitted, tmp_path):
    """What a settings file says of a repair is a default, which a repair that is fitted already has no use for."""
    settings, output = tmp_path / "s.toml", tmp_path / "report.html"
    settings.write_text('max_gap = 0.05\nconfidence = 0.9\nreference = "F"\ntop_of = "group"\n')
    page = ["report", folder / "held_out.csv", *COLUMNS, "--map", fitted, "-o", output, "--json"]
    plain_page = run(*page).json
    found = run(*page, "--settings", settings, "--force").json
    assert found["effect"]["moves"] == plain_page["effect"]["moves"]
    settings.write_text('confidence = 0.9\nreference = "F"\ntop_of = "group"\n')
    audited = run(
        "report", folder / "held_out.csv", *COLUMNS, "-o", output, "--settings", settings, "--force", "--json"
    )
    assert audited.json["effect"] is None
    for typed in (["--max-gap", "0.05"], ["--method", "wasserstein"], ["--reference", "F"]):
        assert "does not go with it" in run(*page, *typed, "--force", expect=2).err


def test_a_map_names_its_columns(run, folder, fitted, tmp_path):
    """As for apply: what the map was fitted on need not be said again; a settings file still can say otherwise."""
    output, other = tmp_path / "report.html", tmp_path / "other.toml"
    page = ("report", folder / "held_out.csv", "--label", "outcome", "--map", fitted, "-o", output, "--json")
    assert run(*page).json["columns"]["score"] == "risk"
    other.write_text('[columns]\nscore = "nowhere"\n')
    assert "no column 'nowhere'" in run(*page, "--force", "--settings", other, expect=2).err


def test_an_audit(run, csv, people, tmp_path):
    output = tmp_path / "audit.html"
    answer = run("report", csv, *COLUMNS, "--title", "Our scores", "-o", output)
    assert "Written" in answer.out
    assert answer.out.startswith("The score ranks")
    assert "Our scores" in output.read_text(encoding="utf-8")
    found = run("report", csv, *COLUMNS, "-o", output, "--force", "--json").json
    assert found["effect"] is None
    assert found["gap"] == float(audit(table_of(people)).gap)


def test_the_command_on_the_page_makes_it_again(run, csv, tmp_path):
    output = tmp_path / "report.html"
    run("report", csv, *COLUMNS, "--max-gap", "0.03", "--threshold", "0.4", "--outcome", "a stroke", "-o", output)
    first = output.read_text(encoding="utf-8")
    [command] = set(re.findall(r"fairpot report [^<\"]*report\.html", first))
    _, *again = shlex.split(command.replace("&#x27;", "'").replace("&#39;", "'"))
    run(*again, "--force")
    assert output.read_text(encoding="utf-8").count(command)
    assert str(csv) in again


def test_json_on_standard_output(run, csv, tmp_path):
    found = run("report", csv, *COLUMNS, "--lam", "0.5", "-o", tmp_path / "r.md", "--json").json
    assert sum(each["moved"] for each in found["effect"]["moves"]) > 0
    said, _, title = (tmp_path / "r.md").read_text().splitlines()[:3]
    assert said.startswith("<!-- fairpot ")
    assert title.startswith("# ")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["-o", "r.pdf"], "ends in none of them"),
        (["--map", "map.json", "--lam", "0.5", "-o", "r.html"], "--lam does not go with it"),
        (["--map", "map.json", "--fit-on", "x.csv", "-o", "r.html"], "--fit-on does not go with it"),
        (["--fit-on", "x.csv", "-o", "r.html"], "say how far it goes"),
        (["--lam", "0.5", "--max-gap", "0.1", "-o", "r.html"], "Say it in one way"),
        ([], "--output"),
    ],
)
def test_what_does_not_go_together(run, csv, options, said):
    assert said in run("report", csv, *COLUMNS, *options, expect=2).err


def test_no_file_is_replaced_unasked(run, csv, tmp_path):
    output = tmp_path / "r.html"
    output.write_text("mine")
    run("report", csv, *COLUMNS, "-o", output, expect=2)
    assert output.read_text() == "mine"
    run("report", csv, *COLUMNS, "-o", output, "--force")
    assert output.read_text().startswith("<!doctype html>")


def test_a_certificate_is_judged_on_these_rows(run, csv, held_out, tmp_path):
    target, drifted = tmp_path / "map.json", tmp_path / "drifted.csv"
    run("fit", csv, *COLUMNS, "--max-gap", 0.3, "--confidence", 0.9, "-o", target)
    risk = held_out["risk"] * (1 - 0.9 * held_out["outcome"] * (held_out["sex"] == "F"))
    held_out.assign(risk=risk).to_csv(drifted, index=False)
    written = ["--map", target, "-o", tmp_path / "report.html", "--force"]
    answer = run("report", drifted, *COLUMNS, *written)
    promise = "Certified: with 90% confidence the overall gap on rows like these is at most 0.3 (tested on"
    [told] = [line for line in answer.out.splitlines() if promise in line]
    assert told.startswith("These rows contradict the certificate: the overall gap of M over F is ")
    found = run("report", drifted, *COLUMNS, *written, "--json").json["effect"]
    assert [each["state"] for each in found["statements"]] == ["backwards", "missed"]
    assert found["checked"]["certificate"]["bound"] == 0.3
    assert found["changes"]["gap"]["signed"]["groups"] == ["M", "F"]
    same = run("report", csv, *COLUMNS, *written, "--json").json["effect"]
    assert (same["statements"][0]["state"], same["checked"]["same_rows"]) == ("certified", True)


CARD = """
owner = "Credit risk, A. Example"
purpose = "Rank <applications> for a second look."
not_for = ["Pricing", "Denial without a person"]
reviewed = 2026-11-01
"""


def test_a_model_card_stands_on_the_page_and_in_every_export(run, csv, tmp_path):
    card = tmp_path / "card.toml"
    card.write_text(CARD)
    for suffix in ("html", "json", "md"):
        run("report", csv, *COLUMNS, "--max-gap", "0.03", "--card", card, "-o", tmp_path / f"r.{suffix}")
    found = json.loads((tmp_path / "r.json").read_text())
    assert list(found["card"]) == ["purpose", "owner", "not_for", "reviewed"]
    assert found["card"]["not_for"] == ["Pricing", "Denial without a person"]
    for suffix in ("html", "md"):
        text = (tmp_path / f"r.{suffix}").read_text(encoding="utf-8")
        assert "Rank &lt;applications&gt; for a second look." in text
        assert "Pricing; Denial without a person" in text
        assert "2026-11-01" in text


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("owner = ", "is not TOML"),
        ("[owner]\nname = 'x'", "owner must be text or a list of texts, got a dict"),
        ("version = 3", "says none of purpose, owner, not_for"),
        (None, "is not found"),
    ],
)
def test_what_is_no_card(run, csv, tmp_path, content, said):
    if content is not None:
        (tmp_path / "card.toml").write_text(content)
    told = run("report", csv, *COLUMNS, "--card", tmp_path / "card.toml", "-o", tmp_path / "r.html", expect=2).err
    assert said in told
    assert told.splitlines()[-1].startswith("Hint: ")
    assert not (tmp_path / "r.html").exists()


def test_an_audit_of_the_top_is_about_the_top(run, csv, people, tmp_path):
    """As `audit` has it: the gap in the top of the whole list, or of each group, which is another."""
    given = {"sensitive_features": people["sex"], "top": 0.3}
    gaps = {}
    for whose, top_of in (("all", "all"), ("group", "group")):
        page = ["report", csv, *COLUMNS, "--top", "30%", "--top-of", whose, "-o", tmp_path / f"{whose}.html"]
        found = run(*page, "--json").json
        gaps[whose] = xauc_gap(people["outcome"], people["risk"], top_of=top_of, **given)
        assert (found["statements"][0]["top"], found["statements"][0]["gap"]) == (0.3, gaps[whose])
        assert found["tops"][0]["gap"] == gaps[whose]
        assert f"gap in the top 30% {gaps[whose]:.3f}" in run(*page, "--force").out
    assert gaps["all"] != gaps["group"]
    rows = run("report", csv, *COLUMNS, "--top", "180", "-o", tmp_path / "rows.html", "--json").json  # 30% of 600
    assert rows["statements"][0]["gap"] == gaps["all"]


@pytest.mark.parametrize("more", [[], ["--repair-top"]])
def test_a_repair_of_the_top(run, csv, people, tmp_path, more):
    page = ["report", csv, *COLUMNS, "--max-gap", "0.1", "--top", "0.5", *more, "-o", tmp_path / "r.html", "--force"]
    said = run(*page).out
    found = run(*page, "--json").json
    given = {"repair": "top"} if more else {}
    expected = effect(FairPOT(max_gap=0.1, top=0.5, **given).fit(table_of(people)), table_of(people), top=0.5)
    assert found["effect"]["after"]["tops"][0]["gap"] == float(expected.after.tops[0].gap)
    assert found["effect"]["statements"][0]["top"] == 0.5
    assert said.startswith("On the rows it was fitted on, the gap in the top 50% is ")
    assert "AUC goes from " in said or "AUC stays at " in said


def test_a_promise_about_the_top_names_its_score_and_is_judged_from_there(run, tmp_path):
    """New rows that are mostly below it: their own top is another, and is not what was promised."""
    rows, later = (draw_people(n, seed) for n, seed in ((4000, 2), (3000, 3)))
    rows.to_csv(tmp_path / "rows.csv", index=False)
    later = later[(later["risk"] < 0.3) | (later.index % 2 == 0)]
    later.to_csv(tmp_path / "later.csv", index=False)
    target = tmp_path / "map.json"
    certify = ["--max-gap", 0.2, "--confidence", 0.9, "--top", 0.4, "--repair-top"]
    fitted = run("fit", tmp_path / "rows.csv", *COLUMNS, *certify, "-o", target).out
    start = load(target).thresholds_["F"]
    promise = f"the gap among people with an adjusted score of {start:.4g} or above"  # scores are rounded, and tie
    assert promise in fitted
    assert promise in run("show", target).out
    found = run("report", tmp_path / "later.csv", *COLUMNS, "--map", target, "-o", tmp_path / "r.html", "--json").json
    assert promise in (tmp_path / "r.html").read_text(encoding="utf-8")
    inside = later[later["risk"] >= start]
    after = load(target).transform(inside["risk"], sensitive_features=inside["sex"])
    gap = xauc_gap(inside["outcome"], after, sensitive_features=inside["sex"])
    [statement] = found["effect"]["statements"]
    assert statement["gap"] == pytest.approx(gap, abs=1e-12)
    assert found["effect"]["checked"]["certificate"]["starts"] == [{"group": g, "value": start} for g in ("F", "M")]
