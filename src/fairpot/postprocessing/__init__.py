"""Post-processors: each learns, for every group, a map from scores to scores."""

from fairpot.postprocessing.fairpot import FairPOT

__all__ = ["FairPOT"]
