"""Every number with its uncertainty: intervals, verdicts, changes, certificates, and how many rows it takes."""

from typing import TYPE_CHECKING

from fairpot._lazy import lazy

if TYPE_CHECKING:
    from fairpot.inference.certificate import Certificate as Certificate
    from fairpot.inference.change import Change as Change
    from fairpot.inference.change import Changes as Changes
    from fairpot.inference.dial import Band as Band
    from fairpot.inference.interval import confidence_interval as confidence_interval
    from fairpot.inference.interval import verdict as verdict
    from fairpot.inference.limits import Estimate as Estimate
    from fairpot.inference.limits import Verdict as Verdict
    from fairpot.inference.sample_size import SamplePlan as SamplePlan
    from fairpot.inference.sample_size import plan_sample_size as plan_sample_size

__getattr__, __dir__, __all__ = lazy(
    __name__,
    certificate="Certificate",
    change="Change Changes",
    dial="Band",
    interval="confidence_interval verdict",
    limits="Estimate Verdict",
    sample_size="SamplePlan plan_sample_size",
)
