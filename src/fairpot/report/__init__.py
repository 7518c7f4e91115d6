"""The report: pictures and numbers that a committee can read, in one file that opens anywhere."""

from fairpot.report.report import FairnessReport

__all__ = ["FairnessReport"]
