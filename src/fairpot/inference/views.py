"""Shares of pairs in several views of the same rows, each from a score of its own on, with one covariance."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from fairpot._defaults import Ties
from fairpot.counts import Indices
from fairpot.inference.shares import (
    CellRows,
    Influence,
    Pairs,
    Rests,
    ShareEstimates,
    View,
    clustered_covariance,
    covariance_of,
    influences,
    outcome_entries,
    small_sample_factor,
)
from fairpot.table import ScoreTable
from fairpot.transport import Floats


class Seen(NamedTuple):
    """Shares to estimate in one view of a table: the scores of entries, and from which on those of each group count."""

    view: View
    levels: tuple[float, ...]
    pairs: tuple[Pairs, ...]


def estimate_seen(table: ScoreTable, kernel: Ties, wanted: Sequence[Seen]) -> ShareEstimates:
    """Estimate shares in several views, each from scores of its own on, with the covariance between all of them."""
    entries = outcome_entries(table)
    size = sum(len(seen.pairs) for seen in wanted)
    rows = [[np.zeros((size, len(places[side]))) for places in entries] for side in range(2)]
    parts, place = [], 0
    for seen in wanted:
        own = [[each[place : place + len(seen.pairs)] for each in side] for side in rows]
        parts.append(_add_seen(table, kernel, seen, entries, own))
        place += len(seen.pairs)
    value = np.concatenate([part.value for part in parts])
    v, w = (np.concatenate([part.variance[side] for part in parts]) for side in range(2))
    m, n = (np.concatenate([part.units[side] for part in parts]) for side in range(2))
    if table.clusters is not None:  # the rows of each are added up before squaring
        everything, most = np.arange(size), np.maximum(m, n)
        cells = [[CellRows(everything, at[side], rows[side][g]) for g, at in enumerate(entries)] for side in range(2)]
        found = Influence(value, (m, n), (cells[0], cells[1]))
        return clustered_covariance(found, table.clusters, rests=Rests((m, n), np.minimum.outer(most, most)))
    covariance = np.zeros((size, size))
    for side in range(2):
        for g, places in enumerate(entries):
            square = table.squared(g, side == 0)[places[side]].astype(np.float64)
            covariance += (rows[side][g] * square) @ rows[side][g].T
    return ShareEstimates(value, covariance, (v, w), (m, n))


def _add_seen(
    table: ScoreTable, kernel: Ties, seen: Seen, entries: list[tuple[Indices, Indices]], rows: list[list[Floats]]
) -> ShareEstimates:
    """Write the influences of one view; return its shares, with what their sides add to the variance."""
    moved = table.viewed(seen.view)
    top = moved.above(dict(zip(table.groups, seen.levels)))
    found = influences(top, seen.pairs, kernel)
    part = covariance_of(found, top, seen.pairs)
    scales = [np.sqrt(small_sample_factor(units)) for units in part.units]
    if top.clusters is not None:
        scales = [np.ones(len(part)), np.ones(len(part))]  # clusters are scaled when they are added up
    for side, (g, places) in itertools.product(range(2), enumerate(entries)):
        own, cell = rows[side][g], found.cells[side][g]
        score = seen.view[g][places[side]]
        inside = score >= seen.levels[g]
        at = np.searchsorted(top.counts[g].score[cell.entries], score[inside])
        own[np.ix_(cell.shares, inside)] = scales[side][cell.shares, None] * cell.values[:, at]
    return part
