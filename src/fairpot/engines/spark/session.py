"""A Spark session that works out of the box, and Spark's errors in one line and a hint."""

from __future__ import annotations

import os
import re
import sys
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from fairpot._optional import import_optional
from fairpot.exceptions import InputFileError


def spark_session(master: str = "local[*]", *, config: Mapping[str, str] | None = None) -> Any:
    """Start a Spark session, or take the one that runs.

    Parameters
    ----------
    master : str, default "local[*]"
        ``"local[N]"``, ``"spark://host:port"``, ``"yarn"``, ..., or ``"sc://host:port"`` for Spark Connect.
    config : mapping of str to str or None, default None
        Further settings, which win over those made here.

    Returns
    -------
    pyspark.sql.SparkSession
    """
    with without_advice():
        sql = import_optional("pyspark.sql", "spark")
    # Workers would take any python3 they find, which may lack PyArrow.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    settings = {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false"}
    if re.match(r"local\b|spark://(127\.|localhost)", master):
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
        settings |= {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
    builder = sql.SparkSession.builder.appName("fairpot")
    if master.startswith("sc://"):
        return builder.remote(master).getOrCreate()
    builder = builder.master(master)
    for key, value in (settings | dict(config or {})).items():
        builder = builder.config(key, value)
    with spark_errors(master), without_advice():
        session = builder.getOrCreate()
        session.sparkContext.setLogLevel("ERROR")
    return session


@contextmanager
def spark_errors(where: str) -> Iterator[None]:
    """Turn Spark's errors into ours."""
    failures = _failures()
    try:
        yield
    except failures as error:
        raise _explained(error, where) from error


@contextmanager
def without_advice() -> Iterator[None]:
    """Keep to ourselves what PySpark says of the pandas it does not use here, and of how it likes functions written."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
        warnings.filterwarnings("ignore", "It is preferred to specify type hints", UserWarning)
        yield


def _failures() -> tuple[type[Exception], ...]:
    errors = import_optional("pyspark.errors", "spark")
    kinds: list[type[Exception]] = [errors.PySparkException]
    if "py4j.protocol" in sys.modules:
        kinds.append(sys.modules["py4j.protocol"].Py4JError)
    return tuple(kinds)


def _explained(error: Exception, where: str) -> InputFileError:
    """Put an error of Spark, which comes with pages of Java, into one line and a hint."""
    text = str(error)
    lines = [line.strip() for line in text.splitlines() if line.strip() and not line.strip().startswith("at ")]
    causes = [line.removeprefix("Caused by: ") for line in lines if line.startswith("Caused by: ")]
    first = (causes or lines or [type(error).__name__])[-1 if causes else 0]
    if "spark.driver.maxResultSize" in text:
        first = next(line for line in lines if "spark.driver.maxResultSize" in line)
        hint = "raise spark.driver.maxResultSize, or lower max_distinct so that scores are put into bins"
    elif "OutOfMemory" in text or "heap space" in text:
        hint = "give the driver or the executors more memory, or lower max_distinct"
    elif "PATH_NOT_FOUND" in text or "does not exist" in text:
        hint = "every worker must see the path under the same name"
    else:
        hint = "Spark's log has the rest"
    return InputFileError(f"Spark could not read {where}: {first[:300]}\nHint: {hint}.")
