"""All methods on the same rows: :func:`compare`."""

from fairpot.comparison.answer import Answer, Possible, Rival, Skipped
from fairpot.comparison.result import Comparison
from fairpot.comparison.run import compare
from fairpot.comparison.trial import Chosen

__all__ = ["Answer", "Chosen", "Comparison", "Possible", "Rival", "Skipped", "compare"]
