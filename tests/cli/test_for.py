"""Tables that a rule asks for, and several scores of the same rows, on the command line."""

import io

import numpy as np
import pandas as pd
import pytest

import fairpot
from cli.conftest import COLUMNS


@pytest.fixture(scope="module")
def applicants(tmp_path_factory):
    """A pool without outcomes, some of whom did not say who they are."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "score": np.round(rng.normal(size=1500), 2),
            "sex": rng.choice(["Female", "Male"], 1500),
            "race": rng.choice(["Asian", "Black", "White"], 1500),
        }
    )
    frame.loc[:29, "sex"] = None
    frame.loc[20:59, "race"] = None
    path = tmp_path_factory.mktemp("pool") / "pool.csv"
    frame.to_csv(path, index=False)
    return frame, path


POOL = ["--group", "sex", "--group", "race", "--for", "ll144"]


def test_the_table_of_a_pool_is_one_command(run, applicants):
    frame, path = applicants
    text = run("audit", path, *POOL).out
    assert "30 rows of unknown category" in text
    assert "40 rows of unknown category" in text
    assert "60 rows of unknown category" in text
    assert "Left to judgement:" in text
    read = pd.read_csv(io.StringIO(run("audit", path, *POOL, "--table", "csv").out)).set_index(["by", "group"])
    up = frame["score"] > frame["score"].median()
    for group in ("Female", "Male"):
        assert read.loc[("sex", group), "scoring rate"] == pytest.approx(up[frame["sex"] == group].mean())
    assert (
        "| group | applicants | scoring rate | impact ratio |" in run("audit", path, *POOL, "--table", "markdown").out
    )
    document = run("audit", path, *POOL, "--json").json["rule"]
    named = frame.fillna("unknown")
    own = fairpot.audit(None, named["score"], sensitive_features=named[["sex", "race"]], rule="ll144")
    assert document["tables"] == own.to_dict()["rule"]["tables"]


def test_rows_without_a_group_are_an_error_where_no_rule_counts_them(run, applicants):
    assert "without a group" in run("audit", applicants[1], *POOL[:-2], "--no-label", expect=2).err


def test_a_rule_with_outcomes_and_a_gate(run, csv):
    text = run("audit", csv, *COLUMNS, "--for", "clinical", "--threshold", 0.3).out
    for said in ("Discrimination", "calibration slope", "sensitivity", "net benefit", "arXiv:2412.10288"):
        assert said in text
    assert "Pairs" not in text
    failed = run("audit", csv, *COLUMNS, "--for", "four-fifths", "--threshold", 0.5, "--min-ratio", 0.8, expect=3).out
    assert "below four fifths" in failed


@pytest.mark.parametrize(
    ("words", "favourable", "lowest"),
    [
        ([], "at 0.5 or above", "White"),
        (["--high-score-means", "help"], "at 0.5 or above", "White"),
        (["--high-score-means", "harm"], "below 0.5", "Black"),
        (["--lower-is-riskier"], "at 0.5 or below", "Black"),
        (["--lower-is-riskier", "--high-score-means", "help"], "above 0.5", "White"),
        (["--lower-is-riskier", "--high-score-means", "harm"], "at 0.5 or below", "Black"),
    ],
)
def test_rules_and_gates_are_about_the_favourable_side(run, tmp_path, words, favourable, lowest):
    """Of denials: 38% of Black and 12% of White applicants are at 1, where nothing else is said of it."""
    group = np.repeat(["Black", "White"], [400, 600])
    score = np.concatenate([np.arange(400) < 152, np.arange(600) < 72]).astype(int)
    pd.DataFrame({"score": score, "group": group}).to_csv(tmp_path / "denied.csv", index=False)
    told = ["audit", tmp_path / "denied.csv", *words, "--threshold", 0.5, "--for", "four-fifths"]
    text = run(*told, "--min-ratio", 0.8, expect=3).out
    assert f"FAILED: a selection rate is below 0.8 of another {favourable}" in text
    assert f"Selection rates by group, {favourable}" in text
    assert f"Selected means {favourable}" in text
    [line] = [line for line in text.splitlines() if line.startswith(lowest)]
    assert "below four fifths" in line
    asked = "if that is a bad thing for the person, say --high-score-means"
    assert (asked in text) == ("--high-score-means" not in words)
    found = run(*told, "--min-ratio", 0.8, "--json", expect=3).json
    assert found["ratio_verdict"]["lowest"] == lowest
    assert found["ratio_verdict"]["favourable"] == ("spared" if favourable in ("below 0.5", "above 0.5") else "flagged")
    assert found["rule"]["tables"][0]["selected"] == favourable
    assert favourable in run(*told, "--table", "csv").out.splitlines()[1]
    assert f"Selected means {favourable}" in run(*told, "--table", "markdown").out


def test_what_needs_outcomes_says_that_they_are_known(run, people, tmp_path):
    people.rename(columns={"outcome": "label"}).to_csv(tmp_path / "scores.csv", index=False)
    told = ["audit", tmp_path / "scores.csv", "--score", "risk", "--group", "sex", "--for", "four-fifths"]
    assert run(*told, "--json").json["auc"] is None
    failed = run(*told, "--fail-above", 0.01, expect=3).out
    assert "FAILED" in failed
    assert "Four-fifths" in failed


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--for", "nobody"], "there is no rule 'nobody'"),
        (["--for", "clinical"], "looks at who is flagged at a score"),
        (["--table", "csv"], "--table is the form of a rule's tables"),
        (["--for", "ll144", "--label", "outcome", "--table", "xml"], "xml"),
        (
            ["--for", "four-fifths", "--time", "times"],
            "--time needs outcomes, which --for takes into account",
        ),
        (["--for", "four-fifths", "--bound", 0.1], "has no column 'label'"),
        (["--for", "ll144", "--threshold", 0.5], "--threshold does not go with this rule of --for, which looks at its"),
        (["--for", "ll144", "--min-ratio", 0.8], "--min-ratio does not go with this rule of --for"),
        (["--for", "clinical", "--threshold", 0.5, "--top", "10%"], "--top does not go with this rule"),
        (["--for", "four-fifths", "--rates"], "--rates does not go with this rule"),
        (["--for", "four-fifths", "--all"], "--all does not go with this rule"),
        (["--for", "four-fifths", "--reference", "F"], "--reference does not go with this rule"),
        (["--for", "clinical", "--threshold", 0.5, "--no-label"], "--for clinical needs outcomes"),
        (["--for", "four-fifths", "--table", "csv", "--json"], "two forms of the answer"),
        (["--score", "risk"], "--score names the same column twice"),
    ],
)
def test_wrong_uses_are_refused(run, csv, options, said):
    given = COLUMNS if not {"--label", "--bound", "--time"} & {*options} else [*COLUMNS[:2], *COLUMNS[4:]]
    assert said in run("audit", csv, *given, *options, expect=2).err


@pytest.fixture(scope="module")
def two(people, tmp_path_factory):
    """People with another score of theirs, in CSV and Parquet."""
    rng = np.random.default_rng(5)
    frame = people.assign(other=np.clip(people["risk"] + rng.normal(0, 0.1, len(people)), 0, 1).round(3))
    folder = tmp_path_factory.mktemp("two")
    frame.to_csv(folder / "two.csv", index=False)
    frame.to_parquet(folder / "two.parquet", index=False)
    return frame, folder


@pytest.mark.parametrize("name", ["two.csv", "two.parquet"])
@pytest.mark.parametrize("given", [[], ["--cluster", "id"], ["--weight", "share"], ["--lower-is-riskier"]])
def test_several_scores_are_compared_on_the_same_rows_as_in_python(run, two, name, given):
    frame, folder = two
    found = run("audit", folder / name, *COLUMNS, "--score", "other", *given, "--json").json["models"]
    python = {"--cluster": {"clusters": frame["id"]}, "--weight": {"sample_weight": frame["share"]}}
    python |= {"--lower-is-riskier": {"lower_is_riskier": True}}
    scores = {"risk": frame["risk"], "other": frame["other"]}
    own = fairpot.audit(frame["outcome"], scores, sensitive_features=frame["sex"], **python[given[0]] if given else {})
    for model in scores:
        assert found[model]["auc"] == own[model].auc
        assert found[model]["gap"] == own[model].gap
    change, wanted = found["other"]["change"]["auc"], own.changes["other"].auc
    np.testing.assert_allclose(
        [change["change"], change["low"], change["high"]], [wanted.change, wanted.low, wanted.high], rtol=1e-9
    )
    text = run("audit", folder / name, *COLUMNS, "--score", "other", *given).out
    assert "Differences, paired" in text
    assert "other minus risk" in text


def test_both_audits_show_who_is_flagged_where_a_cut_is_named_or_outcomes_are_not_known(run, two):
    frame, folder = two
    told = ["audit", folder / "two.csv", *COLUMNS, "--score", "other", "--threshold", 0.5]
    assert "Flagged" not in run(*told[:-2]).out
    for text in (run(*told).out, run("audit", told[1], *told[2:4], *COLUMNS[4:], *told[-4:], "--no-label").out):
        for name in ("risk", "other"):
            [table] = [part for part in text.split("\n\n") if part.startswith(f"{name}: Flagged at 0.5 or above")]
            flagged = (frame[name] >= 0.5).groupby(frame["sex"]).sum()
            for line in table.splitlines()[2:4]:
                assert int(line.split()[1]) == flagged[line.split()[0]]


def test_groups_that_are_left_out_of_a_rule_are_named(run, many):
    found = run("audit", many, *COLUMNS, "--for", "four-fifths", "--threshold", 0.5, "--min-group", 50).out
    assert "note: " in found
    assert "X" in found.partition("note: ")[2]
    refused = run("audit", many, *COLUMNS[:2], *COLUMNS[4:], "--for", "ll144", "--min-group", 50, expect=2).err
    assert "is about the median of all rows, and --min-group or --groups leaves some out" in refused


@pytest.mark.parametrize(
    ("options", "said"),
    [(["--bound", "0.1"], "--bound goes with one --score"), (["--rates"], "--rates goes with one --score")],
)
def test_what_is_of_one_score_is_refused_with_several(run, two, options, said):
    assert said in run("audit", two[1] / "two.csv", *COLUMNS, "--score", "other", *options, expect=2).err


def test_standard_input_is_read_once(run, two):
    text = (two[1] / "two.csv").read_text()
    found = run("audit", "-", *COLUMNS, "--score", "other", "--format", "csv", expect=2, stdin=text)
    assert "standard input does not allow" in found.err
