"""PartialAUCBooster: boosted trees with the partial-AUC objective, and their file."""

from __future__ import annotations

import json
import os
from os import PathLike
from pathlib import Path
from typing import Any, Self, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from fairpot._optional import import_optional
from fairpot._validation import check_share
from fairpot.exceptions import ModelFileError
from fairpot.rows.output import atomic_file
from fairpot.training.classifier import describe, plain_labels
from fairpot.training.monitor import Monitor, make_progress
from fairpot.training.objective import binned_derivatives
from fairpot.training.preparing import (
    Sigmoid,
    TrainingRows,
    check_new_rows,
    check_shared,
    check_training_rows,
    check_whole,
    fit_sigmoid,
    split_rows,
)
from fairpot.transport import Floats

FORMAT = "fairpot-partial-auc-booster"

Estimator = TypeVar("Estimator")


def save_booster(model: Any, path: str | PathLike[str], *, overwrite: bool) -> None:
    """Write fitted trees."""
    content = describe(model, FORMAT) | {
        "classes": plain_labels(model.classes_).tolist(),
        "best_round": model.best_round_,
        "history": {name: values.tolist() for name, values in model.history_.items()},
        "booster": json.loads(model.booster_.save_raw("json").decode()),
    }
    text = json.dumps(content, allow_nan=False)
    with atomic_file(Path(os.path.realpath(path)), overwrite=overwrite) as temporary:
        temporary.write_text(text, encoding="utf-8")


def load_booster(kind: type[Estimator], path: str | PathLike[str]) -> Estimator:
    """Read trees; whatever is wrong with the file is a ModelFileError that names it."""
    xgboost = import_optional("xgboost", "boost")
    try:
        with open(path, encoding="utf-8") as file:
            content = json.load(file)
        if content.get("format") != FORMAT:
            raise ValueError(f"its header names {content.get('format')!r}")
        model: Any = kind(**content["parameters"])
        model.booster_ = xgboost.Booster(model_file=bytearray(json.dumps(content["booster"]).encode()))
        model.classes_ = np.array(content["classes"])
        model.sigmoid_ = Sigmoid(*map(float, content["sigmoid"]))
        model.best_round_ = int(content["best_round"])
        model.history_ = {name: np.array(values) for name, values in content["history"].items()}
        model.n_features_in_ = int(content["n_features_in"])
        if content["feature_names_in"] is not None:
            model.feature_names_in_ = np.array(content["feature_names_in"], dtype=object)
        return model
    except (ValueError, KeyError, TypeError, AttributeError, xgboost.core.XGBoostError) as error:
        raise ModelFileError(
            f"{os.fspath(path)!r} is no boosted partial-AUC model of this version: {error}.\n"
            "Hint: write one with PartialAUCBooster.save."
        ) from error


