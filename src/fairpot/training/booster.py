"""PartialAUCBooster: boosted trees with the partial-AUC objective, and their file."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils import check_random_state

from fairpot._docs import documented
from fairpot._optional import import_optional
from fairpot._validation import check_share
from fairpot.training.monitor import Monitor
from fairpot.training.objective import binned_derivatives
from fairpot.training.preparing import TrainingRows, check_whole, split_rows
from fairpot.training.top_model import TopModel, Trained, plain_labels
from fairpot.transport import Floats


@documented
@dataclass(eq=False, repr=False)
class PartialAUCBooster(TopModel):
    """Boost trees so that positives beat the negatives that rank highest.

    The objective of :class:`PartialAUCClassifier` as a custom objective of XGBoost (``pip install
    'fairpot[boost]'``; no torch). Scores of each class are binned before pairs are formed, so a round costs at most
    ``bins`` squared pairs.

    Parameters
    ----------
    {top_model}
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
    patience : int, default 30
        Rounds without a better one before training stops.
    n_jobs : int or None, default None
        Threads of XGBoost; None is 1.

    Attributes
    ----------
    booster_, best_round_ : xgboost.Booster, and int
        Of the rounds up to the best one, which is the last that is kept.
    {trained_model}

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
        xgboost = import_optional("xgboost", "boost")
        data = xgboost.DMatrix(train.X, label=train.y, weight=train.weight)  # the weights place the cuts
        cached = [data] if monitor is None else [data, xgboost.DMatrix(monitor.rows.X)]
        booster = xgboost.Booster(self._booster_parameters(int(seeds[1])), cached)
        objective = _Objective(train, self.temperature, self.margin, self.bins)

        def add_tree() -> float:
            booster.update(data, len(objective.losses), fobj=objective)
            return objective.losses[-1]

        def watch() -> tuple[Floats, None]:
            return np.asarray(booster.predict(cached[1], output_margin=True), dtype=np.float64), None

        losses = self._go_round("boosting", self.max_rounds, add_tree, watch, monitor)
        done = Trained(losses, monitor, train if validation is None else validation)
        self.best_round_ = done.best
        self.booster_ = booster[: done.best + 1]
        return done

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
