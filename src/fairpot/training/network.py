"""A small multilayer perceptron: plain arrays that NumPy runs and torch trains."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairpot._optional import import_optional

Floats = NDArray[np.float64]
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
