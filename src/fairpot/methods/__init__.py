"""Methods: each learns, for every group, a map from scores to scores at every strength of its dial."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fairpot.methods.fairpot import FairPOT
    from fairpot.methods.logit_shift import LogitShift
    from fairpot.methods.optimal_merge import OptimalMerge
    from fairpot.methods.post_logit import PostLogit
    from fairpot.methods.wasserstein import WassersteinRepair
    from fairpot.methods.xorder import XOrder

__all__ = ["FairPOT", "LogitShift", "OptimalMerge", "PostLogit", "WassersteinRepair", "XOrder"]

# Every method and its file, in the order of comparisons; the file's name is the method's on the command line.
HOMES = {
    "FairPOT": "fairpot",
    "WassersteinRepair": "wasserstein",
    "PostLogit": "post_logit",
    "XOrder": "xorder",
    "OptimalMerge": "optimal_merge",
    "LogitShift": "logit_shift",
}


def __getattr__(name: str) -> Any:
    """Import a method when it is first asked for: an audit needs none, and they bring scikit-learn."""
    if name not in HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
