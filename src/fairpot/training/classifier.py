"""PartialAUCClassifier: a small network trained for the top of the ranking."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from fairpot._validation import check_share, is_number
from fairpot.training.calibration import Sigmoid, fit_sigmoid
from fairpot.training.columns import Standardiser
from fairpot.training.monitor import Monitor
from fairpot.training.network import Layers, draw_layers, run_layers
from fairpot.training.parameters import check_positive, check_shared, check_whole
from fairpot.training.progress import make_progress
from fairpot.training.rows import TrainingRows, check_new_rows, check_training_rows, split_rows
from fairpot.training.saving import load_classifier, save_classifier
from fairpot.training.train import Settings, train_network

Floats = NDArray[np.float64]


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
        By how much a positive should be ahead.
    hidden : sequence of int, default (64, 32)
        Widths of the hidden layers; empty for a linear model.
    batch_size : int or "full", default 256
        Rows of a step. "full" takes all pairs in every step, one step an epoch.
    positive_share : float, default 0.25
        Share of positives in a batch.
    momentum : float in (0, 1], default 0.5
        Share of the newest batch in each positive's running estimate of its mean over the negatives.
    learning_rate : float, default 1e-3
    weight_decay : float, default 1e-3
        Of AdamW.
    max_epochs : int, default 100
    early_stopping : bool or "auto", default "auto"
        Whether a stratified part is set aside and the best epoch on it kept. "auto": where that part has at least ten
        rows of each class. The part takes no share in training.
    validation_fraction : float, default 0.15
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
        The labels; the second is the positive one.
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
        As in scikit-learn.

    See Also
    --------
    PartialAUCBooster : the same objective for boosted trees, without torch.
    make_variant : the model with its preprocessing, alone or on top of boosted scores.

    Examples
    --------
    >>> from fairpot.datasets import make_synthetic
    >>> from fairpot.training import PartialAUCClassifier
    >>> drawn = make_synthetic(n=600, random_state=0)
    >>> model = PartialAUCClassifier(alpha=0.3, max_epochs=5, random_state=0).fit(drawn.data, drawn.target)
    >>> model.predict_proba(drawn.data).shape
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
        """Train on rows with two labels.

        Parameters
        ----------
        X : frame or array of shape (n, d)
            Numbers; NaN where missing.
        y : column of shape (n,)
            Any two labels; the second in sorted order is the positive one.
        sample_weight : column of shape (n,), default None

        Returns
        -------
        self
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

        Returns
        -------
        array of shape (n,)
        """
        rows = check_new_rows(self, X)
        return self.sigmoid_.log_odds(run_layers(self.layers_, self.standardiser_.apply(rows)))

    def predict_proba(self, X: Any) -> Floats:
        """Return probabilities of both classes, in the order of the ranking.

        Parameters
        ----------
        X : frame or array of shape (n, d)

        Returns
        -------
        array of shape (n, 2)
        """
        odds = self.decision_function(X)
        return np.column_stack([expit(-odds), expit(odds)])

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the second class where its probability is above one half.

        Parameters
        ----------
        X : frame or array of shape (n, d)

        Returns
        -------
        array of shape (n,)
        """
        above = self.decision_function(X) > 0
        return self.classes_[above.astype(np.intp)]

    def save(self, path: str | PathLike[str], *, overwrite: bool = False) -> None:
        """Write the fitted model to an .npz file of plain arrays with a JSON header; nothing is pickled.

        Parameters
        ----------
        path : path
        overwrite : bool, default False
            Whether a file that is there may be replaced.
        """
        check_is_fitted(self)
        save_classifier(self, path, overwrite=overwrite)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Self:
        """Read a model written by :meth:`save`; torch is not needed.

        Parameters
        ----------
        path : path
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
