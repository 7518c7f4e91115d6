"""FairScoreClassifier: out-of-fold scores, labels, groups, weights, routing, clusters, and scikit-learn's checks."""

import pickle
from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import sklearn
from joblib import parallel_config
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array, issparse
from sklearn import config_context
from sklearn.base import clone
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.exceptions import NotFittedError, UnsetMetadataPassedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression, RidgeClassifier
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    PredefinedSplit,
    RepeatedStratifiedKFold,
    ShuffleSplit,
    StratifiedGroupKFold,
    StratifiedKFold,
    cross_val_predict,
    cross_validate,
    train_test_split,
)
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.fixes import parse_version

import fairpot
from fairpot import FairPOT, UnseenGroupError, audit
from fairpot.datasets import fetch_compas, make_synthetic
from fairpot.metrics import GroupScorer, auc, auc_scorer, xauc_gap, xauc_gap_scorer
from fairpot.repair import FairScoreClassifier
from fairpot.repair.crossfit import deal_clusters, deal_folds
from fairpot.repair.registry import methods

CHOICE = np.random.default_rng(0)
N = 400
X = CHOICE.normal(size=(N, 3))
GROUP = np.where(CHOICE.random(N) < 0.4, "F", "M")
Y = (X[:, 0] + 0.8 * (GROUP == "M") + CHOICE.normal(size=N) > 0.6).astype(int)


def frame(library: str) -> Any:
    columns = {"a": X[:, 0], "b": X[:, 1], "c": X[:, 2], "sex": GROUP}
    return {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table}[library](columns)


def numbers() -> Any:
    """A model for the frames above: it reads the three numeric columns by name."""
    return make_pipeline(make_column_transformer(("passthrough", ["a", "b", "c"])), LogisticRegression())


@pytest.fixture
def routing() -> Any:
    with config_context(enable_metadata_routing=True):
        yield


# What it computes


@pytest.mark.parametrize("random_state", [None, 3])
def test_map_is_fitted_on_out_of_fold_scores_and_model_on_all_rows(random_state):
    clf = FairScoreClassifier(LogisticRegression(), FairPOT(lam=0.5), cv=4, random_state=random_state)
    clf.fit(X, Y, sensitive_features=GROUP)
    folds = deal_folds(Y * 2 + (GROUP == "M"), 4, random_state)
    scores = cross_val_predict(LogisticRegression(), X, Y, cv=PredefinedSplit(folds), method="predict_proba")[:, 1]
    assert_array_equal(clf.scores_, scores)
    by_hand = FairPOT(lam=0.5).fit(scores, Y, sensitive_features=GROUP)
    model = LogisticRegression().fit(X, Y)
    expected = by_hand.transform(model.predict_proba(X)[:, 1], sensitive_features=GROUP)
    assert_array_equal(clf.estimator_.coef_, model.coef_)
    assert_array_equal(clf.adjusted_scores(X, sensitive_features=GROUP), expected)
    proba = clf.predict_proba(X, sensitive_features=GROUP)
    assert_array_equal(proba[:, 1], expected)
    assert_allclose(proba.sum(axis=1), 1.0)


def test_without_cv_the_model_scores_its_own_training_rows():
    tree = DecisionTreeClassifier(random_state=0)
    in_sample = FairScoreClassifier(tree, cv=None).fit(X, Y, sensitive_features=GROUP)
    out_of_fold = FairScoreClassifier(tree).fit(X, Y, sensitive_features=GROUP)
    assert auc(Y, in_sample.scores_) == 1.0
    assert auc(Y, out_of_fold.scores_, ties="half") < 0.8


@pytest.mark.parametrize("seed", range(2))
def test_folds_hold_every_cell_and_differ_by_one_row_at_most(seed):
    rng = np.random.default_rng(seed)
    strata = rng.integers(0, 6, size=rng.integers(60, 200))
    for random_state in (None, seed):
        folds = deal_folds(strata, 5, random_state)
        counts = np.array([np.bincount(folds[strata == s], minlength=5) for s in range(6)])
        assert np.ptp(counts, axis=1).max() <= 1
        assert np.ptp(counts.sum(axis=0)) <= 1
    assert (deal_folds(strata, 5, 0) != deal_folds(strata, 5, 1)).any()


def test_rare_cell_is_no_obstacle():
    labels, group = Y.copy(), GROUP.copy()
    labels[group == "F"] = 0
    labels[np.flatnonzero(group == "F")[:2]] = 1
    clf = FairScoreClassifier(LogisticRegression()).fit(X, labels, sensitive_features=group)
    assert np.isfinite(clf.scores_).all()


def test_prefit_scores_the_rows_with_the_model_as_it_is():
    model = LogisticRegression().fit(X[:200], Y[:200])
    before = model.coef_.copy()
    given = FairScoreClassifier(model, cv="prefit").fit(X[200:], Y[200:], sensitive_features=GROUP[200:])
    frozen = FairScoreClassifier(FrozenEstimator(model), cv=5).fit(X[200:], Y[200:], sensitive_features=GROUP[200:])
    assert given.estimator_ is model
    assert_array_equal(model.coef_, before)
    assert_array_equal(given.scores_, model.predict_proba(X[200:])[:, 1])
    assert_array_equal(
        given.predict_proba(X, sensitive_features=GROUP), frozen.predict_proba(X, sensitive_features=GROUP)
    )


