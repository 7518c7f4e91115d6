"""From files to a score table: the columns that play a part, counted once."""

from __future__ import annotations

import os
import warnings
from collections.abc import Hashable, Sequence
from typing import Any

from fairpot._defaults import Region
from fairpot._validation import wording
from fairpot.engines.duckdb import DuckDBEngine
from fairpot.engines.naming import alike
from fairpot.engines.protocol import MOST_DISTINCT, CountedRows, Progress
from fairpot.exceptions import InputFileError
from fairpot.files.problems import with_places
from fairpot.files.source import Paths, RowSource
from fairpot.table import ScoreTable


def score_table(
    path: Paths | None = None,
    *,
    score: str,
    group: str | Sequence[str] = (),
    label: str | None = None,
    weight: str | None = None,
    positive: Any = None,
    format: str | None = None,  # noqa: A002
    sql: str | None = None,
    database: str | os.PathLike[str] | None = None,
    delimiter: str | None = None,
    decimal: str = ".",
    encoding: str | None = None,
    partitions: bool = False,
    drop_missing: bool = False,
    memory_limit: str = "2GB",
    threads: int | None = None,
    max_distinct: int = MOST_DISTINCT,
    progress: Progress | None = None,
) -> ScoreTable:
    """Count the rows of files: the same table, to the last bit, as the same rows give in memory.

    Everything the library computes from rows it also computes from this table; :func:`count_rows` tells the number of
    rows as well, and how far a quantised table can be off.

    Parameters
    ----------
    path : path, sequence of paths or None
        Files, folders or patterns such as ``"scores/*.parquet"``; ``"-"`` is standard input. Parquet, CSV
        and TSV (also gzipped), Arrow IPC or Feather, JSON lines.
    score : str
        The column with the score.
    group : str or sequence of str, default ()
        The columns with the group; several form intersections.
    label : str or None, default None
        The column with the outcome.
    weight : str or None, default None
        The column with the weight of a row.
    positive : default None
        The positive value of a label that is not 0/1 or boolean.
    format : str or None, default None
        One of "parquet", "csv", "tsv", "arrow", "jsonl", where names of files do not say.
    sql, database : default None
        A SELECT instead of files, in DuckDB's dialect, and the DuckDB file that it asks.
    delimiter, decimal, encoding, partitions
        How CSV is written, and whether names of folders are columns; see :class:`RowSource`.
    drop_missing : bool, default False
        Whether rows with a missing value are left out, with a warning that counts them, instead of an error.
    memory_limit : str, default "2GB"
        What DuckDB may use before it spills to the temporary directory.
    threads : int or None, default None
        None takes all cores.
    max_distinct : int, default 20_000_000
        With more distinct scores than about this the table is quantised, with a warning that tells the bound.
    progress : callable or None, default None
        Called with the share of the work that is done, between 0 and 1.

    Returns
    -------
    ScoreTable

    Raises
    ------
    InputFileError
        If the rows cannot be read.
    ValueError, TypeError
        If they can, but break a rule; the message names the value and the number of rows.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "scores.csv"
    >>> _ = path.write_text("risk,died,sex\\n0.9,1,F\\n0.2,0,F\\n0.7,1,M\\n0.4,0,M\\n")
    >>> table = score_table(path, score="risk", label="died", group="sex")
    >>> table.groups, table["F"].score
    (('F', 'M'), array([0.2, 0.9]))
    """
    source = RowSource(
        path,
        score=score,
        label=label,
        groups=group,
        weight=weight,
        format=format,
        sql=sql,
        database=database,
        delimiter=delimiter,
        decimal=decimal,
        encoding=encoding,
        partitions=partitions,
    )
    counted = count_rows(
        source,
        positive=positive,
        memory_limit=memory_limit,
        threads=threads,
        max_distinct=max_distinct,
        drop_missing=drop_missing,
        progress=progress,
    )
    if counted.dropped is not None and counted.dropped["rows"]:
        warnings.warn(wording.dropped_rows(counted.dropped, counted.rows), UserWarning, stacklevel=2)
    bound = counted.quantisation
    if bound is not None:
        warnings.warn(
            f"too many distinct scores: they were put into bins. AUC can be off by {bound.auc:.2g}, an xAUC by "
            f"{float(bound.xauc.max()):.2g}, a score by {bound.score:.2g}.",
            UserWarning,
            stacklevel=2,
        )
    return counted.table


def count_rows(
    source: RowSource,
    *,
    positive: Any = None,
    memory_limit: str = "2GB",
    threads: int | None = None,
    max_distinct: int = MOST_DISTINCT,
    several: bool = True,
    drop_missing: bool = False,
    progress: Progress | None = None,
) -> CountedRows:
    """Count the rows of a source; as :func:`score_table`, with the number of rows and the bound of a quantised table.

    Parameters
    ----------
    source : RowSource
    positive, memory_limit, threads, max_distinct, progress
        As for :func:`score_table`. With weights, more than twice ``max_distinct`` distinct pairs of score and weight
        are too many as well.
    several : bool, default True
        Whether a single group is an error.
    drop_missing : bool, default False
        Whether rows with a missing value are left out instead of an error; ``dropped`` of the result counts them.

    Returns
    -------
    CountedRows
    """
    engine = DuckDBEngine(memory_limit, threads)
    try:
        counted = engine.count(
            source,
            positive=positive,
            several=several,
            max_distinct=max_distinct,
            drop_missing=drop_missing,
            progress=progress,
        )
    except InputFileError:
        raise
    except (ValueError, TypeError) as error:
        raise with_places(error, source, engine) from error
    for one, other in alike(counted.table.groups):
        warnings.warn(
            f"the groups {one!r} and {other!r} differ only by spaces or case and are counted apart: clean the column "
            "if they are one.",
            UserWarning,
            stacklevel=2,
        )
    return counted


def score_thresholds(
    source: RowSource,
    alpha: float,
    *,
    region: Region = "pooled",
    memory_limit: str = "2GB",
    threads: int | None = None,
    counted: CountedRows | None = None,
    drop_missing: bool = False,
) -> dict[Hashable, float]:
    """Find the lowest score of the top-alpha region of a file, exactly: the first pass of a batch threshold.

    Parameters
    ----------
    source : RowSource
    alpha : float in (0, 1]
    region : {"pooled", "group"}, default "pooled"
    memory_limit, threads
        As for :func:`score_table`.
    counted : CountedRows or None, default None
        The rows without label and weight, if they have been counted already.
    drop_missing : bool, default False
        Whether rows with a missing score or group are left out instead of an error.

    Returns
    -------
    dict of group to float
    """
    return DuckDBEngine(memory_limit, threads).thresholds(
        source, alpha, region=region, counted=counted, drop_missing=drop_missing
    )
