"""What people met who used the command line for the first time."""

import json
import os
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from cli.conftest import COLUMNS
from fairpot import FairPOT
from fairpot.cli._app import COMMANDS, app
from fairpot.cli._printing import fitting


@pytest.fixture
def many(tmp_path):
    """Three groups, one of them tiny."""
    rng = np.random.default_rng(3)
    sex = np.array(["F"] * 300 + ["M"] * 300 + ["X"] * 6)
    risk = np.round(rng.beta(2, 3, len(sex)), 3)
    frame = pd.DataFrame({"risk": risk, "outcome": (rng.random(len(sex)) < risk).astype(int), "sex": sex})
    frame.loc[600:605, "outcome"] = [0, 1, 0, 1, 0, 1]
    frame.to_csv(tmp_path / "many.csv", index=False)
    return tmp_path / "many.csv"


def test_short_texts_are_those_of_the_commands():
    for name, text in COMMANDS.items():
        assert app.get_command(None, name).short_help == text


def test_version_and_help_load_no_numbers():
    code = "import sys; from fairpot.cli import main\ntry: main()\nexcept SystemExit: pass\n"
    code += "print([m for m in ('numpy', 'sklearn', 'duckdb', 'rich') if m in sys.modules])"
    for words in (["--version"], ["--help"]):
        script = f"import sys; sys.argv[1:] = {words!r}\n" + code
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
        assert done.stdout.splitlines()[-1] == "[]"


def test_help_command(run):
    assert run("help", "fit").out == run("fit", "--help").out
    assert "Commands:" in run("help").out
    assert "no such command" in run("help", "fti", expect=2).err


def test_completion_knows_the_commands():
    env = os.environ | {"_FAIRPOT_COMPLETE": "bash_complete", "COMP_WORDS": "fairpot co", "COMP_CWORD": "1"}
    done = subprocess.run([sys.executable, "-m", "fairpot.cli"], env=env, capture_output=True, text=True, check=False)
    assert "compare" in done.stdout


def test_settings_beside_the_data(run, many):
    (many.parent / "fairpot.toml").write_text(
        'threshold = 0.4\nmin_group = 30\n[columns]\nscore = "risk"\nlabel = "outcome"\ngroup = "sex"\n'
    )
    answer = run("audit", many)
    assert "settings: " in answer.err
    assert "Flagged at 0.4" in answer.out
    given = run("audit", many, "--threshold", "0.6")
    assert "Flagged at 0.6" in given.out
    named = many.parent / "other.toml"
    named.write_text('[columns]\nscore = "risk"\nlabel = "outcome"\ngroup = ["sex"]\n')
    assert "Flagged" not in run("audit", many, "--settings", named).out
    named.write_text("bond = 0.05\n")
    assert "'bond'" in run("audit", many, "--settings", named, expect=2).err
    assert "--settings names a file" in run("audit", many, "--settings", many.parent / "none.toml", expect=2).err


def test_small_groups_are_left_out_by_name(run, many, tmp_path):
    found = run("audit", many, *COLUMNS, "--min-group", 30, "--json").json
    assert [each["group"] for each in found["groups"]] == ["F", "M"]
    assert found["left_out"] == [{"group": "X", "rows": 6}]
    assert any("'X' is left out" in text for text in found["warnings"])
    answer = run("fit", many, *COLUMNS, "--lam", 0.5, "--min-group", 30, "-o", tmp_path / "map.json")
    assert "group X is left out" in answer.out
    run("apply", tmp_path / "map.json", many, "-o", tmp_path / "new.csv")
    new = pd.read_csv(tmp_path / "new.csv")
    tiny = new["sex"] == "X"
    assert (new.loc[tiny, "risk"] == new.loc[tiny, "risk_fair"]).all()
    assert (new.loc[~tiny, "risk"] != new.loc[~tiny, "risk_fair"]).any()
    picked = run("audit", many, *COLUMNS, "--groups", "M,X", "--json").json
    assert [each["group"] for each in picked["groups"]] == ["M", "X"]
    assert "no group 'Z'" in run("audit", many, *COLUMNS, "--groups", "M,Z", expect=2).err


