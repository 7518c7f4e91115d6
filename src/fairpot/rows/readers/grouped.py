"""The table from distinct combinations: values as files hold them, named and classed as in memory."""

from __future__ import annotations

import decimal
from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fairpot._arguments import argument
from fairpot._defaults import Weights
from fairpot._optional import Lazy
from fairpot._validation import check_groups, swapped_values, wording
from fairpot._validation.checked_rows import check_counted_scores, check_weight_of_groups, check_weights
from fairpot._validation.values import named_label
from fairpot.counting import are_whole, hash_names, number_units, weights_mean
from fairpot.counts import Indices, Units
from fairpot.exceptions import MissingGroupError
from fairpot.rows.decoding import EXACT, MISSING_WORDS, as_numpy, count_words, decoded, doubles
from fairpot.rows.readers.protocol import CountedRows, Namer
from fairpot.rows.roles import Kind, Roles
from fairpot.table import ScoreTable

pa = Lazy("pyarrow", "cli")
_NUMERIC = (bool, int, float, decimal.Decimal)
Counts = NDArray[np.int64]
Key = tuple[Any, ...]


def name_groups(
    keys: Sequence[Key], rows: Counts, source: Roles, *, several: bool
) -> tuple[NDArray[np.intp], tuple[Hashable, ...]]:
    """Name the groups that distinct combinations of values form, as in memory; return a code for each."""
    names = source.group_columns
    if not names:
        return np.zeros(len(keys), dtype=np.intp), ("all",)
    columns: dict[str, list[Any]] = {}
    for j, name in enumerate(names):
        columns[name] = _meant([key[j] for key in keys], source.kind)
        gone = _missing(columns[name])
        if gone.any():
            raise MissingGroupError(wording.missing_groups(f"column {name!r}", int(rows[gone].sum())))
    given: Any = columns if len(names) > 1 else columns[names[0]]
    codes, groups = check_groups(given, len(keys), f"column {names[0]!r}", several=False)
    if several and len(groups) < 2:
        where = f"column {names[0]!r} has" if len(names) == 1 else f"the columns {list(names)} have"
        raise ValueError(wording.single_group(where, groups[0], int(rows.sum())))
    return codes, groups


def _meant(values: Sequence[Any], kind: Kind) -> list[Any]:
    """Say what the values of a column mean, which all that it holds tell together."""
    met = list(dict.fromkeys(values))
    meaning = dict(zip(met, decoded(met, kind)))
    return [meaning[value] for value in values]


def _missing(values: Sequence[Any]) -> NDArray[np.bool_]:
    return np.array([v is None or v != v for v in values], dtype=bool)


def name_labels(values: Sequence[Any], rows: Counts, source: Roles) -> NDArray[np.int8]:
    """Tell which values of the label are positive: 0/1, booleans, or two values of which one is named."""
    name, labels = f"column {source.label!r}", _meant(values, source.kind)
    gone = _missing(labels)
    if gone.any():
        raise ValueError(wording.missing_labels(name, int(rows[gone].sum())))
    distinct = wording.in_order(set(labels))
    if source.pos_label is not None:
        chosen = named_label(distinct, source.pos_label, name)
        return np.array([v == chosen for v in labels], dtype=np.int8)
    if all(isinstance(v, _NUMERIC) and v in (0, 1) for v in distinct):
        return np.array([bool(v) for v in labels], dtype=np.int8)
    of_each: Counter[Any] = Counter()
    for label, count in zip(labels, rows.tolist()):
        of_each[label] += count
    raise ValueError(wording.not_binary(name, of_each, "pos_label"))


def name_keys(
    keys: Sequence[Key], rows: Counts, source: Roles, several: bool, called: Namer | None = None, scores: Any = None
) -> tuple[NDArray[Any], tuple[Hashable, ...], NDArray[np.int8] | None]:
    """Name groups and labels of distinct combinations, the label last: a code and a label for each.

    ``called`` says what a combination of group values is called, instead of the rules of memory; ``scores`` tell, where
    they are known, whether their column was swapped with that of the labels.
    """
    labels = None
    if source.label is not None:
        values = [key[-1] for key in keys]
        try:
            labels = name_labels(values, rows, source)
        except ValueError:
            if scores is not None:
                refuse_swapped(source, values, scores)
            raise
    parts = [key[: len(source.group_columns)] for key in keys]
    if called is None:
        return *name_groups(parts, rows, source, several=several), labels
    places: dict[Hashable, int] = {}
    codes = np.array([places.setdefault(called(part), len(places)) for part in parts], dtype=np.intp)
    return codes, tuple(places), labels


