"""PartialAUCBooster: boosted trees with the partial-AUC objective; what it shares with other models is ``TopModel``."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import roc_curve
from sklearn.model_selection import train_test_split
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from fairpot._docs import documented
from fairpot._optional import import_optional
from fairpot._validation import check_share, check_whole, is_number
from fairpot.transport import Floats
from fairpot_paper.objective import binned_derivatives

# The share of the rows that early stopping sets aside; with fewer of a class in it than this, it would follow chance.
VALIDATION, LEAST = 0.15, 10


class TrainingRows(NamedTuple):
    """Features, labels as 0 and 1, and weights; rows of weight 0 are gone."""

    X: Floats
    y: NDArray[np.int8]
    weight: Floats

    def take(self, rows: NDArray[np.intp]) -> TrainingRows:
        """Return some of the rows."""
        return TrainingRows(self.X[rows], self.y[rows], self.weight[rows])

    def split(self, early_stopping: bool, seed: int) -> tuple[TrainingRows, TrainingRows | None]:
        """Set a stratified validation part aside; None where there is to be none, or too few rows of a class."""
        if not early_stopping or np.bincount(self.y).min() * VALIDATION < LEAST:
            return self, None
        held, size = round(VALIDATION * len(self.y)), len(self.y)
        train, validation = train_test_split(np.arange(size), test_size=held, stratify=self.y, random_state=seed)
        return self.take(train), self.take(validation)


def roc_area(scores: Floats, y: NDArray[np.int8], weight: Floats, alpha: float) -> float:
    """Return the area under the ROC curve up to the false-positive rate alpha, divided by alpha.

    All positives against the highest negatives: straight lines through tied cells, as scikit-learn draws them.
    """
    x, height, _ = roc_curve(y, scores, sample_weight=weight, drop_intermediate=False)
    end = int(np.searchsorted(x, alpha))
    part = (alpha - x[end - 1]) / (x[end] - x[end - 1])
    last = height[end - 1] + part * (height[end] - height[end - 1])
    return float(np.trapezoid([*height[:end], last], [*x[:end], alpha])) / alpha


class Monitor:
    """Remembers the best round, and says when there has been none better for too long."""

    def __init__(self, rows: TrainingRows, alpha: float, patience: int) -> None:
        self.rows, self.alpha, self.patience = rows, alpha, patience
        self.history: list[float] = []
        self.best: int = -1
        self.kept: Any = None

    def see(self, scores: Floats, state: Any) -> bool:
        """Take a round's validation scores; return whether to stop. ``state`` is kept if the round is the best."""
        self.history.append(roc_area(scores, self.rows.y, self.rows.weight, self.alpha))
        if self.best < 0 or self.history[-1] > self.history[self.best]:
            self.best, self.kept = len(self.history) - 1, state
        return len(self.history) - 1 - self.best >= self.patience


# The slope stays above 0, so that the order stays; a model that ranks backwards gets nearly equal probabilities.
_LEAST_SLOPE = 1e-3


class Sigmoid(NamedTuple):
    """``slope * score + intercept`` is the log-odds of a positive."""

    slope: float
    intercept: float


def fit_sigmoid(scores: Floats, y: NDArray[np.int8], weight: Floats) -> Sigmoid:
    """Fit the two numbers by weighted log-loss, with Platt's targets, which keep them finite."""
    positives, negatives = weight[y == 1].sum(), weight[y == 0].sum()
    target = np.where(y == 1, (positives + 1) / (positives + 2), 1 / (negatives + 2))
    centre = float(np.average(scores, weights=weight))
    spread = float(np.sqrt(np.average((scores - centre) ** 2, weights=weight))) or 1.0
    unit, share = (scores - centre) / spread, weight / weight.sum()

    def loss(parameters: Floats) -> tuple[float, Floats]:
        odds = parameters[0] * unit + parameters[1]
        value = share @ (np.logaddexp(0.0, odds) - target * odds)
        error = share * (expit(odds) - target)
        return float(value), np.array([error @ unit, error.sum()])

    start = np.array([1.0, np.log((positives + 1) / (negatives + 1))])
    found = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=[(_LEAST_SLOPE, None), (None, None)])
    slope = float(found.x[0]) / spread
    return Sigmoid(slope, float(found.x[1]) - slope * centre)


