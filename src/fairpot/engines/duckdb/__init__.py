"""DuckDB: counts files and queries of any size on one machine, within a memory limit."""

from fairpot.engines.duckdb.engine import DuckDBEngine
from fairpot.engines.duckdb.scan import DuckDBRows, Relation

__all__ = ["DuckDBEngine", "DuckDBRows", "Relation"]
