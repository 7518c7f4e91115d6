"""The exact trade-off between AUC and the xAUC gap over every lambda."""

from fairpot.tradeoff.curve import TradeoffCurve, TradeoffPoint
from fairpot.tradeoff.exact import exact_wins
from fairpot.tradeoff.pareto import pareto_mask

__all__ = ["TradeoffCurve", "TradeoffPoint", "exact_wins", "pareto_mask"]
