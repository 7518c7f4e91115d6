"""The gate on the gap."""

import numpy as np
import pandas as pd
import pytest

from cli.conftest import COLUMNS
from fairpot import audit
from fairpot.inference import verdict


def test_the_gate_names_what_it_looked_at(run, csv):
    assert "in [0, 1]" in run("audit", csv, *COLUMNS, "--fail-above", 5, expect=2).err
    answer = run("audit", csv, *COLUMNS, "--fail-above", 0.001, expect=3)
    assert "between M and F is 0." in answer.out
    both = run("audit", csv, *COLUMNS, "--alpha", 0.3, "--fail-above", 1, "--json").json["fail_above"]
    assert [each["metric"] for each in both["gaps"]] == ["overall gap", "gap in the top 30%"]
    top = run("audit", csv, *COLUMNS, "--alpha", 0.3, "--fail-above", 1, "--fail-metric", "top", "--json").json
    assert [each["alpha"] for each in top["fail_above"]["gaps"]] == [0.3]
    assert "--alpha" in run("audit", csv, *COLUMNS, "--fail-above", 0.1, "--fail-metric", "top", expect=2).err


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
    whole, top = (verdict(y, score, sensitive_features=sex, bound=0.12, **at) for at in ({}, {"alpha": 0.5}))
    assert (whole.answer, top.answer) == ("exceeds", "within")
    gate = ["audit", path, *COLUMNS, "--bound", 0.12, "--require", "within"]
    run(*gate, expect=3)
    said = run(*gate, "--alpha", 0.5, expect=3).out
    assert "exceeds: the overall gap exceeds 0.12 with 95% confidence (measured " in said
    assert "within: the gap in the top 50% is within 0.12" in said
    assert said.count("FAILED") == 1
    assert "FAILED: the overall gap was not shown to be within 0.12" in said
    assert "passed" not in run(*gate, "--alpha", 0.5, "--fail-metric", "overall", expect=3).out
    assert run(*gate, "--alpha", 0.5, "--fail-metric", "top").out.startswith("within: the gap in the top 50%")
    found = run(*gate, "--alpha", 0.5, "--json", expect=3).json["verdict"]
    assert (found["answer"], found["metric"], found["alpha"]) == ("exceeds", "overall gap", None)
    assert [(each["answer"], each["metric"], each["alpha"]) for each in found["all"]] == [
        ("exceeds", "overall gap", None),
        ("within", "gap in the top 50%", 0.5),
    ]
    assert found["all"][1]["gap"] == pytest.approx(top.interval.value, abs=1e-12)
    assert "--bound" in run("audit", path, *COLUMNS, "--fail-metric", "top", "--alpha", 0.5, expect=2).err


def test_both_gates_guard_the_same(run, even_in_the_top):
    path, _ = even_in_the_top
    for which, code in (("overall", 3), ("top", 0), ("both", 3)):
        given = ["audit", path, *COLUMNS, "--alpha", 0.5, "--fail-metric", which]
        run(*given, "--fail-above", 0.12, expect=code)
        run(*given, "--bound", 0.12, "--require", "within", expect=code)


def test_an_audit_guards_the_same(even_in_the_top):
    _, (y, score, sex) = even_in_the_top
    found = audit(y, score, sensitive_features=sex, alpha=0.5)
    assert found.verdict(0.12).metric == "overall gap"
    assert found.verdict(0.12, guards="top").answer == "within"
    assert [each.metric for each in found.verdicts(0.12)] == ["overall gap", "gap in the top 50%"]
    alone = audit(y, score, sensitive_features=sex)
    assert [each.metric for each in alone.verdicts(0.12)] == ["overall gap"]
    with pytest.raises(ValueError, match="alpha="):
        alone.verdict(0.12, guards="top")


def test_what_cannot_be_told_claims_no_error_rate(even_in_the_top):
    _, (y, score, sex) = even_in_the_top
    found = audit(y, score, sensitive_features=sex)
    said = str(found.verdict(round(float(found.gap), 3)))
    assert said.startswith("the rows cannot tell whether the overall gap is within")
    assert "confidence" not in said
    assert "wrong" not in said
