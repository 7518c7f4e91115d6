"""Every number with its uncertainty: intervals, verdicts, bands, and a dial that can be signed for."""

from fairpot.inference.certify import (
    Certificate,
    PlainGaps,
    Shortfall,
    certify,
    choose_certified,
    falls,
    shortfall,
    smallest_bound,
    step_down,
    walk,
)
from fairpot.inference.change import Change, Changes, change_by_maps, change_of_scores
from fairpot.inference.dial import Band, DialEstimates, Evidence, average_dials, band_of, estimate_dial
from fairpot.inference.estimate import Estimate, Verdict
from fairpot.inference.interval import confidence_interval, interval_of_table, verdict, verdict_of_table
from fairpot.inference.overview import Overview, Rates, overview, rates_at
from fairpot.inference.sample_size import SamplePlan, plan_sample_size

__all__ = [
    "Band",
    "Certificate",
    "Change",
    "Changes",
    "DialEstimates",
    "Estimate",
    "Evidence",
    "Overview",
    "PlainGaps",
    "Rates",
    "SamplePlan",
    "Shortfall",
    "Verdict",
    "average_dials",
    "band_of",
    "certify",
    "change_by_maps",
    "change_of_scores",
    "choose_certified",
    "confidence_interval",
    "estimate_dial",
    "falls",
    "interval_of_table",
    "overview",
    "plan_sample_size",
    "rates_at",
    "shortfall",
    "smallest_bound",
    "step_down",
    "verdict",
    "verdict_of_table",
    "walk",
]
