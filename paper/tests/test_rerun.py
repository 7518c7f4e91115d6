"""The whole way on small data: killed and gone on with, without the real files, with failures."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time

import numpy as np
import pytest

from fairpot_paper.data_sets import DATA_SETS, make_split, missing_data
from fairpot_paper.outputs import publish, read_frames, read_records, write_outputs
from fairpot_paper.plan import Run, Training, all_trainings, make_plan, trainings_of
from fairpot_paper.rerun import Setting, _run, make_record, records_file, reproduce
from fairpot_paper.workers import Failure

pytest.importorskip("xgboost")
PART = {"quick": True, "seeds": 1, "only": ["synthetic", "tradeoff"]}


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """One run without a stop."""
    folder = tmp_path_factory.mktemp("whole")
    outcome = reproduce(folder, **PART, jobs=1)  # each worker loads every library
    assert (outcome.trained, outcome.made, outcome.kept, outcome.failed) == (3, 3, 0, [])
    return folder


def bytes_of(folder):
    return {path.relative_to(folder): path.read_bytes() for path in sorted(folder.glob("records/*.jsonl"))}


def test_the_plan_is_a_list_of_runs_and_models():
    runs = make_plan()
    assert len(runs) == len(set(runs))
    assert {run.kind for run in runs} == {"tradeoff", "partial", "classifiers", "pauc", "edge", "alpha", "runtime"}
    assert {run.data for run in runs} == set(DATA_SETS)
    assert sum(run.kind == "tradeoff" and run.data == "bank" for run in runs) == 60
    models = all_trainings(runs)
    assert len(models) == len({training.name for training in models})  # one file each
    assert {training for run in runs for training in trainings_of(run)} == set(models)


def test_more_seeds_only_add_to_the_end_of_a_file():
    few, many = (make_plan(seeds, ["classifiers", "bank"]) for seeds in (2, 4))
    assert many[: len(few)] == few


def test_only_names_parts_and_data_sets():
    assert {(run.kind, run.data) for run in make_plan(1, ["pauc", "bank"])} == {("pauc", "bank")}
    with pytest.raises(ValueError, match=r"no part named 'banks'.*\n.*Hint: the parts are tradeoff"):
        make_plan(1, ["banks"])


@pytest.mark.parametrize("seeds", [0, -1, True, 2.0])
def test_seeds_is_a_number_of_splits(seeds, tmp_path):
    with pytest.raises(ValueError, match=r"seeds=.* is no number of splits"):
        reproduce(tmp_path / "out", **PART | {"seeds": seeds})
    assert not (tmp_path / "out").exists()


def test_splits_are_scikit_learns_and_resamples_are_drawn_with_replacement(whole):
    from sklearn.model_selection import train_test_split

    from fairpot_paper.scores import read_scores

    split = make_split("draws", 3)
    assert (len(split.y_train), len(split.y_test)) == (2400, 600)
    rows = train_test_split(np.arange(3000), test_size=0.2, random_state=3)[1]
    from fairpot.datasets import make_synthetic

    assert np.array_equal(split.y_test, make_synthetic(random_state=3).target[rows])
    scored = read_scores(whole, Training("synthetic", 0, "xgboost", None, True))
    once, again = scored.test_tables(2), scored.test_tables(2)
    assert all((a.counts[0].positive == b.counts[0].positive).all() for a, b in zip(once, again))
    assert sum(c.weight.sum() for c in once[0].counts) == len(scored.test)
    assert not np.array_equal(once[0].counts[0].score, once[1].counts[0].score)


def test_quick_takes_fewer_rows_and_the_clinical_split_is_by_date():
    split = make_split("clinical", 0, quick=True)
    assert len(split.y_train) + len(split.y_test) == 4000
    assert make_split("clinical", 5, quick=True).sha256 == split.sha256  # one draw, whatever the seed
    assert make_split("draws", 0, quick=True).sha256 != make_split("draws", 1, quick=True).sha256


def test_records_hold_versions_and_data_and_nothing_about_the_machine(whole):
    [content] = bytes_of(whole).values()
    first = json.loads(content.splitlines()[0])
    assert first["run"] == {"kind": "tradeoff", "data": "synthetic", "seed": 0, "model": "xgboost", "resamples": 0}
    assert first["status"] == "ok"
    assert {"fairpot", "python", "numpy", "xgboost"} <= set(first["versions"])
    assert first["results"]["data_sha256"] == make_split("synthetic", 0, quick=True).sha256
    for word in (socket.gethostname(), str(whole), os.path.expanduser("~") + "/"):
        assert word.encode() not in content


def test_nothing_is_run_twice(whole):
    before = bytes_of(whole)
    outcome = reproduce(whole, **PART)
    assert (outcome.trained, outcome.made, outcome.kept) == (0, 0, 3)
    assert bytes_of(whole) == before


SCRIPT = """
import sys
from fairpot_paper.rerun import reproduce
if __name__ == "__main__":
    reproduce(sys.argv[1], quick=True, seeds=1, jobs=int(sys.argv[2]), only=["synthetic", "tradeoff"])
