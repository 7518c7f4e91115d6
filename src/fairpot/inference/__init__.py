"""Every number with its uncertainty: intervals, verdicts, bands, and a dial that can be signed for."""

from fairpot.inference.band import Band, band_of
from fairpot.inference.certificate import Certificate, choose_certified
from fairpot.inference.certify import PlainGaps, certify, falls, step_down, walk
from fairpot.inference.dial import DialEstimates, average_dials, estimate_dial
from fairpot.inference.evidence import Evidence
from fairpot.inference.interval import confidence_interval, interval_of_table
from fairpot.inference.needed import Shortfall, shortfall, smallest_bound
from fairpot.inference.overview import Overview, overview
from fairpot.inference.paired import Change, Changes, change_by_maps, change_of_scores
from fairpot.inference.plan import SamplePlan, plan_sample_size
from fairpot.inference.rates import Rates, rates_at
from fairpot.inference.result import Interval, Verdict
from fairpot.inference.rows import sample_rows
from fairpot.inference.sample import Sample
from fairpot.inference.verdict import verdict, verdict_of_table

__all__ = [
    "Band",
    "Certificate",
    "Change",
    "Changes",
    "DialEstimates",
    "Evidence",
    "Interval",
    "Overview",
    "PlainGaps",
    "Rates",
    "Sample",
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
    "sample_rows",
    "shortfall",
    "smallest_bound",
    "step_down",
    "verdict",
    "verdict_of_table",
    "walk",
]
