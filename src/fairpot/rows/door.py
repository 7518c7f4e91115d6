"""The door: rows of any kind -> score table. What reads them is chosen here, once, by its name."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import fields
from types import MappingProxyType
from typing import Any, Unpack

from fairpot._arguments import argument, by_name
from fairpot._docs import documented
from fairpot._log import telling
from fairpot._said import COLUMNS, ENDS, NAMES, WORDS, Said, first_said, is_said
from fairpot._validation import wording
from fairpot._validation.columns import check_names
from fairpot._validation.grouping import Grouping
from fairpot._warn import warn_user
from fairpot.counting import USUAL, as_table, check_meaning, grouping_of, meant, refuse_beside_table
from fairpot.rows.readers import MOST_DISTINCT, CountedRows, Counting, Progress, reader
from fairpot.rows.readers.frames import as_frame
from fairpot.rows.roles import Roles
from fairpot.rows.source import READING
from fairpot.table import ScoreTable

# What reads frames of these libraries; others are in memory, or come there.
_FRAMES = {"pyspark": "spark", "pyspark[connect]": "spark"}
_COUNTING = ("memory_limit", "threads", "max_distinct", "progress")
_OWN = ("y_score", *COLUMNS)
# What a source is told, beside the names of its columns; other words are for the table, or for who counts.
_OF_SOURCES = tuple(each.name for each in fields(Roles) if each.name in WORDS and each.name not in (*NAMES, "groups"))
_NAME_THEM = "name the columns, score=..., label=..., group=..., weight=..., cluster=..."


@by_name
def score_table(
    rows: Any,
    y_score: Any = None,
    *,
    format: str | None = None,  # noqa: A002 -- as the option of files is called
    sql: str | None = None,
    delimiter: str | None = None,
    decimal: str | None = None,
    encoding: str | None = None,
    sheet: str | None = None,
    memory_limit: str | None = None,
    threads: int | None = None,
    max_distinct: int | None = None,
    progress: Progress | None = None,
    **said: Unpack[Said],
) -> ScoreTable:
    """Count rows into the table that everything else is computed from, whatever they come in.

    Equal rows give equal tables, to the last bit.

    Parameters
    ----------
    rows : column of outcomes, frame, lazy frame, path or list of paths, RowSource, ScoreTable
        Columns: the outcomes (None if they are not known), with ``y_score`` and ``sensitive_features`` beside them.
        A frame (pandas, Polars, PyArrow), a lazy one (Polars, DuckDB, PySpark) or files (Parquet, CSV, Arrow, JSON
        lines; folders and patterns): ``score``, ``label`` and ``group`` name the columns; without any name they are
        called so. A table is returned unchanged.
    y_score : column of shape (n,), default None
        Scores on any scale, where ``rows`` are outcomes.
    {said}
    format, sql, delimiter, decimal, encoding, sheet : str or None
        How files are read, as :class:`fairpot.rows.RowSource` takes it; ``sql`` is a DuckDB query in place of ``rows``.
    memory_limit, threads, max_distinct, progress
        As :func:`fairpot.rows.count_rows` takes them; all but ``threads`` also for frames of Spark.

    Returns
    -------
    ScoreTable
        For :func:`fairpot.audit`, ``fit``, ``tradeoff``, :func:`fairpot.effect`, :func:`fairpot.compare`.

    Warns
    -----
    UserWarning
        If rows were left out, or too many distinct scores were put into bins: with how far any number can be off.

    Examples
    --------
    >>> import fairpot
    >>> y, score, sex = [1, 0, 1, 0], [0.9, 0.2, 0.7, 0.4], ["F", "F", "M", "M"]
    >>> fairpot.score_table(y, score, sensitive_features=sex).groups
    ('F', 'M')
    """
    told: dict[str, Any] = {"format": format, "sql": sql, "delimiter": delimiter, "decimal": decimal}
    told |= {"encoding": encoding, "sheet": sheet, "memory_limit": memory_limit, "threads": threads}
    told |= {"max_distinct": max_distinct, "progress": progress}
    options = {name: value for name, value in told.items() if value is not None}
    if isinstance(rows, ScoreTable):
        refuse_beside_table(rows, options)
    elif y_score is None or isinstance(rows, Roles) or sql is not None:
        table = counted_rows(rows, said, grouping_of(said), y_score, options)
        if table is not None:
            return meant(table, said)
    if options:
        raise TypeError(f"{next(iter(options))!r} is an option for files; these rows are in memory.")
    grouped, labelled = said.get("sensitive_features") is not None, rows is not None or y_score is None
    return as_table(rows, y_score, grouped=grouped, labelled=labelled, **said)


def counted_rows(
    rows: Any,
    said: Said,
    grouping: Grouping | None = None,
    y_score: Any = None,
    options: Mapping[str, Any] = MappingProxyType({}),
) -> ScoreTable | None:
    """Count a frame or files whose columns are named; None where rows are columns themselves.

    Without any name the columns are called score, label and group.
    """
    own = {"y_score": y_score, **{name: said.get(name) for name in COLUMNS}}
    unnamed = not isinstance(rows, Roles) and first_said(said, NAMES) is None
    names: Mapping[str, Any] = USUAL if unnamed else {name: said.get(name) for name in NAMES}
    check_meaning(said.get("high_score_means"))
    meaning = {name: value for name, value in said.items() if name in _OF_SOURCES and is_said(name, value)}
    source = opened(rows, names, {**meaning, **own, "grouping": grouping}, options)
    if source is None:
        return None
    how = {name: value for name, value in options.items() if name in _COUNTING}
    counted = count_rows(source, drop_missing=said.get("drop_missing", False), **how)
    if counted.dropped is not None and counted.dropped["rows"]:
        warn_user(wording.dropped_rows(counted.dropped, counted.rows), UserWarning)
    if (bound := counted.quantisation) is not None:
        warn_user(
            f"too many distinct scores: they were put into bins. AUC can be off by {bound.auc:.2g}, an xAUC by "
            f"{float(bound.xauc.max()):.2g}, a score by {bound.score:.2g}.",
            UserWarning,
        )
    return counted.table


def opened(rows: Any, names: Mapping[str, Any], said: Mapping[str, Any], options: Mapping[str, Any]) -> Roles | None:
    """Say what rows are and which columns play which part, by the reader of their kind; None of columns."""
    reading = {name: value for name, value in options.items() if name in READING}
    if isinstance(rows, Roles):
        given = {**said, **names, **reading}
        _refuse(given, "a source, which says itself what they are", "leave it out, or put it into the source")
        return rows
    paths = rows if isinstance(rows, list | tuple) and rows else [rows]
    is_file = all(isinstance(path, str | os.PathLike) for path in paths) or options.get("sql") is not None
    frame = None if is_file else as_frame(rows)
    if not is_file and frame is None:
        return None
    own = {name: said.get(name) for name in (*_OWN, *(n for n in ENDS if not isinstance(said.get(n), str)))}
    _refuse(own, "files" if is_file else "a frame", _NAME_THEM)
    chosen = reader("duckdb" if frame is None else _FRAMES.get(frame.implementation.value, "memory"))
    for name in options:
        if name not in chosen.options:
            raise TypeError(f"{name!r} is an option for files; these rows are {chosen.where}.")
    if names["score"] is None:
        raise TypeError(
            "score is missing: name the columns, score=..., label=..., group=... (weight=..., cluster=...)."
        )
    check_names(names)
    parts = {part: name for part, name in names.items() if name is not None}
    if "group" in parts:
        parts["groups"] = parts.pop("group")
    meaning = {name: value for name, value in said.items() if name not in _OWN and value is not None}
    return chosen.open(rows, parts | meaning, reading)


def _refuse(given: Mapping[str, Any], what: str, way_out: str) -> None:
    """Refuse what cannot be said beside rows of a kind."""
    extra = next((name for name, value in given.items() if value is not None), None)
    if extra is not None:
        said = "is a column of its own" if extra in (*_OWN, *ENDS) else "is given"
        raise TypeError(f"{extra} {said}, but the rows are {what}.\nHint: {way_out}.")


@documented
def count_rows(
    source: Roles,
    *,
    memory_limit: str | None = None,
    threads: int | None = None,
    max_distinct: int = MOST_DISTINCT,
    several: bool = True,
    drop_missing: bool = False,
    progress: Progress | None = None,
) -> CountedRows:
    """Count the rows of a source: the same table, to the last bit, as the same rows give in memory.

    It is :func:`fairpot.score_table` with the number of rows and the bound of a quantised table.

    Parameters
    ----------
    source : RowSource, SparkRows
        The rows, which columns play which part, and what they mean.
    memory_limit : str or None, default None
        What the process may use, if it holds nothing else; None is "2GB" for files. A table that would leave no room
        for the work on it is quantised, see https://fairpot.github.io/fairpot/reference/file-formats.html. Where it is
        named, a file that needs much more is an error (on Linux, for all threads of the process meanwhile).
    threads : int or None, default None
        Of the scan of files; None takes all cores.
    max_distinct : int, default 20_000_000
        With more distinct scores than about this the table is quantised, also with more than twice so many pairs of
        score and weight. With clusters, more than twice so many rows are an error.
    several : bool, default True
        Whether a single group is an error.
    {drop_missing}
    progress : callable or None, default None
        Called with the share of the work that is done, between 0 and 1.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import mkdtemp
    >>> from fairpot.rows import RowSource, count_rows
    >>> path = Path(mkdtemp()) / "scores.csv"
    >>> _ = path.write_text("risk,died,sex\\n0.9,1,F\\n0.2,0,F\\n0.7,1,M\\n0.4,0,M\\n")
    >>> counted = count_rows(RowSource(path, score="risk", label="died", groups="sex"))
    >>> counted.rows, counted.table.groups, counted.quantisation
    (4, ('F', 'M'), None)
    """
    chosen = reader(source.reader)
    for name, value in (("memory_limit", memory_limit), ("threads", threads)):
        if value is not None and name not in chosen.options:
            raise TypeError(f"{argument(name)} is an option for files; these rows are {chosen.where}.")
    how = Counting(memory_limit, threads, max_distinct, several, drop_missing, progress=progress)
    with telling("counted") as told:
        counted = chosen.count(source, how)
        dropped = (counted.dropped or {}).get("rows")
        told |= {"rows": counted.rows, "dropped": dropped, "groups": len(counted.table.groups)}
    return counted
