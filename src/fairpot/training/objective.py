"""The partial-AUC objective: pure maths on scores, with its gradient and curvature.

For each positive, a soft maximum over the negatives of a pairwise loss (Zhu et al. 2022; the paper's Appendix C):

    F = sum_i p_i * t * log( sum_j q_j * exp(L_ij / t) ),    L_ij = max(0, margin - (s_i - s_j))^2

with ``t`` the temperature (the lambda of that appendix, which has nothing to do with FairPOT's lambda) and p, q
the weights of positives and negatives, each summing to 1. A large t gives the mean over all pairs, a small one each
positive's worst negative. Everything is computed with the largest exponent taken out, so no exp can overflow.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]

# Pairs held at once: a block of positives against all negatives.
_BLOCK = 1 << 20


class TailGradient(NamedTuple):
    """The objective's value and its derivatives with respect to the scores."""

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


def tail_loss(
    positive: ArrayLike,
    negative: ArrayLike,
    *,
    temperature: float = 1.0,
    margin: float = 1.0,
    positive_weight: ArrayLike | None = None,
    negative_weight: ArrayLike | None = None,
) -> float:
    """Compute the partial-AUC objective of a set of scores.

    Parameters
    ----------
    positive, negative : arrays of shape (n_pos,) and (n_neg,)
        Scores of the rows of each class.
    temperature : float, default 1.0
        Above 0. Large: the mean of the pairwise loss. Small: the mean over positives of their worst pair.
    margin : float, default 1.0
        By how much a positive should be ahead of a negative; pairs further apart cost nothing.
    positive_weight, negative_weight : arrays or None, default None
        Weights of the rows; only their proportions matter.

    Returns
    -------
    float

    Examples
    --------
    >>> from fairpot.training import tail_loss
    >>> round(tail_loss([0.9, 0.4], [0.1, 0.5], temperature=1e9), 6)  # the mean of .04, .36, .49 and 1.21
    0.525
    >>> round(tail_loss([0.9, 0.4], [0.1, 0.5], temperature=1e-9), 6)  # the mean of .36 and 1.21
    0.785
    """
    return tail_gradient(
        positive,
        negative,
        temperature=temperature,
        margin=margin,
        positive_weight=positive_weight,
        negative_weight=negative_weight,
    ).value


def tail_gradient(
    positive: ArrayLike,
    negative: ArrayLike,
    *,
    temperature: float = 1.0,
    margin: float = 1.0,
    positive_weight: ArrayLike | None = None,
    negative_weight: ArrayLike | None = None,
) -> TailGradient:
    """Compute the objective and its gradient with respect to every score.

    Parameters
    ----------
    positive, negative, temperature, margin, positive_weight, negative_weight
        As in :func:`tail_loss`.

    Returns
    -------
    TailGradient
        ``value``, ``positive`` of shape (n_pos,), ``negative`` of shape (n_neg,).

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
    """Return weights that sum to 1."""
    if weight is None:
        return np.full(rows, 1.0 / rows)
    given = np.asarray(weight, dtype=np.float64)
    return given / given.sum()


def _blocks(positives: int, negatives: int) -> Iterator[slice]:
    """Cut the positives so that a block's pairs fit in memory."""
    size = max(1, _BLOCK // negatives)
    return (slice(start, start + size) for start in range(0, positives, size))
