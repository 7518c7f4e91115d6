"""Intervals and verdicts: a metric of the registry with its limits, and a gap against a bound."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, NamedTuple, cast

import numpy as np

from fairpot._arguments import by_name
from fairpot._defaults import LEVEL, REGIONS, TIES, Region, Ties
from fairpot._docs import documented
from fairpot._validation import check_choice, check_group_name, check_level, check_share
from fairpot.counting import as_table
from fairpot.inference.limits import Estimate, Verdict, judge, seen_limits
from fairpot.inference.merged import count_ranking
from fairpot.inference.merged import shares as counted_shares
from fairpot.inference.rates import TopRate, top_rate_interval
from fairpot.inference.region import RegionShares, estimate_region
from fairpot.inference.shares import (
    GapEstimates,
    Pairs,
    ShareEstimates,
    all_pairs,
    cross_pairs,
    inside,
    why_not,
)
from fairpot.metrics.rank import METRICS
from fairpot.table import ScoreTable

# Rates of the top alpha: shares of rows, not of pairs.
_TOP_RATES = ("top_recall", "top_precision")
_PARTIAL = {"auc": "partial_auc", "xauc": "partial_xauc", "xauc_gap": "partial_xauc_gap"}
# What has a standard error in closed form.
_KNOWN = (*_PARTIAL, *_PARTIAL.values(), *_TOP_RATES, "group_auc")


class _Question(NamedTuple):
    """A metric as shares of pairs; a gap is the largest difference of shares side by side."""

    metric: str
    pairs: tuple[Pairs, ...]
    gap: bool
    kernel: Ties
    alpha: float | None
    region: Region
    group: int | None = None  # of a rate that has one


def _metric_name(metric: str, alpha: float | None) -> str:
    """Check the name; ``alpha`` turns a metric into its partial form."""
    check_choice(metric, "metric", tuple(METRICS))
    needs = "alpha" in METRICS[metric].needs
    if alpha is None and needs:
        raise TypeError(
            f"{metric} is of the top of the list.\nHint: say how much of it, such as alpha=0.1 for the top 10%."
        )
    if alpha is None or needs:
        return metric
    if metric not in _PARTIAL:
        raise TypeError(f"{metric} is of all rows, and alpha cuts to the top of the list.\nHint: leave alpha out.")
    return _PARTIAL[metric]


def _ask(
    metric: str,
    table: ScoreTable,
    *,
    positive: Hashable | None = None,
    negative: Hashable | None = None,
    group: Hashable | None = None,
    alpha: float | None = None,
    region: str = "pooled",
    ties: str = "half",
) -> _Question:
    """Turn the name of a metric into the shares that it is made of."""
    name = _metric_name(metric, alpha)
    kernel = cast(Ties, check_choice(ties, "ties", TIES))
    where = cast(Region, check_choice(region, "region", REGIONS))
    share = None if alpha is None else check_share(alpha, "alpha", zero=False)
    if name not in _KNOWN:
        raise ValueError(
            f"{name} has no closed form for its standard error here.\n"
            "Hint: draw the rows again, and compute it each time."
        )
    if name in _TOP_RATES:
        table.require("an interval")
        place = None if group is None else table.groups.index(check_group_name(group, table.groups, "group"))
        return _Question(name, (all_pairs(table),), False, kernel, share, where, place)
    given = {"positive": positive, "negative": negative, "group": group}
    pairs, gap = _pairs(name, table, given)
    return _Question(name, pairs, gap, kernel, share, where)


def _pairs(name: str, table: ScoreTable, given: dict[str, Any]) -> tuple[tuple[Pairs, ...], bool]:
    table.require("an interval")
    needed = [key for key in given if key in METRICS[name].needs]
    for key, value in given.items():
        if key in needed and value is None:
            raise TypeError(f"{name} is of one pair of groups.\nHint: name them, {key}=...")
        if key not in needed and value is not None:
            raise TypeError(f"{name} takes no {key}.")
    places = {key: table.groups.index(check_group_name(given[key], table.groups, key)) for key in needed}
    if name.endswith("gap"):
        if len(table.groups) < 2:
            raise ValueError(
                f"a gap compares groups, and there is one, {table.groups[0]!r}.\n"
                "Hint: pass rows of at least two groups as sensitive_features."
            )
        return tuple(cross_pairs(table)), True
    if "positive" in places:
        return (Pairs((places["positive"],), (places["negative"],)),), False
    if "group" in places:
        return (inside(places["group"]),), False
    return (all_pairs(table),), False


@by_name
def confidence_interval(
    metric: str,
    y_true: Any,
    y_score: Any = None,
    *,
    sensitive_features: Any = None,
    sample_weight: Any = None,
    clusters: Any = None,
    positive: Hashable | None = None,
    negative: Hashable | None = None,
    group: Hashable | None = None,
    alpha: float | None = None,
    region: str = "pooled",
    ties: str = "half",
    level: float = LEVEL,
    weights: str | None = None,
    pos_label: Any = None,
) -> Estimate:
    """Compute a metric with its confidence limits.

    Parameters
    ----------
    metric : str
        A name in :data:`fairpot.metrics.METRICS`: "auc", "xauc", "xauc_gap", "partial_xauc_gap", "group_auc", ...
        With ``alpha``, "auc", "xauc" and "xauc_gap" look at the top.
    y_true, y_score : columns of shape (n,), or ScoreTable and None
        Outcomes, 0/1 or booleans (others with ``pos_label``), and scores on any scale. A table stands for all rows.
    sensitive_features : column of shape (n,), or frame with several columns, default None
        Group of each row; several columns form intersections. None for metrics without groups.
    {sample_weight, clusters}
    positive, negative, group : names of groups, default None
        For xAUC: the group whose rows with the outcome, and the group whose rows without it, are compared. For metrics
        of one group: that group.
    alpha : float in (0, 1] or None, default None
        Look at this share of the rows with the highest scores; None looks at all rows.
    {region, ties, level}
    {weights}
    {pos_label}

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
    ungrouped = sensitive_features is None and not isinstance(y_true, ScoreTable)
    if ungrouped and "sensitive_features" in METRICS[_metric_name(metric, alpha)].needs:
        raise TypeError(f"{metric} compares groups.\nHint: pass the group of each row, sensitive_features=...")
    table = as_table(
        y_true,
        y_score,
        sensitive_features=sensitive_features,
        sample_weight=sample_weight,
        clusters=clusters,
        weights=weights,
        pos_label=pos_label,
        grouped=sensitive_features is not None,
    )
    asked: dict[str, Any] = {"positive": positive, "negative": negative, "group": group}
    asked |= {"alpha": alpha, "region": region, "ties": ties}
    question = _ask(metric, table, **asked)
    tail = (1 - check_level(level)) / 2
    if question.metric in _TOP_RATES:
        rate = TopRate(question.metric, float(question.alpha or 1.0), question.region, question.group)
        return top_rate_interval(table, rate, level)
    found = _estimate(table, question)
    if question.gap:
        return _gap(table, question, found, level)
    reason = why_not(table, question.pairs, found, question.alpha)
    [low], [high] = ([np.nan], [np.nan]) if reason is not None else found.limits(tail)
    ends = (float(found.value[0]), float(found.se[0]), float(low), float(high))
    return Estimate(question.metric, *ends, level, reason=reason, note=_note(found))


