"""Intervals, verdicts, certificates and plans from the command line."""

import json
import re

import numpy as np
import pandas as pd
import pytest

from cli.conftest import COLUMNS
from fairpot import FairPOT, audit, score_table
from fairpot.cli._printing import plain
from fairpot.exceptions import InfeasibleRuleError
from fairpot.inference import confidence_interval, plan_sample_size


@pytest.fixture
def visits(tmp_path):
    rng = np.random.default_rng(0)
    patient = rng.integers(0, 200, 1000)
    sex = np.where(patient % 3 == 0, "F", "M")
    y = (rng.random(1000) < 0.4).astype(int)
    risk = np.round(1 / (1 + np.exp(-(rng.normal(size=200)[patient] + rng.normal(y)))), 6)
    path = tmp_path / "visits.csv"
    lines = [f"{r},{o},{s},p{p}" for r, o, s, p in zip(risk, y, sex, patient)]
    path.write_text("\n".join(["risk,outcome,sex,patient", *lines]))
    return path, (y, risk, sex, patient)


def test_clusters_of_a_file_are_those_of_the_rows(run, visits):
    path, (y, risk, sex, patient) = visits
    found = run("audit", path, *COLUMNS, "--cluster", "patient", "--json").json
    rows = audit(y, risk, sensitive_features=sex, clusters=patient)
    np.testing.assert_allclose(found["gap_se"], rows.gap.se, rtol=1e-9)
    np.testing.assert_allclose(found["auc_low"], rows.auc.low, rtol=1e-9)
    assert found["columns"]["cluster"] == "patient"
    ignored = run("audit", path, *COLUMNS, "--json").json
    assert ignored["auc_se"] != found["auc_se"]


def test_clusters_from_standard_input(run, visits):
    path, _ = visits
    piped = run("audit", "-", *COLUMNS, "--cluster", "patient", "--json", stdin=path.read_text()).json
    named = run("audit", path, *COLUMNS, "--cluster", "patient", "--json").json
    assert {**piped, "inputs": None} == {**named, "inputs": None}


@pytest.mark.parametrize(
    ("bound", "answer", "code"), [(0.9, "within", 0), (0.001, "exceeds", 3), ("the gap itself", "cannot tell", 3)]
)
def test_a_gate_that_requires_within(run, csv, bound, answer, code):
    bound = run("audit", csv, *COLUMNS, "--json").json["gap"] if isinstance(bound, str) else bound
    options = ["audit", csv, *COLUMNS, "--bound", bound]
    found = run(*options, "--json").json["verdict"]
    assert (found["answer"], found["bound"]) == (answer, bound)
    assert run(*options).out.startswith(answer)
    gate = run(*options, "--require", "within", expect=code)
    assert ("FAILED" in gate.out) == (code == 3)


def test_the_interval_is_shown(run, csv):
    said = run("audit", csv, *COLUMNS, "--level", "0.9", "--top", "0.5").out
    assert said.startswith("The score ranks M higher than F: gap in the top 50% ")
    assert "(90% interval" in said.splitlines()[0]
    assert "90% intervals" in run("audit", csv, *COLUMNS, "--level", "0.9", "--all").out
    for wrong in (["--require", "within"], ["--level", "95"], ["--cluster", "sex"]):
        run("audit", csv, *COLUMNS, *wrong, expect=2)


def test_importance_weights_of_a_file(run, csv, people):
    given = {"sensitive_features": people["sex"], "sample_weight": people["share"], "weights": "importance"}
    rows = audit(people["outcome"], people["risk"], **given)
    found = run("audit", csv, *COLUMNS, "--weight", "share", "--weights", "importance", "--json").json
    np.testing.assert_allclose(found["gap_se"], rows.gap.se, rtol=1e-9)


