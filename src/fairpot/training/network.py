"""A small multilayer perceptron: features standardised, arrays that NumPy runs and torch trains, the training loop."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fairpot._optional import import_optional
from fairpot.training.monitor import Monitor, Progress
from fairpot.training.objective import Batches, RunningTail, tail_gradient
from fairpot.training.preparing import TrainingRows
from fairpot.transport import Floats

# Standard deviations from the mean beyond which a value counts as this far: a flag that one row in a thousand has
# would otherwise come out at 30 and steer the network.
_FARTHEST = 3.0


class Standardiser(NamedTuple):
    """What brings columns to mean 0 and standard deviation 1.

    A missing value becomes 0, the mean; each column that had missing values when this was learned gets a second
    one that says where (``flagged``).
    """

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


class TorchNetwork:
    """The same network with torch's gradients and optimiser."""

    def __init__(self, layers: Layers, learning_rate: float, weight_decay: float) -> None:
        self.torch = import_optional("torch", "pauc")
        self.tensors = [tuple(self.torch.tensor(part, requires_grad=True) for part in layer) for layer in layers]
        parameters = [part for layer in self.tensors for part in layer]
        self.optimiser = self.torch.optim.AdamW(parameters, lr=learning_rate, weight_decay=weight_decay)

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
        """Copy the weights out."""
        return [(weight.detach().numpy().copy(), bias.detach().numpy().copy()) for weight, bias in self.tensors]


@contextmanager
def one_thread() -> Iterator[None]:
    """Run torch on one thread: faster for small layers, and sums come in the same order every time."""
    torch = import_optional("torch", "pauc")
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


class Settings(NamedTuple):
    """How to train; see :class:`fairpot.training.PartialAUCClassifier`."""

    temperature: float
    margin: float
    batch_size: int | str
    positive_share: float
    momentum: float
    learning_rate: float
    weight_decay: float
    max_epochs: int


def train_network(
    layers: Layers,
    rows: TrainingRows,
    settings: Settings,
    monitor: Monitor | None,
    rng: np.random.Generator,
    progress: Progress,
) -> tuple[Layers, list[float]]:
    """Train until epochs are used up or the monitor says stop; return the chosen weights and each epoch's loss."""
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
    return (current if monitor is None else monitor.kept), losses


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
    if isinstance(settings.batch_size, str):
        return _FullEpoch(network, rows, settings)
    return _BatchEpoch(network, rows, settings, settings.batch_size, rng)
