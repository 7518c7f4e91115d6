"""Every number with its uncertainty: intervals, verdicts, changes, certificates, and how many rows it takes."""

from typing import TYPE_CHECKING

from fairpot._lazy import lazy

if TYPE_CHECKING:
    from fairpot.inference.certify import Certificate as Certificate
    from fairpot.inference.change import Change as Change
    from fairpot.inference.change import Changes as Changes
    from fairpot.inference.change import change_by_maps as change_by_maps
    from fairpot.inference.change import change_of_scores as change_of_scores
    from fairpot.inference.dial import Band as Band
    from fairpot.inference.interval import confidence_interval as confidence_interval
    from fairpot.inference.interval import verdict as verdict
    from fairpot.inference.limits import Estimate as Estimate
    from fairpot.inference.limits import Verdict as Verdict
    from fairpot.inference.rates import Rates as Rates
    from fairpot.inference.rates import rates_at as rates_at
    from fairpot.inference.sample_size import SamplePlan as SamplePlan
    from fairpot.inference.sample_size import plan_sample_size as plan_sample_size

__getattr__, __dir__, __all__ = lazy(
    __name__,
    certify="Certificate",
    change="Change Changes change_by_maps change_of_scores",
    dial="Band",
    interval="confidence_interval verdict",
    limits="Estimate Verdict",
    rates="Rates rates_at",
    sample_size="SamplePlan plan_sample_size",
)
