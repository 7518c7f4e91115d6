"""TopModel: what the network and the boosted trees have in common, from checked parameters to the file."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from fairpot._docs import documented
from fairpot._progress import draw_bar
from fairpot._version import __version__
from fairpot.exceptions import ModelFileError
from fairpot.rows.output import atomic_file
from fairpot.training.monitor import Monitor
from fairpot.training.preparing import (
    Sigmoid,
    TrainingRows,
    check_new_rows,
    check_shared,
    check_training_rows,
    fit_sigmoid,
)
from fairpot.transport import Floats

FORMAT_VERSION = 1


class Trained(NamedTuple):
    """What training leaves behind: the loss of every round, who watched it, and the rows for the probabilities."""

    losses: list[float]
    monitor: Monitor | None
    held: TrainingRows

    @property
    def best(self) -> int:
        """The round that is kept."""
        return len(self.losses) - 1 if self.monitor is None else self.monitor.best


@documented
@dataclass(eq=False, repr=False)
class TopModel(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier that is trained so that positives beat the negatives that rank highest."""

    FORMAT: ClassVar[str]

    alpha: float = 0.1
    _: KW_ONLY
    temperature: float = 1.0
    margin: float = 1.0
    early_stopping: bool | str = "auto"
    validation_fraction: float = 0.15
    monitor: str = "roc_area"
    random_state: Any = None
    verbose: bool = False

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
        check_shared(self)
        self._check_own()
        done = self._train(check_training_rows(self, X, y, sample_weight))
        self.history_ = {"loss": np.array(done.losses)}
        if done.monitor is not None:
            self.history_ |= {name: np.array(column) for name, column in done.monitor.columns().items()}
        self.sigmoid_ = fit_sigmoid(self._raw(done.held.X), done.held.y, done.held.weight)
        return self

    def decision_function(self, X: Any) -> Floats:
        """Return the log-odds of the second class.

        {X}
        """
        rows = check_new_rows(self, X)
        return self.sigmoid_.log_odds(self._raw(rows))

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
        """Write the fitted model to a file; nothing is pickled.

        The network goes into an .npz file of plain arrays with a JSON header, the trees into JSON, as XGBoost itself
        describes them.

        {path, overwrite}
        """
        check_is_fitted(self)
        data = self._written()
        with atomic_file(Path(os.path.realpath(path)), overwrite=overwrite) as temporary:
            temporary.write_bytes(data)

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
            return cls._read(Path(path).read_bytes())
        except (ValueError, KeyError, TypeError, AttributeError, EOFError, zipfile.BadZipFile) as error:
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

    def _train(self, rows: TrainingRows) -> Trained:
        """Train on checked rows, and keep what ``_raw`` needs."""
        raise NotImplementedError

    def _go_round(
        self,
        what: str,
        most: int,
        step: Callable[[], float],
        watch: Callable[[], tuple[Floats, Any]],
        monitor: Monitor | None,
    ) -> list[float]:
        """Take steps until they are used up or the monitor says stop; return the loss of each.

        ``watch`` gives the scores of the monitor's rows as they are, and what is to be kept if they are the best.
        """
        losses = []
        for done in range(1, most + 1):
            losses.append(step())
            stop = (monitor is not None and monitor.see(*watch())) or done == most
            if self.verbose:
                note = f" loss {losses[-1]:.4f}" if monitor is None else f" {monitor.note()}"
                draw_bar(what, done, most, note=note, last=stop)
            if stop:
                break
        return losses

    def _raw(self, rows: Floats) -> Floats:
        """Score checked rows, on a scale of its own."""
        raise NotImplementedError

    def _written(self) -> bytes:
        """Return the content of the model's file."""
        raise NotImplementedError

    @classmethod
    def _read(cls, data: bytes) -> Self:
        """Make a model of the content of its file."""
        raise NotImplementedError

    def _header(self) -> dict[str, Any]:
        """Return what the files of both models say: format, parameters, calibration and columns."""
        parameters = self.get_params()
        seed = parameters["random_state"]
        # A generator has no text.
        parameters["random_state"] = int(seed) if isinstance(seed, int | np.integer) else None
        names = [str(n) for n in self.feature_names_in_] if hasattr(self, "feature_names_in_") else None
        return {
            "format": self.FORMAT,
            "format_version": FORMAT_VERSION,
            "fairpot": __version__,
            "parameters": {name: _json_value(value) for name, value in parameters.items()},
            "sigmoid": list(self.sigmoid_),
            "n_features_in": self.n_features_in_,
            "feature_names_in": names,
        }

    @classmethod
    def _restored(cls, header: dict[str, Any]) -> Self:
        """Make a model of what the files of both say."""
        if header.get("format") != cls.FORMAT or header.get("format_version") != FORMAT_VERSION:
            raise ValueError(f"its header names {header.get('format')!r}, version {header.get('format_version')!r}")
        model = cls(**header["parameters"])
        model.sigmoid_ = Sigmoid(*map(float, header["sigmoid"]))
        model.n_features_in_ = int(header["n_features_in"])
        if header["feature_names_in"] is not None:
            model.feature_names_in_ = np.array(header["feature_names_in"], dtype=object)
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
