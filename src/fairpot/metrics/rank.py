"""AUC, xAUC and the xAUC gap, over all rows and inside the top-alpha region; AUC by group, and tied pairs."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, cast

import numpy as np

from fairpot._arguments import by_name
from fairpot._defaults import REGIONS, TIES, Region, Ties
from fairpot._optional import make_frame
from fairpot._validation import check_choice, check_group_name, check_share, wording
from fairpot.counting import as_table
from fairpot.metrics.wins import UNDEFINED, Undefined, WinMatrix, value_without_pairs, warn_undefined
from fairpot.table import ScoreTable


def top_table(table: ScoreTable, alpha: Any, region: str) -> ScoreTable:
    """Cut a table to its top-alpha region."""
    share = check_share(alpha, "alpha", zero=False)
    return table.top(share, cast(Region, check_choice(region, "region", REGIONS)))


def check_ties(ties: str) -> Ties:
    """Check the name of a convention for ties."""
    return cast(Ties, check_choice(ties, "ties", TIES))


def check_undefined(undefined: str) -> Undefined:
    """Check what is to stand for a metric without pairs."""
    return cast(Undefined, check_choice(undefined, "undefined", UNDEFINED))


def place_of(table: ScoreTable, group: Hashable, name: str) -> int:
    """Find a group named by the caller."""
    return table.groups.index(check_group_name(group, table.groups, name))


def _count(
    y_true: Any,
    y_score: Any,
    sensitive_features: Any,
    sample_weight: Any,
    pos_label: Any,
    ties: str,
    undefined: str,
    *,
    top: tuple[Any, str] | None = None,
    grouped: bool = True,
) -> tuple[ScoreTable, WinMatrix, Undefined]:
    """Check and count what a metric is given; of a top (alpha and region) the pairs inside it."""
    checked, missing = check_ties(ties), check_undefined(undefined)
    columns = {"sensitive_features": sensitive_features, "sample_weight": sample_weight, "pos_label": pos_label}
    table = as_table(y_true, y_score, **columns, grouped=grouped)
    return table, WinMatrix.of(table if top is None else top_table(table, *top), checked), missing


@by_name
def auc(
    y_true: Any,
    y_score: Any,
    *,
    sample_weight: Any = None,
    ties: Ties = "half",
    pos_label: Any = None,
    undefined: Undefined = "nan",
) -> float:
    """Compute the share of (positive, negative) pairs in which the positive has the higher score.

    {y_true, y_score, sample_weight, ties, pos_label, undefined}

    Examples
    --------
    >>> from fairpot.metrics import auc
    >>> y, score = [0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8]
    >>> auc(y, score)
    0.75
    """
    _, wins, missing = _count(y_true, y_score, None, sample_weight, pos_label, ties, undefined, grouped=False)
    return wins.auc(undefined=missing)


@by_name
def xauc(
    y_true: Any,
    y_score: Any,
    *,
    sensitive_features: Any,
    positive: Hashable,
    negative: Hashable,
    sample_weight: Any = None,
    ties: Ties = "half",
    pos_label: Any = None,
    undefined: Undefined = "nan",
) -> float:
    """Compute how often a positive of one group has a higher score than a negative of another.

    {y_true, y_score, sensitive_features, positive, negative, sample_weight, ties, pos_label, undefined}

    Examples
    --------
    >>> from fairpot.metrics import xauc
    >>> y, score, sex = [1, 0, 1, 0], [0.4, 0.1, 0.9, 0.6], ["F", "F", "M", "M"]
    >>> xauc(y, score, sensitive_features=sex, positive="M", negative="F")
    1.0
    >>> xauc(y, score, sensitive_features=sex, positive="F", negative="M")
    0.0
    """
    table, wins, missing = _count(y_true, y_score, sensitive_features, sample_weight, pos_label, ties, undefined)
    return wins.cell(place_of(table, positive, "positive"), place_of(table, negative, "negative"), missing)


@by_name
def xauc_gap(
    y_true: Any,
    y_score: Any,
    *,
    sensitive_features: Any,
    sample_weight: Any = None,
    ties: Ties = "half",
    pos_label: Any = None,
    undefined: Undefined = "nan",
) -> float:
    """Compute the xAUC gap, \\|xAUC(a->b) - xAUC(b->a)\\|; with more groups, the largest over pairs.

    {y_true, y_score, sensitive_features, sample_weight, ties, pos_label, undefined}

    Returns
    -------
    float
        Of the pairs of groups that have positives and negatives on both sides; the others are left out, with a warning
        that names them, and NaN is returned if there is no other. With ``undefined="paper"`` an xAUC without pairs
        is 0 and every pair of groups counts.

    Examples
    --------
    >>> from fairpot.metrics import xauc_gap
    >>> y, score, sex = [1, 0, 1, 0], [0.4, 0.1, 0.9, 0.6], ["F", "F", "M", "M"]
    >>> xauc_gap(y, score, sensitive_features=sex)
    1.0
    """
    _, wins, missing = _count(y_true, y_score, sensitive_features, sample_weight, pos_label, ties, undefined)
    first, second = wins.widest(missing)
    return abs(first - second)


@by_name
def xauc_matrix(
    y_true: Any,
    y_score: Any,
    *,
    sensitive_features: Any,
    sample_weight: Any = None,
    ties: Ties = "half",
    pos_label: Any = None,
    undefined: Undefined = "nan",
) -> Any:
    """Return the xAUC of every pair of groups as a frame.

    One row for each group of positives (column ``positive``, or ``positive_group`` if a group is called that), one
    further column for each group of negatives. The diagonal holds each group's own AUC.

    {y_true, y_score, sensitive_features, sample_weight, ties, pos_label, undefined}

    Returns
    -------
    frame
        pandas, Polars or PyArrow, whichever the columns are.

    Examples
    --------
    >>> from fairpot.metrics import xauc_matrix
    >>> y, score, sex = [1, 0, 1, 0], [0.4, 0.1, 0.9, 0.6], ["F", "F", "M", "M"]
    >>> print(xauc_matrix(y, score, sensitive_features=sex).to_string(index=False))
    positive   F   M
           F 1.0 0.0
           M 1.0 1.0
    """
    table, wins, missing = _count(y_true, y_score, sensitive_features, sample_weight, pos_label, ties, undefined)
    values = wins.xauc(missing)
    first = "positive"
    while first in map(str, table.groups):  # a group may be called so itself
        first += "_group"
    columns = {first: list(table.groups)} | {str(g): values[:, j] for j, g in enumerate(table.groups)}
    return make_frame(columns, y_score, y_true, sensitive_features)


@by_name
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
    {y_true, y_score, alpha}
    sensitive_features : column of shape (n,), or frame with several columns, default None
        Group of each row; needed for ``region="group"`` only.
    {region, sample_weight, ties, pos_label, undefined}

    Returns
    -------
    float
        NaN if the region has no negatives or no positives (the paper: 1 without negatives, 0 without positives),
        with an ``UndefinedMetricWarning``.

    Examples
    --------
    >>> from fairpot.metrics import partial_auc
    >>> y, score = [0, 0, 0, 1, 0, 1], [0.1, 0.2, 0.3, 0.6, 0.7, 0.9]
    >>> partial_auc(y, score, alpha=0.5)
    0.5
    """
    if region == "group" and sensitive_features is None:
        raise TypeError("region='group' cuts each group on its own.\nHint: pass sensitive_features as well.")
    given, grouped = (
        (y_true, y_score, sensitive_features, sample_weight, pos_label, ties, undefined),
        sensitive_features is not None,
    )
    _, wins, missing = _count(*given, top=(alpha, region), grouped=grouped)
    return wins.auc(partial=True, undefined=missing)


