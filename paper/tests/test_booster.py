"""PartialAUCBooster: the same objective on trees."""

import subprocess
import sys

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from fairpot.exceptions import MissingDependencyError
from fairpot.metrics import auc
from fairpot_paper.booster import Monitor, PartialAUCBooster, TrainingRows, roc_area
from fairpot_paper.objective import tail_derivatives

pytest.importorskip("xgboost")


def tail_gradient(positive, negative, temperature=1.0, **weights):
    return tail_derivatives(positive, negative, temperature, **weights)[0]


def fitted(rows, **options):
    X, y, _ = rows
    return PartialAUCBooster(**({"alpha": 0.3, "max_rounds": 25, "random_state": 0} | options)).fit(X, y)


def test_learns(rows):
    X, y, _ = rows
    model = fitted(rows)
    assert auc(y, model.decision_function(X), ties="half") > 0.85
    assert len(set(model.decision_function(X))) > 50


def test_every_round_lowers_the_objective(rows):
    loss = fitted(rows, early_stopping=False, learning_rate=0.3).history_["loss"]
    assert (np.diff(loss) < 0).all()


def test_the_loss_is_the_objective_of_its_scores(rows):
    X, y, _ = rows
    longer = fitted(rows, early_stopping=False, max_rounds=11, temperature=0.5)
    raw = fitted(rows, early_stopping=False, max_rounds=10, temperature=0.5)._raw(X)
    expected = tail_gradient(raw[y == 1], raw[y == 0], temperature=0.5).value
    assert longer.history_["loss"][-1] == pytest.approx(expected, rel=1e-6)


def test_bins_change_little(rows):
    X = rows[0]
    exact, binned = (fitted(rows, early_stopping=False, bins=bins) for bins in (10_000, 64))
    close = np.corrcoef(exact.decision_function(X), binned.decision_function(X))[0, 1]
    assert close > 0.99
    assert not np.array_equal(exact.decision_function(X), binned.decision_function(X))


def test_same_seed_same_model(rows):
    X = rows[0]
    one, two = fitted(rows), fitted(rows)
    assert np.array_equal(one.decision_function(X), two.decision_function(X))
    assert not np.array_equal(one.decision_function(X), fitted(rows, random_state=1).decision_function(X))


def test_keeps_the_best_round(rows):
    model = fitted(rows, max_rounds=200, patience=7)
    history = model.history_["roc_area"]
    assert model.best_round_ == np.argmax(history)
    assert len(history) == min(200, model.best_round_ + 8)
    assert model.booster_.num_boosted_rounds() == model.best_round_ + 1


def test_whole_weights_are_repeated_rows(rows):
    X, y, weight = rows
    again = np.repeat(np.arange(len(y)), weight.astype(int))
    options = {"early_stopping": False, "max_rounds": 10, "random_state": 0, "bins": 10_000}
    one = PartialAUCBooster(**options).fit(X, y, sample_weight=weight)
    two = PartialAUCBooster(**options).fit(X[again], y[again])
    close = np.isclose(one.decision_function(X), two.decision_function(X), atol=0.02)
    assert close.mean() > 0.9  # trees may cut elsewhere between two values


def test_missing_values(rows):
    X, y, _ = rows
    holes = np.where(np.random.default_rng(0).random(X.shape) < 0.2, np.nan, X)
    model = PartialAUCBooster(max_rounds=10).fit(holes, y)
    assert np.isfinite(model.predict_proba(holes)).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"alpha": 0}, "alpha must lie in"),
        ({"temperature": 0}, "temperature must be a finite number above 0"),
        ({"early_stopping": "yes"}, "early_stopping"),
        ({"bins": 1}, "bins"),
        ({"max_rounds": 0}, "max_rounds"),
        ({"max_depth": 0}, "max_depth"),
    ],
)
def test_bad_parameters(rows, options, message):
    with pytest.raises(ValueError, match=message):
        fitted(rows, **options)


def test_bad_rows(rows):
    X, y, _ = rows
    with pytest.raises(ValueError, match="single class"):
        PartialAUCBooster().fit(X, np.zeros(len(y)))
    with pytest.raises(ValueError, match="Only binary"):
        PartialAUCBooster().fit(X, np.arange(len(y)) % 3)
    with pytest.raises(ValueError, match="weight above 0"):
        PartialAUCBooster().fit(X, y, sample_weight=1.0 * y)


def test_training_stops_early_only_with_enough_rows(rows):
    X, y, _ = rows
    few = np.r_[np.flatnonzero(y == 1)[:12], np.flatnonzero(y == 0)[:200]]
    assert list(PartialAUCBooster(max_rounds=3).fit(X[few], y[few]).history_) == ["loss"]
    assert list(fitted(rows).history_) == ["loss", "roc_area"]


def test_without_xgboost(rows, monkeypatch):
    monkeypatch.setitem(sys.modules, "xgboost", None)
    with pytest.raises(MissingDependencyError, match=r"xgboost-cpu"):
        fitted(rows)


def test_import_is_light():
    code = "import fairpot_paper.booster, sys; print({'torch', 'xgboost'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


@pytest.mark.parametrize("alpha", [0.1, 0.33, 1.0])
def test_figures_of_the_monitor(alpha):
    """The ROC area against scikit-learn's."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 300).astype(np.int8)
    weight = rng.random(300) + 0.5
    s = np.round(rng.normal(size=300) + y, 1)
    found = roc_area(s, y, weight, alpha)
    theirs, least = roc_auc_score(y, s, max_fpr=alpha, sample_weight=weight), alpha**2 / 2
    area = theirs if alpha == 1 else ((2 * theirs - 1) * (alpha - least) + least) / alpha
    assert found == pytest.approx(area, abs=1e-12)


def test_monitor_stops_after_patience():
    rows = TrainingRows(np.zeros((4, 1)), np.array([1, 0, 0, 0], dtype=np.int8), np.ones(4))
    monitor = Monitor(rows, 0.5, 2)
    good, bad = np.array([3.0, 2, 1, 0]), np.array([0.0, 2, 1, 3])
    assert [monitor.see(s, i) for i, s in enumerate([bad, good, bad, bad])] == [False, False, False, True]
    assert (monitor.best, monitor.kept) == (1, 1)
