"""PartialAUCClassifier: learns, is the same twice, takes missing values and weights, stops in time."""

import pickle
import subprocess
import sys

import numpy as np
import pytest
from sklearn.utils.estimator_checks import check_estimator

from fairpot.metrics import auc
from fairpot_paper.network import PartialAUCClassifier, _TorchNetwork, draw_layers, run_layers
from fairpot_paper.objective import tail_derivatives


def tail_gradient(positive, negative, temperature=1.0, **weights):
    return tail_derivatives(positive, negative, temperature, **weights)[0]


torch = pytest.importorskip("torch")


def fitted(rows, **options):
    X, y, _ = rows
    return PartialAUCClassifier(**({"alpha": 0.3, "max_epochs": 8, "random_state": 0} | options)).fit(X, y)


@pytest.mark.parametrize("batch_size", [64, "full"])
def test_learns(rows, batch_size):
    epochs = 150 if batch_size == "full" else 10
    model = fitted(rows, batch_size=batch_size, max_epochs=epochs, learning_rate=3e-3, early_stopping=False)
    X, y, _ = rows
    assert auc(y, model.decision_function(X), ties="half") > 0.82
    loss = model.history_["loss"]
    assert loss[-1] < 0.7 * loss[0]


def test_full_batches_and_mini_batches_lower_the_same_objective(rows):
    X, y, _ = rows

    def reached(batch_size, epochs):
        options = {"batch_size": batch_size, "max_epochs": epochs, "learning_rate": 3e-3, "early_stopping": False}
        model = fitted(rows, hidden=(8,), **options)
        scores = 1 / (1 + np.exp(-run_layers(model.layers_, model.standardiser_.apply(X))))
        return tail_gradient(scores[y == 1], scores[y == 0]).value

    start, full, batches = reached("full", 1), reached("full", 400), reached(128, 20)
    assert full < 0.65 * start
    assert batches == pytest.approx(full, rel=0.05)


def test_same_seed_same_model(rows):
    X = rows[0]
    one, two = fitted(rows), fitted(rows)
    assert np.array_equal(one.decision_function(X), two.decision_function(X))
    assert not np.array_equal(one.decision_function(X), fitted(rows, random_state=1).decision_function(X))


def test_leaves_torch_as_it_was(rows):
    threads, state = torch.get_num_threads(), torch.random.get_rng_state()
    fitted(rows)
    assert torch.get_num_threads() == threads
    assert torch.equal(torch.random.get_rng_state(), state)


def test_probabilities_follow_the_ranking(rows):
    X, y, _ = rows
    model = fitted(rows, max_epochs=40)
    probability, odds = model.predict_proba(X), model.decision_function(X)
    np.testing.assert_allclose(probability.sum(axis=1), 1)
    assert ((probability >= 0) & (probability <= 1)).all()
    assert (np.argsort(probability[:, 1]) == np.argsort(odds)).mean() > 0.99
    assert probability[:, 1].mean() == pytest.approx(y.mean(), abs=0.05)
    assert np.array_equal(model.predict(X) == 1, odds > 0)


def test_network_gradient_by_finite_differences():
    """From the objective through the sigmoid and two layers to each weight, in float64."""
    rng = np.random.default_rng(3)
    X, layers, positive = rng.normal(size=(9, 3)), draw_layers([3, 4, 1], rng), np.arange(9) < 4

    def loss():
        scores = 1 / (1 + np.exp(-run_layers(layers, X)))
        return tail_gradient(scores[positive], scores[~positive], temperature=0.3).value

    network = _TorchNetwork(layers, 1e-3)
    scores = network.scores(X)
    values = scores.detach().numpy()
    found = tail_gradient(values[positive], values[~positive], temperature=0.3)
    network.step(scores, np.r_[found.positive, found.negative])
    for (weight, bias), (tensor_w, tensor_b) in zip(layers, network.tensors):
        for array, gradient in ((weight, tensor_w.grad.numpy()), (bias, tensor_b.grad.numpy())):
            for place in np.ndindex(array.shape):
                before = array[place]
                array[place] = before + 1e-6
                up = loss()
                array[place] = before - 1e-6
                down = loss()
                array[place] = before
                assert gradient[place] == pytest.approx((up - down) / 2e-6, rel=1e-4, abs=1e-9)


def test_numpy_runs_what_torch_trained():
    rng = np.random.default_rng(0)
    X, layers = rng.normal(size=(20, 5)), draw_layers([5, 8, 3, 1], rng)
    by_torch = _TorchNetwork(layers, 1e-3).scores(X).detach().numpy()
    np.testing.assert_allclose(by_torch, 1 / (1 + np.exp(-run_layers(layers, X))), rtol=1e-12)


def test_missing_values(rows):
    X, y, _ = rows
    rng = np.random.default_rng(0)
    holes = X.copy()
    holes[:, 2] = np.where(rng.random(len(y)) < np.where(y == 1, 0.9, 0.1), np.nan, holes[:, 2])
    model = PartialAUCClassifier(0.3, max_epochs=20, random_state=0).fit(holes, y)
    assert model.layers_[0][0].shape[0] == 5  # four columns, and where the third is missing
    assert auc(y, model.decision_function(holes), ties="half") > 0.9  # being missing is the signal
    assert np.isfinite(model.decision_function(np.full((3, 4), np.nan))).all()


