"""Intervals, verdicts, certificates and plans from the command line."""

import json
import re

import numpy as np
import pandas as pd
import pytest

from cli.conftest import COLUMNS
from fairpot import audit, score_table
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
    rows = audit(y, risk, sensitive_features=sex, clusters=patient).intervals
    np.testing.assert_allclose(found["intervals"]["gap"]["se"], rows.gap.se, rtol=1e-9)
    np.testing.assert_allclose(found["intervals"]["auc"]["low"], rows.auc.low, rtol=1e-9)
    assert found["columns"]["cluster"] == "patient"
    ignored = run("audit", path, *COLUMNS, "--json").json
    assert ignored["intervals"]["auc"]["se"] != found["intervals"]["auc"]["se"]


def test_clusters_from_standard_input(run, visits):
    path, _ = visits
    piped = run("audit", "-", *COLUMNS, "--cluster", "patient", "--json", stdin=path.read_text()).json
    named = run("audit", path, *COLUMNS, "--cluster", "patient", "--json").json
    assert piped["intervals"] == named["intervals"]


@pytest.mark.parametrize(
    ("bound", "answer", "code"), [(0.9, "within", 0), (0.001, "exceeds", 3), ("the gap itself", "cannot tell", 3)]
)
def test_a_gate_that_requires_within(run, csv, bound, answer, code):
    bound = run("audit", csv, *COLUMNS, "--json").json["gap"] if isinstance(bound, str) else bound
    options = ["audit", csv, *COLUMNS, "--bound", bound]
    found = run(*options, "--json").json["verdict"]
    assert (found["answer"], found["bound"]) == (answer, bound)
    assert f"{answer}: " in run(*options).out
    gate = run(*options, "--require", "within", expect=code)
    assert ("FAILED" in gate.out) == (code == 3)


def test_the_interval_is_shown(run, csv):
    said = run("audit", csv, *COLUMNS, "--level", "0.9", "--alpha", "0.5").out
    assert "0.9 intervals" in said
    assert "partial xAUC gap" in said
    for wrong in (["--require", "within"], ["--level", "95"], ["--cluster", "sex"]):
        run("audit", csv, *COLUMNS, *wrong, expect=2)


def test_importance_weights_of_a_file(run, csv, people):
    given = {"sensitive_features": people["sex"], "sample_weight": people["share"], "weights": "importance"}
    rows = audit(people["outcome"], people["risk"], **given).intervals
    found = run("audit", csv, *COLUMNS, "--weight", "share", "--weights", "importance", "--json").json
    np.testing.assert_allclose(found["intervals"]["gap"]["se"], rows.gap.se, rtol=1e-9)


def test_fit_certifies(run, visits, tmp_path):
    path, _ = visits
    target = tmp_path / "map.json"
    options = ["fit", path, *COLUMNS, "--max-gap", "0.3", "--confidence", "0.9"]
    assert "Certified" in run(*options, "-o", target).out
    assert json.loads(target.read_text())["certificate"]["bound"] == 0.3
    assert "certified: a gap of at most 0.3 with confidence 0.9" in run("show", target).out
    assert run("show", target, "--json").json["certificate"]["how"] in ("walk", "step-down")
    found = run(*options, "--json").json
    assert found["rule"] == {"max_gap": 0.3, "confidence": 0.9}
    assert found["certificate"]["rows"] == "5 cross-fitted folds"


def test_fit_certifies_on_held_out_rows(run, csv, people, tmp_path):
    half = tmp_path / "half.csv"
    people[:300].to_csv(half, index=False)
    rest = tmp_path / "rest.csv"
    people[300:].to_csv(rest, index=False)
    found = run("fit", half, *COLUMNS, "--max-gap", "0.5", "--confidence", "0.9", "--validate", rest, "--json").json
    assert found["certificate"]["rows"] == "held-out rows"


def test_fit_says_what_is_missing(run, csv):
    said = run("fit", csv, *COLUMNS, "--max-gap", "0.001", "--confidence", "0.95", expect=2)
    assert "smallest bound that can be certified" in said.err
    bound = re.search(r"on these rows is ([0-9.]+)", " ".join(said.err.split())).group(1)
    run("fit", csv, *COLUMNS, "--max-gap", bound, "--confidence", "0.95")
    run("fit", csv, *COLUMNS, "--lam", "0.5", "--confidence", "0.9", expect=2)


