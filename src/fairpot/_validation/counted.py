"""The rules for rows that are already counted: distinct values and the number of rows with each."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairpot._validation import wording

Counts = NDArray[np.int64]
# Products of four weights must neither vanish nor overflow.
_LEAST = 1e-70


def check_counted_scores(scores: NDArray[np.float64], rows: Counts | None, name: str, *, whole: bool = False) -> None:
    """Check distinct scores, ``rows`` of each (None: one); missing ones are NaN.

    ``whole`` says that they were whole numbers: those that doubles cannot tell apart come as infinite.
    """
    if len(scores) == 0:
        raise ValueError(wording.empty(name))
    if np.abs(scores).max() < wording.LARGEST:
        return
    raise ValueError(bad_scores(scores, rows, name, whole=whole))


def bad_scores(scores: NDArray[np.float64], rows: Counts | None, name: str, *, whole: bool = False) -> str:
    """Say what is wrong with scores that are not all finite."""
    rows = np.ones(len(scores), dtype=np.int64) if rows is None else rows
    missing, infinite = int(rows[np.isnan(scores)].sum()), int(rows[np.isinf(scores)].sum())
    if missing:
        return wording.missing_numbers(name, missing)
    if infinite:
        return wording.beyond_doubles(name) if whole else wording.infinite_scores(name, infinite)
    return wording.huge_scores(name, float(np.abs(scores).max()))


def check_weights(weight: NDArray[np.float64], rows: Counts, name: str) -> None:
    """Check distinct weights, ``rows`` of each; missing ones are NaN."""
    bad = ~np.isfinite(weight)
    if bad.any():
        raise ValueError(wording.broken_weights(name, int(rows[bad].sum())))
    below = weight < 0
    if below.any():
        raise ValueError(wording.negative_weights(name, int(rows[below].sum()), float(weight.min())))
    if not weight.any():
        raise ValueError(wording.no_weight(name))
    least, most = weight[weight > 0].min(), weight.max()
    if least < _LEAST or most > 1 / _LEAST:
        raise ValueError(wording.extreme_weights(name, float(least), float(most)))


def check_weight_of_groups(total: NDArray[Any], groups: Sequence[Hashable], name: str) -> None:
    """Insist that every group has some weight."""
    empty = [group for group, weight in zip(groups, total) if not weight > 0]
    if empty:
        raise ValueError(wording.no_weight_in_group(name, empty[0]))
