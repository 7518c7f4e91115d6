"""Rows in files and databases: counted into a score table, and adjusted file to file."""

from fairpot.engines.apply import AppliedRows, apply_maps
from fairpot.engines.duckdb import CountedRows, score_table
from fairpot.engines.source import RowSource
from fairpot.engines.thresholds import score_thresholds

__all__ = ["AppliedRows", "CountedRows", "RowSource", "apply_maps", "score_table", "score_thresholds"]