def _estimate(table: ScoreTable, question: _Question) -> ShareEstimates:
    """Estimate the shares of a question with their covariance."""
    if question.alpha is not None:
        return estimate_region(table, question.pairs, question.kernel, question.alpha, question.region)
    return counted_shares(count_ranking(table, question.kernel), question.pairs)


def _note(found: ShareEstimates) -> str | None:
    return found.note if isinstance(found, RegionShares) else None


def _gap(table: ScoreTable, question: _Question, found: ShareEstimates, level: float) -> Estimate:
    """Give the largest gap, seen from the group that is ranked higher, as its limits are."""
    gaps = GapEstimates.side_by_side(found)
    reason = why_not(table, question.pairs, found, question.alpha)
    low, high = (np.nan, np.nan) if reason is not None else seen_limits(gaps, (1 - level) / 2)
    sizes = np.abs(gaps.value)
    widest = 0 if np.isnan(sizes).all() else int(np.nanargmax(sizes))
    winner, loser = question.pairs[2 * widest]
    groups = (table.groups[winner[0]], table.groups[loser[0]])
    value, se = float(gaps.value[widest]), float(gaps.se[widest])
    seen = groups if not value < 0 else groups[::-1]
    known = (low, high, level, "analytic", abs(value), seen, reason, _note(found))
    return Estimate(question.metric, abs(value), se, *known)


@documented
def verdict(
    y_true: Any,
    y_score: Any = None,
    *,
    sensitive_features: Any = None,
    bound: float,
    sample_weight: Any = None,
    clusters: Any = None,
    alpha: float | None = None,
    region: str = "pooled",
    ties: str = "half",
    level: float = LEVEL,
    weights: str | None = None,
    pos_label: Any = None,
) -> Verdict:
    """Say whether the xAUC gap is within a bound, exceeds it, or whether the rows cannot tell.

    Parameters
    ----------
    y_true, y_score : columns of shape (n,), or ScoreTable and None
        Outcomes, 0/1 or booleans (others with ``pos_label``), and scores on any scale. A table stands for all rows.
    {sensitive_features, bound, sample_weight, clusters}
    alpha : float in (0, 1] or None, default None
        Look at this share of the rows with the highest scores; None looks at all rows.
    {region, ties, level, weights, pos_label}

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
    table = as_table(
        y_true,
        y_score,
        sensitive_features=sensitive_features,
        sample_weight=sample_weight,
        clusters=clusters,
        weights=weights,
        pos_label=pos_label,
    )
    question = _ask("xauc_gap", table, alpha=alpha, region=region, ties=ties)
    found = _estimate(table, question)
    gap = _gap(table, question, found, level)
    answer = "cannot tell" if gap.reason is not None else judge(GapEstimates.side_by_side(found), bound, delta)
    return Verdict(answer, bound, level, gap, alpha)