"""


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
def test_killed_and_started_again_gives_the_same_bytes(whole, tmp_path):
    script = tmp_path / "again.py"
    script.write_text(SCRIPT)
    folder = tmp_path / "stopped"
    for when in ("scores/*.npz", "records/*.jsonl"):  # once among the models, once among the runs
        process = subprocess.Popen([sys.executable, str(script), str(folder), "1"])
        deadline = time.monotonic() + 300
        while process.poll() is None and time.monotonic() < deadline:
            if any(path.stat().st_size for path in folder.glob(when)):
                process.send_signal(signal.SIGKILL)
                break
            time.sleep(0.01)
        assert process.wait() == -signal.SIGKILL  # it was stopped, not done
    [partly] = folder.glob("records/*.jsonl")
    with partly.open("ab") as file:
        file.write(b'{"run": {"kind": "tra')  # and torn in the middle of a line
    reproduce(folder, **PART, jobs=2)
    assert bytes_of(folder) == bytes_of(whole)
    own, other = (sorted(place.glob("scores/*.npz")) for place in (folder, whole))
    assert [path.read_bytes() for path in own] == [path.read_bytes() for path in other]


def test_other_versions_are_not_mixed_in(whole, tmp_path):
    place = tmp_path / "other"
    place.mkdir()
    origin = json.loads((whole / "origin.json").read_text())
    origin["versions"]["numpy"] = "1.0"
    (place / "origin.json").write_text(json.dumps(origin))
    with pytest.raises(ValueError, match=r"numpy 1\.0.*\n.*another folder"):
        reproduce(place, **PART)
    with pytest.raises(ValueError, match=r"holds a quick run.*\n.*another folder"):
        reproduce(whole, only=PART["only"])


def test_missing_data_are_named_with_the_way_to_get_them(tmp_path, monkeypatch):
    monkeypatch.setenv("FAIRPOT_DATA", str(tmp_path / "nowhere"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert missing_data("synthetic") is None
    why = missing_data("bank")
    assert why is not None
    assert "bank-full.csv" in why
    outcome = reproduce(tmp_path / "out", quick=True, only=["classifiers", "bank"])
    assert list(outcome.missing) == ["bank"]
    assert outcome.made == 0


def test_a_model_that_fails_makes_failed_records_that_can_be_made_again(whole, tmp_path):
    run = Run("tradeoff", "synthetic", 0, "xgboost")
    training = trainings_of(run)[0]
    with pytest.raises(RuntimeError, match="synthetic-00-xgboost could not be trained: MemoryError: no room"):
        _run(Setting(whole), {training: Failure("MemoryError", "no room")}, run)
    failed = make_record(
        run, Failure("RuntimeError", "no"), json.loads((whole / "origin.json").read_text())["versions"]
    )
    assert (failed["status"], failed["error"]) == ("failed", {"kind": "RuntimeError", "message": "no"})
    folder = tmp_path / "again"
    (folder / "records").mkdir(parents=True)
    (folder / "scores").symlink_to(whole / "scores")
    lines = (whole / "records" / "tradeoff-synthetic.jsonl").read_text().splitlines()
    records_file(folder, run).write_text("\n".join([json.dumps(failed), *lines[1:]]) + "\n")
    kept = reproduce(folder, **PART)
    assert (kept.made, len(kept.failed)) == (0, 1)
    again = reproduce(folder, **PART, retry=True)
    assert (again.made, again.failed) == (1, [])
    assert sorted(records_file(folder, run).read_text().splitlines()) == sorted(lines)


def test_tables_figures_and_page_are_written_and_published(whole, tmp_path):
    pytest.importorskip("matplotlib")
    written = write_outputs(whole, ["strict"])
    names = {path.name for path in written}
    assert {
        "curves.csv",
        "verdicts.json",
        "claims.md",
        "tradeoff-xgboost-strict.svg",
        "tradeoff-xgboost-strict.png",
    } <= names
    assert all(path.stat().st_size for path in written)
    publish(whole, tmp_path / "docs")
    text = (tmp_path / "docs" / "index.md").read_text()
    assert "fairpot reproduce --quick" in text
    links = re.findall(r"\]\(([^)]+\.svg)\)", text + (tmp_path / "docs" / "figures.md").read_text())
    assert "tradeoff-xgboost-strict.svg" in links
    assert all((tmp_path / "docs" / link).exists() for link in links)
    assert len(read_records(whole)) == 3
    curves = read_frames(whole)["curves"]
    assert set(curves["method"]) >= {"fairpot", "xorder", "limit", "optimal_merge", "wasserstein", "post_logit"}
