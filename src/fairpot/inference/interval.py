"""Intervals and verdicts: AUC, xAUC or the gap with its limits, and the gap against a bound."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, Unpack, cast

import numpy as np

from fairpot._arguments import by_name
from fairpot._defaults import LEVEL, TIES, TOPS_OF, Ties
from fairpot._said import Said
from fairpot._validation import check_choice, check_group_name, check_level, check_share
from fairpot.counting import as_table, compared
from fairpot.inference.limits import Estimate, Verdict, judge, seen_limits
from fairpot.inference.merged import count_ranking
from fairpot.inference.merged import shares as counted_shares
from fairpot.inference.shares import GapEstimates, Pairs, ShareEstimates, all_pairs, cross_pairs, why_not
from fairpot.table import ScoreTable

_METRICS = ("auc", "xauc", "xauc_gap")


def _pairs(metric: str, table: ScoreTable, positive: Hashable | None, negative: Hashable | None) -> list[Pairs]:
    """Give the pairs that a metric is made of; a gap is the largest difference of two side by side."""
    table.require("an interval")
    names = {"positive": positive, "negative": negative}
    given = [key for key, value in names.items() if value is not None]
    if metric == "xauc":
        if len(given) < 2:
            raise TypeError("xauc is of one pair of groups.\nHint: name them, positive=... and negative=...")
        winner, loser = (table.groups.index(check_group_name(names[key], table.groups, key)) for key in given)
        return [Pairs((winner,), (loser,))]
    if given:
        raise TypeError(f"{metric} takes no {given[0]}.")
    if metric == "auc":
        return [all_pairs(table)]
    if len(table.groups) < 2:
        raise ValueError(
            f"a gap compares groups, and there is one, {table.groups[0]!r}.\n"
            "Hint: pass rows of at least two groups as sensitive_features."
        )
    return cross_pairs(table)


def _estimate(table: ScoreTable, pairs: list[Pairs], top: Any, top_of: str, ties: str) -> ShareEstimates:
    """Estimate shares of pairs with their covariance, of all rows or in the top."""
    kernel = cast(Ties, check_choice(ties, "ties", TIES))
    check_choice(top_of, "top_of", TOPS_OF)
    rows = table if top is None else table.above(table.starts(table.find_top(top, top_of)))
    return counted_shares(count_ranking(rows, kernel), pairs)


# What means nothing to a number of rows and its interval.
_NOT_OF_NUMBERS = {"high_score_means": "it changes no number.\nHint: fairpot.audit words by it what was found."}


@by_name(but=_NOT_OF_NUMBERS)
def confidence_interval(
    metric: str,
    y_true: Any,
    y_score: Any = None,
    *,
    positive: Hashable | None = None,
    negative: Hashable | None = None,
    top: float | None = None,
    top_of: str = "all",
    ties: str = "half",
    level: float = LEVEL,
    **rows: Unpack[Said],
) -> Estimate:
    """Compute a metric with its confidence limits.

    Parameters
    ----------
    metric : {"auc", "xauc", "xauc_gap"}
        What to measure.
    y_true, y_score : columns of shape (n,), or ScoreTable or frame, and None
        Outcomes, 0/1 or booleans (others with ``pos_label``), and scores on any scale. A table stands for all rows, and
        so does a frame whose columns are named.
    {said}
    positive, negative : names of groups, default None
        For xAUC: the group whose rows with the outcome, and the group whose rows without it, are compared; of one group
        twice, the AUC inside it.
    top : float in (0, 1], int or None, default None
        Look at this share, or number, of the rows with the highest scores; None looks at all rows.
    {top_of, ties, level}

    Returns
    -------
    Estimate
        With ``value``, ``se`` (of the signed gap for gaps), ``low``, ``high``. With fewer than 5 positives or
        negatives (clusters of them) there is no interval: the limits are NaN and ``reason`` says why.

    Examples
    --------
    >>> import numpy as np
    >>> from fairpot.inference import confidence_interval
    >>> rng = np.random.default_rng(0)
    >>> y, sex = rng.integers(0, 2, 400), rng.choice(["F", "M"], 400)
    >>> score = rng.normal(y)
    >>> print(confidence_interval("xauc_gap", y, score, sensitive_features=sex))
    0.036 (95% interval -0.060 to 0.132)
    >>> confidence_interval("auc", [1, 1, 0, 0], [4, 2, 3, 1]).reason
    'there are 2 rows with the outcome, and with fewer than 5 there is no interval'
    """
    check_choice(metric, "metric", _METRICS)
    tail = (1 - check_level(level)) / 2
    grouped = rows.get("sensitive_features") is not None
    if not grouped and metric != "auc" and y_score is not None:
        raise TypeError(f"{metric} compares groups.\nHint: pass the group of each row, sensitive_features=...")
    table = compared(as_table(y_true, y_score, grouped=grouped, **rows))
    pairs = _pairs(metric, table, positive, negative)
    found = _estimate(table, pairs, top, top_of, ties)
    if metric == "xauc_gap":
        return _gap(table, found, top, level)
    reason = why_not(table, pairs, found, top)
    [low], [high] = ([np.nan], [np.nan]) if reason is not None else found.limits(tail)
    ends = (float(found.value[0]), float(found.se[0]), float(low), float(high))
    return Estimate(metric, *ends, level, reason=reason)


def _gap(table: ScoreTable, found: ShareEstimates, top: float | None, level: float) -> Estimate:
    """Give the largest gap, seen from the group that is ranked higher, as its limits are."""
    gaps, pairs = GapEstimates.side_by_side(found), cross_pairs(table)
    reason = why_not(table, pairs, found, top)
    low, high = (np.nan, np.nan) if reason is not None else seen_limits(gaps, (1 - level) / 2)
    sizes = np.abs(gaps.value)
    widest = 0 if np.isnan(sizes).all() else int(np.nanargmax(sizes))
    winner, loser = pairs[2 * widest]
    groups = (table.groups[winner[0]], table.groups[loser[0]])
    value, se = float(gaps.value[widest]), float(gaps.se[widest])
    seen = groups if not value < 0 else groups[::-1]
    known = (low, high, level, "analytic", abs(value), seen, reason)
    return Estimate("xauc_gap", abs(value), se, *known)


@by_name(but=_NOT_OF_NUMBERS)
def verdict(
    y_true: Any,
    y_score: Any = None,
    *,
    bound: float,
    top: float | None = None,
    top_of: str = "all",
    ties: str = "half",
    level: float = LEVEL,
    **rows: Unpack[Said],
) -> Verdict:
    """Say whether the xAUC gap is within a bound, exceeds it, or whether the rows cannot tell.

    Parameters
    ----------
    y_true, y_score : columns of shape (n,), or ScoreTable or frame, and None
        Outcomes, 0/1 or booleans (others with ``pos_label``), and scores on any scale. A table stands for all rows, and
        so does a frame whose columns are named.
    {bound, said}
    top : float in (0, 1], int or None, default None
        Look at this share, or number, of the rows with the highest scores; None looks at all rows.
    {top_of, ties, level}

    Examples
    --------
    >>> import numpy as np
    >>> from fairpot.inference import verdict
    >>> rng = np.random.default_rng(0)
    >>> y, sex = rng.integers(0, 2, 4000), rng.choice(["F", "M"], 4000)
    >>> score, uneven = rng.normal(y), rng.normal(y + (sex == "M"))
    >>> verdict(y, score, sensitive_features=sex, bound=0.1).answer
    'within'
    >>> verdict(y, uneven, sensitive_features=sex, bound=0.1).answer
    'exceeds'
    """
    check_share(bound, "bound", zero=True)
    delta = 1 - check_level(level)
    table = compared(as_table(y_true, y_score, **rows))
    found = _estimate(table, _pairs("xauc_gap", table, None, None), top, top_of, ties)
    gap = _gap(table, found, top, level)
    answer = "cannot tell" if gap.reason is not None else judge(GapEstimates.side_by_side(found), bound, delta)
    return Verdict(answer, bound, level, gap, top)