def test_splitters_and_iterables():
    splitter = StratifiedKFold(3, shuffle=True, random_state=0)
    by_splitter = FairScoreClassifier(LogisticRegression(), cv=splitter).fit(X, Y, sensitive_features=GROUP)
    by_list = FairScoreClassifier(LogisticRegression(), cv=list(splitter.split(X, Y)))
    assert_array_equal(by_splitter.scores_, by_list.fit(X, Y, sensitive_features=GROUP).scores_)


def test_rows_that_no_fold_tests_are_left_out_of_the_map():
    clf = FairScoreClassifier(LogisticRegression(), cv=ShuffleSplit(1, test_size=0.5, random_state=0))
    clf.fit(X, Y, sensitive_features=GROUP)
    tested = ~np.isnan(clf.scores_)
    assert tested.sum() == N // 2
    by_hand = FairPOT().fit(clf.scores_[tested], Y[tested], sensitive_features=GROUP[tested])
    assert_array_equal(clf.postprocessor_.maps_["F"].values, by_hand.maps_["F"].values)


@pytest.mark.parametrize("kind", methods().values(), ids=methods())
def test_works_with_every_postprocessor(kind):
    clf = FairScoreClassifier(LogisticRegression(), kind(), cv=2).fit(X, Y, sensitive_features=GROUP)
    proba = clf.predict_proba(X, sensitive_features=GROUP)
    expected = clf.postprocessor_.transform(clf.estimator_.predict_proba(X)[:, 1], sensitive_features=GROUP)
    assert_array_equal(proba[:, 1], np.clip(expected, 0, 1))


def test_tradeoff_of_the_fitted_map_needs_no_further_fit():
    clf = FairScoreClassifier(LogisticRegression(), FairPOT(lam=0.0)).fit(X, Y, sensitive_features=GROUP)
    curve = clf.postprocessor_.tradeoff()
    assert curve.at(0.0).gap == pytest.approx(xauc_gap(Y, clf.scores_, sensitive_features=GROUP))


def test_more_than_two_groups_and_folds_at_the_same_time():
    group = np.array(["a", "b", "c"])[np.arange(N) % 3]
    alone = FairScoreClassifier(LogisticRegression()).fit(X, Y, sensitive_features=group)
    with parallel_config(backend="threading"):
        together = FairScoreClassifier(LogisticRegression(), n_jobs=2).fit(X, Y, sensitive_features=group)
    assert alone.postprocessor_.groups_ == ("a", "b", "c")
    assert_array_equal(alone.scores_, together.scores_)


# Labels, thresholds, decision values


@pytest.mark.parametrize(
    ("labels", "library"),
    [(np.array(["no", "yes"]), "polars"), (np.array([False, True]), "pandas"), (np.array([-1.0, 1.0]), "numpy")],
)
def test_any_two_labels(labels, library):
    y = {"numpy": np.asarray, "pandas": pd.Series, "polars": pl.Series}[library](labels[Y])
    named = None if labels.dtype == bool else labels[1]
    clf = FairScoreClassifier(LogisticRegression(), pos_label=named).fit(X, y, sensitive_features=GROUP)
    as_numbers = FairScoreClassifier(LogisticRegression()).fit(X, Y, sensitive_features=GROUP)
    assert_array_equal(clf.classes_, labels)
    predicted = clf.predict(X, sensitive_features=GROUP)
    assert_array_equal(predicted, labels[as_numbers.predict(X, sensitive_features=GROUP)])
    assert clf.score(X, y, sensitive_features=GROUP) == np.mean(predicted == labels[Y])


@pytest.mark.parametrize("model", [LogisticRegression(), RidgeClassifier()])
def test_the_first_label_can_be_the_positive_one(model):
    """ "bad" comes before "good": as the outcome it has the scores, the reference and the map of 1."""
    y = np.where(Y == 1, "bad", "good")
    clf = FairScoreClassifier(model, FairPOT(lam=0.6), pos_label="bad").fit(X, y, sensitive_features=GROUP)
    plain = FairScoreClassifier(model, FairPOT(lam=0.6)).fit(X, Y, sensitive_features=GROUP)
    assert (clf.classes_.tolist(), clf.pos_label_, plain.pos_label_) == (["bad", "good"], "bad", 1)
    assert clf.postprocessor_.reference_ == plain.postprocessor_.reference_
    assert_allclose(clf.scores_, plain.scores_, atol=1e-3)  # the solver comes from the other side
    assert_allclose(*(m.adjusted_scores(X, sensitive_features=GROUP) for m in (clf, plain)), atol=1e-3)
    agree = (clf.predict(X, sensitive_features=GROUP) == "bad") == plain.predict(X, sensitive_features=GROUP)
    assert agree.mean() > 0.99
    flagged = clf.predict(X, sensitive_features=GROUP) == "bad"
    if hasattr(clf, "predict_proba"):
        own = clf.predict_proba(X, sensitive_features=GROUP)
        assert_array_equal(own[:, 0] >= 0.5, flagged)
        assert_allclose(own.sum(axis=1), 1)
    else:
        assert_array_equal(clf.decision_function(X, sensitive_features=GROUP) <= 0, flagged)
    for scorer in (auc_scorer, xauc_gap_scorer, GroupScorer(auc, top=0.3)):
        own, other = (scorer(m, X, t, sensitive_features=GROUP) for m, t in ((clf, y), (plain, Y)))
        assert own == pytest.approx(other, abs=0.01)


