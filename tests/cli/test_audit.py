"""fairpot audit: the numbers of the Python API, from files of every kind."""

import json

import numpy as np
import pandas as pd
import pytest

from cli.conftest import COLUMNS, WRITERS
from fairpot import audit, score_table
from fairpot.metrics import auc, xauc, xauc_gap


def from_python(people, groups="sex", weight=None, **options):
    weighted = {} if weight is None else {"sample_weight": people[weight]}
    table = score_table(people["outcome"], people["risk"], sensitive_features=people[groups], **weighted)
    return json.loads(json.dumps(audit(table, **options).to_dict()))


def without(document, *names):
    return {key: value for key, value in document.items() if key not in names}


EXTRA = ("columns", "quantisation", "fail_above", "verdict", "ratio_verdict", "fairpot", "inputs", "files")


@pytest.mark.parametrize("name", WRITERS)
def test_every_format(run, folder, people, name):
    found = run("audit", folder / name, *COLUMNS, "--json").json
    assert without(found, *EXTRA) == from_python(people)
    assert found["auc"] == auc(people["outcome"], people["risk"])
    assert found["gap"] == xauc_gap(people["outcome"], people["risk"], sensitive_features=people["sex"])


@pytest.mark.parametrize(
    ("options", "python"),
    [
        (["--ties", "half"], {"ties": "half"}),
        (["--top", "0.2"], {"top": 0.2}),
        (["--top", "0.2", "--top-of", "group"], {"top": 0.2, "top_of": "group"}),
        (["--top", "0.4", "--top", "0.25"], {"top": [0.4, 0.25]}),
        (["--threshold", "0.35", "--threshold", "0.15"], {"threshold": [0.35, 0.15]}),
        (["--reference", "F"], {"reference": "F"}),
        (["--weight", "times"], {"weight": "times"}),
        (["--weight", "share"], {"weight": "share"}),
        (["--group", "age"], {"groups": ["sex", "age"]}),
        (["--group", "smoker", "--group", "age"], {"groups": ["sex", "smoker", "age"]}),
    ],
)
@pytest.mark.parametrize("name", ["people.parquet", "people.csv"])
def test_options(run, folder, people, name, options, python):
    found = run("audit", folder / name, *COLUMNS, *options, "--json").json
    assert without(found, *EXTRA) == from_python(people, **python)


@pytest.mark.parametrize(("column", "reference", "known"), [("age", "10", 10), ("smoker", "true", True)])
def test_groups_that_are_numbers_or_booleans(run, folder, people, column, reference, known):
    options = ["--score", "risk", "--label", "outcome", "--group", column, "--reference", reference, "--json"]
    for name in ("people.parquet", "people.csv", "people.jsonl"):
        found = run("audit", folder / name, *options).json
        assert found["reference"] is known or found["reference"] == known
        assert without(found, *EXTRA) == from_python(people, groups=column, reference=known)


def test_labels_in_words(run, csv, people):
    words = ["--score", "risk", "--group", "sex", "--label", "answer", "--positive", "yes", "--json"]
    assert without(run("audit", csv, *words).json, *EXTRA) == from_python(people)


def test_folder_pattern_and_several_files(run, tmp_path, people):
    people[:250].to_csv(tmp_path / "one.csv", index=False)
    people[250:].to_csv(tmp_path / "two.csv", index=False)
    expected = from_python(people)
    for files in ([tmp_path], [tmp_path / "*.csv"], [tmp_path / "two.csv", tmp_path / "one.csv"]):
        assert without(run("audit", *files, *COLUMNS, "--json").json, *EXTRA) == expected


def test_standard_input(run, folder, people):
    text = (folder / "people.csv").read_bytes()
    assert without(run("audit", "-", *COLUMNS, "--json", stdin=text).json, *EXTRA) == from_python(people)
    lines = (folder / "people.parquet").read_bytes()
    assert without(run("audit", "-", *COLUMNS, "--json", stdin=lines).json, *EXTRA) == from_python(people)


