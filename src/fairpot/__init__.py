"""fairpot: audit and repair risk scores.

:mod:`fairpot.metrics` tells whether positives of one group are ranked above negatives of another as often as
the other way round (xAUC); :class:`FairPOT` repairs the scores without retraining, with one dial.
"""

from fairpot.exceptions import InfeasibleRuleError, UndefinedMetricWarning, UnseenGroupError
from fairpot.postprocessing import FairPOT
from fairpot.table import ScoreTable
from fairpot.tradeoff import TradeoffCurve
from fairpot.transport import ScoreMap

__version__ = "0.1.0"

__all__ = [
    "FairPOT",
    "InfeasibleRuleError",
    "ScoreMap",
    "ScoreTable",
    "TradeoffCurve",
    "UndefinedMetricWarning",
    "UnseenGroupError",
]