@pytest.mark.parametrize(
    "labels", [np.array(["good", "bad"]), np.array([1, 2]), np.array([-1, 1]), np.array(["0", "1"])]
)
def test_which_label_is_positive_is_not_guessed(labels):
    """The refusal is that of audit, for the very labels that it refuses."""
    y = labels[Y]
    with pytest.raises(ValueError, match="pos_label") as told:
        FairScoreClassifier(LogisticRegression()).fit(X, y, sensitive_features=GROUP)
    with pytest.raises(ValueError, match="pos_label") as expected:
        audit(y, X[:, 0], sensitive_features=GROUP)
    assert str(told.value) == str(expected.value).replace("y_true", "y")
    with pytest.raises(ValueError, match="'maybe'"):
        FairScoreClassifier(LogisticRegression(), pos_label="maybe").fit(X, y, sensitive_features=GROUP)
    fitted = LogisticRegression().fit(X, y)
    with pytest.raises(ValueError, match="pos_label"):
        FairScoreClassifier(fitted, cv="prefit").fit(X, y, sensitive_features=GROUP)
    first = FairScoreClassifier(fitted, cv="prefit", pos_label=labels[0]).fit(X, y, sensitive_features=GROUP)
    assert_array_equal(first.scores_, fitted.predict_proba(X)[:, fitted.classes_.tolist().index(labels[0])])


def test_threshold_is_inclusive():
    clf = FairScoreClassifier(LogisticRegression()).fit(X, Y, sensitive_features=GROUP)
    scores = clf.adjusted_scores(X, sensitive_features=GROUP)
    assert_array_equal(clf.predict(X, sensitive_features=GROUP), scores >= 0.5)
    clf.set_params(threshold=float(scores[7]))
    assert clf.predict(X, sensitive_features=GROUP)[7] == 1


def test_decision_values_are_no_probabilities():
    ridge = FairScoreClassifier(RidgeClassifier()).fit(X, Y, sensitive_features=GROUP)
    assert not hasattr(ridge, "predict_proba")
    values = ridge.decision_function(X, sensitive_features=GROUP)
    assert values.min() < 0
    assert_array_equal(ridge.predict(X, sensitive_features=GROUP), values >= 0)
    assert not hasattr(FairScoreClassifier(LogisticRegression()), "decision_function")


def test_a_kind_of_score_that_is_not_there():
    with pytest.raises(AttributeError, match="no attribute 'decision_function'"):
        FairScoreClassifier(LogisticRegression()).decision_function(X, sensitive_features=GROUP)
    assert not hasattr(FairScoreClassifier(LinearRegression()), "predict_proba")
    assert "adjusted probabilities" in FairScoreClassifier.predict_proba.__doc__


def test_probabilities_are_clipped_only_where_a_postprocessor_goes_beyond():
    class Shift(FairPOT):
        def transform(self, scores: Any, *, sensitive_features: Any) -> Any:
            return super().transform(scores, sensitive_features=sensitive_features) + 0.5

    clf = FairScoreClassifier(LogisticRegression(), Shift()).fit(X, Y, sensitive_features=GROUP)
    assert clf.adjusted_scores(X, sensitive_features=GROUP).max() > 1
    assert clf.predict_proba(X, sensitive_features=GROUP).max() == 1


# Groups from columns


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_column_of_the_frame_gives_the_groups(library):
    data = frame(library)
    model = make_pipeline(
        FunctionTransformer(lambda rows: nw.from_native(rows).select("a", "b", "c").to_numpy()), LogisticRegression()
    )
    by_column = FairScoreClassifier(model, sensitive_features="sex").fit(data, Y)
    by_keyword = FairScoreClassifier(model).fit(data, Y, sensitive_features=GROUP)
    assert_array_equal(by_column.predict_proba(data), by_keyword.predict_proba(data, sensitive_features=GROUP))
    assert by_column.n_features_in_ == 4
    if library != "pyarrow":
        assert list(by_column.feature_names_in_) == ["a", "b", "c", "sex"]


def test_pyarrow_weights_and_rows_of_a_plain_model():
    numbers = pa.table({"a": X[:, 0], "b": X[:, 1], "c": X[:, 2]})
    weight = CHOICE.integers(1, 4, N)
    fits = [
        FairScoreClassifier(LogisticRegression(), FairPOT(0.4)).fit(rows, Y, sensitive_features=GROUP, sample_weight=w)
        for rows, w in ((X, weight), (numbers, pa.array(weight)))
    ]
    assert_allclose(fits[0].scores_, fits[1].scores_, rtol=1e-6)


def test_several_columns_form_intersections():
    data = frame("pandas").assign(old=np.arange(N) % 2)
    clf = FairScoreClassifier(numbers(), sensitive_features=["sex", "old"]).fit(data, Y)
    assert clf.postprocessor_.groups_ == ("sex=F, old=0", "sex=F, old=1", "sex=M, old=0", "sex=M, old=1")
    assert clf.predict(data).shape == (N,)


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_drop_sensitive_keeps_the_column_from_the_model(library):
    data = frame(library)
    clf = FairScoreClassifier(LogisticRegression(), sensitive_features="sex", drop_sensitive=True).fit(data, Y)
    assert list(clf.estimator_.feature_names_in_) == ["a", "b", "c"]
    plain = FairScoreClassifier(LogisticRegression()).fit(X, Y, sensitive_features=GROUP)
    assert_allclose(clf.predict_proba(data), plain.predict_proba(X, sensitive_features=GROUP))


