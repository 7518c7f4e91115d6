"""Scorers for scikit-learn's cross-validation and searches; the groups come by routing or from a column of X."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from inspect import signature
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.metadata_routing import MetadataRequest, get_routing_for_object

from fairpot._validation.columns import as_column, check_alignment, check_column_names, select_columns
from fairpot.metrics.rank import OF_GROUPS, auc, xauc_gap

_RESPONSES = ("predict_proba", "decision_function")


class GroupScorer:
    """Make a scorer, ``scorer(estimator, X, y, sensitive_features=...)``, of a metric that needs groups.

    Where metadata routing is enabled it requests ``sensitive_features``, and passes them on to a model whose
    ``predict_proba`` requests them too, such as :class:`fairpot.FairScoreClassifier`, also inside a pipeline.
    Greater is always better: a metric that is better when small comes back negated.

    Parameters
    ----------
    metric : callable
        ``metric(y_true, y_score, **options)``; it gets ``sensitive_features`` if it needs them, and ``sample_weight``
        if there is one.
    greater_is_better : bool, default True
        Whether a larger value is better; if not, the scorer negates it.
    column : str, list of str or None, default None
        Columns of ``X`` with the groups, for use without routing; None: they are passed to each call.
    **options
        Passed on to the metric: ``top``, ``ties``, ``top_of``, ``undefined``.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from fairpot.datasets import make_synthetic
    >>> from fairpot.metrics import xauc_gap_scorer
    >>> data = make_synthetic(random_state=0)
    >>> model = LogisticRegression().fit(data.data, data.target)
    >>> xauc_gap_scorer(model, data.data, data.target, sensitive_features=data.group) < 0
    True
    """

    def __init__(
        self,
        metric: Callable[..., float],
        *,
        greater_is_better: bool = True,
        column: str | Sequence[str] | None = None,
        **options: Any,
    ) -> None:
        self.metric = metric
        self.greater_is_better = greater_is_better
        self.column = None if column is None else check_column_names(column, "column")
        self.options = options
        self._requests: dict[str, bool | str | None] = {"sensitive_features": column is None}

    def __call__(
        self, estimator: Any, X: Any, y: Any, *, sensitive_features: Any = None, sample_weight: Any = None
    ) -> float:
        """Score a fitted model; the metric is negated if it is better when small."""
        check_alignment(X=X, y=y, sensitive_features=sensitive_features, sample_weight=sample_weight)
        groups = self._groups(X, sensitive_features)
        while hasattr(estimator, "best_estimator_"):  # a search's own predict_proba passes no groups on
            estimator = estimator.best_estimator_
        options = dict(self.options)
        if self._metric_needs_groups():
            options["sensitive_features"] = groups
        if sample_weight is not None:
            options["sample_weight"] = sample_weight
        value = self.metric(_as_outcomes(estimator, y), _scores(estimator, X, groups), **options)
        return float(value if self.greater_is_better else -value)

    def set_score_request(self, **requests: bool | str | None) -> GroupScorer:
        """Return a scorer that requests other metadata; this one does not change.

        Parameters
        ----------
        **requests
            ``sample_weight=True`` requests weights, ``sensitive_features="sex"`` takes the groups from the
            metadata of that name.
        """
        made = copy(self)
        made._requests = self._requests | requests
        return made

    def get_metadata_routing(self) -> Any:
        """Request the groups, unless columns of ``X`` hold them."""
        request = MetadataRequest(owner=repr(self))
        for name in ("sensitive_features", "sample_weight"):
            request.score.add_request(param=name, alias=self._requests.get(name))
        return request

    def __repr__(self) -> str:
        parts = [self._name]
        parts += [] if self.greater_is_better else ["greater_is_better=False"]
        parts += [] if self.column is None else [f"column={self.column!r}"]
        return f"GroupScorer({', '.join(parts + [f'{k}={v!r}' for k, v in self.options.items()])})"

    @property
    def _name(self) -> str:
        return str(getattr(self.metric, "__name__", self.metric))

    def _accept_sample_weight(self) -> bool:
        """Answer scikit-learn's searches where routing is off."""
        return "sample_weight" in signature(self.metric).parameters

    def _metric_needs_groups(self) -> bool:
        if self.options.get("top_of") == "group":
            return True
        if self.metric in OF_GROUPS:
            return True
        argument = signature(self.metric).parameters.get("sensitive_features")
        return argument is not None and argument.default is argument.empty

    def _groups(self, X: Any, given: Any) -> Any:
        if self.column is not None:
            return select_columns(X, self.column)
        if given is None and self._metric_needs_groups():
            raise TypeError(
                f"{self!r} got no sensitive_features: the group of each row is missing.\n"
                "Hint: sklearn.set_config(enable_metadata_routing=True) and cross_validate(..., "
                "params={'sensitive_features': groups}) or search.fit(X, y, sensitive_features=groups); or name the "
                "column of X, GroupScorer(metric, column='sex')."
            )
        return given


auc_scorer = GroupScorer(auc)
xauc_gap_scorer = GroupScorer(xauc_gap, greater_is_better=False)


def _scores(model: Any, X: Any, groups: Any) -> NDArray[np.float64]:
    """Return the scores for the positive class; groups go to a model that requests them."""
    name = next((r for r in _RESPONSES if hasattr(model, r)), None)
    if name is None:
        raise TypeError(f"{type(model).__name__} has no {' or '.join(_RESPONSES)}: there are no scores to rank by.")
    wanted = get_routing_for_object(model).consumes(method=name, params={"sensitive_features"})
    passed = {"sensitive_features": groups} if wanted and groups is not None else {}
    values = np.asarray(getattr(model, name)(X, **passed), dtype=np.float64)
    second = _positive(model) is None or _positive(model) == model.classes_[1]
    if values.ndim == 2 and values.shape[1] == 2:
        return values[:, 1 if second else 0]
    return values if second else 0.0 - values


def _positive(model: Any) -> Any:
    """Return the label that a model's scores are of: the one it names, else the second of its classes."""
    classes = getattr(model, "classes_", None)
    return getattr(model, "pos_label_", None if classes is None else classes[-1])


def _as_outcomes(model: Any, y: Any) -> Any:
    """Return labels as 0/1: 1 is what the model's scores are of."""
    classes = getattr(model, "classes_", None)
    if classes is None:
        return y
    if len(classes) != 2:
        raise ValueError(
            f"{type(model).__name__} has {len(classes)} classes: the metric ranks two outcomes.\n"
            "Hint: train it on one outcome against all others."
        )
    labels = as_column(y, "y")
    unknown = set(labels.tolist()) - set(np.asarray(classes).tolist())
    if unknown:
        raise ValueError(f"y has labels that the model does not know: {sorted(unknown, key=str)} ({list(classes)}).")
    return (labels == _positive(model)).astype(np.int8)
