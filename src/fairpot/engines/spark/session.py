"""A Spark session that works out of the box, its errors in one line, and SparkRows: a frame with its columns' parts."""

from __future__ import annotations

import os
import re
import shutil
import socket
import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import KW_ONLY, dataclass, replace
from functools import cached_property
from typing import Any, Literal, cast

from fairpot._arguments import argument
from fairpot._defaults import Meaning
from fairpot._optional import import_optional
from fairpot.counting import check_meaning, check_weights_word
from fairpot.engines.naming import Kind, find_column
from fairpot.exceptions import InputFileError, UnreachableError

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

    Returns
    -------
    pyspark.sql.SparkSession

    Raises
    ------
    UnreachableError
        If nothing that speaks Spark answers at ``master``; known within seconds, or within minutes where something
        else answers there.

    Examples
    --------
    >>> from fairpot.engines.spark import spark_session
    >>> spark = spark_session()  # doctest: +SKIP
    >>> people = [(0.9, 1, "M"), (0.6, 0, "M"), (0.5, 1, "F"), (0.1, 0, "F")]  # doctest: +SKIP
    >>> frame = spark.createDataFrame(people, ["risk", "died", "sex"])  # doctest: +SKIP
    >>> frame.count()  # doctest: +SKIP
    4
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
    if master.startswith("spark://"):
        _check_masters(master)
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


def _check_masters(master: str) -> None:
    """Raise unless one of the masters of a standalone cluster takes a connection; Java would tell it in pages."""
    places = master.removeprefix("spark://").split(",")
    reasons = [_why_not(place) for place in places]
    if None not in reasons:
        raise _unreachable(master, ", ".join(dict.fromkeys(reason or "" for reason in reasons)))


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
    elif "JAVA_GATEWAY_EXITED" in text and _has_java():
        first, hint = (
            "Java ended before Spark answered",
            "what it wrote on standard error says why; 17 or newer is needed",
        )
    elif "JAVA_GATEWAY_EXITED" in text:
        first, hint = "there is no Java", "install Java 17 or newer, and let JAVA_HOME name its folder"
    elif "PATH_NOT_FOUND" in text or "does not exist" in text:
        hint = "every worker must see the path under the same name"
    else:
        hint = "Spark's log has the rest; the command line shows it with --debug"
    return InputFileError(f"Spark could not read {where}: {first[:300]}\nHint: {hint}.")


def _has_java() -> bool:
    """Look for Java where PySpark does."""
    home = os.environ.get("JAVA_HOME")
    return shutil.which("java" if home is None else os.path.join(home, "bin", "java")) is not None


SparkFormat = Literal["parquet", "orc", "csv", "tsv"]
FORMATS: tuple[SparkFormat, ...] = ("parquet", "orc", "csv", "tsv")


