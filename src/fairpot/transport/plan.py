"""The transport of one group onto its reference, and the ScoreMap for any share lambda of it."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fairpot.transport.projection import WEIGHT_TOLERANCE, project
from fairpot.transport.scoremap import ScoreMap

_ROUND_OFF = 1e-12


def share_of(share: float, total: int | float) -> float:
    """Return ceil(share * total) for whole totals, safe against 0.1 * 3 being above 0.3."""
    product = share * total
    if isinstance(total, float) and not total.is_integer():
        return product
    nearest = round(product)
    return nearest if abs(product - nearest) <= _ROUND_OFF * max(1.0, product) else math.ceil(product)


@dataclass(frozen=True, eq=False)
class TransportPlan:
    """Where every distinct score of a group goes when all of it is moved (lambda = 1).

    ``scores`` ascend, ``projected`` holds T(score), ``top_weight[c]`` the weight of the scores
    from place ``c`` upwards; so ``top_weight[0]`` is the whole and ``top_weight[-1]`` is 0.
    A *cut* ``c`` moves the scores at the places >= c.
    """

    scores: NDArray[np.float64]
    projected: NDArray[np.float64]
    top_weight: NDArray[np.int64] | NDArray[np.float64]

    @classmethod
    def between(
        cls,
        scores: NDArray[np.float64],
        weight: NDArray[np.int64] | NDArray[np.float64],
        target: NDArray[np.float64],
        target_weight: NDArray[np.int64] | NDArray[np.float64],
    ) -> TransportPlan:
        """Plan the transport of one measure onto another (see :func:`project`)."""
        top = np.zeros(len(weight) + 1, dtype=weight.dtype)
        np.cumsum(weight[::-1], out=top[-2::-1])
        return cls(scores, project(scores, weight, target, target_weight), top)

    @property
    def lam(self) -> NDArray[np.float64]:
        """The largest lambda of each cut; place c of the result belongs to cut c."""
        return self.top_weight / self.top_weight[0]

    def cut(self, lam: float) -> int:
        """Return the cut that moves the top ``lam``: the paper's I_top, ties at the cut included."""
        if lam <= 0:
            return len(self.scores)
        total = self.top_weight[0].item()
        wanted = share_of(lam, total)
        if isinstance(total, float):
            wanted -= WEIGHT_TOLERANCE * total
        # top_weight descends: the last place whose weight still reaches what is wanted.
        reaching = len(self.top_weight) - np.searchsorted(self.top_weight[::-1], wanted, side="left")
        return max(int(reaching) - 1, 0)

    def map(self, cut: int, *, monotone: bool = False) -> ScoreMap:
        """Return the map that moves the scores from place ``cut`` upwards and leaves the rest.

        With ``monotone`` the moved scores never fall below the highest score that stays, so that
        nobody inside the group is overtaken by somebody who stood lower.
        """
        if cut >= len(self.scores):
            return ScoreMap.identity()
        if cut == 0:
            return ScoreMap(self.scores, self.projected)
        kept = self.scores[cut - 1]
        return ScoreMap(
            self.scores[cut - 1 :],
            np.concatenate(([kept], self.projected[cut:])),
            below="identity",
            floor=float(kept) if monotone else None,
        )
