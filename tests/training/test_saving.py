"""Files: the same model back, nothing pickled, clear words about a file that is something else."""

import json
import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError

from fairpot.exceptions import ModelFileError
from fairpot.training import PartialAUCBooster, PartialAUCClassifier


def network(X, y, **options):
    pytest.importorskip("torch")
    return PartialAUCClassifier(0.3, max_epochs=2, hidden=(5, 3), random_state=np.int64(4), **options).fit(X, y)


def booster(X, y, **options):
    pytest.importorskip("xgboost")
    return PartialAUCBooster(0.3, max_rounds=4, random_state=4, **options).fit(X, y)


both = pytest.mark.parametrize("make", [network, booster])


@both
def test_round_trip(rows, tmp_path, make):
    X, y, _ = rows
    frame = pd.DataFrame(X, columns=["a", "b", "c", "d"])
    frame.loc[::7, "c"] = np.nan
    model = make(frame, np.where(y == 1, "yes", "no"))
    model.save(tmp_path / "model")
    again = type(model).load(tmp_path / "model")
    assert np.array_equal(again.predict_proba(frame), model.predict_proba(frame))
    assert np.array_equal(again.predict(frame), model.predict(frame))
    assert again.get_params() == model.get_params()
    assert list(again.feature_names_in_) == ["a", "b", "c", "d"]
    assert all(np.array_equal(again.history_[name], model.history_[name]) for name in model.history_)
    again.save(tmp_path / "again")
    assert type(model).load(tmp_path / "again").get_params() == model.get_params()


@both
def test_plain_json(rows, tmp_path, make):
    X, y, _ = rows
    make(X, y).save(tmp_path / "model")
    assert json.loads((tmp_path / "model").read_text())["classes"] == [0, 1]


@both
def test_never_overwrites_unasked(rows, tmp_path, make):
    X, y, _ = rows
    model = make(X, y)
    (tmp_path / "model").write_text("mine")
    with pytest.raises(FileExistsError):
        model.save(tmp_path / "model")
    assert (tmp_path / "model").read_text() == "mine"
    model.save(tmp_path / "model", overwrite=True)
    type(model).load(tmp_path / "model")


@pytest.mark.parametrize("kind", [PartialAUCClassifier, PartialAUCBooster])
def test_not_fitted(kind, tmp_path):
    with pytest.raises(NotFittedError):
        kind().save(tmp_path / "model")
    assert not (tmp_path / "model").exists()


@pytest.mark.parametrize("kind", [PartialAUCClassifier, PartialAUCBooster])
@pytest.mark.parametrize("content", [b"", b"hello", b"[1]", b"{}", b'{"format": "other"}', pickle.dumps({"a": 1})])
def test_other_files(kind, content, tmp_path):
    (tmp_path / "model").write_bytes(content)
    with pytest.raises(ModelFileError, match="Hint"):
        kind.load(tmp_path / "model")


@both
def test_a_file_that_lacks_something(rows, tmp_path, make):
    X, y, _ = rows
    model = make(X, y)
    model.save(tmp_path / "model")
    content = json.loads((tmp_path / "model").read_text())
    for gone in sorted(content.keys() - {"fairpot", "format", "format_version"}):
        (tmp_path / "less").write_text(json.dumps({name: each for name, each in content.items() if name != gone}))
        with pytest.raises(ModelFileError, match=gone):
            type(model).load(tmp_path / "less")


def test_labels_of_own_types(rows, tmp_path):
    X, y, _ = rows
    model = network(X, y)
    model.classes_ = np.array([("a",), ("b",)], dtype=object)
    with pytest.raises(ModelFileError, match="labels"):
        model.save(tmp_path / "model")
    assert not (tmp_path / "model").exists()
