"""Rank metrics: AUC, xAUC, their gap, the same in the top-alpha region, by group.

All of them are exact functions of one :class:`fairpot.table.ScoreTable`. A tie between a positive and a
negative is half a win by default (``ties="half"``, as in scikit-learn); ``ties="strict"`` counts it as none, as the
paper does. What has no pairs to count is NaN with a warning that names the empty cell; ``undefined="paper"`` takes
the paper's values.
"""

from typing import TYPE_CHECKING, Any

from fairpot.metrics.rank import (
    auc,
    by_group,
    group_auc,
    partial_auc,
    partial_xauc,
    partial_xauc_gap,
    tied_share,
    xauc,
    xauc_gap,
    xauc_matrix,
)
from fairpot.metrics.registry import METRICS, Metric
from fairpot.metrics.top_share import top_by_group, top_precision, top_recall

if TYPE_CHECKING:
    from fairpot.metrics.scorers import (
        GroupScorer,
        auc_scorer,
        partial_auc_scorer,
        partial_xauc_gap_scorer,
        xauc_gap_scorer,
    )

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
    if name not in ("GroupScorer", "auc_scorer", "partial_auc_scorer", "partial_xauc_gap_scorer", "xauc_gap_scorer"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from fairpot.metrics import scorers

    return getattr(scorers, name)


def __dir__() -> list[str]:
    return sorted(__all__)
