"""within, exceeds or cannot tell: the gap against a bound."""

from __future__ import annotations

from typing import Any

from fairpot._validation import check_share
from fairpot.inference.checks import check_level
from fairpot.inference.estimates import GapEstimates
from fairpot.inference.gaps import judge
from fairpot.inference.interval import answer, estimate
from fairpot.inference.question import ask
from fairpot.inference.result import Verdict
from fairpot.inference.rows import sample_rows
from fairpot.inference.sample import Sample
from fairpot.table import ScoreTable


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
    sample = sample_rows(
        y_true,
        y_score,
        sensitive_features=sensitive_features,
        sample_weight=sample_weight,
        clusters=clusters,
        weights=weights,
        pos_label=pos_label,
    )
    return verdict_of_table(sample, bound, alpha=alpha, region=region, ties=ties, level=level)


def verdict_of_table(
    table: ScoreTable | Sample,
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
    sample = Sample.of(table)
    question = ask("xauc_gap", sample.table, alpha=alpha, region=region, ties=ties)
    gap = answer(sample, question, level=level, method="analytic", replicates=0, random_state=0)
    if gap.reason is not None:
        return Verdict("cannot tell", bound, level, gap)
    gaps = GapEstimates.side_by_side(estimate(sample, question))
    return Verdict(judge(gaps, bound, delta), bound, level, gap)
