"""The picture of the trade-off: every method at many strengths, judged on the held-out rows."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from fairpot._defaults import LEVEL
from fairpot.comparison.trial import Trial
from fairpot.inference.dial import band_of
from fairpot.tradeoff.curve import pareto_mask
from fairpot.tradeoff.limit import Limit, UpperLimit
from fairpot.transport import Floats

_COLUMNS = ("method", "dial", "value", "auc", "gap", "signed_gap", "distance_to_limit", "pareto")
_LIMITS = ("auc_low", "auc_high", "gap_low", "gap_high")


class Picture:
    """Hold every method at many strengths, judged on the held-out rows; the first point is the original scores.

    Attributes
    ----------
    method, dial, value : arrays of shape (k,)
        Method, and name and value of its strength.
    auc, gap, signed_gap : arrays of shape (k,)
        Means over the folds. ``signed_gap`` is positive where the reference group is ranked higher; NaN with more than
        two groups.
    distance_to_limit : array of shape (k,)
        What is within reach at the point's signed gap, minus the point's AUC; NaN where that is not known.
    pareto : boolean array of shape (k,)
        The points that no other point of any method beats in both gap and AUC.
    """

    def __init__(self, trials: Sequence[Trial], limit: Limit | UpperLimit | None, whole: bool) -> None:
        self._trials, self._limit, self._whole = trials, limit, whole
        sizes = [len(trial.points[0]) for trial in trials]
        self.method: NDArray[np.str_] = np.repeat([trial.method for trial in trials], sizes)
        self.dial: NDArray[np.str_] = np.repeat([trial.dial for trial in trials], sizes)
        self.value: Floats = np.concatenate([trial.points[0] for trial in trials])
        self.auc: Floats = np.concatenate([trial.points[1].auc for trial in trials])
        gaps = np.concatenate([trial.points[1].gaps for trial in trials])
        self.gap: Floats = np.abs(gaps).max(axis=1)
        self.signed_gap: Floats = gaps[:, 0] if gaps.shape[1] == 1 else np.full(len(gaps), np.nan)

    def __len__(self) -> int:
        return len(self.auc)

    def __repr__(self) -> str:
        return f"<Picture of {len(self)} points of {len(self._trials) - 1} methods>"

    @cached_property
    def pareto(self) -> NDArray[np.bool_]:
        """Points that no other beats, of all methods together."""
        return pareto_mask(self.gap, self.auc)

    @cached_property
    def distance_to_limit(self) -> Floats:
        """What is within reach at each point's signed gap, minus the point's AUC."""
        if not isinstance(self._limit, Limit):
            return np.full(len(self), np.nan)
        return self._limit.reachable_at(self.signed_gap) - self.auc

    def columns(self) -> dict[str, NDArray[np.generic]]:
        """Give the columns of a frame, with limits of AUC and gap at every point."""
        return {name: getattr(self, name) for name in _COLUMNS} | self._limits

    @cached_property
    def _limits(self) -> dict[str, Floats]:
        """Limits of AUC and gap at every point; NaN where none are known."""
        found = {name: np.full(len(self), np.nan) for name in _LIMITS}
        for trial in self._trials:
            evidence = trial.evidence
            if evidence is None or len(trial.points[0]) == 0:
                continue
            places = np.flatnonzero(self.method == trial.method)
            band = band_of(evidence.estimate(trial.points[0]), LEVEL)
            for column in _LIMITS if self._whole else _LIMITS[:2]:
                metric, end = column.split("_")
                found[column][places] = getattr(getattr(band, metric), end)
        return found
