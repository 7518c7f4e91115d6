"""Where sorted queries fall in a sorted reference: the look-up behind every count in fairpot."""

import numpy as np
from numpy.typing import NDArray

# Merging two sorted runs costs about one pass over both; bisecting costs a look-up per query.
_MERGE_UP_TO = 8


def ranks(
    reference: NDArray[np.float64], queries: NDArray[np.float64]
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Count, for each query, the reference values below it and those not above it.

    Both arrays ascend; either may hold equal values. The result equals
    ``np.searchsorted(reference, queries, side)`` for ``side`` "left" and "right".
    """
    below = _below(reference, queries)
    if len(reference) == 0:
        return below, below.copy()
    inside = np.minimum(below, len(reference) - 1)
    hit = (reference[inside] == queries) & (below < len(reference))
    ends = run_ends(reference)
    upto = below + hit if ends is None else np.where(hit, ends[inside], below)
    return below, upto


def run_ends(values: NDArray[np.float64]) -> NDArray[np.intp] | None:
    """Give, for each place, where its run of equal values ends; None if no value is repeated."""
    step = values[1:] != values[:-1]
    if step.all():
        return None
    ends = np.append(np.flatnonzero(step) + 1, len(values))
    return np.repeat(ends, np.diff(ends, prepend=0))


def _below(reference: NDArray[np.float64], queries: NDArray[np.float64]) -> NDArray[np.intp]:
    """Merge when the sizes are alike (a stable sort of two runs is one merge), else bisect."""
    n, m = len(reference), len(queries)
    if n > _MERGE_UP_TO * m or m == 0:
        return np.searchsorted(reference, queries, side="left")
    order = np.argsort(np.concatenate((queries, reference)), kind="stable")
    places = np.flatnonzero(order < m)
    places -= np.arange(m)
    return places
