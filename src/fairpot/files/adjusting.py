"""Adjust the scores of files: rows stream through the fitted maps with bounded memory."""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol, cast

import numpy as np

from fairpot._arguments import argument
from fairpot._defaults import ADJUSTED, UNMAPPED, Unmapped
from fairpot._leftovers import turn_in
from fairpot._validation import check_choice, wording
from fairpot.engines.adjusting import Mapper
from fairpot.engines.duckdb import DuckDBEngine
from fairpot.engines.naming import Kind, find_column
from fairpot.exceptions import InputFileError, OutputFileError, UnseenGroupError
from fairpot.files.changes import Changes
from fairpot.files.formats import jsonl, open_rows, open_sink, parquet
from fairpot.files.formats.csv import TypedTextBatches
from fairpot.files.layout import FORMATS, TEXT, Batches, Format
from fairpot.files.output import Sink, check_name, check_output, complete_file, format_of_output, to_standard_output
from fairpot.files.problems import with_places
from fairpot.files.source import Paths, RowSource
from fairpot.transport import ScoreMap

TYPES = ("text", "auto")


@dataclass(frozen=True)
class AppliedRows:
    """Hold what :func:`apply` did.

    Attributes
    ----------
    rows : int
        Rows written: as many as were read, but for those that were asked to be dropped.
    moved : int or None
        Rows whose score changed; None of rows on a cluster, where they are not compared.
    column : str
        The column with the adjusted score.
    ranks_exact : bool
        Whether the ranks of the changes file are exact: they are, unless there were too many distinct scores.
    score_range : (float, float) or None
        The lowest and the highest score that was read.
    unknown : int
        Rows whose group the maps do not know; without ``unknown_group`` they are an error.
    missing : int
        Rows that have no group; without ``missing_group`` they are an error.
    dropped : int
        Rows that were left out, because a score or a group is missing and ``drop_missing`` was asked for.
    notes : tuple of str
        What is worth knowing before the adjusted scores are used: that nobody's score changed, that all are the same,
        or that whole numbers became others.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import mkdtemp
    >>> from fairpot.files import apply
    >>> path = Path(mkdtemp()) / "scores.csv"
    >>> _ = path.write_text("risk,died,sex\\n0.9,1,F\\n0.2,0,F\\n0.7,1,M\\n0.4,0,M\\n")
    >>> from fairpot import ScoreMap
    >>> maps = {"F": ScoreMap([0, 1], [0, 0.5]), "M": ScoreMap.identity()}
    >>> done = apply(path, maps, output=path.with_name("adjusted.csv"), score="risk", group="sex")
    >>> done.rows, done.moved, done.column
    (4, 2, 'risk_adjusted')
    """

    rows: int
    moved: int | None
    column: str
    ranks_exact: bool = True
    score_range: tuple[float, float] | None = None
    unknown: int = 0
    missing: int = 0
    dropped: int = 0
    notes: tuple[str, ...] = ()


