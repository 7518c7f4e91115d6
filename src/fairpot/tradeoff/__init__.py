"""The exact trade-off between AUC and the xAUC gap over every lambda."""

from fairpot._arguments import leading_to
from fairpot.tradeoff.curve import TradeoffCurve, TradeoffPoint, pareto_mask
from fairpot.tradeoff.limit import Limit, LimitPoint, auc_limit

__all__ = ["Limit", "LimitPoint", "TradeoffCurve", "TradeoffPoint", "auc_limit", "pareto_mask"]

leading_to(__name__, "fairpot.FairPOT().fit(scores, y, sensitive_features=...).tradeoff()")
