"""Who is found in the top alpha: recall and precision of the region, ties at the cut included."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from fairpot._arguments import by_name
from fairpot._optional import make_frame
from fairpot._validation import wording
from fairpot.counting import as_table
from fairpot.metrics.rank import check_undefined, place_of, top_table
from fairpot.metrics.wins import value_without_pairs, warn_undefined


@by_name
def top_recall(
    y_true: Any,
    y_score: Any,
    *,
    alpha: float,
    sensitive_features: Any = None,
    group: Hashable | None = None,
    region: str = "pooled",
    sample_weight: Any = None,
    pos_label: Any = None,
    undefined: str = "nan",
) -> float:
    """Compute the share of positives that are among the rows with the highest scores.

    A partial AUC compares the rows inside a model's own region, so a model can raise it by leaving positives out.
    Report this beside it.

    Rows tied with the lowest score of the region are all in it: a model with few distinct scores has a larger region
    and finds more for it. :func:`top_by_group` shows how large.

    Parameters
    ----------
    {y_true, y_score, alpha}
    sensitive_features : column of shape (n,), or frame with several columns, default None
        Group of each row; needed for ``region="group"`` and with ``group``.
    group : name of a group or None, default None
        Count the rows with the outcome of this group only.
    {region, sample_weight, pos_label, undefined}

    Examples
    --------
    >>> from fairpot.metrics import top_recall
    >>> y, score = [1, 0, 0, 1, 0, 1], [0.1, 0.2, 0.3, 0.6, 0.7, 0.9]
    >>> round(top_recall(y, score, alpha=0.5), 3)
    0.667
    """
    positives, _, found = _count(y_true, y_score, alpha, sensitive_features, group, region, sample_weight, pos_label)
    return _ratio("top recall", found, positives, group, wording.BOTH_OUTCOMES[0], undefined)


@by_name
def top_precision(
    y_true: Any,
    y_score: Any,
    *,
    alpha: float,
    sensitive_features: Any = None,
    group: Hashable | None = None,
    region: str = "pooled",
    sample_weight: Any = None,
    pos_label: Any = None,
    undefined: str = "nan",
) -> float:
    """Compute the share of positives among the rows with the highest scores.

    Parameters
    ----------
    {y_true, y_score, alpha}
    sensitive_features : column of shape (n,), or frame with several columns, default None
        Group of each row; needed for ``region="group"`` and with ``group``.
    group : name of a group or None, default None
        Look at the rows of this group only.
    {region, sample_weight, pos_label, undefined}

    Examples
    --------
    >>> from fairpot.metrics import top_precision
    >>> y, score = [1, 0, 0, 1, 0, 1], [0.1, 0.2, 0.3, 0.6, 0.7, 0.9]
    >>> round(top_precision(y, score, alpha=0.5), 3)
    0.667
    """
    _, rows, found = _count(y_true, y_score, alpha, sensitive_features, group, region, sample_weight, pos_label)
    return _ratio("top precision", found, rows, group, "rows in the region", undefined)


@by_name
def top_by_group(
    y_true: Any,
    y_score: Any,
    *,
    alpha: float,
    sensitive_features: Any,
    region: str = "pooled",
    sample_weight: Any = None,
    pos_label: Any = None,
) -> Any:
    """Return a frame with a row for each group: how much of it is in the top, and how many positives are found there.

    ``share`` is the part of the group's rows that is in the region, ``threshold`` its lowest score. What has nothing
    to count is NaN.

    {y_true, y_score, alpha, sensitive_features, region, sample_weight, pos_label}

    Returns
    -------
    frame
        pandas, Polars or PyArrow, whichever the columns are.

    Examples
    --------
    >>> from fairpot.metrics import top_by_group
    >>> y, score, sex = [1, 0, 1, 0], [0.4, 0.1, 0.9, 0.6], ["F", "F", "M", "M"]
    >>> print(top_by_group(y, score, alpha=0.5, sensitive_features=sex).to_string(index=False))
    group  rows  positives  threshold  share  found  recall  precision
        F     2          1        0.6    0.0      0     0.0        NaN
        M     2          1        0.6    1.0      1     1.0        0.5
    """
    table = as_table(
        y_true, y_score, sensitive_features=sensitive_features, sample_weight=sample_weight, pos_label=pos_label
    )
    top = top_table(table, alpha, region)
    thresholds = table.thresholds(alpha, region)  # type: ignore[arg-type]  # checked by top_table
    rows, top_rows = table.positives + table.negatives, top.positives + top.negatives
    nan = float("nan")
    return make_frame(
        {
            "group": list(table.groups),
            "rows": rows,
            "positives": table.positives,
            "threshold": [thresholds[g] for g in table.groups],
            "share": [t / r for t, r in zip(top_rows, rows)],
            "found": top.positives,
            "recall": [f / p if p else nan for f, p in zip(top.positives, table.positives)],
            "precision": [f / t if t else nan for f, t in zip(top.positives, top_rows)],
        }
    )


def _count(
    y_true: Any,
    y_score: Any,
    alpha: Any,
    sensitive_features: Any,
    group: Hashable | None,
    region: str,
    sample_weight: Any,
    pos_label: Any,
) -> tuple[Any, Any, Any]:
    """Weigh the positives in all, and the rows and positives in the region; of all groups or of one."""
    grouped = sensitive_features is not None
    if not grouped and (region == "group" or group is not None):
        asked = "region='group' cuts each group on its own" if region == "group" else f"group={group!r} names a group"
        raise TypeError(f"{asked}.\nHint: pass sensitive_features as well.")
    columns = {"sensitive_features": sensitive_features, "sample_weight": sample_weight, "pos_label": pos_label}
    table = as_table(y_true, y_score, **columns, grouped=grouped)
    top = top_table(table, alpha, region)
    places = slice(None) if group is None else place_of(table, group, "group")
    whole, inside = ([t.positives[places].sum(), t.negatives[places].sum()] for t in (table, top))
    return whole[0], sum(inside), inside[0]


def _ratio(name: str, part: Any, whole: Any, group: Hashable | None, what: str, undefined: str) -> float:
    value = value_without_pairs(check_undefined(undefined))
    if whole == 0:
        warn_undefined(name, [(group, what)], value)
        return value
    return float(part / whole)
