"""Pictures of scores, repairs and what they cost, in scikit-learn's manner.

``from_predictions``, ``from_table`` and ``from_estimator`` draw at once, into ``ax=`` or a new figure, and return the
Display: it keeps the axes (``ax_``) and the tidy table behind the picture (``frame()``), and ``plot(ax=)`` draws again.
matplotlib is imported only to draw.
"""

from fairpot.display.by_group import (
    CrossRocDisplay,
    GroupCalibrationDisplay,
    ScoreDistributionDisplay,
    ScoreMapDisplay,
)
from fairpot.display.estimates import BandDisplay, EstimatesDisplay, LimitDisplay
from fairpot.display.tradeoff import ComparisonDisplay, TradeoffDisplay

__all__ = [
    "BandDisplay",
    "ComparisonDisplay",
    "CrossRocDisplay",
    "EstimatesDisplay",
    "GroupCalibrationDisplay",
    "LimitDisplay",
    "ScoreDistributionDisplay",
    "ScoreMapDisplay",
    "TradeoffDisplay",
]
