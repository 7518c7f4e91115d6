"""PartialAUCClassifier: a small network trained for the top of the ranking; NumPy runs it, torch trains it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from fairpot._docs import documented
from fairpot._validation import check_whole
from fairpot.transport import Floats
from fairpot_paper.booster import Monitor, TopModel, TrainingRows
from fairpot_paper.objective import TailGradient, pair_hinge, tail_derivatives

# Standard deviations from the mean beyond which a value counts as this far: a flag that one row in a thousand has
# would otherwise come out at 30 and steer the network.
_FARTHEST = 3.0
# Of AdamW; the share of positives in a batch; and that of the newest batch in each positive's running estimate.
_WEIGHT_DECAY, _POSITIVES, _MOMENTUM = 1e-3, 0.25, 0.5
# Steps of an epoch where there are few rows: early stopping looks at the model once an epoch.
_LEAST_STEPS = 20

Rows = NDArray[np.intp]


class Standardiser(NamedTuple):
    """What brings columns to mean 0 and deviation 1, missing values to 0; ``flagged`` ones also say where they miss."""

    mean: Floats
    scale: Floats
    flagged: NDArray[np.intp]

    @classmethod
    def learn(cls, rows: Floats, weight: Floats) -> Standardiser:
        """Learn means and scales from the values that are there; a constant column keeps its scale."""
        there = ~np.isnan(rows)
        share = np.where(there, weight[:, None], 0.0)
        total = share.sum(axis=0)
        known = np.where(there, rows, 0.0)
        mean = np.divide((share * known).sum(axis=0), total, out=np.zeros(rows.shape[1]), where=total > 0)
        spread = (share * np.where(there, rows - mean, 0.0) ** 2).sum(axis=0)
        scale = np.sqrt(np.divide(spread, total, out=np.zeros(rows.shape[1]), where=total > 0))
        tiny = scale <= 1e-12 * np.maximum(np.abs(mean), 1e-300)  # constant but for round-off
        return cls(mean, np.where(tiny, 1.0, scale), np.flatnonzero(~there.all(axis=0)))

    @property
    def width(self) -> int:
        """Number of columns that come out."""
        return len(self.mean) + len(self.flagged)

    def apply(self, rows: Floats) -> Floats:
        """Bring rows to that scale."""
        gone = np.isnan(rows)
        scaled = np.clip((rows - self.mean) / self.scale, -_FARTHEST, _FARTHEST)
        scaled[gone] = 0.0
        return np.hstack([scaled, gone[:, self.flagged].astype(np.float64)])


Layers = list[tuple[Floats, Floats]]


def draw_layers(sizes: Sequence[int], rng: np.random.Generator) -> Layers:
    """Draw weights for layers of the given widths (He's uniform rule), biases at 0."""
    layers = []
    for before, after in pairwise(sizes):
        bound = np.sqrt(6.0 / before)
        layers.append((rng.uniform(-bound, bound, size=(before, after)), np.zeros(after)))
    weight, bias = layers[-1]
    layers[-1] = (weight * 0.1, bias)  # scores start close together, where the sigmoid is steep
    return layers


def run_layers(layers: Layers, rows: Floats) -> Floats:
    """Return the network's log-odds; rectifiers between the layers."""
    for weight, bias in layers[:-1]:
        rows = np.maximum(rows @ weight + bias, 0.0)
    weight, bias = layers[-1]
    return np.asarray((rows @ weight + bias)[:, 0], dtype=np.float64)


class Batches:
    """Draw batches with positives in each of them; a class that is used up is shuffled and starts anew."""

    def __init__(
        self, positives: int, negatives: int, size: int, positive_share: float, rng: np.random.Generator
    ) -> None:
        per_batch = int(np.clip(round(size * positive_share), 1, min(positives, size - 1)))
        self.sizes = per_batch, min(size - per_batch, negatives)
        self.totals = positives, negatives
        self.rng = rng
        self.length = max(_LEAST_STEPS, *(-(-total // part) for total, part in zip(self.totals, self.sizes)))

    def __iter__(self) -> Iterator[tuple[Rows, Rows]]:
        """Yield positions among the positives and among the negatives, batch after batch."""
        streams = [self._stream(total, part) for total, part in zip(self.totals, self.sizes)]
        for _ in range(self.length):
            yield next(streams[0]), next(streams[1])

    def _stream(self, total: int, part: int) -> Iterator[Rows]:
        """Deal shuffled rows; what is left over at the end of a deck comes first in the next."""
        left = np.arange(0)
        while True:
            deck = np.append(left, np.setdiff1d(self.rng.permutation(total), left, assume_unique=True))
            dealt = total - total % part
            yield from deck[:dealt].reshape(-1, part)
            left = deck[dealt:]


class RunningTail:
    """The objective's gradient from batches; a ``momentum`` of 1 forgets what was before the newest one."""

    def __init__(self, positives: int, *, temperature: float, momentum: float) -> None:
        self.log_mean = np.full(positives, np.nan)
        self.temperature, self.momentum = temperature, momentum

    def gradient(
        self, rows: Rows, positive: Floats, negative: Floats, positive_weight: Floats, negative_weight: Floats
    ) -> TailGradient:
        """Take a batch into the running estimates of its positives; weights are relative to the mean of their class."""
        hinge = pair_hinge(positive, negative)
        with np.errstate(divide="ignore"):
            exponent = hinge**2 / self.temperature + np.log(negative_weight / len(negative))
        self.log_mean[rows] = known = self._update(self.log_mean[rows], exponent)
        # The new batch is part of the estimate, so no entry exceeds 1 / momentum.
        pull = 2 * hinge * np.exp(exponent - known[:, None]) * (positive_weight / len(positive))[:, None]
        value = float(np.mean(positive_weight * self.temperature * known))
        return TailGradient(value, -pull.sum(axis=1), pull.sum(axis=0))

    def _update(self, before: Floats, exponent: Floats) -> Floats:
        largest = exponent.max(axis=1)
        batch = largest + np.log(np.exp(exponent - largest[:, None]).sum(axis=1))
        if self.momentum == 1:
            return batch
        before = np.where(np.isnan(before), batch, before)  # the first batch is all that is known
        return np.logaddexp(np.log1p(-self.momentum) + before, np.log(self.momentum) + batch)


@documented
@dataclass(eq=False, repr=False)
class PartialAUCClassifier(TopModel):
    """Train a small network so that positives beat the negatives that rank highest.

    The objective is a soft maximum, over the negatives, of a squared hinge on the difference of two scores. Torch
    trains it; a fitted model is plain arrays, and scores without it.

    A partial AUC over a model's own top alpha is measured on other people for every model: look at
    ``top_recall`` beside it.

    Parameters
    ----------
    alpha : float in (0, 1], default 0.1
        Share of the rows at the top that matters; early stopping looks there. The objective does not depend on it.
    temperature : float, default 1.0
        The objective's lambda: large values weigh all rows without the outcome alike, small ones the highest.
    early_stopping : bool, default True
        Whether a stratified part, 15%, is set aside, where that is ten rows of each class or more, and the round kept
        that is best on it, by the area under the ROC curve up to the false-positive rate alpha.
    random_state : int, RandomState or None, default None
        An int gives the same model again on the same machine.
    hidden : sequence of int, default (64, 32)
        Widths of the hidden layers; empty for a linear model.
    batch_size : int or "full", default 256
        Rows of a step. "full" takes all pairs in every step, one step an epoch.
    learning_rate : float, default 1e-3
        Of AdamW.
    max_epochs : int, default 100
        Passes over the rows at most.
    patience : int, default 15
        Epochs without a better one before training stops.

    Attributes
    ----------
    layers_, best_epoch_ : list of (weights, biases), and int
        The weights kept, and their epoch, from 0.
    standardiser_ : Standardiser
        Means and scales of the features, and which columns are flagged where missing.
    classes_ : array of shape (2,)
        The values of the outcome; the second is the positive one.
    sigmoid_ : Sigmoid
        Slope and intercept that turn raw scores to log-odds; fitted on the validation part, or on the training rows
        where there is none.
    history_ : dict of str to array
        ``loss`` of each round, and with early stopping ``roc_area`` of the validation part after it.
    n_features_in_, feature_names_in_
        Number and names of the features.

    Examples
    --------
    >>> from fairpot.datasets import make_synthetic
    >>> from fairpot_paper.network import PartialAUCClassifier
    >>> data = make_synthetic(n=600, random_state=0)
    >>> model = PartialAUCClassifier(alpha=0.3, max_epochs=5, random_state=0).fit(data.data, data.target)
    >>> model.predict_proba(data.data).shape
    (600, 2)
    """

    hidden: Sequence[int] = field(default=(64, 32), kw_only=True)
    batch_size: int | str = field(default=256, kw_only=True)
    learning_rate: float = field(default=1e-3, kw_only=True)
    max_epochs: int = field(default=100, kw_only=True)
    patience: int = field(default=15, kw_only=True)

    layers_: Layers = field(init=False)
    standardiser_: Standardiser = field(init=False)
    best_epoch_: int = field(init=False)

    def _train(self, rows: TrainingRows) -> TrainingRows:
        if self.batch_size != "full":
            check_whole(self.batch_size, "batch_size ('full' takes all rows)", least=2)
        for width in self.hidden:
            check_whole(width, "each width in hidden")
        check_whole(self.max_epochs, "max_epochs")
        rng = np.random.default_rng(check_random_state(self.random_state).randint(2**31))
        train, validation = rows.split(self.early_stopping, seed=int(rng.integers(2**31)))
        self.standardiser_ = Standardiser.learn(train.X, train.weight)
        monitor = None
        if validation is not None:
            seen = validation._replace(X=self.standardiser_.apply(validation.X))
            monitor = Monitor(seen, self.alpha, self.patience)
        layers = draw_layers([self.standardiser_.width, *self.hidden, 1], rng)
        scaled = train._replace(X=self.standardiser_.apply(train.X))
        kind = _FullEpoch if self.batch_size == "full" else _BatchEpoch
        with _one_thread():
            network = _TorchNetwork(layers, self.learning_rate)
            epoch = kind(self, network, scaled, rng)

            def watch() -> tuple[Floats, Layers]:
                assert monitor is not None
                current = network.layers()
                return run_layers(current, monitor.rows.X), current

            self.best_epoch_ = self._go_round(self.max_epochs, epoch, watch, monitor)
        self.layers_ = network.layers() if monitor is None else monitor.kept
        return train if validation is None else validation

    def _raw(self, rows: Floats) -> Floats:
        return run_layers(self.layers_, self.standardiser_.apply(rows))


class _TorchNetwork:
    """The same network with torch's gradients and optimiser."""

    def __init__(self, layers: Layers, learning_rate: float) -> None:
        import torch  # takes seconds to load

        self.torch = torch
        self.tensors = [tuple(self.torch.tensor(part, requires_grad=True) for part in layer) for layer in layers]
        parameters = [part for layer in self.tensors for part in layer]
        self.optimiser = self.torch.optim.AdamW(parameters, lr=learning_rate, weight_decay=_WEIGHT_DECAY)

    def scores(self, rows: Floats) -> Any:
        """Return the sigmoid of the log-odds as a tensor that remembers how it was made."""
        hidden = self.torch.from_numpy(rows)
        for weight, bias in self.tensors[:-1]:
            hidden = (hidden @ weight + bias).relu()
        weight, bias = self.tensors[-1]
        return (hidden @ weight + bias)[:, 0].sigmoid()

    def step(self, scores: Any, gradient: Floats) -> None:
        """Move the weights against the objective's gradient with respect to the scores."""
        self.optimiser.zero_grad()
        scores.backward(gradient=self.torch.from_numpy(gradient))
        self.optimiser.step()

    def layers(self) -> Layers:
        return [(weight.detach().numpy().copy(), bias.detach().numpy().copy()) for weight, bias in self.tensors]


@contextmanager
def _one_thread() -> Iterator[None]:
    """Run torch on one thread: faster for small layers, and sums come in the same order every time."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


class _FullEpoch:
    """One step on all pairs; the loss returned is that before the step."""

    def __init__(self, model: PartialAUCClassifier, network: _TorchNetwork, rows: TrainingRows, rng: Any) -> None:
        self.temperature, self.network, self.rows = model.temperature, network, rows
        self.positive = rows.y == 1

    def __call__(self) -> float:
        scores = self.network.scores(self.rows.X)
        values, weight, up = scores.detach().numpy(), self.rows.weight, self.positive
        weights = {"positive_weight": weight[up], "negative_weight": weight[~up]}
        found = tail_derivatives(values[up], values[~up], self.temperature, **weights)[0]
        gradient = np.empty(len(values))
        gradient[up], gradient[~up] = found.positive, found.negative
        self.network.step(scores, gradient)
        return found.value


class _BatchEpoch:
    """As many steps as it takes to see all rows; the loss returned is the mean of the batches' estimates."""

    def __init__(self, model: PartialAUCClassifier, network: _TorchNetwork, rows: TrainingRows, rng: Any) -> None:
        self.network = network
        self.parts = [rows.take(np.flatnonzero(rows.y == label)) for label in (1, 0)]
        self.weights = [part.weight / part.weight.mean() for part in self.parts]
        positives, negatives = (len(part.y) for part in self.parts)
        self.batches = Batches(positives, negatives, int(model.batch_size), _POSITIVES, rng)
        self.tail = RunningTail(positives, temperature=model.temperature, momentum=_MOMENTUM)

    def __call__(self) -> float:
        return float(np.mean([self._step(*chosen) for chosen in self.batches]))

    def _step(self, *chosen: NDArray[np.intp]) -> float:
        scores = self.network.scores(np.concatenate([part.X[rows] for part, rows in zip(self.parts, chosen)]))
        weights = [weight[rows] for weight, rows in zip(self.weights, chosen)]
        positive, negative = np.split(scores.detach().numpy(), [len(chosen[0])])
        found = self.tail.gradient(chosen[0], positive, negative, *weights)
        self.network.step(scores, np.concatenate([found.positive, found.negative]))
        return found.value
