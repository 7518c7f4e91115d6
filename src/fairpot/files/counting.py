"""From files to a score table: the columns that play a part, counted once."""

from __future__ import annotations

import unicodedata
import warnings
from collections.abc import Callable, Hashable
from typing import Any

from fairpot._defaults import Region
from fairpot.engines.duckdb import DuckDBEngine
from fairpot.engines.naming import alike
from fairpot.engines.protocol import MOST_DISTINCT, CountedRows, Progress
from fairpot.exceptions import InputFileError
from fairpot.files.problems import with_places
from fairpot.files.source import RowSource

Namer = Callable[[tuple[Any, ...]], Hashable]


def count_rows(
    source: RowSource,
    *,
    memory_limit: str = "2GB",
    threads: int | None = None,
    max_distinct: int = MOST_DISTINCT,
    several: bool = True,
    drop_missing: bool = False,
    called: Namer | None = None,
    progress: Progress | None = None,
) -> CountedRows:
    """Count the rows of a source: the same table, to the last bit, as the same rows give in memory.

    It is :func:`fairpot.score_table` with the number of rows and the bound of a quantised table.

    Parameters
    ----------
    source : RowSource
        The rows, which columns play which part, and what they mean.
    memory_limit : str, default "2GB"
        What the process may use, if it holds nothing else: DuckDB gets a quarter of it and spills to the temporary
        directory, and a table that would leave no room for the work on it is quantised. See
        https://fairpot.github.io/fairpot/reference/file-formats.html.
    threads : int or None, default None
        None takes all cores.
    max_distinct : int, default 20_000_000
        With more distinct scores than about this, or than ``memory_limit`` holds, the table is quantised; with
        weights, also with more than twice so many distinct pairs of score and weight. With clusters, more than twice
        so many rows are an error.
    several : bool, default True
        Whether a single group is an error.
    drop_missing : bool, default False
        Whether rows with a missing value are left out instead of an error; ``dropped`` of the result counts them.
    called : callable or None, default None
        Says what a combination of values of the group columns is called, instead of the rules of memory.
    progress : callable or None, default None
        Called with the share of the work that is done, between 0 and 1.

    Returns
    -------
    CountedRows

    Raises
    ------
    InputFileError
        If the rows cannot be read.
    ValueError, TypeError
        If they can, but break a rule; the message names the value and the number of rows.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import mkdtemp
    >>> from fairpot.files import RowSource, count_rows
    >>> path = Path(mkdtemp()) / "scores.csv"
    >>> _ = path.write_text("risk,died,sex\\n0.9,1,F\\n0.2,0,F\\n0.7,1,M\\n0.4,0,M\\n")
    >>> counted = count_rows(RowSource(path, score="risk", label="died", groups="sex"))
    >>> counted.rows, counted.table.groups, counted.table["F"].score
    (4, ('F', 'M'), array([0.2, 0.9]))
    """
    engine = DuckDBEngine(memory_limit, threads)
    with source.by_name():
        try:
            counted = engine.count(
                source,
                several=several,
                max_distinct=max_distinct,
                drop_missing=drop_missing,
                called=called,
                progress=progress,
            )
        except InputFileError:
            raise
        except (ValueError, TypeError) as error:
            raise with_places(error, source, engine) from error
    for one, other in alike(counted.table.groups):
        write = ascii if unicodedata.normalize("NFC", one) == unicodedata.normalize("NFC", other) else repr
        warnings.warn(
            f"the groups {write(one)} and {write(other)} differ only by spaces, case or how letters are coded, and are "
            "counted apart: clean the column if they are one.",
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
    called: Namer | None = None,
) -> dict[Hashable, float]:
    """Find the lowest score of the top of a file, exactly.

    Parameters
    ----------
    source : RowSource
        The rows.
    alpha : float in (0, 1]
        Share of the rows in the top; rows tied with the lowest of them are in it too.
    region : {"pooled", "group"}, default "pooled"
        The top of all rows, or the top of each group.
    memory_limit : str, default "2GB"
        What the process may use.
    threads : int or None, default None
        None takes all cores.
    counted : CountedRows or None, default None
        The rows without outcome and weight, if they have been counted already.
    drop_missing : bool, default False
        Whether rows with a missing score or group are left out instead of an error.
    called : callable or None, default None
        Gives the groups of the file other names: called with the values of the group columns.

    Returns
    -------
    dict of group to float
        Scores as they are counted: with a minus, where the source says that a low one means high risk.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import mkdtemp
    >>> from fairpot.files import RowSource, score_thresholds
    >>> path = Path(mkdtemp()) / "scores.csv"
    >>> _ = path.write_text("risk,died,sex\\n0.9,1,F\\n0.2,0,F\\n0.7,1,M\\n0.4,0,M\\n")
    >>> source = RowSource(path, score="risk", groups="sex")
    >>> score_thresholds(source, 0.5)
    {'F': 0.7, 'M': 0.7}
    """
    with source.by_name():
        return DuckDBEngine(memory_limit, threads).thresholds(
            source, alpha, region=region, counted=counted, drop_missing=drop_missing, called=called
        )