def refuse_swapped(source: Roles, labels: Sequence[Any], scores: NDArray[np.float64], *, more: bool = False) -> None:
    """Say of labels that were refused that their column looks swapped with that of the scores, where it does."""
    met = decoded(list(dict.fromkeys(labels)), source.kind)
    values = swapped_values(np.array([*met, None], dtype=object)[:-1], scores)  # the None keeps lists from unfolding
    if values is not None:
        label, score = source.label, source.score
        right = f"name the columns the other way round, {argument('score', label)} and {argument('label', score)}."
        raise ValueError(wording.swapped(f"column {label!r}", f"column {score!r}", values, right, more=more)) from None


# More combinations than this are no groups: somebody named a column of identifiers or of scores.
MOST_KEYS = 50_000


class KeyCoder:
    """Number the combinations of values of some columns in the order they are met.

    Parameters
    ----------
    names : sequence of str
        The columns, for error messages.
    """

    def __init__(self, names: Sequence[str]) -> None:
        self.names = tuple(names)
        self.keys: list[Key] = []
        self._places: dict[Key, int] = {}

    @classmethod
    def of(cls, source: Roles) -> KeyCoder:
        """Make one for the columns of group and label."""
        return cls([*source.group_columns, *([] if source.label is None else [source.label])])

    def encode(self, columns: Sequence[Any], rows: int) -> NDArray[np.int32]:
        """Return the number of each row's combination; missing values are values of their own."""
        if not columns:
            self.place(())
            return np.zeros(rows, dtype=np.int32)
        coded = [_dictionary(column) for column in columns]
        sizes = [len(values) for _, values in coded]
        combined = coded[0][0]
        for (codes, _), size in zip(coded[1:], sizes[1:]):
            combined = combined * size + codes
        met, inverse = _distinct(combined, int(np.prod(sizes, dtype=np.int64)))
        self.limit(len(met))
        values = [
            each.take(pa.array(place)).to_pylist() for (_, each), place in zip(coded, np.unravel_index(met, sizes))
        ]
        return np.array([self.place(key) for key in zip(*values)], dtype=np.int32)[inverse]

    def place(self, key: Key) -> int:
        """Return the number of a combination, a new one if it has not been met."""
        # 1, 1.0 and True are equal to Python but not to us; NaN is not even equal to itself.
        mark = tuple((type(v).__name__, repr(v)) for v in key)
        place = self._places.get(mark)
        if place is None:
            self.limit(len(self.keys) + 1)
            place = self._places[mark] = len(self.keys)
            self.keys.append(key)
        return place

    def limit(self, count: int) -> None:
        """Refuse more combinations than there can be groups."""
        if count > MOST_KEYS:
            raise ValueError(
                f"the columns {list(self.names)} have more than {MOST_KEYS:,} different values.\n"
                "Hint: groups and outcomes have few; was a column of identifiers or of scores named?"
            )


