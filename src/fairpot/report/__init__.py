"""The report: pictures and numbers that a committee can read, in one file that opens anywhere."""

from fairpot._arguments import leading_to
from fairpot.report.report import FairnessReport
from fairpot.report.selection import SelectionReport

__all__ = ["FairnessReport", "SelectionReport"]

leading_to(__name__, "fairpot.FairnessReport.from_predictions(y_true, y_score, sensitive_features=...).save(path)")
