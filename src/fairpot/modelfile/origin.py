"""What a model was fitted on: counts and score ranges, without those that rest on a few people."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from fairpot._version import __version__
from fairpot.counts import GroupCounts
from fairpot.table import ScoreTable

# What rests on fewer people than this is not put down.
FEWER_THAN = 10


class People(NamedTuple):
    """How many people stand behind a group's counts."""

    positives: float
    negatives: float

    @property
    def rows(self) -> float:
        """All of them."""
        return self.positives + self.negatives


def describe_table(table: ScoreTable) -> dict[str, Any]:
    """Describe the rows a model was fitted on.

    Parameters
    ----------
    table : ScoreTable
        The rows, counted.

    Returns
    -------
    dict
        ``rows`` (the sum of the weights, if rows had weights), ``score_range``, ``labelled``, ``groups`` (for
        each: rows, positives and negatives or None, distinct scores, score range), ``fewer_than``, ``fingerprint``
        (None), ``library_version``, and ``time``, None unless it is asked for. What depends on fewer people than
        ``fewer_than`` is None; see :func:`suppressed`.

    Examples
    --------
    >>> from fairpot import modelfile, score_table
    >>> y, score = [0, 1] * 15, [0.01 * i for i in range(30)]
    >>> table = score_table(y, score)
    >>> found = modelfile.describe_table(table)
    >>> found["rows"], found["groups"][0]["counts"]["scores"]
    (30, 30)
    """
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
    return suppressed(exact, [people_of(c) for c in table.counts])


def suppressed(exact: dict[str, Any], people: Sequence[People] | None = None) -> dict[str, Any]:
    """Leave out what rests on fewer than ten people, and what it could be worked out from.

    A group of fewer has no counts and no score range; then the rows in all are left out too, as they are
    the sum of the groups', and the score range in all is rounded outwards. Where a group has fewer positives or
    fewer negatives, neither is put down.
    """
    entries = [_without_few(each["counts"], None if people is None else people[i]) for i, each in _listed(exact)]
    hidden = any(counts["rows"] is None for counts in entries)
    return exact | {
        "groups": [{"group": each["group"], "counts": counts} for (_, each), counts in zip(_listed(exact), entries)],
        "rows": None if hidden else exact["rows"],
        "score_range": rounded_outwards(*exact["score_range"]) if hidden else exact["score_range"],
    }


def describes(origin: dict[str, Any], table: ScoreTable) -> bool:
    """Say whether a model's description of its rows is that of a table: as far as it goes, the same rows.

    Parameters
    ----------
    origin : dict
        What :func:`describe_table` returned of the fitted rows; ``fitted_on`` of a map file.
    table : ScoreTable
        The rows to compare with.

    Returns
    -------
    bool

    Examples
    --------
    >>> from fairpot import modelfile, score_table
    >>> y, score = [0, 1] * 15, [0.01 * i for i in range(30)]
    >>> table = score_table(y, score)
    >>> modelfile.describes(modelfile.describe_table(table), table)
    True
    """
    found = describe_table(table)
    return all(origin.get(name) == found[name] for name in ("groups", "labelled", "rows", "score_range"))


def table_sha256(table: ScoreTable) -> str:
    """Hash a counts table: the same rows in any order give the same hash.

    For comparing tables in memory. Not to be given away: who knows the scores can try outcomes until the hash fits.

    Parameters
    ----------
    table : ScoreTable
        The rows, counted.

    Returns
    -------
    str

    Examples
    --------
    >>> from fairpot import modelfile, score_table
    >>> y, score = [0, 1] * 15, [0.01 * i for i in range(30)]
    >>> table = score_table(y, score)
    >>> modelfile.table_sha256(table) == modelfile.table_sha256(score_table(y[::-1], score[::-1]))
    True
    """
    digest = hashlib.sha256()
    for part in _bytes_of(table):
        digest.update(part)
    return digest.hexdigest()


def rounded_outwards(low: float, high: float) -> list[float]:
    """Round a range outwards to the first digit of its width."""
    size = high - low or abs(high) or 1.0
    if not math.isfinite(size):
        return [low, high]
    step = 10.0 ** math.floor(math.log10(size))
    return [float(f"{edge * step:.12g}") for edge in (math.floor(low / step), math.ceil(high / step))]


def _bytes_of(table: ScoreTable) -> Iterator[bytes]:
    for group, counts in zip(table.groups, table.counts):
        head = json.dumps([plain_group(group), len(counts.score), table.labelled], default=str)
        yield head.encode() + b"\n"
        for column in (counts.score, counts.positive, counts.negative):
            yield np.ascontiguousarray(column, dtype="<f8").tobytes()


def _listed(origin: dict[str, Any]) -> Iterator[tuple[int, dict[str, Any]]]:
    return enumerate(origin["groups"])


def _describe(counts: GroupCounts, labelled: bool) -> dict[str, Any]:
    positives, negatives = counts.positive.sum().item(), counts.negative.sum().item()
    return {
        "rows": positives + negatives,
        "positives": positives if labelled else None,
        "negatives": negatives if labelled else None,
        "scores": len(counts.score),
        "score_range": [float(counts.score[0]), float(counts.score[-1])],
    }


def people_of(counts: GroupCounts) -> People:
    """Count people. Whole weights are so many rows; behind other weights stand as many as they are worth, or, where
    that is not known, at least one for each score and outcome.
    """
    sides = (counts.positive, counts.negative)
    if counts.members is not None:  # a person with several rows is one
        units = [np.unique(rows.unit) for rows in counts.members]
        return People(float(len(units[0])), float(len(np.union1d(*units)) - len(units[0])))
    if counts.squares is not None:
        sums = [(float(c.sum()), float(q.sum())) for c, q in zip(sides, counts.squares)]
        return People(*(c * c / q if q > 0 else 0.0 for c, q in sums))
    if all(c.dtype.kind == "i" for c in sides):
        return People(*(float(c.sum()) for c in sides))
    return People(*(float(np.count_nonzero(c)) for c in sides))


def _without_few(counts: dict[str, Any], people: People | None) -> dict[str, Any]:
    if people is None:
        people = People(counts["positives"] or 0, counts["negatives"] or 0)
        few = counts["rows"] is None or counts["rows"] < FEWER_THAN
    else:
        few = people.rows < FEWER_THAN
    if few:
        return dict.fromkeys(counts)
    if min(people.positives, people.negatives) < FEWER_THAN:
        return counts | {"positives": None, "negatives": None}
    return counts


def plain_group(group: Any) -> Any:
    """Turn a NumPy scalar into the Python value it stands for."""
    return group.item() if isinstance(group, np.generic) else group