def _distinct(codes: NDArray[np.int64], size: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the distinct codes and each row's place among them; without a sort where codes are dense."""
    if size > max(4 * len(codes), 1 << 16):
        met, inverse = np.unique(codes, return_inverse=True)
        return met, inverse
    met = np.flatnonzero(np.bincount(codes, minlength=size))
    lookup = np.zeros(size, dtype=np.int64)
    lookup[met] = np.arange(len(met))
    return met, lookup[codes]


def _dictionary(column: Any) -> tuple[NDArray[np.int64], Any]:
    """Code one Arrow column, return codes and values; a missing value gets a code like any other."""
    if hasattr(column, "combine_chunks") and hasattr(column, "chunks"):
        column = column.combine_chunks()
    if hasattr(column, "dictionary") and (column.null_count or column.dictionary.null_count):
        column = column.cast(column.type.value_type)
    if not hasattr(column, "dictionary"):
        column = column.dictionary_encode(null_encoding="encode")
    return as_numpy(column.indices).astype(np.int64), column.dictionary


# Weights that are not whole are added up one by one, as in memory, up to this many rows.
_ONE_BY_ONE = 50_000_000


def explain(
    source: Roles, role: str, values: NDArray[np.float64], rows: Counts | None, words: int, *, whole: bool = False
) -> None:
    """Check scores or weights, ``rows`` of each (None: one), ``words`` rows of which were no numbers."""
    name = f"column {source.roles[role]!r}"
    if words:
        raise TypeError(wording.no_numbers(name, words, in_text=source.kind == "text"))
    if role == "score":
        check_counted_scores(values, rows, name, whole=whole)
    else:
        check_weights(values, np.ones(len(values), dtype=np.int64) if rows is None else rows, name)


class ClusterColumn:
    """What rows belong together by, as an engine hands it over: pieces of one Arrow column.

    Parameters
    ----------
    name : str
        The column, for error messages.
    kind : str
        How its values come.
    """

    def __init__(self, name: str, kind: Kind) -> None:
        self.name, self.kind = f"column {name!r}", kind
        self.pieces: list[Any] = []

    def add(self, column: Any) -> None:
        """Take a piece."""
        self.pieces.append(column.cast(column.type.value_type) if hasattr(column, "dictionary") else column)

    def units(self, rows: Counts | None) -> tuple[Indices, Units]:
        """Number the clusters, ``rows`` of each value (None: one); missing ones are an error."""
        whole = pa.chunked_array(self.pieces)
        self.pieces = []
        coded = whole.dictionary_encode(null_encoding="encode")
        if len({len(chunk.dictionary) for chunk in coded.chunks}) > 1:  # one for all, as far as is known
            coded = coded.unify_dictionaries()
        codes = np.concatenate([as_numpy(chunk.indices) for chunk in coded.chunks])
        names = self._decoded(coded.chunk(0).dictionary.to_pylist())
        gone = _missing(names)
        if gone.any():
            lost = gone[codes]
            number = int(lost.sum() if rows is None else rows[lost].sum())
            raise ValueError(wording.missing_groups(self.name, number, "cluster"))
        if any(isinstance(v, list | dict) for v in names):
            raise TypeError(wording.not_plain(self.name))
        return number_units(codes, hash_names(names))

    def _decoded(self, values: list[Any]) -> list[Any]:
        """Read each value by itself: what it is called must not depend on what else a file holds."""
        if self.kind == "json":
            return decoded(values, "json")
        return [None if v in MISSING_WORDS else v for v in values] if self.kind == "text" else values


class GroupedRows:
    """Distinct combinations of group, label, score and weight, and how many rows have each; or rows one by one.

    Parameters
    ----------
    source : Roles
    whole : bool
        Whether scores are whole numbers: those that doubles cannot tell apart come as infinite.
    """

    def __init__(self, source: Roles, whole: bool) -> None:
        self.source, self.whole = source, whole
        self.coder = KeyCoder.of(source)
        self.numbers = ("score", "weight") if source.weight is not None else ("score",)
        self.columns: dict[str, list[NDArray[Any]]] = {"key": [], "score": [], "weight": [], "n": []}
        self.words = {"score": 0, "weight": 0}
        self.clusters = None if source.cluster is None else ClusterColumn(source.cluster, source.kind)
        self.fetched = 0

    def add(self, batch: Any) -> int:
        """Take an Arrow batch, and return how many rows of batches there are.

        It has the columns of the key, then score, perhaps weight and cluster, and n, which is left out where batches
        have one row for each.
        """
        width = len(self.coder.names)
        try:
            self.columns["key"].append(self.coder.encode(batch.columns[:width], batch.num_rows))
        except ValueError:
            self._refuse_swapped(batch)
            raise
        n = as_numpy(batch.column("n")) if "n" in batch.schema.names else None
        if n is not None:
            self.columns["n"].append(n)
        for role in self.numbers:
            self.columns[role].append(doubles(batch.column(role)))
            self.words[role] += count_words(batch.column(role), self.source.kind, n)
        if self.clusters is not None:
            self.clusters.add(batch.column("cluster"))
        self.fetched += batch.num_rows
        return self.fetched

    def finish(self, several: bool, called: Namer | None = None) -> CountedRows:
        """Check what was counted and put it into a table; ``called`` names groups, instead of the rules of memory."""
        n = self._whole("n") if self.columns["n"] else None
        scores, key = self._whole("score"), self._whole("key")
        explain(self.source, "score", scores, n, self.words["score"], whole=self.whole)
        rows = np.bincount(key, weights=n, minlength=len(self.coder.keys)).astype(np.int64)
        codes, groups, labels = name_keys(self.coder.keys, rows, self.source, several, called, scores)
        of_row = None if labels is None else labels[key]
        place = codes.astype(np.intp)[key] if len(groups) > 1 else None
        del key
        found = _Found(scores, of_row, place, groups, None if self.source.weight is None else self._whole("weight"))
        unit, units = (None, None) if self.clusters is None else self.clusters.units(n)
        return CountedRows(self._table(found, n, unit, units), int(rows.sum()))

    def _refuse_swapped(self, batch: Any) -> None:
        """Say that labels of which there are too many are scores, if what stands for scores has two values."""
        if self.source.label is not None:
            labels = [*(key[-1] for key in self.coder.keys), *batch.columns[len(self.coder.names) - 1].to_pylist()]
            scores = np.concatenate([*self.columns["score"], doubles(batch.column("score"))])
            refuse_swapped(self.source, labels, scores, more=True)

    def _table(self, found: _Found, n: Counts | None, unit: Indices | None, units: Units | None) -> ScoreTable:
        self._check_weights(found, n)
        if n is not None and n.max() == 1:
            n = None
        means = self._weights_mean(found)
        if n is not None and (unit is not None or (not _adds_up(found, n, means) and int(n.sum()) <= _ONE_BY_ONE)):
            again = np.repeat(np.arange(len(n)), n)
            found, unit, n = found.taken(again), None if unit is None else unit[again], None
        weight: NDArray[Any] | None = n
        square = None
        if found.weight is not None:
            times = 1 if n is None else n
            square = found.weight**2 * times if means == "importance" else None
            exact = _are_exact(found.weight, times)
            weight = (found.weight.astype(np.int64) if exact else found.weight) * times
        table = ScoreTable.from_rows(
            found.scores,
            found.labels,
            found.place,
            found.groups,
            weight,
            square=square,
            unit=unit,
            units=units,
            lower_is_riskier=self.source.lower_is_riskier,
            high_score_means=self.source.high_score_means,
        )
        return replace(table, weighted=means is not None, group_columns=tuple(self.source.group_columns))

    def _weights_mean(self, found: _Found) -> Weights | None:
        """Tell what weights mean, from all of them; None where there are none."""
        return None if found.weight is None else weights_mean(self.source.weights, are_whole(found.weight))

    def _check_weights(self, found: _Found, n: Counts | None) -> None:
        weight, place = found.weight, found.place
        if weight is None:
            return
        explain(self.source, "weight", weight, n, self.words["weight"])
        total = np.bincount(np.zeros(len(weight), dtype=np.intp) if place is None else place, weight, len(found.groups))
        check_weight_of_groups(total, found.groups, f"column {self.source.weight!r}")

    def _whole(self, name: str) -> NDArray[Any]:
        """Join the pieces of a column, letting go of them."""
        pieces = self.columns.pop(name)
        return np.concatenate(pieces) if pieces else np.empty(0, dtype=np.float64 if name == "score" else np.int64)


class _Found(NamedTuple):
    """Rows, or what several rows have in common: all that a table is made from."""

    scores: NDArray[np.float64]
    labels: NDArray[np.int8] | None
    place: Indices | None
    groups: tuple[Hashable, ...]
    weight: NDArray[np.float64] | None

    def taken(self, rows: Indices) -> _Found:
        """Take rows by their numbers."""
        return _Found(
            self.scores[rows],
            None if self.labels is None else self.labels[rows],
            None if self.place is None else self.place[rows],
            self.groups,
            None if self.weight is None else self.weight[rows],
        )


def _adds_up(found: _Found, n: Counts, means: Weights | None) -> bool:
    """Whether equal rows can be added up at once: all sums are whole numbers that doubles hold."""
    if found.weight is None:
        return True
    squares = float((found.weight**2 * n).sum()) if means == "importance" else 0.0
    return _are_exact(found.weight, n) and squares < EXACT


def _are_exact(weight: NDArray[np.float64], times: Counts | int) -> bool:
    """Whether weights are whole numbers whose sum doubles hold."""
    return are_whole(weight) and float((weight * times).sum()) < EXACT
