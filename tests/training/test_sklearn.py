"""scikit-learn's manners: estimator checks of both models, pipelines, FairScoreClassifier."""

import numpy as np
import pytest
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import check_estimator

from fairpot import FairPOT, FairScoreClassifier
from fairpot.datasets import make_synthetic
from fairpot.training import PartialAUCBooster, PartialAUCClassifier

pytest.importorskip("torch")
pytest.importorskip("xgboost")

# Repeated rows give the same trees or weights where no batch, no bin and no validation part is drawn.
SMALL = {"learning_rate": 0.02, "hidden": (8,)}
NETWORK = PartialAUCClassifier(0.5, batch_size="full", early_stopping=False, **(SMALL | {"max_epochs": 60}))
BOOSTER = PartialAUCBooster(0.5, max_rounds=20, early_stopping=False)
BATCHES = PartialAUCClassifier(0.5, batch_size=64, **(SMALL | {"learning_rate": 0.05, "max_epochs": 4}))
DRAWN = "rows are drawn for batches and validation: a row of weight 2 is drawn as one row"


@pytest.mark.parametrize(
    ("model", "not_applicable"),
    [(NETWORK, {}), (BOOSTER, {}), (BATCHES, {"check_sample_weight_equivalence_on_dense_data": DRAWN})],
    ids=["network", "booster", "batches"],
)
def test_estimator_checks(model, not_applicable):
    results = check_estimator(model, on_fail=None, on_skip=None)
    failed = {r["check_name"] for r in results if r["status"] == "failed"}
    different = failed ^ set(not_applicable)
    assert not different, [(r["check_name"], r["exception"]) for r in results if r["check_name"] in different]
    assert len([r for r in results if r["status"] == "passed"]) >= 50


@pytest.fixture(scope="module")
def drawn():
    return make_synthetic(n=900, random_state=0)


@pytest.mark.parametrize(
    "model",
    [PartialAUCClassifier(0.3, random_state=0, max_epochs=6), PartialAUCBooster(0.3, random_state=0, max_rounds=10)],
    ids=["network", "booster"],
)
def test_inside_fair_score_classifier(drawn, model):
    model = FairScoreClassifier(model, FairPOT(lam=0.5), cv=3, random_state=0)
    model.fit(drawn.data, drawn.target, sensitive_features=drawn.group)
    adjusted = model.predict_proba(drawn.data, sensitive_features=drawn.group)[:, 1]
    plain = model.estimator_.predict_proba(drawn.data)[:, 1]
    moved = adjusted != plain
    assert 0 < moved.sum() < len(moved)
    assert len(set(np.asarray(drawn.group)[moved])) == 1


def test_inside_other_pipelines(drawn):
    model = make_pipeline(FunctionTransformer(), PartialAUCClassifier(0.3, max_epochs=5, random_state=0))
    scores = cross_val_score(model, drawn.data, drawn.target, cv=3, scoring="roc_auc")
    assert (scores > 0.6).all()