def test_fit_certifies(run, visits, tmp_path):
    path, _ = visits
    target = tmp_path / "map.json"
    options = ["fit", path, *COLUMNS, "--max-gap", "0.3", "--confidence", "0.9"]
    said = run(*options, "-o", target, "--all").out
    saved = json.loads(target.read_text())["certificate"]
    assert saved["bound"] == 0.3
    assert "limit" not in saved
    promise = "Certified: with 90% confidence the overall gap on rows like these is at most 0.3 (tested on"
    assert said.count(promise) == 1
    assert f"The promise is the bound, {saved['bound']:g}: a gap measured where" in said
    assert run("show", target).out.count(promise) == 1  # in the same words
    assert run("show", target, "--json").json["certificate"]["how"] in ("walk", "step-down")
    found = run(*options, "--json").json
    assert {name: value for name, value in found["rule"].items() if value} == {"max_gap": 0.3, "confidence": 0.9}
    assert found["certificate"]["rows"] == "5 cross-fitted folds"


def test_fit_certifies_on_held_out_rows(run, csv, people, tmp_path):
    half = tmp_path / "half.csv"
    people[:300].to_csv(half, index=False)
    rest = tmp_path / "rest.csv"
    people[300:].to_csv(rest, index=False)
    found = run("fit", half, *COLUMNS, "--max-gap", "0.5", "--confidence", "0.9", "--validate", rest, "--json").json
    assert found["certificate"]["rows"] == "held-out rows"


@pytest.mark.parametrize("command", ["fit", "report"])
def test_what_cannot_be_certified_is_an_answer_for_programs(run, csv, people, tmp_path, command):
    given = {"max_gap": 0.002, "confidence": 0.9}
    with pytest.raises(InfeasibleRuleError, match="no lam can be certified") as error:
        FairPOT(**given).fit(people["risk"], people["outcome"], sensitive_features=people["sex"])
    options = [
        "--max-gap",
        "0.002",
        "--confidence",
        "0.9",
        "-o",
        tmp_path / ("m.json" if command == "fit" else "r.html"),
    ]
    found = run(command, csv, *COLUMNS, *options, "--json", expect=4).json
    assert found["fairpot"]["command"] == command
    assert {name: value for name, value in found["rule"].items() if value} == given
    assert found["certificate"] is None
    assert found["message"] == str(error.value).partition("\nHint:")[0]
    missing = getattr(error.value, "shortfall", None)
    assert found["shortfall"] == (None if missing is None else plain(missing.to_dict()))
    assert not list(tmp_path.iterdir())


def test_too_few_rows_to_certify_anything_have_the_same_code(run, people, tmp_path):
    people[:40].to_csv(tmp_path / "few.csv", index=False)
    run("fit", tmp_path / "few.csv", *COLUMNS, "--max-gap", "0.5", "--confidence", "0.9", expect=4)
    run("fit", tmp_path / "few.csv", *COLUMNS, "--max-gap", "0", "--max-auc-loss", "0", expect=2)  # a rule alone


def test_fit_says_that_no_repair_is_needed(run, tmp_path):
    """The shift of one group costs AUC to undo, so that the original scores are chosen."""
    rng = np.random.default_rng(3)
    race = rng.choice(["x", "y"], 3000)
    outcome = rng.binomial(1, np.where(race == "x", 0.3, 0.5))
    frame = pd.DataFrame({"risk": rng.normal(2 * outcome + 0.3 * (race == "y")), "outcome": outcome, "sex": race})
    path = tmp_path / "rows.csv"
    frame.to_csv(path, index=False)
    gap = run("audit", path, *COLUMNS, "--json").json["gap"]
    bound = f"{round(gap + 0.05, 3):g}"
    needless = f"No repair needed: as measured the overall gap is {gap:.3f} ("
    certified = f"Certified: with 90% confidence the overall gap on rows like these is at most {bound} ("
    for more, said in (([], needless), (["--confidence", "0.9"], certified)):
        enough = ["fit", path, *COLUMNS, "--max-gap", round(gap + 0.05, 3), *more]
        found = run(*enough, "--json").json
        assert found["repair_needed"] is False
        assert sum(each["moved"] for each in found["fitted"]["moves"]) == 0
        printed = run(*enough).out
        assert printed.startswith(said)
        assert "No score changes." in printed
    less = ["fit", path, *COLUMNS, "--max-gap", round(gap / 2, 3)]
    assert run(*less, "--json").json["repair_needed"] is True
    assert "No repair needed" not in run(*less).out
    assert run("fit", path, *COLUMNS, "--lam", 0, "--json").json["repair_needed"] is None