@by_name
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

    {y_true, y_score, alpha, sensitive_features, positive, negative, region, sample_weight, ties, pos_label, undefined}

    Examples
    --------
    >>> from fairpot.metrics import partial_xauc
    >>> y, score, sex = [1, 0, 1, 0], [0.4, 0.1, 0.9, 0.6], ["F", "F", "M", "M"]
    >>> partial_xauc(y, score, alpha=0.75, sensitive_features=sex, positive="F", negative="M")
    0.0
    """
    given = y_true, y_score, sensitive_features, sample_weight, pos_label, ties, undefined
    table, wins, missing = _count(*given, top=(alpha, region))
    return wins.cell(place_of(table, positive, "positive"), place_of(table, negative, "negative"), missing)


@by_name
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

    {y_true, y_score, alpha, sensitive_features, region, sample_weight, ties, pos_label, undefined}

    Returns
    -------
    float
        NaN if no pair of groups has rows with and without the outcome on both sides in the top.

    Examples
    --------
    >>> from fairpot.metrics import partial_xauc_gap
    >>> y, score, sex = [1, 0, 1, 0], [0.4, 0.1, 0.9, 0.6], ["F", "F", "M", "M"]
    >>> partial_xauc_gap(y, score, alpha=1.0, sensitive_features=sex)
    1.0
    """
    given = y_true, y_score, sensitive_features, sample_weight, pos_label, ties, undefined
    _, wins, missing = _count(*given, top=(alpha, region))
    first, second = wins.widest(missing)
    return abs(first - second)


