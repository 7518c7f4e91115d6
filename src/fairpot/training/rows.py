"""The rows a partial-AUC model is trained on: checked, weighted, and split into training and validation."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import train_test_split
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

Floats = NDArray[np.float64]

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
