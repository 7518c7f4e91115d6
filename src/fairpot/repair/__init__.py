"""Repairs: a family of maps, the steps around it (curve, choice, certificate, grid, top), the estimator, its maps."""

from typing import TYPE_CHECKING

from fairpot._lazy import lazy

if TYPE_CHECKING:
    from fairpot.repair.choose import Achieved as Achieved
    from fairpot.repair.crossfit import FairScoreClassifier as FairScoreClassifier
    from fairpot.repair.estimator import Repair as Repair
    from fairpot.repair.fair_maps import FairMaps as FairMaps
    from fairpot.repair.fair_maps import load as load
    from fairpot.repair.family import Dial as Dial
    from fairpot.repair.family import Family as Family

# An audit needs none of them, and they bring scikit-learn.
__getattr__, __dir__, __all__ = lazy(
    __name__,
    choose="Achieved",
    crossfit="FairScoreClassifier",
    estimator="Repair",
    fair_maps="FairMaps load",
    family="Dial Family",
)