@by_name
def group_auc(
    y_true: Any,
    y_score: Any,
    *,
    sensitive_features: Any,
    group: Hashable,
    sample_weight: Any = None,
    ties: Ties = "half",
    pos_label: Any = None,
    undefined: Undefined = "nan",
) -> float:
    """Compute the AUC inside one group.

    {y_true, y_score, sensitive_features, group, sample_weight, ties, pos_label, undefined}

    Examples
    --------
    >>> from fairpot.metrics import group_auc
    >>> y, score, sex = [1, 0, 1, 0], [0.4, 0.1, 0.9, 0.6], ["F", "F", "M", "M"]
    >>> group_auc(y, score, sensitive_features=sex, group="F")
    1.0
    """
    table, wins, missing = _count(y_true, y_score, sensitive_features, sample_weight, pos_label, ties, undefined)
    return _inside(wins, place_of(table, group, "group"), missing)


@by_name
def tied_share(
    y_true: Any, y_score: Any, *, sample_weight: Any = None, pos_label: Any = None, undefined: Undefined = "nan"
) -> float:
    """Compute the share of (positive, negative) pairs with equal scores.

    Strict AUC and scikit-learn's AUC differ by half of it.

    {y_true, y_score, sample_weight, pos_label, undefined}

    Examples
    --------
    >>> from fairpot.metrics import tied_share
    >>> y, score = [0, 0, 1, 1], [0.1, 0.4, 0.4, 0.8]
    >>> tied_share(y, score)
    0.25
    """
    value = value_without_pairs(check_undefined(undefined))
    table = as_table(y_true, y_score, sample_weight=sample_weight, grouped=False, pos_label=pos_label)
    [counts] = table.for_pairs().counts
    pairs = float(counts.positive.sum()) * float(counts.negative.sum())
    if pairs == 0:
        empty = wording.BOTH_OUTCOMES[int(counts.positive.sum() > 0)]
        warn_undefined("the share of tied pairs", [(None, empty)], value)
        return value
    return min(float(np.dot(counts.positive, counts.negative)) / pairs, 1.0)


@by_name
def by_group(
    y_true: Any,
    y_score: Any,
    *,
    sensitive_features: Any,
    sample_weight: Any = None,
    ties: Ties = "half",
    pos_label: Any = None,
    undefined: Undefined = "nan",
) -> Any:
    """Return a frame with a row for each group: counts and AUC.

    {y_true, y_score, sensitive_features, sample_weight, ties, pos_label, undefined}

    Returns
    -------
    frame
        pandas, Polars or PyArrow, whichever the columns are.

    Examples
    --------
    >>> from fairpot.metrics import by_group
    >>> y, score, sex = [1, 0, 1, 0], [0.4, 0.1, 0.9, 0.6], ["F", "F", "M", "M"]
    >>> print(by_group(y, score, sensitive_features=sex).to_string(index=False))
    group  positives  negatives  auc
        F          1          1  1.0
        M          1          1  1.0
    """
    table, wins, missing = _count(y_true, y_score, sensitive_features, sample_weight, pos_label, ties, undefined)
    columns = {
        "group": list(table.groups),
        "positives": table.positives,
        "negatives": table.negatives,
        "auc": [_inside(wins, k, missing) for k in range(len(table.groups))],
    }
    return make_frame(columns, y_score, y_true, sensitive_features)


def _inside(matrix: WinMatrix, k: int, undefined: Undefined) -> float:
    """Give the AUC inside one group, or what stands for it where there are no pairs."""
    own = np.arange(len(matrix.groups)) == k
    found = matrix.share(own, own)
    if found == found:
        return found
    sides = zip(wording.BOTH_OUTCOMES, (matrix.positives[k], matrix.negatives[k]))
    value, group = value_without_pairs(undefined), matrix.groups[k]
    warn_undefined(f"AUC of group {group!r}", [(group, what) for what, count in sides if count == 0], value)
    return value
