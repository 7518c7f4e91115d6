"""SparkEngine: the engine for rows in a cluster."""

from __future__ import annotations

import os
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from fairpot._arguments import argument
from fairpot._defaults import ADJUSTED, UNMAPPED, Region, Unmapped
from fairpot._validation import check_choice, check_share
from fairpot.engines.protocol import MOST_DISTINCT, CountedRows, Progress
from fairpot.engines.spark.applying import REFUSED, Adjusted, adjusted
from fairpot.engines.spark.counting import Parts, count, refined_thresholds
from fairpot.engines.spark.session import SparkRows, csv_options, format_of, spark_errors
from fairpot.exceptions import InputFileError, OutputFileError
from fairpot.transport import ScoreMap


class WrittenRows(NamedTuple):
    """How many rows were written, and how many of them had a group without a map or none."""

    rows: int
    unknown: int = 0
    missing: int = 0


@dataclass(frozen=True)
class SparkEngine:
    """Count and adjust the rows of a Spark DataFrame on its cluster; only the counts reach the driver.

    Examples
    --------
    >>> from fairpot import FairPOT
    >>> from fairpot.engines.spark import SparkEngine, SparkRows, spark_session
    >>> spark = spark_session()  # doctest: +SKIP
    >>> people = [(0.9, 1, "M"), (0.6, 0, "M"), (0.5, 1, "F"), (0.1, 0, "F")]  # doctest: +SKIP
    >>> frame = spark.createDataFrame(people, ["risk", "died", "sex"])  # doctest: +SKIP
    >>> rows = SparkRows(frame, score="risk", label="died", groups="sex")  # doctest: +SKIP
    >>> table = SparkEngine().count(rows).table  # doctest: +SKIP
    >>> repair = FairPOT(lam=1.0, reference="M").fit(table)  # doctest: +SKIP
    >>> adjusted = SparkEngine().apply(rows, repair.maps_)  # doctest: +SKIP
    >>> sorted(row["risk_adjusted"] for row in adjusted.collect())  # doctest: +SKIP
    [0.6, 0.6, 0.9, 0.9]
    """

    def count(
        self,
        rows: SparkRows,
        *,
        several: bool = True,
        max_distinct: int = MOST_DISTINCT,
        progress: Progress | None = None,
        drop_missing: bool = False,
    ) -> CountedRows:
        """Count rows into a score table; see :class:`fairpot.engines.Engine`."""
        return count(Parts(rows, drop_missing), several, max_distinct, progress)

    def thresholds(
        self, rows: SparkRows, alpha: float, *, region: Region = "pooled", counted: CountedRows | None = None
    ) -> dict[Hashable, float]:
        """Find the lowest score of each group's top-alpha region; see :class:`fairpot.engines.Engine`."""
        check_share(alpha, "alpha", zero=False)
        bare = rows.bare()
        if counted is None:
            counted = self.count(bare, several=False)
        found = counted.table.thresholds(alpha, region)
        if counted.quantisation is None:
            return found
        return refined_thresholds(Parts(bare), counted.table, found, alpha, region)

    def apply(
        self,
        rows: SparkRows,
        maps: Mapping[Hashable, ScoreMap],
        *,
        column: str | None = None,
        unknown_group: Unmapped = "error",
        missing_group: Unmapped = "error",
    ) -> Any:
        """Return the frame with the adjusted score as one column more; its rows are computed when it is used.

        The groups are looked at once before, so that one without a map is an error here. A score that cannot be
        mapped stops the job that meets it; :meth:`write` says how many there are. ``unknown_group`` and
        ``missing_group`` are those of :func:`fairpot.apply`.
        """
        ways = {"unknown_group": unknown_group, "missing_group": missing_group}
        return self._adjusted(rows, maps, column, ways).frame

    def _adjusted(
        self,
        rows: SparkRows,
        maps: Mapping[Hashable, ScoreMap],
        column: str | None,
        ways: dict[str, Unmapped],
        judge: Any = None,
    ) -> Adjusted:
        for name, way in ways.items():
            check_choice(way, name, UNMAPPED)
        return adjusted(_as_they_are(rows), maps, column or f"{rows.score}{ADJUSTED}", judge=judge, **ways)

    def write(
        self,
        rows: SparkRows,
        maps: Mapping[Hashable, ScoreMap],
        output: str,
        *,
        column: str | None = None,
        format: str | None = None,  # noqa: A002
        overwrite: bool = False,
        unknown_group: Unmapped = "error",
        missing_group: Unmapped = "error",
        judge: Any = None,
    ) -> WrittenRows:
        """Write the rows with their adjusted score to a folder of files, as Spark does; return how many there are.

        Parameters
        ----------
        rows : SparkRows
        maps : mapping of group to ScoreMap
        output : str
            A folder that all workers can write to; Spark marks it complete with a file ``_SUCCESS``.
        column : str or None, default None
            Name of the new column; None adds "_adjusted" to that of the score.
        format : {"parquet", "orc", "csv", "tsv"} or None, default None
            None takes it from the name of the output.
        overwrite : bool, default False
            Whether a folder that is there is replaced; never one the rows are read from.
        unknown_group, missing_group : {"error", "keep", "null"}, default "error"
            What becomes of rows whose group has no map, and of rows without one.
        judge : fairpot.files.adjusting.Judge or None, default None
            Looks at the scale of the scores before anything is written.
        """
        found = format_of([output], format)
        check_folder(output, rows.frame.inputFiles(), overwrite)
        ways = {"unknown_group": unknown_group, "missing_group": missing_group}
        made = self._adjusted(rows, maps, column, ways, judge)
        writer = made.frame.write.mode("overwrite" if overwrite else "errorifexists")
        try:
            with spark_errors("or write the rows"):
                if found in ("csv", "tsv"):
                    writer.options(**csv_options(found)).csv(output)
                else:
                    writer.format(found).save(output)
        except InputFileError as error:
            if REFUSED in str(error.__cause__):
                _as_they_are(rows).check_numbers()
            if "PATH_ALREADY_EXISTS" in str(error.__cause__):
                raise _there_already(output) from error
            raise
        return WrittenRows(int(rows.frame.count()), made.unknown, made.missing)


