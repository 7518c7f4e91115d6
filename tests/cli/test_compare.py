"""fairpot compare: the numbers of compare() in Python."""

import pytest

from cli.conftest import COLUMNS
from fairpot.comparison import compare
from fairpot.tradeoff import auc_limit


def columns(frame):
    return frame["outcome"].to_numpy(), frame["risk"].to_numpy(), frame["sex"].to_numpy()


def test_held_out(run, csv, folder, people, held_out):
    bounds = ["--max-gap", "0.03", "--max-gap", "1"]
    found = run("compare", csv, *COLUMNS, "--validate", folder / "held_out.csv", *bounds, "--json").json
    y, scores, sex = columns(people)
    result = compare(y, scores, sensitive_features=sex, held_out=columns(held_out), max_gaps=(0.03, 1.0))
    assert found["evaluated_on"] == "400 held-out rows"
    assert found["verdicts"] == [result.verdict(bound) for bound in (0.03, 1.0)]
    assert [each["method"] for each in found["methods"]] == ["unrepaired", *result.methods]
    for each in found["methods"]:
        assert each["best"][1]["auc"] == result.best(1.0, method=each["method"]).auc


def test_folds_do_not_depend_on_the_order_of_rows(run, csv, people, tmp_path):
    people.sample(frac=1, random_state=0).to_csv(tmp_path / "shuffled.csv", index=False)
    chosen = ["--method", "fairpot", "--method", "wasserstein", "--folds", "3", "--json"]
    first, second = (
        run("compare", path, *COLUMNS, *chosen).json | {"inputs": None} for path in (csv, tmp_path / "shuffled.csv")
    )
    assert first == second
    assert first["evaluated_on"] == "3 folds of 600 rows"


@pytest.mark.parametrize("weight", ["times", "share"])
def test_weights(run, csv, weight):
    found = run("compare", csv, *COLUMNS, "--weight", weight, "--method", "fairpot", "--json").json
    assert found["methods"][1]["smallest_gap"]["gap"] < 0.1


def test_what_is_printed(run, csv):
    answer = run("compare", csv, *COLUMNS, "--method", "fairpot", "--method", "optimal-merge", "--reference", "F")
    for part in (
        "5 folds of 600 rows",
        "group F is the reference",
        "FairPOT",
        "OptimalMerge",
        "within reach",
        "limit",
        "at gap <= 0.05",
        "limit: the highest AUC that a repair which keeps the order inside each group could have",
        "without what chance adds",
    ):
        assert part in " ".join(answer.out.split())
    assert answer.err == ""


def test_what_is_within_reach(run, csv, people):
    chosen = ["--method", "fairpot", "--max-gap", "0.03", "--json"]
    found = run("compare", csv, *COLUMNS, "--validate", csv, *chosen).json
    limit = auc_limit(*columns(people)[:2], sensitive_features=people["sex"]).best(0.03)
    assert found["limit"] == [{"max_gap": 0.03, "auc": limit.auc, "reachable": limit.reachable, "reason": None}]
    few = run("compare", csv, *COLUMNS, *chosen, "--folds", "40").json
    assert few["limit"][0]["reachable"] is None
    assert few["limit"][0]["reason"].startswith("in a fold, what chance adds to the limit needs 5")
    assert few["limit_notes"][1].startswith("within reach of a repair fixed beforehand: not known; in a fold, ")
