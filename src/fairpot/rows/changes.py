"""The record of what an apply changed for each row: scores, ranks, and a threshold crossed."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairpot._optional import Lazy
from fairpot.counts import GroupCounts
from fairpot.exceptions import OutputFileError
from fairpot.rows.decoding import plain
from fairpot.rows.formats import open_sink
from fairpot.rows.formats.layout import Batches, Sink, Target, format_of_output
from fairpot.rows.readers.protocol import CountedRows
from fairpot.transport import Floats, ScoreMap
from fairpot.transport.scoremap import PARTS, part_words

pa = Lazy("pyarrow", "cli")

_OWN = ("row", "group", "old_score", "new_score", "old_rank", "new_rank", "why", "crossed")
_NO_MAP = "no map for this group"


class Changes:
    """Write, for each row: its number from 1, its group, old and new score, old and new rank, and why.

    Rank 1 is the highest score of the whole file; equal scores share the best rank among them (1, 2, 2, 4).
    With a threshold, ``crossed`` says "up" or "down" where the score went over it; a score equal to the
    threshold counts as over it.
    """

    def __init__(
        self,
        counted: CountedRows,
        maps: Mapping[Hashable, ScoreMap],
        batches: Batches,
        keep: Sequence[str],
        threshold: float | None,
        words: Mapping[Hashable, tuple[str, ...]] | None = None,
    ) -> None:
        self.exact = counted.quantisation is None
        self.old = _Ranks(counted.table.pooled())
        self.new = _Ranks(counted.table.rescored({g: m for g, m in maps.items() if not m.is_identity}).pooled())
        self.names = np.array([str(g) for g in maps], dtype=object)
        self.maps = list(maps.values())
        said = [("moved", "nobody of the group is moved") if words is None else words[g] for g in maps]
        self.words = [*(each for pair in said for each in part_words(*pair)), _NO_MAP]
        self.keep, self.threshold, self.rows = list(keep), threshold, 0
        self.schema = self._schema(batches)
        self.sink: Sink | None = None

    def _schema(self, batches: Batches) -> Any:
        clash = [name for name in self.keep if name in _OWN]
        if clash:
            raise OutputFileError(f"the record of changes has columns of its own named {clash}.\nHint: rename them.")
        kept = [batches.schema.field(batches.schema.names.index(name)) for name in self.keep]
        types = [pa.int64(), pa.string(), pa.float64(), pa.float64(), pa.int64(), pa.int64(), pa.string(), pa.string()]
        own = _OWN if self.threshold is not None else _OWN[:-1]
        return pa.schema(kept + [pa.field(name, type_) for name, type_ in zip(own, types)])

    def open(self, place: Path, target: Path, neutralise: bool) -> Sink:
        """Open the file."""
        own = Batches(self.schema, lambda: iter(()))
        self.sink = open_sink(own, Target(place, target, format_of_output(target), neutralise=neutralise))
        return self.sink

    def add(self, batch: Any, old: Floats, new: Floats, codes: NDArray[np.int64]) -> None:
        """Record a batch."""
        assert self.sink is not None
        numbers = np.arange(self.rows + 1, self.rows + len(old) + 1)
        self.rows += len(old)
        known = pa.array(codes, mask=codes < 0)  # a group without a map has no name here
        names = pa.DictionaryArray.from_arrays(known, pa.array(self.names, pa.string())).cast(pa.string())
        kept = [batch.column(batch.schema.names.index(name)) for name in self.keep]
        scored, ranks = pa.array(new, from_pandas=True), pa.array(self.new(new), mask=np.isnan(new))
        columns = [*kept, numbers, names, old, scored, self.old(old), ranks, self._why(old, codes)]
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


class _Ranks:
    """Places in the ranking of a whole file."""

    def __init__(self, counts: GroupCounts) -> None:
        self.score = counts.score
        self.above = np.append(np.cumsum(counts.weight[::-1])[::-1], 0)

    def __call__(self, scores: Floats) -> NDArray[np.int64]:
        """Return one more than the number of rows with a higher score."""
        place = np.searchsorted(self.score, scores, side="right")
        return self.above[place].astype(np.int64) + 1
