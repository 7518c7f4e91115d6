"""PartialAUCClassifier: a small network trained for the top of the ranking, and its file."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from fairpot._validation import check_share, is_number
from fairpot.training.monitor import Monitor, make_progress
from fairpot.training.network import Layers, Settings, Standardiser, draw_layers, run_layers, train_network
from fairpot.training.preparing import TrainingRows, check_positive, check_whole, split_rows
from fairpot.training.top_model import TopModel, Trained, plain_labels
from fairpot.transport import Floats


@dataclass(eq=False, repr=False)
class PartialAUCClassifier(TopModel):
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

    Examples
    --------
    >>> from fairpot.datasets import make_synthetic
    >>> from fairpot.training import PartialAUCClassifier
    >>> data = make_synthetic(n=600, random_state=0)
    >>> model = PartialAUCClassifier(alpha=0.3, max_epochs=5, random_state=0).fit(data.data, data.target)
    >>> model.predict_proba(data.data).shape
    (600, 2)
    """

    FORMAT: ClassVar[str] = "fairpot-partial-auc"

    hidden: Sequence[int] = field(default=(64, 32), kw_only=True)
    batch_size: int | str = field(default=256, kw_only=True)
    positive_share: float = field(default=0.25, kw_only=True)
    momentum: float = field(default=0.5, kw_only=True)
    learning_rate: float = field(default=1e-3, kw_only=True)
    weight_decay: float = field(default=1e-3, kw_only=True)
    max_epochs: int = field(default=100, kw_only=True)
    patience: int = field(default=15, kw_only=True)

    layers_: Layers = field(init=False)
    standardiser_: Standardiser = field(init=False)
    best_epoch_: int = field(init=False)

    def _train(self, rows: TrainingRows) -> Trained:
        rng = np.random.default_rng(check_random_state(self.random_state).randint(2**31))
        train, validation = split_rows(
            rows, self.early_stopping, self.validation_fraction, seed=int(rng.integers(2**31))
        )
        self.standardiser_ = Standardiser.learn(train.X, train.weight)
        monitor = None
        if validation is not None:
            seen = validation._replace(X=self.standardiser_.apply(validation.X))
            monitor = Monitor(seen, self.alpha, self.monitor, self.patience)
        layers = draw_layers([self.standardiser_.width, *self.hidden, 1], rng)
        scaled = train._replace(X=self.standardiser_.apply(train.X))
        settings = Settings(*(getattr(self, name) for name in Settings._fields))
        progress = make_progress("partial AUC", bool(self.verbose))
        self.layers_, losses = train_network(layers, scaled, settings, monitor, rng, progress)
        done = Trained(losses, monitor, train if validation is None else validation)
        self.best_epoch_ = done.best
        return done

    def _raw(self, rows: Floats) -> Floats:
        return run_layers(self.layers_, self.standardiser_.apply(rows))

    def _check_own(self) -> None:
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

    def _written(self) -> bytes:
        arrays: dict[str, NDArray[Any]] = {"classes": plain_labels(self.classes_)}
        for place, (weight, bias) in enumerate(self.layers_):
            arrays |= {f"weight_{place}": weight, f"bias_{place}": bias}
        arrays |= self.standardiser_._asdict()
        arrays |= {f"history_{name}": values for name, values in self.history_.items()}
        header = self._header() | {"layers": len(self.layers_), "best_epoch": self.best_epoch_}
        text = json.dumps(header, allow_nan=False).encode()
        file = io.BytesIO()
        np.savez(file, allow_pickle=False, header=np.frombuffer(text, dtype=np.uint8), **arrays)
        return file.getvalue()

    @classmethod
    def _read(cls, data: bytes) -> Self:
        with np.load(io.BytesIO(data), allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        header = json.loads(arrays["header"].tobytes())
        model = cls._restored(header)
        model.hidden = tuple(model.hidden)
        model.classes_ = arrays["classes"]
        model.layers_ = [(arrays[f"weight_{i}"], arrays[f"bias_{i}"]) for i in range(header["layers"])]
        model.standardiser_ = Standardiser(*(arrays[name] for name in Standardiser._fields))
        model.history_ = {name[8:]: values for name, values in arrays.items() if name.startswith("history_")}
        model.best_epoch_ = int(header["best_epoch"])
        if model.layers_[0][0].shape[0] != model.standardiser_.width:
            raise ValueError("its first layer does not fit its columns")
        return model
