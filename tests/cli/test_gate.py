"""The gate on the gap."""

import warnings

import numpy as np
import pandas as pd
import pytest

from cli.conftest import COLUMNS
from fairpot import FairnessReport, FairPOT, audit
from fairpot.exceptions import PredictionsWarning, ReversedScoreWarning
from fairpot.inference import verdict


def test_the_gate_names_what_it_looked_at(run, csv):
    assert "not a number from 0 to 1" in run("audit", csv, *COLUMNS, "--fail-above", 5, expect=2).err
    answer = run("audit", csv, *COLUMNS, "--fail-above", 0.001, expect=3)
    assert "between M and F is 0." in answer.out
    both = run("audit", csv, *COLUMNS, "--top", 0.3, "--fail-above", 1, "--json").json["fail_above"]
    assert [each["metric"] for each in both["gaps"]] == ["overall gap", "gap in the top 30%"]
    top = run("audit", csv, *COLUMNS, "--top", 0.3, "--fail-above", 1, "--fail-metric", "top", "--json").json
    assert [each["top"] for each in top["fail_above"]["gaps"]] == [0.3]
    assert "--top 10%" in run("audit", csv, *COLUMNS, "--fail-above", 0.1, "--fail-metric", "top", expect=2).err


@pytest.fixture(scope="module")
def even_in_the_top(tmp_path_factory):
    """Rows whose top half ranks both groups alike, and whose bottom half does not."""
    rng = np.random.default_rng(5)
    n = 3000
    y, sex, top = rng.integers(0, 2, n), rng.choice(["F", "M"], n), rng.random(n) < 0.5
    score = rng.normal(y + 4 * (sex == "M") * ~top) + 20 * top
    path = tmp_path_factory.mktemp("gate") / "rows.csv"
    pd.DataFrame({"risk": score, "outcome": y, "sex": sex}).to_csv(path, index=False)
    return path, (y, score, sex)


def test_a_bound_guards_all_rows_and_the_top(run, even_in_the_top):
    path, (y, score, sex) = even_in_the_top
    whole, top = (verdict(y, score, sensitive_features=sex, bound=0.12, **at) for at in ({}, {"top": 0.5}))
    assert (whole.answer, top.answer) == ("exceeds", "within")
    gate = ["audit", path, *COLUMNS, "--bound", 0.12, "--require", "within"]
    run(*gate, expect=3)
    said = run(*gate, "--top", 0.5, expect=3).out
    assert "exceeds: the overall gap exceeds 0.12 with 95% confidence (measured " in said
    assert "within: the gap in the top 50% is within 0.12" in said
    assert said.count("FAILED") == 1
    assert "FAILED: the overall gap was not shown to be within 0.12" in said
    assert "passed" not in run(*gate, "--top", 0.5, "--fail-metric", "overall", expect=3).out
    assert run(*gate, "--top", 0.5, "--fail-metric", "top").out.startswith("within: the gap in the top 50%")
    found = run(*gate, "--top", 0.5, "--json", expect=3).json["verdict"]
    assert (found["answer"], found["metric"], found["top"]) == ("exceeds", "overall gap", None)
    assert [(each["answer"], each["metric"], each["top"]) for each in found["all"]] == [
        ("exceeds", "overall gap", None),
        ("within", "gap in the top 50%", 0.5),
    ]
    assert found["all"][1]["gap"] == pytest.approx(top.interval.value, abs=1e-12)
    assert "--bound" in run("audit", path, *COLUMNS, "--fail-metric", "top", "--top", 0.5, expect=2).err


def test_both_gates_guard_the_same(run, even_in_the_top):
    path, _ = even_in_the_top
    for which, code in (("overall", 3), ("top", 0), ("both", 3)):
        given = ["audit", path, *COLUMNS, "--top", 0.5, "--fail-metric", which]
        run(*given, "--fail-above", 0.12, expect=code)
        run(*given, "--bound", 0.12, "--require", "within", expect=code)


