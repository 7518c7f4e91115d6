"""Post-processors: each learns, for every group, a map from scores to scores."""

from fairpot.postprocessing.crossfit import FairScoreClassifier
from fairpot.postprocessing.fairpot import FairPOT
from fairpot.postprocessing.optimal import OptimalMerge
from fairpot.postprocessing.post_logit import PostLogit
from fairpot.postprocessing.wasserstein import WassersteinRepair
from fairpot.postprocessing.xorder import XOrder

__all__ = ["FairPOT", "FairScoreClassifier", "OptimalMerge", "PostLogit", "WassersteinRepair", "XOrder"]
