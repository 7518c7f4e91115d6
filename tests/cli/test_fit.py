"""fairpot fit: the same map as in Python, and what it is said to cost."""

import json
import re

import numpy as np
import pandas as pd
import pytest

from cli.conftest import COLUMNS, WRITERS
from fairpot import FairPOT, effect, load
from fairpot.methods import LogitShift, OptimalMerge, WassersteinRepair
from fairpot.metrics import auc, xauc_gap

MODELS = [
    (["--lam", "0.4"], FairPOT(0.4)),
    (["--lam", "0"], FairPOT(0.0)),
    (["--max-gap", "0.05"], FairPOT(None, max_gap=0.05)),
    (["--max-auc-loss", "0.01"], FairPOT(None, max_auc_loss=0.01)),
    (["--smallest-gap"], FairPOT(None)),
    (["--max-gap", "0.08", "--top", "200"], FairPOT(max_gap=0.08, top=200)),
    (["--smallest-gap", "--top", "40%"], FairPOT(top=0.4)),
    (["--max-gap", "0.05", "--keep", "probabilities"], FairPOT(max_gap=0.05, keep="probabilities")),
    (["--lam", "0.6", "--top", "0.5", "--repair-top"], FairPOT(0.6, top=0.5, repair="top")),
    (
        ["--max-gap", "0.1", "--top", "300", "--top-of", "group", "--repair-top"],
        FairPOT(max_gap=0.1, top=300, top_of="group", repair="top"),
    ),
    (["--lam", "0.5", "--reference", "F", "--monotone"], FairPOT(0.5, reference="F", monotone=True)),
    (["--lam", "0.5", "--ties", "half"], FairPOT(0.5, ties="half")),
    (["--strength", "0.5", "--keep", "grid"], FairPOT(0.5, keep="grid")),
    (["--method", "wasserstein", "--strength", "0.5"], WassersteinRepair(0.5)),
    (
        ["--method", "wasserstein", "--max-gap", "0.1", "--top", "0.5", "--repair-top"],
        WassersteinRepair(max_gap=0.1, top=0.5, repair="top"),
    ),
    (["--method", "optimal-merge", "--strength", "1.2"], OptimalMerge(1.2)),
    (["--method", "optimal-merge", "--max-gap", "0.05"], OptimalMerge(max_gap=0.05)),
    (["--method", "logit-shift", "--strength", "-0.8"], LogitShift(-0.8)),
    (["--method", "LogitShift", "--max-gap", "0.05"], LogitShift(max_gap=0.05)),
]


def python_bytes(model, people, path, groups="sex", weight=None):
    model.fit(
        people["risk"],
        people["outcome"],
        sensitive_features=people[groups],
        sample_weight=None if weight is None else people[weight],
    )
    columns = {"score": "risk", "group": [groups] if isinstance(groups, str) else list(groups)}
    model.save(path, overwrite=True, columns=columns)
    return path.read_bytes()


@pytest.mark.parametrize(("options", "model"), MODELS)
def test_same_bytes_as_python(run, csv, people, tmp_path, options, model):
    run("fit", csv, *COLUMNS, *options, "-o", tmp_path / "map.json")
    assert (tmp_path / "map.json").read_bytes() == python_bytes(model, people, tmp_path / "python.json")


@pytest.mark.parametrize("name", WRITERS)
def test_same_bytes_from_every_format(run, folder, people, tmp_path, name):
    run("fit", folder / name, *COLUMNS, "--max-gap", 0.05, "-o", tmp_path / "map.json")
    expected = python_bytes(FairPOT(None, max_gap=0.05), people, tmp_path / "python.json")
    assert (tmp_path / "map.json").read_bytes() == expected


@pytest.mark.parametrize("weight", ["times", "share"])
def test_weights(run, csv, people, tmp_path, weight):
    run("fit", csv, *COLUMNS, "--lam", 0.4, "--weight", weight, "-o", tmp_path / "map.json")
    expected = python_bytes(FairPOT(0.4), people, tmp_path / "python.json", weight=weight)
    assert (tmp_path / "map.json").read_bytes() == expected