class Judge(Protocol):
    """Looks at the scale of the scores before the output is put into place; what it raises leaves none."""

    far: tuple[float, float]  # scores below the first and above the second are counted

    def __call__(self, low: float, high: float, outside: int, rows: int) -> object:
        """Judge the lowest and the highest score, and how many of all rows are far outside."""


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
    unknown_group: Unmapped = "error",
    missing_group: Unmapped = "error",
    drop_missing: bool = False,
    overwrite: bool = False,
    output_format: str | None = None,
    types: Literal["text", "auto"] = "text",
    neutralise_formulas: bool = False,
    changes: str | Path | None = None,
    threshold: float | None = None,
    keep: Sequence[str] = (),
    words: Mapping[Hashable, tuple[str, ...]] | None = None,
    judge: Judge | None = None,
    inputs: Sequence[str | Path] = (),
    memory_limit: str = "2GB",
    threads: int | None = None,
    progress: Callable[[int, int], object] | None = None,
) -> AppliedRows:
    """Write the rows of a source with one column more, the adjusted score.

    Every other column, the order of the rows and their types do not change: Parquet and Arrow keep their schema
    with its metadata, text its fields, JSON lines their lines. The format of the output follows from its name.

    Parameters
    ----------
    rows : RowSource, path or sequence of paths
        Label and weight are not needed.
    maps : mapping of group to ScoreMap
        ``maps_`` of a fitted repair method: maps of the scores as the file holds them, so where a low score means
        high risk they are :meth:`~fairpot.ScoreMap.reflected` (:func:`fairpot.apply` sees to it). A group of the file
        that has no map is an error.
    output : path
        Written beside itself and renamed when complete; never the input. ``"-"`` is standard output, to which the rows
        go when they are complete.
    score : str or None, default None
        The column with the score, where ``rows`` are paths.
    group : str or sequence of str, default ()
        The columns with the group, where ``rows`` are paths.
    column : str or None, default None
        Name of the new column; None adds "_adjusted" to that of the score.
    replace : bool, default False
        Whether a column of that name is replaced.
    thresholds : mapping of group to float or None, default None
        Where each group's top-alpha region begins, see :func:`score_thresholds`; scores below stay.
    unknown_group : {"error", "keep", "null"}, default "error"
        What becomes of rows whose group has no map: an error that counts them, the original score, or no adjusted
        score. ``unknown`` of the result counts them.
    missing_group : {"error", "keep", "null"}, default "error"
        What becomes of rows without a group, likewise; ``missing`` of the result counts them.
    drop_missing : bool, default False
        Whether rows with a missing score or group are left out; ``dropped`` of the result counts them.
    overwrite : bool, default False
        Whether existing outputs are replaced.
    output_format : str or None, default None
        One of "parquet", "csv", "tsv", "arrow", "jsonl"; None takes the name of the output, and for standard output the
        format of the input.
    types : {"text", "auto"}, default "text"
        What fields of CSV become in Parquet, Arrow and JSON: text as they are; or numbers and booleans where all
        fields of a column are (the score, and no number with a leading zero).
    neutralise_formulas : bool, default False
        Whether text that a spreadsheet would run as a formula (``=1+1``) is written to CSV with an apostrophe before
        it.
    changes : path or None, default None
        A second file with the record of each row: original and adjusted score, old and new rank, why, and the threshold
        crossed.
    threshold : float or None, default None
        The decision threshold for that record.
    keep : sequence of str, default ()
        Columns that are copied to that record, such as an identifier.
    words : mapping of group to (str, str) or None, default None
        What that record says of those of a group who are moved, and of those of a group in which nobody is;
        ``group_words()`` of a fitted model has them.
    judge : Judge or None, default None
        Looks at the scale of the scores before the output is put into place; what it raises leaves none.
    inputs : sequence of paths, default ()
        Further files that no output may replace: that of the model.
    memory_limit : str, default "2GB"
        What the process may use.
    threads : int or None, default None
        For DuckDB, where it is needed: ranks and queries.
    progress : callable or None, default None
        Called with the rows done and the rows in all.

    Returns
    -------
    AppliedRows

    Raises
    ------
    InputFileError, OutputFileError, UnseenGroupError, ValueError, TypeError
        In all cases no output is left, and an existing one is not changed.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import mkdtemp
    >>> from fairpot import ScoreMap
    >>> from fairpot.files import apply
    >>> folder = Path(mkdtemp())
    >>> _ = (folder / "new.csv").write_text("id,risk,sex\\n007,0.5,F\\n008,0.50,M\\n")
    >>> maps = {"F": ScoreMap([0, 1], [0, 0.5]), "M": ScoreMap.identity()}
    >>> apply(folder / "new.csv", maps, output=folder / "adjusted.csv", score="risk", group="sex").moved
    1
    >>> print((folder / "adjusted.csv").read_text())
    id,risk,sex,risk_adjusted
    007,0.5,F,0.25
    008,0.50,M,0.5
    """
    source = _source(rows, score, group)
    check_unmapped(unknown_group, missing_group, drop_missing)
    check_choice(types, "types", TYPES)
    if changes is None and (threshold is not None or keep):
        raise ValueError(
            "threshold and keep say what goes into changes, which is not given.\nHint: changes=... names a file."
        )
    if not source.group_columns:
        raise InputFileError("no group column is named.\nHint: maps belong to groups; name the columns with groups=...")
    if source.lower_is_riskier:  # maps and ranks are of scores as they are in the file
        source = source.but(lower_is_riskier=False)
    check_outputs(source, output, changes, overwrite=overwrite)
    target, column = Path(output), column or f"{source.score}{ADJUSTED}"
    wanted = _format(output, output_format, source)
    engine = DuckDBEngine(memory_limit, threads)
    kept = [*source.inputs, *map(Path, inputs)]
    with source.by_name():
        batches = _open(source.bare(), wanted, keep, engine, types)
        _check_columns(source, batches, column, replace, keep)
    total = _count_rows(source, engine) if progress is not None else 0
    mapper = Mapper(
        source.score,
        source.group_columns,
        batches.schema,
        _starting_at(maps, thresholds),
        kind=batches.kind,
        exact_types=batches.exact_types,
        decimal=source.decimal,
        unknown_group=unknown_group,
        missing_group=missing_group,
        drop_missing=drop_missing,
        **({} if judge is None else {"far": judge.far}),
    )
    with source.by_name(), ExitStack() as stack:
        # Left in reverse: the record is in place before the adjusted file is, and no other run's pair comes between.
        take_turn = stack.enter_context(turn_in(Path(os.path.realpath(target)).parent))
        place = stack.enter_context(_place(output, overwrite, kept, f"output.{wanted}"))
        record = None
        if changes is not None:
            beside = stack.enter_context(_changes_place(changes, output, overwrite, kept))
            counted = engine.count(
                source.bare(), several=False, drop_missing=drop_missing, called=mapper.naming(source.kind)
            )
            record = Changes(counted, mapper.maps, batches, keep, threshold, words)
            stack.enter_context(_finished(record.open(beside, Path(changes), neutralise_formulas)))
        sink = open_sink(place, target, wanted, batches, column, neutralise=neutralise_formulas)
        with _finished(sink):
            read, moved = _stream(batches, mapper, sink, record, progress, total)
            _complain(mapper, read, source, engine)
            if judge is not None:
                judge(mapper.lowest, mapper.highest, mapper.outside, read)
        written = sink.rows
        _check_rows(source, read, written, mapper.dropped)
        if changes is not None:
            take_turn()
            check_outputs(source, output, changes, overwrite=overwrite)
    return AppliedRows(
        written,
        moved,
        column,
        record is None or record.exact,
        (mapper.lowest, mapper.highest) if mapper.lowest <= mapper.highest else None,
        unknown=mapper.unknown,
        missing=mapper.missing,
        dropped=mapper.dropped,
        notes=tuple(_notes(mapper, written, moved)),
    )


