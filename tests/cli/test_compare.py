"""fairpot compare: the numbers of compare() in Python."""

import numpy as np
import pandas as pd
import pytest

from cli.conftest import COLUMNS
from fairpot import LogitShift, score_table
from fairpot.comparison import compare
from fairpot.metrics import xauc_gap
from fairpot.repair.registry import find_method, method_name
from fairpot.tradeoff import auc_limit
from files_cases import write
from rows_cases import STAYS, stays


def columns(frame):
    return frame["outcome"].to_numpy(), frame["risk"].to_numpy(), frame["sex"].to_numpy()


def test_held_out(run, csv, folder, people, held_out):
    bounds = ["--max-gap", "0.03", "--max-gap", "1"]
    found = run("compare", csv, *COLUMNS, "--validate", folder / "held_out.csv", *bounds, "--json").json
    y, scores, sex = columns(people)
    new_y, new_scores, new_sex = columns(held_out)
    new = score_table(new_y, new_scores, sensitive_features=new_sex)
    result = compare(y, scores, sensitive_features=sex, held_out=new, max_gaps=(0.03, 1.0))
    assert found["rows"] == "400 held-out rows"
    assert [each["text"] for each in found["answers"]] == [result.answer(bound).text for bound in (0.03, 1.0)]
    assert {each["method"] for each in found["chosen"]} == {"unrepaired", *result.methods}
    assert len(found["chosen"]) == 2 * (1 + len(result.methods))
    for told in found["chosen"]:
        expected = result.at(told["max_gap"], told["method"])
        assert (told["reason"] is None) == expected.reached
        if expected.reached:
            assert (told["auc"], told["gap"], told["kept"]) == (expected.auc, expected.gap, expected.kept)
    for told, bound in zip(found["answers"], (0.03, 1.0), strict=True):
        assert told["max_gap"] == bound
        assert told["recommended"] == result.recommended(bound).method
        assert told["highest"] == result.best(bound).method


def test_folds_do_not_depend_on_the_order_of_rows(run, csv, people, tmp_path):
    people.sample(frac=1, random_state=0).to_csv(tmp_path / "shuffled.csv", index=False)
    chosen = ["--method", "fairpot", "--method", "wasserstein", "--folds", "3", "--json"]
    first, second = (
        run("compare", path, *COLUMNS, *chosen).json | {"inputs": None} for path in (csv, tmp_path / "shuffled.csv")
    )
    assert first == second
    assert first["rows"] == "3 folds of 600 rows"


@pytest.mark.parametrize("weight", ["times", "share"])
def test_weights(run, csv, weight):
    found = run("compare", csv, *COLUMNS, "--weight", weight, "--method", "fairpot", "--json").json
    last = [each for each in found["chosen"] if each["method"] == "FairPOT"][-1]
    assert last["reason"] is None
    assert last["folds"] == 5
    assert len(last["strengths"]) == 5
    assert 0 <= last["kept"] <= 1


def test_what_is_printed(run, csv):
    answer = run("compare", csv, *COLUMNS, "--method", "fairpot", "--method", "optimal-merge", "--reference", "F")
    for part in (
        "5 folds of 600 rows",
        "reference group: F",
        "The score ranks M higher than F: overall gap",
        "Next: fairpot fit",
        "FairPOT",
        "OptimalMerge",
        "best possible",
        "At gap <= 0.05",
        "AUC, gap and folds that kept it, on rows that were not fitted",
        " of 5 folds",
        "best possible: the highest AUC that a repair which keeps the order inside each group could have",
    ):
        assert part in " ".join(answer.out.split())
    assert answer.err == ""


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_the_command_line_compares_patients(run, tmp_path, kind):
    path, other = (write(stays(seed=k), tmp_path / f"{k}.{kind}") for k in (0, 1))
    columns = ["--score", "s", "--label", "y", "--group", "g", "--cluster", "patient"]
    wanted = [*columns, "--method", "fairpot", "--method", "wasserstein", "--max-gap", 0.1, "--json"]
    table, held_out = score_table(path, **STAYS), score_table(other, **STAYS)
    for more, options in ((["--folds", 3], {"cv": 3}), (["--validate", other], {"held_out": held_out})):
        found = run("compare", path, *wanted, *more).json["answers"][0]["rivals"]
        expected = (
            compare(table, methods=["fairpot", "wasserstein"], random_state=0, max_gaps=[0.1], **options)
            .answer(0.1)
            .rivals
        )
        assert [each["lead_se"] for each in found] == [rival.lead.se for rival in expected]
        alone = run("compare", path, *(w for w in wanted if w not in ("--cluster", "patient")), *more).json
        assert [each["lead_se"] for each in found] != [each["lead_se"] for each in alone["answers"][0]["rivals"]]