def test_query(run, tmp_path, people):
    people.to_parquet(tmp_path / "visits.parquet")
    query = f"select risk, outcome, sex from '{tmp_path}/visits.parquet' where age > 9"
    found = run("audit", "--sql", query, *COLUMNS, "--json").json
    assert without(found, *EXTRA) == from_python(people[people["age"] > 9])


@pytest.mark.parametrize("name", ["a b", "a.b", 'a"b', "a'b", "größe", "select", "risk; drop table x", "[red]x", "~/a"])
@pytest.mark.parametrize("ending", ["csv", "parquet", "jsonl"])
def test_names_of_columns(run, tmp_path, people, name, ending):
    path = tmp_path / f"people.{ending}"
    WRITERS[f"people.{ending}"](people.rename(columns={"risk": name}), path)
    found = run("audit", path, "--score", name, *COLUMNS[2:], "--json").json
    assert without(found, *EXTRA) == from_python(people)
    assert run("audit", path, "--score", name, *COLUMNS[2:]).out


def test_limit(run, csv, people):
    gap = xauc_gap(people["outcome"], people["risk"], sensitive_features=people["sex"])
    answer = run("audit", csv, *COLUMNS, "--fail-above", gap / 2, expect=3)
    assert "FAILED" in answer.out
    assert answer.err == ""
    assert "passed" in run("audit", csv, *COLUMNS, "--fail-above", gap).out
    found = run("audit", csv, *COLUMNS, "--fail-above", gap / 2, "--json", expect=3).json
    worst = {"metric": "overall gap", "top": None, "gap": gap, "pair": ["M", "F"]}
    assert found["fail_above"] == {"limit": gap / 2, "exceeded": True, "worst": worst, "gaps": [worst]}
    assert run("audit", csv, *COLUMNS, "--fail-above", gap / 2, "--quiet", expect=3).out == ""


def test_limit_looks_at_the_top_as_well(run, csv, people):
    y, score, sex = people["outcome"], people["risk"], people["sex"]
    overall = xauc_gap(y, score, sensitive_features=sex)
    top = next(a for a in (0.3, 0.2, 0.1, 0.5) if xauc_gap(y, score, top=a, sensitive_features=sex) > overall)
    found = run("audit", csv, *COLUMNS, "--top", top, "--fail-above", overall, "--json", expect=3).json
    assert [each["top"] for each in found["fail_above"]["gaps"]] == [None, top]
    assert found["fail_above"]["worst"]["top"] == top
    assert found["fail_above"]["worst"]["gap"] > overall


def test_limit_that_cannot_be_decided(run, tmp_path):
    (tmp_path / "x.csv").write_text("score,label,group\n0.1,0,a\n0.2,1,a\n0.3,0,b\n")
    answer = run("audit", tmp_path / "x.csv", "--fail-above", 0.5, expect=2)
    assert "cannot be decided" in answer.err


def test_what_is_printed(run, csv, people):
    out = run("audit", csv, *COLUMNS, "--top", 0.2).out
    for part in (
        "600 rows",
        "Groups",
        "The score ranks M higher than F",
        "gap in the top 20%",
        "overall gap",
        "recall",
    ):
        assert part in out
    assert "\x1b" not in out
    everything = run("audit", csv, *COLUMNS, "--all").out
    for part in (
        "Calibration",
        "tied pairs: ",
        "xAUC with 95% intervals",
    ):
        assert part in everything
        assert part not in out


