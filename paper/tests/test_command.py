"""fairpot reproduce: what it lists, runs, leaves out and refuses."""

import json

import pytest
from click.testing import CliRunner

from fairpot.cli._app import app
from fairpot_paper.rerun import reproduce as rerun

pytest.importorskip("xgboost")
pytest.importorskip("torch")
pytest.importorskip("matplotlib")


def call(*arguments, env=None):
    """Run it with one worker: each loads every library."""
    return CliRunner().invoke(app, ["reproduce", "--jobs", "1", *arguments], env=env)


def test_list_says_what_would_be_run():
    result = call("--list", "--only", "bank", "--seeds", "3")
    assert result.exit_code == 0
    assert "runtime" in result.stdout
    assert "synthetic" not in result.stdout
    document = json.loads(call("--list", "--json").stdout)
    assert {part["name"] for part in document["parts"]} == {
        "tradeoff", "partial", "classifiers", "pauc", "edge", "alpha", "runtime",
    }  # fmt: skip


@pytest.mark.slow
def test_all_parts_of_a_data_set(tmp_path):
    out, pages = tmp_path / "out", tmp_path / "docs" / "paper"
    result = call("--quick", "--seeds", "1", "--only", "synthetic", "-o", str(out), "--page", str(pages), "--json")
    assert result.exit_code == 0, result.stderr
    document = json.loads(result.stdout)
    assert (document["failed"], document["missing"]) == ([], {})
    assert document["made"] == 3 + 1 + 11 + 4 + 1 + 1
    assert document["verdict"].startswith("The paper's claims, by half ties: ")
    assert (
        "| [1. Higher AUC than every baseline at every gap](claims.md#claim-1) | " in (pages / "index.md").read_text()
    )
    assert "| cost matrix, `ot.emd` converged | 0." in (pages / "tables.md").read_text()
    for name in ("runtime.csv", "classifiers.csv", "pauc.csv", "verdicts.json", "partial-pooled-strict.svg"):
        assert (pages / name).exists()
    again = rerun(out, quick=True, seeds=1, jobs=1, only=["synthetic"])
    assert (again.trained, again.made, again.kept) == (0, 0, 21)
    before = (pages / "claims.md").read_bytes()
    (pages / "claims.md").unlink()
    assert call("--page", str(pages), "--rewrite").exit_code == 0
    assert (pages / "claims.md").read_bytes() == before


def test_without_the_real_files_the_others_run_and_these_are_named(tmp_path):
    env = {"FAIRPOT_DATA": str(tmp_path / "none"), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    arguments = ["--quick", "--seeds", "1", "--only", "classifiers", "-o", str(tmp_path / "out")]
    result = call(*arguments, "--only", "bank", "--only", "draws", env=env)
    assert result.exit_code == 0, result.stderr
    assert "Bank is left out" in result.stdout
    assert "bank-full.csv" in result.stdout
    assert "11 runs made" in result.stdout
    again = call(*arguments, "--only", "draws", env=env)
    assert "0 models trained, 0 runs made, 11 kept from before" in again.stdout
    nothing = call(*arguments[:-1], str(tmp_path / "other"), "--only", "bank", env=env)
    assert nothing.exit_code == 2
    assert "Traceback" not in nothing.stderr
    assert "bank-full.csv" in nothing.stderr
    assert "--data-dir" in nothing.stderr
    assert not (tmp_path / "other").exists()


def test_a_file_is_no_folder(tmp_path):
    (tmp_path / "file").touch()
    result = call("--quick", "-o", str(tmp_path / "file"))
    assert result.exit_code == 2
    assert "is a file, not a folder" in result.stderr


def test_what_there_is_nothing_to_run_for_is_said_before_anything_is_made(tmp_path):
    out = tmp_path / "out"
    result = call("--quick", "--only", "alpha", "--only", "synthetic", "-o", str(out))
    assert result.exit_code == 2
    assert result.stderr.startswith("error: alpha has no runs on synthetic")
    assert "Hint: another data set, or another part." in result.stderr
    (tmp_path / "page.md").touch()
    for arguments, message in (
        (["--page", str(tmp_path / "page.md")], "page.md is a file, not a folder"),
        (["--page", str(tmp_path), "--rewrite"], "has no verdicts.json, which the pages are written from"),
        (["--rewrite"], "--rewrite needs the folder of the pages"),
    ):
        result = call("--quick", "--only", "classifiers", "-o", str(out), *arguments)
        assert result.exit_code == 2
        assert message in result.stderr
    assert not out.exists()