@pytest.mark.parametrize("library", ["list", "pandas", "polars", "pyarrow"])
def test_groups_in_any_container(library):
    make = {"list": list, "pandas": pd.Series, "polars": pl.Series, "pyarrow": pa.array}[library]
    clf = FairScoreClassifier(LogisticRegression()).fit(X, Y, sensitive_features=make(GROUP.tolist()))
    again = clf.predict_proba(X[:5], sensitive_features=make(GROUP[:5].tolist()))
    assert_array_equal(again, clf.predict_proba(X[:5], sensitive_features=GROUP[:5]))


# Weights and other arguments of fit


def test_weights_reach_the_model_and_the_map():
    weight = CHOICE.integers(1, 4, size=N)
    plain = FairScoreClassifier(LogisticRegression(), cv=None)
    piped = FairScoreClassifier(make_pipeline(StandardScaler(with_mean=False, with_std=False), LogisticRegression()))
    repeated = np.repeat(np.arange(N), weight)
    expected = clone(plain).fit(X[repeated], Y[repeated], sensitive_features=GROUP[repeated])
    for clf in (plain, clone(piped).set_params(cv=None)):
        clf.fit(X, Y, sensitive_features=GROUP, sample_weight=weight)
        assert_allclose(
            clf.predict_proba(X, sensitive_features=GROUP),
            expected.predict_proba(X, sensitive_features=GROUP),
            atol=1e-3,
        )
        assert clf.postprocessor_.table_.positives.sum() == weight[Y == 1].sum()
    piped.fit(X, Y, sensitive_features=GROUP, sample_weight=weight.tolist())
    assert np.isfinite(piped.scores_).all()


def test_model_without_weights_warns():
    with pytest.warns(UserWarning, match="takes no sample_weight"):
        FairScoreClassifier(KNeighborsClassifier()).fit(X, Y, sensitive_features=GROUP, sample_weight=np.ones(N))


def test_other_arguments_reach_the_model_cut_to_the_fold():
    weight = np.where(Y == 1, 2.0, 1.0)
    pipe = make_pipeline(StandardScaler(), LogisticRegression())
    clf = FairScoreClassifier(pipe).fit(X, Y, sensitive_features=GROUP, logisticregression__sample_weight=weight)
    heavier = FairScoreClassifier(pipe).fit(X, Y, sensitive_features=GROUP)
    assert clf.scores_.mean() > heavier.scores_.mean()


def test_sparse_features():
    dense = FairScoreClassifier(LogisticRegression()).fit(X, Y, sensitive_features=GROUP)
    sparse = FairScoreClassifier(LogisticRegression()).fit(csr_array(X), Y, sensitive_features=GROUP)
    assert_allclose(dense.scores_, sparse.scores_, atol=1e-4)


# Inside scikit-learn's tools


def test_clone_pickle_and_repr():
    clf = FairScoreClassifier(LogisticRegression(C=2), FairPOT(lam=0.3), cv=3, threshold=0.4)
    copy = clone(clf)
    assert copy.get_params()["postprocessor__lam"] == 0.3
    assert copy.get_params()["estimator__C"] == 2
    assert not hasattr(copy, "estimator_")
    clf.fit(X, Y, sensitive_features=GROUP)
    back = pickle.loads(pickle.dumps(clf))
    assert_array_equal(back.predict_proba(X, sensitive_features=GROUP), clf.predict_proba(X, sensitive_features=GROUP))
    assert "FairPOT" in repr(clf)
    assert "FairPOT" in clf._repr_html_()


@pytest.mark.usefixtures("routing")
def test_pipeline_passes_the_groups_on():
    pipe = make_pipeline(StandardScaler(), FairScoreClassifier(LogisticRegression()))
    pipe.fit(X, Y, sensitive_features=GROUP)
    alone = FairScoreClassifier(LogisticRegression())
    scaled = StandardScaler().fit_transform(X)
    alone.fit(scaled, Y, sensitive_features=GROUP)
    assert_array_equal(
        pipe.predict_proba(X, sensitive_features=GROUP), alone.predict_proba(scaled, sensitive_features=GROUP)
    )
    assert_array_equal(pipe.predict(X, sensitive_features=GROUP), alone.predict(scaled, sensitive_features=GROUP))
    assert pipe.score(X, Y, sensitive_features=GROUP) == alone.score(scaled, Y, sensitive_features=GROUP)


@pytest.mark.usefixtures("routing")
@pytest.mark.parametrize("piped", [False, True])
def test_cross_validate_with_groups_by_keyword(piped):
    clf = FairScoreClassifier(LogisticRegression(), FairPOT(lam=0.6))
    model = make_pipeline(StandardScaler(), clf) if piped else clf
    scoring = {"auc": auc_scorer, "gap": xauc_gap_scorer}
    result = cross_validate(model, X, Y, cv=3, scoring=scoring, params={"sensitive_features": GROUP})
    for k, (train, test) in enumerate(StratifiedKFold(3).split(X, Y)):
        fitted = clone(model).fit(X[train], Y[train], sensitive_features=GROUP[train])
        scores = fitted.predict_proba(X[test], sensitive_features=GROUP[test])[:, 1]
        assert result["test_auc"][k] == auc(Y[test], scores)
        assert result["test_gap"][k] == -xauc_gap(Y[test], scores, sensitive_features=GROUP[test])


