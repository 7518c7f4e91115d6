"""A model trained for the top of the ranking: boosted trees with the partial-AUC objective.

They need XGBoost (extra ``boost``), which is imported when something is fitted and not before.
"""

from fairpot.training.booster import PartialAUCBooster

__all__ = ["PartialAUCBooster"]