def check_unmapped(unknown_group: str, missing_group: str, drop_missing: bool) -> None:
    """Check what is to become of rows that no map belongs to."""
    check_choice(unknown_group, "unknown_group", UNMAPPED)
    check_choice(missing_group, "missing_group", UNMAPPED)
    if drop_missing and missing_group != "error":
        raise ValueError(
            f"{argument('drop_missing')} leaves rows without a group out, and "
            f"{argument('missing_group', missing_group)} lets them through.\nHint: give one of the two."
        )


def check_outputs(
    source: RowSource, output: str | Path, changes: str | Path | None = None, *, overwrite: bool = False
) -> None:
    """Refuse, before any work, outputs that are there already, or that would be read as rows the next time."""
    for target in (output, changes):
        if target is None or (target is output and str(target) == "-"):
            continue
        check_name(target)
        if source.would_read(target):
            raise OutputFileError(
                f"{target} lies among the input ({source.named}), which would be read with everyone in it twice.\n"
                "Hint: name an output in another folder, outside the input."
            )
        check_output(target, overwrite=overwrite)


def _notes(mapper: Mapper, rows: int, moved: int) -> Iterator[str]:
    """Say what scores and groups alone show to be odd about a result."""
    if rows > 1 and mapper.lowest == mapper.highest:
        yield f"all {rows} scores are {mapper.lowest:g}: is this the column of the score?"
    if moved == 0:
        yield f"nobody's score changed: {_why_nobody(mapper)}."
    elif mapper.whole_scores and not mapper.whole_results:
        yield "the scores are whole numbers, and adjusted ones are not: round them only if equal scores may be tied."


def _why_nobody(mapper: Mapper) -> str:
    moving = [mapper.known[place] for place in mapper.moving]
    if not moving:
        return "the map leaves every group as it is"
    here = [group for group in moving if group in mapper.reached]
    if not here:
        return f"the rows are of other groups than those that the map moves ({wording.listed(moving)})"
    return "no score lies where the map moves scores"


