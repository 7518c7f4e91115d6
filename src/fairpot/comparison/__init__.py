"""All methods on the same rows: :func:`compare`."""

from fairpot.comparison.result import Answer, Comparison, Possible, Rival, Skipped
from fairpot.comparison.run import compare
from fairpot.comparison.trial import Chosen

__all__ = ["Answer", "Chosen", "Comparison", "Possible", "Rival", "Skipped", "compare"]
