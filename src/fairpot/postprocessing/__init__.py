"""Post-processors: each learns, for every group, a map from scores to scores."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fairpot.postprocessing.crossfit import FairScoreClassifier
    from fairpot.postprocessing.fairpot import FairPOT
    from fairpot.postprocessing.logit_shift import LogitShift
    from fairpot.postprocessing.optimal import OptimalMerge
    from fairpot.postprocessing.post_logit import PostLogit
    from fairpot.postprocessing.wasserstein import WassersteinRepair
    from fairpot.postprocessing.xorder import XOrder

__all__ = ["FairPOT", "FairScoreClassifier", "LogitShift", "OptimalMerge", "PostLogit", "WassersteinRepair", "XOrder"]

_HOMES = {
    "FairPOT": "fairpot",
    "FairScoreClassifier": "crossfit",
    "LogitShift": "logit_shift",
    "OptimalMerge": "optimal",
    "PostLogit": "post_logit",
    "WassersteinRepair": "wasserstein",
    "XOrder": "xorder",
}


def __getattr__(name: str) -> Any:
    """Import a method when it is first asked for: an audit needs none, and they bring scikit-learn."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
