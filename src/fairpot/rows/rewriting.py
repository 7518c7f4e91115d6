"""Files to files: rows stream through the fitted maps with bounded memory, and every other column stays."""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from fairpot._optional import Lazy
from fairpot._validation import check_choice, wording
from fairpot._validation.values import bad_scores
from fairpot.counts import GroupCounts
from fairpot.exceptions import InputFileError, OutputFileError
from fairpot.rows.decoding import check_plain, check_score_type, count_words, doubles, numbers, plain
from fairpot.rows.formats import OUTPUTS, Batches, Format, Sink, Target, format_of_output, open_rows, open_sink
from fairpot.rows.output import check_name, check_output, complete_file, taking_turns, there_already, to_standard_output
from fairpot.rows.readers import AppliedRows, Applying, Counting, RowsDone, query
from fairpot.rows.readers.duckdb import DuckDBScan, with_places
from fairpot.rows.readers.frames import map_scores
from fairpot.rows.readers.grouped import GroupPlaces
from fairpot.rows.roles import find_column
from fairpot.rows.source import Paths, RowSource, listed, would_read
from fairpot.transport import Floats, ScoreMap
from fairpot.transport.scoremap import PARTS, part_words

pa = Lazy("pyarrow", "cli")


def rewrite(source: RowSource, maps: Mapping[Hashable, ScoreMap], how: Applying) -> AppliedRows:
    """Write the rows of a source: Parquet and Arrow keep their schema with its metadata, text its fields or lines."""
    output = cast(str | Path, how.output)
    if source.lower_is_riskier:  # maps and ranks are of scores as they are in the file
        source = source.but(lower_is_riskier=False)
    check_outputs(source.path, (output, how.changes), overwrite=how.overwrite)
    wanted = _format(output, how.output_format, source)
    with source.by_name():
        batches = _open(source.bare(), wanted, how)
        names = batches.schema.names if batches.columns is None else batches.columns
        for name in how.keep:
            find_column(name, names, "the input")
        column = how.new_column(source, names, "the input")
    there = source.known_rows()
    mapper = Mapper(source, batches, maps, how)
    with source.by_name(), ExitStack() as stack:
        # Left in reverse: the record is in place before the adjusted file is, and both before another run's.
        together = stack.enter_context(ExitStack())
        safely: dict[str, Any] = {"overwrite": how.overwrite, "inputs": [*source.inputs, *map(Path, how.inputs)]}
        aside = to_standard_output(f"output.{wanted}") if output == "-" else complete_file(output, **safely)
        place = stack.enter_context(aside)
        record = None
        if how.changes is not None:
            if os.path.realpath(how.changes) == os.path.realpath(output):
                raise OutputFileError("the changes and the adjusted rows need two files.\nHint: name another file.")
            beside = stack.enter_context(complete_file(how.changes, **safely))
            record = Changes(source, maps, batches, how, beside)
            stack.enter_context(_finished(record.sink))
        target = Target(place, Path(output), wanted, column, source.score, how.neutralise_formulas, how.made_by)
        sink = open_sink(batches, target)
        with _finished(sink):
            read, moved = _stream(batches, mapper, sink, record, there, how.progress)
            _complain(mapper, read, source)
            if how.judge is not None:
                how.judge(mapper.lowest, mapper.highest, mapper.outside, read)
        if there is not None and there != read:
            raise InputFileError(f"{read} rows were read, but there are {there}.\nHint: the file may be damaged.")
        if how.changes is not None:
            check_outputs(source.path, (output, how.changes), overwrite=how.overwrite)
            together.enter_context(taking_turns(Path(os.path.realpath(output)).parent))  # both are of one run
    written = read - mapper.dropped
    met = (mapper.lowest, mapper.highest) if mapper.lowest <= mapper.highest else None
    left: dict[str, Any] = {"unknown": mapper.unmapped[-1], "missing": mapper.unmapped[-2], "dropped": mapper.dropped}
    done = AppliedRows(written, moved, column, score_range=met, notes=tuple(mapper.notes(written, moved)), **left)
    if record is not None:
        done = replace(done, ranks_exact=record.exact, changes_sha256=record.sink.sha256)
    return replace(done, sha256=sink.sha256)


