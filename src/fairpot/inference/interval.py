"""Intervals and verdicts: a metric of the registry with its limits, and a gap against a bound."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np

from fairpot._validation import check_choice, check_share
from fairpot.counting import as_table
from fairpot.inference.bootstrap import bootstrap_shares, drawn_interval, shares_of
from fairpot.inference.estimate import Estimate, Verdict
from fairpot.inference.limits import fold, gap_limits, joint_tail_of, judge
from fairpot.inference.question import (
    KNOWN,
    TOP_RATES,
    Question,
    ask,
    check_level,
    check_replicates,
    metric_name,
    why_not,
)
from fairpot.inference.region import TopRate, estimate_region, read_top_rate, tied_at_cut, top_rate_interval
from fairpot.inference.shares import (
    GapEstimates,
    ShareEstimates,
    estimate_shares,
)
from fairpot.metrics import METRICS
from fairpot.table import ScoreTable
from fairpot.transport import Floats

METHODS = ("analytic", "bootstrap")
REPLICATES = 1000
_TIED_CUT = "many rows tie at the threshold of the region: the standard error is a bootstrap's"


def confidence_interval(
    metric: str,
    y_true: Any,
    y_score: Any,
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
    level: float = 0.95,
    method: str = "analytic",
    weights: str = "frequency",
    replicates: int = REPLICATES,
    random_state: int = 0,
    pos_label: Any = None,
) -> Estimate:
    """Compute a metric and how far it can be trusted.

    Parameters
    ----------
    metric : str
        A name in :data:`fairpot.metrics.METRICS`: "auc", "xauc", "xauc_gap", "partial_xauc_gap", "group_auc", ...
    y_true, y_score, sensitive_features, sample_weight, positive, negative, group, alpha, region, ties, pos_label
        As the metric takes them. With ``alpha``, "auc", "xauc" and "xauc_gap" become partial.
    clusters : column of shape (n,), default None
        What rows have in common that are not independent of each other: the patient of each visit.
    level : float in (0, 1), default 0.95
    method : {"analytic", "bootstrap"}, default "analytic"
        The closed form, or drawing the table's counts again ``replicates`` times.
    weights : {"frequency", "importance"}, default "frequency"
        What ``sample_weight`` means: how many rows a row is, or how much a row counts.
    replicates, random_state : int
        Of the bootstrap.

    Returns
    -------
    Estimate
        With ``estimate``, ``se`` (of the signed gap for gaps), ``low``, ``high``. With fewer than 5 positives or
        negatives (clusters of them) no interval is honest: the limits are NaN and ``reason`` says why.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> y, sex = rng.integers(0, 2, 400), rng.choice(["F", "M"], 400)
    >>> found = confidence_interval("xauc_gap", y, rng.normal(y), sensitive_features=sex)
    >>> print(found)
    0.0362 (95% interval 0.0000 to 0.1321)
    >>> confidence_interval("auc", [1, 1, 0, 0], [4, 2, 3, 1]).reason
    'there are 2 positives, and with fewer than 5 no interval is honest'
    """
    if sensitive_features is None and "sensitive_features" in METRICS[metric_name(metric, alpha)].needs:
        raise TypeError(f"{metric} needs sensitive_features, the group of each row.")
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
    asked = {"positive": positive, "negative": negative, "group": group, "alpha": alpha, "region": region, "ties": ties}
    return _of_table(metric, table, asked, level, method, replicates, random_state)


def interval_of_table(
    metric: str,
    table: ScoreTable,
    *,
    positive: Hashable | None = None,
    negative: Hashable | None = None,
    group: Hashable | None = None,
    alpha: float | None = None,
    region: str = "pooled",
    ties: str = "half",
    level: float = 0.95,
    method: str = "analytic",
    replicates: int = REPLICATES,
    random_state: int = 0,
) -> Estimate:
    """Compute a metric of a counted table and how far it can be trusted.

    Parameters
    ----------
    metric : str
        A name in :data:`fairpot.metrics.METRICS`.
    table : ScoreTable
        With labels. Its weights count as frequencies, unless it carries the sums of their squares.
    positive, negative, group, alpha, region, ties, level, method, replicates, random_state
        As in :func:`confidence_interval`.

    Returns
    -------
    Estimate

    Examples
    --------
    >>> from fairpot import score_table
    >>> table = score_table([0, 1] * 10, range(20), sensitive_features=["F"] * 10 + ["M"] * 10)
    >>> print(interval_of_table("auc", table))
    0.5500 (95% interval 0.2791 to 0.7941)
    """
    asked = {"positive": positive, "negative": negative, "group": group, "alpha": alpha, "region": region, "ties": ties}
    return _of_table(metric, table, asked, level, method, replicates, random_state)


def _of_table(
    metric: str,
    table: ScoreTable,
    asked: dict[str, Any],
    level: float,
    method: str,
    replicates: int,
    random_state: int,
) -> Estimate:
    """Answer in closed form where there is one, else by drawing if that is asked for."""
    name = metric_name(metric, asked["alpha"])
    if method == "bootstrap" and name not in KNOWN:
        return drawn_interval(name, table, asked, check_level(level), check_replicates(replicates), random_state)
    question = ask(metric, table, **asked)
    return answer(table, question, level=level, method=method, replicates=replicates, random_state=random_state)


def answer(
    table: ScoreTable, question: Question, *, level: float, method: str, replicates: int, random_state: int
) -> Estimate:
    """Estimate the shares of a question and put limits around them."""
    tail = (1 - check_level(level)) / 2
    check_choice(method, "method", METHODS)
    if question.metric in TOP_RATES:
        return _top_rate(table, question, level, method, replicates, random_state)
    found = estimate(table, question)
    reason = why_not(table, question, found)
    note = None
    if method == "bootstrap" and reason is None:
        replicates = check_replicates(replicates)
        read = shares_of(question.pairs, question.kernel, question.alpha, question.region)
        drawn, _ = bootstrap_shares(table, read, replicates, random_state)
        return _from_draws(table, question, found, drawn, level)
    if reason is None and question.alpha is not None:
        found, note = covariance_in_region(table, question)
    low, high = (np.nan, np.nan) if reason is not None else _limits(found, question, tail)
    return _interval(table, question, found, low, high, level, "analytic", reason, note)


def _top_rate(
    table: ScoreTable, question: Question, level: float, method: str, replicates: int, random_state: int
) -> Estimate:
    """Answer for recall or precision of the top alpha."""
    alpha = float(question.alpha or 1.0)
    asked = TopRate(question.metric, alpha, question.region, question.group)
    found = top_rate_interval(table, asked, level)
    tied = tied_at_cut(table, alpha, question.region)
    if found.reason is not None or (method == "analytic" and not tied):
        return found
    many = check_replicates(replicates) if method == "bootstrap" else REPLICATES
    drawn, _ = bootstrap_shares(table, read_top_rate(asked), many, random_state)
    low, high = np.quantile(drawn[:, 0], [(1 - level) / 2, (1 + level) / 2])
    note = _TIED_CUT if method == "analytic" else None
    se = float(drawn.std(ddof=1))
    return Estimate(found.metric, found.value, se, float(low), float(high), level, "bootstrap", note=note)


def estimate(table: ScoreTable, question: Question) -> ShareEstimates:
    """Estimate the shares of a question with their covariance."""
    if question.alpha is None:
        return estimate_shares(table, question.pairs, question.kernel)
    return estimate_region(table, question.pairs, question.kernel, question.alpha, question.region)


def covariance_in_region(table: ScoreTable, question: Question) -> tuple[ShareEstimates, str | None]:
    """Estimate in a top-alpha region; where many rows tie at its threshold, by drawing. Say which."""
    found = estimate(table, question)
    if question.alpha is None or not tied_at_cut(table, question.alpha, question.region):
        return found, None
    return _with_drawn_covariance(table, question, found), _TIED_CUT


def _limits(found: ShareEstimates, question: Question, tail: float) -> tuple[float, float]:
    if question.gap:
        return gap_limits(GapEstimates.side_by_side(found), tail)
    low, high = found.limits(tail)
    return float(low[0]), float(high[0])


def _interval(
    table: ScoreTable,
    question: Question,
    found: ShareEstimates,
    low: float,
    high: float,
    level: float,
    method: str,
    reason: str | None,
    note: str | None = None,
) -> Estimate:
    if not question.gap:
        value, se = float(found.value[0]), float(found.se[0])
        return Estimate(question.metric, value, se, low, high, level, method, reason=reason, note=note)
    gaps = GapEstimates.side_by_side(found)
    sizes = np.abs(gaps.value)
    widest = 0 if np.isnan(sizes).all() else int(np.nanargmax(sizes))
    winner, loser = question.pairs[2 * widest]
    groups = (table.groups[winner[0]], table.groups[loser[0]])
    value = float(gaps.value[widest])
    return Estimate(
        question.metric, abs(value), float(gaps.se[widest]), low, high, level, method, value, groups, reason, note
    )


def _with_drawn_covariance(table: ScoreTable, question: Question, found: ShareEstimates) -> ShareEstimates:
    """Replace the covariance by that of a bootstrap."""
    read = shares_of(question.pairs, question.kernel, question.alpha, question.region)
    drawn, _ = bootstrap_shares(table, read, REPLICATES, 0)
    covariance = np.atleast_2d(np.cov(drawn, rowvar=False))
    scale = np.diag(covariance) / np.maximum(found.variance[0] + found.variance[1], 1e-300)
    variance = (found.variance[0] * scale, found.variance[1] * scale)
    return ShareEstimates(found.value, covariance, variance, found.units)


def _from_draws(table: ScoreTable, question: Question, found: ShareEstimates, drawn: Floats, level: float) -> Estimate:
    """Read limits off the draws: percentiles, and for the lower limit of the largest of gaps those of all together."""
    tail = (1 - level) / 2
    covariance = np.atleast_2d(np.cov(drawn, rowvar=False))
    shares = ShareEstimates(found.value, covariance, found.variance, found.units)
    if not question.gap:
        low, high = np.quantile(drawn[:, 0], [tail, 1 - tail])
        return _interval(table, question, shares, float(low), float(high), level, "bootstrap", None)
    gaps = drawn[:, ::2] - drawn[:, 1::2]
    errors = np.abs(gaps - gaps.mean(axis=0)) / np.maximum(gaps.std(axis=0), 1e-300)
    joint = tail if gaps.shape[1] == 1 else joint_tail_of(errors.max(axis=1), tail, gaps.shape[1])
    low = fold(*np.quantile(gaps, [joint, 1 - joint], axis=0))[0].max()
    high = fold(*np.quantile(gaps, [tail, 1 - tail], axis=0))[1].max()
    return _interval(table, question, shares, float(low), float(high), level, "bootstrap", None)


def verdict(
    y_true: Any,
    y_score: Any,
    *,
    sensitive_features: Any,
    bound: float,
    sample_weight: Any = None,
    clusters: Any = None,
    alpha: float | None = None,
    region: str = "pooled",
    ties: str = "half",
    level: float = 0.95,
    weights: str = "frequency",
    pos_label: Any = None,
) -> Verdict:
    """Say whether the xAUC gap is within a bound, exceeds it, or whether the rows cannot tell.

    Parameters
    ----------
    y_true, y_score, sensitive_features, sample_weight, clusters, alpha, region, ties, weights, pos_label
        As in :func:`confidence_interval`.
    bound : float in [0, 1]
    level : float in (0.5, 1), default 0.95
        "within" and "exceeds" are each wrong at most ``1 - level`` of the time.

    Returns
    -------
    Verdict

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> y, sex = rng.integers(0, 2, 4000), rng.choice(["F", "M"], 4000)
    >>> verdict(y, rng.normal(y), sensitive_features=sex, bound=0.1).answer
    'within'
    >>> verdict(y, rng.normal(y + (sex == "M")), sensitive_features=sex, bound=0.1).answer
    'exceeds'
    """
    table = as_table(
        y_true,
        y_score,
        sensitive_features=sensitive_features,
        sample_weight=sample_weight,
        clusters=clusters,
        weights=weights,
        pos_label=pos_label,
    )
    return verdict_of_table(table, bound, alpha=alpha, region=region, ties=ties, level=level)


def verdict_of_table(
    table: ScoreTable,
    bound: float,
    *,
    alpha: float | None = None,
    region: str = "pooled",
    ties: str = "half",
    level: float = 0.95,
) -> Verdict:
    """Say the same of a counted table; see :func:`verdict`."""
    check_share(bound, "bound", zero=True)
    delta = 1 - check_level(level)
    question = ask("xauc_gap", table, alpha=alpha, region=region, ties=ties)
    gap = answer(table, question, level=level, method="analytic", replicates=0, random_state=0)
    if gap.reason is not None:
        return Verdict("cannot tell", bound, level, gap)
    gaps = GapEstimates.side_by_side(estimate(table, question))
    return Verdict(judge(gaps, bound, delta), bound, level, gap)
