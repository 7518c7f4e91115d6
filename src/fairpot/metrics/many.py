"""The wins between many groups at once: one sort of all scores, then whole rows of the matrix at a time."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from fairpot.table import GroupCounts

# Counts kept at a time, scores times groups: a few megabytes.
_CELLS = 2**19


def many_half_wins(counts: tuple[GroupCounts, ...], *, half: bool) -> NDArray[Any]:
    """Count ``wins[g, h]`` in half pairs for every two groups, in O(n log n + n groups).

    Going up the distinct scores of all groups, each group's negatives below a score are a running row, which
    is added to the row of every group that has positives there. Exact for whole weights, as the pairwise count is.
    """
    groups = len(counts)
    group = np.repeat(np.arange(groups), [len(c.score) for c in counts])
    score, positive, negative = (
        np.concatenate([getattr(c, name) for c in counts]) for name in ("score", "positive", "negative")
    )
    order = np.argsort(score, kind="stable")
    group, score, positive, negative = group[order], score[order], positive[order], negative[order]
    level = np.concatenate(([0], np.cumsum(score[1:] != score[:-1])))[: len(score)]
    wins = np.zeros((groups, groups), dtype=positive.dtype)
    beaten = np.zeros(groups, dtype=negative.dtype)  # of each group, by a score in the level that comes next
    width = max(_CELLS // groups, 1)
    for first in range(0, int(level[-1]) + 1 if len(level) else 0, width):
        rows = slice(*np.searchsorted(level, (first, first + width)))
        at, who = level[rows] - first, group[rows]
        steps = np.zeros((int(at[-1]) + 2, groups), dtype=negative.dtype)
        steps[0] = beaten
        # A negative is beaten from the next level on, and half of it at its own if ties count half.
        steps[at + 1, who] += negative[rows] if half else 2 * negative[rows]
        if half:
            steps[at, who] += negative[rows]
        np.cumsum(steps, axis=0, out=steps)
        beaten = steps[-1].copy()
        wins += csr_array((positive[rows], (who, at)), shape=(groups, len(steps))) @ steps
    return wins
