"""Adjust the scores of files: rows stream through the fitted maps with bounded memory."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, closing
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from fairpot._optional import import_optional
from fairpot.engines import checks
from fairpot.engines.batches import Batches, LineBatches, count_rows, open_batches
from fairpot.engines.changes import Changes
from fairpot.engines.columns import MISSING_WORDS, doubles, readings
from fairpot.engines.keys import Key, KeyCoder
from fairpot.engines.output import complete_file
from fairpot.engines.sinks import format_of_output, open_sink
from fairpot.engines.source import RowSource, find_column
from fairpot.exceptions import InputFileError, OutputFileError, UnseenGroupError
from fairpot.transport import ScoreMap

Floats = NDArray[np.float64]


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


def apply_maps(
    source: RowSource,
    maps: Mapping[Hashable, ScoreMap],
    *,
    output: str | Path,
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
    source : RowSource
        Label and weight are not needed.
    maps : mapping of group to ScoreMap
        ``maps_`` of a fitted post-processor. A group of the file that is not there is an error.
    output : path
        Written beside itself and renamed when complete; never the input.
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
    """
    target, column = Path(output), column or f"{source.score}_fair"
    used = _starting_at(maps, thresholds)
    if not source.group_columns:
        raise InputFileError("no group column is named.\nHint: maps belong to groups; name the columns with groups=...")
    batches = open_batches(source.bare(), format_of_output(target), keep, memory_limit)
    _check_columns(source, batches, column, replace, keep)
    total = count_rows(source) if progress is not None else 0
    mapper = Mapper(source, batches, used)
    with ExitStack() as stack:
        # Left in reverse: the record is in place before the adjusted file is.
        place = stack.enter_context(complete_file(target, force=force, inputs=source.files))
        record = None
        if changes is not None:
            if Path(changes).resolve() == target.resolve():
                raise OutputFileError("the changes and the adjusted rows need two files.")
            beside = stack.enter_context(complete_file(changes, force=force, inputs=source.files))
            record = Changes(source, used, batches, keep, threshold, memory_limit)
            stack.enter_context(closing(record.open(beside, Path(changes))))
        sink = stack.enter_context(closing(open_sink(place, target, batches, column)))
        behind = stack.enter_context(ThreadPoolExecutor(max_workers=1))
        writing: Future[None] | None = None
        rows = moved = 0
        for batch in batches:
            scores, codes, adjusted = mapper(batch)
            rows += batch.num_rows
            if progress is not None:
                progress(rows, max(total, rows))
            if not mapper.problems:
                moved += int((scores != adjusted).sum())
                if writing is not None:
                    writing.result()
                writing = behind.submit(sink.write, batch, adjusted)  # while the next batch is read and mapped
                if record is not None:
                    record.add(batch, scores, adjusted, codes)
        if writing is not None:
            writing.result()
        mapper.complain(rows)
    return AppliedRows(rows, moved, column, record is None or record.exact)


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
    names = batches.columns if isinstance(batches, LineBatches) else batches.schema.names
    for name in keep:
        find_column(name, names, "the input")
    if names.count(column) > 1 or (column in names and not replace):
        raise OutputFileError(
            f"the input has a column {column!r} already.\nHint: choose another name, or replace to overwrite it."
        )
    if column in source.group_columns:
        raise OutputFileError(f"the column {column!r} is the group: it cannot hold the score.")


