"""Fitted maps for places without Python or fairpot: SQL, ONNX, plain functions, one row at a time."""

from fairpot.export.functions import to_javascript, to_python
from fairpot.export.row import RowScorer
from fairpot.export.sql import to_sql

__all__ = ["RowScorer", "to_javascript", "to_python", "to_sql"]
