"""SparkReader: rows in a cluster, counted and adjusted where they are; only the counts reach the driver."""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

from fairpot._arguments import argument
from fairpot._optional import Lazy
from fairpot._validation import wording
from fairpot._validation.wording import LARGEST
from fairpot.exceptions import InputFileError, OutputFileError
from fairpot.rows.decoding import MISSING_WORDS
from fairpot.rows.output import there_already
from fairpot.rows.readers import AppliedRows, Applying, CountedRows, Counting, Progress, query
from fairpot.rows.readers.grouped import SUMS, BinCounter, GroupPlaces
from fairpot.rows.readers.session import spark_errors, spark_session, spark_text, without_advice, without_javas_log
from fairpot.rows.roles import NUMBERS, Kind, Roles, find_column
from fairpot.rows.source import Paths, files_inside, listed
from fairpot.transport import ScoreMap, parted
from fairpot.transport.pieces import Formula, Pieces, formula_of, pieces

functions = Lazy("pyspark.sql.functions", "spark")
FORMATS = ("parquet", "orc", "csv", "tsv")
_ENDINGS = {".parquet": "parquet", ".pq": "parquet", ".orc": "orc", ".csv": "csv", ".tsv": "tsv", ".tab": "tsv"}
_NUMBER = r"[+-]?(([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?|(?i:inf|infinity))"
_COUNTING = ("memory_limit", "max_distinct", "progress")
REFUSED = "fairpot: a score is missing, infinite or too large, or a group is new"


@dataclass(frozen=True, eq=False)
class SparkRows(Roles):
    """Name the rows of a Spark DataFrame, classic or Connect, and the part each column plays.

    Parameters
    ----------
    frame : pyspark.sql.DataFrame
        The rows.
    score, label, groups, weight, weights, cluster, lower_is_riskier, high_score_means, pos_label, grouping
        The columns and what they mean, see :class:`fairpot.rows.RowSource`.
    time, event, horizon, competing, leaving
        Refused here: outcomes after a time need every row in memory.
    kind : {"typed", "text"}, default "typed"
        "text" where all columns are texts that may be numbers, as in a CSV file.

    Examples
    --------
    >>> import fairpot
    >>> from fairpot.rows import SparkRows, spark_session
    >>> people = [(0.9, 1, "M"), (0.6, 0, "M"), (0.5, 1, "F"), (0.1, 0, "F")]
    >>> frame = spark_session().createDataFrame(people, ["risk", "died", "sex"])  # doctest: +SKIP
    >>> rows = SparkRows(frame, score="risk", label="died", groups="sex")  # doctest: +SKIP
    >>> repair = fairpot.FairPOT(lam=1.0, reference="M").fit(fairpot.score_table(rows))  # doctest: +SKIP
    >>> sorted(row["risk_adjusted"] for row in fairpot.apply(repair, rows).collect())  # doctest: +SKIP
    [0.6, 0.6, 0.9, 0.9]
    """

    frame: Any
    _: KW_ONLY
    kind: Kind = "typed"

    reader: ClassVar[str] = "spark"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.time is not None:
            told = "outcomes after a time need every row in memory, and rows on a cluster stay there."
            raise TypeError(f"{told}\nHint: write the rows to Parquet and count that, or count frame.toPandas().")
        for name in self.roles.values():
            find_column(name, self.frame.columns, "the frame")

    @classmethod
    def read(cls, session: Any, paths: Paths, *, format: str | None = None, **roles: Any) -> SparkRows:  # noqa: A002
        """Read files, folders or patterns that every worker can read: Parquet, ORC, CSV or TSV, by their names."""
        named = [os.fspath(path) for path in listed(paths)]
        form, options = spark_format(format_of(named, format))
        with spark_errors(", ".join(named[:3])):
            frame = session.read.options(**options).format(form).load(named)
        return cls(frame, kind="text" if form == "csv" else "typed", **roles)

    @cached_property
    def types(self) -> dict[str, str]:
        """Spark's type of each part, as it comes out of :meth:`parts`."""
        fields = self.frame.schema.fields
        found = {role: fields[self.place(role)].dataType.simpleString().upper() for role in self.roles}
        return found if self.kind == "typed" else found | {role: "DOUBLE" for role in found if role in NUMBERS}

    def place(self, role: str) -> int:
        """Return the place of a part's column."""
        return find_column(self.roles[role], self.frame.columns, "the frame", role)

    def by_place(self) -> Any:
        """Return the frame with columns c0, c1, ...: no name of a column is ever written into SQL."""
        return self.frame.toDF(*(f"c{i}" for i in range(len(self.frame.columns))))

    def part(self, role: str) -> str:
        """Write a part; a number in text becomes a double: NULL where missing, NaN where it is no number."""
        column = f"c{self.place(role)}"
        if self.kind == "typed" or role not in NUMBERS:
            return column
        words = ", ".join(map(spark_text, MISSING_WORDS))
        known = f"WHEN trim({column}) RLIKE {spark_text(f'^{_NUMBER}$')} THEN CAST(trim({column}) AS DOUBLE)"
        missing = f"WHEN {column} IS NULL OR trim({column}) IN ({words}) THEN CAST(NULL AS DOUBLE)"
        return f"CASE {missing} {known} ELSE double('NaN') END"

    def parts(self) -> Any:
        """Return a frame with one column for each part."""
        return self.by_place().selectExpr(*(f"{self.part(role)} AS {role}" for role in self.roles))