def test_rates_are_those_of_pandas(run, csv, people):
    found = run("audit", csv, *COLUMNS, "--threshold", 0.4, "--json").json["rates"][0]
    for each in found["groups"]:
        own = people[people["sex"] == each["group"]]
        flagged = own["risk"] >= 0.4
        assert each["flagged"] == flagged.sum()
        assert each["tpr"] == pytest.approx(flagged[own["outcome"] == 1].mean())
        assert each["fpr"] == pytest.approx(flagged[own["outcome"] == 0].mean())
        assert each["ppv"] == pytest.approx(own.loc[flagged, "outcome"].mean())


def test_rates_before_and_after(run, csv, people):
    found = run("fit", csv, *COLUMNS, "--lam", 0.6, "--threshold", 0.4, "--json").json["fitted"]
    fp = FairPOT(0.6).fit(people["risk"], people["outcome"], sensitive_features=people["sex"])
    new = fp.transform(people["risk"], sensitive_features=people["sex"])
    for which, scores in (("before", people["risk"]), ("after", new)):
        flagged = {each["group"]: each["flagged"] for each in found[which]["rates"][0]["groups"]}
        assert flagged == {g: int((scores[people["sex"] == g] >= 0.4).sum()) for g in ("F", "M")}


def test_reversed_scores(run, people, tmp_path):
    people.assign(risk=1 - people["risk"]).to_csv(tmp_path / "low.csv", index=False)
    answer = run("audit", tmp_path / "low.csv", *COLUMNS)
    assert "below 0.5" in answer.out
    assert "--lower-is-riskier" in answer.out
    people.to_csv(tmp_path / "high.csv", index=False)
    turned = run("audit", tmp_path / "low.csv", *COLUMNS, "--lower-is-riskier", "--json").json
    straight = run("audit", tmp_path / "high.csv", *COLUMNS, "--json").json
    assert turned["auc"] == pytest.approx(straight["auc"])
    assert turned["gap"] == pytest.approx(straight["gap"])


def test_predictions_given_as_scores(run, people, tmp_path):
    people.assign(risk=(people["risk"] > 0.4).astype(int)).to_csv(tmp_path / "hard.csv", index=False)
    assert "look like predictions" in run("audit", tmp_path / "hard.csv", *COLUMNS).out


def test_the_gate_names_what_it_looked_at(run, csv):
    assert "in [0, 1]" in run("audit", csv, *COLUMNS, "--fail-above", 5, expect=2).err
    answer = run("audit", csv, *COLUMNS, "--fail-above", 0.001, expect=3)
    assert "between M and F is 0." in answer.out
    both = run("audit", csv, *COLUMNS, "--alpha", 0.3, "--fail-above", 1, "--json").json["fail_above"]
    assert {"gap", "partial_gap"} <= set(both)
    top = run("audit", csv, *COLUMNS, "--alpha", 0.3, "--fail-above", 1, "--fail-metric", "top", "--json").json
    assert set(top["fail_above"]) == {"limit", "partial_gap", "exceeded", "worst"}
    assert "--alpha" in run("audit", csv, *COLUMNS, "--fail-above", 0.1, "--fail-metric", "top", expect=2).err


def test_documents_say_what_they_are(run, csv):
    found = run("audit", csv, *COLUMNS, "--json").json
    assert found["fairpot"]["document"] == 1
    assert found["fairpot"]["command"] == "audit"
    assert found["inputs"] == [str(csv)]


def test_another_scale(run, people, csv, tmp_path):
    run("fit", csv, *COLUMNS, "--lam", 0.5, "-o", tmp_path / "map.json")
    people.assign(risk=people["risk"] * 100).to_csv(tmp_path / "points.csv", index=False)
    answer = run("apply", tmp_path / "map.json", tmp_path / "points.csv", "-o", tmp_path / "a.csv")
    assert "far outside the fitted range" in answer.err
    told = ["--other-scale", "error"]
    run("apply", tmp_path / "map.json", tmp_path / "points.csv", "-o", tmp_path / "b.csv", *told, expect=2)
    assert not (tmp_path / "b.csv").exists()
    run("fit", tmp_path / "points.csv", *COLUMNS, "--lam", 0.5, "-o", tmp_path / "points.json")
    assert "a twentieth" in run("apply", tmp_path / "points.json", csv, "-o", tmp_path / "c.csv").err


def test_a_map_that_looks_at_the_batch_says_so(run, csv, tmp_path):
    batch = ["--alpha", 0.3, "--region-from", "batch"]
    run("fit", csv, *COLUMNS, "--lam", 0.5, *batch, "-o", tmp_path / "map.json")
    assert (
        "other files give the same person other scores"
        in run("apply", tmp_path / "map.json", csv, "-o", tmp_path / "a.csv").out
    )
    assert "depend on who else is in the file" in run("show", tmp_path / "map.json").out


