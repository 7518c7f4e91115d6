"""PartialAUCBooster: boosted trees with the partial-AUC objective, and their file."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils import check_random_state

from fairpot._optional import import_optional
from fairpot._validation import check_share
from fairpot.training.monitor import Monitor, make_progress
from fairpot.training.objective import binned_derivatives
from fairpot.training.preparing import TrainingRows, check_whole, split_rows
from fairpot.training.top_model import TopModel, Trained, plain_labels
from fairpot.transport import Floats


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

    FORMAT: ClassVar[str] = "fairpot-partial-auc-booster"

    max_rounds: int = field(default=300, kw_only=True)
    learning_rate: float = field(default=0.1, kw_only=True)
    max_depth: int = field(default=4, kw_only=True)
    min_child_weight: float = field(default=1.0, kw_only=True)
    subsample: float = field(default=1.0, kw_only=True)
    bins: int = field(default=1024, kw_only=True)
    patience: int = field(default=30, kw_only=True)
    n_jobs: int | None = field(default=None, kw_only=True)

    booster_: Any = field(init=False)
    best_round_: int = field(init=False)

    def _train(self, rows: TrainingRows) -> Trained:
        seeds = check_random_state(self.random_state).randint(2**31, size=2)
        train, validation = split_rows(rows, self.early_stopping, self.validation_fraction, seed=int(seeds[0]))
        monitor = None if validation is None else Monitor(validation, self.alpha, self.monitor, self.patience)
        booster, losses = self._boost(train, monitor, int(seeds[1]))
        done = Trained(losses, monitor, train if validation is None else validation)
        self.best_round_ = done.best
        self.booster_ = booster[: done.best + 1]
        return done

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

    def _check_own(self) -> None:
        check_whole(self.max_rounds, "max_rounds")
        check_whole(self.max_depth, "max_depth")
        check_whole(self.bins, "bins", least=2)
        check_share(self.subsample, "subsample", zero=False)

    def _written(self) -> bytes:
        content = self._header() | {
            "classes": plain_labels(self.classes_).tolist(),
            "best_round": self.best_round_,
            "history": {name: values.tolist() for name, values in self.history_.items()},
            "booster": json.loads(self.booster_.save_raw("json").decode()),
        }
        return json.dumps(content, allow_nan=False).encode()

    @classmethod
    def _read(cls, data: bytes) -> Self:
        xgboost = import_optional("xgboost", "boost")
        content = json.loads(data)
        model = cls._restored(content)
        model.booster_ = xgboost.Booster(model_file=bytearray(json.dumps(content["booster"]).encode()))
        model.classes_ = np.array(content["classes"])
        model.best_round_ = int(content["best_round"])
        model.history_ = {name: np.array(values) for name, values in content["history"].items()}
        return model


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
