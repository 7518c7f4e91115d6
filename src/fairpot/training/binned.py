"""The objective's derivatives for many rows at once: scores of each class put into narrow bins."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fairpot.training.objective import Floats, tail_derivatives


class Bins(NamedTuple):
    """Distinct scores or bins of them: a score and a weight each, and the bin of each row."""

    score: Floats
    weight: Floats
    place: NDArray[np.intp]

    @classmethod
    def of(cls, scores: Floats, weight: Floats, most: int) -> Bins:
        """Keep up to ``most`` distinct scores as they are; of more, make bins of equal width.

        Bins of equal width, not of equal weight: the few negatives far up are the ones that count, and none of them
        is moved by more than half a bin.
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
    """Add up the values of each bin."""
    return np.bincount(place, weights=values).astype(np.float64)


class RowDerivatives(NamedTuple):
    """The objective times the weight of the positives, differentiated by each row's score."""

    value: float
    gradient: Floats
    hessian: Floats


def binned_derivatives(
    scores: Floats, y: NDArray[np.int8], weight: Floats, *, temperature: float, margin: float, bins: int
) -> RowDerivatives:
    """Compute gradient and diagonal Hessian for every row from at most ``bins`` x ``bins`` pairs.

    Exact where no class has more than ``bins`` distinct scores. Multiplied by the positives' total weight, so that a
    positive of weight 1 has derivatives of the order of 1, as in a logistic loss.
    """
    positive, negative = y == 1, y == 0
    up = Bins.of(scores[positive], weight[positive], bins)
    down = Bins.of(scores[negative], weight[negative], bins)
    first, second = tail_derivatives(up.score, down.score, temperature, margin, up.weight, down.weight)
    total = float(up.weight.sum())
    share_up, unit = weight[positive] / up.weight[up.place], 1.0 / down.weight[down.place]
    gradient, hessian = np.empty(len(scores)), np.empty(len(scores))
    gradient[positive] = share_up * first.positive[up.place]
    hessian[positive] = share_up * second.positive[up.place]
    gradient[negative] = weight[negative] * unit * first.negative[down.place]
    # A weight of 2 is two rows, each with a curvature of its own.
    hessian[negative] = weight[negative] * (unit * second.negative[down.place] - unit**2 * second.own[down.place])
    return RowDerivatives(total * first.value, total * gradient, total * hessian)
