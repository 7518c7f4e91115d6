"""TopModel: what the network and the boosted trees have in common, from checked rows to the file."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.model_selection import train_test_split
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from fairpot._docs import documented
from fairpot._validation import check_choice, check_share, is_number
from fairpot._version import __version__
from fairpot.exceptions import ModelFileError
from fairpot.rows.output import atomic_file
from fairpot.table import ScoreTable
from fairpot.transport import Floats

FORMAT_VERSION = 2
# The share of the rows that early stopping sets aside; with fewer of a class in it than this, it would follow chance.
VALIDATION, LEAST_FOR_AUTO = 0.15, 10


def check_positive(value: Any, name: str) -> None:
    """Check a finite number above 0."""
    if not is_number(value) or not 0 < value < math.inf:
        raise ValueError(f"{name} must be a finite number above 0, got {value!r}.")


def check_whole(value: Any, name: str, least: int = 1) -> None:
    """Check a whole number that is not too small."""
    if not is_number(value) or value != int(value) or value < least:
        raise ValueError(f"{name} must be a whole number, at least {least}, got {value!r}.")


class TrainingRows(NamedTuple):
    """Features, labels as 0 and 1, and weights; rows of weight 0 are gone."""

    X: Floats
    y: NDArray[np.int8]
    weight: Floats

    def take(self, rows: NDArray[np.intp]) -> TrainingRows:
        """Return some of the rows."""
        return TrainingRows(self.X[rows], self.y[rows], self.weight[rows])

    def split(self, early_stopping: bool | str, seed: int) -> tuple[TrainingRows, TrainingRows | None]:
        """Set a stratified validation part aside; None where there is to be none."""
        fewest = int(np.bincount(self.y).min())
        if not early_stopping or (early_stopping == "auto" and fewest * VALIDATION < LEAST_FOR_AUTO):
            return self, None
        if fewest < 2:
            raise ValueError(
                "early_stopping=True needs at least 2 rows of each class, one to train on and one to validate on; "
                f"the rarer class has {fewest}.\nHint: early_stopping=False or 'auto'."
            )
        held, size = max(2, round(VALIDATION * len(self.y))), len(self.y)
        train, validation = train_test_split(np.arange(size), test_size=held, stratify=self.y, random_state=seed)
        return self.take(train), self.take(validation)


class TopFigures(NamedTuple):
    """What a ranking does at its top, see :func:`top_figures`."""

    roc_area: float
    partial_auc: float
    top_recall: float


def top_figures(scores: Floats, y: NDArray[np.int8], weight: Floats, alpha: float) -> TopFigures:
    """Measure a ranking in the top, three ways; a tie in a pair is half a win.

    ``roc_area`` is the area under the ROC curve up to the false-positive rate alpha, divided by alpha: all positives
    against the highest negatives. ``partial_auc`` compares the positives and the negatives among the top alpha of all
    rows (ties at the cut included), so a positive outside is not missed. ``top_recall`` is the share of positives in
    the top alpha, where rows tied at the cut count by the share of them that has room.

    No negatives in the top is a partial AUC of 1, no positives one of 0, as in the paper: training has to go on.
    """
    table = ScoreTable.from_rows(scores, y, None, ("all",), weight)
    counts, top = table.counts[0], table.top(alpha).counts[0]
    positive, negative = (column[::-1].astype(np.float64) for column in (counts.positive, counts.negative))
    recall = float(_room(positive + negative, alpha) @ positive / positive.sum())
    return TopFigures(_roc_area(positive, negative, alpha), _own_auc(top.positive, top.negative), recall)


def _roc_area(positive: Floats, negative: Floats, alpha: float) -> float:
    """Return the area from the highest score down: straight lines through tied cells, as scikit-learn draws them."""
    inside = _room(negative, alpha)
    won = np.cumsum(positive) - positive + positive * inside / 2
    return float((negative * inside) @ won / (alpha * negative.sum() * positive.sum()))


def _own_auc(positive: Any, negative: Any) -> float:
    """Return the AUC of a table's rows, lowest score first; the paper's values where a class is missing."""
    if not positive.any() or not negative.any():
        return float(positive.any())
    beaten = np.cumsum(negative) - negative / 2
    return float(positive @ beaten) / float(positive.sum()) / float(negative.sum())


def _room(weight: Floats, alpha: float) -> Floats:
    """Return the share of each cell, from the first on, that lies within a share alpha of the total."""
    left = np.clip(alpha * weight.sum() - (np.cumsum(weight) - weight), 0.0, weight)
    return np.divide(left, weight, out=np.zeros(len(weight)), where=weight > 0)


class Monitor:
    """Remembers the best round, and says when there has been none better for too long."""

    def __init__(self, rows: TrainingRows, alpha: float, name: str, patience: int) -> None:
        self.rows, self.alpha, self.name, self.patience = rows, alpha, name, patience
        self.history: list[TopFigures] = []
        self.best: int = -1
        self.kept: Any = None

    def see(self, scores: Floats, state: Any) -> bool:
        """Take a round's validation scores; return whether to stop. ``state`` is kept if the round is the best."""
        figures = top_figures(scores, self.rows.y, self.rows.weight, self.alpha)
        self.history.append(figures)
        if self.best < 0 or getattr(figures, self.name) > getattr(self.history[self.best], self.name):
            self.best, self.kept = len(self.history) - 1, state
        return len(self.history) - 1 - self.best >= self.patience


