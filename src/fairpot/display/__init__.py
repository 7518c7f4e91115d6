"""Pictures of scores, repairs and what they cost, in scikit-learn's manner.

``from_predictions``, ``from_table`` and ``from_estimator`` draw at once, into ``ax=`` or a new figure, and return the
Display: it keeps the axes (``ax_``) and the tidy table behind the picture (``frame()``), and ``plot(ax=)`` draws again.
matplotlib is imported only to draw.
"""

from fairpot.display.by_group import CrossRocDisplay, ScoreDistributionDisplay, ScoreMapDisplay
from fairpot.display.estimates import EstimatesDisplay
from fairpot.display.estimates import draw_band as draw_band
from fairpot.display.estimates import draw_limit as draw_limit
from fairpot.display.tradeoff import TradeoffDisplay
from fairpot.display.tradeoff import draw_comparison as draw_comparison

__all__ = ["CrossRocDisplay", "EstimatesDisplay", "ScoreDistributionDisplay", "ScoreMapDisplay", "TradeoffDisplay"]