class PartialAUCBooster(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Boost trees so that positives beat the negatives that rank highest.

    The objective of :class:`PartialAUCClassifier` as a custom objective of XGBoost (``pip install
    'fairpot[boost]'``; no torch). Scores of each class are binned before pairs are formed, so a round costs at most
    ``bins`` squared pairs.

    Parameters
    ----------
    alpha : float in (0, 1], default 0.1
        Share of the rows at the top that matters; early stopping looks there. The objective does not depend on it.
    temperature : float, default 1.0
        The objective's lambda; on the scale of the trees' raw scores.
    margin : float, default 1.0
        By how much a positive should be ranked higher than a negative.
    max_rounds : int, default 300
        Trees at most.
    learning_rate : float, default 0.1
        Share of each tree that is kept.
    max_depth : int, default 4
        Depth of a tree.
    min_child_weight : float, default 1.0
        Weight that a leaf needs at least.
    subsample : float in (0, 1], default 1.0
        Share of the rows in each tree.
    bins : int, default 1024
        Distinct scores of a class up to which pairs are exact; more are put into that many bins of equal width.
    early_stopping : bool or "auto", default "auto"
        Whether a stratified part is set aside and the best round on it kept. "auto": where that part has at least ten
        rows of each class. The part takes no share in training.
    validation_fraction : float, default 0.15
        Share of the rows that is set aside.
    monitor : {"roc_area", "partial_auc", "top_recall"}, default "roc_area"
        What makes a round better on the validation part: the area under the ROC curve up to the false-positive rate
        alpha, the AUC among the top alpha of the rows alone, or the share of positives in the top alpha.
    patience : int, default 30
        Rounds without a better one before training stops.
    random_state : int, RandomState or None, default None
        An int gives the same model again.
    n_jobs : int or None, default None
        Threads of XGBoost; None is 1.
    verbose : bool, default False
        Whether to draw a progress bar on the standard error stream.

    Attributes
    ----------
    booster_ : xgboost.Booster
        Of the rounds up to the best one.
    sigmoid_ : Sigmoid
        Slope and intercept that turn raw scores to log-odds.
    history_ : dict of str to array
        ``loss`` before each round; with early stopping also ``roc_area``, ``partial_auc`` and ``top_recall`` of the
        validation part after it.
    best_round_ : int
        The last round that is kept.
    classes_, n_features_in_, feature_names_in_
        The values of the outcome, and number and names of the features.

    Examples
    --------
    >>> from fairpot.datasets import make_synthetic
    >>> from fairpot.training import PartialAUCBooster
    >>> data = make_synthetic(n=600, random_state=0)
    >>> model = PartialAUCBooster(alpha=0.3, max_rounds=5, random_state=0).fit(data.data, data.target)
    >>> model.predict_proba(data.data).shape
    (600, 2)
    """

    classes_: NDArray[Any]
    booster_: Any
    sigmoid_: Sigmoid
    history_: dict[str, Floats]
    best_round_: int

    def __init__(
        self,
        alpha: float = 0.1,
        *,
        temperature: float = 1.0,
        margin: float = 1.0,
        max_rounds: int = 300,
        learning_rate: float = 0.1,
        max_depth: int = 4,
        min_child_weight: float = 1.0,
        subsample: float = 1.0,
        bins: int = 1024,
        early_stopping: bool | str = "auto",
        validation_fraction: float = 0.15,
        patience: int = 30,
        monitor: str = "roc_area",
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: bool = False,
    ) -> None:
        self.alpha = alpha
        self.temperature = temperature
        self.margin = margin
        self.max_rounds = max_rounds
        self.learning_rate = learning_rate
        self.max_depth = max_depth
        self.min_child_weight = min_child_weight
        self.subsample = subsample
        self.bins = bins
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.patience = patience
        self.monitor = monitor
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train on rows with and without the outcome.

        Parameters
        ----------
        X : frame or array of shape (n, d)
            Features.
        y : column of shape (n,)
            Outcomes of two values; the second, in order, is the positive one.
        sample_weight : column of shape (n,), default None
            Weights.

        Returns
        -------
        self

        Examples
        --------
        >>> from fairpot.datasets import make_synthetic
        >>> from fairpot.training import PartialAUCBooster
        >>> data = make_synthetic(n=400, random_state=0)
        >>> X, y = data.data, data.target
        >>> model = PartialAUCBooster(alpha=0.3, max_rounds=5, random_state=0).fit(X, y)
        >>> model.classes_.tolist()
        [0, 1]
        """
        self._check_parameters()
        rows = check_training_rows(self, X, y, sample_weight)
        seeds = check_random_state(self.random_state).randint(2**31, size=2)
        train, validation = split_rows(rows, self.early_stopping, self.validation_fraction, seed=int(seeds[0]))
        monitor = None if validation is None else Monitor(validation, self.alpha, self.monitor, self.patience)
        booster, losses = self._boost(train, monitor, int(seeds[1]))
        self.best_round_ = len(losses) - 1 if monitor is None else monitor.best
        self.booster_ = booster[: self.best_round_ + 1]
        self.history_ = {"loss": np.array(losses)}
        if monitor is not None:
            self.history_ |= {name: np.array(column) for name, column in monitor.columns().items()}
        held = train if validation is None else validation
        self.sigmoid_ = fit_sigmoid(self._raw(held.X), held.y, held.weight)
        return self

    def decision_function(self, X: Any) -> Floats:
        """Return the log-odds of the second class.

        Parameters
        ----------
        X : frame or array of shape (n, d)
            Features.

        Returns
        -------
        array of shape (n,)

        Examples
        --------
        >>> from fairpot.datasets import make_synthetic
        >>> from fairpot.training import PartialAUCBooster
        >>> data = make_synthetic(n=400, random_state=0)
        >>> X, y = data.data, data.target
        >>> model = PartialAUCBooster(alpha=0.3, max_rounds=5, random_state=0).fit(X, y)
        >>> model.decision_function(X).shape
        (400,)
        """
        rows = check_new_rows(self, X)
        return self.sigmoid_.log_odds(self._raw(rows))

    def predict_proba(self, X: Any) -> Floats:
        """Return probabilities of both classes, in the order of the ranking.

        Parameters
        ----------
        X : frame or array of shape (n, d)
            Features.

        Returns
        -------
        array of shape (n, 2)

        Examples
        --------
        >>> from fairpot.datasets import make_synthetic
        >>> from fairpot.training import PartialAUCBooster
        >>> data = make_synthetic(n=400, random_state=0)
        >>> X, y = data.data, data.target
        >>> model = PartialAUCBooster(alpha=0.3, max_rounds=5, random_state=0).fit(X, y)
        >>> model.predict_proba(X).shape
        (400, 2)
        """
        odds = self.decision_function(X)
        return np.column_stack([expit(-odds), expit(odds)])

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the second class where its probability is above one half.

        Parameters
        ----------
        X : frame or array of shape (n, d)
            Features.

        Returns
        -------
        array of shape (n,)

        Examples
        --------
        >>> from fairpot.datasets import make_synthetic
        >>> from fairpot.training import PartialAUCBooster
        >>> data = make_synthetic(n=400, random_state=0)
        >>> X, y = data.data, data.target
        >>> model = PartialAUCBooster(alpha=0.3, max_rounds=5, random_state=0).fit(X, y)
        >>> model.predict(X).shape
        (400,)
        """
        above = self.decision_function(X) > 0
        return self.classes_[above.astype(np.intp)]

    def save(self, path: str | PathLike[str], *, overwrite: bool = False) -> None:
        """Write the fitted model to a JSON file: XGBoost's own description of the trees, with what belongs to it.

        Parameters
        ----------
        path : str or path
            Where the file goes.
        overwrite : bool, default False
            Whether an existing file is replaced.

        Examples
        --------
        >>> from pathlib import Path
        >>> from tempfile import mkdtemp
        >>> from fairpot.datasets import make_synthetic
        >>> from fairpot.training import PartialAUCBooster
        >>> data = make_synthetic(n=400, random_state=0)
        >>> X, y = data.data, data.target
        >>> model = PartialAUCBooster(alpha=0.3, max_rounds=5, random_state=0).fit(X, y)
        >>> path = Path(mkdtemp()) / "model.json"
        >>> model.save(path)
        >>> path.exists()
        True
        """
        check_is_fitted(self)
        save_booster(self, path, overwrite=overwrite)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Self:
        """Read a model written by :meth:`save`.

        Parameters
        ----------
        path : str or path
            The file.

        Returns
        -------
        PartialAUCBooster

        Examples
        --------
        >>> from pathlib import Path
        >>> from tempfile import mkdtemp
        >>> from fairpot.datasets import make_synthetic
        >>> from fairpot.training import PartialAUCBooster
        >>> data = make_synthetic(n=400, random_state=0)
        >>> X, y = data.data, data.target
        >>> model = PartialAUCBooster(alpha=0.3, max_rounds=5, random_state=0).fit(X, y)
        >>> path = Path(mkdtemp()) / "model.json"
        >>> model.save(path)
        >>> bool((PartialAUCBooster.load(path).predict(X) == model.predict(X)).all())
        True
        """
        return load_booster(cls, path)

    def __sklearn_tags__(self) -> Any:
        """Missing values are fine; two classes only."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.classifier_tags.multi_class = False
        return tags

    def _boost(self, train: TrainingRows, monitor: Monitor | None, seed: int) -> tuple[Any, list[float]]:
        """Add trees until the rounds are used up or the monitor says stop."""
        xgboost = import_optional("xgboost", "boost")
        data = xgboost.DMatrix(train.X, label=train.y, weight=train.weight)  # the weights place the cuts
        cached = [data] if monitor is None else [data, xgboost.DMatrix(monitor.rows.X)]
        booster = xgboost.Booster(self._booster_parameters(seed), cached)
        progress = make_progress("boosting", bool(self.verbose))
        objective = _Objective(train, self.temperature, self.margin, self.bins)
        for done in range(1, self.max_rounds + 1):
            booster.update(data, done - 1, fobj=objective)
            stop = done == self.max_rounds
            if monitor is not None:
                scores = np.asarray(booster.predict(cached[1], output_margin=True), dtype=np.float64)
                stop = monitor.see(scores, None) or stop
            note = f"loss {objective.losses[-1]:.4f}" if monitor is None else monitor.note()
            progress(done, self.max_rounds, note, last=stop)
            if stop:
                break
        return booster, objective.losses

    def _booster_parameters(self, seed: int) -> dict[str, Any]:
        return {
            "base_score": 0.0,
            "objective": "reg:squarederror",  # only its identity link is used: the derivatives are ours
            "eta": self.learning_rate,
            "max_depth": self.max_depth,
            "min_child_weight": self.min_child_weight,
            "subsample": self.subsample,
            "seed": seed,
            "nthread": self.n_jobs or 1,
        }

    def _raw(self, rows: Floats) -> Floats:
        """Return the sum of the trees."""
        xgboost = import_optional("xgboost", "boost")
        return np.asarray(self.booster_.predict(xgboost.DMatrix(rows), output_margin=True), dtype=np.float64)

    def _check_parameters(self) -> None:
        check_shared(self)
        check_whole(self.max_rounds, "max_rounds")
        check_whole(self.max_depth, "max_depth")
        check_whole(self.bins, "bins", least=2)
        check_share(self.subsample, "subsample", zero=False)


class _Objective:
    """What XGBoost calls in every round; it remembers the loss."""

    def __init__(self, rows: TrainingRows, temperature: float, margin: float, bins: int) -> None:
        self.rows, self.temperature, self.margin, self.bins = rows, temperature, margin, bins
        self.positives = float(rows.weight[rows.y == 1].sum())
        self.losses: list[float] = []

    def __call__(self, scores: Any, data: Any) -> tuple[Floats, Floats]:
        found = binned_derivatives(
            np.asarray(scores, dtype=np.float64).reshape(-1),
            self.rows.y,
            self.rows.weight,
            temperature=self.temperature,
            margin=self.margin,
            bins=self.bins,
        )
        self.losses.append(found.value / self.positives)
        return found.gradient, found.hessian
