"""One score at a time: a map as a plain Python function of numbers, for a service that answers single requests."""

from __future__ import annotations

import math
from bisect import bisect_right
from typing import Any

from fairpot._validation.wording import quoted
from fairpot.exceptions import UnseenGroupError
from fairpot.export.groups import Exportable, Name, formulas_of
from fairpot.transport.pieces import Pieces, Sigmoid


class RowScorer:
    """Adjust one score at a time, with the numbers of ``transform``, in about a microsecond.

    What it holds never changes, so any number of threads may share one. It is built once, at the start of a service.

    Parameters
    ----------
    maps : dict of group to ScoreMap
        The ``maps_`` of a fitted method or of a loaded model file.

    Examples
    --------
    >>> from fairpot.export import RowScorer
    >>> from fairpot.transport import ScoreMap
    >>> score = RowScorer({"F": ScoreMap([0.2, 0.6], [0.2, 0.9]), "M": ScoreMap.identity()})
    >>> score(0.4, "F")
    0.55
    """

    __slots__ = ("_formulas",)

    def __init__(self, maps: Exportable) -> None:
        self._formulas = {group: _frozen(found) for group, found in formulas_of(maps).items()}

    @property
    def groups(self) -> tuple[Name, ...]:
        """Names of the groups."""
        return tuple(self._formulas)

    def __call__(self, score: float, group: Any) -> float:
        """Return the adjusted score.

        Parameters
        ----------
        score : float
        group : name of a group

        Raises
        ------
        UnseenGroupError
            If the group has no map.
        ValueError
            If the score is NaN or infinite.
        """
        try:
            found = self._formulas[group]
        except (KeyError, TypeError):
            raise UnseenGroupError(
                f"the group {quoted(group)} was not seen in fit (seen: {list(self._formulas)}).\n"
                "Hint: fit with rows of that group; fairpot never passes unknown groups through unchanged."
            ) from None
        s = float(score)
        if not -math.inf < s < math.inf:
            raise ValueError(f"the score is {s}: it must be a finite number.\nHint: drop or fill the row first.")
        if isinstance(found, Sigmoid):
            return sigma(found.alpha * s + found.beta)
        lo, rows = found
        x0, w, v0, d, vmin, vmax = rows[bisect_right(lo, s) - 1]
        y = v0 + ((s - x0) / w) * d
        return vmin if y < vmin else vmax if y > vmax else y


def _frozen(found: Pieces | Sigmoid) -> Sigmoid | tuple[tuple[float, ...], tuple[tuple[float, ...], ...]]:
    if isinstance(found, Sigmoid):
        return found
    lo, *rest = (field.tolist() for field in found)
    return tuple(lo), tuple(zip(*rest))


def sigma(z: float) -> float:
    """Return 1 / (1 + exp(-z)); an exponential that is too large for a number makes it 0."""
    try:
        return 1.0 / (1.0 + math.exp(-z))
    except OverflowError:
        return 0.0
