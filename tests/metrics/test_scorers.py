from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn import config_context
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_score, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from fairpot import FairPOT, FairScoreClassifier
from fairpot.metrics import (
    GroupScorer,
    auc,
    auc_scorer,
    xauc_gap,
    xauc_gap_scorer,
)

CHOICE = np.random.default_rng(1)
N = 300
GROUP = np.where(CHOICE.random(N) < 0.5, "F", "M")
X = CHOICE.normal(size=(N, 3)) + 0.9 * (GROUP == "M")[:, None]
Y = (X[:, 0] + X[:, 1] + 1.5 * CHOICE.normal(size=N) > 1.5).astype(int)
WEIGHT = CHOICE.integers(1, 4, size=N)
FAIR = FairScoreClassifier(LogisticRegression(), FairPOT(lam=0.6), cv=3)


@pytest.fixture
def routing() -> Any:
    with config_context(enable_metadata_routing=True):
        yield


@pytest.fixture(scope="module")
def model() -> LogisticRegression:
    return LogisticRegression().fit(X, Y)


def test_values_are_those_of_the_metrics_and_gaps_are_negated(model):
    scores = model.predict_proba(X)[:, 1]
    groups = {"sensitive_features": GROUP}
    assert auc_scorer(model, X, Y) == auc(Y, scores)
    assert xauc_gap_scorer(model, X, Y, **groups) == -xauc_gap(Y, scores, **groups)
    assert GroupScorer(auc, top=0.1)(model, X, Y, **groups) == auc(Y, scores, top=0.1)
    assert GroupScorer(auc, top=0.3)(model, X, Y) == auc(Y, scores, top=0.3)
    by_group = {"top": 0.4, "top_of": "group"}
    assert GroupScorer(auc, **by_group)(model, X, Y, **groups) == auc(Y, scores, **by_group, **groups)
    assert GroupScorer(xauc_gap, greater_is_better=False, top=0.5)(model, X, Y, **groups) == -xauc_gap(
        Y, scores, top=0.5, **groups
    )
    weighted = xauc_gap_scorer(model, X, Y, **groups, sample_weight=WEIGHT)
    assert weighted == -xauc_gap(Y, scores, **groups, sample_weight=WEIGHT)


def test_a_scorer_says_how_it_was_made():
    half = GroupScorer(xauc_gap, greater_is_better=False, ties="half")
    assert repr(half) == "GroupScorer(xauc_gap, greater_is_better=False, ties='half')"


def test_decision_values_and_other_labels(model):
    ridge = RidgeClassifier().fit(X, Y)
    assert auc_scorer(ridge, X, Y) == auc(Y, ridge.decision_function(X))
    words = np.array(["no", "yes"])[Y]
    named = LogisticRegression().fit(X, words)
    for y in (words, pd.Series(words), words.tolist()):
        assert auc_scorer(named, X, y) == auc_scorer(model, X, Y)


def test_model_that_takes_groups_gets_them():
    fair = FairScoreClassifier(LogisticRegression()).fit(X, Y, sensitive_features=GROUP)
    adjusted = fair.predict_proba(X, sensitive_features=GROUP)[:, 1]
    expected = -xauc_gap(Y, adjusted, sensitive_features=GROUP)
    assert xauc_gap_scorer(fair, X, Y, sensitive_features=GROUP) == expected
    assert auc_scorer(fair, X, Y, sensitive_features=GROUP) == auc(Y, adjusted)


def test_column_of_the_frame_gives_the_groups(model):
    table = pd.DataFrame(X, columns=list("abc")).assign(sex=GROUP)
    fair = FairScoreClassifier(LogisticRegression(), sensitive_features="sex", drop_sensitive=True).fit(table, Y)
    expected = -xauc_gap(Y, fair.predict_proba(table)[:, 1], sensitive_features=GROUP)
    assert GroupScorer(xauc_gap, greater_is_better=False, column="sex")(fair, table, Y) == expected
    assert xauc_gap_scorer(fair, table, Y, sensitive_features=GROUP) == expected
    by_keyword = FairScoreClassifier(make_pipeline(LogisticRegression())).fit(X, Y, sensitive_features=GROUP)
    assert xauc_gap_scorer(by_keyword, X, Y, sensitive_features=GROUP) == pytest.approx(expected)


