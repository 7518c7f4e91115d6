"""Rank metrics: AUC, xAUC, their gap, the same in the top-alpha region, by group.

All are exact functions of one :class:`fairpot.table.ScoreTable`. A tie between a positive and a negative is half a win
(``ties="half"``, as in scikit-learn) or none (``ties="strict"``, as in the paper). What has no pairs to count is NaN
with a warning that names the empty cell, or the paper's value (``undefined="paper"``).
"""

from typing import TYPE_CHECKING

from fairpot._lazy import lazy

if TYPE_CHECKING:
    from fairpot.metrics.rank import METRICS as METRICS
    from fairpot.metrics.rank import Metric as Metric
    from fairpot.metrics.rank import auc as auc
    from fairpot.metrics.rank import by_group as by_group
    from fairpot.metrics.rank import group_auc as group_auc
    from fairpot.metrics.rank import partial_auc as partial_auc
    from fairpot.metrics.rank import partial_xauc as partial_xauc
    from fairpot.metrics.rank import partial_xauc_gap as partial_xauc_gap
    from fairpot.metrics.rank import tied_share as tied_share
    from fairpot.metrics.rank import top_precision as top_precision
    from fairpot.metrics.rank import top_recall as top_recall
    from fairpot.metrics.rank import xauc as xauc
    from fairpot.metrics.rank import xauc_gap as xauc_gap
    from fairpot.metrics.scorers import GroupScorer as GroupScorer
    from fairpot.metrics.scorers import auc_scorer as auc_scorer
    from fairpot.metrics.scorers import partial_auc_scorer as partial_auc_scorer
    from fairpot.metrics.scorers import partial_xauc_gap_scorer as partial_xauc_gap_scorer
    from fairpot.metrics.scorers import xauc_gap_scorer as xauc_gap_scorer

__getattr__, __dir__, __all__ = lazy(
    __name__,
    rank="METRICS Metric auc by_group group_auc partial_auc partial_xauc partial_xauc_gap tied_share top_precision "
    "top_recall xauc xauc_gap",
    scorers="GroupScorer auc_scorer partial_auc_scorer partial_xauc_gap_scorer xauc_gap_scorer",
)
