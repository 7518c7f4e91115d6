"""Fitted models come back from joblib, cloudpickle, skops and MLflow with the same adjusted scores."""

import io
import re
from pathlib import Path

import cloudpickle
import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

from fairpot import FairPOT, FairScoreClassifier, LogitShift, OptimalMerge
from fairpot.repair.registry import methods

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "deploy-model.md"
RNG = np.random.default_rng(11)
GROUP = RNG.choice(["old", "young", "other"], 500)
Y = RNG.integers(0, 2, 500)
X = pd.DataFrame(RNG.normal(size=(500, 2)) + 0.7 * Y[:, None] + 0.5 * (GROUP == "old")[:, None], columns=["a", "b"])
SCORE = 1 / (1 + np.exp(-X.sum(axis=1).to_numpy()))
pytestmark = pytest.mark.filterwarnings("ignore::fairpot.exceptions.FairpotWarning")


def by_joblib(model):
    kept = io.BytesIO()
    joblib.dump(model, kept)
    return joblib.load(io.BytesIO(kept.getvalue()))


def by_cloudpickle(model):
    return cloudpickle.loads(cloudpickle.dumps(model))


def by_skops(model):
    skops = pytest.importorskip("skops.io")
    kept = skops.dumps(model)
    trusted = skops.get_untrusted_types(data=kept)
    assert all(each.startswith(("fairpot.", "fairpot_paper.")) for each in trusted)
    return skops.loads(kept, trusted=trusted)


WAYS = [by_joblib, by_cloudpickle, by_skops]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("method", methods().values(), ids=lambda method: method.__name__)
def test_repairs_and_maps(way, method):
    two = GROUP != "other"
    model = method().fit(SCORE[two], Y[two], sensitive_features=GROUP[two])
    expected = model.transform(SCORE[two], sensitive_features=GROUP[two])
    for each in (model, model.fair_maps_):
        np.testing.assert_array_equal(way(each).transform(SCORE[two], sensitive_features=GROUP[two]), expected)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    "repair", [FairPOT(max_gap=0.05), FairPOT(0.5, keep="probabilities"), LogitShift(), OptimalMerge(top=0.3)], ids=repr
)
def test_classifiers_of_three_groups(way, repair):
    model = FairScoreClassifier(LogisticRegression(), repair, cv=2, sensitive_features="age", drop_sensitive=True)
    frame = X.assign(age=GROUP)
    again = way(model.fit(frame, Y))
    np.testing.assert_array_equal(again.adjusted_scores(frame), model.adjusted_scores(frame))
    curves = [each.postprocessor_.tradeoff() for each in (again, model)]
    np.testing.assert_array_equal(curves[0].gap, curves[1].gap)


def run_page(parts, folder, monkeypatch, capsys):
    """Run the first parts of the page and require what it shows."""
    monkeypatch.chdir(folder)
    text = "\n".join(PAGE.read_text().split("\n## ")[:parts])
    names = {"__name__": "pasted"}
    for code, shown in re.findall(r"```(?:py|python)\n(.*?)```\n\n```text[ a-z]*\n(.*?)```", text, re.DOTALL):
        exec(compile(code, PAGE.name, "exec"), names)
        assert capsys.readouterr().out == shown


def test_the_page_with_skops(tmp_path, monkeypatch, capsys):
    pytest.importorskip("skops")
    run_page(2, tmp_path, monkeypatch, capsys)


@pytest.mark.slow
@pytest.mark.filterwarnings("default")
def test_the_page_with_mlflow(tmp_path, monkeypatch, capsys):
    """MLflow needs older versions than constraints.txt has: `make mlflow` runs this."""
    monkeypatch.setenv("MLFLOW_DISABLE_TELEMETRY", "true")
    pytest.importorskip("mlflow")
    run_page(3, tmp_path, monkeypatch, capsys)