@pytest.mark.usefixtures("routing")
@pytest.mark.parametrize("estimator", [LogisticRegression(), FAIR, make_pipeline(StandardScaler(), FAIR)])
def test_cross_validate_routes_the_groups(estimator):
    scoring = {"auc": auc_scorer, "gap": xauc_gap_scorer, "top": GroupScorer(auc, top=0.3)}
    result = cross_validate(estimator, X, Y, cv=3, scoring=scoring, params={"sensitive_features": GROUP})
    alone = cross_val_score(estimator, X, Y, cv=3, scoring=xauc_gap_scorer, params={"sensitive_features": GROUP})
    np.testing.assert_array_equal(result["test_gap"], alone)
    assert (result["test_gap"] < 0).all()
    assert (result["test_auc"] > 0.6).all()
    assert (result["test_top"] > 0).all()


@pytest.mark.usefixtures("routing")
def test_plain_model_is_scored_fold_by_fold():
    result = cross_val_score(
        LogisticRegression(), X, Y, cv=3, scoring=xauc_gap_scorer, params={"sensitive_features": GROUP}
    )
    for value, (train, test) in zip(result, StratifiedKFold(3).split(X, Y)):
        scores = LogisticRegression().fit(X[train], Y[train]).predict_proba(X[test])[:, 1]
        assert value == -xauc_gap(Y[test], scores, sensitive_features=GROUP[test])


@pytest.mark.usefixtures("routing")
def test_search_chooses_the_smallest_gap_and_can_be_nested():
    search = GridSearchCV(FAIR, {"postprocessor__lam": [0.0, 0.6]}, scoring=xauc_gap_scorer, cv=3)
    search.fit(X, Y, sensitive_features=GROUP)
    assert search.best_params_ == {"postprocessor__lam": 0.6}
    assert search.best_score_ == search.cv_results_["mean_test_score"].max()
    assert search.score(X, Y, sensitive_features=GROUP) == xauc_gap_scorer(
        search.best_estimator_, X, Y, sensitive_features=GROUP
    )
    nested = cross_val_score(search, X, Y, cv=2, scoring=xauc_gap_scorer, params={"sensitive_features": GROUP})
    assert (nested < 0).all()


@pytest.mark.usefixtures("routing")
def test_weights_and_aliases_are_requested_on_a_copy():
    scorer = xauc_gap_scorer.set_score_request(sample_weight=True, sensitive_features="sex")
    model = LogisticRegression().set_fit_request(sample_weight=False)
    params = {"sex": GROUP, "sample_weight": WEIGHT}
    result = cross_val_score(model, X, Y, cv=3, scoring=scorer, params=params)
    train, test = next(StratifiedKFold(3).split(X, Y))
    scores = LogisticRegression().fit(X[train], Y[train]).predict_proba(X[test])[:, 1]
    expected = xauc_gap(Y[test], scores, sensitive_features=GROUP[test], sample_weight=WEIGHT[test])
    assert result[0] == -expected
    plain = cross_val_score(
        LogisticRegression(), X, Y, cv=3, scoring=xauc_gap_scorer, params={"sensitive_features": GROUP}
    )
    assert plain[0] != result[0]


def test_own_metric_becomes_a_scorer(model):
    def spread(y_true: Any, y_score: Any, *, sensitive_features: Any) -> float:
        return float(np.ptp([y_score[sensitive_features == g].mean() for g in np.unique(sensitive_features)]))

    assert GroupScorer(spread, greater_is_better=False)(model, X, Y, sensitive_features=GROUP) < 0


def test_errors(model):
    with pytest.raises(TypeError, match=r"got no sensitive_features(.|\n)*Hint(.|\n)*column='sex'"):
        xauc_gap_scorer(model, X, Y)
    with pytest.raises(TypeError, match="X is no frame"):
        GroupScorer(xauc_gap, greater_is_better=False, column="sex")(model, X, Y)
    with pytest.raises(TypeError, match="StandardScaler has no predict_proba or decision_function"):
        auc_scorer(StandardScaler().fit(X), X, Y)
    with pytest.raises(ValueError, match="has 3 classes"):
        auc_scorer(LogisticRegression().fit(X, np.arange(N) % 3), X, Y)
    with pytest.raises(ValueError, match=r"does not know: \[7\]"):
        auc_scorer(model, X, np.where(Y == 1, 7, 0))
