"""scikit-learn's manners: estimator checks, pipelines with metadata routing, set_output."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from scipy.special import expit
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import check_estimator

from fairpot import FairPOT
from fairpot.repair.registry import methods, takes_reference


class OneColumn:
    """A method as the checks can call it.

    The checks know nothing of sensitive_features and hand over several features: the first, squeezed between 0
    and 1, is taken for the score, digits of the last give the group, those of the sum the outcome. Everything else
    is the method.
    """

    def fit(self, X, y=None):
        X, groups, outcomes = _split(X)
        super().fit(X, outcomes, sensitive_features=groups)
        return self

    def fit_transform(self, X, y=None):
        return self.fit(X, y).transform(X)

    def transform(self, X):
        X, groups, _ = _split(X)
        return super().transform(X, sensitive_features=groups)


def _split(X):
    sparse = hasattr(X, "toarray")
    X = X if sparse else np.asarray(X)
    turns = np.arange(X.shape[0])
    if sparse or X.size == 0 or X.dtype.kind not in "iuf" or not np.isfinite(X).all():  # to be refused
        one = not sparse and X.ndim == 2 and X.shape[1] > 0
        return X[:, :1] if one else X, turns % 2, turns // 2 % 2
    if X.ndim != 2:
        return expit(X), turns % 2, turns // 2 % 2
    return expit(X[:, :1]), np.floor(X[:, -1] * 37.7) % 2, np.floor(X.sum(axis=1) * 13.3) % 2


ADAPTED = {}
for method in methods().values():
    name = f"OneColumn{method.__name__}"
    # A class of this module, so that it can be pickled.
    ADAPTED[name] = globals()[name] = type(name, (OneColumn, method), {"__module__": __name__})


NOT_APPLICABLE = {
    "check_n_features_in": "a post-processor has one feature, the score, whatever the checks hand over",
    "check_n_features_in_after_fitting": "the same",
    "check_transformer_general": "its last step: the adapter ignores all but two of the features",
    "check_fit1d": "a plain column of scores is the normal input, not an error",
    "check_fit2d_predict1d": "the same",
    "check_fit2d_1sample": "one row cannot be in two groups: the error says so in its own words",
    "check_dtype_object": "a dict among the scores is refused in our own words",
}


@pytest.mark.parametrize("name", ADAPTED)
def test_estimator_checks(name):
    adapted = ADAPTED[name]
    given = {adapted.dial.name: 0.5, **({"reference": 0.0} if takes_reference(adapted) else {})}
    results = check_estimator(adapted(**given), on_fail=None, on_skip=None)
    failed = {r["check_name"] for r in results if r["status"] == "failed"}
    passed = {r["check_name"] for r in results if r["status"] == "passed"}
    different = failed ^ set(NOT_APPLICABLE)  # neither a new failure nor a reason that no longer holds
    assert not different, [(r["check_name"], r["exception"]) for r in results if r["check_name"] in different]
    assert len(passed) >= 34, sorted(passed)


class Scores(TransformerMixin, BaseEstimator):
    """A model as a pipeline step: its scores are its output."""

    def fit(self, X, y):
        self.model_ = LogisticRegression().fit(X, y)
        return self

    def transform(self, X):
        return self.model_.decision_function(X).reshape(-1, 1)


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    group = rng.choice(["F", "M"], 400)
    y = rng.integers(0, 2, 400)
    X = rng.normal(size=(400, 3)) + y[:, None] * 0.5 + 0.5 * (group == "M")[:, None]
    return X, y, group


def test_pipeline_with_routing(rows):
    X, y, group = rows
    with sklearn.config_context(enable_metadata_routing=True):
        pipeline = make_pipeline(Scores(), FairPOT(0.7)).fit(X, y, sensitive_features=group)
        got = pipeline.transform(X, sensitive_features=group)
        again = pipeline.fit_transform(X, y, sensitive_features=group)
    scores = Scores().fit(X, y).transform(X)
    expected = FairPOT(0.7).fit_transform(scores, y, sensitive_features=group)
    np.testing.assert_array_equal(got, expected)
    np.testing.assert_array_equal(again, expected)
    assert got.shape == (400, 1)


def test_weights_of_rows_are_requested_and_what_they_mean_is_not(rows):
    X, y, group = rows
    weight = np.where(group == "F", 1.5, 1.0)
    given = {"sensitive_features": group, "sample_weight": weight, "weights": "importance", "clusters": np.arange(400)}
    with sklearn.config_context(enable_metadata_routing=True):
        with pytest.raises(sklearn.exceptions.UnsetMetadataPassedError, match="sample_weight"):
            make_pipeline(Scores(), FairPOT(0.7)).fit(X, y, **given)
        asking = FairPOT(0.7).set_fit_request(sample_weight=True)
        table = make_pipeline(Scores(), asking).fit(X, y, **given)[-1].table_
    assert table.weights == "importance"
    assert table.units.size == 400


@pytest.mark.parametrize("config", ["own", "global"])
@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_a_series_becomes_a_polars_frame(rows, kind, config):
    X, y, group = rows
    series = {"pandas": pd.Series, "polars": lambda values, name: pl.Series(name, values)}[kind]
    scores = series(Scores().fit(X, y).transform(X)[:, 0], name="risk")
    with sklearn.config_context(transform_output="polars" if config == "global" else "default"):
        repair = FairPOT(0.7) if config == "global" else FairPOT(0.7).set_output(transform="polars")
        fitted = repair.fit(scores, y, sensitive_features=group)
        got = [each.transform(scores, sensitive_features=group) for each in (fitted, fitted.fair_maps_)]
    plain = FairPOT(0.7).fit_transform(np.asarray(scores), y, sensitive_features=group)
    assert isinstance(got[0], pl.DataFrame)
    for each in got[: 1 if config == "own" else 2]:
        np.testing.assert_array_equal(each.to_numpy()[:, 0], plain)


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_the_name_of_the_one_column_is_kept(rows, frame):
    X, y, group = rows
    scores = frame({"risk": Scores().fit(X, y).transform(X)[:, 0]})
    repair = FairPOT(0.7).fit(scores, y, sensitive_features=group)
    assert repair.feature_names_in_.tolist() == ["risk"]
    assert repair.get_feature_names_out().tolist() == ["risk"]
    assert repair.set_output(transform="pandas").transform(scores, sensitive_features=group).columns.tolist() == [
        "risk"
    ]
    again = repair.fit(scores.to_numpy(), y, sensitive_features=group)
    assert not hasattr(again, "feature_names_in_")


def test_set_output(rows):
    X, y, group = rows
    scores = pd.DataFrame({"risk": Scores().fit(X, y).transform(X)[:, 0]}, index=np.arange(400) + 5)
    fp = FairPOT().set_output(transform="pandas").fit(scores, y, sensitive_features=group)
    got = fp.transform(scores, sensitive_features=group)
    assert isinstance(got, pd.DataFrame)
    assert got.index.equals(scores.index)
    polars = fp.set_output(transform="polars").transform(scores, sensitive_features=group)
    np.testing.assert_array_equal(polars.to_numpy(), got.to_numpy())


def test_parameters():
    fp = FairPOT(0.2, top=0.3)
    assert fp.get_params()["top"] == 0.3
    assert fp.set_params(lam=0.9).lam == 0.9
    assert "FairPOT" in repr(fp)


def test_scores_are_data_to_the_router():
    requests = FairPOT().get_metadata_routing()
    assert {"sensitive_features", "sample_weight", "clusters"} <= set(requests.fit.requests)
    assert "scores" not in requests.fit.requests
    assert set(requests.transform.requests) == {"sensitive_features"}
