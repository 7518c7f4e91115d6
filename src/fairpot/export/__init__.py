"""Fitted maps for places without Python or fairpot: SQL, ONNX, plain functions, one row at a time."""

from fairpot.export.functions import RowScorer, to_javascript, to_python
from fairpot.export.onnx import to_onnx
from fairpot.export.simplify import SimplifiedMaps, simplify
from fairpot.export.sql import to_sql

__all__ = ["RowScorer", "SimplifiedMaps", "simplify", "to_javascript", "to_onnx", "to_python", "to_sql"]
