"""Files: rows counted into a score table, and scores adjusted file to file."""

from fairpot.engines.protocol import CountedRows
from fairpot.files.adjusting import AppliedRows, apply
from fairpot.files.counting import count_rows, score_thresholds
from fairpot.files.source import RowSource

__all__ = ["AppliedRows", "CountedRows", "RowSource", "apply", "count_rows", "score_thresholds"]
