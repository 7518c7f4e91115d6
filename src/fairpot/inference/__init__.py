"""Every number with its uncertainty: intervals, verdicts, changes, and how many rows it takes.

What a curve's band and a certificate are made of stands in :mod:`fairpot.inference.dial` and
:mod:`fairpot.inference.certify`.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fairpot.inference.certify import Certificate
    from fairpot.inference.change import Change, Changes, change_by_maps, change_of_scores
    from fairpot.inference.dial import Band
    from fairpot.inference.interval import confidence_interval, verdict
    from fairpot.inference.limits import Estimate, Verdict
    from fairpot.inference.rates import Rates, rates_at
    from fairpot.inference.sample_size import SamplePlan, plan_sample_size

__all__ = [
    "Band",
    "Certificate",
    "Change",
    "Changes",
    "Estimate",
    "Rates",
    "SamplePlan",
    "Verdict",
    "change_by_maps",
    "change_of_scores",
    "confidence_interval",
    "plan_sample_size",
    "rates_at",
    "verdict",
]

_HOMES = {
    "certify": ("Certificate",),
    "change": ("Change", "Changes", "change_by_maps", "change_of_scores"),
    "dial": ("Band",),
    "interval": ("confidence_interval", "verdict"),
    "limits": ("Estimate", "Verdict"),
    "rates": ("Rates", "rates_at"),
    "sample_size": ("SamplePlan", "plan_sample_size"),
}


def __getattr__(name: str) -> Any:
    """Import a name when it is first asked for: an audit needs no certificate and no plan."""
    for module, names in _HOMES.items():
        if name in names:
            return getattr(import_module(f"{__name__}.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
