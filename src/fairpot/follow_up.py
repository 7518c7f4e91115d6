"""Outcomes after a time: who had it by a horizon, and how much each row counts where others left before.

Rows that left before the horizon without the outcome count nothing; the others stand for them, by the inverse of the
share that stayed (Kaplan and Meier's curve of leaving) in their stratum. Pure functions of checked arrays.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fairpot._defaults import Leaving, Weights
from fairpot.counts import Indices
from fairpot.transport import Floats

# What a row's follow-up ended with.
LEFT, EVENT, COMPETING = 0, 1, 2
_PARTS = 5  # of each group, by score


class FollowedRows(NamedTuple):
    """Rows as they were followed: until when, how it ended, the score, and the place of the group.

    ``weight`` is how much a row counts itself, ``square`` what it adds to sums of squared weights, ``unit`` the number
    of its cluster.
    """

    time: Floats
    event: NDArray[np.int8]
    score: Floats
    code: Indices
    weight: Floats
    square: Floats
    unit: Indices | None = None

    @property
    def times(self) -> Floats:
        """How many rows each row is: its weight, where that is so many rows; of weight 0, none."""
        return np.divide(self.weight**2, self.square, out=np.zeros(len(self.weight)), where=self.square > 0)

    def strata(self, leaving: Leaving) -> Indices:
        """Number what leaving early may depend on: groups, or fifths of the scores in each; equal scores stay together.

        The place of a row's group is its stratum divided by five.
        """
        found = _PARTS * self.code
        for rows in rows_by(self.code) if leaving == "score" else ():
            edges = np.quantile(self.score[rows], np.arange(1, _PARTS) / _PARTS)
            found[rows] += np.searchsorted(edges, self.score[rows], side="right")
        return found


@dataclass(frozen=True)
class GroupFollowed:
    """How one group was followed: its rows, and those that left before the horizon without the outcome.

    ``still_followed`` is the share that would be followed at the horizon if nobody had the outcome before; ``lost`` the
    share of the weight that no row stands for, as nobody like those who left was followed for longer.
    """

    group: Annotated[Hashable, "group"]
    rows: Annotated[float, "count"]
    left: Annotated[float, "count"]
    left_share: Annotated[float, "share"]
    still_followed: Annotated[float, "share"]
    lost: Annotated[float, "share"]


@dataclass(frozen=True, eq=False)
class FollowUp:
    """What outcomes at a horizon depend on; ``rows`` are there until scores change, for concordances."""

    horizon: float
    competing: bool
    leaving: Leaving
    groups: tuple[GroupFollowed, ...]
    rows: Annotated[FollowedRows | None, "hidden"] = None
    weights: Annotated[Weights | None, "hidden"] = None  # what those that were given mean; None where none were

    def renamed(self, names: Mapping[Hashable, Hashable]) -> FollowUp:
        """Call groups by other names; one that has none keeps its own."""
        groups = tuple(replace(each, group=names.get(each.group, each.group)) for each in self.groups)
        return replace(self, groups=groups)


class Staying(NamedTuple):
    """The curve of leaving: the share that has not left after each time at which somebody did."""

    time: Floats
    share: Floats

    @classmethod
    def of(cls, rows: FollowedRows, some: Indices) -> Staying:
        """Estimate it of some rows as Kaplan and Meier do; at equal times events come before leavings."""
        time, left, weight = rows.time[some], rows.event[some] == LEFT, rows.weight[some]
        order = np.lexsort((weight, left, time))
        order = order[weight[order] > 0]
        time, left = time[order], left[order]
        behind = np.append(np.cumsum(weight[order][::-1])[::-1], 0.0)  # at risk of leaving, from each row on
        first = np.flatnonzero(left & np.append(True, ~left[:-1] | (time[1:] != time[:-1]))[: len(left)])
        last = np.searchsorted(time, time[first], side="right")
        return cls(time[first], np.cumprod(behind[last] / behind[first]))

    def before(self, time: Floats) -> Floats:
        """Give the share that has not left before a time."""
        return np.append(1.0, self.share)[np.searchsorted(self.time, time, side="left")]


def rows_by(code: Indices) -> list[Indices]:
    """List the rows of each code that there is, in ascending order."""
    order = np.argsort(code, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(code[order])) + 1)


def weights_at(rows: FollowedRows, horizon: float, strata: Indices) -> tuple[NDArray[np.int8], Floats]:
    """Tell who had the outcome by a horizon, and weigh rows by the inverse of staying until then in their stratum.

    In each stratum the weights sum to its rows, and the weighted share with the outcome is that of Kaplan and Meier
    (with competing events, of Aalen and Johansen), unless its last row left before the horizon.
    """
    known = (rows.event != LEFT) | (rows.time >= horizon)
    until = np.minimum(rows.time, horizon)
    worth = np.zeros(len(until))
    for some in rows_by(strata):
        stayed = Staying.of(rows, some).before(until[some])
        worth[some] = np.divide(1.0, stayed, out=np.zeros(len(some)), where=known[some])
    return ((rows.event == EVENT) & (rows.time <= horizon)).astype(np.int8), worth


def outcomes_at(
    rows: FollowedRows, horizon: float, groups: Sequence[Hashable], leaving: Leaving, competing: bool
) -> tuple[NDArray[np.int8], Floats, FollowUp]:
    """Give outcomes at a horizon, how much each row counts, and how each group was followed."""
    labels, worth = weights_at(rows, horizon, rows.strata(leaving))
    gone = (rows.event == LEFT) & (rows.time < horizon)
    found, times = [], rows.times
    for group, some in zip(groups, rows_by(rows.code)):
        weight, left = rows.weight[some], gone[some]
        stayed = float(Staying.of(rows, some).before(np.array([horizon]))[0])
        lost = 1.0 - float((weight * worth[some]).sum() / weight.sum())
        shares = (float(weight[left].sum() / weight.sum()), stayed, lost if lost > 1e-9 else 0.0)
        found.append(GroupFollowed(group, float(times[some].sum()), float(times[some][left].sum()), *shares))
    return labels, worth, FollowUp(horizon, competing, leaving, tuple(found), rows)
