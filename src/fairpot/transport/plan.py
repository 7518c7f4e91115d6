"""The transport of one group onto its reference, and the ScoreMap for any share lambda of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairpot.transport.projection import project
from fairpot.transport.scoremap import ScoreMap

_ROUND_OFF = 1e-12


def weight_to_reach(share: float, total: float) -> float:
    """Return the weight that the top ``share`` must reach: share * total, less a hair of round-off.

    Whole counts reach it exactly when they reach ceil(share * total), with 0.1 * 3 taken for 0.3. A share of 1
    is everybody, also those whose weight is lost in the round-off of the total: see :func:`top_place`.
    """
    return share * total * (1 - _ROUND_OFF)


def top_place(from_top: NDArray[Any], share: float) -> int:
    """Return how many entries come before the one with which the top ``share`` is reached.

    ``from_top`` is the running weight from the top down, the last of it the whole.
    """
    if share >= 1:
        return len(from_top) - 1
    return int(np.searchsorted(from_top, weight_to_reach(share, from_top[-1].item())))


@dataclass(frozen=True, eq=False)
class TransportPlan:
    """Where every distinct score of a group goes when all of it is moved (lambda = 1).

    ``scores`` ascend, ``projected`` holds T(score), ``top_weight[c]`` the weight of the scores
    from place ``c`` upwards; so ``top_weight[0]`` is the whole and ``top_weight[-1]`` is 0.
    A *cut* ``c`` moves the scores at the places >= c.

    Examples
    --------
    >>> import numpy as np
    >>> from fairpot.transport import TransportPlan
    >>> score, weight = np.array([0.1, 0.3, 0.5]), np.array([1, 1, 1])
    >>> reference = np.array([0.2, 0.6, 0.9])
    >>> plan = TransportPlan.between(score, weight, reference, weight)
    >>> plan.projected
    array([0.2, 0.6, 0.9])
    >>> move = plan.map(plan.cut(1 / 3))
    >>> move(score)
    array([0.1, 0.3, 0.9])
    """

    scores: NDArray[np.float64]
    projected: NDArray[np.float64]
    top_weight: NDArray[Any]

    @classmethod
    def between(
        cls,
        scores: NDArray[np.float64],
        weight: NDArray[Any],
        target: NDArray[np.float64],
        target_weight: NDArray[Any],
    ) -> TransportPlan:
        """Plan the transport of one measure onto another (see :func:`project`)."""
        top = np.zeros(len(weight) + 1, dtype=weight.dtype)
        np.cumsum(weight[::-1], out=top[-2::-1])
        return cls(scores, project(scores, weight, target, target_weight), top)

    def cut(self, lam: float) -> int:
        """Return the cut that moves the top ``lam``: the paper's I_top, ties at the cut included."""
        if lam <= 0:
            return len(self.scores)
        # top_weight descends: the last place whose weight still reaches what is wanted.
        return max(len(self.scores) - top_place(self.top_weight[::-1], lam), 0)

    def map(self, cut: int, *, monotone: bool = False, start: float | None = None) -> ScoreMap:
        """Return the map that moves the scores from place ``cut`` upwards and leaves the rest.

        With ``monotone`` the moved scores never fall below the highest score that stays, so that
        nobody inside the group is overtaken by somebody who stood lower. ``start`` is where the region
        that the plan works on begins: scores below it stay, and count among those not to fall below.
        """
        if cut >= len(self.scores):
            made = ScoreMap.identity()
        elif cut == 0:
            made = ScoreMap(self.scores, self.projected, floor=start if monotone else None, start=start)
        else:
            kept = self.scores[cut - 1]
            made = ScoreMap(
                self.scores[cut - 1 :],
                np.concatenate(([kept], self.projected[cut:])),
                below="identity",
                floor=float(kept) if monotone else None,
            )
        return made if start is None else made.starting_at(start)
