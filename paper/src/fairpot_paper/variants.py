"""Ready models: boosted scores alone, a network on the features, and a network on the features and boosted scores."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.ensemble import StackingClassifier
from sklearn.model_selection import BaseCrossValidator, StratifiedKFold
from sklearn.pipeline import Pipeline

from fairpot._validation import check_choice, check_whole
from fairpot_paper.booster import PartialAUCBooster
from fairpot_paper.models import make_model, make_preparation
from fairpot_paper.network import PartialAUCClassifier

VARIANTS = ("boosted", "network", "stacked", "booster")


def make_variant(
    name: str,
    *,
    alpha: float = 0.1,
    cv: int | None = 5,
    random_state: int | None = None,
    **params: Any,
) -> Pipeline:
    """Return a model for the top of the list as an unfitted pipeline: preprocessing, then the model.

    ============  ====================================================================  =========
    name          model                                                                 paper
    ============  ====================================================================  =========
    "boosted"     XGBoost with its defaults, trained for log-loss                       (a)
    "network"     :class:`PartialAUCClassifier` on the features                         (b)
    "stacked"     the same on the features and XGBoost's score                          (c)
    "booster"     :class:`PartialAUCBooster` on the features                            none
    ============  ====================================================================  =========

    Parameters
    ----------
    name : {"boosted", "network", "stacked", "booster"}
        XGBoost as it is, :class:`PartialAUCClassifier`, the same on top of boosted scores, or
        :class:`PartialAUCBooster`.
    alpha : float in (0, 1], default 0.1
        Share at the top; "boosted" does not use it.
    cv : int or None, default 5
        Where the score that "stacked" trains on comes from: that many folds, each row scored by trees that were trained
        without it; or None, the trees' scores of their own training rows, the paper's way.
    random_state : int or None, default None
        An int gives the same model again.
    **params : object
        Parameters of the last model: of XGBoost, :class:`PartialAUCClassifier` or :class:`PartialAUCBooster`.

    Returns
    -------
    Pipeline
        With the steps ``prepare`` and ``model``. Text columns are one-hot encoded as in
        :func:`fairpot_paper.models.make_model`; missing numbers are left to the models.

    Examples
    --------
    >>> from fairpot.datasets import make_synthetic
    >>> from fairpot_paper.variants import make_variant
    >>> drawn = make_synthetic(n=400, random_state=0)
    >>> model = make_variant("stacked", alpha=0.3, cv=3, random_state=0, max_epochs=3).fit(drawn.data, drawn.target)
    >>> model["model"].final_estimator_.n_features_in_  # five features and one score
    6
    """
    check_choice(name, "name", VARIANTS)
    if name == "boosted":
        return make_model("xgboost", random_state=random_state, **params)
    if name == "booster":
        model: Any = PartialAUCBooster(alpha, random_state=random_state, **params)
    else:
        model = PartialAUCClassifier(alpha, random_state=random_state, **params)
    if name == "stacked":
        model = StackingClassifier(
            [("boosted", make_model("xgboost", random_state=random_state)["model"])],
            model,
            cv=InSample() if cv is None else _folds(cv, random_state),
            stack_method="predict_proba",
            passthrough=True,
        )
    return Pipeline([("prepare", make_preparation("xgboost")), ("model", model)])


class InSample(BaseCrossValidator):  # type: ignore[misc]
    """Split once: train on all rows, test on the same rows.

    It makes scikit-learn's stacking use scores that a model gives to its own training rows, which is the paper's way.
    Those scores are too good, and a model that trains on them trusts them too much.

    Examples
    --------
    >>> from fairpot_paper.variants import InSample
    >>> X, y = [[0.1], [0.4], [0.9]], [0, 0, 1]
    >>> [(train.tolist(), test.tolist()) for train, test in InSample().split(X, y)]
    [([0, 1, 2], [0, 1, 2])]
    """

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Iterator[tuple[Any, Any]]:
        """Yield all rows twice."""
        rows = np.arange(len(X))
        yield rows, rows

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """Return 1."""
        return 1


def _folds(cv: int, random_state: int | None) -> StratifiedKFold:
    check_whole(cv, "cv (None for in-sample scores)", least=2)
    return StratifiedKFold(cv, shuffle=True, random_state=random_state)