def _as_they_are(rows: SparkRows) -> Parts:
    """Return the parts that maps need, scores without a minus: maps are of scores as the rows hold them."""
    return Parts(replace(rows.bare(), lower_is_riskier=False))


def check_folder(output: str, inputs: Sequence[str], overwrite: bool) -> None:
    """Refuse, before any work, a folder that is there already, that holds the input, or that lies in it."""
    place, files = os.path.realpath(_plain(output)), [os.path.realpath(_plain(path)) for path in inputs]
    if any(path == place or path.startswith(f"{place}/") for path in files):
        raise OutputFileError(f"{output} holds the input.\nHint: name another folder for the output.")
    if any(place.startswith(f"{folder}/") for folder in {_folder_of(path) for path in files} - {""}):
        raise OutputFileError(
            f"{output} lies in the folder of the input, which would be read with everyone in it twice.\n"
            "Hint: name an output in another folder, outside the input."
        )
    if os.path.exists(place) and not overwrite:
        raise _there_already(output)


def _plain(path: str) -> str:
    return path.removeprefix("file://").removeprefix("file:")


def _folder_of(path: str) -> str:
    """Return the folder of a file that is a part of one, as Spark writes them and Hive partitions; "" for a file."""
    folder, name = os.path.split(path)
    if not name.startswith("part-"):
        return ""
    while "=" in os.path.basename(folder):
        folder = os.path.dirname(folder)
    return folder


def _there_already(output: str) -> OutputFileError:
    return OutputFileError(f"{output} already exists.\nHint: name another, or {argument('overwrite', True)}.")