def test_intersections(run, csv, people, tmp_path):
    run(
        "fit",
        csv,
        "--score",
        "risk",
        "--label",
        "outcome",
        "--group",
        "age",
        "--group",
        "sex",
        "--lam",
        0.4,
        "-o",
        tmp_path / "m.json",
    )
    expected = python_bytes(FairPOT(0.4), people, tmp_path / "python.json", groups=["age", "sex"])
    assert (tmp_path / "m.json").read_bytes() == expected


@pytest.mark.parametrize("method", ["wasserstein", "optimal-merge", "logit-shift"])
@pytest.mark.parametrize("rule", [["--max-gap", "0.05"], ["--smallest-gap"]])
def test_rules_for_methods_without_their_own(run, csv, people, tmp_path, method, rule):
    run("fit", csv, *COLUMNS, "--method", method, *rule, "-o", tmp_path / "map.json")
    make = {"wasserstein": WassersteinRepair, "optimal-merge": OptimalMerge, "logit-shift": LogitShift}[method]
    model = make().fit(people["risk"], people["outcome"], sensitive_features=people["sex"])
    point = model.tradeoff().select(**({"max_gap": 0.05} if len(rule) == 2 else {}))
    value = load(tmp_path / "map.json").dial_[1]
    assert (value if isinstance(value, float) else value["F"]) == point.lam


def test_effect_is_that_of_python(run, csv, folder, people, held_out):
    options = ["--lam", "0.4", "--validate", folder / "held_out.csv", "--json"]
    found = run("fit", csv, *COLUMNS, *options).json
    model = FairPOT(0.4).fit(people["risk"], people["outcome"], sensitive_features=people["sex"])
    for part, frame in (("fitted", people), ("held_out", held_out)):
        before, y, sex = frame["risk"].to_numpy(), frame["outcome"], frame["sex"]
        after = model.transform(before, sensitive_features=sex)
        for name, scores in (("before", before), ("after", after)):
            assert found[part][name]["auc"] == auc(y, scores)
            assert found[part][name]["gap"] == xauc_gap(y, scores, sensitive_features=sex)
        moved = {each["group"]: each["moved"] for each in found[part]["moves"]}
        assert moved == {g: int((after != before)[sex == g].sum()) for g in ("F", "M")}
    assert found["dial"] == {"name": "lam", "value": 0.4, "groups": []}
    assert found["reference"] == model.reference_ == "M"
    assert found["rule"] is None


def test_effect_in_the_top(run, csv, folder, people, held_out):
    options = ["--lam", "0.5", "--top", "0.4", "--repair-top", "--validate", folder / "held_out.csv", "--json"]
    found = run("fit", csv, *COLUMNS, *options).json
    model = FairPOT(0.5, top=0.4, repair="top").fit(people["risk"], people["outcome"], sensitive_features=people["sex"])
    for part, frame in (("fitted", people), ("held_out", held_out)):
        after = model.transform(frame["risk"], sensitive_features=frame["sex"])
        y, sex = frame["outcome"], frame["sex"]
        assert found[part]["after"]["tops"][0]["auc"] == auc(y, after, top=0.4)
        assert found[part]["after"]["tops"][0]["gap"] == xauc_gap(y, after, top=0.4, sensitive_features=sex)


def test_what_is_printed(run, csv, folder, tmp_path):
    answer = run(
        "fit", csv, *COLUMNS, "--max-gap", 0.03, "--validate", folder / "held_out.csv", "-o", tmp_path / "map.json"
    )
    for part in (
        "FairPOT fitted on 600 rows",
        "lam = ",
        "gap of at most 0.03",
        "reference group: M",
    ):
        assert part in answer.out
    statement, changed, acted, price, check, written, following, *_ = answer.out.splitlines()
    assert statement.startswith("Measured within the target 0.03, though chance could hide more: the overall gap is ")
    assert "(M over F), before 0." in statement
    assert "scores in F change" in changed
    assert "no score in M changes" in changed
    assert acted.startswith("In the top 10%: ")
    assert price.startswith("AUC goes from ")
    assert check == "Check it on more new rows before you use it."
    assert written == f"Written: {tmp_path / 'map.json'}"
    assert following.startswith("Next: fairpot apply")
    [fitted] = [line for line in answer.out.splitlines() if "that were fitted" in line]
    assert fitted.startswith("On the 600 rows that were fitted: overall gap ")
    titles = [line for line in answer.out.splitlines() if line.endswith("before and after")]
    assert titles == ["On 400 held-out rows, before and after", "Who is in the top 10%, before and after"]
    everything = run("fit", csv, *COLUMNS, "--lam", 0.3, "--validate", folder / "held_out.csv", "--all").out
    for part in ("calibration error of F", "mean change of changed", "On the fitted rows, before and after"):
        assert part in everything
    assert all(line.startswith("warning: Ties matter") for line in answer.err.splitlines())