def test_the_verdict_is_first_and_two_groups_take_twenty_lines(run, csv, people):
    lines = run("audit", csv, *COLUMNS).out.splitlines()
    known = {"sensitive_features": people["sex"]}
    there = xauc(people["outcome"], people["risk"], **known, positive="M", negative="F")
    back = xauc(people["outcome"], people["risk"], **known, positive="F", negative="M")
    assert lines[0].startswith(f"The score ranks M higher than F: overall gap {there - back:.3f} (95% interval ")
    assert f"in {100 * there:.0f} of 100 pairs; the reverse (F over M) in {100 * back:.0f}." in lines[1]
    assert lines[2].startswith("Next: fairpot fit ")
    assert len([line for line in lines if not line.startswith("note")]) <= 15
    assert [line for line in lines if line.startswith("Groups")] == ["Groups over all rows"]
    pairs = run("audit", csv, *COLUMNS, "--all").out.partition("The two groups over all rows\n")[2].splitlines()
    assert pairs[1].split()[-2:] == [f"{there:.3f}", f"{back:.3f}"]


def test_many_groups_take_less_than_forty_lines(run, tmp_path):
    rng = np.random.default_rng(0)
    n = 3000
    race, sex, y = rng.choice(list("ABCDEF"), n), rng.choice(["Female", "Male"], n), rng.integers(0, 2, n)
    score = np.clip(np.round(5 + 2 * y + (race == "A") + rng.normal(size=n) * 2), 1, 10)
    rows = pd.DataFrame({"score": score, "label": y, "race": race, "sex": sex})
    rows.to_csv(tmp_path / "rows.csv", index=False)
    columns = ["--group", "race", "--group", "sex"]
    out = run("audit", tmp_path / "rows.csv", *columns).out
    assert len(out.splitlines()) < 40
    assert "... and 61 more pairs: --all shows everything" in out
    everything = run("audit", tmp_path / "rows.csv", *columns, "--all").out
    assert "more pairs" not in everything
    highest = out.removeprefix("The score ranks ").split(" higher than")[0]
    assert highest in ("A / Female", "A / Male")
    named = run("audit", tmp_path / "rows.csv", *columns, "--reference", highest, "--json").json["reference"]
    assert named == f"race={highest.replace(' / ', ', sex=')}"


def test_groups_by_coin_flip_are_not_sent_to_a_repair(run, people, tmp_path):
    coin = np.random.default_rng(1).choice(["heads", "tails"], len(people))
    people.assign(sex=coin).to_csv(tmp_path / "coin.csv", index=False)
    lines = run("audit", tmp_path / "coin.csv", *COLUMNS).out.splitlines()
    assert lines[0].startswith(("No clear gap", "Cannot tell whether there is a gap"))
    assert not any(line.startswith("  fairpot fit") for line in lines)
    assert not any(line.startswith("Next:") for line in lines)


def test_json_is_alone_and_stable(run, csv):
    first, second = (run("audit", csv, *COLUMNS, "--json") for _ in range(2))
    assert first.out == second.out
    assert first.err == ""
    assert list(first.json)[:3] == ["fairpot", "columns", "inputs"]
    assert first.json["columns"] == {
        "score": "risk",
        "label": "outcome",
        "positive": None,
        "group": ["sex"],
        "bands": [],
        "unknown": None,
        "missing_group": "error",
        "weight": None,
        "weights": None,
        "cluster": None,
        "time": None,
        "event": None,
        "horizon": None,
        "competing": None,
        "leaving": None,
        "lower_is_riskier": False,
        "high_score_means": None,
    }


def test_names_cannot_steer_the_terminal(run, tmp_path):
    rows = "".join(f"0.{i},{i % 2},{g}\n" for i in range(1, 9) for g in ("[bold]x", "\x1b[31mred"))
    (tmp_path / "x.csv").write_text("score,label,group\n" + rows)
    out = run("audit", tmp_path / "x.csv").out
    assert "\x1b" not in out
    assert "\\x1b[31mred" in out
    assert "[bold]x" in out


SEVERAL = ["--top", "0.5", "--top", "0.3", "--threshold", "0.35", "--threshold", "0.15"]


