"""Rows in a Spark cluster: counted into a score table, and adjusted where they are."""

from fairpot.engines.spark.engine import SparkEngine
from fairpot.engines.spark.session import SparkRows, spark_session

__all__ = ["SparkEngine", "SparkRows", "spark_session"]
