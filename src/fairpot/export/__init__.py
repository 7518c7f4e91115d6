"""Fitted maps for places without Python or fairpot: SQL, ONNX, plain functions, one row at a time."""

from fairpot.export.sql import to_sql

__all__ = ["to_sql"]
