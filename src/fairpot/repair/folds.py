"""Out-of-fold scores: rows dealt to folds, each fold scored by a model that was trained on the others."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing, check_random_state

from fairpot.splitting import deal_units

Indices = NDArray[np.intp]
Fold = tuple[Indices, Indices]


def deal_folds(strata: NDArray[np.intp], n_splits: int, random_state: Any = None) -> Indices:
    """Deal rows to folds like cards, stratum after stratum; return the fold of each row.

    A stratum with at least ``n_splits`` rows is in every fold, and so are neighbouring strata together.
    Without a ``random_state`` rows are dealt in their order, with one they are shuffled first.
    """
    rows = np.arange(len(strata))
    if random_state is not None:
        check_random_state(random_state).shuffle(rows)
    rows = rows[np.argsort(strata[rows], kind="stable")]
    fold = np.empty(len(strata), dtype=np.intp)
    fold[rows] = np.arange(len(strata)) % n_splits
    return fold


def deal_clusters(unit: Indices, positive: Indices, codes: Indices, n_splits: int, random_state: Any = None) -> Indices:
    """Deal whole clusters to folds, as those of a table are dealt; return the fold of each row.

    Without a ``random_state`` clusters of one size are dealt in the order of their numbers, with one they are shuffled.
    """
    size = int(unit.max()) + 1
    rows = np.zeros((size, 2 * (int(codes.max()) + 1)))
    np.add.at(rows, (unit, 2 * codes + positive), 1)
    order = np.arange(size) if random_state is None else check_random_state(random_state).permutation(size)
    return deal_units(rows, n_splits, order)[unit]


def check_folds(folds: list[Fold], positive: Indices, unit: Indices | None = None) -> None:
    """Insist that both classes train every fold, on other rows than it tests, and that no row is tested twice.

    Where rows belong together, ``unit`` numbers the cluster of each, and none may be on both sides of a fold.
    """
    tested = np.zeros(len(positive), dtype=np.intp)
    for k, (train, test) in enumerate(folds):
        if len(np.unique(positive[train])) < 2:
            raise ValueError(
                f"fold {k} of cv trains on {len(train)} rows of a single class: a classifier needs both.\n"
                "Hint: pass a stratified splitter, or a number for folds stratified by outcome and group."
            )
        both = len(np.intersect1d(train, test))
        shared = 0 if unit is None else len(np.intersect1d(unit[train], unit[test]))
        if both or shared:
            what = f"tests {both} of the rows it trains on" if both else f"trains on rows of {shared} clusters it tests"
            raise ValueError(
                f"fold {k} of cv {what}: their scores would not be out of fold.\n"
                "Hint: pass a number for folds of whole clusters, or a splitter whose parts do not overlap."
            )
        tested[test] += 1
    if (tested > 1).any():
        raise ValueError(
            f"cv tests {int((tested > 1).sum())} rows more than once: each row can have one out-of-fold score.\n"
            "Hint: pass a splitter whose test parts do not overlap, such as StratifiedKFold."
        )
    if not tested.any():
        raise ValueError("cv has no test rows: there are no scores to fit the map on.")


def score_fold(
    model: Any, X: Any, labels: NDArray[Any], fold: Fold, params: dict[str, Any], response: str, place: int = 1
) -> NDArray[np.float64]:
    """Train on one part and score the other."""
    train, test = fold
    chosen = {name: _of_rows(value, train, len(labels)) for name, value in params.items()}
    model.fit(_take(X, train), labels[train], **chosen)
    return score_rows(model, _take(X, test), response, place)


def _of_rows(value: Any, rows: Indices, total: int) -> Any:
    """Return the given rows of a column or frame with one entry a row; anything else as it is."""
    per_row = isinstance(value, Iterable) and not isinstance(value, str | dict) and hasattr(value, "__len__")
    return _take(value, rows) if per_row and len(value) == total else value


def _take(values: Any, rows: Indices) -> Any:
    """Return the given rows; scikit-learn does not index PyArrow tables in every version."""
    if type(values).__module__.startswith("pyarrow"):
        return values.take(rows)
    return _safe_indexing(values, rows)


def score_rows(model: Any, X: Any, response: str, place: int = 1) -> NDArray[np.float64]:
    """Return a fitted binary classifier's scores for the first (0) or the second (1) of its classes."""
    values = np.asarray(getattr(model, response)(X), dtype=np.float64)
    if response == "decision_function":
        values = values.reshape(-1) if values.ndim == 2 and values.shape[1] == 1 else values
        return values if place == 1 else 0.0 - values
    if values.ndim != 2 or values.shape[1] != 2:
        raise ValueError(f"predict_proba of {type(model).__name__} must give two columns, got shape {values.shape}.")
    return values[:, place]