def check_outputs(
    inputs: Paths | None, targets: Sequence[str | Path | None], *, overwrite: bool = False, folder: bool = False
) -> None:
    """Refuse, before any work, outputs that are there already, or that would be read as rows the next time."""
    for place, target in enumerate(targets):
        if target is None or (place == 0 and str(target) == "-"):  # standard output
            continue
        check_name(target)
        if would_read(inputs, target):
            named = ", ".join(map(str, listed(inputs)[:3]))
            raise OutputFileError(
                f"{target} lies among the input ({named}), which would be read with everyone in it twice.\n"
                "Hint: name an output in another folder, outside the input."
            )
        if not folder:
            check_output(target, overwrite=overwrite)
        elif os.path.exists(target) and not overwrite:
            raise there_already(target)


def _stream(
    batches: Batches, mapper: Mapper, sink: Sink, record: Changes | None, total: int | None, progress: RowsDone | None
) -> tuple[int, int]:
    """Pass the rows through the maps into the output; return how many were read and how many moved."""
    read = moved = 0
    writing: Future[None] | None = None
    with ThreadPoolExecutor(max_workers=1) as behind:
        for batch in batches:
            read += batch.num_rows
            batch, scores, codes, adjusted = mapper(batch)
            if progress is not None:
                progress(read, total)
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


def _complain(mapper: Mapper, read: int, source: RowSource) -> None:
    """Raise if rows could not be mapped, and say which."""
    try:
        mapper.complain(read)
    except (ValueError, TypeError) as error:
        if str(error).startswith("the input has"):  # rows of other groups are many, or a file of its own
            raise
        judged = source.bare() if mapper.how.missing_group == "error" else source.bare().but(groups=())
        raise with_places(error, judged, mapper.how.memory, mapper.how.threads) from error


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


def _format(output: str | Path, given: str | None, source: RowSource) -> Format:
    """Tell the format of the output."""
    if given is not None:
        return cast(Format, check_choice(given, "output_format", OUTPUTS))
    if str(output) != "-":
        return format_of_output(Path(output))
    layout = next(iter(source.files.values()), None)
    return "csv" if layout is None else layout.format


def _open(source: RowSource, wanted: Format, how: Applying) -> Batches:
    """Open the rows of the files, or of a query, which have the types that DuckDB gives them."""
    if source.sql is None:
        return open_rows(source.files, wanted, source, how)

    def rows() -> Iterator[Any]:
        with DuckDBScan(source, how.memory, how.threads, ordered=True) as scan:
            yield from scan.whole_rows()

    stream = rows()
    schema = next(stream)
    for name in source.roles.values():
        find_column(name, schema.names, "the input")
    return Batches(schema, lambda: stream)