def test_plan(run, csv, people):
    found = run("plan", "--gap", "0.05", "--auc", "0.75", "--share", "0.2", "--rate", "0.1", "--json").json
    python = plan_sample_size(0.05, auc=0.75, shares={"a": 0.2, "b": 0.8}, rates=0.1)
    assert (found["rows"], found["se"]) == (python.rows, python.se)
    assert sum(each["rows"] for each in found["groups"]) == found["rows"]
    mine = run("plan", csv, *COLUMNS, "--gap", "0.05", "--goal", "certify", "--json").json
    assert [each["group"] for each in mine["groups"]] == ["F", "M"]
    assert "rows to certify a gap within 0.05" in run("plan", csv, *COLUMNS, "--gap", "0.05", "--goal", "certify").out
    run("plan", csv, *COLUMNS, "--gap", "0.05", "--rate", "0.1", expect=2)
    run("plan", csv, *COLUMNS, "--gap", "0.05", "--visits", "8", expect=2)
    run("plan", expect=2)


def test_plans_of_several_groups_and_of_visits(run, people, tmp_path):
    shares = [word for share in (0.2, 0.3, 0.5) for word in ("--share", share)]
    rates = [word for rate in (0.3, 0.2, 0.2) for word in ("--rate", rate)]
    given = ["plan", "--gap", 0.15, *shares, *rates, "--visits", 4, "--icc", 0.5, "--outcome-icc", 1]
    found = run(*given, "--json").json
    python = plan_sample_size(
        0.15,
        shares={"a": 0.2, "b": 0.3, "c": 0.5},
        rates={"a": 0.3, "b": 0.2, "c": 0.2},
        visits=4,
        icc=0.5,
        outcome_icc=1,
    )
    assert (found["rows"], found["clusters"], found["pair"]) == (python.rows, python.clusters, list(python.pair))
    assert f"{python.rows:,} rows of {python.clusters:,} clusters to detect" in run(*given).out
    run("plan", "--gap", 0.15, *shares, "--rate", 0.2, "--rate", 0.3, expect=2)

    rows = people.assign(sex=np.where(people["sex"] == "M", "M", np.where(people.index % 2, "F", "X")))
    rows["patient"] = rows["sex"] + (np.arange(len(rows)) // 6).astype(str)
    rows.to_csv(tmp_path / "visits.csv", index=False)
    told = run("plan", tmp_path / "visits.csv", *COLUMNS, "--cluster", "patient", "--gap", 0.2, "--json").json
    table = score_table(rows["outcome"], rows["risk"], sensitive_features=rows["sex"], clusters=rows["patient"])
    expected = plan_sample_size(0.2, table=table)
    assert (told["rows"], told["clusters"]) == (expected.rows, expected.clusters)
    assert len(told["groups"]) == 3


def test_importance_weights_that_repeat(run, tmp_path):
    """Equal rows are counted once by the engine: each of them still has its own squared weight."""
    rng = np.random.default_rng(0)
    y, sex = rng.integers(0, 2, 400), rng.choice(["F", "M"], 400)
    risk, share = rng.integers(0, 4, 400) / 4 + 0.2 * y, rng.choice([0.5, 2.5], 400)
    frame = pd.DataFrame({"risk": risk.round(2), "outcome": y, "sex": sex, "share": share})
    assert frame.duplicated().sum() > 300
    frame.to_csv(tmp_path / "rows.csv", index=False)
    weighted = ["--weight", "share", "--weights", "importance"]
    found = run("audit", tmp_path / "rows.csv", *COLUMNS, *weighted, "--json").json["intervals"]
    given = {"sensitive_features": frame["sex"], "sample_weight": frame["share"], "weights": "importance"}
    gap = confidence_interval("xauc_gap", frame["outcome"], frame["risk"], **given)
    assert [found["gap"][name] for name in ("se", "low", "high")] == pytest.approx([gap.se, gap.low, gap.high])
