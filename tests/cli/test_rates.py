"""Rates by group on the command line: the usual ones, all of them, and audits without outcomes."""

import json

import pytest

import fairpot
from cli.conftest import COLUMNS
from fairpot import FairPOT

NO_LABEL = ["--score", "risk", "--group", "sex", "--no-label"]


def by_group(rates, name):
    [found] = [each for each in rates["rates"] if each["rate"] == name]
    return {each["group"] or "all": each for each in (*found["groups"], found["all"])}


def test_rates_are_those_of_pandas(run, csv, people):
    found = run("audit", csv, *COLUMNS, "--threshold", 0.4, "--json").json["rates"][0]
    for group, own in people.groupby("sex"):
        up, positive = own["risk"] >= 0.4, own["outcome"] == 1
        wanted = {"selection_rate": up.mean(), "tpr": up[positive].mean(), "fpr": up[~positive].mean()}
        wanted |= {"ppv": positive[up].mean(), "npv": (~positive)[~up].mean(), "accuracy": (up == positive).mean()}
        for name, value in wanted.items():
            assert by_group(found, name)[group]["value"] == pytest.approx(value)
        assert by_group(found, "selection_rate")[group]["hits"] == up.sum()


def test_rates_before_and_after(run, csv, people):
    found = run("fit", csv, *COLUMNS, "--lam", 0.6, "--threshold", 0.4, "--json").json["fitted"]
    fp = FairPOT(0.6).fit(people["risk"], people["outcome"], sensitive_features=people["sex"])
    new = fp.transform(people["risk"], sensitive_features=people["sex"])
    for which, scores in (("before", people["risk"]), ("after", new)):
        rates = by_group(found[which]["rates"][0], "selection_rate")
        assert {g: rates[g]["hits"] for g in "FM"} == {g: (scores[people["sex"] == g] >= 0.4).sum() for g in "FM"}


def test_a_threshold_is_turned_round_with_the_scores(run, people, tmp_path):
    people.assign(risk=1 - people["risk"]).to_csv(tmp_path / "low.csv", index=False)
    turned = ["--lower-is-riskier", "--threshold", 0.6, "--json"]
    found = run("audit", tmp_path / "low.csv", *COLUMNS, *turned).json["rates"][0]
    assert by_group(found, "selection_rate")["all"]["hits"] == (1 - people["risk"] <= 0.6).sum()
    pool = ["audit", tmp_path / "low.csv", *NO_LABEL, "--lower-is-riskier"]
    for code, *gate in ((0, 0.05), (3, 0.55, "--require", "within"), (3, 0.9)):
        said = run(*pool, "--threshold", 0.6, "--min-ratio", *gate, expect=code).out
        assert "0.6 or below" in said
        assert "or above" not in said
    assert "below the median score" in run(*pool[:-2], "--lower-is-riskier", "--for", "ll144").out


def test_all_rates_are_printed_when_asked_for_and_compared_with_a_named_group(run, csv):
    usual = run("audit", csv, *COLUMNS, "--threshold", 0.4).out
    found = run("audit", csv, *COLUMNS, "--threshold", 0.4, "--rates").out
    assert "negative predictive value" in found
    assert "calibration slope" in found
    assert "negative predictive value" not in usual
    assert "Flagged at 0.4 or above, compared with the group with the highest rate" in found
    named = run("audit", csv, *COLUMNS, "--threshold", 0.4, "--rates", "--reference", "F").out
    assert "Flagged at 0.4 or above, compared with the reference group" in named