def test_without_output_nothing_is_written(run, csv, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert "Nothing was written" in run("fit", csv, *COLUMNS, "--lam", 0.4).out
    assert list(tmp_path.iterdir()) == []


def test_force(run, csv, tmp_path):
    place = tmp_path / "map.json"
    place.write_text("mine")
    answer = run("fit", csv, *COLUMNS, "--lam", 0.4, "-o", place, expect=2)
    assert "--force" in answer.err
    assert place.read_text() == "mine"
    run("fit", csv, *COLUMNS, "--lam", 0.4, "-o", place, "--force")
    assert load(place).dial_ == ("lam", 0.4)
    assert [p.name for p in tmp_path.iterdir()] == ["map.json"]


def test_nothing_is_left_of_a_failed_fit(run, csv, tmp_path):
    run("fit", csv, *COLUMNS, "--max-gap", 0, "--max-auc-loss", 0, "-o", tmp_path / "map.json", expect=2)
    run("fit", csv, *COLUMNS, "--lam", 0.4, "--validate", "nowhere.csv", "-o", tmp_path / "map.json", expect=2)
    assert list(tmp_path.iterdir()) == []


def test_rule_that_cannot_be_kept(run, csv, tmp_path):
    answer = run("fit", csv, *COLUMNS, "--max-gap", 0, "-o", tmp_path / "m.json", expect=2)
    assert "no repair strength keeps --max-gap 0" in answer.err
    assert "the smallest gap is" in answer.err
    assert list(tmp_path.iterdir()) == []


def test_held_out_rows_of_part_of_the_groups(run, folder, tmp_path, people):
    three = people.assign(sex=np.where(people["age"] == 30, "X", people["sex"]))
    three.to_csv(tmp_path / "three.csv", index=False)
    options = ["--lam", "0.4", "--json", "--validate"]
    found = run("fit", tmp_path / "three.csv", *COLUMNS, *options, folder / "held_out.csv").json
    assert [each["group"] for each in found["held_out"]["moves"]] == ["F", "M"]
    answer = run("fit", folder / "people.csv", *COLUMNS, *options, tmp_path / "three.csv", expect=2)
    assert "not in the map: X" in answer.err


def test_json_with_values_by_group(run, csv):
    found = run("fit", csv, *COLUMNS, "--group", "smoker", "--method", "logit-shift", "--smallest-gap", "--json").json
    assert found["dial"]["value"] is None
    assert {each["group"] for each in found["dial"]["groups"]} < {
        f"sex={s}, smoker={k}" for s in "FM" for k in (True, False)
    }
    assert {name: value for name, value in found["rule"].items() if value} == {"smallest_gap": True}
    json.dumps(found)


def test_rules_of_an_operation_are_said_and_shown(run, csv, folder, people, held_out):
    """The gap that is shown is that among those ranked highest."""
    rules = ["--max-gap", "0.2", "--top", "200"]
    told = run("fit", csv, *COLUMNS, *rules).out
    assert "chosen: the highest AUC with a gap of at most 0.2 among the 200 highest" in told
    found = run("fit", csv, *COLUMNS, *rules, "--validate", folder / "held_out.csv", "--json").json
    assert {name: value for name, value in found["rule"].items() if value} == {"max_gap": 0.2}
    model = FairPOT(max_gap=0.2, top=200)
    model.fit(people["risk"], people["outcome"], sensitive_features=people["sex"])
    for name, frame in (("fitted", people), ("held_out", held_out)):
        y, sex = frame["outcome"].to_numpy(), frame["sex"].to_numpy()
        after = np.asarray(model.transform(frame["risk"], sensitive_features=sex))
        wanted = xauc_gap(y, after, sensitive_features=sex, top=200 / len(people))
        assert found[name]["after"]["tops"][0]["gap"] == wanted


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--top", "0"], "is not a number of rows, such as 200, nor a share, such as 10% or 0.1"),
        (["--top", "150%"], "is not a number of rows"),
        (["--top", "many"], "is not a number of rows"),
        (["--top", "100000", "--max-gap", "0.1"], "--top 100000 is more than the 600 rows there are"),
        (["--top", "20", "--weight", "share", "--lam", "1"], "--top 20 is a number of rows, but the weights say"),
    ],
)
def test_rules_of_an_operation_that_mean_nothing(run, csv, options, said):
    told = run("fit", csv, *COLUMNS, *options, expect=2).err
    assert said in " ".join(told.split())
    assert "Traceback" not in told


