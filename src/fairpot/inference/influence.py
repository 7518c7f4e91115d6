"""What each row adds to the error of a share: the whole covariance is made of these numbers.

To first order the error of the share X of pairs won, positives of some groups over negatives of some groups, is a sum
over rows: a positive adds (V(s) - X) / P, with V(s) the share of the negatives that it beats, a negative
(U(s) - X) / N, with U(s) the share of the positives that beat it. DeLong's variance is the sum of their squares.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fairpot.inference.pairs import Kernel, Pairs
from fairpot.inference.placements import Floats, placements
from fairpot.inference.sample import Sample
from fairpot.table import ScoreTable

Indices = NDArray[np.intp]
# The score of every entry of every group: as they are in the table, or as a map leaves them.
View = Sequence[Floats]


class CellRows(NamedTuple):
    """The influences of one cell (group and label): ``values[i]`` belongs to share ``shares[i]``, at ``entries``."""

    shares: Indices
    entries: Indices
    values: Floats


@dataclass(frozen=True, eq=False)
class Influence:
    """Shares and the influence of each entry on them, cell by cell: ``cells[side][group]``, positives first."""

    value: Floats
    weight: tuple[Floats, Floats]  # positives and negatives that each share rests on
    cells: tuple[list[CellRows], list[CellRows]]


def own_scores(table: ScoreTable) -> list[Floats]:
    """Give the view in which every entry has the score it has in the table."""
    return [c.score for c in table.counts]


def influences(
    sample: Sample, pairs: Sequence[Pairs], kernel: Kernel = "half", views: Sequence[View] | None = None
) -> Influence:
    """Compute shares and influences in each view; share k of view v stands at place ``v * len(pairs) + k``."""
    table = sample.table
    views = [own_scores(table)] if views is None else views
    positive, negative = [c.positive for c in table.counts], [c.negative for c in table.counts]
    weight = _weights(table, pairs, len(views))
    raw: list[list[list[tuple[int, Floats]]]] = [[[] for _ in table.groups] for _ in range(2)]
    for v, view in enumerate(views):
        placed = placements(view, positive, negative, kernel)
        for k, pair in enumerate(pairs):
            place = v * len(pairs) + k
            for g in pair.winners:
                raw[0][g].append((place, _sum(placed.beaten[g], pair.losers)))
            for h in pair.losers:
                raw[1][h].append((place, _sum(placed.lost[h], pair.winners)))
    value = _values(raw[0], positive, weight)
    cells = tuple(
        [_cell(found, counts, value, weight[side], weight[1 - side]) for found, counts in zip(raw[side], entries)]
        for side, entries in enumerate((positive, negative))
    )
    return Influence(value, weight, (cells[0], cells[1]))


def _weights(table: ScoreTable, pairs: Sequence[Pairs], views: int) -> tuple[Floats, Floats]:
    p, n = table.positives.astype(np.float64), table.negatives.astype(np.float64)
    winners = np.array([p[list(pair.winners)].sum() for pair in pairs])
    losers = np.array([n[list(pair.losers)].sum() for pair in pairs])
    return np.tile(winners, views), np.tile(losers, views)


def _sum(placed: Floats, groups: tuple[int, ...]) -> Floats:
    return placed[groups[0]] if len(groups) == 1 else placed[list(groups)].sum(axis=0)


def _values(raw: list[list[tuple[int, Floats]]], counts: Sequence[Any], weight: tuple[Floats, Floats]) -> Floats:
    """Average the placements of the positives."""
    won = np.zeros(len(weight[0]))
    for found, positive in zip(raw, counts):
        there = positive[positive > 0].astype(np.float64)
        for place, beaten in found:
            won[place] += np.dot(there, beaten)
    pairs = weight[0] * weight[1]
    return np.divide(won, pairs, out=np.full(len(won), np.nan), where=pairs > 0)


def _cell(found: list[tuple[int, Floats]], counts: Any, value: Floats, own: Floats, other: Floats) -> CellRows:
    """Turn weights beaten into influences: (share of the other side - X) / weight of the own side."""
    entries = np.flatnonzero(counts > 0)
    shares = np.array([place for place, _ in found], dtype=np.intp)
    rows = np.empty((len(found), len(entries)))
    with np.errstate(divide="ignore", invalid="ignore"):  # shares without pairs are NaN, and refused later
        for row, (place, beaten) in zip(rows, found):
            np.divide(beaten, other[place], out=row)
            row -= value[place]
            row /= own[place]
    return CellRows(shares, entries, rows)