def spark_format(form: str) -> tuple[str, dict[str, Any]]:
    """Return Spark's name of a format and its options: fields of text as they are, quotes doubled as elsewhere."""
    if form not in ("csv", "tsv"):
        return form, {}
    spaces = {"ignoreLeadingWhiteSpace": False, "ignoreTrailingWhiteSpace": False}
    return "csv", {"header": True, "sep": "\t" if form == "tsv" else ",", "escape": '"', **spaces}


def format_of(paths: Sequence[str], given: str | None = None) -> str:
    """Tell the format of files by their names, unless it is given."""
    plain = [path.rstrip("/").removesuffix(".gz").lower() for path in paths]
    found = {given or next((f for ending, f in _ENDINGS.items() if path.endswith(ending)), "") for path in plain}
    if len(found) != 1 or not found <= set(FORMATS):
        raise InputFileError(
            f"Spark reads {', '.join(FORMATS)} files, all of one format, got {', '.join(paths)}.\n"
            f"Hint: name the format ({argument('format', ...)}) if the names do not say it, or read them without Spark."
        )
    return found.pop()


class SparkScan(query.Scan):
    """The rows of a frame, asked in SQL on its cluster."""

    def __init__(self, rows: SparkRows) -> None:
        self.source, self.frame = rows, rows.parts()

    @property
    def types(self) -> dict[str, str]:
        """Spark's type of each part."""
        return self.source.types

    def batches(self, select: str, progress: Progress | None = None) -> Iterator[Any]:
        """Run ``select``, whose ``{rows}`` is the frame, and yield Arrow record batches."""
        yield from self._fetched(self._asked(select))

    def drawn(self, select: str, share: float) -> Iterator[Any]:
        """Yield about a share of the rows, the same from the same partitions."""
        asked = self._asked(select)
        yield from self._fetched(asked if share >= 1 else asked.sample(fraction=share, seed=1))

    def binned(self, select: str, counter: BinCounter, progress: Progress | None) -> Iterator[Any]:
        """Count in bins on the workers, and add up what they found."""
        asked = self._asked(select)
        keys = [name for name in asked.columns if name not in NUMBERS]
        types = ", ".join([f"{key} {self.types[key]}" for key in keys])
        bins = "bin BIGINT, mass DOUBLE, squares DOUBLE, rows DOUBLE, low DOUBLE, high DOUBLE"
        with without_advice():
            partial = asked.mapInArrow(counter, ", ".join(filter(None, [types, bins])))
        sums = (f"sum({name}) AS {name}" for name in SUMS)
        wanted = map(functions.expr, [*sums, "min(low) AS low", "max(high) AS high"])
        yield from self._fetched(partial.groupBy(*keys, "bin").agg(*wanted))

    def most_rows(self) -> int:
        """Count the rows, once."""
        return self._rows

    @cached_property
    def _rows(self) -> int:
        with spark_errors("the rows"):
            return int(self.source.frame.count())

    def fits(self, select: str, most: int) -> bool:
        """Whether the answer to a query, which comes to the driver whole, has so few rows."""
        with spark_errors("the rows"):
            return self._rows <= most or int(self._asked(select).count()) <= most

    def _asked(self, select: str) -> Any:
        with spark_errors("the rows"):
            return self.frame.sparkSession.sql(select, rows=self.frame)

    def _fetched(self, frame: Any) -> Iterator[Any]:
        """Bring a frame to the driver."""
        with spark_errors("the rows"):
            found = frame.toArrow()
        yield from found.to_batches()


