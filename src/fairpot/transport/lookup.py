"""Where sorted queries fall in a sorted reference: the look-up behind every count in fairpot."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
# Merging two sorted runs costs about one pass over both; bisecting costs a look-up per query.
_MERGE_UP_TO = 8
# Rows worked on at a time: temporary arrays of this size stay in the cache.
_BLOCK = 2**14


def blocks(rows: int, size: int = _BLOCK) -> Iterator[slice]:
    """Cut a range of rows into slices whose temporary arrays stay in the cache."""
    for first in range(0, rows, size):
        yield slice(first, min(first + size, rows))


def ranks(reference: Floats, queries: Floats) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Count, for each query, the reference values below it and those not above it; both ascend.

    The result equals ``np.searchsorted(reference, queries, side)`` for ``side`` "left" and "right".
    """
    below, upto = np.empty(len(queries), dtype=np.intp), np.empty(len(queries), dtype=np.intp)
    for block in blocks(len(queries)):
        part = queries[block]
        first = int(np.searchsorted(reference, part[0], side="left"))
        end = int(np.searchsorted(reference, part[-1], side="right"))
        inside = reference[first:end]
        keys, wanted = _keys(inside), _keys(part)
        low = _below(keys, wanted)
        np.add(low, first, out=below[block])
        np.add(_upto(keys, wanted, low), first, out=upto[block])
    return below, upto


def running(*counts: NDArray[Any]) -> NDArray[Any]:
    """Give the running sums of equally long counts, one a row, starting from 0: place k sums the first k.

    One array for all: a few large pieces of memory cost less than many middling ones.
    """
    sums = np.zeros((len(counts), len(counts[0]) + 1), dtype=np.result_type(np.int64, *counts))
    for row, values in zip(sums, counts):
        np.cumsum(values, out=row[1:])
    return sums


def run_ends(values: NDArray[Any]) -> NDArray[np.intp] | None:
    """Give, for each place, where its run of equal values ends; None if no value is repeated.

    >>> run_ends(np.array([0.1, 0.4, 0.4, 0.7]))
    array([1, 3, 3, 4])
    """
    step = values[1:] != values[:-1]
    if step.all():
        return None
    ends = np.append(np.flatnonzero(step) + 1, len(values))
    return np.repeat(ends, np.diff(ends, prepend=0))


def _keys(values: Floats) -> NDArray[np.int64]:
    """Turn ascending finite floats into integers of the same order, which compare in half the time."""
    bits = (values + 0.0).view(np.int64)  # -0.0 and 0.0 are one value
    if len(values) and values[0] < 0:
        bits ^= (bits >> 63) & np.int64(2**63 - 1)
    return bits


def _below(reference: NDArray[np.int64], queries: NDArray[np.int64]) -> NDArray[np.intp]:
    """Merge when the sizes are alike (a stable sort of two runs is one merge), else bisect."""
    n, m = len(reference), len(queries)
    if n > _MERGE_UP_TO * m:
        return np.searchsorted(reference, queries, side="left")
    order = np.argsort(np.concatenate((queries, reference)), kind="stable")
    places = np.flatnonzero(order < m)
    places -= np.arange(m)
    return places


def _upto(reference: NDArray[np.int64], queries: NDArray[np.int64], below: NDArray[np.intp]) -> NDArray[np.intp]:
    """Go from the rank below a query to the rank past its equals."""
    if len(reference) == 0:
        return below
    inside = np.minimum(below, len(reference) - 1)
    hit = (reference[inside] == queries) & (below < len(reference))
    ends = run_ends(reference)
    return below + hit if ends is None else np.where(hit, ends[inside], below)
