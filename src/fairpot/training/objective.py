"""The partial-AUC objective: pure maths on scores, with its gradient and curvature; in bins and in mini-batches."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fairpot.transport import Floats

# Pairs held at once: a block of positives against all negatives.
_BLOCK = 1 << 20


class TailGradient(NamedTuple):
    """Hold the objective's value and its derivatives with respect to the scores, see :func:`tail_gradient`."""

    value: float
    positive: Floats
    negative: Floats


class TailCurvature(NamedTuple):
    """Diagonal of the objective's Hessian; ``own`` is what a part of a negative's weight takes off again.

    A negative that is split into parts of share r has the curvature ``negative * r - own * r**2`` a part.
    """

    positive: Floats
    negative: Floats
    own: Floats


def tail_gradient(
    positive: ArrayLike,
    negative: ArrayLike,
    *,
    temperature: float = 1.0,
    margin: float = 1.0,
    positive_weight: ArrayLike | None = None,
    negative_weight: ArrayLike | None = None,
) -> TailGradient:
    """Compute the partial-AUC objective of a set of scores, and its gradient with respect to every score.

    Parameters
    ----------
    positive, negative : arrays of shape (n_pos,) and (n_neg,)
        Scores of the rows with the outcome, and of those without it.
    temperature : float, default 1.0
        Above 0. Large: the mean of the pairwise loss. Small: the mean over positives of their worst pair.
    margin : float, default 1.0
        By how much a positive should be ranked higher than a negative; pairs further apart cost nothing.
    positive_weight, negative_weight : arrays or None, default None
        Weights of the rows; only their proportions matter.

    Examples
    --------
    >>> from fairpot.training import tail_gradient
    >>> found = tail_gradient([0.9], [0.1, 0.5], temperature=1e9)
    >>> found.positive.round(6), found.negative.round(6)
    (array([-0.8]), array([0.2, 0.6]))
    """
    return tail_derivatives(positive, negative, temperature, margin, positive_weight, negative_weight)[0]


def tail_derivatives(
    positive: ArrayLike,
    negative: ArrayLike,
    temperature: float,
    margin: float,
    positive_weight: ArrayLike | None = None,
    negative_weight: ArrayLike | None = None,
) -> tuple[TailGradient, TailCurvature]:
    """Compute the objective with its first derivatives and the diagonal of the second."""
    s, z = np.asarray(positive, dtype=np.float64), np.asarray(negative, dtype=np.float64)
    p, q = _shares(positive_weight, len(s)), _shares(negative_weight, len(z))
    value, first, second = 0.0, np.empty(len(s)), np.empty(len(s))
    first_z, second_z, own = np.zeros(len(z)), np.zeros(len(z)), np.zeros(len(z))
    for block in _blocks(len(s), len(z)):
        hinge = pair_hinge(s[block], z, margin)
        peak, chance = _soft_maximum(hinge, q, temperature)
        value += float(p[block] @ peak)
        pull = 2 * chance * hinge
        first[block] = -p[block] * pull.sum(axis=1)
        first_z += p[block] @ pull
        bend = 2 * chance * (hinge > 0) + (2 / temperature) * pull * hinge
        second[block] = p[block] * (bend.sum(axis=1) - pull.sum(axis=1) ** 2 / temperature)
        second_z += p[block] @ bend
        own += p[block] @ pull**2 / temperature
    return TailGradient(value, first, first_z), TailCurvature(second, second_z, own)


def pair_hinge(positive: Floats, negative: Floats, margin: float) -> Floats:
    """Return by how much each positive falls short of being ``margin`` ahead of each negative."""
    return np.maximum(margin - (positive[:, None] - negative[None, :]), 0.0)


def _soft_maximum(hinge: Floats, share: Floats, temperature: float) -> tuple[Floats, Floats]:
    """Return t log(sum q exp(L/t)) for every positive, and the weight it gives to each negative."""
    loss = hinge**2
    largest = loss.max(axis=1, where=share > 0, initial=0.0, keepdims=True)
    # A negative without weight may lie above the largest that counts, hence the minimum. expm1 and log1p keep the
    # digits where the temperature is high and every exponent close to 0.
    grown = np.expm1(np.minimum((loss - largest) / temperature, 0.0))
    chance = share * (grown + 1.0)
    return largest[:, 0] + temperature * np.log1p(grown @ share), chance / chance.sum(axis=1, keepdims=True)


