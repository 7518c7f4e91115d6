"""scikit-learn's manners: estimator checks, pipelines, FairScoreClassifier."""

import numpy as np
import pytest
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import check_estimator

from fairpot import FairPOT, FairScoreClassifier
from fairpot.datasets import make_synthetic
from fairpot_paper.booster import PartialAUCBooster

pytest.importorskip("xgboost")


def test_estimator_checks():
    # Repeated rows give the same trees where no validation part is drawn.
    results = check_estimator(PartialAUCBooster(0.5, max_rounds=20, early_stopping=False), on_fail=None, on_skip=None)
    failed = [(r["check_name"], r["exception"]) for r in results if r["status"] == "failed"]
    assert not failed
    assert len([r for r in results if r["status"] == "passed"]) >= 50


@pytest.fixture(scope="module")
def drawn():
    return make_synthetic(n=900, random_state=0)


def test_inside_fair_score_classifier(drawn):
    model = PartialAUCBooster(0.3, random_state=0, max_rounds=10)
    model = FairScoreClassifier(model, FairPOT(lam=0.5), cv=3, random_state=0)
    model.fit(drawn.data, drawn.target, sensitive_features=drawn.group)
    adjusted = model.predict_proba(drawn.data, sensitive_features=drawn.group)[:, 1]
    plain = model.estimator_.predict_proba(drawn.data)[:, 1]
    moved = adjusted != plain
    assert 0 < moved.sum() < len(moved)
    assert len(set(np.asarray(drawn.group)[moved])) == 1


def test_inside_other_pipelines(drawn):
    model = make_pipeline(FunctionTransformer(), PartialAUCBooster(0.3, max_rounds=5, random_state=0))
    scores = cross_val_score(model, drawn.data, drawn.target, cv=3, scoring="roc_auc")
    assert (scores > 0.6).all()
