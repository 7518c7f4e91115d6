"""Mini-batches for the partial-AUC objective, with the running estimate that keeps their gradient honest.

The logarithm of a batch's mean is not, on average, the logarithm of the mean: gradients from batches alone
aim at another objective, the more so the smaller the temperature. So each positive keeps a running estimate u_i of its
mean of exp(L / t) over all negatives, and the batch's gradient is divided by that (SOPA-s, Zhu et al. 2022). Given
u_i, the gradient is linear in the batch, hence right on average. The estimate is kept as a logarithm.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from fairpot.training.objective import Floats, TailGradient, pair_hinge

Rows = NDArray[np.intp]

# Steps of an epoch where there are few rows: early stopping looks at the model once an epoch.
_LEAST_STEPS = 20


class Batches:
    """Draw batches with positives in each of them.

    An epoch shows every row of the class that needs more batches, and has at least 20 of them; a class that is used up
    is shuffled and starts anew, so every batch of a class is a random subset of it.
    """

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
    """The objective's gradient from batches.

    Parameters
    ----------
    positives : int
        How many there are in all.
    temperature, margin : float
        As in :func:`fairpot.training.tail_loss`.
    momentum : float in (0, 1]
        Share of the new batch in a positive's running estimate; 1 forgets what was before.
    """

    def __init__(self, positives: int, *, temperature: float, margin: float, momentum: float) -> None:
        self.log_mean = np.full(positives, np.nan)
        self.temperature, self.margin, self.momentum = temperature, margin, momentum

    def gradient(
        self, rows: Rows, positive: Floats, negative: Floats, positive_weight: Floats, negative_weight: Floats
    ) -> TailGradient:
        """Take a batch into the running estimates of its positives and return the gradient.

        Weights are relative to the mean of their class. The value is the estimate of the objective, from the
        running means.
        """
        hinge = pair_hinge(positive, negative, self.margin)
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