def test_cross_validate_with_a_column_needs_no_routing():
    data = frame("pandas")
    clf = FairScoreClassifier(numbers(), sensitive_features="sex")
    by_column = cross_validate(clf, data, Y, cv=3, scoring=GroupScorer(xauc_gap, greater_is_better=False, column="sex"))
    assert (by_column["test_score"] <= 0).all()
    with config_context(enable_metadata_routing=True):
        mixed = cross_validate(clf, data, Y, cv=3, scoring=xauc_gap_scorer, params={"sensitive_features": GROUP})
    assert_array_equal(mixed["test_score"], by_column["test_score"])


@pytest.mark.usefixtures("routing")
def test_requests_can_be_changed():
    clf = FairScoreClassifier(LogisticRegression())
    for method in ("fit", "predict", "predict_proba", "score"):
        getattr(clf, f"set_{method}_request")(sensitive_features="sex")
    pipe = make_pipeline(StandardScaler(), clf).fit(X, Y, sex=GROUP)
    assert pipe.predict_proba(X, sex=GROUP).shape == (N, 2)


@pytest.mark.usefixtures("routing")
def test_weights_and_splitting_groups_are_routed_as_requested():
    weight, patient = np.ones(N), np.arange(N) // 4
    with pytest.raises(UnsetMetadataPassedError, match="sample_weight"):
        FairScoreClassifier(LogisticRegression()).fit(X, Y, sensitive_features=GROUP, sample_weight=weight)
    model = LogisticRegression().set_fit_request(sample_weight=True)
    clf = FairScoreClassifier(model, cv=GroupKFold(4)).fit(
        X, Y, sensitive_features=GROUP, sample_weight=weight, groups=patient
    )
    by_hand = list(GroupKFold(4).split(X, Y, patient))
    listed = FairScoreClassifier(LogisticRegression(), cv=by_hand).fit(X, Y, sensitive_features=GROUP)
    assert_allclose(clf.scores_, listed.scores_)


def test_grid_search_on_compas_as_a_user_writes_it(data_home):
    compas = fetch_compas(data_home=data_home)
    X_train, X_new, y_train, y_new, g_train, g_new = train_test_split(
        compas.data, compas.target, compas.group, test_size=0.3, random_state=0
    )
    texts = make_column_selector(dtype_exclude="number")
    levels = make_column_transformer((OneHotEncoder(handle_unknown="ignore"), texts), remainder=StandardScaler())
    model = make_pipeline(levels, LogisticRegression(max_iter=1000))
    clf = FairScoreClassifier(model, FairPOT(), cv=2, random_state=0)
    grid = {"postprocessor__lam": [0.0, 0.3, 0.6], "estimator__logisticregression__C": [1.0]}
    with config_context(enable_metadata_routing=True):
        search = GridSearchCV(clf, grid, scoring={"auc": auc_scorer, "gap": xauc_gap_scorer}, refit="gap", cv=2)
        search.fit(X_train, y_train, sensitive_features=g_train)
    gaps = -search.cv_results_["mean_test_gap"]
    assert gaps[0] > 0.15
    assert search.best_params_["postprocessor__lam"] == 0.6
    assert search.cv_results_["mean_test_auc"].min() > 0.7
    best = search.best_estimator_
    before = xauc_gap(y_new, best.estimator_.predict_proba(X_new)[:, 1], sensitive_features=g_new)
    adjusted = best.predict_proba(X_new, sensitive_features=g_new)[:, 1]
    assert xauc_gap(y_new, adjusted, sensitive_features=g_new) < before / 2


def test_grid_search_by_column_needs_no_routing():
    data = make_synthetic(n=600, random_state=1)
    table = pd.DataFrame(np.asarray(data.data), columns=list("abcde")).assign(site=data.group)
    clf = FairScoreClassifier(LogisticRegression(), FairPOT(), sensitive_features="site", drop_sensitive=True, cv=3)
    search = GridSearchCV(
        clf,
        {"postprocessor__lam": [0.0, 1.0]},
        scoring=GroupScorer(xauc_gap, greater_is_better=False, column="site"),
        cv=3,
    ).fit(table, data.target)
    assert search.predict_proba(table).shape == (600, 2)


# Errors


def fails(clf: FairScoreClassifier, kind: type[Exception], match: str, **changes: Any) -> None:
    given = {"X": X, "y": Y, "sensitive_features": GROUP} | changes
    with pytest.raises(kind, match=match):
        clf.fit(**given)


def test_groups_must_be_given_in_exactly_one_way():
    fails(
        FairScoreClassifier(LogisticRegression()),
        TypeError,
        r"missing(.|\n)*Hint: inside scikit-learn name",
        sensitive_features=None,
    )
    named = FairScoreClassifier(numbers(), sensitive_features="sex")
    fails(named, TypeError, r"given twice(.|\n)*Hint", X=frame("pandas"))
    fails(named, TypeError, r"X is no frame: ndarray(.|\n)*Hint", sensitive_features=None)
    fitted = FairScoreClassifier(LogisticRegression()).fit(X, Y, sensitive_features=GROUP)
    with pytest.raises(TypeError, match="sensitive_features is missing"):
        fitted.predict_proba(X)
    with pytest.raises(UnseenGroupError, match="not seen in fit"):
        fitted.predict(X[:2], sensitive_features=["F", "X"])


def test_columns_must_be_there():
    unknown = FairScoreClassifier(numbers(), sensitive_features="gender")
    fails(
        unknown,
        ValueError,
        r"no column 'gender' \(columns: 'a', 'b', 'c', 'sex'\)",
        X=frame("polars"),
        sensitive_features=None,
    )
    fails(FairScoreClassifier(numbers(), sensitive_features=GROUP), TypeError, r"name of a column(.|\n)*Hint")
    fails(FairScoreClassifier(numbers(), drop_sensitive=True), ValueError, r"names none(.|\n)*Hint")


