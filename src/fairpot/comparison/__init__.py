"""All methods on the same rows: :func:`compare`."""

from fairpot.comparison.result import Comparison, ComparisonRow
from fairpot.comparison.run import compare

__all__ = ["Comparison", "ComparisonRow", "compare"]
