"""--high-score-means through commands, settings, map file and JSON."""

from cli.conftest import COLUMNS


def test_what_a_high_score_means_is_carried_from_the_rows_to_the_map(run, csv, tmp_path):
    told = run("audit", csv, *COLUMNS, "--high-score-means", "harm")
    assert "which harms M" in told.out
    assert "--high-score-means harm" in told.out.splitlines()[2]
    fit = ["fit", csv, *COLUMNS, "--max-gap", 0.05, "--json"]
    found = run(*fit, "--high-score-means", "harm", "-o", tmp_path / "m.json")
    assert (found.json["reference"], found.json["columns"]["high_score_means"]) == ("F", "harm")
    assert found.json["fitted"]["checked"]["same_rows"] is True
    assert run(*fit).json["reference"] == "M"
    assert "a high score harms the person" in run("show", tmp_path / "m.json").out
    assert run("show", tmp_path / "m.json", "--json").json["columns"]["high_score_means"] == "harm"
    run("apply", tmp_path / "m.json", csv, "-o", tmp_path / "new.csv")
    wrong = [
        "--map",
        tmp_path / "m.json",
        "--label",
        "outcome",
        "--high-score-means",
        "help",
        "-o",
        tmp_path / "r.html",
    ]
    assert "this is --high-score-means help" in run("report", csv, *wrong, expect=2).err


def test_settings_say_it_and_other_words_are_refused(run, people, tmp_path):
    people.to_csv(tmp_path / "people.csv", index=False)
    audit = ["audit", tmp_path / "people.csv", "--settings", tmp_path / "fairpot.toml"]
    columns = '[columns]\nscore = "risk"\nlabel = "outcome"\ngroup = "sex"\nhigh_score_means = '
    (tmp_path / "fairpot.toml").write_text(columns + '"help"\n')
    assert ", which benefits M:" in run(*audit).out
    (tmp_path / "fairpot.toml").write_text(columns + '"good"\n')
    assert "'good'" in run(*audit, expect=2).err