@pytest.mark.parametrize("options", [[], ["--threshold", 0.4], ["--top", "30%"], ["--weight", "share"]])
def test_without_outcomes_the_command_gives_what_python_gives(run, csv, people, options):
    found = run("audit", csv, *NO_LABEL, *options, "--json").json
    python = {"--threshold": {"threshold": 0.4}, "--top": {"top": 0.3}, "--weight": {}}[options[0]] if options else {}
    weight = people["share"] if "--weight" in options else None
    own = fairpot.audit(None, people["risk"], sensitive_features=people["sex"], sample_weight=weight, **python)
    assert {key: found[key] for key in ("rates", "scores", "statements", "groups")} == {
        key: value
        for key, value in json.loads(json.dumps(own.to_dict())).items()
        if key in ("rates", "scores", "statements", "groups")
    }
    assert found["auc"] is None
    assert found["statements"][0]["state"] == "no outcomes"


def test_without_outcomes_it_says_who_is_flagged_and_what_is_left_out(run, csv, people, tmp_path):
    people.drop(columns="outcome").to_csv(tmp_path / "pool.csv", index=False)
    found = run("audit", tmp_path / "pool.csv", *NO_LABEL).out
    assert "are in the top 10%: the ratio is " in found.splitlines()[0]
    assert "Outcomes are not known, so AUC, xAUC, gaps, calibration and error rates are left out" in found
    assert "AUC -" not in found
    assert "Flagged in the top 10%" in found
    assert "difference: mean minus that of M, in standard deviations" in found
    gone = run("audit", tmp_path / "pool.csv", *COLUMNS, expect=2).err
    assert "If outcomes are not known: --no-label." in gone


def test_a_group_too_small_for_an_interval_has_dashes(run, many):
    found = run("audit", many, *NO_LABEL).out
    [line] = [line for line in found.partition("\nScores\n")[2].splitlines() if line.startswith("X")]
    assert line.split()[2:4] == ["-", "-"]
    assert "nan" not in found


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--label", "outcome"], "--label needs outcomes"),
        (["--bound", "0.1"], "--bound needs outcomes"),
        (["--fail-above", "0.1"], "--fail-above needs outcomes"),
        (["--ties", "strict"], "--ties needs outcomes"),
        (["--require", "within"], "--require needs the bound"),
        (["--min-ratio", "1.2"], "is not a number above 0 and up to 1"),
    ],
)
def test_what_needs_outcomes_is_refused_beside_no_label(run, csv, options, said):
    assert said in run("audit", csv, *NO_LABEL, *options, expect=2).err


@pytest.mark.parametrize("given", [["--no-label"], ["--for", "four-fifths"]])
def test_settings_that_need_outcomes_give_way(run, csv, tmp_path, monkeypatch, given):
    monkeypatch.chdir(tmp_path)
    settings = 'bound = 0.01\nties = "strict"\ntop = 0.1\ntop_of = "group"\n[columns]\nlabel = "outcome"\n'
    (tmp_path / "fairpot.toml").write_text(settings)
    found = run("audit", csv, "--score", "risk", "--group", "sex", *given)
    assert "top = [0.1]" in found.err
    assert not {"bound", "ties", "top_of", "label"} & {word.strip("(,") for word in found.err.split()}
    assert "in the top 10%" in found.out


@pytest.mark.parametrize("labels", [True, False])
def test_a_ratio_of_selection_rates_is_a_gate(run, csv, labels):
    told = ["audit", csv, *(COLUMNS if labels else NO_LABEL), "--threshold", 0.5, "--min-ratio"]
    for bound, answer, code in ((0.1, "within", 0), (0.35, "cannot tell", 0), (0.8, "below", 3)):
        assert run(*told, bound, "--json", expect=code).json["ratio_verdict"]["answer"] == answer
    assert run(*told, 0.1, "--require", "within").out.startswith("within: with 95% confidence, no group's selection")
    unsure = run(*told, 0.35, "--require", "within", expect=3).out
    assert unsure.startswith("cannot tell whether a group's selection rate at 0.5 or above is")
    assert "is below 0.35 of another's (F to M: measured " in unsure
    assert "FAILED: it was not shown that every selection rate is at least 0.35 of every other at 0.5" in unsure
    assert "FAILED: a selection rate is below 0.8 of another" in run(*told, 0.8, expect=3).out
