"""What both partial-AUC models begin and end with: checked parameters and rows, probabilities from log-odds."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.model_selection import train_test_split
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from fairpot._validation import check_choice, check_share, is_number
from fairpot.transport import Floats

# What early stopping may look at.
MONITORS = ("roc_area", "partial_auc", "top_recall")


def check_shared(estimator: Any) -> None:
    """Check the parameters that both models have."""
    check_share(estimator.alpha, "alpha", zero=False)
    check_positive(estimator.temperature, "temperature")
    check_positive(estimator.margin, "margin")
    check_positive(estimator.learning_rate, "learning_rate")
    check_whole(estimator.patience, "patience")
    check_choice(estimator.monitor, "monitor", MONITORS)
    fraction = estimator.validation_fraction
    if not is_number(fraction) or not 0 < fraction < 1:
        raise ValueError(f"validation_fraction must lie in (0, 1), got {fraction!r}.")
    if estimator.early_stopping not in (True, False, "auto"):
        raise ValueError(f"early_stopping must be True, False or 'auto', got {estimator.early_stopping!r}.")


def check_positive(value: Any, name: str) -> None:
    """Check a finite number above 0."""
    if not is_number(value) or not 0 < value < math.inf:
        raise ValueError(f"{name} must be a finite number above 0, got {value!r}.")


def check_whole(value: Any, name: str, least: int = 1) -> None:
    """Check a whole number that is not too small."""
    if not is_number(value) or value != int(value) or value < least:
        raise ValueError(f"{name} must be a whole number, at least {least}, got {value!r}.")


# With fewer rows of a class than this in the validation part, early stopping would follow chance.
LEAST_FOR_AUTO = 10


class TrainingRows(NamedTuple):
    """Features, labels as 0 and 1, and weights; rows of weight 0 are gone."""

    X: Floats
    y: NDArray[np.int8]
    weight: Floats

    def take(self, rows: NDArray[np.intp]) -> TrainingRows:
        """Return some of the rows."""
        return TrainingRows(self.X[rows], self.y[rows], self.weight[rows])


def check_training_rows(estimator: Any, X: Any, y: Any, sample_weight: Any) -> TrainingRows:
    """Check what ``fit`` is given, and set ``classes_`` and ``n_features_in_``."""
    X, y = validate_data(estimator, X, y, dtype=np.float64, ensure_all_finite="allow-nan", ensure_min_samples=2)
    check_classification_targets(y)
    if (kind := type_of_target(y, input_name="y")) != "binary":
        raise ValueError(f"Only binary classification is supported. The type of the target is {kind}.")
    weight = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
    kept = np.flatnonzero(weight > 0)
    estimator.classes_, labels = np.unique(y, return_inverse=True)
    rows = TrainingRows(X, labels.astype(np.int8), weight).take(kept)
    if len(np.unique(rows.y)) < 2:
        where = "" if len(kept) == len(X) else f" among the {len(kept)} rows with a weight above 0"
        raise ValueError(
            f"y holds a single class{where}: a ranking needs rows of both classes.\n"
            "Hint: pass rows with and without the outcome."
        )
    return rows


def check_new_rows(estimator: Any, X: Any) -> Floats:
    """Check what a fitted estimator is asked to score."""
    check_is_fitted(estimator)
    return np.asarray(
        validate_data(estimator, X, dtype=np.float64, ensure_all_finite="allow-nan", reset=False), dtype=np.float64
    )


def split_rows(
    rows: TrainingRows, early_stopping: bool | str, fraction: float, seed: int
) -> tuple[TrainingRows, TrainingRows | None]:
    """Set a stratified validation part aside; None where there is to be none."""
    fewest = int(np.bincount(rows.y).min())
    if early_stopping == "auto" and fewest * fraction < LEAST_FOR_AUTO:
        return rows, None
    if not early_stopping:
        return rows, None
    if fewest < 2:
        raise ValueError(
            "early_stopping=True needs at least 2 rows of each class, one to train on and one to validate on; "
            f"the rarer class has {fewest}.\nHint: early_stopping=False or 'auto'."
        )
    held = max(2, round(fraction * len(rows.y)))
    train, validation = train_test_split(np.arange(len(rows.y)), test_size=held, stratify=rows.y, random_state=seed)
    return rows.take(train), rows.take(validation)


# The slope stays above 0, so that the order stays; a model that ranks backwards gets nearly equal probabilities.
_LEAST_SLOPE = 1e-3


class Sigmoid(NamedTuple):
    """``slope * score + intercept`` is the log-odds of a positive."""

    slope: float
    intercept: float

    def log_odds(self, scores: Floats) -> Floats:
        """Bring scores to the scale of log-odds."""
        return self.slope * scores + self.intercept


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