class SparkReader:
    """Count and adjust the rows of a Spark DataFrame on its cluster."""

    where: ClassVar[str] = "on a cluster"
    options: ClassVar[tuple[str, ...]] = ("format", "master", *_COUNTING)
    writes_folders: ClassVar[bool] = True

    def open(self, rows: Any, parts: Mapping[str, Any], options: Mapping[str, Any]) -> SparkRows:
        """Name the columns of a frame; or of files that all workers can open, for which a session starts."""
        if hasattr(rows, "sparkSession"):
            return SparkRows(rows, **parts)
        paths = listed(rows)
        if not paths or "-" in paths:
            raise InputFileError("Spark needs the names of files that all workers can read.\nHint: name files.")
        for path in paths:  # Spark would follow links
            if os.path.isdir(path):
                files_inside(Path(path), any_name=True)
        with without_javas_log():
            session = spark_session(options.get("master") or "local[*]")
        return SparkRows.read(session, paths, format=options.get("format"), **parts)

    def count(self, rows: SparkRows, how: Counting) -> CountedRows:
        """Count rows into a score table."""
        return query.count(SparkScan(rows), how)

    def apply(self, rows: SparkRows, maps: Mapping[Hashable, ScoreMap], how: Applying) -> Any:
        """Write the rows with their adjusted score to a folder, as Spark does; or return them, computed when used.

        A group without a map is an error here, a score that cannot be mapped in the job that meets it.
        """
        known = ("column", "replace", "unknown_group", "missing_group", "overwrite", "output_format")
        how.refuse_others(known, "rows on a cluster are written")
        column = how.new_column(rows, rows.frame.columns, "the frame")
        rows = rows.bare().but(lower_is_riskier=False)  # maps are of scores as they are
        if how.output is not None:
            check_folder(str(how.output), rows.frame.inputFiles(), how.overwrite)
        place, total, places = _place_of_group(SparkScan(rows), maps, how)
        frame = _adjusted(rows, maps, column, place, how)
        if how.output is None:
            return frame
        _write(rows, frame, str(how.output), how)
        return AppliedRows(total, None, column, unknown=places.rows_at(-1), missing=places.rows_at(-2))


def _place_of_group(scan: SparkScan, maps: Mapping[Hashable, ScoreMap], how: Applying) -> tuple[str, int, GroupPlaces]:
    """Write an expression for the number of a row's map; judge the scale of scores. Count the rows, and by place."""
    rows, asked = scan.source, query.Query(scan)
    keys, (low, high) = asked.keys, how.far
    usable = f"CASE WHEN score > -{LARGEST!r}D AND score < {LARGEST!r}D THEN score END AS score"
    outside = f"count(*) FILTER (WHERE score < double('{low!r}') OR score > double('{high!r}')) AS outside"
    wanted = ", ".join([*keys, "count(*) AS n", "min(score) AS low", "max(score) AS high", outside])
    text = f"SELECT {wanted} FROM (SELECT {', '.join([*keys, usable])} FROM ({asked.plain()})) GROUP BY ALL"
    found = list(scan.batches(text))
    counts = [each for batch in found for each in batch.to_pylist()]
    total = sum(each["n"] for each in counts)
    if total == 0:
        raise ValueError(wording.empty(f"column {rows.score!r}"))
    places = GroupPlaces(rows, list(maps), how)
    arms = []
    for batch in found:
        columns = [batch.column(key) for key in keys]
        codes = places(columns, batch.num_rows, batch.column("n").to_numpy())
        for code, values in zip(codes.tolist(), zip(*(column.to_pylist() for column in columns))):
            same = (f"{rows.part(k)} <=> {_literal(v, rows.types[k])}" for k, v in zip(keys, values))
            arms.append(f"WHEN {' AND '.join(same)} THEN {code}")
    problems = list(places.problems())
    if problems:
        raise wording.together(problems)
    ends = [(each["low"], each["high"]) for each in counts if each["low"] is not None]
    if how.judge is not None and ends:
        lowest, highest = min(low for low, _ in ends), max(high for _, high in ends)
        how.judge(lowest, highest, sum(each["outside"] for each in counts), total)
    return f"CASE {' '.join(arms)} END", total, places


