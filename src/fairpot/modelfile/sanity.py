"""Whether maps can come from a fit at all: a checksum that fits proves nothing, since anyone can make one."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairpot.exceptions import ModelFileError
from fairpot.modelfile.checks import shown

_HINT = "Hint: no fit gives such a map; the file was made or changed by other means. Fit and save the model again."
# Falls smaller than this share of the fitted range are round-off.
_ROUND_OFF = 1e-9


def check_plausible(method: str, maps: Mapping[Hashable, dict[str, Any]], score_range: list[float]) -> None:
    """Refuse maps that turn the order of a group round, or lead far away from the fitted scores.

    Every method keeps the order of a group's scores, but for one place: FairPOT may step down where the moved part
    begins. And but for OptimalMerge, whose odds may lead beyond scores that are no probabilities, new scores lie
    within the fitted range or not further outside than it is wide.
    """
    low, high = score_range
    with np.errstate(over="ignore"):
        width = (np.float64(high) - low) or 1.0
    for group, content in maps.items():
        where = f"the map of group {shown(group)}"
        if content["kind"] == "sigmoid":
            if content["alpha"] < 0:
                raise ModelFileError(
                    f"{where} turns the order of the scores round (alpha = {content['alpha']:g}).\n{_HINT}"
                )
            continue
        values = np.array(content["values"])
        _check_order(values, content["below"], width, where)
        if method != "OptimalMerge" or (low >= 0 and high <= 1):
            _check_reach(values, float(low), float(high), float(width), where)


def _check_order(values: NDArray[np.float64], below: str, width: float, where: str) -> None:
    with np.errstate(over="ignore"):
        falls = np.flatnonzero(np.diff(values) < -_ROUND_OFF * width)
    if below == "identity":
        falls = falls[falls > 0]
    if len(falls):
        raise ModelFileError(
            f"{where} turns the order of the scores round: its values fall {len(falls)} times.\n{_HINT}"
        )


def _check_reach(values: NDArray[np.float64], low: float, high: float, width: float, where: str) -> None:
    if len(values) == 0:
        return
    least, most = float(values.min()), float(values.max())
    if least < low - width or most > high + width:
        raise ModelFileError(
            f"{where} leads to scores from {least:g} to {most:g}, far outside the fitted range, {low:g} to {high:g}.\n"
            f"{_HINT}"
        )
