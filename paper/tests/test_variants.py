"""The models of the paper for the top of the list: boosted scores, a network, and a network on both."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone

from fairpot.datasets import make_synthetic
from fairpot.metrics import auc
from fairpot_paper.network import PartialAUCClassifier
from fairpot_paper.variants import VARIANTS, InSample, make_variant

pytest.importorskip("torch")
pytest.importorskip("xgboost")


@pytest.fixture(scope="module")
def drawn():
    return make_synthetic(n=900, random_state=0)


@pytest.fixture(scope="module")
def mixed():
    rng = np.random.default_rng(0)
    job = rng.choice(["clerk", "cook", "judge"], 600)
    frame = pd.DataFrame({"age": rng.normal(size=600), "job": job, "income": rng.normal(size=600)})
    y = (rng.random(600) < 1 / (1 + np.exp(1 - frame["age"] - 2 * (job == "cook")))).astype(int)
    frame.loc[::9, "income"] = np.nan
    return frame, y


def quick(name, **options):
    own = {"boosted": {"n_estimators": 10}, "booster": {"max_rounds": 10}}.get(name, {"max_epochs": 6})
    return make_variant(name, alpha=0.3, random_state=0, **own, **options)


@pytest.mark.parametrize("name", VARIANTS)
def test_variants_take_frames(mixed, name):
    frame, y = mixed
    model = quick(name).fit(frame, y)
    scores = model.predict_proba(frame)[:, 1]
    assert auc(y, scores, ties="half") > 0.7
    polars = quick(name).fit(pl.from_pandas(frame), y).predict_proba(pl.from_pandas(frame))[:, 1]
    np.testing.assert_allclose(polars, scores, atol=1e-6)
    new = frame.assign(job="never seen").head(3)
    assert np.isfinite(model.predict_proba(new)).all()
    assert np.array_equal(clone(model).fit(frame, y).predict_proba(frame)[:, 1], scores)


def test_stacked_score_is_out_of_fold_by_default(drawn):
    """The network's first column: on scores of own rows, boosted trees look near perfect."""
    seen = {}

    class Spy(PartialAUCClassifier):
        def fit(self, X, y, sample_weight=None):
            seen["auc"] = auc(y, X[:, 0], ties="half")
            return super().fit(X, y, sample_weight)

    for cv in (5, None):
        model = quick("stacked", cv=cv)
        model.set_params(model__final_estimator=Spy(max_epochs=1))
        model.fit(drawn.data, drawn.target)
        seen[cv] = seen["auc"]
    assert seen[None] > 0.99
    assert seen[5] < 0.85


def test_in_sample_splitter():
    [(train, test)] = InSample().split(np.zeros((4, 1)))
    assert train.tolist() == test.tolist() == [0, 1, 2, 3]
    assert InSample().get_n_splits() == 1


def test_bad_variants():
    with pytest.raises(ValueError, match="'boosted', 'network', 'stacked', 'booster'"):
        make_variant("mlp")
    with pytest.raises(ValueError, match="cv"):
        make_variant("stacked", cv=1)
