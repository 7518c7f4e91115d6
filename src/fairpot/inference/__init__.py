"""Every number with its uncertainty: intervals, verdicts, changes, certificates, and how many rows it takes."""

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