def _adjusted(rows: SparkRows, maps: Mapping[Hashable, ScoreMap], column: str, place: str, how: Applying) -> Any:
    """Return the frame with the adjusted score as a column more, in place of one of that name if there is one."""
    own, after = parted(maps)
    formulas = [formula_of(each) for each in own.values()]
    then = None if after is None else pieces(after)
    names = list(rows.frame.columns)
    kept = [f"c{i}" for i in range(len(names))]
    frame = rows.by_place().selectExpr("*", f"{rows.part('score')} AS score")
    number = query.Query(SparkScan(rows)).number("score")
    frame = frame.selectExpr(*kept, f"{number} AS score", f"{place} AS place")
    usable = f"score > -{LARGEST!r}D AND score < {LARGEST!r}D"
    refused = f"CAST(raise_error({spark_text(REFUSED)}) AS DOUBLE)"
    value = {"error": refused, "keep": "score", "null": "CAST(NULL AS DOUBLE)"}
    through = f"WHEN -1 THEN {value[how.unknown_group]} WHEN -2 THEN {value[how.missing_group]} ELSE {refused}"
    with without_advice():
        udf = functions.arrow_udf(_batch_mapper(formulas, then), "double", functions.ArrowUDFType.SCALAR)
    frame = frame.withColumn("new", udf(frame["score"], frame["place"]))
    new = f"CASE WHEN {usable} AND place >= 0 THEN new WHEN {usable} THEN CASE place {through} END ELSE {refused} END"
    at = names.index(column) if column in names else len(names)
    kept[at : at + 1], names[at : at + 1] = [f"{new} AS new"], [column]
    return frame.selectExpr(*kept).toDF(*names)


def _write(rows: SparkRows, frame: Any, output: str, how: Applying) -> None:
    form, options = spark_format(format_of([output], how.output_format))
    writer = frame.write.mode("overwrite" if how.overwrite else "errorifexists")
    try:
        with spark_errors("or write the rows"):
            writer.format(form).options(**options).save(output)
    except InputFileError as error:
        if REFUSED in str(error.__cause__):
            query.check_numbers(query.Query(SparkScan(rows)))
        if "PATH_ALREADY_EXISTS" in str(error.__cause__):
            raise there_already(output) from error
        raise


def check_folder(output: str, inputs: Sequence[str], overwrite: bool) -> None:
    """Refuse, before any work, a folder that is there already, that holds the input, or that lies in it."""
    place, *files = (os.path.realpath(path.removeprefix("file://").removeprefix("file:")) for path in (output, *inputs))
    if any(path == place or path.startswith(f"{place}/") for path in files):
        raise OutputFileError(f"{output} holds the input.\nHint: name another folder for the output.")
    if any(place.startswith(f"{folder}/") for folder in {_folder_of(path) for path in files} - {""}):
        raise OutputFileError(
            f"{output} lies in the folder of the input, which would be read with everyone in it twice.\n"
            "Hint: name an output in another folder, outside the input."
        )
    if os.path.exists(place) and not overwrite:
        raise there_already(output)


def _folder_of(path: str) -> str:
    """Return the folder of a file that is a part of one, as Spark writes them and Hive partitions; "" for a file."""
    folder, name = os.path.split(path)
    if not name.startswith("part-"):
        return ""
    while "=" in os.path.basename(folder):
        folder = os.path.dirname(folder)
    return folder


def _literal(value: Any, type_: str) -> str:
    """Write a value of a column."""
    if value is None:
        return "NULL"
    if isinstance(value, str):
        return spark_text(value)
    return f"CAST('{value}' AS {type_})"


def _batch_mapper(formulas: Sequence[Formula], then: Pieces | None) -> Callable[[Any, Any], Any]:
    """Make the function that maps a batch; it goes to workers that need NumPy and PyArrow, not fairpot."""
    numbers = [tuple(each) for each in formulas]
    follows = None if then is None else tuple(then)

    def looked_up(pieces: Any, x: Any) -> Any:
        import numpy as np

        lo, *rest = pieces
        piece = np.searchsorted(lo, x, side="right") - 1
        x0, w, v0, d, vmin, vmax = (field[piece] for field in rest)
        return np.minimum(np.maximum(v0 + ((x - x0) / w) * d, vmin), vmax)

    def mapped(score: Any, place: Any) -> Any:
        import numpy as np
        import pyarrow as pa

        s = score.to_numpy(zero_copy_only=False)  # missing ones become NaN, and are refused afterwards
        at = place.fill_null(-1).to_numpy(zero_copy_only=False)
        fair = np.full(len(s), np.nan)
        for code in np.unique(at[at >= 0]).tolist():
            rows = np.flatnonzero(at == code)
            x = s[rows]
            if len(numbers[code]) == 2:
                alpha, beta = numbers[code]
                with np.errstate(over="ignore"):
                    fair[rows] = 1 / (1 + np.exp(-(alpha * x + beta)))
            elif len(numbers[code]) == 1:
                [factor] = numbers[code]
                sign = 1.0 if factor > 0 else -1.0
                with np.errstate(all="ignore"):
                    made = sign / (1 + ((1 - sign * x) / x) / factor)
                fair[rows] = np.where((sign * x > 0) & (sign * x < 1), made, x)
            else:
                fair[rows] = looked_up(numbers[code], x)
        return pa.array(fair if follows is None else looked_up(follows, fair))

    return mapped
