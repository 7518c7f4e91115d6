"""Pictures of scores, repairs and what they cost, in scikit-learn's manner.

Each Display is made from a score table, from rows or from a fitted post-processor, keeps the tidy table behind the
picture (``frame()``) and draws it with matplotlib (``plot(ax=)``), which is imported only then.
"""

from fairpot.display.calibration import GroupCalibrationDisplay
from fairpot.display.distributions import ScoreDistributionDisplay
from fairpot.display.gaps import GapChangeDisplay
from fairpot.display.maps import ScoreMapDisplay
from fairpot.display.partial import PartialAucDisplay
from fairpot.display.ranks import RankChangeDisplay
from fairpot.display.roc import CrossRocDisplay
from fairpot.display.tradeoff import ComparisonDisplay, TradeoffDisplay

__all__ = [
    "ComparisonDisplay",
    "CrossRocDisplay",
    "GapChangeDisplay",
    "GroupCalibrationDisplay",
    "PartialAucDisplay",
    "RankChangeDisplay",
    "ScoreDistributionDisplay",
    "ScoreMapDisplay",
    "TradeoffDisplay",
]
