"""PartialAUCClassifier: a small network trained for the top of the ranking, and its file."""

from __future__ import annotations

import json
import os
import zipfile
from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import Any, Self, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from fairpot._validation import check_share, is_number
from fairpot._version import __version__
from fairpot.exceptions import ModelFileError
from fairpot.rows.output import atomic_file
from fairpot.training.monitor import Monitor, make_progress
from fairpot.training.network import Layers, Settings, Standardiser, draw_layers, run_layers, train_network
from fairpot.training.preparing import (
    Sigmoid,
    TrainingRows,
    check_new_rows,
    check_positive,
    check_shared,
    check_training_rows,
    check_whole,
    fit_sigmoid,
    split_rows,
)
from fairpot.transport import Floats

FORMAT = "fairpot-partial-auc"
FORMAT_VERSION = 1

Estimator = TypeVar("Estimator")


def save_classifier(model: Any, path: str | PathLike[str], *, overwrite: bool) -> None:
    """Write a fitted network."""
    arrays: dict[str, NDArray[Any]] = {"classes": plain_labels(model.classes_)}
    for place, (weight, bias) in enumerate(model.layers_):
        arrays |= {f"weight_{place}": weight, f"bias_{place}": bias}
    arrays |= {name: getattr(model.standardiser_, name) for name in Standardiser._fields}
    arrays |= {f"history_{name}": values for name, values in model.history_.items()}
    own = {"layers": len(model.layers_), "best_epoch": model.best_epoch_}
    header = json.dumps(describe(model, FORMAT) | own, allow_nan=False)
    with atomic_file(Path(os.path.realpath(path)), overwrite=overwrite) as temporary, temporary.open("wb") as file:
        np.savez(file, allow_pickle=False, header=np.frombuffer(header.encode(), dtype=np.uint8), **arrays)


def load_classifier(kind: type[Estimator], path: str | PathLike[str]) -> Estimator:
    """Read a network; whatever is wrong with the file is a ModelFileError that names it."""
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        header = json.loads(arrays.pop("header").tobytes())
        if header.get("format") != FORMAT or header.get("format_version") != FORMAT_VERSION:
            raise ValueError(f"its header names {header.get('format')!r}, version {header.get('format_version')!r}")
        return _restore(kind, header, arrays)
    except (ValueError, KeyError, TypeError, AttributeError, EOFError, zipfile.BadZipFile) as error:
        raise ModelFileError(
            f"{os.fspath(path)!r} is no partial-AUC model of this version: {error}.\n"
            "Hint: write one with PartialAUCClassifier.save."
        ) from error


def describe(model: Any, form: str) -> dict[str, Any]:
    """Return what the files of both models say: format, parameters, calibration and columns."""
    parameters = model.get_params()
    seed = parameters["random_state"]
    parameters["random_state"] = int(seed) if isinstance(seed, int | np.integer) else None  # a generator has no text
    return {
        "format": form,
        "format_version": FORMAT_VERSION,
        "fairpot": __version__,
        "parameters": {name: _json_value(value) for name, value in parameters.items()},
        "sigmoid": list(model.sigmoid_),
        "n_features_in": model.n_features_in_,
        "feature_names_in": [str(n) for n in model.feature_names_in_] if hasattr(model, "feature_names_in_") else None,
    }


