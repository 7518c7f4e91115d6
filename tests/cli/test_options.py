"""Names of methods and options, and what is said of those that do not fit."""

import pytest

from cli.conftest import COLUMNS
from fairpot.cli._errors import as_option
from fairpot.repair.registry import names


def test_methods_go_by_either_name(run, csv):
    printed = run("compare", csv, *COLUMNS, "--method", "WassersteinRepair", "--json").json
    assert printed == run("compare", csv, *COLUMNS, "--method", "wasserstein", "--json").json
    other = run("fit", csv, *COLUMNS, "--method", "LogitShift", "--strength", 1, "--json").json
    assert other["method"] == "logit-shift"


def test_both_rules_together_for_every_method(run, csv):
    for method in names():
        found = run("fit", csv, *COLUMNS, "--method", method, "--max-gap", 0.1, "--max-auc-loss", 0.2, "--json").json
        assert {name: value for name, value in found["rule"].items() if value} == {"max_gap": 0.1, "max_auc_loss": 0.2}
        assert found["fitted"]["after"]["gap"] <= 0.1 + 1e-9


def test_errors_name_options(run, csv):
    told = run("fit", csv, *COLUMNS, "--max-gap", 0, "--max-auc-loss", 0, expect=2).err
    assert "--max-gap 0" in told
    assert "--max-auc-loss 0" in told
    assert "max_gap" not in told
    assert "--folds 400" in run("compare", csv, *COLUMNS, "--folds", 400, expect=2).err


def test_the_strength_has_a_common_name(run, csv, tmp_path):
    for method, own in (("fairpot", "lam"), ("wasserstein", "t"), ("logit-shift", "shift")):
        found = run("fit", csv, *COLUMNS, "--method", method, "--strength", 0.4, "--json").json
        assert found["dial"] == {"name": own, "value": 0.4, "groups": []}
    named = run("fit", csv, *COLUMNS, "--lam", 0.4, "--json").json
    assert named == run("fit", csv, *COLUMNS, "--strength", 0.4, "--json").json
    assert "Say it in one way" in run("fit", csv, *COLUMNS, "--lam", 0.3, "--strength", 0.3, expect=2).err
    assert "must be finite and in [0, 1]" in run("fit", csv, *COLUMNS, "--strength", 1.3, expect=2).err


def test_options_without_effect_are_refused(run, csv):
    for more in (["--top-of", "group"], ["--repair-top"]):
        said = run("fit", csv, *COLUMNS, "--lam", 0.3, *more, expect=2).err
        assert f"{' '.join(more)} says something of the top, and no top is given" in said


def test_the_next_command_says_how_the_file_is_read(run, people, tmp_path):
    people.to_csv(tmp_path / "semi.csv", index=False, sep=";")
    out = run("audit", tmp_path / "semi.csv", *COLUMNS, "--delimiter", ";").out
    assert "--delimiter ';'" in out.splitlines()[2]
    assert "\\n" not in out


def test_hints_can_be_pasted():
    assert as_option("calibrate", True) == "--calibrate"
    assert as_option("drop_missing", True) == "--drop-missing"
    assert as_option("keep", "probabilities") == "--keep probabilities"
    assert as_option("max_gap", 0.02) == "--max-gap 0.02"
    assert as_option("overwrite", True) == "--force"
    assert as_option("reference", ...) == "--reference NAME"


def test_folds_that_are_not_drawn_are_refused(run, csv, folder):
    given = ["compare", csv, *COLUMNS, "--validate", folder / "held_out.csv"]
    for more in (["--folds", 3], ["--seed", 1]):
        assert "--validate judges on rows of their own" in run(*given, *more, expect=2).err
    moved = ["compare", csv, *COLUMNS, "--method", "wasserstein", "--reference", "F"]
    assert "--reference is for methods that keep a group's scores" in run(*moved, expect=2).err


def test_a_plan_takes_the_target_by_its_name(run):
    assert run("plan", "--max-gap", "20%", "--json").out == run("plan", "--gap", 0.2, "--json").out


@pytest.mark.parametrize(
    ("command", "options"),
    [
        ("audit", ["--top", "--bound", "--fail-above"]),
        ("fit", ["--lam"]),
        ("fit", ["--max-gap"]),
    ],
)
def test_a_share_is_a_percentage_or_a_fraction(run, csv, command, options):
    said = [
        run(command, csv, *COLUMNS, *(word for each in options for word in (each, value)), "--json", expect=code).out
        for value, code in (("10%", 3 * (command == "audit")), ("0.1", 3 * (command == "audit")))
    ]
    assert said[0] == said[1]
