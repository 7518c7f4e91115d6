"""Which pairs a share counts: positives of some groups against negatives of some groups."""

from __future__ import annotations

import itertools
from typing import Literal, NamedTuple

from fairpot.table import ScoreTable

# How a pair counts: the positive ahead (ties no win, or half of one), or both equal (the share of ties).
Kernel = Literal["strict", "half", "equal"]


class Pairs(NamedTuple):
    """Places of the groups whose positives, and of those whose negatives, are compared."""

    winners: tuple[int, ...]
    losers: tuple[int, ...]


def all_pairs(table: ScoreTable) -> Pairs:
    """Give the pairs of the AUC: everyone against everyone."""
    everyone = tuple(range(len(table.groups)))
    return Pairs(everyone, everyone)


def cross_pairs(table: ScoreTable) -> list[Pairs]:
    """List both directions of every two groups, side by side: [a over b, b over a, a over c, c over a, ...]."""
    found = []
    for i, j in itertools.combinations(range(len(table.groups)), 2):
        found += [Pairs((i,), (j,)), Pairs((j,), (i,))]
    return found


def inside(place: int) -> Pairs:
    """Give the pairs of one group's own AUC."""
    return Pairs((place,), (place,))


def others_over(table: ScoreTable, place: int) -> Pairs:
    """Give the pairs of the BPSN AUC: positives of the other groups, negatives of this one."""
    return Pairs(_others(table, place), (place,))


def over_others(table: ScoreTable, place: int) -> Pairs:
    """Give the pairs of the BNSP AUC: positives of this group, negatives of the others."""
    return Pairs((place,), _others(table, place))


def _others(table: ScoreTable, place: int) -> tuple[int, ...]:
    return tuple(k for k in range(len(table.groups)) if k != place)