class Mapper:
    """Apply maps batch by batch; what is wrong with rows is counted to the end, then told at once."""

    def __init__(self, source: RowSource, batches: Batches, maps: Mapping[Hashable, ScoreMap], how: Applying) -> None:
        self.name, self.maps, self.how = source.score, maps, how
        self.decimal = "." if batches.layout is None else batches.layout.decimal
        schema, named = batches.schema, source.group_columns
        self.dropped = self.outside = self.words = 0
        self.unmapped = {-1: 0, -2: 0}  # rows without a map that were let through
        self.whole_scores = self.whole_results = True
        self.lowest, self.highest = np.inf, -np.inf
        self.bad: list[Floats] = []
        self.whole = False
        self.score = find_column(source.score, schema.names, "the input", "score")
        self.kind = batches.kind_of(self.score)
        self.groups = [find_column(g, schema.names, "the input", "group") for g in named]
        kinds = [batches.kind_of(place) for place in self.groups]
        self.places = GroupPlaces(source, list(maps), how, kinds)
        if self.kind == "typed":
            type_, types = schema.field(self.score).type, pa.types
            text = types.is_dictionary(type_) and not types.is_floating(type_.value_type)
            check_score_type("VARCHAR" if text else str(type_), self.name)
            self.whole = types.is_integer(type_)
        for place, kind in zip(self.groups, kinds):
            if kind == "typed":
                check_plain(schema.field(place).type, schema.names[place])

    @property
    def problems(self) -> bool:
        """Whether any row so far cannot be mapped."""
        return bool(self.bad or self.words or self.places.refused)

    def __call__(self, batch: Any) -> tuple[Any, Floats, NDArray[np.int64], Floats]:
        """Return a batch without dropped rows, its scores, the place of each row's group, and the adjusted scores."""
        scores = self._scores(batch.column(self.score))
        codes = self.places([batch.column(i) for i in self.groups], batch.num_rows)
        if self.how.drop_missing:
            gone = np.isnan(scores) | (codes == -2)
            if gone.any():
                rows = np.flatnonzero(~gone)
                self.dropped += int(gone.sum())
                batch, scores, codes = batch.take(rows), scores[rows], codes[rows]
        if self.problems:  # nothing is written any more
            return batch, scores, codes, scores
        adjusted = map_scores(scores, codes, list(self.maps.values()))
        if len(codes) and codes.min() < 0:
            for place, way in self.places.ways.items():
                rows = np.flatnonzero(codes == place)
                self.unmapped[place] += len(rows)
                if way == "null":
                    adjusted[rows] = np.nan
        if self.whole_scores:
            self.whole_scores = bool((np.floor(scores) == scores).all())
            self.whole_results &= bool(((np.floor(adjusted) == adjusted) | np.isnan(adjusted)).all())
        return batch, scores, codes, adjusted

    def _scores(self, column: Any) -> Floats:
        """Return scores as doubles, keeping those that are no finite numbers for the complaint."""
        column = numbers(column, self.kind, f"column {self.name!r}", self.decimal)
        self.words += count_words(column, self.kind)
        scores = doubles(column)
        low, high = (float(scores.min()), float(scores.max())) if len(scores) else (np.inf, -np.inf)
        usable = scores
        if not (low > -wording.LARGEST and high < wording.LARGEST):  # or some are NaN
            good = np.abs(scores) < wording.LARGEST
            usable = scores[good]
            low, high = float(usable.min(initial=np.inf)), float(usable.max(initial=-np.inf))
            bad = scores[~(good | np.isnan(scores)) if self.how.drop_missing else ~good]
            if len(bad) and not self.words:
                self.bad.append(bad)
        self.lowest, self.highest = min(self.lowest, low), max(self.highest, high)
        far = self.how.far
        if low < far[0] or high > far[1]:
            self.outside += int(((usable < far[0]) | (usable > far[1])).sum())
        return scores

    def complain(self, rows: int) -> None:
        """Raise if any row could not be mapped, or if there were none."""
        name = f"column {self.name!r}"
        if rows == 0:
            raise ValueError(wording.empty(name))
        if self.dropped == rows:
            raise ValueError(f"{name} or the group is missing in all {rows} rows: nothing is left.")
        problems: list[Exception] = list(self.places.problems())
        if self.words:
            problems.insert(0, TypeError(wording.no_numbers(name, self.words, in_text=self.kind == "text")))
        elif self.bad:
            problems.insert(0, ValueError(bad_scores(np.concatenate(self.bad), None, name, whole=self.whole)))
        if problems:
            raise wording.together(problems)

    def notes(self, rows: int, moved: int) -> Iterator[str]:
        """Say what scores and groups alone show to be odd about a result."""
        if rows > 1 and self.lowest == self.highest:
            yield f"all {rows} scores are {self.lowest:g}: is this the column of the score?"
        moving = [place for place, score_map in enumerate(self.maps.values()) if not score_map.is_identity]
        if moved == 0:
            why = "no score lies where the map moves scores"
            if not moving:
                why = "the map leaves every group as it is"
            elif not any(map(self.places.rows_at, moving)):
                named = wording.listed([self.places.known[place] for place in moving])
                why = f"the rows are of other groups than those that the map moves ({named})"
            yield f"nobody's score changed: {why}."
        elif self.whole_scores and not self.whole_results:
            told = "the scores are whole numbers, and adjusted ones are not"
            yield f"{told}: round them only if equal scores may be tied."


_OWN = {
    "row": "int64",
    "group": "string",
    "old_score": "float64",
    "new_score": "float64",
    "old_rank": "int64",
    "new_rank": "int64",
    "why": "string",
    "crossed": "string",
}