class Mapper:
    """Apply maps batch by batch; what is wrong with rows is counted to the end, then told at once."""

    def __init__(self, source: RowSource, batches: Batches, maps: Mapping[Hashable, ScoreMap]) -> None:
        self.source, self.batches, self.maps = source, batches, maps
        self.known = list(maps)
        self.moving = [i for i, group in enumerate(self.known) if not maps[group].is_identity]
        names = batches.schema.names
        self.score = find_column(source.score, names, "the input")
        self.groups = [find_column(g, names, "the input") for g in source.group_columns]
        self.coder = KeyCoder(source.group_columns)
        self.places = np.empty(0, dtype=np.int64)
        self.met = np.empty(0, dtype=np.int64)
        self.bad: list[Floats] = []
        self.words: list[str] = []
        self.whole = False
        if batches.kind == "typed":
            self._check_type(batches.schema.field(self.score).type)
            for place in self.groups:
                checks.check_plain(batches.schema.field(place).type, names[place])

    @property
    def problems(self) -> bool:
        """Whether any row so far cannot be mapped."""
        return bool(self.bad or self.words or (self.places < 0).any())

    def __call__(self, batch: Any) -> tuple[Floats, NDArray[np.int64], Floats]:
        """Return the scores of a batch, the place of each row's group, and the adjusted scores."""
        scores = self._scores(batch.column(self.score))
        key = self.coder.encode([batch.column(i) for i in self.groups], batch.num_rows)
        self._learn()
        self.met += np.bincount(key, minlength=len(self.met))
        codes = self.places[key]
        adjusted = scores.copy()
        for place in self.moving:
            rows = np.flatnonzero(codes == place)
            if len(rows) and not self.problems:
                adjusted[rows] = self.maps[self.known[place]](scores.take(rows))
        return scores, codes, adjusted

    def _check_type(self, type_: Any) -> None:
        pa = import_optional("pyarrow", "cli")
        types = pa.types
        kind = "text" if types.is_dictionary(type_) and not types.is_floating(type_.value_type) else str(type_)
        checks.check_score_type("VARCHAR" if kind == "text" else kind, self.source.score)
        self.whole = types.is_integer(type_)

    def _scores(self, column: Any) -> Floats:
        """Return scores as doubles, keeping those that are no finite numbers for the complaint."""
        pa = import_optional("pyarrow", "cli")
        if self.batches.kind != "typed":
            column = self._from_text(column)
        elif pa.types.is_decimal(column.type):
            column = column.cast(pa.string())
        if column.type != pa.float64():
            column = column.cast(pa.float64(), safe=False)
        scores = doubles(column)
        good = np.abs(scores) < (2**53 if self.whole else checks.LARGEST)
        if not good.all() and not self.words:
            self.bad.append(scores[~good])
        return scores

    def _from_text(self, column: Any) -> Any:
        """Read text as numbers; words that are none are kept for the complaint."""
        pa, pc = import_optional("pyarrow", "cli"), import_optional("pyarrow.compute", "cli")
        words = pa.array([*MISSING_WORDS], pa.string())
        text = pc.utf8_trim(column, " ")
        text = pc.if_else(pc.is_in(text, words), pa.scalar(None, pa.string()), text)
        try:
            return text.cast(pa.float64())
        except pa.ArrowInvalid:
            numbers = [_number(word) for word in text.to_pylist()]
            self.words += [w for w, v in zip(text.to_pylist(), numbers) if v is None and w is not None]
            return pa.array(numbers, pa.float64())

    def _learn(self) -> None:
        """Find the map of combinations that have not been met before: -1 for none, -2 for a missing group."""
        new = [self._place(key) for key in self.coder.keys[len(self.places) :]]
        if new:
            self.places = np.append(self.places, np.array(new, dtype=np.int64))
            self.met = np.append(self.met, np.zeros(len(new), dtype=np.int64))

    def _place(self, key: Key) -> int:
        ways = [self._readings(value) for value in key]
        if any(way[0] is None or way[0] != way[0] for way in ways):
            return -2
        for choice in product(*ways):
            name = self._name(choice)
            if isinstance(name, Hashable) and name in self.maps:
                return self.known.index(name)
        return -1

    def _readings(self, value: Any) -> list[Any]:
        if self.batches.exact_types or value is None:
            return readings(value, self.batches.kind)
        return [value, str(value)]

    def _name(self, values: Sequence[Any]) -> Hashable:
        if len(values) == 1:
            return cast(Hashable, values[0])
        return ", ".join(f"{column}={value}" for column, value in zip(self.source.group_columns, values))

    def complain(self, rows: int) -> None:
        """Raise if any row could not be mapped, or if there were none."""
        name = self.source.score
        if rows == 0:
            raise ValueError(f"column {name!r} is empty: there are no rows to work on.")
        if self.words:
            raise TypeError(checks.no_numbers(len(self.words), min(self.words), name))
        if self.bad:
            raise ValueError(checks.bad_scores(np.concatenate(self.bad), None, name, whole=self.whole))
        self._complain_of_groups()

    def _complain_of_groups(self) -> None:
        gone = self.places == -2
        if gone.any():
            lost = [self.coder.keys[i] for i in np.flatnonzero(gone)]
            first = next(j for key in lost for j, v in enumerate(key) if (r := self._readings(v)[0]) is None or r != r)
            raise ValueError(checks.missing_groups(int(self.met[gone].sum()), self.source.group_columns[first]))
        unseen = self.places == -1
        if unseen.any():
            keys = [self.coder.keys[i] for i in np.flatnonzero(unseen)]
            names = [self._name([self._readings(v)[0] for v in key]) for key in keys]
            raise UnseenGroupError(
                f"the input has {int(self.met[unseen].sum())} rows with a group not seen in fit: {names[:10]} "
                f"(seen: {self.known}).\n"
                "Hint: refit with those rows, or drop them; fairpot never passes unknown groups through unchanged."
            )


def _number(word: str | None) -> float | None:
    try:
        return None if word is None or "_" in word else float(word)
    except ValueError:
        return None
