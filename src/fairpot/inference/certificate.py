"""A value of the dial that can be signed for, and the error that says what is missing for one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from fairpot._arguments import argument
from fairpot._validation import check_share
from fairpot.exceptions import InfeasibleRuleError
from fairpot.inference.band import band_of
from fairpot.inference.certify import certify
from fairpot.inference.checks import check_level
from fairpot.inference.dial import DialEstimates
from fairpot.inference.needed import shortfall
from fairpot.inference.result import Interval


@dataclass(frozen=True)
class Certificate:
    """That the true gap at a value of the dial is within a bound, and how that is known.

    Attributes
    ----------
    bound : float
        The gap that is signed for.
    confidence : float
        The promise is broken at most ``1 - confidence`` of the time.
    how : {"walk", "step-down"}
        How many values of the dial were accounted for: by two chains along a falling curve, or by all together.
    rows : str
        The rows that it was certified on: held out, or cross-fitted folds. Never those a map was fitted on.
    dial : str
    value : float or dict
        The value that was chosen.
    gap, auc : Interval
        At that value on those rows, limits at ``confidence`` for this value alone.
    gap_before, auc_before : Interval
        The same of the scores as they came.
    """

    bound: float
    confidence: float
    how: str
    rows: str
    dial: str
    value: Any
    gap: Interval
    auc: Interval
    gap_before: Interval
    auc_before: Interval

    def __str__(self) -> str:
        return (
            f"the gap is at most {self.bound:g} with confidence {self.confidence:.0%} ({self.rows}, {self.how}): "
            f"gap {self.gap_before} -> {self.gap}, AUC {self.auc_before} -> {self.auc}"
        )

    def as_dict(self) -> dict[str, Any]:
        """Give plain values for JSON."""
        return {
            "bound": self.bound,
            "confidence": self.confidence,
            "how": self.how,
            "rows": self.rows,
            **{name: getattr(self, name).as_dict() for name in ("gap", "auc", "gap_before", "auc_before")},
        }


def choose_certified(
    dial: DialEstimates,
    bound: float,
    confidence: float,
    *,
    unrepaired: DialEstimates,
    rows: str,
    name: str = "lam",
    max_auc_loss: float | None = None,
) -> tuple[int, Certificate]:
    """Choose the highest AUC among the values that are certified; return its place and the certificate.

    Raises
    ------
    InfeasibleRuleError
        If nothing can be certified: with the smallest bound that can be, and how many more rows it would take.
    """
    check_share(bound, "max_gap", zero=True)
    delta = 1 - check_level(confidence, "confidence")
    if dial.reason is not None:
        raise InfeasibleRuleError(f"no {name} can be certified: {dial.reason}.\nHint: more rows of that group.")
    mask, used = certify(dial.gaps, bound, delta, dial.many, backwards=_ends_unrepaired(dial, unrepaired))
    if not mask.any():
        missing = shortfall(dial, bound, delta)
        raise InfeasibleRuleError(
            f"no {name} can be certified to have a gap within {bound:g} with confidence {confidence:g} "
            f"({rows}): {missing}.\n"
            "Hint: a larger bound, more rows, or no confidence for a choice by the measured gap alone."
        )
    if max_auc_loss is not None:
        mask = _within_loss(dial, mask, bound, float(unrepaired.auc.value[0]), max_auc_loss, name)
    places = np.flatnonzero(mask)
    place = int(places[np.argmax(dial.auc.value[places])])
    value = dial.values[place]
    plain = float(value) if np.ndim(value) == 0 else [float(v) for v in value]
    numbers = (*_numbers(dial, place, confidence), *_numbers(unrepaired, 0, confidence))
    return place, Certificate(bound, confidence, used, rows, name, plain, *numbers)


def _ends_unrepaired(dial: DialEstimates, unrepaired: DialEstimates) -> bool:
    """Whether the gap is as it was before the repair at the last value of the dial, not at the first."""
    toward = dial.gaps.value * np.sign(unrepaired.gaps.value[0])
    return bool(toward[-1] > toward[0])


def _within_loss(
    dial: DialEstimates, mask: np.ndarray, bound: float, unrepaired: float, max_auc_loss: float, name: str
) -> np.ndarray:
    kept = mask & (unrepaired - dial.auc.value <= max_auc_loss + 1e-12)
    if not kept.any():
        least = unrepaired - float(dial.auc.value[mask].max())
        raise InfeasibleRuleError(
            f"no {name} that is certified for {argument('max_gap', bound)} keeps "
            f"{argument('max_auc_loss', max_auc_loss)}: "
            f"the smallest loss among them is {least:.6g}.\nHint: allow a larger gap or loss."
        )
    return kept


def _numbers(dial: DialEstimates, place: int, level: float) -> tuple[Interval, Interval]:
    """Give gap and AUC at one value with their limits."""
    band = band_of(dial.at([place]), level)
    errors = _widest_se(dial, place), float(dial.auc.se[place])
    gap, auc = (
        Interval(metric, float(r.value[0]), se, float(r.low[0]), float(r.high[0]), level)
        for metric, r, se in zip(("xauc_gap", "auc"), (band.gap, band.auc), errors)
    )
    return gap, auc


def _widest_se(dial: DialEstimates, place: int) -> float:
    own = slice(place * dial.many, (place + 1) * dial.many)
    widest = int(np.argmax(np.abs(dial.gaps.value[own])))
    return float(dial.gaps.se[own][widest])
