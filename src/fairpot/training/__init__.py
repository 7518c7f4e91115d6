"""Models trained for the top of the ranking: the partial-AUC objective, a network and boosted trees.

The network trains with torch (extra ``pauc``), the trees with XGBoost (extra ``boost``); both are imported when
something is fitted and not before.
"""

from fairpot.training.booster import PartialAUCBooster
from fairpot.training.network import PartialAUCClassifier
from fairpot.training.objective import tail_gradient

__all__ = ["PartialAUCBooster", "PartialAUCClassifier", "tail_gradient"]
