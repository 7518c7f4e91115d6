"""Repairs: a family of maps, the steps around it (curve, choice, certificate, grid, top), the estimator, its maps."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fairpot.repair.choose import Achieved
    from fairpot.repair.crossfit import FairScoreClassifier
    from fairpot.repair.estimator import Repair
    from fairpot.repair.fair_maps import FairMaps, load
    from fairpot.repair.family import Dial, Family

__all__ = ["Achieved", "Dial", "FairMaps", "FairScoreClassifier", "Family", "Repair", "load"]

_HOMES = {
    "Achieved": "choose",
    "Dial": "family",
    "FairMaps": "fair_maps",
    "FairScoreClassifier": "crossfit",
    "Family": "family",
    "Repair": "estimator",
    "load": "fair_maps",
}


def __getattr__(name: str) -> Any:
    """Import a name when it is first asked for: an audit needs none, and they bring scikit-learn."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
