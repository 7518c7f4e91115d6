"""The table when there are too many distinct scores: rows are counted in bins, and the loss is measured."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairpot._validation.checked_rows import check_weight_of_groups, check_weights
from fairpot._validation.wording import LARGEST
from fairpot.counting import weights_mean
from fairpot.counts import GroupCounts, Indices
from fairpot.engines.naming import Key, KeyCoder, Kind, doubles, name_keys
from fairpot.engines.protocol import Roles, Rules
from fairpot.table import QuantisationBound, ScoreTable
from fairpot.transport import Floats

MOST_BINS = 500_000
# A value that comes up this often in a sample of about four a bin is given a bin of its own.
_ATOM = 8


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


class BinnedRows:
    """Counts of rows in bins, one array for each combination of group and label.

    Parameters
    ----------
    source : Roles
    kind : str
        How values of group and label columns come.
    edges : array
        Where bins begin; the first is -inf.
    """

    def __init__(self, source: Roles, kind: Kind, edges: Floats) -> None:
        self.source, self.kind, self.edges = source, kind, edges
        names = [*source.group_columns, *([] if source.label is None else [source.label])]
        self.coder = KeyCoder(names)
        self.weights: dict[int, Floats] = {}
        # Whether weights are whole is known at the end, and with it what they mean.
        kept = source.weight is not None and source.weights != "frequency"
        self.squares: dict[int, Floats] | None = {} if kept else None
        self.rows: dict[int, int] = {}
        size = len(edges)
        self.low, self.high = np.full(size, np.inf), np.full(size, -np.inf)
        self.mass = np.zeros(size)
        self.bad_scores: list[Floats] = []
        self.bad_weights: list[Floats] = []
        self.whole = True
        self.words = {"score": 0, "weight": 0}
        self.least, self.most = np.inf, 0.0  # of the weights above 0

    @property
    def _weight_name(self) -> str:
        return f"column {self.source.weight!r}"

    def add(self, batch: Any, words: Callable[[Any], int]) -> None:
        """Count an Arrow batch: the columns of the combination, the score and perhaps the weight.

        ``words`` counts the rows of a column that are no numbers.
        """
        for role in ("score", "weight") if self.source.weight is not None else ("score",):
            self.words[role] += words(batch.column(role))
        key = self.coder.encode(batch.columns[: len(self.coder.names)], batch.num_rows)
        score = doubles(batch.column("score")) + 0.0
        weight = None if self.source.weight is None else doubles(batch.column("weight"))
        for code in np.flatnonzero(np.bincount(key)).tolist():
            chosen = np.flatnonzero(key == code)
            self.rows[code] = self.rows.get(code, 0) + len(chosen)
            self._add_rows(code, score[chosen], None if weight is None else weight[chosen])

    def _add_rows(self, code: int, score: Floats, weight: Floats | None) -> None:
        good = np.abs(score) < LARGEST
        if not good.all():
            self.bad_scores.append(score[~good])
            score, weight = score[good], None if weight is None else weight[good]
        if weight is not None and not (np.isfinite(weight) & (weight >= 0)).all():
            self.bad_weights.append(weight[~(np.isfinite(weight) & (weight >= 0))])
            return
        if weight is None:
            ordered, running = np.sort(score), None
        else:
            self.whole = self.whole and bool((weight == np.floor(weight)).all())
            order = np.argsort(score)
            order = order[weight[order] > 0]
            ordered, running = score[order], weight[order]
            self.least = min(self.least, float(running.min(initial=np.inf)))
            self.most = max(self.most, float(running.max(initial=0.0)))
        if len(ordered):
            self._add_sorted(code, ordered, running)

    def _add_sorted(self, code: int, score: Floats, weight: Floats | None) -> None:
        """Add rows in the order of their scores: where the bins begin among them says all."""
        begin = np.searchsorted(score, self.edges)
        bins = np.flatnonzero(np.diff(begin, append=len(score)))
        first, last = begin[bins], np.append(begin[1:], len(score))[bins] - 1
        mass = (last - first + 1).astype(np.float64) if weight is None else np.add.reduceat(weight, first)
        squares = None
        if weight is not None and self.squares is not None:
            with np.errstate(over="ignore"):  # weights whose squares overflow are refused at the end
                squares = np.add.reduceat(weight**2, first)
        self.take(code, bins, mass, squares, score[first], score[last])

    def take(
        self, code: int, bins: NDArray[Any], mass: Floats, squares: Floats | None, low: Floats, high: Floats
    ) -> None:
        """Take what was counted in some bins: weight, squared weights if they are kept, lowest and highest score."""
        self._held(self.weights, code)[bins] += mass
        if self.squares is not None and squares is not None:
            self._held(self.squares, code)[bins] += squares
        self.mass[bins] += mass
        self.low[bins] = np.minimum(self.low[bins], low)
        self.high[bins] = np.maximum(self.high[bins], high)

    def _held(self, sums: dict[int, Floats], code: int) -> Floats:
        return sums.setdefault(code, np.zeros(len(self.edges)))

    def finish(
        self, several: bool, rules: Rules, called: Callable[[Key], Hashable] | None = None
    ) -> tuple[ScoreTable, int, QuantisationBound]:
        """Check what was counted; return the table, the number of rows and how far the table can be off."""
        if self.bad_scores:
            rules.explain(np.concatenate(self.bad_scores), None, self.words["score"])
        if self.bad_weights:
            bad = np.concatenate(self.bad_weights)
            rules.explain_weights(bad, np.ones(len(bad), dtype=np.int64), self.words["weight"])
        rows = np.array([self.rows.get(i, 0) for i in range(len(self.coder.keys))], dtype=np.int64)
        codes, groups, labels = name_keys(self.coder.keys, rows, self.source, self.kind, several, called)
        used = np.flatnonzero(self.mass)
        positives, negatives = self._by_label(self.weights, codes, labels, len(groups), used)
        if self.source.weight is not None:
            total = (positives + negatives).sum(axis=1)
            extremes = np.array([self.least, self.most]) if self.most > 0 else np.zeros(1)
            check_weights(extremes, np.ones(len(extremes), dtype=np.int64), self._weight_name)
            check_weight_of_groups(total, groups, self._weight_name)
        squares = None
        if self.squares is not None and weights_mean(self.source.weights, self.whole) == "importance":
            squares = self._by_label(self.squares, codes, labels, len(groups), used)
        table = self._table(groups, positives, negatives, squares, used, labels is not None)
        return table, int(rows.sum()), self._bound(positives, negatives, used)

    def _by_label(
        self, sums: dict[int, Floats], codes: NDArray[Any], labels: NDArray[np.int8] | None, groups: int, used: Indices
    ) -> NDArray[np.float64]:
        """Add up the sums of all combinations by label, positive first, group and bin."""
        found = np.zeros((2, groups, len(used)))
        for code, counts in sums.items():
            found[0 if labels is not None and labels[code] else 1, codes[code]] += counts[used]
        return found

    def _centres(self, used: Indices) -> Floats:
        """Return the middle of each bin, whatever the order of the rows; a score alone in its bin stays as it was."""
        low, high = self.low[used], self.high[used]
        return np.where(low < high, low / 2 + high / 2, low)

    def _table(
        self,
        groups: tuple[Any, ...],
        positives: Floats,
        negatives: Floats,
        squares: Floats | None,
        used: Indices,
        labelled: bool,
    ) -> ScoreTable:
        kind = np.int64 if self.whole else np.float64
        centres, counts = self._centres(used), []
        for group, (positive, negative) in enumerate(zip(positives, negatives)):
            there = positive + negative > 0
            squared = None if squares is None else (squares[0, group, there], squares[1, group, there])
            sides = positive[there].astype(kind), negative[there].astype(kind)
            counts.append(GroupCounts(centres[there], *sides, squared))
        source = self.source
        known = (None, source.lower_is_riskier, source.weight is not None, source.high_score_means)
        return ScoreTable(groups, tuple(counts), labelled, *known, tuple(source.group_columns))

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