def test_an_audit_guards_the_same(even_in_the_top):
    _, (y, score, sex) = even_in_the_top
    found = audit(y, score, sensitive_features=sex, top=0.5)
    assert found.verdict(0.12).metric == "overall gap"
    assert found.verdict(0.12, guards="top").answer == "within"
    assert [each.metric for each in found.verdicts(0.12)] == ["overall gap", "gap in the top 50%"]
    alone = audit(y, score, sensitive_features=sex)
    assert [each.metric for each in alone.verdicts(0.12)] == ["overall gap"]
    with pytest.raises(ValueError, match="top="):
        alone.verdict(0.12, guards="top")


def test_what_cannot_be_told_claims_no_error_rate(even_in_the_top):
    _, (y, score, sex) = even_in_the_top
    found = audit(y, score, sensitive_features=sex)
    said = str(found.verdict(round(float(found.gap), 3)))
    assert said.startswith("cannot tell whether the overall gap is within")
    assert "confidence" not in said
    assert "wrong" not in said


def hours(kind):
    """Rows of two clinics, with scores that rank nobody, or only those of one clinic."""
    rng = np.random.default_rng(11)
    y, sex = rng.integers(0, 2, 1500), rng.choice(["F", "M"], 1500)
    noise = rng.normal(size=1500).round(2)
    scores = {"constant": np.full(1500, 0.3), "coin": noise, "one group": noise + y * (sex == "M"), "good": noise + y}
    return pd.DataFrame({"risk": scores[kind], "outcome": y, "sex": sex})


CHANCE = {
    "constant": "The score is not shown to be better than chance: AUC 0.500",
    "coin": "The score is not shown to be better than chance: AUC 0.",
    "one group": "In F the score is not shown to be better than chance.",
}


@pytest.mark.parametrize("kind", ["constant", "coin", "one group", "good"])
def test_a_score_that_is_no_better_than_chance_does_not_pass(run, tmp_path, kind):
    rows = hours(kind)
    rows.to_csv(tmp_path / "rows.csv", index=False)
    told = CHANCE.get(kind)
    for gate in (["--fail-above", 0.9], ["--bound", 0.9, "--require", "within"]):
        command = ["audit", tmp_path / "rows.csv", *COLUMNS, *gate]
        answer = run(*command, expect=0 if told is None else 3)
        assert answer.out.startswith("FAILED: the score is not shown to be better than chance") == (told is not None)
        assert "passed" not in answer.out or told is None
        run(*command, "--allow-chance")
    document = run("audit", tmp_path / "rows.csv", *COLUMNS, "--json").json
    assert document["better_than_chance"] is (told is None)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PredictionsWarning)
        found = audit(rows["outcome"], rows["risk"], sensitive_features=rows["sex"])
        page = FairnessReport.from_predictions(rows["outcome"], rows["risk"], sensitive_features=rows["sex"])
    plain = run("audit", tmp_path / "rows.csv", *COLUMNS).out
    if told is None:
        assert "chance" not in plain.partition("\n\n")[0]
        return
    assert told in plain.splitlines()[0]
    assert plain.startswith(told) == (kind != "one group")
    assert str(found).splitlines()[0] == found.statements[0].text
    assert str(found).count(told) == 1
    assert told in found._repr_html_()
    assert told in page.to_html().partition('id="finding"')[2].partition('<div class="first')[0]
    assert document["statements"][0]["state"] == ("clear" if kind == "one group" else "chance")


def test_allow_chance_needs_a_gate(run, csv):
    assert "--fail-above, or --bound with --require" in run("audit", csv, *COLUMNS, "--allow-chance", expect=2).err


def test_that_scores_are_reversed_is_asked_of_the_interval():
    rng = np.random.default_rng(2)
    y, sex = rng.integers(0, 2, 3000), rng.choice(["F", "M"], 3000)
    score = rng.normal(size=3000)
    score = score if audit(y, score, sensitive_features=sex).auc < 0.5 else -score  # warnings are errors here
    found = audit(y, score, sensitive_features=sex)
    assert found.auc < 0.5 < found.auc.high
    assert found.statements[0].state == "chance"
    FairPOT().fit(score, y, sensitive_features=sex)
    with pytest.warns(ReversedScoreWarning, match=r"below 0.5"):
        turned = audit(y, score - y, sensitive_features=sex)
    assert turned.answer[0].startswith("The score ranks the wrong way round: rows with the outcome have lower scores")
    assert turned.answer[-1].startswith("Check which way the score runs")
