"""A Spark session that works out of the box, Spark's errors in one line, and values and maps in its SQL."""

from __future__ import annotations

import os
import re
import shutil
import socket
import sys
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairpot._arguments import argument
from fairpot._optional import import_optional
from fairpot._validation import wording
from fairpot.exceptions import InputFileError, UnreachableError
from fairpot.transport.pieces import Pieces

_PATIENCE = 10  # seconds until a cluster must have answered
_MASTERS = r"local(\[(\*|[1-9]\d*)(,[1-9]\d*)?\])?|local-cluster\[.+\]|yarn|[a-z][a-z0-9+.-]*://.+"
_RETRIES = 6  # times a call to Spark Connect is tried again, over about a minute


def spark_session(master: str = "local[*]", *, config: Mapping[str, str] | None = None) -> Any:
    """Start a Spark session, or take the one that runs.

    Parameters
    ----------
    master : str, default "local[*]"
        ``"local[N]"``, ``"spark://host:port"``, ``"yarn"``, ..., or ``"sc://host:port"`` for Spark Connect.
    config : mapping of str to str or None, default None
        Further settings, which win over those made here.

    Examples
    --------
    >>> from fairpot.rows import spark_session
    >>> spark = spark_session()  # doctest: +SKIP
    >>> spark.createDataFrame([(0.9, 1, "M"), (0.5, 1, "F")], ["risk", "died", "sex"]).count()  # doctest: +SKIP
    2
    """
    if not re.fullmatch(_MASTERS, master):  # Java would end with pages, and PySpark say that there is none
        raise InputFileError(
            f"{argument('master', master)} does not name a place where Spark runs.\n"
            "Hint: local, local[4], local[*], yarn, spark://host:7077, k8s://https://host:443 or sc://host:15002."
        )
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
        with spark_errors(master), without_advice():
            return _connected(builder, master)
    if master.startswith("spark://"):  # Java would tell in pages that none of them takes a connection
        reasons = [_why_not(place) for place in master.removeprefix("spark://").split(",")]
        if None not in reasons:
            raise _unreachable(master, ", ".join(dict.fromkeys(reason or "" for reason in reasons)))
    builder = builder.master(master)
    for key, value in (settings | dict(config or {})).items():
        builder = builder.config(key, value)
    with spark_errors(master), without_advice():
        session = builder.getOrCreate()
        session.sparkContext.setLogLevel("ERROR")
    return session


def _connected(builder: Any, master: str) -> Any:
    """Connect to a Spark Connect server that was seen to answer; PySpark by itself would wait without an end."""
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")  # it tells standard error what the exception says as well
    grpc = import_optional("grpc", "spark")
    for module in ("grpc_status", "google.rpc", "zstandard"):
        import_optional(module, "spark")
    client = import_optional("pyspark.sql.connect.client", "spark")
    place = client.DefaultChannelBuilder(master)
    with place.toChannel() as channel:
        try:
            grpc.channel_ready_future(channel).result(timeout=_PATIENCE)
        except grpc.FutureTimeoutError:
            raise _unreachable(master, _why_not(place.endpoint) or "what answers there is not Spark Connect") from None
    session = builder.remote(master).getOrCreate()
    retries = import_optional("pyspark.sql.connect.client.retries", "spark")
    session.client.set_retry_policies([retries.DefaultPolicy(max_retries=_RETRIES, max_backoff=20_000)])
    session.version  # noqa: B018  the first call, which tells whether it is Spark that answers
    return session


def _why_not(endpoint: str) -> str | None:
    """Return why ``host:port`` takes no connection; None if it does."""
    host, colon, port = endpoint.rpartition(":")
    if not colon or not port.isdecimal() or not 0 < int(port) < 65536:
        raise InputFileError(f"{endpoint!r} is not a host and a port.\nHint: such as spark://host:7077.")
    try:
        socket.create_connection((host.strip("[]"), int(port)), _PATIENCE).close()
    except TimeoutError:
        return f"no answer within {_PATIENCE} s"
    except (OSError, UnicodeError) as error:
        return str(getattr(error, "strerror", None) or error)
    return None


def _unreachable(master: str, why: str) -> UnreachableError:
    return UnreachableError(
        f"cannot reach Spark at {master}: {why}.\n"
        f"Hint: check that the cluster runs and that this machine may connect to it; {argument('master', 'local[*]')} "
        "needs no cluster."
    )


