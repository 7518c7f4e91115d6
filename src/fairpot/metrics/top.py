"""The same metrics inside the top-alpha region."""

from collections.abc import Hashable
from typing import Any

from fairpot.metrics.tables import check_ties, check_undefined, labelled_table, place_of, top_table
from fairpot.metrics.undefined import Undefined
from fairpot.metrics.wins import Ties, WinMatrix
from fairpot.table import Region


def partial_auc(
    y_true: Any,
    y_score: Any,
    *,
    alpha: float,
    sensitive_features: Any = None,
    region: Region = "pooled",
    sample_weight: Any = None,
    ties: Ties = "half",
    pos_label: Any = None,
    undefined: Undefined = "nan",
) -> float:
    """Compute the AUC among the rows with the highest scores.

    Parameters
    ----------
    y_true, y_score, sample_weight, ties, pos_label, undefined
        As in :func:`auc`.
    alpha : float in (0, 1]
        Share of the rows in the region; rows tied with the lowest of them are in it too.
    sensitive_features : column of shape (n,), default None
        Group of each row; needed for ``region="group"`` only.
    region : {"pooled", "group"}, default "pooled"
        The top alpha of all rows, or the top alpha of each group.

    Returns
    -------
    float
        NaN if the region has no negatives or no positives (the paper: 1 without negatives, 0 without positives),
        with an ``UndefinedMetricWarning``.

    Examples
    --------
    >>> partial_auc([0, 0, 0, 1, 0, 1], [0.1, 0.2, 0.3, 0.6, 0.7, 0.9], alpha=0.5)
    0.5
    """
    checked, missing = check_ties(ties), check_undefined(undefined)
    grouped = sensitive_features is not None
    if region == "group" and not grouped:
        raise TypeError("region='group' cuts each group on its own: pass sensitive_features as well.")
    table = labelled_table(y_true, y_score, sensitive_features, sample_weight, grouped=grouped, pos_label=pos_label)
    return WinMatrix.of(top_table(table, alpha, region), checked).auc(partial=True, undefined=missing)


def partial_xauc(
    y_true: Any,
    y_score: Any,
    *,
    alpha: float,
    sensitive_features: Any,
    positive: Hashable,
    negative: Hashable,
    region: Region = "pooled",
    sample_weight: Any = None,
    ties: Ties = "half",
    pos_label: Any = None,
    undefined: Undefined = "nan",
) -> float:
    """Compute the xAUC of two groups among the rows with the highest scores.

    Parameters
    ----------
    y_true, y_score, sensitive_features, positive, negative, sample_weight, ties, pos_label, undefined
        As in :func:`xauc`.
    alpha, region
        As in :func:`partial_auc`.

    Examples
    --------
    >>> y, score, sex = [1, 0, 1, 0], [0.4, 0.1, 0.9, 0.6], ["F", "F", "M", "M"]
    >>> partial_xauc(y, score, alpha=0.75, sensitive_features=sex, positive="F", negative="M")
    0.0
    """
    checked, missing = check_ties(ties), check_undefined(undefined)
    table = labelled_table(y_true, y_score, sensitive_features, sample_weight, pos_label=pos_label)
    g, h = place_of(table, positive, "positive"), place_of(table, negative, "negative")
    return WinMatrix.of(top_table(table, alpha, region), checked).cell(g, h, missing)


def partial_xauc_gap(
    y_true: Any,
    y_score: Any,
    *,
    alpha: float,
    sensitive_features: Any,
    region: Region = "pooled",
    sample_weight: Any = None,
    ties: Ties = "half",
    pos_label: Any = None,
    undefined: Undefined = "nan",
) -> float:
    """Compute the xAUC gap among the rows with the highest scores; of more groups, the largest.

    Parameters
    ----------
    y_true, y_score, sensitive_features, sample_weight, ties, pos_label, undefined
        As in :func:`xauc`.
    alpha, region
        As in :func:`partial_auc`.

    Examples
    --------
    >>> y, score, sex = [1, 0, 1, 0], [0.4, 0.1, 0.9, 0.6], ["F", "F", "M", "M"]
    >>> partial_xauc_gap(y, score, alpha=1.0, sensitive_features=sex)
    1.0
    """
    checked, missing = check_ties(ties), check_undefined(undefined)
    table = labelled_table(y_true, y_score, sensitive_features, sample_weight, pos_label=pos_label)
    first, second = WinMatrix.of(top_table(table, alpha, region), checked).widest(missing)
    return abs(first - second)