def test_too_few_clusters_for_the_folds(run, tmp_path):
    frame = stays()
    few = frame.assign(patient=np.where(frame["g"] == "b", frame["patient"] % 2, frame["patient"]))
    columns = ["--score", "s", "--label", "y", "--group", "g", "--cluster", "patient"]
    told = run("compare", write(few, tmp_path / "few.csv"), *columns, expect=2).err
    assert (
        "--folds 5 needs at least 5 rows with and 5 without the outcome in every group, but 'b' has 2 clusters with"
        in told
    )


def test_what_is_possible(run, csv, people):
    chosen = ["--method", "fairpot", "--max-gap", "0.03", "--json"]
    found = run("compare", csv, *COLUMNS, "--validate", csv, *chosen).json
    limit = auc_limit(*columns(people)[:2], sensitive_features=people["sex"]).best(0.03)
    assert found["possible"] == [{"max_gap": 0.03, "auc": limit.auc}]


def test_gaps_among_those_ranked_highest(run, csv, folder, people, held_out):
    """Gaps are those in the top of each ranking; what is fitted then keeps the target there."""
    chosen = ["--method", "fairpot", "--method", "logit-shift", "--max-gap", "0.1", "--top", "300", "--json"]
    found = run("compare", csv, *COLUMNS, "--validate", folder / "held_out.csv", *chosen).json
    y, scores, sex = columns(people)
    new = columns(held_out)
    options = {"methods": ["FairPOT", "LogitShift"], "max_gaps": 0.1, "top": 300}
    table = score_table(new[0], new[1], sensitive_features=new[2])
    result = compare(y, scores, sensitive_features=sex, held_out=table, **options)
    assert found["top"] == 300
    assert not found["possible"]
    assert [each["text"] for each in found["answers"]] == [result.answer(0.1).text]
    assert "gaps among the 300 highest" in str(result)
    best = LogitShift(max_gap=0.1, top=300, reference=result.reference).fit(scores, y, sensitive_features=sex)
    gaps = []
    for labels, before, groups in ((y, scores, sex), new):
        after = best.transform(before, sensitive_features=groups)
        gaps.append(xauc_gap(labels, after, sensitive_features=groups, top=300 / len(y)))
    assert gaps[0] <= 0.1
    assert result.at(0.1, "LogitShift").gap == pytest.approx(gaps[1])


def test_the_next_step_is_the_recommended_method(run, csv, people):
    """Where chance explains a lead, what changes the fewest scores is what is sent to."""
    found = run("compare", csv, *COLUMNS, "--max-gap", "0.05").out.splitlines()
    y, scores, sex = columns(people)
    result = compare(y, scores, sensitive_features=sex, max_gaps=0.05)
    [line] = [each for each in found if each.startswith("Next: ")]
    option = method_name(find_method(result.recommended(0.05).method))
    assert f"--method {option} --max-gap 0.05 -o map.json" in line


def test_with_a_top_the_statement_and_the_next_step_are_of_the_top(run, tmp_path):
    """The two groups differ in the top alone."""
    rng = np.random.default_rng(3)
    n = 4000
    group, z = rng.choice(["rural", "urban"], n), rng.normal(size=n)
    y = (rng.random(n) < 1 / (1 + np.exp(1.2 - 1.6 * z))).astype(int)
    score = z + 0.6 * rng.normal(size=n)
    score = np.where((score > 0.9) & (group == "rural"), 0.9 + (score - 0.9) * 0.3, score).round(3)
    pd.DataFrame({"score": score, "label": y, "group": group}).to_csv(tmp_path / "top.csv", index=False)
    only = ["--method", "fairpot", "--folds", 2]
    lines = run("compare", tmp_path / "top.csv", *only, "--top", "10%", "--max-gap", 0.3).out.splitlines()
    assert lines[0].startswith("The score ranks urban higher than rural: gap in the top 10% ")
    assert lines[2].endswith("--method fairpot --max-gap 0.3 --top 10% -o map.json")
    assert run("compare", tmp_path / "top.csv", *only).out.startswith(
        "No clear gap: with 95% confidence the overall gap is at most "
    )