def test_odd_columns(rows):
    X, y, _ = rows
    odd = np.column_stack([X, np.full(len(y), 7.0), np.full(len(y), np.nan), X[:, 0] * 1e9])
    odd[0, 0] = 1e12
    assert np.isfinite(PartialAUCClassifier(max_epochs=2).fit(odd, y).predict_proba(odd)).all()
    with pytest.raises(ValueError, match="infinity"):
        PartialAUCClassifier().fit(np.where(odd > 1e11, np.inf, odd), y)


def test_weights_are_repeated_rows_in_full_batches(rows):
    X, y, weight = rows
    options = {"batch_size": "full", "early_stopping": False, "max_epochs": 30, "random_state": 0}
    again = np.repeat(np.arange(len(y)), weight.astype(int))
    one = PartialAUCClassifier(**options).fit(X, y, sample_weight=weight)
    two = PartialAUCClassifier(**options).fit(X[again], y[again])
    np.testing.assert_allclose(one.predict_proba(X), two.predict_proba(X), atol=1e-7)


def test_rows_without_weight_are_not_there(rows):
    X, y, weight = rows
    weight = np.where(np.arange(len(y)) < 100, 0.0, weight)
    one = PartialAUCClassifier(max_epochs=5, random_state=0).fit(X, y, sample_weight=weight)
    two = PartialAUCClassifier(max_epochs=5, random_state=0).fit(X[100:], y[100:], sample_weight=weight[100:])
    assert np.array_equal(one.decision_function(X), two.decision_function(X))


def test_early_stopping_keeps_the_best_epoch(rows):
    model = fitted(rows, max_epochs=60, patience=4, learning_rate=0.01)
    history = model.history_["roc_area"]
    assert model.best_epoch_ == np.argmax(history)
    assert len(history) == len(model.history_["loss"]) == min(60, model.best_epoch_ + 5)


def test_the_kept_weights_are_those_of_the_best_epoch(rows):
    long = fitted(rows, max_epochs=30, patience=30)
    short = fitted(rows, max_epochs=long.best_epoch_ + 1, patience=30)
    assert np.array_equal(long.decision_function(rows[0]), short.decision_function(rows[0]))


def test_auto_stops_early_only_with_enough_rows(rows):
    X, y, _ = rows
    few = np.r_[np.flatnonzero(y == 1)[:12], np.flatnonzero(y == 0)[:200]]
    model = PartialAUCClassifier(max_epochs=3).fit(X[few], y[few])
    assert list(model.history_) == ["loss"]
    assert list(fitted(rows).history_) == ["loss", "roc_area"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"alpha": 0}, "alpha must lie in"),
        ({"temperature": 0}, "temperature must be a finite number above 0"),
        ({"hidden": (8, 0)}, "each width in hidden"),
        ({"batch_size": 1}, "at least 2"),
        ({"batch_size": "all"}, "batch_size"),
        ({"early_stopping": "yes"}, "early_stopping"),
        ({"max_epochs": 0}, "max_epochs"),
    ],
)
def test_bad_parameters(rows, options, message):
    with pytest.raises((TypeError, ValueError), match=message):
        fitted(rows, **options)


def test_bad_rows(rows):
    X, y, _ = rows
    with pytest.raises(ValueError, match="single class"):
        PartialAUCClassifier().fit(X, np.zeros(len(y)))
    with pytest.raises(ValueError, match="Only binary"):
        PartialAUCClassifier().fit(X, np.arange(len(y)) % 3)
    with pytest.raises(ValueError, match="weight above 0"):
        PartialAUCClassifier().fit(X, y, sample_weight=1.0 * y)


def test_a_fitted_model_scores_without_torch(rows, tmp_path):
    (tmp_path / "model").write_bytes(pickle.dumps(fitted(rows, max_epochs=1)))
    code = f"""
import pickle, sys
class NoTorch:
    def find_spec(self, name, path=None, target=None):
        if name == "torch":
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, NoTorch())
print(pickle.load(open({str(tmp_path / "model")!r}, "rb")).predict_proba([[0, 0, 0, 0]]).shape)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "(1, 2)\n"


SMALL = {"learning_rate": 0.02, "hidden": (8,)}
# Repeated rows give the same weights where no batch and no validation part is drawn.
NETWORK = PartialAUCClassifier(0.5, batch_size="full", early_stopping=False, **(SMALL | {"max_epochs": 60}))
BATCHES = PartialAUCClassifier(0.5, batch_size=64, **(SMALL | {"learning_rate": 0.05, "max_epochs": 4}))
DRAWN = "rows are drawn for batches and validation: a row of weight 2 is drawn as one row"


@pytest.mark.parametrize(
    ("model", "not_applicable"),
    [(NETWORK, {}), (BATCHES, {"check_sample_weight_equivalence_on_dense_data": DRAWN})],
    ids=["network", "batches"],
)
def test_estimator_checks(model, not_applicable):
    results = check_estimator(model, on_fail=None, on_skip=None)
    failed = {r["check_name"] for r in results if r["status"] == "failed"}
    different = failed ^ set(not_applicable)
    assert not different, [(r["check_name"], r["exception"]) for r in results if r["check_name"] in different]
    assert len([r for r in results if r["status"] == "passed"]) >= 50
