"""What a model was fitted on: counts, score range and the fingerprint of its score table."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import numpy as np

from fairpot._version import __version__
from fairpot.modelfile.values import plain_group
from fairpot.table import GroupCounts, ScoreTable

ORIGIN = ("groups", "labelled", "library_version", "rows", "score_range", "table_sha256", "time")
COUNTS = ("negatives", "positives", "rows", "score_range", "scores")


def describe_table(table: ScoreTable) -> dict[str, Any]:
    """Describe the rows a model was fitted on.

    Returns
    -------
    dict
        ``rows`` (the sum of the weights, if rows had weights), ``score_range``, ``labelled``, ``groups`` (for
        each: rows, positives and negatives or None, distinct scores, score range), ``table_sha256``,
        ``library_version``, and ``time``, None unless it is asked for.

    Examples
    --------
    >>> import numpy as np
    >>> from fairpot.table import ScoreTable
    >>> table = ScoreTable.from_rows(np.array([0.3, 0.9, 0.3]), None)
    >>> describe_table(table)["rows"], describe_table(table)["score_range"]
    (3, [0.3, 0.9])
    """
    counts = [_describe(c, table.labelled) for c in table.counts]
    return {
        "groups": [{"group": plain_group(g), "counts": each} for g, each in zip(table.groups, counts)],
        "labelled": table.labelled,
        "library_version": __version__,
        "rows": sum(each["rows"] for each in counts),
        "score_range": [min(e["score_range"][0] for e in counts), max(e["score_range"][1] for e in counts)],
        "table_sha256": table_sha256(table),
        "time": None,
    }


def table_sha256(table: ScoreTable) -> str:
    """Hash a score table: the same rows in any order give the same hash.

    For each group the JSON text of [name, number of scores, labelled] and a line feed, then the scores, the
    positives and the negatives, each as little-endian 64-bit floats.
    """
    digest = hashlib.sha256()
    for group, counts in zip(table.groups, table.counts):
        head = json.dumps([plain_group(group), len(counts.score), table.labelled], default=str)
        digest.update(head.encode() + b"\n")
        for column in (counts.score, counts.positive, counts.negative):
            digest.update(np.ascontiguousarray(column, dtype="<f8").tobytes())
    return digest.hexdigest()


def _describe(counts: GroupCounts, labelled: bool) -> dict[str, Any]:
    positives, negatives = counts.positive.sum().item(), counts.negative.sum().item()
    return {
        "rows": positives + negatives,
        "positives": positives if labelled else None,
        "negatives": negatives if labelled else None,
        "scores": len(counts.score),
        "score_range": [float(counts.score[0]), float(counts.score[-1])],
    }