# The slope stays above 0, so that the order stays; a model that ranks backwards gets nearly equal probabilities.
_LEAST_SLOPE = 1e-3


class Sigmoid(NamedTuple):
    """``slope * score + intercept`` is the log-odds of a positive."""

    slope: float
    intercept: float


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


@documented
@dataclass(eq=False, repr=False)
class TopModel(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier that is trained so that positives beat the negatives that rank highest."""

    FORMAT: ClassVar[str]

    alpha: float = 0.1
    _: KW_ONLY
    temperature: float = 1.0
    early_stopping: bool | str = "auto"
    monitor: str = "roc_area"
    random_state: Any = None

    classes_: NDArray[Any] = field(init=False)
    sigmoid_: Sigmoid = field(init=False)
    history_: dict[str, Floats] = field(init=False)

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train on rows with and without the outcome.

        Parameters
        ----------
        {X}
        y : column of shape (n,)
            Outcomes of two values; the second, in order, is the positive one.
        sample_weight : column of shape (n,), default None
            Weights.
        """
        check_share(self.alpha, "alpha", zero=False)
        for name in ("temperature", "learning_rate"):
            check_positive(getattr(self, name), name)
        check_whole(self.patience, "patience")
        check_choice(self.monitor, "monitor", TopFigures._fields)
        if self.early_stopping not in (True, False, "auto"):
            raise ValueError(f"early_stopping must be True, False or 'auto', got {self.early_stopping!r}.")
        self._check_own()
        held = self._train(self._check_rows(X, y, sample_weight))
        self.sigmoid_ = fit_sigmoid(self._raw(held.X), held.y, held.weight)
        return self

    def _check_rows(self, X: Any, y: Any, sample_weight: Any) -> TrainingRows:
        X, y = validate_data(self, X, y, dtype=np.float64, ensure_all_finite="allow-nan", ensure_min_samples=2)
        check_classification_targets(y)
        if (kind := type_of_target(y, input_name="y")) != "binary":
            raise ValueError(f"Only binary classification is supported. The type of the target is {kind}.")
        weight = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        kept = np.flatnonzero(weight > 0)
        self.classes_, labels = np.unique(y, return_inverse=True)
        rows = TrainingRows(X, labels.astype(np.int8), weight).take(kept)
        if len(np.unique(rows.y)) < 2:
            where = "" if len(kept) == len(X) else f" among the {len(kept)} rows with a weight above 0"
            raise ValueError(
                f"y holds a single class{where}: a ranking needs rows of both classes.\n"
                "Hint: pass rows with and without the outcome."
            )
        return rows

    def decision_function(self, X: Any) -> Floats:
        """Return the log-odds of the second class.

        {X}
        """
        check_is_fitted(self)
        rows = validate_data(self, X, dtype=np.float64, ensure_all_finite="allow-nan", reset=False)
        return self.sigmoid_.slope * self._raw(rows) + self.sigmoid_.intercept

    def predict_proba(self, X: Any) -> Floats:
        """Return probabilities of both classes, in the order of the ranking.

        {X}
        """
        odds = self.decision_function(X)
        return np.column_stack([expit(-odds), expit(odds)])

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the second class where its probability is above one half.

        {X}
        """
        above = self.decision_function(X) > 0
        return self.classes_[above.astype(np.intp)]

    def save(self, path: str | PathLike[str], *, overwrite: bool = False) -> None:
        """Write the fitted model to a JSON file: parameters, and the weights or the trees.

        {path, overwrite}
        """
        check_is_fitted(self)
        text = json.dumps(self._content(), allow_nan=False)
        with atomic_file(Path(os.path.realpath(path)), overwrite=overwrite) as temporary:
            temporary.write_text(text, encoding="utf-8")

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Self:
        """Read a model written by :meth:`save`; a network needs no torch for that.

        Parameters
        ----------
        path : str or path
            The file.

        Raises
        ------
        ModelFileError
            If the file is anything else; the message names it and the reason.
        """
        try:
            return cls._restored(json.loads(Path(path).read_bytes()))
        except (ValueError, KeyError, TypeError, AttributeError, IndexError) as error:
            raise ModelFileError(
                f"{os.fspath(path)!r} is no file of a {cls.__name__} of this version: {error}.\n"
                f"Hint: write one with {cls.__name__}.save."
            ) from error

    def __sklearn_tags__(self) -> Any:
        """Missing values are fine; two classes only."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.classifier_tags.multi_class = False
        return tags

    def _check_own(self) -> None:
        """Check the parameters that the other model does not have."""
        raise NotImplementedError

    def _train(self, rows: TrainingRows) -> TrainingRows:
        """Train on checked rows, keep what ``_raw`` needs, and return the rows to fit probabilities on."""
        raise NotImplementedError

    def _raw(self, rows: Floats) -> Floats:
        """Score checked rows, on a scale of its own."""
        raise NotImplementedError

    def _go_round(
        self,
        most: int,
        step: Callable[[], float],
        watch: Callable[[], tuple[Floats, Any]],
        monitor: Monitor | None,
    ) -> int:
        """Take steps until they are used up or the monitor says stop; keep the history, return the best round.

        ``watch`` gives the scores of the monitor's rows as they are, and what is to be kept if they are the best.
        """
        losses: list[float] = []
        for _ in range(most):
            losses.append(step())
            if monitor is not None and monitor.see(*watch()):
                break
        self.history_ = {"loss": np.array(losses)}
        if monitor is None:
            return len(losses) - 1
        self.history_ |= dict(zip(TopFigures._fields, np.array(monitor.history).T))
        return monitor.best

    def _content(self) -> dict[str, Any]:
        """Give what goes into the file; each model adds its own."""
        parameters = self.get_params()
        seed = parameters["random_state"]  # a generator has no text
        parameters["random_state"] = int(seed) if isinstance(seed, int | np.integer) else None
        labels = self.classes_
        if labels.dtype == object and not all(isinstance(label, str) for label in labels):
            raise ModelFileError(
                f"labels {labels.tolist()} of mixed or own types cannot be put into a file.\n"
                "Hint: fit on 0 and 1, or on texts."
            )
        names = [str(n) for n in self.feature_names_in_] if hasattr(self, "feature_names_in_") else None
        return {
            "format": self.FORMAT,
            "format_version": FORMAT_VERSION,
            "fairpot": __version__,
            "parameters": {name: _json_value(value) for name, value in parameters.items()},
            "sigmoid": list(self.sigmoid_),
            "n_features_in": self.n_features_in_,
            "feature_names_in": names,
            "classes": labels.tolist(),
            "history": {name: values.tolist() for name, values in self.history_.items()},
        }

    @classmethod
    def _restored(cls, content: dict[str, Any]) -> Self:
        """Make a model of what :meth:`_content` gave."""
        if content.get("format") != cls.FORMAT or content.get("format_version") != FORMAT_VERSION:
            raise ValueError(f"its header names {content.get('format')!r}, version {content.get('format_version')!r}")
        model = cls(**content["parameters"])
        model.sigmoid_ = Sigmoid(*map(float, content["sigmoid"]))
        model.n_features_in_ = int(content["n_features_in"])
        if content["feature_names_in"] is not None:
            model.feature_names_in_ = np.array(content["feature_names_in"], dtype=object)
        model.classes_ = np.array(content["classes"])
        model.history_ = {name: np.array(values) for name, values in content["history"].items()}
        return model


def _json_value(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    return list(value) if isinstance(value, tuple | np.ndarray) else value
