"""Scores that run the wrong way, are predictions, or are on another scale."""

import pytest

from cli.conftest import COLUMNS


def test_reversed_scores(run, people, tmp_path):
    people.assign(risk=1 - people["risk"]).to_csv(tmp_path / "low.csv", index=False)
    answer = run("audit", tmp_path / "low.csv", *COLUMNS)
    assert answer.out.startswith("The score ranks the wrong way round: rows with the outcome have lower scores")
    assert "--lower-is-riskier" in answer.out
    people.to_csv(tmp_path / "high.csv", index=False)
    turned = run("audit", tmp_path / "low.csv", *COLUMNS, "--lower-is-riskier", "--json").json
    straight = run("audit", tmp_path / "high.csv", *COLUMNS, "--json").json
    assert turned["auc"] == pytest.approx(straight["auc"])
    assert turned["gap"] == pytest.approx(straight["gap"])


def test_the_hint_for_reversed_scores_does_not_repeat_what_was_said(run, people, tmp_path):
    people.to_csv(tmp_path / "high.csv", index=False)
    answer = run("audit", tmp_path / "high.csv", *COLUMNS, "--lower-is-riskier").out
    assert answer.startswith("The score ranks the wrong way round: rows with the outcome have higher scores")
    assert "leave --lower-is-riskier out" in answer
    assert "say so (--lower-is-riskier" not in answer
    people.assign(risk=1 - people["risk"]).to_csv(tmp_path / "low.csv", index=False)
    straight = run("audit", tmp_path / "low.csv", *COLUMNS).out
    assert "say so (--lower-is-riskier where rows are counted)" in straight
    assert "--positive VALUE" in straight
    assert "-scores" not in straight


def test_predictions_given_as_scores(run, people, tmp_path):
    people.assign(risk=(people["risk"] > 0.4).astype(int)).to_csv(tmp_path / "hard.csv", index=False)
    assert "look like predictions" in run("audit", tmp_path / "hard.csv", *COLUMNS).out


def test_another_scale(run, people, csv, tmp_path):
    run("fit", csv, *COLUMNS, "--lam", 0.5, "-o", tmp_path / "map.json")
    people.assign(risk=people["risk"] * 100).to_csv(tmp_path / "points.csv", index=False)
    command = ["apply", tmp_path / "map.json", tmp_path / "points.csv", "-o", tmp_path / "a.csv"]
    for told in ([], ["--other-scale", "error"]):
        error = run(*command, *told, expect=2).err
        assert "far outside the fitted range" in error
        assert "--other-scale warn lets them through" in error
        assert not (tmp_path / "a.csv").exists()
    assert "far outside the fitted range" in run(*command, "--other-scale", "warn").err
    run("fit", tmp_path / "points.csv", *COLUMNS, "--lam", 0.5, "-o", tmp_path / "points.json")
    assert "a twentieth" in run("apply", tmp_path / "points.json", csv, "-o", tmp_path / "c.csv").err