def test_models_without_scores_or_with_other_targets():
    fails(FairScoreClassifier(LinearRegression()), TypeError, r"has no predict_proba or decision_function(.|\n)*Hint")
    plain = FairScoreClassifier(LogisticRegression())
    fails(plain, ValueError, r"Only binary(.|\n)*3 classes(.|\n)*Hint", y=np.arange(N) % 3)
    fails(plain, ValueError, "one class, 0, in all 400 rows", y=np.zeros(N, dtype=int))
    fails(plain, ValueError, "y is empty", X=X[:0], y=Y[:0], sensitive_features=GROUP[:0])
    fails(plain, ValueError, "zero in every row of the positive class", sample_weight=1 - Y)


def test_prefit_errors():
    fails(
        FairScoreClassifier(LogisticRegression(), cv="prefit"), NotFittedError, r"is not fitted(.|\n)*FrozenEstimator"
    )
    fails(FairScoreClassifier(FrozenEstimator(LogisticRegression())), NotFittedError, "is not fitted")
    three = LogisticRegression().fit(X, np.arange(N) % 3)
    fails(FairScoreClassifier(three, cv="prefit"), ValueError, "has 3 classes")
    fitted = LogisticRegression().fit(X, Y)
    fails(FairScoreClassifier(fitted, cv="prefit"), ValueError, r"does not know: \[2\]", y=Y + 1)


def test_folds_must_fit():
    few = np.zeros(N, dtype=int)
    few[:3] = 1
    fails(FairScoreClassifier(LogisticRegression()), ValueError, r"one class has 3(.|\n)*Hint: fewer", y=few)
    order = np.argsort(Y, kind="stable")
    halves = [(order[:100], order[100:]), (order[100:], order[:100])]
    fails(FairScoreClassifier(LogisticRegression(), cv=halves), ValueError, r"fold 0 (.|\n)*single class(.|\n)*Hint")
    repeated = RepeatedStratifiedKFold(n_splits=2, n_repeats=2)
    fails(FairScoreClassifier(LogisticRegression(), cv=repeated), ValueError, r"more than once(.|\n)*Hint")
    for cv in (1, True, 2.5, "later"):
        fails(FairScoreClassifier(LogisticRegression(), cv=cv), ValueError, "cv must be")


def test_odd_parameters():
    fails(FairScoreClassifier(LogisticRegression(), FairPOT), TypeError, "postprocessor must be")
    fails(FairScoreClassifier(LogisticRegression(), threshold="high"), ValueError, "threshold must be")


def test_not_fitted():
    with pytest.raises(NotFittedError):
        FairScoreClassifier(LogisticRegression()).predict(X, sensitive_features=GROUP)


# scikit-learn's own checks


class GroupsFromFeatures(FairScoreClassifier):
    """Take the groups from the features, and the second label for the positive one, since the checks name none."""

    def fit(self, X: Any, y: Any, *, sample_weight: Any = None) -> Any:  # type: ignore[override]
        return super().fit(X, y, sensitive_features=derived(X), sample_weight=sample_weight)

    def _find_positive(self, labels: Any) -> Any:
        return self.classes_[1]

    def adjusted_scores(self, X: Any, *, sensitive_features: Any = None) -> Any:
        return super().adjusted_scores(X, sensitive_features=derived(X))


def derived(X: Any) -> Any:
    """Return a group that depends on the row alone, and is there for malformed features too."""
    values = X.toarray() if issparse(X) else np.asarray(X)
    if values.ndim != 2 or values.shape[1] == 0:
        return np.arange(values.shape[0]) % 2
    clean = np.nan_to_num(np.real(values).astype(float), posinf=0, neginf=0)
    return (np.floor(clean.sum(axis=1) + 10 * clean[:, 0]) % 2).astype(int)


class SteadyRidge(RidgeClassifier):
    """Give a row that is repeated the same score each time.

    Linear algebra may give it other last bits at another place of the matrix; the tie, which counts, would be lost.
    """

    def decision_function(self, X: Any) -> Any:
        return super().decision_function(X).round(10)


# The reference is named because a derived group may have no positives in the checks' tiny tables.
CHECKED = [
    GroupsFromFeatures(model, FairPOT(lam=0.5, reference=0), cv=cv)
    for model, cv in [(LogisticRegression(), None), (SteadyRidge(), 2)]
]


def wrong_checks(estimator: Any) -> dict[str, str]:
    """Name the checks that are wrong themselves."""
    if parse_version(sklearn.__version__) >= parse_version("1.7"):
        return {}
    reason = "makes two classes of three by the first row, which is another one after shuffling"
    return {f"check_sample_weight_equivalence_on_{kind}_data": reason for kind in ("dense", "sparse")}


@parametrize_with_checks(CHECKED, expected_failed_checks=wrong_checks)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def test_folds_that_test_what_they_train_on_are_refused():
    rows = np.arange(len(Y))
    leaking = [(rows, rows[k::4]) for k in range(4)]
    with pytest.raises(ValueError, match=r"fold 0 of cv tests \d+ of the rows it trains on"):
        FairScoreClassifier(LogisticRegression(), cv=leaking).fit(X, Y, sensitive_features=GROUP)


# Rows that belong together


