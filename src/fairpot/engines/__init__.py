"""Engines that count rows where they are: a small protocol, and DuckDB as its first implementation."""

from fairpot.engines.duckdb import DuckDBEngine
from fairpot.engines.protocol import CountedRows, Engine

__all__ = ["CountedRows", "DuckDBEngine", "Engine"]
