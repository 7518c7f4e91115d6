"""fairpot: audit and repair risk scores.

:mod:`fairpot.metrics` tells whether positives of one group are ranked above negatives of another as often as
the other way round (xAUC); :class:`FairPOT` repairs the scores without retraining, with one dial.
"""

from fairpot._version import __version__ as __version__
from fairpot.auditing import audit, effect
from fairpot.comparison import compare
from fairpot.exceptions import InfeasibleRuleError, ModelFileError, UndefinedMetricWarning, UnseenGroupError
from fairpot.postprocessing import FairPOT, FairScoreClassifier
from fairpot.postprocessing.fitted import load
from fairpot.table import ScoreTable
from fairpot.tradeoff import TradeoffCurve
from fairpot.transport import ScoreMap

__all__ = [
    "FairPOT",
    "FairScoreClassifier",
    "InfeasibleRuleError",
    "ModelFileError",
    "ScoreMap",
    "ScoreTable",
    "TradeoffCurve",
    "UndefinedMetricWarning",
    "UnseenGroupError",
    "audit",
    "compare",
    "effect",
    "load",
]
