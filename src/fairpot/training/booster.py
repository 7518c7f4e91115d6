"""PartialAUCBooster: boosted trees with the partial-AUC objective, and their file."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils import check_random_state

from fairpot._docs import documented
from fairpot._optional import import_optional
from fairpot.training.objective import binned_derivatives
from fairpot.training.top_model import Monitor, TopModel, TrainingRows, check_whole
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
    bins : int, default 1024
        Distinct scores of a class up to which pairs are exact; more are put into that many bins of equal width.
    patience : int, default 30
        Rounds without a better one before training stops.

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
    bins: int = field(default=1024, kw_only=True)
    patience: int = field(default=30, kw_only=True)

    booster_: Any = field(init=False)
    best_round_: int = field(init=False)

    def _train(self, rows: TrainingRows) -> TrainingRows:
        seeds = check_random_state(self.random_state).randint(2**31, size=2)
        train, validation = rows.split(self.early_stopping, seed=int(seeds[0]))
        monitor = None if validation is None else Monitor(validation, self.alpha, self.monitor, self.patience)
        xgboost = import_optional("xgboost", "boost")
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
        xgboost = import_optional("xgboost", "boost")
        return np.asarray(self.booster_.predict(xgboost.DMatrix(rows), output_margin=True), dtype=np.float64)

    def _check_own(self) -> None:
        check_whole(self.max_rounds, "max_rounds")
        check_whole(self.max_depth, "max_depth")
        check_whole(self.bins, "bins", least=2)

    def _content(self) -> dict[str, Any]:
        trees = json.loads(self.booster_.save_raw("json").decode())
        return super()._content() | {"best_round": self.best_round_, "booster": trees}

    @classmethod
    def _restored(cls, content: dict[str, Any]) -> Self:
        model = super()._restored(content)
        trees = bytearray(json.dumps(content["booster"]).encode())
        model.booster_ = import_optional("xgboost", "boost").Booster(model_file=trees)
        model.best_round_ = int(content["best_round"])
        return model
