"""All methods on the same rows: :func:`compare`."""

from fairpot.comparison.result import Comparison, Rival
from fairpot.comparison.run import compare
from fairpot.comparison.trial import Chosen

__all__ = ["Chosen", "Comparison", "Rival", "compare"]
