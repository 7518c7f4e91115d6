"""The partial-AUC objective: pure maths on scores, with its gradient and curvature, also in bins."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fairpot.transport import Floats

# Pairs held at once: a block of positives against all negatives.
_BLOCK = 1 << 20


class TailGradient(NamedTuple):
    """Hold the objective's value and its derivatives with respect to the scores, see :func:`tail_derivatives`."""

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


def tail_derivatives(
    positive: ArrayLike,
    negative: ArrayLike,
    temperature: float,
    positive_weight: ArrayLike | None = None,
    negative_weight: ArrayLike | None = None,
) -> tuple[TailGradient, TailCurvature]:
    """Compute the objective with its first derivatives and the diagonal of the second; weights count by proportion."""
    s, z = np.asarray(positive, dtype=np.float64), np.asarray(negative, dtype=np.float64)
    p, q = _shares(positive_weight, len(s)), _shares(negative_weight, len(z))
    value, first, second = 0.0, np.empty(len(s)), np.empty(len(s))
    first_z, second_z, own = np.zeros(len(z)), np.zeros(len(z)), np.zeros(len(z))
    for block in _blocks(len(s), len(z)):
        hinge = pair_hinge(s[block], z)
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


def pair_hinge(positive: Floats, negative: Floats) -> Floats:
    """Return by how much each positive falls short of being 1 ahead of each negative."""
    return np.maximum(1.0 - (positive[:, None] - negative[None, :]), 0.0)


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
    first, second = tail_derivatives(up.score, down.score, temperature, up.weight, down.weight)
    total = float(up.weight.sum())
    share_up, unit = weight[positive] / up.weight[up.place], 1.0 / down.weight[down.place]
    gradient, hessian = np.empty(len(scores)), np.empty(len(scores))
    gradient[positive] = share_up * first.positive[up.place]
    hessian[positive] = share_up * second.positive[up.place]
    gradient[negative] = weight[negative] * unit * first.negative[down.place]
    # A weight of 2 is two rows, each with a curvature of its own.
    hessian[negative] = weight[negative] * (unit * second.negative[down.place] - unit**2 * second.own[down.place])
    return RowDerivatives(total * first.value, total * gradient, total * hessian)