def test_scores_that_stay_probabilities_or_on_their_grid(run, csv, people, tmp_path):
    """Both go into the map file, `apply` and `show`; what they mean for each group and what they cost is told."""
    target = tmp_path / "map.json"
    asked = ["--max-gap", 0.05, "--keep", "probabilities"]
    found = json.loads(run("fit", csv, *COLUMNS, *asked, "-o", target, "--json").out)
    assert found["fitted"]["calibrated"] is True
    assert found["fitted"]["after"]["groups"][0]["calibration"]["error_in_the_large_high"] is not None
    new = load(target).transform(people["risk"], sensitive_features=people["sex"])
    assert new.mean() == pytest.approx(people["outcome"].mean(), abs=1e-3)
    assert json.loads(run("show", target, "--json").out)["then"]["values"][-1] <= 1
    assert "makes probabilities of the outcome" in run("show", target).out
    coarse = tmp_path / "coarse.csv"
    people.assign(risk=(10 * people["risk"]).round()).to_csv(coarse, index=False)
    answer = run("fit", coarse, *COLUMNS, "--method", "optimal-merge", "--max-gap", 0.1, "--keep", "grid")
    assert "adjusted scores stay on the grid of" in answer.out
    saved = tmp_path / "grid.json"
    run("fit", coarse, *COLUMNS, "--max-gap", 0.1, "--keep", "grid", "-o", saved)
    deciles = (10 * people["risk"]).round()
    assert set(load(saved).transform(deciles, sensitive_features=people["sex"])) <= set(deciles)


@pytest.mark.parametrize("more", [[], ["--repair-top"], ["--top-of", "group"]])
def test_what_is_delivered_in_the_top(run, csv, people, more):
    """Gap and AUC of the list and of its top, where the top begins, who enters and who leaves: by the fitted rows."""
    fit = ["fit", csv, *COLUMNS, "--max-gap", 0.1, "--top", 300, *more]
    answer, said = run(*fit, "--json").json, " ".join(run(*fit).out.split())
    given = {"repair": "top"} if "--repair-top" in more else {"top_of": "group"} if more else {}
    model = FairPOT(max_gap=0.1, top=300, **given)
    model.fit(people["risk"], people["outcome"], sensitive_features=people["sex"])
    found, wanted = answer["achieved"], model.achieved_
    assert found == wanted.to_dict()
    before, y, sex = people["risk"].to_numpy(), people["outcome"], people["sex"].to_numpy()
    after = np.asarray(model.transform(before, sensitive_features=sex))
    assert (found["auc"], found["gap"]) == (auc(y, after), xauc_gap(y, after, sensitive_features=sex))
    assert found["gap_top"] <= 0.1 < found["gap_top_before"]
    starts = {each["group"]: each["value"] for each in found["starts"]}
    start = np.array([starts[g] for g in sex])
    if "--repair-top" in more:
        inside = before >= start
        assert (after[~inside] == before[~inside]).all()
        assert (after[inside] >= start[inside]).all()
        assert found["gap_top"] == xauc_gap(y[inside], after[inside], sensitive_features=sex[inside])
        assert f"That top begins at a score of {starts['F']:.4g}: nobody outside is moved" in said
    else:
        top = np.zeros(len(y), dtype=bool)
        for rows in [sex == "F", sex == "M"] if more else [np.ones(len(y), dtype=bool)]:
            top[rows] = before[rows] >= np.sort(before[rows])[::-1][int(np.ceil(rows.sum() / 2)) - 1]
        assert (found["enter"], found["leave"]) == (((after >= start) & ~top).sum(), (top & (after < start)).sum())
        assert f"{found['enter']:.0f} rows enter it and {found['leave']:.0f} leave it" in said
    shown = {abs(answer["fitted"]["after"]["tops"][0]["gap"]), abs(answer["fitted"]["after"]["gap"])}
    if "--repair-top" not in more:  # of that, the top is the one that was fitted, not found again
        assert shown == {found["gap_top"], found["gap"]}
    assert run("fit", csv, *COLUMNS, "--max-gap", 0.1, "--json").json["achieved"]["gap_top"] is None


