"""Rank metrics: AUC, xAUC, their gap, the same in the top, by group.

All are exact functions of one :class:`fairpot.table.ScoreTable`. A tie between a positive and a negative is half a win
(``ties="half"``, as in scikit-learn) or none (``ties="strict"``, as in the paper). What has no pairs to count is NaN
with a warning that names the empty cell, or the paper's value (``undefined="paper"``).
"""

from typing import TYPE_CHECKING

from fairpot._lazy import lazy

if TYPE_CHECKING:
    from fairpot.metrics.rank import auc as auc
    from fairpot.metrics.rank import by_group as by_group
    from fairpot.metrics.rank import top_precision as top_precision
    from fairpot.metrics.rank import top_recall as top_recall
    from fairpot.metrics.rank import xauc as xauc
    from fairpot.metrics.rank import xauc_gap as xauc_gap
    from fairpot.metrics.rates import RATES as RATES
    from fairpot.metrics.rates import Rate as Rate
    from fairpot.metrics.scorers import GroupScorer as GroupScorer
    from fairpot.metrics.scorers import auc_scorer as auc_scorer
    from fairpot.metrics.scorers import xauc_gap_scorer as xauc_gap_scorer

__getattr__, __dir__, __all__ = lazy(
    __name__,
    rank="auc by_group top_precision top_recall xauc xauc_gap",
    rates="RATES Rate",
    scorers="GroupScorer auc_scorer xauc_gap_scorer",
)