@documented
@dataclass(eq=False, repr=False)
class TopModel(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier that is trained so that positives beat the negatives that rank highest."""

    alpha: float = 0.1
    _: KW_ONLY
    temperature: float = 1.0
    early_stopping: bool = True
    random_state: Any = None

    classes_: NDArray[Any] = field(init=False)
    sigmoid_: Sigmoid = field(init=False)
    history_: dict[str, Floats] = field(init=False)

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train on rows with and without the outcome.

        Parameters
        ----------
        {X}
        y : column of shape (n,)
            Outcomes of two values; the second, in order, is the positive one.
        sample_weight : column of shape (n,), default None
            Weights.
        """
        check_share(self.alpha, "alpha", zero=False)
        for name in ("temperature", "learning_rate"):
            value = getattr(self, name)
            if not is_number(value) or not 0 < value < math.inf:
                raise ValueError(f"{name} must be a finite number above 0, got {value!r}.")
        check_whole(self.patience, "patience")
        if self.early_stopping not in (True, False):
            raise ValueError(f"early_stopping must be True or False, got {self.early_stopping!r}.")
        held = self._train(self._check_rows(X, y, sample_weight))
        self.sigmoid_ = fit_sigmoid(self._raw(held.X), held.y, held.weight)
        return self

    def _check_rows(self, X: Any, y: Any, sample_weight: Any) -> TrainingRows:
        X, y = validate_data(self, X, y, dtype=np.float64, ensure_all_finite="allow-nan", ensure_min_samples=2)
        check_classification_targets(y)
        if (kind := type_of_target(y, input_name="y")) != "binary":
            raise ValueError(f"Only binary classification is supported. The type of the target is {kind}.")
        weight = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        kept = np.flatnonzero(weight > 0)
        self.classes_, labels = np.unique(y, return_inverse=True)
        rows = TrainingRows(X, labels.astype(np.int8), weight).take(kept)
        if len(np.unique(rows.y)) < 2:
            where = "" if len(kept) == len(X) else f" among the {len(kept)} rows with a weight above 0"
            raise ValueError(
                f"y holds a single class{where}: a ranking needs rows of both classes.\n"
                "Hint: pass rows with and without the outcome."
            )
        return rows

    def decision_function(self, X: Any) -> Floats:
        """Return the log-odds of the second class.

        {X}
        """
        check_is_fitted(self)
        rows = validate_data(self, X, dtype=np.float64, ensure_all_finite="allow-nan", reset=False)
        return self.sigmoid_.slope * self._raw(rows) + self.sigmoid_.intercept

    def predict_proba(self, X: Any) -> Floats:
        """Return probabilities of both classes, in the order of the ranking.

        {X}
        """
        odds = self.decision_function(X)
        return np.column_stack([expit(-odds), expit(odds)])

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the second class where its probability is above one half.

        {X}
        """
        above = self.decision_function(X) > 0
        return self.classes_[above.astype(np.intp)]

    def __sklearn_tags__(self) -> Any:
        """Missing values are fine; two classes only."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.classifier_tags.multi_class = False
        return tags

    def _train(self, rows: TrainingRows) -> TrainingRows:
        """Train on checked rows, keep what ``_raw`` needs, and return the rows to fit probabilities on."""
        raise NotImplementedError

    def _raw(self, rows: Floats) -> Floats:
        raise NotImplementedError

    def _go_round(
        self,
        most: int,
        step: Callable[[], float],
        watch: Callable[[], tuple[Floats, Any]],
        monitor: Monitor | None,
    ) -> int:
        """Take steps until they are used up or the monitor says stop; keep the history, return the best round."""
        losses: list[float] = []
        for _ in range(most):
            losses.append(step())
            if monitor is not None and monitor.see(*watch()):
                break
        self.history_ = {"loss": np.array(losses)}
        if monitor is None:
            return len(losses) - 1
        self.history_["roc_area"] = np.array(monitor.history)
        return monitor.best


@documented
@dataclass(eq=False, repr=False)
class PartialAUCBooster(TopModel):
    """Boost trees so that positives beat the negatives that rank highest.

    The objective of :class:`PartialAUCClassifier` as a custom objective of XGBoost (``pip install
    'fairpot[boost]'``; no torch). Scores of each class are binned before pairs are formed, so a round costs at most
    ``bins`` squared pairs.

    Parameters
    ----------
    alpha : float in (0, 1], default 0.1
        Share of the rows at the top that matters; early stopping looks there. The objective does not depend on it.
    temperature : float, default 1.0
        The objective's lambda: large values weigh all rows without the outcome alike, small ones the highest.
    early_stopping : bool, default True
        Whether a stratified part, 15%, is set aside, where that is ten rows of each class or more, and the round kept
        that is best on it, by the area under the ROC curve up to the false-positive rate alpha.
    random_state : int, RandomState or None, default None
        An int gives the same model again on the same machine.
    max_rounds : int, default 300
        Trees at most.
    learning_rate : float, default 0.1
        Share of each tree that is kept.
    max_depth : int, default 4
        Depth of a tree.
    bins : int, default 1024
        Distinct scores of a class up to which pairs are exact; more are put into that many bins of equal width.
    patience : int, default 30
        Rounds without a better one before training stops.

    Attributes
    ----------
    booster_, best_round_ : xgboost.Booster, and int
        Of the rounds up to the best one, which is the last that is kept.
    classes_ : array of shape (2,)
        The values of the outcome; the second is the positive one.
    sigmoid_ : Sigmoid
        Slope and intercept that turn raw scores to log-odds; fitted on the validation part, or on the training rows
        where there is none.
    history_ : dict of str to array
        ``loss`` of each round, and with early stopping ``roc_area`` of the validation part after it.
    n_features_in_, feature_names_in_
        Number and names of the features.

    Examples
    --------
    >>> from fairpot.datasets import make_synthetic
    >>> from fairpot_paper.booster import PartialAUCBooster
    >>> data = make_synthetic(n=600, random_state=0)
    >>> model = PartialAUCBooster(alpha=0.3, max_rounds=5, random_state=0).fit(data.data, data.target)
    >>> model.predict_proba(data.data).shape
    (600, 2)
    """

    max_rounds: int = field(default=300, kw_only=True)
    learning_rate: float = field(default=0.1, kw_only=True)
    max_depth: int = field(default=4, kw_only=True)
    bins: int = field(default=1024, kw_only=True)
    patience: int = field(default=30, kw_only=True)

    booster_: Any = field(init=False)
    best_round_: int = field(init=False)

    def _train(self, rows: TrainingRows) -> TrainingRows:
        check_whole(self.max_rounds, "max_rounds")
        check_whole(self.max_depth, "max_depth")
        check_whole(self.bins, "bins", least=2)
        seeds = check_random_state(self.random_state).randint(2**31, size=2)
        train, validation = rows.split(self.early_stopping, seed=int(seeds[0]))
        monitor = None if validation is None else Monitor(validation, self.alpha, self.patience)
        xgboost = import_optional("xgboost", package="xgboost-cpu")
        data = xgboost.DMatrix(train.X, label=train.y, weight=train.weight)  # the weights place the cuts
        cached = [data] if validation is None else [data, xgboost.DMatrix(validation.X)]
        settings = {
            "base_score": 0.0,
            "objective": "reg:squarederror",  # only its identity link is used: the derivatives are ours
            "eta": self.learning_rate,
            "max_depth": self.max_depth,
            "seed": int(seeds[1]),
            "nthread": 1,
        }
        booster = xgboost.Booster(settings, cached)
        positives = float(train.weight[train.y == 1].sum())
        losses: list[float] = []

        def objective(scores: Any, data: Any) -> tuple[Floats, Floats]:
            raw = np.asarray(scores, dtype=np.float64).reshape(-1)
            found = binned_derivatives(raw, train.y, train.weight, temperature=self.temperature, bins=self.bins)
            losses.append(found.value / positives)
            return found.gradient, found.hessian

        def add_tree() -> float:
            booster.update(data, len(losses), fobj=objective)
            return losses[-1]

        def watch() -> tuple[Floats, None]:
            return np.asarray(booster.predict(cached[1], output_margin=True), dtype=np.float64), None

        self.best_round_ = self._go_round(self.max_rounds, add_tree, watch, monitor)
        self.booster_ = booster[: self.best_round_ + 1]
        return train if validation is None else validation

    def _raw(self, rows: Floats) -> Floats:
        xgboost = import_optional("xgboost", package="xgboost-cpu")
        return np.asarray(self.booster_.predict(xgboost.DMatrix(rows), output_margin=True), dtype=np.float64)