def _stream(
    batches: Batches,
    mapper: Mapper,
    sink: Sink,
    record: Changes | None,
    progress: Callable[[int, int], object] | None,
    total: int,
) -> tuple[int, int]:
    """Pass the rows through the maps into the output; return how many were read and how many moved."""
    read = moved = 0
    writing: Future[None] | None = None
    with ThreadPoolExecutor(max_workers=1) as behind:
        for batch in batches:
            read += batch.num_rows
            batch, scores, codes, adjusted = mapper.kept(batch)
            if progress is not None:
                progress(read, max(total, read))
            if mapper.problems:
                continue
            moved += int(np.count_nonzero(scores != adjusted) - np.count_nonzero(adjusted != adjusted))
            if writing is not None:
                writing.result()
            writing = behind.submit(sink.write, batch, adjusted)  # while the next batch is read and mapped
            if record is not None:
                record.add(batch, scores, adjusted, codes)
        if writing is not None:
            writing.result()
    return read, moved


def _complain(mapper: Mapper, read: int, source: RowSource, engine: DuckDBEngine) -> None:
    """Raise if rows could not be mapped, and say which."""
    try:
        mapper.complain(read)
    except (ValueError, TypeError) as error:
        if str(error).startswith("the input has"):  # rows of other groups are many, or a file of its own
            raise
        judged = source.bare() if mapper.missing_group == "error" else source.bare().but(groups=())
        raise with_places(error, judged, engine) from error


@contextmanager
def _finished(sink: Sink) -> Iterator[None]:
    """Close a sink; what goes wrong in closing does not hide what went wrong before."""
    try:
        yield
    except BaseException:
        with suppress(Exception):
            sink.close()
        raise
    sink.close()


def _check_rows(source: RowSource, read: int, written: int, dropped: int) -> None:
    """Insist that no row was lost on the way, by counts that do not come from the way itself."""
    if source.files and all(layout.format == "parquet" for layout in source.files.values()):
        there = sum(map(parquet.count_rows, source.files))
        if there != read:
            raise InputFileError(f"{read} rows were read, but there are {there}.\nHint: the file may be damaged.")
    if written != read - dropped:
        raise OutputFileError(
            f"{read - dropped} rows were to be written, but {written} are there.\nHint: nothing is left of it; retry."
        )


def _format(output: str | Path, given: str | None, source: RowSource) -> Format:
    """Tell the format of the output."""
    if given is not None:
        return cast(Format, check_choice(given, "output_format", FORMATS))
    if str(output) != "-":
        return format_of_output(Path(output))
    layout = next(iter(source.files.values()), None)
    return "csv" if layout is None else layout.format


@contextmanager
def _place(output: str | Path, overwrite: bool, inputs: list[Path], name: str) -> Iterator[Path]:
    if str(output) == "-":
        with to_standard_output(name) as place:
            yield place
    else:
        with complete_file(output, overwrite=overwrite, inputs=inputs) as place:
            yield place


@contextmanager
def _changes_place(changes: str | Path, output: str | Path, overwrite: bool, inputs: list[Path]) -> Iterator[Path]:
    if os.path.realpath(changes) == os.path.realpath(output):
        raise OutputFileError("the changes and the adjusted rows need two files.\nHint: name another file.")
    with complete_file(changes, overwrite=overwrite, inputs=inputs) as place:
        yield place


def _source(rows: RowSource | Paths, score: str | None, group: str | Sequence[str]) -> RowSource:
    if isinstance(rows, RowSource):
        if score is not None or group:
            raise InputFileError("a RowSource names its columns itself.\nHint: leave score and group out.")
        return rows
    if score is None:
        raise InputFileError("no score column is named.\nHint: score='...', group='...'.")
    return RowSource(rows, score=score, groups=group)


def _open(source: RowSource, wanted: Format, keep: Sequence[str], engine: DuckDBEngine, types: str) -> Batches:
    """Open the rows of the files, or of a query."""
    if source.sql is not None:
        return QueryBatches(source, engine)
    if types == "auto" and wanted not in TEXT and {layout.format for layout in source.files.values()} <= {*TEXT}:
        return TypedTextBatches(source.files, source.score)
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
            f"the input has a column {column!r} already.\nHint: choose another name, or {argument('replace', True)}."
        )
    if column in source.group_columns:
        raise OutputFileError(f"the column {column!r} is the group: it cannot hold the score.")
