"""Consequences at a threshold: who is flagged, and how rightly, in each group."""

from __future__ import annotations

from typing import Any

from fairpot._validation import is_number
from fairpot.table import GroupCounts, ScoreTable


def rates(table: ScoreTable, threshold: float) -> dict[str, Any]:
    """Count, for each group and for all, the rows at or above a score.

    Returns
    -------
    dict
        ``threshold``, ``groups`` (a dict for each group) and ``all``, each with ``rows``, ``flagged`` (rows at or above
        it), ``share``, ``tpr`` (of the positives, those flagged: recall), ``fpr`` (of the negatives) and ``ppv``
        (of the flagged, the positives: precision). What has nothing to count is None.

    Examples
    --------
    >>> import numpy as np
    >>> table = ScoreTable.from_rows(np.array([0.3, 0.9, 0.3]), np.array([0, 1, 1], dtype=np.int8))
    >>> rates(table, 0.5)["all"]["tpr"]
    0.5
    """
    if not is_number(threshold) or not -1.7e308 < float(threshold) < 1.7e308:
        raise ValueError(f"threshold must be a finite number, a score from which rows are flagged, got {threshold!r}.")
    at = float(threshold)
    groups = [{"group": g, **_rates(c, at)} for g, c in zip(table.groups, table.counts)]
    return {"threshold": at, "groups": groups, "all": _rates(table.pooled(), at)}


def _rates(counts: GroupCounts, threshold: float) -> dict[str, Any]:
    above = counts.above(threshold)
    positives, negatives = counts.positive.sum().item(), counts.negative.sum().item()
    found, false = above.positive.sum().item(), above.negative.sum().item()
    return {
        "rows": positives + negatives,
        "flagged": found + false,
        "share": _ratio(found + false, positives + negatives),
        "tpr": _ratio(found, positives),
        "fpr": _ratio(false, negatives),
        "ppv": _ratio(found, found + false),
    }


def _ratio(part: float, whole: float) -> float | None:
    return part / whole if whole else None
