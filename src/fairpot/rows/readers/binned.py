"""The table when there are too many distinct scores: rows are counted in bins, and the loss is measured."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairpot.counts import GroupCounts, Indices
from fairpot.rows.decoding import as_numpy, doubles
from fairpot.rows.readers.grouped import KeyCoder
from fairpot.rows.roles import Roles
from fairpot.table import QuantisationBound, ScoreTable
from fairpot.transport import Floats

MOST_BINS = 500_000
# A value that comes up this often in a sample of about four a bin is given a bin of its own.
_ATOM = 8
SUMS = ("mass", "squares", "rows")
BinCounter = Callable[[Iterator[Any]], Iterator[Any]]


def choose_edges(sample: Floats, limit: int, groups: int = 2) -> Floats:
    """Choose where bins begin, so that each holds about as many rows; frequent values are alone in theirs.

    All groups have the same bins: together they have at most ``limit``, or half of it for a single group.
    """
    bins = max(min(limit // max(groups, 2), MOST_BINS), 1)
    if len(sample) == 0:
        return np.array([-np.inf])
    ordered = np.sort(sample) + 0.0
    edges = ordered[np.linspace(0, len(ordered), bins, endpoint=False).astype(np.intp)]
    values, times = np.unique(ordered, return_counts=True)
    atoms = values[times >= _ATOM]
    return np.unique(np.concatenate(([-np.inf], edges, atoms, np.nextafter(atoms, np.inf))))


def bin_counter(edges: Floats, width: int, weighted: bool) -> BinCounter:
    """Make the function that counts batches of ``width`` keys, a score and perhaps a weight in bins.

    It gives a row for each combination of keys and each bin that it is in. It may go to workers of a cluster, that need
    NumPy and PyArrow, not fairpot; scores and weights have been checked.
    """

    def count(batches: Iterator[Any]) -> Iterator[Any]:
        import numpy as np
        import pyarrow as pa

        size, types = len(edges), []
        low, high = np.full(size, np.inf), np.full(size, -np.inf)
        held: dict[Any, Any] = {}
        for batch in batches:
            types = [column.type for column in batch.columns[:width]]
            coded = [column.dictionary_encode(null_encoding="encode") for column in batch.columns[:width]]
            key = np.zeros(batch.num_rows, dtype=np.int64)
            for column in coded:
                key = key * len(column.dictionary) + column.indices.to_numpy()
            score = batch.column("score").to_numpy(zero_copy_only=False) + 0.0
            weight: Any = batch.column("weight").to_numpy(zero_copy_only=False) if weighted else None
            few = key.max(initial=0) < len(key)  # then they need no sort
            for code in (np.flatnonzero(np.bincount(key)) if few else np.unique(key)).tolist():
                rows = np.flatnonzero(key == code)
                named = tuple(column[int(rows[0])].as_py() for column in coded)
                sums = held.setdefault(named, np.zeros((3 if weighted else 1, size)))
                # In the order of the scores, where bins begin among them says all.
                order = np.argsort(score[rows]) if weighted else None
                ordered = np.sort(score[rows]) if order is None else score[rows][order]
                begin = np.searchsorted(ordered, edges)
                used = np.flatnonzero(np.diff(begin, append=len(ordered)))
                first, last = begin[used], np.append(begin[1:], len(ordered))[used] - 1
                low[used], high[used] = np.minimum(low[used], ordered[first]), np.maximum(high[used], ordered[last])
                sums[-1, used] += last - first + 1
                for power, total in enumerate(sums[:-1], start=1):
                    total[used] += np.add.reduceat(weight[rows][order] ** power, first)
        for named, sums in held.items():
            used = np.flatnonzero(sums[0])
            columns = [pa.array([value] * len(used), type_) for value, type_ in zip(named, types)]
            columns += [
                pa.array(each) for each in (used, *sums[[0, len(sums) // 2, -1]][:, used], low[used], high[used])
            ]
            names = [*(f"key{i}" for i in range(width)), "bin", "mass", "squares", "rows", "low", "high"]
            yield pa.RecordBatch.from_arrays(columns, names=names)

    return count


class BinnedRows:
    """Weights of rows in bins that begin at ``edges``, their squares and their number, by combination of the coder."""

    def __init__(self, source: Roles, coder: KeyCoder, edges: Floats, squared: bool) -> None:
        self.source, self.coder, self.squared = source, coder, squared
        kept = [name for name in SUMS if name == "mass" or (source.weight is not None and (squared or name == "rows"))]
        self.sums = {name: np.zeros((len(coder.keys), len(edges))) for name in kept}
        self.low, self.high = np.full(len(edges), np.inf), np.full(len(edges), -np.inf)

    def take(self, batch: Any) -> None:
        """Take what was counted in some bins: keys, bin, weight, its squares and rows, lowest and highest score."""
        key = self.coder.encode(batch.columns[: len(self.coder.names)], batch.num_rows).astype(np.int64)
        bins = as_numpy(batch.column("bin"))
        for name, total in self.sums.items():
            np.add.at(total.reshape(-1), key * len(self.low) + bins, doubles(batch.column(name)))
        np.minimum.at(self.low, bins, doubles(batch.column("low")))
        np.maximum.at(self.high, bins, doubles(batch.column("high")))

    def finish(
        self, codes: NDArray[Any], groups: tuple[Hashable, ...], labels: NDArray[np.int8] | None, whole: bool
    ) -> tuple[ScoreTable, QuantisationBound]:
        """Return the table, and how far it can be off.

        A code and a label say what each combination is called; ``whole`` is whether all weights are whole numbers.
        """
        used = np.flatnonzero(self.low <= self.high)
        sums = {name: self._by_label(name, codes, labels, len(groups), used) for name in self.sums}
        mass = sums["mass"]
        centres, counts = self._centres(used), []
        for group in range(len(groups)):
            there = mass[:, group].sum(axis=0) > 0
            sides = mass[:, group, there].astype(np.int64 if whole else np.float64)
            more = {name: sums[name][:, group, there] for name in self.sums if name != "mass"}
            behind = {name: (each[0], each[1]) for name, each in more.items()}
            if "rows" in behind:
                behind["rows"] = (behind["rows"][0].astype(np.int64), behind["rows"][1].astype(np.int64))
            counts.append(GroupCounts(centres[there], sides[0], sides[1], **behind))
        source = self.source
        known = (None, source.lower_is_riskier, source.high_score_means)
        table = ScoreTable(groups, tuple(counts), labels is not None, *known, tuple(source.group_columns))
        return table, self._bound(mass[0], mass[1], used)

    def _by_label(
        self, name: str, codes: NDArray[Any], labels: NDArray[np.int8] | None, groups: int, used: Indices
    ) -> NDArray[np.float64]:
        """Add up the sums of all combinations by label, positive first, group and bin."""
        found = np.zeros((2, groups, len(used)))
        for code, sums in enumerate(self.sums[name]):
            found[0 if labels is not None and labels[code] else 1, codes[code]] += sums[used]
        return found

    def _centres(self, used: Indices) -> Floats:
        """Return the middle of each bin, whatever the order of the rows; a score alone in its bin stays as it was."""
        low, high = self.low[used], self.high[used]
        return np.where(low < high, low / 2 + high / 2, low)

    def _bound(self, positives: Floats, negatives: Floats, used: Indices) -> QuantisationBound:
        """Measure the loss: only pairs of different scores that share a bin can change."""
        low, high = self.low[used], self.high[used]
        mixed = low < high
        pairs = positives[:, mixed] @ negatives[:, mixed].T
        total = np.outer(positives.sum(axis=1), negatives.sum(axis=1))
        share = np.divide(pairs, total, out=np.zeros(pairs.shape), where=total > 0)
        centres = self._centres(used)
        shift = float(np.maximum(centres - low, high - centres).max(initial=0.0))
        return QuantisationBound(float(pairs.sum() / max(total.sum(), 1)), share, shift)