def test_several_tops_and_thresholds_for_people(run, folder):
    said = run("audit", folder / "people.csv", *COLUMNS, *SEVERAL).out
    for heading in ("Flagged at 0.35 or above", "Flagged at 0.15 or above"):
        assert heading in said
    assert said.index("Groups in the top 50% of all rows") < said.index("Groups in the top 30% of all rows")
    for row in ("gap in the top 50%", "gap in the top 30%", "overall gap"):
        assert row in said
    [following] = [line for line in said.splitlines() if line.startswith("Next:")]
    assert "--threshold 0.35 --threshold 0.15" in following
    assert "--top" not in following  # a repair has one top
    one = run("audit", folder / "people.csv", *COLUMNS, "--top", "0.3").out
    assert "--top 30%" in one.split("Next:")[1]


def test_every_top_is_guarded(run, folder, people):
    gates = ["--fail-above", "0.0001", "--bound", "0.4", "--json"]
    found = run("audit", folder / "people.csv", *COLUMNS, *SEVERAL, *gates, expect=3)
    limit, judged = found.json["fail_above"], found.json["verdict"]
    gaps = [audit(people["outcome"], people["risk"], sensitive_features=people["sex"], top=a) for a in (0.5, 0.3)]
    every = {None: found.json["gap"], 0.5: float(gaps[0].tops[0].gap), 0.3: float(gaps[1].tops[0].gap)}
    assert {each["top"]: each["gap"] for each in limit["gaps"]} == every
    assert every[limit["worst"]["top"]] == limit["worst"]["gap"] == max(every.values())
    assert [each["top"] for each in judged["all"]] == [None, 0.5, 0.3]


def test_lists_stand_in_settings(run, folder, tmp_path):
    settings = tmp_path / "several.toml"
    settings.write_text("top = [0.5, 0.3]\nthreshold = [0.35, 0.15]\n")
    found = run("audit", folder / "people.csv", *COLUMNS, "--settings", settings, "--json").json
    assert [each["top"] for each in found["tops"]] == [0.5, 0.3]
    assert [each["threshold"] for each in found["rates"]][:2] == [0.35, 0.15]


def test_fit_shows_several_thresholds(run, folder):
    options = [*COLUMNS, "--lam", "0.5", "--threshold", "0.35", "--threshold", "0.15", "--json"]
    found = run("fit", folder / "people.csv", *options).json
    assert '"threshold": 0.15' in json.dumps(found)
    assert '"threshold": 0.35' in json.dumps(found)


def test_a_clear_gap_is_not_hidden_by_a_top_without_one(run, tmp_path):
    """Both statements are told, each by its name, and what comes next is about the clear one."""
    rng = np.random.default_rng(7)
    n = 4000
    y, sex, top = rng.integers(0, 2, n), rng.choice(["F", "M"], n), rng.random(n) < 0.1
    score = rng.normal(y + 1.5 * (sex == "M") * ~top) + 20 * top
    pd.DataFrame({"risk": score, "outcome": y, "sex": sex}).to_csv(tmp_path / "rows.csv", index=False)
    out = run("audit", tmp_path / "rows.csv", *COLUMNS, "--top", "10%").out
    first, overall, _, following, *_ = out.splitlines()
    assert first.startswith("Cannot tell whether there is a gap in the top")
    assert "gap in the top 10%" in first
    assert overall.startswith("The score ranks M higher than F: overall gap ")
    assert following.startswith("Next: fairpot fit ")
    assert "--top" not in following
    assert [line for line in out.splitlines() if line.startswith("Groups")] == [
        "Groups over all rows",
        "Groups in the top 10% of all rows",
    ]


def test_options_that_would_change_nothing_are_refused(run, csv, tmp_path):
    assert "--top 10%" in run("audit", csv, *COLUMNS, "--top-of", "group", expect=2).err
    (tmp_path / "s.toml").write_text('top_of = "group"\n')  # a default, which nobody typed
    run("audit", csv, *COLUMNS, "--settings", tmp_path / "s.toml")


def test_shares_are_written_either_way(run, csv):
    both = (
        run("audit", csv, *COLUMNS, "--top", a, "--bound", b, "--json").out for a, b in ((0.3, 0.5), ("30%", "50%"))
    )
    assert len(set(both)) == 1
