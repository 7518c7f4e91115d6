"""FairScoreClassifier: a model and a score map in one estimator, the map fitted on out-of-fold scores."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Hashable, Iterable, Sequence
from copy import copy
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Self, cast

import numpy as np
from numpy.typing import NDArray
from sklearn import get_config
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import accuracy_score
from sklearn.model_selection import check_cv
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing, assert_all_finite, check_random_state, column_or_1d, get_tags, indexable
from sklearn.utils.metadata_routing import UNUSED, MetadataRouter, MethodMapping, process_routing
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_consistent_length, check_is_fitted, has_fit_parameter, validate_data

from fairpot._defaults import Unmapped
from fairpot._docs import documented
from fairpot._said import Said
from fairpot._validation import check_alignment, check_choice, check_clusters, check_groups, is_number
from fairpot._validation.columns import check_column_names, drop_columns, select_columns
from fairpot._validation.values import check_labels
from fairpot.repair.estimators import Classifier
from fairpot.repair.registry import find_method
from fairpot.splitting import deal_units
from fairpot.transport import Floats

Indices = NDArray[np.intp]
Fold = tuple[Indices, Indices]
_RESPONSES = ("predict_proba", "decision_function")
_WITH_GROUPS = ("fit", "predict", "predict_proba", "decision_function", "score")


# What becomes of groups that are new to the map is said to the call itself, and not routed.
_TO_PREDICT: dict[str, Any] = {"sensitive_features": True, "unknown_group": UNUSED, "missing_group": UNUSED}


def _gives(kind: str) -> Callable[[FairScoreClassifier], bool]:
    """Let a method be there only where the scores are of the kind that it is named after."""
    return lambda model: model._gives() == kind


@documented
@dataclass(eq=False, repr=False)
class FairScoreClassifier(Classifier):
    """Fit a classifier and a score map together, the map on out-of-fold scores.

    Each row is scored by a copy of the model that was trained without it, and the map is fitted on these scores, which
    are not too good; the model that scores new rows is trained on all rows.

    Parameters
    ----------
    estimator : classifier
        Any binary classifier with ``predict_proba`` or ``decision_function``.
    postprocessor : repair method or None, default None
        Any of :mod:`fairpot.methods`; None takes ``FairPOT()``.
    cv : int, splitter, iterable, "prefit" or None, default 5
        An int: that many folds, stratified by outcome and group. A splitter or (train, test) rows: each row tested at
        most once. "prefit": ``estimator`` is fitted (as is every ``FrozenEstimator``) and scores rows that should be
        new to it. None: it scores its own training rows, the paper's way.
    sensitive_features : str, int, list of them, or None, default None
        Columns of ``X`` that hold the groups, of a frame by name, of an array by number; several form intersections.
        None: groups are passed to each call, through pipelines and searches by scikit-learn's metadata routing.
    drop_sensitive : bool, default False
        Whether the model is kept from seeing the columns of ``sensitive_features``. The map needs them either way.
    threshold : float or "auto", default "auto"
        Adjusted score from which ``predict`` gives the positive class; "auto": 0.5 for probabilities, else 0.
    {pos_label}
    n_jobs : int or None, default None
        Folds to fit at the same time.
    random_state : int, RandomState or None, default None
        Shuffles the rows before they are split into folds, if ``cv`` is an int. None splits them in their order.

    Attributes
    ----------
    estimator_, postprocessor_ : the model, fitted on all rows; and the repair method, fitted on ``scores_``
    scores_ : array of shape (n,)
        Out-of-fold scores; NaN in rows that no fold tested.
    classes_, pos_label_ : array of shape (2,), and one of them
        The labels, in the order of the model, and the positive one.
    n_features_in_, feature_names_in_
        Number and names of the features.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from fairpot import FairPOT, FairScoreClassifier
    >>> from fairpot.datasets import make_synthetic
    >>> data = make_synthetic(random_state=0)
    >>> X, y, group = data.data, data.target, data.group
    >>> model = FairScoreClassifier(LogisticRegression(), FairPOT(lam=0.6)).fit(X, y, sensitive_features=group)
    >>> model.predict_proba(X, sensitive_features=group).shape
    (3000, 2)
    """

    __metadata_request__fit: ClassVar = dict.fromkeys(("sensitive_features", "clusters", "weights"), True)
    __metadata_request__predict: ClassVar = _TO_PREDICT
    __metadata_request__predict_proba: ClassVar = _TO_PREDICT
    __metadata_request__decision_function: ClassVar = _TO_PREDICT
    __metadata_request__score: ClassVar = {"sensitive_features": True}

    estimator: Any
    postprocessor: Any = None
    _: KW_ONLY
    cv: Any = 5
    sensitive_features: str | int | list[str] | list[int] | None = None
    drop_sensitive: bool = False
    threshold: float | str = "auto"
    pos_label: Any = None
    n_jobs: int | None = None
    random_state: Any = None

    def fit(
        self,
        X: Any,
        y: Any,
        *,
        sensitive_features: Any = None,
        sample_weight: Any = None,
        clusters: Any = None,
        weights: str | None = None,
        **fit_params: Any,
    ) -> Self:
        """Fit the model on all rows, with weights if it takes any, and the map on scores of the rows.

        Parameters
        ----------
        {X, y, sensitive_features, sample_weight, clusters, weights}
        **fit_params
            Passed on to the model's ``fit``; with metadata routing, to the model and the splitter as they request.
        """
        fresh = copy(self)  # a fit that fails leaves all as it was
        fresh.__dict__ = {name: value for name, value in vars(self).items() if not name.endswith("_")}
        fresh._fit(X, y, sensitive_features, sample_weight, clusters, weights, fit_params)
        self.__dict__ = fresh.__dict__
        return self

    def _fit(self, X: Any, y: Any, given: Any, sample_weight: Any, clusters: Any, weights: Any, params: Any) -> None:
        self._check_parameters()
        check_alignment(X=X, y=y, sensitive_features=given, sample_weight=sample_weight, clusters=clusters)
        X, y = indexable(X, y)
        sample_weight = None if sample_weight is None else column_or_1d(sample_weight)
        check_consistent_length(X, y, sample_weight)
        labels = _check_target(y)
        self.classes_ = self._find_classes(labels)
        self.pos_label_ = self._find_positive(labels)
        positive = (labels == self.pos_label_).astype(np.intp)
        for label, what in enumerate(("negative", "positive")):
            if sample_weight is not None and not sample_weight[positive == label].any():
                raise ValueError(f"sample_weight is zero in every row of the {what} class: both are needed.")
        codes, groups, _ = check_groups(self._find_groups(X, given), len(labels))
        unit, units = (None, ()) if clusters is None else check_clusters(clusters, len(labels))
        validate_data(self, X, reset=True, skip_check_array=True)
        rows = self._model_rows(X)
        tested = np.arange(len(labels))
        if self._is_prefit():
            self.estimator_ = self.estimator
            self.scores_ = self._model_scores(rows)
        else:
            params, split_params = self._route(sample_weight, params)
            folds = [] if self.cv is None else self._folds(X, positive, codes, unit, split_params)
            self.estimator_ = clone(self.estimator).fit(rows, labels, **params)
            if folds:
                tested = np.sort(np.concatenate([test for _, test in folds]))
                self.scores_ = self._held_out_scores(rows, labels, folds, params)
            else:
                self.scores_ = self._model_scores(rows)
        known: dict[str, Any] = {"sensitive_features": _named(groups, codes[tested])}
        known["sample_weight"] = None if sample_weight is None else sample_weight[tested]
        if unit is not None:  # other repair methods than fairpot's may not know of these two
            known["clusters"] = _named(units, unit[tested])
        if weights is not None:
            known["weights"] = weights
        self.postprocessor_ = clone(self._mapper()).fit(self.scores_[tested], positive[tested], **known)

    def adjusted_scores(
        self,
        X: Any,
        *,
        sensitive_features: Any = None,
        unknown_group: Unmapped = "error",
        missing_group: Unmapped = "error",
    ) -> Floats:
        """Score rows with the model and adjust the scores; on the scale of the model's scores.

        {X, sensitive_features, unknown_group, missing_group}
        """
        check_is_fitted(self, "postprocessor_")
        check_alignment(X=X, sensitive_features=sensitive_features)
        [X] = indexable(X)
        groups = self._find_groups(X, sensitive_features)
        scores = self._model_scores(self._model_rows(X))
        ways = _ways(unknown_group, missing_group)
        return np.asarray(self.postprocessor_.transform(scores, sensitive_features=groups, **ways), dtype=np.float64)

    def scored(self, X: Any, y: Any, rows: Said) -> tuple[Any, Floats, NDArray[np.intp] | None, Said]:
        """Give the repair, scores as the model has them, outcomes and what is said of rows, for a look at its effect.

        Parameters
        ----------
        X, y : frame or array of shape (n, d), and column of shape (n,) or None
            Features, as the model takes them, and outcomes.
        rows : dict
            What is said of the rows.
        """
        check_is_fitted(self, "postprocessor_")
        check_alignment(X=X, y=y, sensitive_features=rows.get("sensitive_features"))
        [X] = indexable(X)
        groups = self._find_groups(X, rows.get("sensitive_features"))
        positive = None if y is None else (_check_target(y) == self.pos_label_).astype(np.intp)
        said = cast(Said, {**rows, "sensitive_features": groups})
        return self.postprocessor_, self._model_scores(self._model_rows(X)), positive, said

    @available_if(_gives("predict_proba"))  # type: ignore[untyped-decorator]
    @documented
    def predict_proba(
        self,
        X: Any,
        *,
        sensitive_features: Any = None,
        unknown_group: Unmapped = "error",
        missing_group: Unmapped = "error",
    ) -> Floats:
        """Return adjusted probabilities, in the order of ``classes_``; only where the scores are probabilities.

        A moved probability is one of the reference group, and no longer the chance of the outcome, unless the repair
        method has ``keep="probabilities"``.

        {X, sensitive_features, unknown_group, missing_group}
        """
        positive = np.clip(
            self.adjusted_scores(X, sensitive_features=sensitive_features, **_ways(unknown_group, missing_group)),
            0.0,
            1.0,
        )
        return np.column_stack([1.0 - positive, positive][:: 1 if self._place == 1 else -1])

    @available_if(_gives("decision_function"))  # type: ignore[untyped-decorator]
    @documented
    def decision_function(
        self,
        X: Any,
        *,
        sensitive_features: Any = None,
        unknown_group: Unmapped = "error",
        missing_group: Unmapped = "error",
    ) -> Floats:
        """Return adjusted scores of the second class; only where the model's scores are decision values.

        {X, sensitive_features, unknown_group, missing_group}
        """
        scores = self.adjusted_scores(X, sensitive_features=sensitive_features, **_ways(unknown_group, missing_group))
        return scores if self._place == 1 else 0.0 - scores

    def predict(
        self,
        X: Any,
        *,
        sensitive_features: Any = None,
        unknown_group: Unmapped = "error",
        missing_group: Unmapped = "error",
    ) -> NDArray[Any]:
        """Predict an outcome: the positive one where the adjusted score is at or above ``threshold``.

        {X, sensitive_features, unknown_group, missing_group}
        """
        scores = self.adjusted_scores(X, sensitive_features=sensitive_features, **_ways(unknown_group, missing_group))
        threshold = self.threshold
        if isinstance(threshold, str):
            threshold = 0.5 if self._gives() == "predict_proba" else 0.0
        flagged = (scores >= threshold).astype(np.intp)
        return self.classes_[flagged if self._place == 1 else 1 - flagged]

    def score(self, X: Any, y: Any, *, sensitive_features: Any = None, sample_weight: Any = None) -> float:
        """Return the accuracy of ``predict``.

        {X, y, sensitive_features, sample_weight}
        """
        check_alignment(X=X, y=y, sensitive_features=sensitive_features, sample_weight=sample_weight)
        predicted = self.predict(X, sensitive_features=sensitive_features)
        return float(accuracy_score(y, predicted, sample_weight=sample_weight))

    def get_metadata_routing(self) -> Any:
        """Request the groups, unless columns of ``X`` hold them; route the rest to the model and the splitter."""
        request = super().get_metadata_routing()
        if self.sensitive_features is not None:
            for method in _WITH_GROUPS:
                getattr(request, method).add_request(param="sensitive_features", alias=False)
        router = MetadataRouter(owner=type(self).__name__).add_self_request(request)
        router.add(estimator=self.estimator, method_mapping=MethodMapping().add(caller="fit", callee="fit"))
        return router.add(splitter=self.cv, method_mapping=MethodMapping().add(caller="fit", callee="split"))

    def __sklearn_tags__(self) -> Any:
        """Take over what the model can read; two classes only."""
        tags = super().__sklearn_tags__()
        model = get_tags(self.estimator)
        tags.input_tags.sparse = model.input_tags.sparse
        tags.input_tags.allow_nan = model.input_tags.allow_nan
        tags.classifier_tags.multi_class = False
        return tags

    def _check_parameters(self) -> None:
        if self.threshold != "auto" and not (is_number(self.threshold) and np.isfinite(float(self.threshold))):
            raise ValueError(f"threshold must be a finite number or 'auto', got {self.threshold!r}.")
        if isinstance(self.cv, str):
            check_choice(self.cv, "cv", ("prefit",))
        if isinstance(self.cv, bool) or (is_number(self.cv) and (self.cv != int(self.cv) or self.cv < 2)):
            raise ValueError(f"cv must be at least 2 folds, a splitter, 'prefit' or None, got {self.cv!r}.")
        if self.sensitive_features is not None:
            check_column_names(self.sensitive_features)
        elif self.drop_sensitive:
            raise ValueError(
                "drop_sensitive=True drops the columns that sensitive_features names, but it names none.\n"
                "Hint: FairScoreClassifier(..., sensitive_features='sex', drop_sensitive=True)."
            )
        mapper = self._mapper()
        if isinstance(mapper, type) or not (hasattr(mapper, "fit") and hasattr(mapper, "transform")):
            raise TypeError(f"postprocessor must be a repair method such as FairPOT(), got {mapper!r}.")
        if not self._response():
            raise TypeError(
                f"estimator {type(self.estimator).__name__} has no {' or '.join(_RESPONSES)}: no scores to adjust.\n"
                "Hint: use a classifier that gives scores."
            )

    def _mapper(self) -> Any:
        return find_method("fairpot")() if self.postprocessor is None else self.postprocessor

    def _is_prefit(self) -> bool:
        return isinstance(self.estimator, FrozenEstimator) or (isinstance(self.cv, str) and self.cv == "prefit")

    def _response(self) -> str:
        """Name the method that gives the model's scores, probabilities where it has them; empty if it has none."""
        return next((name for name in _RESPONSES if hasattr(self.estimator, name)), "")

    def _gives(self) -> str:
        """Name what the adjusted scores are: probabilities where the map makes them such, else what the model gives."""
        found = self._response()
        return "predict_proba" if found and getattr(self._mapper(), "keep", None) == "probabilities" else found

    def _find_classes(self, labels: NDArray[Any]) -> NDArray[Any]:
        """Return the two labels: those of a fitted model, else those of ``y``."""
        found = np.unique(labels)
        if not self._is_prefit():
            if len(found) < 2:
                one = found.tolist()[0]
                raise ValueError(f"y has one class, {one!r}, in all {len(labels)} rows: two classes are needed.")
            return found
        try:
            check_is_fitted(self.estimator)
        except NotFittedError as error:
            raise NotFittedError(
                f"cv='prefit' needs a fitted model, but this {type(self.estimator).__name__} is not fitted.\n"
                "Hint: fit it first; inside cross_validate or GridSearchCV, which clone, wrap the fitted model in "
                "sklearn.frozen.FrozenEstimator."
            ) from error
        known = np.asarray(self.estimator.classes_)
        if len(known) != 2:
            raise ValueError(f"Only binary classification is supported. The fitted estimator has {len(known)} classes.")
        unknown = found[~np.isin(found, known)]
        if len(unknown):
            new = unknown.tolist()
            raise ValueError(f"y has labels that the fitted estimator does not know: {new} ({known.tolist()}).")
        return known

    def _find_positive(self, labels: NDArray[Any]) -> Any:
        """Return the positive one of the classes: 1, True, or the one that is named."""
        if self.pos_label is None:
            check_labels(labels, len(labels))
        return self.classes_[int(np.argmax(check_labels(self.classes_, 2, pos_label=self.pos_label)))]

    @property
    def _place(self) -> int:
        return int(np.argmax(self.classes_ == self.pos_label_))

    def _model_scores(self, rows: Any) -> Floats:
        return score_rows(self.estimator_, rows, self._response(), self._place)

    def _find_groups(self, X: Any, given: Any) -> Any:
        """Return the groups of the rows, from the call or from the columns of ``X``; exactly one way."""
        if self.sensitive_features is None and given is None:
            raise TypeError(
                "sensitive_features is missing: pass the group of each row, sensitive_features=...\n"
                "Hint: inside scikit-learn name a column of the frame X, FairScoreClassifier(..., sensitive_features="
                "'sex', drop_sensitive=True): that works everywhere. Groups as a keyword need sklearn.set_config("
                "enable_metadata_routing=True), and scikit-learn does not pass them on in cross_val_predict and in the "
                "predictions of a search (use best_estimator_)."
            )
        if self.sensitive_features is None:
            return given
        if given is not None:
            raise TypeError(
                f"sensitive_features is given twice: as a column of X, {self.sensitive_features!r}, and to the call.\n"
                "Hint: leave one of them out."
            )
        return select_columns(X, check_column_names(self.sensitive_features))

    def _model_rows(self, X: Any) -> Any:
        return drop_columns(X, check_column_names(self.sensitive_features)) if self.drop_sensitive else X

    def _route(self, sample_weight: Any, fit_params: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return what is passed to the model's ``fit`` and to the splitter."""
        weight = {} if sample_weight is None else {"sample_weight": sample_weight}
        if get_config()["enable_metadata_routing"]:
            routed = process_routing(self, "fit", **weight, **fit_params)
            return dict(routed.estimator.fit), dict(routed.splitter.split)
        if not weight:
            return fit_params, {}
        keyword = _weight_keyword(self.estimator)
        if keyword is None:
            told = f"{type(self.estimator).__name__} takes no sample_weight: only the map is fitted with the weights."
            warnings.warn(told, UserWarning, stacklevel=3)
            return fit_params, {}
        return {keyword: sample_weight, **fit_params}, {}

    def _folds(self, X: Any, positive: Indices, codes: Indices, unit: Indices | None, params: Any) -> list[Fold]:
        """Return (train, test) rows, each row tested at most once and both classes in every training part."""
        rows = np.arange(len(positive))
        if is_number(self.cv):
            many = int(self.cv)
            what, each = ("rows", rows) if unit is None else ("clusters", unit)
            smallest = min(len(np.unique(each[positive == label])) for label in (0, 1))
            if smallest < many:
                raise ValueError(
                    f"cv={many} needs at least {many} {what} of each class of y, but one class has {smallest}.\n"
                    "Hint: fewer folds, or cv=None for in-sample scores."
                )
            if unit is None:
                fold = deal_folds(positive * (codes.max() + 1) + codes, many, self.random_state)
            else:
                fold = deal_clusters(unit, positive, codes, many, self.random_state)
            folds = [(rows[fold != k], rows[fold == k]) for k in range(many)]
        else:
            splits = check_cv(self.cv, positive, classifier=True).split(X, positive, **params)
            folds = [(rows[train], rows[test]) for train, test in splits]
        check_folds(folds, positive, unit)
        return folds

    def _held_out_scores(self, X: Any, labels: NDArray[Any], folds: list[Fold], params: Any) -> Floats:
        how = params, self._response(), self._place
        parts = Parallel(n_jobs=self.n_jobs)(
            delayed(score_fold)(clone(self.estimator), X, labels, fold, *how) for fold in folds
        )
        scores = np.full(len(labels), np.nan)
        for (_, test), part in zip(folds, parts):
            scores[test] = part
        return scores


def _ways(unknown_group: Unmapped, missing_group: Unmapped) -> dict[str, Any]:
    """Say what becomes of new groups, where it is not the usual: a repair method may not know of it."""
    given = {"unknown_group": unknown_group, "missing_group": missing_group}
    return {name: way for name, way in given.items() if way != "error"}


def _named(names: Sequence[Hashable], codes: Indices) -> NDArray[np.object_]:
    return np.array([*names, None], dtype=object)[codes]


def _check_target(y: Any) -> NDArray[Any]:
    labels = np.asarray(column_or_1d(y, warn=True))
    if len(labels) == 0:
        raise ValueError("y is empty: there are no rows to fit on.\nHint: look at what filtered the rows.")
    assert_all_finite(labels, input_name="y")
    check_classification_targets(labels)
    kind = type_of_target(labels, input_name="y", raise_unknown=True)
    if kind != "binary":
        raise ValueError(
            f"Only binary classification is supported. The type of the target is {kind}: y has "
            f"{len(np.unique(labels))} classes.\nHint: compare y with the class of interest, y == ..."
        )
    return labels


def _weight_keyword(estimator: Any) -> str | None:
    """Name the argument of ``fit`` that takes weights, also through a pipeline's last step."""
    if has_fit_parameter(estimator, "sample_weight"):
        return "sample_weight"
    if isinstance(estimator, Pipeline):
        name, last = estimator.steps[-1]
        inner = _weight_keyword(last)
        return None if inner is None else f"{name}__{inner}"
    return None


def deal_folds(strata: NDArray[np.intp], n_splits: int, random_state: Any = None) -> Indices:
    """Deal rows to folds like cards, stratum after stratum, shuffled if asked; return the fold of each row."""
    rows = np.arange(len(strata))
    if random_state is not None:
        check_random_state(random_state).shuffle(rows)
    rows = rows[np.argsort(strata[rows], kind="stable")]
    fold = np.empty(len(strata), dtype=np.intp)
    fold[rows] = np.arange(len(strata)) % n_splits
    return fold


def deal_clusters(unit: Indices, positive: Indices, codes: Indices, n_splits: int, random_state: Any = None) -> Indices:
    """Deal whole clusters to folds, as those of a table are dealt; return the fold of each row."""
    size = int(unit.max()) + 1
    rows = np.zeros((size, 2 * (int(codes.max()) + 1)))
    np.add.at(rows, (unit, 2 * codes + positive), 1)
    order = np.arange(size) if random_state is None else check_random_state(random_state).permutation(size)
    return deal_units(rows, n_splits, order)[unit]


def check_folds(folds: list[Fold], positive: Indices, unit: Indices | None = None) -> None:
    """Insist that both classes train every fold, on other rows and clusters than it tests, and none is tested twice."""
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
) -> Floats:
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


def score_rows(model: Any, X: Any, response: str, place: int = 1) -> Floats:
    """Return a fitted binary classifier's scores for the first (0) or the second (1) of its classes."""
    values = np.asarray(getattr(model, response)(X), dtype=np.float64)
    if response == "decision_function":
        values = values.reshape(-1) if values.ndim == 2 and values.shape[1] == 1 else values
        return values if place == 1 else 0.0 - values
    if values.ndim != 2 or values.shape[1] != 2:
        raise ValueError(f"predict_proba of {type(model).__name__} must give two columns, got shape {values.shape}.")
    return values[:, place]