class Changes:
    """The record of changes, for each row: its number from 1, its group, old and new score and rank, and why.

    Rank 1 is the highest score of the whole file; equal scores share the best rank among them (1, 2, 2, 4).
    With a threshold, ``crossed`` says "up" or "down" where the score went over it; a score equal to the
    threshold counts as over it.
    """

    def __init__(
        self, source: RowSource, maps: Mapping[Hashable, ScoreMap], batches: Batches, how: Applying, place: Path
    ) -> None:
        called = GroupPlaces(source, list(maps), how).called
        counting = Counting(how.memory, how.threads, several=False, drop_missing=how.drop_missing, called=called)
        with DuckDBScan(source.bare(), how.memory, how.threads) as scan:
            counted = query.count(scan, counting)
        self.exact = counted.quantisation is None
        self.old = _ranks(counted.table.pooled())
        self.new = _ranks(counted.table.rescored({g: m for g, m in maps.items() if not m.is_identity}).pooled())
        self.names, self.maps = pa.array([str(g) for g in maps], pa.string()), list(maps.values())
        words = None if how.words is None else how.words()
        said = [("moved", "nobody of the group is moved") if words is None else words[g] for g in maps]
        self.words = [*(each for pair in said for each in part_words(*pair)), "no map for this group"]
        self.keep, self.threshold, self.rows = list(how.keep), how.threshold, 0
        clash = [name for name in self.keep if name in _OWN]
        if clash:
            raise OutputFileError(f"the record of changes has columns of its own named {clash}.\nHint: rename them.")
        kept = [batches.schema.field(batches.schema.names.index(name)) for name in self.keep]
        own = [pa.field(name, getattr(pa, type_)()) for name, type_ in _OWN.items()]
        self.schema = pa.schema([*kept, *(own if self.threshold is not None else own[:-1])])
        target = Path(cast(str | Path, how.changes))
        form = Target(place, target, format_of_output(target), None, None, how.neutralise_formulas, how.made_by)
        self.sink = open_sink(Batches(self.schema, lambda: iter(())), form)

    def add(self, batch: Any, old: Floats, new: Floats, codes: NDArray[np.int64]) -> None:
        """Record a batch."""
        number = np.arange(self.rows + 1, self.rows + len(old) + 1)
        self.rows += len(old)
        known = pa.array(codes, mask=codes < 0)  # a group without a map has no name here
        names = pa.DictionaryArray.from_arrays(known, self.names).cast(pa.string())
        kept = [batch.column(batch.schema.names.index(name)) for name in self.keep]
        scored, ranks = pa.array(new, from_pandas=True), pa.array(self.new(new), mask=np.isnan(new))
        columns = [*kept, number, names, old, scored, self.old(old), ranks, self._why(old, codes)]
        if self.threshold is not None:
            step = np.where(np.isnan(new), 0, (new >= self.threshold).astype(int) - (old >= self.threshold))
            columns.append(np.array([None, "up", "down"], dtype=object)[step])
        made = [pa.array(each) if isinstance(each, np.ndarray) else each for each in columns]
        arrays = [plain(each, field.type) for each, field in zip(made, self.schema)]
        self.sink.write(pa.RecordBatch.from_arrays(arrays, schema=self.schema), None)

    def _why(self, scores: Floats, codes: NDArray[np.int64]) -> Any:
        """Say of each row in which part of its group's map it lies."""
        places = np.full(len(scores), len(self.words) - 1, dtype=np.int64)
        for place, score_map in enumerate(self.maps):
            rows = np.flatnonzero(codes == place)
            if len(rows):
                places[rows] = place * len(PARTS) + score_map.parts(scores.take(rows))
        return pa.DictionaryArray.from_arrays(pa.array(places), pa.array(self.words, pa.string())).cast(pa.string())


def _ranks(counts: GroupCounts) -> Callable[[Floats], NDArray[np.int64]]:
    """Make what ranks scores in a whole file: one more than the number of rows with a higher score."""
    above = np.append(np.cumsum(counts.weight[::-1])[::-1], 0)
    return lambda scores: above[np.searchsorted(counts.score, scores, side="right")].astype(np.int64) + 1