def test_nobody_depends_on_the_batch_by_default(run, csv, people, tmp_path):
    run("fit", csv, *COLUMNS, "--lam", 0.5, "--alpha", 0.3, "-o", tmp_path / "map.json")
    run("apply", tmp_path / "map.json", csv, "-o", tmp_path / "all.csv")
    people.nlargest(100, "risk").to_csv(tmp_path / "top.csv", index=False)
    run("apply", tmp_path / "map.json", tmp_path / "top.csv", "-o", tmp_path / "some.csv")
    together = pd.read_csv(tmp_path / "all.csv").set_index("id")["risk_fair"]
    alone = pd.read_csv(tmp_path / "some.csv").set_index("id")["risk_fair"]
    assert (together.loc[alone.index] == alone).all()


def test_methods_go_by_either_name(run, csv):
    printed = run("compare", csv, *COLUMNS, "--method", "WassersteinRepair", "--json").json
    assert printed == run("compare", csv, *COLUMNS, "--method", "wasserstein", "--json").json
    assert run("fit", csv, *COLUMNS, "--method", "PostLogit", "--slope", 3, "--json").json["method"] == "post-logit"


def test_both_rules_together_for_every_method(run, csv):
    for method in ("fairpot", "wasserstein", "post-logit", "xorder", "optimal-merge"):
        found = run("fit", csv, *COLUMNS, "--method", method, "--max-gap", 0.1, "--max-auc-loss", 0.2, "--json").json
        assert found["rule"] == {"max_gap": 0.1, "max_auc_loss": 0.2}
        assert found["fitted"]["after"]["gap"] <= 0.1 + 1e-9


def test_errors_name_options(run, csv):
    told = run("fit", csv, *COLUMNS, "--max-gap", 0, "--max-auc-loss", 0, expect=2).err
    assert "--max-gap 0" in told
    assert "--max-auc-loss 0" in told
    assert "max_gap" not in told
    assert "--folds 400" in run("compare", csv, *COLUMNS, "--folds", 400, expect=2).err


def test_show_rounds_the_dial(run, csv, tmp_path):
    run("fit", csv, *COLUMNS, "--lam", 0.41000000000000003, "-o", tmp_path / "map.json")
    answer = run("show", tmp_path / "map.json").out
    assert "lam = 0.41\n" in answer
    assert "columns: score 'risk', group 'sex'" in answer


def test_numbers_are_never_cut():
    columns = ["group", *(f"column {i}" for i in range(12))]
    rows = [["a group of a long name", *(f"0.{i:04d}" for i in range(12))]]
    parts = fitting(columns, rows, 1, 80)
    assert sorted(place for part in parts for place in part[1:]) == list(range(1, 13))
    assert all(part[0] == 0 for part in parts)
    assert len(parts) > 1


def test_json_of_an_audit_is_json(run, csv):
    json.dumps(run("audit", csv, *COLUMNS, "--alpha", 0.2, "--threshold", 0.5, "--json").json, allow_nan=False)


def test_a_threshold_is_turned_round_with_the_scores(run, people, tmp_path):
    people.assign(risk=1 - people["risk"]).to_csv(tmp_path / "low.csv", index=False)
    turned = ["--lower-is-riskier", "--threshold", 0.6, "--json"]
    found = run("audit", tmp_path / "low.csv", *COLUMNS, *turned).json["rates"][0]
    assert found["all"]["flagged"] == (1 - people["risk"] <= 0.6).sum()


def test_options_without_effect_are_refused(run, csv):
    assert "needs --alpha" in run("fit", csv, *COLUMNS, "--lam", 0.3, "--region", "group", expect=2).err
    assert "needs --alpha" in run("fit", csv, *COLUMNS, "--lam", 0.3, "--region-from", "batch", expect=2).err


def test_the_next_command_says_how_the_file_is_read(run, people, tmp_path):
    people.to_csv(tmp_path / "semi.csv", index=False, sep=";")
    out = run("audit", tmp_path / "semi.csv", *COLUMNS, "--delimiter", ";").out
    assert "--delimiter ';'" in out.splitlines()[-1]
    assert "\\n" not in out