@contextmanager
def spark_errors(where: str) -> Iterator[None]:
    """Turn Spark's errors into ours."""
    kinds: tuple[type[Exception], ...] = (import_optional("pyspark.errors", "spark").PySparkException,)
    if "py4j.protocol" in sys.modules:
        kinds += (sys.modules["py4j.protocol"].Py4JError,)
    try:
        yield
    except kinds as error:
        raise _explained(error, where) from error


@contextmanager
def without_advice() -> Iterator[None]:
    """Keep to ourselves what PySpark says of the pandas it does not use here, and of how it likes functions written."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
        warnings.filterwarnings("ignore", "It is preferred to specify type hints", UserWarning)
        yield


@contextmanager
def without_javas_log() -> Iterator[None]:
    """Let a Java that starts in here write its log nowhere, for as long as it lives; --debug shows it."""
    if wording.values_are_shown() or sys.stderr is None:
        yield
        return
    sys.stderr.flush()
    kept = os.dup(2)
    with open(os.devnull, "wb") as nowhere:
        os.dup2(nowhere.fileno(), 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)


# The last: Spark gave up looking for its master while the session was being made.
_LOST = ("All masters are unresponsive", "RETRIES_EXCEEDED", "StatusCode.UNAVAILABLE", "on a stopped SparkContext")


def _explained(error: Exception, where: str) -> Exception:
    """Put an error of Spark, which comes with pages of Java, into one line and a hint."""
    text = str(error)
    if type(error).__name__ == "RetriesExceeded" or any(words in text for words in _LOST):
        return _unreachable(where, "the connection was lost, or something else answers there")
    lines = [line.strip() for line in text.splitlines() if line.strip() and not line.strip().startswith("at ")]
    causes = [line.removeprefix("Caused by: ") for line in lines if line.startswith("Caused by: ")]
    first = (causes or lines or [type(error).__name__])[-1 if causes else 0]
    if "spark.driver.maxResultSize" in text:
        first = next(line for line in lines if "spark.driver.maxResultSize" in line)
        hint = "raise spark.driver.maxResultSize, or lower max_distinct so that scores are put into bins"
    elif "OutOfMemory" in text or "heap space" in text:
        hint = "give the driver or the executors more memory, or lower max_distinct"
    elif "JAVA_GATEWAY_EXITED" in text:
        home = os.environ.get("JAVA_HOME")  # where PySpark looks for it
        first, hint = "there is no Java", "install Java 17 or newer, and let JAVA_HOME name its folder"
        if shutil.which("java" if home is None else os.path.join(home, "bin", "java")) is not None:
            first = "Java ended before Spark answered"
            hint = "what it wrote on standard error says why; 17 or newer is needed"
    elif "PATH_NOT_FOUND" in text or "does not exist" in text:
        hint = "every worker must see the path under the same name"
    else:
        hint = "Spark's log has the rest; the command line shows it with --debug"
    return InputFileError(f"Spark could not read {where}: {first[:300]}\nHint: {hint}.")


_ESCAPES = {"\\": "\\\\", "'": "\\'", "\n": "\\n", "\r": "\\r", "\t": "\\t", "$": "\\u0024"}


def spark_text(text: str) -> str:
    """Write a text as a literal; a dollar sign could otherwise begin a variable, and some marks steer who reads it."""
    # What is no printable character goes by its number, where four digits hold it.
    by_number = {c: f"\\u{ord(c):04x}" for c in text if not c.isprintable() and c <= "\uffff"} | _ESCAPES
    return "'" + "".join(by_number.get(c, c) for c in text) + "'"


def array_lookup(score: str, pieces: Pieces) -> str:
    """Write the value of a map at ``score``, itself an expression of finite doubles.

    A CASE tree of a thousand branches breaks Spark's code generation; arrays do not, and are parsed once.
    """
    lo, x0, w, v0, d, vmin, vmax = map(_array, pieces)
    steps = ", ".join(str(1 << k) for k in reversed(range(max(pieces.size - 1, 1).bit_length())))
    # get() gives NULL beyond the end of an array, and IF takes NULL for no.
    place = f"aggregate(array({steps}), 0, (p, k) -> IF(get({lo}, p + k) <= s, p + k, p))"
    line = f"get({v0}, p) + ((s - get({x0}, p)) / get({w}, p)) * get({d}, p)"
    held = f"LEAST(GREATEST({line}, get({vmin}, p)), get({vmax}, p))"
    # A transform of one element is Spark's way to give a value a name.
    inner = f"element_at(transform(array({place}), p -> {held}), 1)"
    return f"element_at(transform(array({score}), s -> {inner}), 1)"


def _array(values: NDArray[np.float64]) -> str:
    return f"cast(split('{','.join(map(repr, values.tolist()))}', ',') AS array<double>)"