def visits(people: int = 150, seed: int = 2) -> dict[str, Any]:
    """Visits of patients: the outcome is the patient's, and so is a number that gives it away."""
    rng = np.random.default_rng(seed)
    times = rng.integers(1, 6, people)
    patient = np.repeat(np.arange(people), times)
    sex, risk = np.array(["F", "M"])[rng.integers(0, 2, people)], rng.normal(size=people)
    ill = (risk + 0.5 * (sex == "M") + rng.normal(size=people) > 0.4).astype(int)
    seen = risk[patient] + 0.3 * rng.normal(size=len(patient))
    return {
        "X": np.column_stack([seen, rng.permutation(people)[patient]]),
        "y": ill[patient],
        "sensitive_features": sex[patient],
        "clusters": np.char.add("p", patient.astype(str)),
    }


def test_the_out_of_fold_score_of_a_patient_knows_nothing_of_the_patient():
    """A model that knows patients by heart ranks rows perfectly, unless no patient is on both sides of a fold."""
    rows = visits()
    by_heart = make_pipeline(FunctionTransformer(lambda X: X[:, 1:]), KNeighborsClassifier(1))
    apart, mixed = (
        FairScoreClassifier(by_heart, FairPOT(0.5), random_state=0).fit(**{**rows, "clusters": known})
        for known in (rows["clusters"], None)
    )
    assert auc(rows["y"], mixed.scores_) > 0.85
    assert abs(auc(rows["y"], apart.scores_) - 0.5) < 0.1


@pytest.mark.parametrize("random_state", [None, 0, 5])
def test_clusters_are_dealt_whole_and_evenly(random_state):
    rows = visits(173)
    unit = np.unique(rows["clusters"], return_inverse=True)[1]
    codes = (rows["sensitive_features"] == "M").astype(int)
    fold = deal_clusters(unit, rows["y"], codes, 4, random_state)
    assert len(np.unique(np.column_stack([unit, fold]), axis=0)) == 173
    for stratum in range(4):
        own = np.unique(unit[2 * codes + rows["y"] == stratum])
        shares = np.bincount(fold[[np.flatnonzero(unit == u)[0] for u in own]], minlength=4)
        assert shares.max() - shares.min() <= 1
    sizes = np.bincount(fold, minlength=4)
    assert sizes.max() - sizes.min() < 0.1 * len(unit)
    assert (fold != deal_clusters(unit, rows["y"], codes, 4, 77)).any()


@pytest.mark.parametrize("weights", [None, "importance"])
def test_the_certificate_is_that_of_the_map_given_the_same_scores_and_clusters(weights):
    rows = visits(500)
    told = {"sample_weight": 1 + np.arange(len(rows["y"])) % 3 / 2, "weights": weights}
    rule = FairPOT(max_gap=0.3, confidence=0.9)
    clf = FairScoreClassifier(LogisticRegression(), rule, random_state=1).fit(**rows, **told)
    known = {name: rows[name] for name in ("sensitive_features", "clusters")} | told
    alone = clone(rule).fit(clf.scores_, rows["y"], **known)
    assert clf.postprocessor_.certificate_.to_dict() == alone.certificate_.to_dict()
    assert clf.postprocessor_.lam_ == alone.lam_
    without = clone(rule).fit(clf.scores_, rows["y"], **{**known, "clusters": None})
    assert without.certificate_.gap.high < alone.certificate_.gap.high


def test_clusters_are_routed(routing):
    rows = visits()
    clf = FairScoreClassifier(LogisticRegression(), FairPOT(0.5), random_state=0)
    split = StratifiedGroupKFold(3)
    params = {"sensitive_features": rows["sensitive_features"], "clusters": rows["clusters"]}
    found = cross_validate(
        clf, rows["X"], rows["y"], cv=split, params={**params, "groups": rows["clusters"]}, return_estimator=True
    )
    for fitted, (train, _) in zip(found["estimator"], split.split(rows["X"], rows["y"], rows["clusters"])):
        part = {name: column[train] for name, column in rows.items()}
        assert_array_equal(fitted.scores_, clone(clf).fit(**part).scores_)
        assert (clone(clf).fit(**{**part, "clusters": None}).scores_ != fitted.scores_).any()
    assert set(clf.get_metadata_routing()._self_request.fit.requests) >= {"sensitive_features", "clusters"}


def test_a_splitter_that_parts_clusters_is_refused(routing):
    rows = visits()
    with pytest.raises(ValueError, match=r"fold 0 of cv trains on rows of \d+ clusters it tests"):
        FairScoreClassifier(LogisticRegression(), cv=StratifiedKFold(3)).fit(**rows)
    whole = FairScoreClassifier(LogisticRegression(), cv=StratifiedGroupKFold(3))
    assert np.isfinite(whole.fit(**rows, groups=rows["clusters"]).scores_).all()


def test_clusters_that_cannot_be_dealt():
    rows = visits()
    few = np.where(rows["y"] == 1, "one", rows["clusters"])
    with pytest.raises(ValueError, match="cv=5 needs at least 5 clusters of each class of y, but one class has 1"):
        FairScoreClassifier(LogisticRegression()).fit(**{**rows, "clusters": few})
    with pytest.raises(ValueError, match="clusters"):
        FairScoreClassifier(LogisticRegression()).fit(**{**rows, "clusters": rows["clusters"][:-1]})
    with pytest.raises(ValueError, match="without a cluster"):
        FairScoreClassifier(LogisticRegression()).fit(**{**rows, "clusters": [None, *rows["clusters"][1:]]})


