"""Which maps hold for a batch of rows: the fitted ones, or ones that look at the batch first."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np

from fairpot.table import ScoreTable
from fairpot.transport import ScoreMap, project

Maps = Mapping[Hashable, ScoreMap]
ROW_BY_ROW: dict[str, Any] = {"kind": "maps"}


def maps_on(table: ScoreTable, maps: Maps, rule: Mapping[str, Any]) -> dict[Hashable, ScoreMap]:
    """Return the maps for the rows that a table counts.

    ``rule`` is what a model file calls ``apply``: ``{"kind": "maps"}`` takes the maps as they are,
    ``top_of_batch`` lets them begin at the top alpha of these rows, ``barycentre_of_batch`` makes them from the
    distributions of these rows.
    """
    if rule["kind"] == "top_of_batch":
        starts = table.thresholds(rule["alpha"], rule["region"])
        return {g: maps[g].starting_at(starts[g]) for g in table.groups}
    if rule["kind"] == "barycentre_of_batch":
        kept = [g for g in maps if g not in rule.get("left_out", ())]
        full = barycentre_maps(all_of(table, kept))
        return {g: part_of_the_way(full[g], rule["t"]) if g in full else maps[g] for g in table.groups}
    return {g: maps[g] for g in table.groups}


def moving(maps: Maps) -> dict[Hashable, ScoreMap]:
    """Keep the maps that move anybody."""
    return {g: m for g, m in maps.items() if not m.is_identity}


def all_of(table: ScoreTable, groups: list[Hashable]) -> ScoreTable:
    """Insist that a batch has rows of all the groups, and return those."""
    absent = [g for g in groups if g not in table.groups]
    if absent:
        raise ValueError(
            f"distributions='batch' needs rows of every fitted group, and there are none of {absent}.\n"
            "Hint: transform a batch with all groups, or use distributions='fitted'."
        )
    return table.only(groups)


def barycentre_maps(table: ScoreTable) -> dict[Hashable, ScoreMap]:
    """Map the scores of every group to the size-weighted barycentre of the groups' distributions.

    The mean of the barycentre's quantile function over a score's mass is the mean, over the groups, of the
    score's projections onto them: so the exact projection does all the work. The sum is taken in one order
    for all groups and in extended precision, so that scores of two groups with the same mass interval
    become equal bit for bit.
    """
    sizes = [c.weight.sum() for c in table.counts]
    total = np.longdouble(sum(sizes))
    maps = {}
    for group, own in zip(table.groups, table.counts):
        mean = np.zeros(len(own.score), dtype=np.longdouble)
        for size, other in zip(sizes, table.counts):
            onto = own.score if other is own else project(own.score, own.weight, other.score, other.weight)
            mean += np.longdouble(size) * onto
        maps[group] = ScoreMap(own.score, (mean / total).astype(np.float64))
    return maps


def part_of_the_way(full: ScoreMap, t: float) -> ScoreMap:
    """Return the map that goes the share ``t`` of the way that ``full`` goes."""
    if t == 0:
        return ScoreMap.identity()
    start, end = full.knots, full.values
    mixed = (1 - t) * start + t * end
    # Round-off must not lead past either end: a score that is where it should be stays so bit for bit.
    return ScoreMap(start, np.clip(mixed, np.minimum(start, end), np.maximum(start, end)))