@dataclass(frozen=True)
class SparkRows:
    """Name the rows of a Spark DataFrame, classic or Connect, and the part each column plays.

    Parameters
    ----------
    frame : pyspark.sql.DataFrame
        The rows.
    score : str
        The column with the score.
    label : str or None, default None
        The column with the outcome.
    groups : str or sequence of str, default ()
        The columns with the group; several form intersections.
    weight : str or None, default None
        The column with the weight of a row.
    weights : {"frequency", "importance"} or None, default None
        What a weight means: a number of rows, or how much a row counts. None takes whole numbers for the first and
        others for the second.
    cluster : str or None, default None
        The column with what rows have in common that are not independent.
    lower_is_riskier : bool, default False
        Whether a low score means high risk; scores are then counted with a minus.
    high_score_means : {"help", "harm"} or None, default None
        What a high score does to the person who has it.
    pos_label : default None
        The positive value of a label that is not 0/1 or boolean.
    kind : {"typed", "text"}, default "typed"
        "text" where all columns are texts that may be numbers, as in a CSV file.

    Examples
    --------
    >>> from fairpot.engines.spark import SparkRows, spark_session
    >>> spark = spark_session()  # doctest: +SKIP
    >>> people = [(0.9, 1, "M"), (0.6, 0, "M"), (0.5, 1, "F"), (0.1, 0, "F")]  # doctest: +SKIP
    >>> frame = spark.createDataFrame(people, ["risk", "died", "sex"])  # doctest: +SKIP
    >>> rows = SparkRows(frame, score="risk", label="died", groups="sex")  # doctest: +SKIP
    >>> rows.group_columns  # doctest: +SKIP
    ('sex',)
    """

    frame: Any
    _: KW_ONLY
    score: str
    label: str | None = None
    groups: str | Sequence[str] = ()
    weight: str | None = None
    weights: str | None = None
    cluster: str | None = None
    lower_is_riskier: bool = False
    high_score_means: Meaning | None = None
    pos_label: Any = None
    kind: Kind = "typed"

    def __post_init__(self) -> None:
        groups = (self.groups,) if isinstance(self.groups, str) else tuple(self.groups)
        object.__setattr__(self, "groups", groups)
        if len(set(groups)) < len(groups):
            raise InputFileError(f"the groups name a column twice: {list(groups)}.")
        check_weights_word(self.weights)
        check_meaning(self.high_score_means)
        for name in self.roles.values():
            find_column(name, self.frame.columns, "the frame")

    @classmethod
    def read(
        cls,
        session: Any,
        paths: str | Sequence[str],
        *,
        format: str | None = None,  # noqa: A002
        **roles: Any,
    ) -> SparkRows:
        """Read files with Spark; as with other engines, every field of a CSV file is a text that is looked at whole.

        Parameters
        ----------
        session : pyspark.sql.SparkSession
        paths : str or sequence of str
            Files, folders or patterns that every worker can read.
        format : {"parquet", "orc", "csv", "tsv"} or None, default None
            None takes it from the names.
        **roles
            ``score``, ``label``, ``groups``, ``weight``, ``cluster``, ...
        """
        named = [paths] if isinstance(paths, str) else list(paths)
        found = format_of(named, format)
        if found in ("csv", "tsv"):
            return cls(_loaded(session, named, "csv", inferSchema=False, **csv_options(found)), kind="text", **roles)
        return cls(_loaded(session, named, found), **roles)

    @property
    def group_columns(self) -> tuple[str, ...]:
        """The columns with the group."""
        return cast(tuple[str, ...], self.groups)

    @property
    def roles(self) -> dict[str, str]:
        """The part each column plays: "score", "label", "weight", "group0", ..."""
        named = {"score": self.score, "label": self.label, "weight": self.weight, "cluster": self.cluster}
        named |= {f"group{i}": name for i, name in enumerate(self.group_columns)}
        return {role: name for role, name in named.items() if name is not None}

    @cached_property
    def types(self) -> dict[str, str]:
        """Spark's type of each part."""
        kinds = [field.dataType.simpleString() for field in self.frame.schema.fields]
        return {
            role: kinds[find_column(name, self.frame.columns, "the frame", role)] for role, name in self.roles.items()
        }

    def by_place(self) -> Any:
        """Return the frame with columns c0, c1, ...: no name of a column is ever written into SQL."""
        return self.frame.toDF(*(f"c{i}" for i in range(len(self.frame.columns))))

    def place(self, role: str) -> str:
        """Return what a part's column is called in :meth:`by_place`."""
        return f"c{find_column(self.roles[role], self.frame.columns, 'the frame')}"

    def bare(self) -> SparkRows:
        """Return the same rows without label, weight and cluster."""
        return replace(self, label=None, weight=None, cluster=None)


def _loaded(session: Any, paths: list[str], form: str, **options: Any) -> Any:
    with spark_errors(", ".join(paths[:3])):
        return session.read.options(**options).format(form).load(paths)


def csv_options(form: str) -> dict[str, Any]:
    """Say how text files are written and read: fields as they are, quotes doubled as everybody else does."""
    spaces = {"ignoreLeadingWhiteSpace": False, "ignoreTrailingWhiteSpace": False}
    return {"header": True, "sep": "\t" if form == "tsv" else ",", "escape": '"', **spaces}


def format_of(paths: Sequence[str], given: str | None = None) -> SparkFormat:
    """Tell the format of files by their names, unless it is given."""
    if given is not None:
        found = {given}
    else:
        endings = {".parquet": "parquet", ".pq": "parquet", ".orc": "orc", ".csv": "csv", ".tsv": "tsv", ".tab": "tsv"}
        plain = [path.rstrip("/").removesuffix(".gz").lower() for path in paths]
        found = {next((f for ending, f in endings.items() if path.endswith(ending)), "") for path in plain}
    if len(found) != 1 or not found <= set(FORMATS):
        raise InputFileError(
            f"Spark reads files of one of the formats {', '.join(FORMATS)}, got {', '.join(map(str, paths))}.\n"
            f"Hint: name the format ({argument('format', ...)}) where names do not say it, or leave others to DuckDB."
        )
    return cast(SparkFormat, found.pop())