@pytest.mark.parametrize("cv", [None, "prefit"])
def test_clusters_without_folds_go_to_the_certificate(cv):
    rows = visits(500)
    model = LogisticRegression().fit(rows["X"], rows["y"])
    clf = FairScoreClassifier(model, FairPOT(max_gap=0.3, confidence=0.9), cv=cv).fit(**rows)
    known = {name: rows[name] for name in ("sensitive_features", "clusters")}
    alone = FairPOT(max_gap=0.3, confidence=0.9).fit(clf.scores_, rows["y"], **known)
    assert clf.postprocessor_.certificate_.to_dict() == alone.certificate_.to_dict()


def test_cross_val_predict_is_not_sent_in_a_circle():
    model = FairScoreClassifier(LogisticRegression(), FairPOT(0.5), cv=2)
    told = r"sensitive_features='sex', drop_sensitive=True\): that works everywhere"
    with config_context(enable_metadata_routing=True), pytest.raises(TypeError, match=told):
        cross_val_predict(model, X, Y, params={"sensitive_features": GROUP}, cv=2)
    named = clone(model).set_params(sensitive_features="sex", drop_sensitive=True)
    assert cross_val_predict(named, frame("pandas"), Y, method="predict_proba", cv=2).shape == (N, 2)


def test_what_weights_mean_is_routed(routing):
    model = FairScoreClassifier(LogisticRegression().set_fit_request(sample_weight=True), FairPOT(0.5), cv=2)
    given = {"sensitive_features": GROUP, "sample_weight": np.full(N, 2.0), "weights": "importance"}
    scorer = auc_scorer.set_score_request(sample_weight=False)
    asked: Any = {"params": given, "cv": 2, "scoring": scorer, "return_estimator": True}
    found = cross_validate(model.set_fit_request(sample_weight=True), X, Y, **asked)
    assert {each.postprocessor_.table_.weights for each in found["estimator"]} == {"importance"}


def test_an_effect_of_a_classifier_is_that_of_its_scores():
    model = FairScoreClassifier(LogisticRegression(), FairPOT(max_gap=0.1), sensitive_features=2)
    rng = np.random.default_rng(5)
    group = rng.integers(0, 2, 600)
    y = rng.integers(0, 2, 600)
    X = np.column_stack((rng.normal(y + 0.8 * group), rng.normal(y), group))
    model.fit(X, y)
    scores = model.estimator_.predict_proba(X)[:, 1]
    found = fairpot.effect(model, X, y, clusters=np.arange(600) // 2)
    same = fairpot.effect(model.postprocessor_, scores, y, sensitive_features=X[:, 2], clusters=np.arange(600) // 2)
    assert found.to_dict() == same.to_dict()
    texts = fairpot.effect(
        FairScoreClassifier(LogisticRegression(), FairPOT(max_gap=0.1), sensitive_features=2, pos_label="no").fit(
            X, np.where(y == 1, "no", "yes")
        ),
        X,
        np.where(y == 1, "no", "yes"),
    )
    assert texts.before.auc == pytest.approx(found.before.auc)


@pytest.mark.parametrize("columns", [2, [1, 2]])
def test_columns_of_an_array_by_number(columns):
    rng = np.random.default_rng(5)
    group, y, site = rng.integers(0, 2, 600), rng.integers(0, 2, 600), rng.integers(0, 2, 600)
    X = np.column_stack((rng.normal(y + 0.8 * group), site, group))
    chosen = [columns] if isinstance(columns, int) else columns
    own = FairScoreClassifier(LogisticRegression(), FairPOT(lam=0.5), sensitive_features=columns, drop_sensitive=True)
    own.fit(X, y)
    given = X[:, columns] if isinstance(columns, int) else {str(each): X[:, each] for each in columns}
    bare = np.delete(X, chosen, axis=1)
    other = FairScoreClassifier(LogisticRegression(), FairPOT(lam=0.5)).fit(bare, y, sensitive_features=given)
    np.testing.assert_array_equal(own.predict_proba(X), other.predict_proba(bare, sensitive_features=given))
    with pytest.raises(ValueError, match="X has 3 columns, and none of number 7"):
        FairScoreClassifier(LogisticRegression(), sensitive_features=7).fit(X, y)


def test_new_groups_have_the_way_out_that_the_error_names():
    rng = np.random.default_rng(5)
    group, y = rng.choice(["a", "b"], 400), rng.integers(0, 2, 400)
    X = rng.normal(size=(400, 2)) + y[:, None]
    model = FairScoreClassifier(LogisticRegression(), FairPOT(lam=0.5)).fit(X, y, sensitive_features=group)
    new = np.where(np.arange(400) == 3, "c", group)
    with pytest.raises(fairpot.UnseenGroupError, match=r"unknown_group='keep'"):
        model.predict_proba(X, sensitive_features=new)
    kept = model.predict_proba(X, sensitive_features=new, unknown_group="keep")
    assert kept[3, 1] == model.estimator_.predict_proba(X)[3, 1]
    assert np.isnan(model.adjusted_scores(X, sensitive_features=new, unknown_group="null")[3])
    assert model.predict(X, sensitive_features=new, unknown_group="keep").shape == (400,)
    gone = np.where(np.arange(400) == 3, None, group)
    assert model.predict_proba(X, sensitive_features=gone, missing_group="keep")[3, 1] == kept[3, 1]
