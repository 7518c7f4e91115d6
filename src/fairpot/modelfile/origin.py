"""What a model was fitted on: counts and score ranges, without those that depend on a few rows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from fairpot._version import __version__
from fairpot.counts import GroupCounts
from fairpot.table import ScoreTable

# What depends on fewer rows than this is not stored.
FEWER_THAN = 10


Behind = tuple[int, int]  # positives and negatives that stand behind a group's counts, whatever they weigh


def describe_table(table: ScoreTable) -> dict[str, Any]:
    """Describe the rows a model was fitted on, as ``fitted_on`` of a map file; see :func:`suppressed`."""
    counts = [_describe(c, table.labelled) for c in table.counts]
    exact = {
        "fewer_than": FEWER_THAN,
        "fingerprint": None,
        "groups": [{"group": plain_group(g), "counts": each} for g, each in zip(table.groups, counts)],
        "labelled": table.labelled,
        "library_version": __version__,
        "rows": sum(each["rows"] for each in counts),
        "score_range": [min(e["score_range"][0] for e in counts), max(e["score_range"][1] for e in counts)],
        "time": None,
    }
    return suppressed(exact, [rows_behind(c) for c in table.counts])


def suppressed(exact: dict[str, Any], behind: Sequence[Behind] | None = None) -> dict[str, Any]:
    """Leave out what depends on fewer than ten rows, and what it could be worked out from.

    A group of fewer has no counts and no score range; then the rows in all are left out too, as they are
    the sum of the groups', and the score range in all is rounded outwards. Where a group has fewer positives or
    fewer negatives, neither is put down.
    """
    known: Sequence[Behind | None] = [None] * len(exact["groups"]) if behind is None else behind
    groups = [each | {"counts": _without_few(each["counts"], rows)} for each, rows in zip(exact["groups"], known)]
    hidden = any(each["counts"]["rows"] is None for each in groups)
    return exact | {
        "groups": groups,
        "rows": None if hidden else exact["rows"],
        "score_range": rounded_outwards(*exact["score_range"]) if hidden else exact["score_range"],
    }


def describes(origin: dict[str, Any], table: ScoreTable) -> bool:
    """Say whether a model's description of its rows is that of a table: as far as it goes, the same rows."""
    found = describe_table(table)
    return all(origin.get(name) == found[name] for name in ("groups", "labelled", "rows", "score_range"))


def same_rows(one: ScoreTable, other: ScoreTable) -> bool:
    """Whether two tables in memory are of the same rows, in any order."""
    return (one.groups, one.labelled) == (other.groups, other.labelled) and all(
        np.array_equal(getattr(a, name), getattr(b, name))
        for a, b in zip(one.counts, other.counts)
        for name in ("score", "positive", "negative")
    )


def rounded(origin: dict[str, Any], coarse: ScoreTable | None) -> dict[str, Any]:
    """Round counts to tens, and score ranges outwards from the means of the runs at either end."""
    groups, ranges = [], []
    for group, counts in ((each["group"], each["counts"]) for each in origin["groups"]):
        made: dict[str, Any] = {name: _tens(value) for name, value in counts.items() if name != "score_range"}
        found = counts["score_range"] if coarse is None else coarse[group].score[[0, -1]].tolist()
        made["score_range"] = None if counts["score_range"] is None else rounded_outwards(*found)
        ranges += [] if made["score_range"] is None else [made["score_range"]]
        groups.append({"group": group, "counts": made})
    whole = [min(low for low, _ in ranges), max(high for _, high in ranges)] if ranges else origin["score_range"]
    return origin | {"groups": groups, "rows": _tens(origin["rows"]), "score_range": whole}


def _tens(value: float | None) -> int | None:
    return None if value is None else int(round(value / 10) * 10)


def rounded_outwards(low: float, high: float) -> list[float]:
    """Round a range outwards to the first digit of its width."""
    size = high - low or abs(high) or 1.0
    if not math.isfinite(size):
        return [low, high]
    step = 10.0 ** math.floor(math.log10(size))
    return [float(f"{edge * step:.12g}") for edge in (math.floor(low / step), math.ceil(high / step))]


def _describe(counts: GroupCounts, labelled: bool) -> dict[str, Any]:
    positives, negatives = (side.sum().item() for side in counts.counted)
    return {
        "rows": positives + negatives,
        "positives": positives if labelled else None,
        "negatives": negatives if labelled else None,
        "scores": len(counts.score),
        "score_range": [float(counts.score[0]), float(counts.score[-1])],
    }


def rows_behind(counts: GroupCounts) -> Behind:
    """Count the rows behind a group's counts; where rows belong together, their clusters."""
    if counts.members is not None:
        units = [np.unique(rows.unit) for rows in counts.members]
        return len(units[0]), len(np.union1d(*units)) - len(units[0])
    positives, negatives = counts.rows_at
    return int(positives.sum()), int(negatives.sum())


def _without_few(counts: dict[str, Any], behind: Behind | None) -> dict[str, Any]:
    rows = counts["rows"] or 0 if behind is None else sum(behind)
    if rows < FEWER_THAN:
        return dict.fromkeys(counts)
    sides = (counts["positives"] or 0, counts["negatives"] or 0) if behind is None else behind
    return counts | {"positives": None, "negatives": None} if min(sides) < FEWER_THAN else counts


def plain_group(group: Any) -> Any:
    """Turn a NumPy scalar into the Python value it stands for."""
    return group.item() if isinstance(group, np.generic) else group
