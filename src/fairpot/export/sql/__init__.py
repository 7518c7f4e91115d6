"""A map as SQL: one CASE expression, arrays, or a table of pieces and a join."""

from fairpot.export.sql.write import to_sql

__all__ = ["to_sql"]