def _restore(kind: type[Estimator], header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Estimator:
    parameters = header["parameters"]
    parameters["hidden"] = tuple(parameters["hidden"])
    model: Any = kind(**parameters)
    model.classes_ = arrays["classes"]
    model.layers_ = [(arrays[f"weight_{i}"], arrays[f"bias_{i}"]) for i in range(header["layers"])]
    model.standardiser_ = Standardiser(*(arrays[name] for name in Standardiser._fields))
    model.sigmoid_ = Sigmoid(*map(float, header["sigmoid"]))
    prefix = "history_"
    model.history_ = {name.removeprefix(prefix): arrays[name] for name in arrays if name.startswith(prefix)}
    model.best_epoch_ = int(header["best_epoch"])
    model.n_features_in_ = int(header["n_features_in"])
    if header["feature_names_in"] is not None:
        model.feature_names_in_ = np.array(header["feature_names_in"], dtype=object)
    if model.layers_[0][0].shape[0] != model.standardiser_.width:
        raise ValueError("its first layer does not fit its columns")
    return model


def plain_labels(labels: NDArray[Any]) -> NDArray[Any]:
    """Return labels in a type that needs no pickle."""
    if labels.dtype != object:
        return labels
    if all(isinstance(label, str) for label in labels):
        return labels.astype(np.str_)
    raise ModelFileError(
        f"labels {labels.tolist()} of mixed or own types cannot be put into a file.\nHint: fit on 0 and 1, or on texts."
    )


def _json_value(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    return list(value) if isinstance(value, tuple | np.ndarray) else value


class PartialAUCClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Train a small network so that positives beat the negatives that rank highest.

    The objective is a soft maximum, over the negatives, of a squared hinge on the difference of two scores
    (:func:`tail_loss`). Training needs torch (``pip install 'fairpot[pauc]'``); a fitted model is plain arrays, and
    scores, is saved and is loaded without it.

    A partial AUC over a model's own top alpha is measured on other people for every model. Look at
    ``top_recall`` beside it, always: :mod:`fairpot.metrics` and ``history_`` have it.

    Parameters
    ----------
    alpha : float in (0, 1], default 0.1
        Share of the rows at the top that matters; early stopping looks there. The objective does not depend on it.
    temperature : float, default 1.0
        The objective's lambda: large values weigh all negatives alike, small ones the highest only. Scores in the
        objective lie in [0, 1].
    margin : float, default 1.0
        By how much a positive should be ranked higher than a negative.
    hidden : sequence of int, default (64, 32)
        Widths of the hidden layers; empty for a linear model.
    batch_size : int or "full", default 256
        Rows of a step. "full" takes all pairs in every step, one step an epoch.
    positive_share : float, default 0.25
        Share of positives in a batch.
    momentum : float in (0, 1], default 0.5
        Share of the newest batch in each positive's running estimate of its mean over the negatives.
    learning_rate : float, default 1e-3
        Of AdamW.
    weight_decay : float, default 1e-3
        Of AdamW.
    max_epochs : int, default 100
        Passes over the rows at most.
    early_stopping : bool or "auto", default "auto"
        Whether a stratified part is set aside and the best epoch on it kept. "auto": where that part has at least ten
        rows of each class. The part takes no share in training.
    validation_fraction : float, default 0.15
        Share of the rows that is set aside.
    patience : int, default 15
        Epochs without a better one before training stops.
    monitor : {"roc_area", "partial_auc", "top_recall"}, default "roc_area"
        What makes an epoch better on the validation part. "roc_area": the area under the ROC curve up to the
        false-positive rate alpha, all positives against the highest negatives. "partial_auc": the paper's, among the
        top alpha of the rows alone; an epoch that drops positives out of the top can win it. "top_recall": the share of
        positives in the top alpha.
    random_state : int, RandomState or None, default None
        An int gives the same model again on the same machine.
    verbose : bool, default False
        Whether to draw a progress bar on the standard error stream.

    Attributes
    ----------
    classes_ : array of shape (2,)
        The values of the outcome; the second is the positive one.
    layers_ : list of (weights, biases)
    standardiser_ : Standardiser
        Means and scales of the features, and which columns are flagged where missing.
    sigmoid_ : Sigmoid
        Slope and intercept that turn the network's output to log-odds; fitted on the validation part, or on the
        training rows where there is none.
    history_ : dict of str to array
        ``loss`` of each epoch, and with early stopping ``roc_area``, ``partial_auc`` and ``top_recall`` of the
        validation part after it.
    best_epoch_ : int
        Epoch of the weights kept, from 0.
    n_features_in_, feature_names_in_
        Number and names of the features.

    See Also
    --------
    PartialAUCBooster : the same objective for boosted trees, without torch.
    make_variant : the model with its preprocessing, alone or on top of boosted scores.

    Examples
    --------
    >>> from fairpot.datasets import make_synthetic
    >>> from fairpot.training import PartialAUCClassifier
    >>> data = make_synthetic(n=600, random_state=0)
    >>> model = PartialAUCClassifier(alpha=0.3, max_epochs=5, random_state=0).fit(data.data, data.target)
    >>> model.predict_proba(data.data).shape
    (600, 2)
    """

    classes_: NDArray[Any]
    layers_: Layers
    standardiser_: Standardiser
    sigmoid_: Sigmoid
    history_: dict[str, Floats]
    best_epoch_: int

    def __init__(
        self,
        alpha: float = 0.1,
        *,
        temperature: float = 1.0,
        margin: float = 1.0,
        hidden: Sequence[int] = (64, 32),
        batch_size: int | str = 256,
        positive_share: float = 0.25,
        momentum: float = 0.5,
        learning_rate: float = 1e-3,
        weight_decay: float = 1e-3,
        max_epochs: int = 100,
        early_stopping: bool | str = "auto",
        validation_fraction: float = 0.15,
        patience: int = 15,
        monitor: str = "roc_area",
        random_state: Any = None,
        verbose: bool = False,
    ) -> None:
        self.alpha = alpha
        self.temperature = temperature
        self.margin = margin
        self.hidden = hidden
        self.batch_size = batch_size
        self.positive_share = positive_share
        self.momentum = momentum
        self.learning_rate = learning_rate
        self.weight_decay = weight_decay
        self.max_epochs = max_epochs
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.patience = patience
        self.monitor = monitor
        self.random_state = random_state
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
        >>> from fairpot.training import PartialAUCClassifier
        >>> data = make_synthetic(n=400, random_state=0)
        >>> X, y = data.data, data.target
        >>> model = PartialAUCClassifier(alpha=0.3, max_epochs=3, random_state=0).fit(X, y)
        >>> model.classes_.tolist()
        [0, 1]
        """
        self._check_parameters()
        rows = check_training_rows(self, X, y, sample_weight)
        rng = np.random.default_rng(check_random_state(self.random_state).randint(2**31))
        train, validation = split_rows(
            rows, self.early_stopping, self.validation_fraction, seed=int(rng.integers(2**31))
        )
        self.standardiser_ = Standardiser.learn(train.X, train.weight)
        train = train._replace(X=self.standardiser_.apply(train.X))
        if validation is not None:
            validation = validation._replace(X=self.standardiser_.apply(validation.X))
        self._train(train, validation, rng)
        held = train if validation is None else validation
        self.sigmoid_ = fit_sigmoid(run_layers(self.layers_, held.X), held.y, held.weight)
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
        >>> from fairpot.training import PartialAUCClassifier
        >>> data = make_synthetic(n=400, random_state=0)
        >>> X, y = data.data, data.target
        >>> model = PartialAUCClassifier(alpha=0.3, max_epochs=3, random_state=0).fit(X, y)
        >>> model.decision_function(X).shape
        (400,)
        """
        rows = check_new_rows(self, X)
        return self.sigmoid_.log_odds(run_layers(self.layers_, self.standardiser_.apply(rows)))

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
        >>> from fairpot.training import PartialAUCClassifier
        >>> data = make_synthetic(n=400, random_state=0)
        >>> X, y = data.data, data.target
        >>> model = PartialAUCClassifier(alpha=0.3, max_epochs=3, random_state=0).fit(X, y)
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
        >>> from fairpot.training import PartialAUCClassifier
        >>> data = make_synthetic(n=400, random_state=0)
        >>> X, y = data.data, data.target
        >>> model = PartialAUCClassifier(alpha=0.3, max_epochs=3, random_state=0).fit(X, y)
        >>> model.predict(X).shape
        (400,)
        """
        above = self.decision_function(X) > 0
        return self.classes_[above.astype(np.intp)]

    def save(self, path: str | PathLike[str], *, overwrite: bool = False) -> None:
        """Write the fitted model to an .npz file of plain arrays with a JSON header; nothing is pickled.

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
        >>> from fairpot.training import PartialAUCClassifier
        >>> data = make_synthetic(n=400, random_state=0)
        >>> X, y = data.data, data.target
        >>> model = PartialAUCClassifier(alpha=0.3, max_epochs=3, random_state=0).fit(X, y)
        >>> path = Path(mkdtemp()) / "model.npz"
        >>> model.save(path)
        >>> path.exists()
        True
        """
        check_is_fitted(self)
        save_classifier(self, path, overwrite=overwrite)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Self:
        """Read a model written by :meth:`save`; torch is not needed.

        Parameters
        ----------
        path : str or path
            The file.

        Returns
        -------
        PartialAUCClassifier

        Examples
        --------
        >>> from pathlib import Path
        >>> from tempfile import mkdtemp
        >>> from fairpot.datasets import make_synthetic
        >>> from fairpot.training import PartialAUCClassifier
        >>> data = make_synthetic(n=400, random_state=0)
        >>> X, y = data.data, data.target
        >>> model = PartialAUCClassifier(alpha=0.3, max_epochs=3, random_state=0).fit(X, y)
        >>> path = Path(mkdtemp()) / "model.npz"
        >>> model.save(path)
        >>> bool((PartialAUCClassifier.load(path).predict(X) == model.predict(X)).all())
        True
        """
        return load_classifier(cls, path)

    def __sklearn_tags__(self) -> Any:
        """Missing values are fine; two classes only."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.classifier_tags.multi_class = False
        return tags

    def _train(self, train: TrainingRows, validation: TrainingRows | None, rng: np.random.Generator) -> None:
        monitor = None if validation is None else Monitor(validation, self.alpha, self.monitor, self.patience)
        layers = draw_layers([self.standardiser_.width, *self.hidden, 1], rng)
        progress = make_progress("partial AUC", bool(self.verbose))
        self.layers_, losses = train_network(layers, train, self._settings(), monitor, rng, progress)
        self.history_ = {"loss": np.array(losses)}
        self.best_epoch_ = len(losses) - 1
        if monitor is not None:
            self.best_epoch_ = monitor.best
            self.history_ |= {name: np.array(column) for name, column in monitor.columns().items()}

    def _settings(self) -> Settings:
        return Settings(
            temperature=self.temperature,
            margin=self.margin,
            batch_size=None if isinstance(self.batch_size, str) else self.batch_size,
            positive_share=self.positive_share,
            momentum=self.momentum,
            learning_rate=self.learning_rate,
            weight_decay=self.weight_decay,
            max_epochs=self.max_epochs,
        )

    def _check_parameters(self) -> None:
        check_shared(self)
        if self.batch_size != "full":
            check_whole(self.batch_size, "batch_size ('full' takes all rows)", least=2)
        for width in self.hidden:
            check_whole(width, "each width in hidden")
        check_whole(self.max_epochs, "max_epochs")
        check_share(self.momentum, "momentum", zero=False)
        if not is_number(self.positive_share) or not 0 < self.positive_share < 1:
            raise ValueError(f"positive_share must lie in (0, 1), got {self.positive_share!r}.")
        if self.weight_decay != 0:
            check_positive(self.weight_decay, "weight_decay, where it is not 0,")