@pytest.mark.parametrize("top", [["--top", "200"], ["--top", "20%"], ["--threshold", "0.4"], []])
def test_who_is_acted_on_is_what_effect_says(run, csv, people, top):
    """By the command line and in Python, whether the top is so many rows, a share, or nobody said."""
    found = run("fit", csv, *COLUMNS, "--max-gap", 0.1, *top, "--json").json["fitted"]
    given = {"top": 200} if "200" in top else {"top": 0.2} if "20%" in top else {}
    model = FairPOT(max_gap=0.1, **given)
    model.fit(people["risk"], people["outcome"], sensitive_features=people["sex"])
    at = {"threshold": 0.4} if "0.4" in top else {}
    known = effect(model, people["risk"], people["outcome"], sensitive_features=people["sex"], **at).to_dict()
    assert found["actions"] == known["actions"]
    assert found["moves"] == known["moves"]


def test_a_strength_that_is_typed_goes_before_a_target_in_settings(run, csv, tmp_path):
    (tmp_path / "s.toml").write_text('max_gap = 0.05\nconfidence = 0.9\ntop_of = "group"\n')
    found = run("fit", csv, *COLUMNS, "--settings", tmp_path / "s.toml", "--lam", "40%", "--json").json
    assert (found["dial"]["value"], found["rule"]) == (0.4, None)
    assert "--force" in run("fit", csv, *COLUMNS, "--lam", 0.4, "--force", expect=2).err


def test_a_method_with_a_higher_auc_is_named_with_its_option(run, tmp_path):
    """It is one line, and what its option then says is a fit without that line."""
    rng = np.random.default_rng(1)
    first = rng.random(1500) < 0.5
    y = (rng.random(1500) < np.where(first, 0.4, 0.15)).astype(int)
    score = 1 / (1 + np.exp(-rng.normal(1.2 * y + 0.9 * first - 1)))
    rows = pd.DataFrame({"score": score, "label": y, "group": np.where(first, "a", "b")})
    rows.to_csv(tmp_path / "rows.csv", index=False)
    fit = ["fit", tmp_path / "rows.csv", "--max-gap", "2%"]
    [told] = [line for line in run(*fit).out.splitlines() if "higher AUC" in line]
    assert told.endswith("more on the fitted rows. Take it with --method logit-shift.")
    assert float(re.search(r"interval ([\d.]+) to", told)[1]) > 0, "a lead beyond chance is not shown as one from 0"
    assert run(*fit, "--json").json["higher_auc"]["method"] == "LogitShift"
    other = run(*fit, "--method", "logit-shift")
    assert "higher AUC" not in other.out


def test_where_nobody_is_moved_fit_says_so(run, csv):
    said = run("fit", csv, *COLUMNS, "--max-gap", "90%").out
    assert "No repair needed: as measured the overall gap is" in said
    assert "No score changes." in said
