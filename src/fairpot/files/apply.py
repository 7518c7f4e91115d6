"""Adjust the scores of files: rows stream through the fitted maps with bounded memory."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fairpot.engines.columns import find_column
from fairpot.engines.duckdb import DuckDBEngine
from fairpot.engines.mapper import Mapper
from fairpot.engines.values import Kind
from fairpot.exceptions import InputFileError, OutputFileError, UnseenGroupError
from fairpot.files.batches import Batches
from fairpot.files.changes import Changes
from fairpot.files.formats import jsonl, open_rows, open_sink, parquet
from fairpot.files.layout import Format
from fairpot.files.output import complete_file
from fairpot.files.sinks import format_of_output
from fairpot.files.source import Paths, RowSource
from fairpot.transport import ScoreMap


@dataclass(frozen=True)
class AppliedRows:
    """What an apply did.

    Attributes
    ----------
    rows : int
        Rows written.
    moved : int
        Rows whose score changed.
    column : str
        The column with the adjusted score.
    ranks_exact : bool
        Whether the ranks of the changes file are exact: they are, unless there were too many distinct scores.
    """

    rows: int
    moved: int
    column: str
    ranks_exact: bool = True


def apply(
    rows: RowSource | Paths,
    maps: Mapping[Hashable, ScoreMap],
    *,
    output: str | Path,
    score: str | None = None,
    group: str | Sequence[str] = (),
    column: str | None = None,
    replace: bool = False,
    thresholds: Mapping[Hashable, float] | None = None,
    force: bool = False,
    changes: str | Path | None = None,
    threshold: float | None = None,
    keep: Sequence[str] = (),
    memory_limit: str = "2GB",
    progress: Callable[[int, int], object] | None = None,
) -> AppliedRows:
    """Write the rows of a source with one column more, the adjusted score.

    Every other column, the order of the rows and their types stay as they are: Parquet and Arrow keep their schema
    with its metadata, text its fields, JSON lines their lines. The format of the output follows from its name.

    Parameters
    ----------
    rows : RowSource, path or sequence of paths
        Label and weight are not needed.
    maps : mapping of group to ScoreMap
        ``maps_`` of a fitted post-processor. A group of the file that is not there is an error.
    output : path
        Written beside itself and renamed when complete; never the input.
    score : str or None, default None
        The column with the score, where ``rows`` are paths.
    group : str or sequence of str, default ()
        The columns with the group, where ``rows`` are paths.
    column : str or None, default None
        Name of the new column; None adds "_fair" to that of the score.
    replace : bool, default False
        Whether a column of that name is replaced.
    thresholds : mapping of group to float or None, default None
        Where each group's top-alpha region begins, see :func:`score_thresholds`; scores below stay.
    force : bool, default False
        Whether outputs that are there already are replaced.
    changes : path or None, default None
        A second file with the record of each row: old and new score and rank, and the threshold crossed.
    threshold : float or None, default None
        The decision threshold for that record.
    keep : sequence of str, default ()
        Columns that are copied to that record, such as an identifier.
    memory_limit : str, default "2GB"
        For DuckDB, where it is needed: ranks, queries, and changes of format.
    progress : callable or None, default None
        Called with the rows done and the rows in all.

    Returns
    -------
    AppliedRows

    Raises
    ------
    InputFileError, OutputFileError, UnseenGroupError, ValueError, TypeError
        In all cases no output is left, and one that was there stays as it was.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from fairpot.transport import ScoreMap
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "new.csv").write_text("id,risk,sex\\n007,0.5,F\\n008,0.50,M\\n")
    >>> maps = {"F": ScoreMap([0, 1], [0, 0.5]), "M": ScoreMap.identity()}
    >>> apply(folder / "new.csv", maps, output=folder / "fair.csv", score="risk", group="sex").moved
    1
    >>> print((folder / "fair.csv").read_text())
    id,risk,sex,risk_fair
    007,0.5,F,0.25
    008,0.50,M,0.5
    """
    source = _source(rows, score, group)
    target, column = Path(output), column or f"{source.score}_fair"
    used = _starting_at(maps, thresholds)
    if not source.group_columns:
        raise InputFileError("no group column is named.\nHint: maps belong to groups; name the columns with groups=...")
    engine = DuckDBEngine(memory_limit)
    wanted = format_of_output(target)
    batches = _open(source.bare(), wanted, keep, engine)
    _check_columns(source, batches, column, replace, keep)
    total = _count_rows(source, engine) if progress is not None else 0
    mapper = Mapper(
        source.score,
        source.group_columns,
        batches.schema,
        used,
        kind=batches.kind,
        exact_types=batches.exact_types,
        decimal=source.decimal,
    )
    with ExitStack() as stack:
        # Left in reverse: the record is in place before the adjusted file is.
        place = stack.enter_context(complete_file(target, force=force, inputs=source.files))
        record = None
        if changes is not None:
            if Path(changes).resolve() == target.resolve():
                raise OutputFileError("the changes and the adjusted rows need two files.")
            beside = stack.enter_context(complete_file(changes, force=force, inputs=source.files))
            record = Changes(engine.count(source.bare(), several=False), used, batches, keep, threshold)
            stack.enter_context(closing(record.open(beside, Path(changes))))
        sink = stack.enter_context(closing(open_sink(place, target, wanted, batches, column)))
        behind = stack.enter_context(ThreadPoolExecutor(max_workers=1))
        writing: Future[None] | None = None
        done = moved = 0
        for batch in batches:
            scores, codes, adjusted = mapper(batch)
            done += batch.num_rows
            if progress is not None:
                progress(done, max(total, done))
            if not mapper.problems:
                moved += int((scores != adjusted).sum())
                if writing is not None:
                    writing.result()
                writing = behind.submit(sink.write, batch, adjusted)  # while the next batch is read and mapped
                if record is not None:
                    record.add(batch, scores, adjusted, codes)
        if writing is not None:
            writing.result()
        mapper.complain(done)
    return AppliedRows(done, moved, column, record is None or record.exact)


def _source(rows: RowSource | Paths, score: str | None, group: str | Sequence[str]) -> RowSource:
    if isinstance(rows, RowSource):
        if score is not None or group:
            raise InputFileError("a RowSource names its columns itself.\nHint: leave score and group out.")
        return rows
    if score is None:
        raise InputFileError("no score column is named.\nHint: score='...', group='...'.")
    return RowSource(rows, score=score, groups=group)


def _open(source: RowSource, wanted: Format, keep: Sequence[str], engine: DuckDBEngine) -> Batches:
    """Open the rows of the files, or of a query."""
    if source.sql is not None:
        return QueryBatches(source, engine)
    return open_rows(source.files, wanted, [source.score, *source.group_columns, *keep])


def _count_rows(source: RowSource, engine: DuckDBEngine) -> int:
    """Count the rows: from the footers where the format has them."""
    if source.files and all(layout.format == "parquet" for layout in source.files.values()):
        return sum(map(parquet.count_rows, source.files))
    return engine.count_rows(source)


class QueryBatches:
    """The rows of a query, with the types DuckDB gives them."""

    kind: Kind = "typed"
    exact_types = True

    def __init__(self, source: RowSource, engine: DuckDBEngine) -> None:
        self._stream = engine.whole_rows(source)
        self.schema = next(self._stream)
        for name in source.roles.values():
            find_column(name, self.schema.names, "the input")

    def __iter__(self) -> Iterator[Any]:
        """Yield record batches in the order of the rows."""
        yield from self._stream


def _starting_at(
    maps: Mapping[Hashable, ScoreMap], thresholds: Mapping[Hashable, float] | None
) -> dict[Hashable, ScoreMap]:
    if thresholds is None:
        return dict(maps)
    strange = [g for g in thresholds if g not in maps]
    if strange:
        raise UnseenGroupError(f"thresholds has groups not seen in fit: {strange} (seen: {list(maps)}).")
    return {g: maps[g].starting_at(thresholds[g]) for g in thresholds}


def _check_columns(source: RowSource, batches: Batches, column: str, replace: bool, keep: Sequence[str]) -> None:
    names = batches.columns if isinstance(batches, jsonl.LineBatches) else batches.schema.names
    for name in keep:
        find_column(name, names, "the input")
    if names.count(column) > 1 or (column in names and not replace):
        raise OutputFileError(
            f"the input has a column {column!r} already.\nHint: choose another name, or replace to overwrite it."
        )
    if column in source.group_columns:
        raise OutputFileError(f"the column {column!r} is the group: it cannot hold the score.")