def _shares(weight: ArrayLike | None, rows: int) -> Floats:
    if weight is None:
        return np.full(rows, 1.0 / rows)
    given = np.asarray(weight, dtype=np.float64)
    return given / given.sum()


def _blocks(positives: int, negatives: int) -> Iterator[slice]:
    size = max(1, _BLOCK // negatives)
    return (slice(start, start + size) for start in range(0, positives, size))


class Bins(NamedTuple):
    """Distinct scores or bins of them: a score and a weight each, and the bin of each row."""

    score: Floats
    weight: Floats
    place: NDArray[np.intp]

    @classmethod
    def of(cls, scores: Floats, weight: Floats, most: int) -> Bins:
        """Keep up to ``most`` distinct scores as they are; of more, make bins of equal width.

        Not of equal weight: the few negatives far up count most, and none of them is moved by more than half a bin.
        """
        distinct, place = np.unique(scores, return_inverse=True)
        if len(distinct) <= most:
            return cls(distinct, _sums(place, weight), place)
        low, high = distinct[0], distinct[-1]
        place = np.minimum(((scores - low) * (most / (high - low))).astype(np.intp), most - 1)
        place = np.unique(place, return_inverse=True)[1]  # bins that hold nothing are left out
        total = _sums(place, weight)
        return cls(_sums(place, weight * scores) / total, total, place)


def _sums(place: NDArray[np.intp], values: Floats) -> Floats:
    return np.bincount(place, weights=values).astype(np.float64)


class RowDerivatives(NamedTuple):
    """The objective times the weight of the positives, differentiated by each row's score."""

    value: float
    gradient: Floats
    hessian: Floats


def binned_derivatives(
    scores: Floats, y: NDArray[np.int8], weight: Floats, *, temperature: float, bins: int
) -> RowDerivatives:
    """Compute gradient and diagonal Hessian for every row from at most ``bins`` x ``bins`` pairs.

    Exact where no class has more than ``bins`` distinct scores. Multiplied by the positives' total weight, so that a
    positive of weight 1 has derivatives of the order of 1, as in a logistic loss.
    """
    positive, negative = y == 1, y == 0
    up = Bins.of(scores[positive], weight[positive], bins)
    down = Bins.of(scores[negative], weight[negative], bins)
    first, second = tail_derivatives(up.score, down.score, temperature, 1.0, up.weight, down.weight)
    total = float(up.weight.sum())
    share_up, unit = weight[positive] / up.weight[up.place], 1.0 / down.weight[down.place]
    gradient, hessian = np.empty(len(scores)), np.empty(len(scores))
    gradient[positive] = share_up * first.positive[up.place]
    hessian[positive] = share_up * second.positive[up.place]
    gradient[negative] = weight[negative] * unit * first.negative[down.place]
    # A weight of 2 is two rows, each with a curvature of its own.
    hessian[negative] = weight[negative] * (unit * second.negative[down.place] - unit**2 * second.own[down.place])
    return RowDerivatives(total * first.value, total * gradient, total * hessian)


Rows = NDArray[np.intp]

# Steps of an epoch where there are few rows: early stopping looks at the model once an epoch.
_LEAST_STEPS = 20


class Batches:
    """Draw batches with positives in each of them; a class that is used up is shuffled and starts anew.

    An epoch shows every row of the class that needs more batches, and has at least 20 of them.
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
    """The objective's gradient from batches; a ``momentum`` of 1 forgets what was before the newest one."""

    def __init__(self, positives: int, *, temperature: float, momentum: float) -> None:
        self.log_mean = np.full(positives, np.nan)
        self.temperature, self.momentum = temperature, momentum

    def gradient(
        self, rows: Rows, positive: Floats, negative: Floats, positive_weight: Floats, negative_weight: Floats
    ) -> TailGradient:
        """Take a batch into the running estimates of its positives; weights are relative to the mean of their class."""
        hinge = pair_hinge(positive, negative, 1.0)
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