def test_fit_says_what_is_missing(run, csv):
    given = ["--max-gap", "0.001", "--confidence", "0.95"]
    said = run("fit", csv, *COLUMNS, *given, expect=4)
    assert "smallest bound that can be certified" in said.err
    assert said.out == ""
    bound = re.search(r"on these rows is ([0-9.]+)", " ".join(said.err.split())).group(1)
    run("fit", csv, *COLUMNS, "--max-gap", bound, "--confidence", "0.95")
    run("fit", csv, *COLUMNS, "--lam", "0.5", "--confidence", "0.9", expect=2)


@pytest.mark.usefixtures("few_draws")
def test_plan(run, csv, people):
    found = run("plan", "--gap", "0.05", "--auc", "0.75", "--share", "0.2", "--rate", "0.1", "--json").json
    python = plan_sample_size(0.05, auc=0.75, shares={"a": 0.2, "b": 0.8}, rates=0.1)
    assert (found["rows"], found["se"]) == (python.rows, python.se)
    assert sum(each["rows"] for each in found["groups"]) == found["rows"]
    mine = run("plan", csv, *COLUMNS, "--gap", "0.05", "--goal", "certify", "--json").json
    assert [each["group"] for each in mine["groups"]] == ["F", "M"]
    assert "rows to certify a gap within 0.05" in run("plan", csv, *COLUMNS, "--gap", "0.05", "--goal", "certify").out
    run("plan", csv, *COLUMNS, "--gap", "0.05", "--rate", "0.1", expect=2)
    run("plan", expect=2)


@pytest.mark.usefixtures("few_draws")
def test_plans_of_a_share_and_of_clusters(run, people, tmp_path):
    given = ["plan", "--gap", 0.15, "--share", 0.2, "--rate", 0.3]
    found = run(*given, "--json").json
    python = plan_sample_size(0.15, shares={"a": 0.2, "b": 0.8}, rates=0.3)
    assert (found["rows"], found["clusters"], found["pair"]) == (python.rows, None, list(python.pair))
    assert f"{python.rows:,} rows to detect" in run(*given).out

    rows = people.assign(sex=np.where(people["sex"] == "M", "M", np.where(people.index % 2, "F", "X")))
    rows["patient"] = rows["sex"] + (np.arange(len(rows)) // 6).astype(str)
    rows.to_csv(tmp_path / "visits.csv", index=False)
    told = run("plan", tmp_path / "visits.csv", *COLUMNS, "--cluster", "patient", "--gap", 0.2, "--json").json
    table = score_table(rows["outcome"], rows["risk"], sensitive_features=rows["sex"], clusters=rows["patient"])
    expected = plan_sample_size(0.2, table=table)
    assert (told["rows"], told["clusters"]) == (expected.rows, expected.clusters)
    assert len(told["groups"]) == 3
    out = run("plan", tmp_path / "visits.csv", *COLUMNS, "--cluster", "patient", "--gap", 0.2).out
    assert f"{expected.rows:,} rows of {expected.clusters:,} clusters to detect" in out


def test_importance_weights_that_repeat(run, tmp_path):
    """Equal rows are counted once by the engine: each of them still has its own squared weight."""
    rng = np.random.default_rng(0)
    y, sex = rng.integers(0, 2, 400), rng.choice(["F", "M"], 400)
    risk, share = rng.integers(0, 4, 400) / 4 + 0.2 * y, rng.choice([0.5, 2.5], 400)
    frame = pd.DataFrame({"risk": risk.round(2), "outcome": y, "sex": sex, "share": share})
    assert frame.duplicated().sum() > 300
    frame.to_csv(tmp_path / "rows.csv", index=False)
    weighted = ["--weight", "share", "--weights", "importance"]
    found = run("audit", tmp_path / "rows.csv", *COLUMNS, *weighted, "--json").json
    given = {"sensitive_features": frame["sex"], "sample_weight": frame["share"], "weights": "importance"}
    gap = confidence_interval("xauc_gap", frame["outcome"], frame["risk"], **given)
    assert [found[f"gap_{name}"] for name in ("se", "low", "high")] == pytest.approx([gap.se, gap.low, gap.high])
