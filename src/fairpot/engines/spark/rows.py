"""SparkRows: a Spark DataFrame with the parts its columns play."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, replace
from functools import cached_property
from typing import Any, Literal, cast

from fairpot._arguments import argument
from fairpot.engines.columns import find_column
from fairpot.engines.spark.session import spark_errors
from fairpot.engines.values import Kind
from fairpot.exceptions import InputFileError

SparkFormat = Literal["parquet", "orc", "csv", "tsv"]
FORMATS: tuple[SparkFormat, ...] = ("parquet", "orc", "csv", "tsv")


@dataclass(frozen=True)
class SparkRows:
    """Rows of a Spark DataFrame, classic or Connect.

    Parameters
    ----------
    frame : pyspark.sql.DataFrame
    score : str
        The column with the score.
    label : str or None, default None
        The column with the outcome.
    groups : str or sequence of str, default ()
        The columns with the group; several form intersections.
    weight : str or None, default None
        The column with the weight of a row.
    kind : {"typed", "text"}, default "typed"
        "text" where all columns are texts that may be numbers, as in a CSV file.
    """

    frame: Any
    _: KW_ONLY
    score: str
    label: str | None = None
    groups: str | Sequence[str] = ()
    weight: str | None = None
    kind: Kind = "typed"

    def __post_init__(self) -> None:
        groups = (self.groups,) if isinstance(self.groups, str) else tuple(self.groups)
        object.__setattr__(self, "groups", groups)
        if len(set(groups)) < len(groups):
            raise InputFileError(f"the groups name a column twice: {list(groups)}.")
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
            ``score``, ``label``, ``groups`` and ``weight``.
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
        named = {"score": self.score, "label": self.label, "weight": self.weight}
        named |= {f"group{i}": name for i, name in enumerate(self.group_columns)}
        return {role: name for role, name in named.items() if name is not None}

    @cached_property
    def types(self) -> dict[str, str]:
        """Spark's type of each part."""
        kinds = [field.dataType.simpleString() for field in self.frame.schema.fields]
        return {role: kinds[find_column(name, self.frame.columns, "the frame")] for role, name in self.roles.items()}

    def by_place(self) -> Any:
        """Return the frame with columns c0, c1, ...: no name of a column is ever written into SQL."""
        return self.frame.toDF(*(f"c{i}" for i in range(len(self.frame.columns))))

    def place(self, role: str) -> str:
        """Return what a part's column is called in :meth:`by_place`."""
        return f"c{find_column(self.roles[role], self.frame.columns, 'the frame')}"

    def bare(self) -> SparkRows:
        """Return the same rows without label and weight."""
        return replace(self, label=None, weight=None)


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
