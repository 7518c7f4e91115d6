"""Rank metrics: AUC, xAUC, their gap, the same in the top-alpha region, by group.

All are exact functions of one :class:`fairpot.table.ScoreTable`. A tie between a positive and a negative is half a win
(``ties="half"``, as in scikit-learn) or none (``ties="strict"``, as in the paper). What has no pairs to count is NaN
with a warning that names the empty cell, or the paper's value (``undefined="paper"``).
"""

from typing import TYPE_CHECKING, Any

from fairpot.metrics.rank import (
    METRICS,
    Metric,
    auc,
    by_group,
    group_auc,
    partial_auc,
    partial_xauc,
    partial_xauc_gap,
    tied_share,
    top_by_group,
    top_precision,
    top_recall,
    xauc,
    xauc_gap,
    xauc_matrix,
)

if TYPE_CHECKING:
    from fairpot.metrics.scorers import (
        GroupScorer,
        auc_scorer,
        partial_auc_scorer,
        partial_xauc_gap_scorer,
        xauc_gap_scorer,
    )

_SCORERS = ["GroupScorer", "auc_scorer", "partial_auc_scorer", "partial_xauc_gap_scorer", "xauc_gap_scorer"]
__all__ = [
    "METRICS",
    "GroupScorer",
    "Metric",
    "auc",
    "auc_scorer",
    "by_group",
    "group_auc",
    "partial_auc",
    "partial_auc_scorer",
    "partial_xauc",
    "partial_xauc_gap",
    "partial_xauc_gap_scorer",
    "tied_share",
    "top_by_group",
    "top_precision",
    "top_recall",
    "xauc",
    "xauc_gap",
    "xauc_gap_scorer",
    "xauc_matrix",
]


def __getattr__(name: str) -> Any:
    """Import the scorers when they are first asked for: they bring scikit-learn, which takes a while."""
    if name not in _SCORERS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from fairpot.metrics import scorers

    return getattr(scorers, name)


def __dir__() -> list[str]:
    return sorted(__all__)
