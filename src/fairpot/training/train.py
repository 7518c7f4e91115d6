"""The training loop: full batches or mini-batches, with early stopping."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fairpot.training.monitor import Monitor
from fairpot.training.network import Layers, TorchNetwork, one_thread, run_layers
from fairpot.training.objective import tail_gradient
from fairpot.training.progress import Progress
from fairpot.training.rows import TrainingRows
from fairpot.training.running import Batches, RunningTail


class Settings(NamedTuple):
    """How to train; see :class:`fairpot.training.PartialAUCClassifier`."""

    temperature: float
    margin: float
    batch_size: int | None
    positive_share: float
    momentum: float
    learning_rate: float
    weight_decay: float
    max_epochs: int


class Trained(NamedTuple):
    """Weights of the chosen epoch, and the objective after every epoch."""

    layers: Layers
    losses: list[float]


def train_network(
    layers: Layers,
    rows: TrainingRows,
    settings: Settings,
    monitor: Monitor | None,
    rng: np.random.Generator,
    progress: Progress,
) -> Trained:
    """Train until the epochs are used up or the monitor says stop."""
    losses: list[float] = []
    with one_thread():
        network = TorchNetwork(layers, settings.learning_rate, settings.weight_decay)
        run_epoch = _make_epoch(network, rows, settings, rng)
        for epoch in range(settings.max_epochs):
            losses.append(run_epoch())
            current = network.layers()
            stop = monitor is not None and monitor.see(run_layers(current, monitor.rows.X), current)
            stop = stop or epoch + 1 == settings.max_epochs
            note = f"loss {losses[-1]:.4f}" if monitor is None else monitor.note()
            progress(epoch + 1, settings.max_epochs, note, last=stop)
            if stop:
                break
    return Trained(current if monitor is None else monitor.kept, losses)


class _FullEpoch:
    """One step on all pairs; the loss returned is that before the step."""

    def __init__(self, network: TorchNetwork, rows: TrainingRows, settings: Settings) -> None:
        self.network, self.rows, self.settings = network, rows, settings
        self.positive = rows.y == 1

    def __call__(self) -> float:
        scores = self.network.scores(self.rows.X)
        values, weight = scores.detach().numpy(), self.rows.weight
        found = tail_gradient(
            values[self.positive],
            values[~self.positive],
            temperature=self.settings.temperature,
            margin=self.settings.margin,
            positive_weight=weight[self.positive],
            negative_weight=weight[~self.positive],
        )
        gradient = np.empty(len(values))
        gradient[self.positive], gradient[~self.positive] = found.positive, found.negative
        self.network.step(scores, gradient)
        return found.value


class _BatchEpoch:
    """As many steps as it takes to see all rows; the loss returned is the mean of the batches' estimates."""

    def __init__(
        self, network: TorchNetwork, rows: TrainingRows, settings: Settings, size: int, rng: np.random.Generator
    ) -> None:
        self.network = network
        self.parts = [rows.take(np.flatnonzero(rows.y == label)) for label in (1, 0)]
        self.weights = [part.weight / part.weight.mean() for part in self.parts]
        positives, negatives = (len(part.y) for part in self.parts)
        self.batches = Batches(positives, negatives, size, settings.positive_share, rng)
        self.tail = RunningTail(
            positives, temperature=settings.temperature, margin=settings.margin, momentum=settings.momentum
        )

    def __call__(self) -> float:
        return float(np.mean([self._step(positive, negative) for positive, negative in self.batches]))

    def _step(self, positive: np.ndarray, negative: np.ndarray) -> float:
        chosen = positive, negative
        scores = self.network.scores(np.concatenate([part.X[rows] for part, rows in zip(self.parts, chosen)]))
        values = scores.detach().numpy()
        weights = [weight[rows] for weight, rows in zip(self.weights, chosen)]
        found = self.tail.gradient(positive, values[: len(positive)], values[len(positive) :], *weights)
        self.network.step(scores, np.concatenate([found.positive, found.negative]))
        return found.value


def _make_epoch(
    network: TorchNetwork, rows: TrainingRows, settings: Settings, rng: np.random.Generator
) -> _FullEpoch | _BatchEpoch:
    if settings.batch_size is None:
        return _FullEpoch(network, rows, settings)
    return _BatchEpoch(network, rows, settings, settings.batch_size, rng)
