"""The table from distinct combinations, or from bins of scores: values named and classed as in memory."""

from __future__ import annotations

import decimal
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import replace
from itertools import product
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from fairpot._arguments import argument
from fairpot._defaults import MOST_GROUPS
from fairpot._optional import Lazy
from fairpot._validation import GroupFinder, swapped_values, wording
from fairpot._validation.checked_rows import Rows, check_counted_scores, check_weight_of_groups, check_weights
from fairpot._validation.followed import check_followed
from fairpot._validation.grouping import Grouping, lacks_part
from fairpot._validation.groups import check_groups
from fairpot._validation.values import named_label
from fairpot._warn import warn_user
from fairpot.counting import check_weights_word, count_at, hash_names, number_units
from fairpot.counts import GroupCounts, Indices, Units
from fairpot.exceptions import InputFileError, MissingGroupError, UnseenGroupError
from fairpot.rows.decoding import EXACT, MISSING_WORDS, as_numpy, count_words, decoded, doubles, plain, readings
from fairpot.rows.readers import Applying, CountedRows, Namer
from fairpot.rows.roles import NUMBERS, Kind, Roles
from fairpot.table import QuantisationBound, ScoreTable
from fairpot.transport import Floats

pa = Lazy("pyarrow", "cli")
_NUMERIC = (bool, int, float, decimal.Decimal)
Counts = NDArray[np.int64]
Key = tuple[Any, ...]
# More combinations than this are no groups: somebody named a column of identifiers or of scores.
MOST_KEYS = 50_000
_MOST_CUT = 2_000_000  # where numbers are cut into bands
_UNKNOWN = object()  # the name of all groups without a map
# Weights that are not whole are added up one by one, as in memory, up to this many rows.
_ONE_BY_ONE = 50_000_000
MOST_BINS = 500_000
# A value that comes up this often in a sample of about four a bin is given a bin of its own.
_ATOM = 8
SUMS = ("mass", "squares", "rows")
BinCounter = Callable[[Iterator[Any]], Iterator[Any]]


def _meant(values: Sequence[Any], kind: Kind) -> list[Any]:
    """Say what the values of a column mean, which all that it holds tell together."""
    met = list(dict.fromkeys(values))
    meaning = dict(zip(met, decoded(met, kind)))
    return [meaning[value] for value in values]


def _missing(values: Sequence[Any]) -> NDArray[np.bool_]:
    return np.array([v is None or v != v for v in values], dtype=bool)


def _name_labels(values: Sequence[Any], rows: Counts, source: Roles) -> NDArray[np.int8]:
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


class Named(NamedTuple):
    """Groups, and what a table knows of their columns."""

    groups: tuple[Hashable, ...]
    known: dict[str, Any]


def name_keys(
    keys: Sequence[Key], rows: Counts, source: Roles, several: bool, called: Namer | None = None, scores: Any = None
) -> tuple[NDArray[Any], Named, NDArray[np.int8] | None]:
    """Name groups, as in memory or as they are ``called``, and labels of distinct combinations, the label last.

    ``scores`` tell, where they are known, whether their column was swapped with that of the labels.
    """
    labels = None
    if source.label is not None:
        values = [key[-1] for key in keys]
        try:
            labels = _name_labels(values, rows, source)
        except ValueError:
            if scores is not None:
                _refuse_swapped(source, values, scores)
            raise
    names, grouping = source.group_columns, None
    if called is not None or not names:
        places: dict[Hashable, int] = {}
        found = [called(key[: len(names)]) if called is not None else "all" for key in keys]
        codes, groups = np.array([places.setdefault(each, len(places)) for each in found], dtype=np.intp), tuple(places)
    else:
        columns: dict[str, NDArray[Any]] = {}
        for j, name in enumerate(names):  # the None keeps lists from unfolding
            if source.kind == "text":
                _note_blanks(f"column {name!r}", [key[j] for key in keys], rows)
            columns[name] = np.array([*_meant([key[j] for key in keys], source.kind), None], dtype=object)[:-1]
        how: dict[str, Any] = {"several": False, "grouping": source.grouping, "times": rows, "most": MOST_GROUPS}
        codes, groups, grouping = check_groups(columns, len(keys), f"column {names[0]!r}", **how)
        if several and len(groups) < 2:
            where = f"column {names[0]!r} has" if len(names) == 1 else f"the columns {list(names)} have"
            raise ValueError(wording.single_group(where, groups[0], int(rows.sum())))
    return codes, Named(groups, {"group_columns": names, "grouping": grouping}), labels


def _note_blanks(name: str, values: Sequence[str | None], rows: Counts) -> None:
    around = np.array([value is not None and value != value.strip(" ") != "" for value in values], dtype=bool)
    if around.any():
        warn_user(wording.trimmed(name, int(rows[around].sum())), UserWarning)


def _refuse_swapped(source: Roles, labels: Sequence[Any], scores: Floats) -> None:
    """Say of labels that were refused that their column looks swapped with that of the scores, where it does."""
    met = decoded(list(dict.fromkeys(labels)), source.kind)
    values = swapped_values(np.array([*met, None], dtype=object)[:-1], scores)  # the None keeps lists from unfolding
    if values is not None:
        label, score = source.label, source.score
        right = f"name the columns the other way round, {argument('score', label)} and {argument('label', score)}."
        raise ValueError(wording.swapped(f"column {label!r}", f"column {score!r}", values, right)) from None


class KeyCoder:
    """Number the combinations of values of some columns in the order they are met; errors name the columns."""

    def __init__(self, names: Sequence[str], grouping: Grouping | None = None, most: int = _MOST_CUT) -> None:
        self.names = tuple(names)
        cut = grouping is not None and grouping.bands
        self.most = most if cut else MOST_KEYS
        self.hint = "groups and outcomes have few; was a column of identifiers or of scores named?"
        if cut:
            self.hint = "round the numbers that are cut into bands."
        elif grouping is None and len(self.names) > 1:
            self.hint += f" {argument('bands', {self.names[0]: 4})} cuts numbers into four bands."
        self.keys: list[Key] = []
        self._places: dict[Key, int] = {}

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
        where = zip(*np.unravel_index(met, sizes))
        try:
            keys = [tuple(values[int(i)].as_py() for i, (_, values) in zip(each, coded)) for each in where]
        except UnicodeDecodeError:
            told = f"the columns {list(self.names)} hold text that is not UTF-8.\nHint: the file may be damaged."
            raise InputFileError(told) from None
        return np.array([self.place(key) for key in keys], dtype=np.int32)[inverse]

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
        if count > self.most:
            raise ValueError(
                f"the columns {list(self.names)} have more than {self.most:,} different values.\nHint: {self.hint}"
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
    if hasattr(column, "dictionary") and (column.null_count or column.dictionary.null_count):
        column = plain(column)
    if not hasattr(column, "dictionary"):
        column = column.dictionary_encode(null_encoding="encode")
    return as_numpy(column.indices).astype(np.int64), column.dictionary


class GroupPlaces:
    """Find the map of each row's group by its place: -1 for a group without one, -2 for a missing one."""

    def __init__(
        self, source: Roles, known: Sequence[Hashable], how: Applying, kinds: Sequence[Kind] | None = None
    ) -> None:
        self.columns, self.known = source.group_columns, list(known)
        self.kinds = [source.kind] * len(self.columns) if kinds is None else kinds
        self.grouping = source.grouping or Grouping()
        alone = len(self.columns) == 1
        self.bands = [self.grouping.of_column(name, alone=alone) for name in self.columns]
        self.ways = {-1: how.unknown_group, -2: "drop" if how.drop_missing else how.missing_group}
        self.find = GroupFinder(self.known)
        self.coder = KeyCoder(self.columns, self.grouping)
        self.places = np.empty(0, dtype=np.int64)
        self.met = np.empty(0, dtype=np.int64)  # rows of each combination

    def __call__(self, columns: Sequence[Any], rows: int, times: NDArray[np.int64] | None = None) -> Counts:
        """Return the place of each row's group; there are ``times`` of each row."""
        key = self.coder.encode(columns, rows)
        fresh = [self._place(each) for each in self.coder.keys[len(self.places) :]]
        if fresh:
            self.places = np.append(self.places, np.array(fresh, dtype=np.int64))
            self.met = np.append(self.met, np.zeros(len(fresh), dtype=np.int64))
        self.met += np.bincount(key, times, len(self.met)).astype(np.int64)
        return self.places[key]

    def rows_at(self, place: int) -> int:
        """Count the rows of a place."""
        return int(self.met[self.places == place].sum())

    @property
    def refused(self) -> bool:
        """Whether any row so far has no map, and that is an error."""
        return any(way == "error" and (self.places == place).any() for place, way in self.ways.items())

    def problems(self) -> Iterator[Exception]:
        """Say which groups are missing and which have no map, with the rows of each."""
        gone, unseen = ([self.coder.keys[i] for i in np.flatnonzero(self.places == place)] for place in (-2, -1))
        if gone and self.ways[-2] == "error":
            first = next(j for key in gone for j, ways in enumerate(self._readings(key)) if _missing(ways[:1]).any())
            yield MissingGroupError(wording.ungrouped(f"column {self.columns[first]!r}", self.rows_at(-2)))
        if unseen and self.ways[-1] == "error":
            names = [_name_of(self.columns, [ways[0] for ways in self._readings(key)]) for key in unseen]
            told = wording.unseen_groups("the input", self.rows_at(-1), names, self.known, optional=True)
            yield UnseenGroupError(told)

    def called(self, key: Sequence[Any]) -> Hashable:
        """Return the name of a combination of values of the group columns; one for all without a map."""
        place = self._place(key)
        return _UNKNOWN if place < 0 else self.known[place]

    def _readings(self, key: Sequence[Any]) -> list[list[Any]]:
        return [readings(value, kind) for value, kind in zip(key, self.kinds)]

    def _place(self, key: Sequence[Any]) -> int:
        """Find a combination, of which each value may be read in some ways."""
        ways = [self.grouping.readings(own, values) for own, values in zip(self.bands, self._readings(key))]
        if _missing([each[0] for each in ways]).any():
            return -2
        for choice in product(*ways):
            name = self.find(_name_of(self.columns, choice))
            if name is not None:
                return self.known.index(name)
        return -2 if lacks_part(_name_of(self.columns, [each[0] for each in ways])) else -1


def _name_of(columns: Sequence[str], values: Sequence[Any]) -> Hashable:
    if len(values) == 1:
        return cast(Hashable, values[0])
    return ", ".join(f"{column}={value}" for column, value in zip(columns, values))


def explain(
    source: Roles, role: str, values: NDArray[np.float64], rows: Counts | None, words: int, *, whole: bool = False
) -> None:
    """Check scores or weights, ``rows`` of each (None: one), ``words`` rows of which were no numbers."""
    name = f"column {source.roles[role]!r}"
    if words:
        raise TypeError(wording.no_numbers(name, words, in_text=source.kind == "text"))
    if role != "weight":
        check_counted_scores(values, rows, name, whole=whole, noun=role)
    else:
        check_weights(values, np.ones(len(values), dtype=np.int64) if rows is None else rows, name)


def _number_clusters(pieces: Sequence[Any], source: Roles) -> tuple[Indices, Units]:
    """Number what rows belong together by, which comes in pieces of one Arrow column; a missing name is an error.

    Each name is read by itself: what it is called must not depend on what else a file holds.
    """
    coded = pa.chunked_array([plain(piece) for piece in pieces]).dictionary_encode(null_encoding="encode")
    if len({len(chunk.dictionary) for chunk in coded.chunks}) > 1:  # one for all, as far as is known
        coded = coded.unify_dictionaries()
    codes = np.concatenate([as_numpy(chunk.indices) for chunk in coded.chunks])
    names = coded.chunk(0).dictionary.to_pylist()
    if source.kind == "json":
        names = decoded(names, "json")
    elif source.kind == "text":
        words = frozenset(MISSING_WORDS)
        names = [None if name in words else name for name in (each and each.strip(" ") for each in names)]
    gone, called = _missing(names), f"column {source.cluster!r}"
    if gone.any():
        raise ValueError(wording.missing_groups(called, int(gone[codes].sum()), "cluster"))
    if any(isinstance(name, list | dict) for name in names):
        raise TypeError(wording.not_plain(called))
    return number_units(codes, hash_names(names))


class GroupedRows:
    """Distinct combinations of group, label, score and weight, and how many rows have each; or rows one by one.

    ``whole`` says that scores are whole numbers: those that doubles cannot tell apart come as infinite.
    """

    def __init__(self, source: Roles, whole: bool) -> None:
        self.source, self.whole = source, whole
        self.coder = KeyCoder(source.key_columns, source.grouping)
        self.numbers = [role for role in NUMBERS if role in source.roles]
        self.pieces: dict[str, list[Any]] = {name: [] for name in ("key", *NUMBERS, "n", "cluster")}
        self.words = dict.fromkeys(NUMBERS, 0)
        self.fetched = 0

    def add(self, batch: Any) -> None:
        """Take an Arrow batch: the columns of the key, then score, perhaps weight and cluster, and perhaps rows, n."""
        key = self.coder.encode(batch.columns[: len(self.coder.names)], batch.num_rows)
        n = as_numpy(batch.column("n")) if "n" in batch.schema.names else None
        self.pieces["key"].append(key)
        self.pieces["n"] += [] if n is None else [n]
        for role in self.numbers:
            self.pieces[role].append(doubles(batch.column(role)))
            self.words[role] += count_words(batch.column(role), self.source.kind, n)
        if self.source.cluster is not None:
            self.pieces["cluster"].append(batch.column("cluster"))
        self.fetched += batch.num_rows

    def finish(self, several: bool, called: Namer | None = None) -> CountedRows:
        """Check what was counted and put it into a table; ``called`` names groups, instead of the rules of memory."""
        source = self.source
        n = self._whole("n") if self.pieces["n"] else None
        scores, key = self._whole("score"), self._whole("key")
        explain(source, "score", scores, n, self.words["score"], whole=self.whole)
        rows = np.bincount(key, weights=n, minlength=len(self.coder.keys)).astype(np.int64)
        codes, (groups, about), labels = name_keys(self.coder.keys, rows, source, several, called, scores)
        last = _meant([each[-1] for each in self.coder.keys], source.kind) if source.event is not None else []
        ends = [last[each] for each in key.tolist()] if last else []
        columns: dict[str, Any] = {"scores": scores, "labels": None if labels is None else labels[key]}
        columns["codes"] = codes.astype(np.intp)[key] if len(groups) > 1 else None
        del scores, key
        if source.weight is not None:
            columns = self._weighted(columns, n, groups)
        elif n is not None and n.max() > 1:
            columns["weight"] = n
        if source.cluster is not None:
            columns["unit"], columns["units"] = _number_clusters(self.pieces.pop("cluster"), source)
        columns |= {"lower_is_riskier": source.lower_is_riskier, "high_score_means": source.high_score_means}
        table = self._followed(columns, groups, ends) if ends else ScoreTable.from_rows(**columns, groups=groups)
        return CountedRows(replace(table, **about), int(rows.sum()))

    def _followed(self, columns: dict[str, Any], groups: Sequence[Hashable], event: list[Any]) -> ScoreTable:
        """Count outcomes at a horizon, as in memory."""
        source, time = self.source, self._whole("time")
        explain(source, "time", time, None, self.words["time"])
        names = [f"column {name!r}" for name in (source.time, source.event)]
        after = check_followed(source.after._replace(time=time, event=event), len(time), names)
        rows = Rows(columns["scores"], None, columns["codes"], tuple(groups), columns.get("weight"))
        known = {each: columns.get(each) for each in ("unit", "units", "lower_is_riskier", "high_score_means")}
        return count_at(rows, after, weights=source.weights, **known)

    def _weighted(self, columns: dict[str, Any], n: Counts | None, groups: Sequence[Hashable]) -> dict[str, Any]:
        """Add what columns weigh; where that is not a sum of whole numbers, row by row, as in memory."""
        weight, codes = self._whole("weight"), columns["codes"]
        explain(self.source, "weight", weight, n, self.words["weight"])
        total = np.bincount(np.zeros(len(weight), dtype=np.intp) if codes is None else codes, weight, len(groups))
        check_weight_of_groups(total, groups, f"column {self.source.weight!r}")
        times = np.ones(len(weight), dtype=np.int64) if n is None else n
        squared = are_squared(self.source)
        exact = bool((weight == np.floor(weight)).all()) and float((weight * times).sum()) < EXACT
        at_once = exact and (not squared or float((weight**2 * times).sum()) < EXACT)
        if n is not None and not at_once and int(n.sum()) <= _ONE_BY_ONE:
            each = np.repeat(np.arange(len(n)), n)
            columns = {name: None if column is None else column[each] for name, column in columns.items()}
            weight, times = weight[each], np.ones(len(each), dtype=np.int64)
        return columns | {
            "weight": (weight.astype(np.int64) if exact else weight) * times,
            "square": weight**2 * times if squared else None,
            "rows": times,
        }

    def _whole(self, name: str) -> NDArray[Any]:
        """Join the pieces of a column, letting go of them."""
        pieces = self.pieces.pop(name)
        return np.concatenate(pieces) if pieces else np.empty(0, dtype=np.float64 if name == "score" else np.int64)


def are_squared(source: Roles) -> bool:
    """Whether weights say how much a row counts, so that their squares are needed."""
    return source.weight is not None and check_weights_word(source.weights) == "importance"


def choose_edges(sample: Floats, limit: int, groups: int = 2) -> Floats:
    """Choose where the bins of all groups begin, so that each holds about as many rows; frequent values are alone."""
    bins = max(min(limit // max(groups, 2), MOST_BINS), 1)
    if len(sample) == 0:
        return np.array([-np.inf])
    ordered = sample + 0.0
    ordered.sort()
    edges = ordered[np.linspace(0, len(ordered), bins, endpoint=False).astype(np.intp)]
    begins = ordered[: max(len(ordered) - _ATOM + 1, 0)]
    atoms = np.unique(begins[begins == ordered[_ATOM - 1 :]])
    return np.unique(np.concatenate(([-np.inf], edges, atoms, np.nextafter(atoms, np.inf))))


def bin_counter(edges: Floats, width: int, weighted: bool) -> BinCounter:
    """Make the function that counts batches of ``width`` keys, a score and perhaps a weight in bins.

    It gives a row for each combination of keys and each bin that it is in. It may go to workers of a cluster, that need
    NumPy and PyArrow, not fairpot; scores and weights have been checked. Nothing here makes PyArrow import pandas.
    """

    def count(batches: Iterator[Any]) -> Iterator[Any]:
        import numpy as np
        import pyarrow as pa

        size = len(edges)
        low, high = np.full(size, np.inf), np.full(size, -np.inf)
        held: dict[Any, Any] = {}
        for batch in batches:
            coded = [column.dictionary_encode(null_encoding="encode") for column in batch.columns[:width]]
            key = np.zeros(batch.num_rows, dtype=np.int64)
            for column in coded:
                key = key * len(column.dictionary) + np.from_dlpack(column.indices)
            score: Any = np.from_dlpack(batch.column("score"))
            score = score + 0.0
            weight: Any = np.from_dlpack(batch.column("weight")) if weighted else None
            few = key.max(initial=0) < len(key)  # then they need no sort
            for code in (np.flatnonzero(np.bincount(key)) if few else np.unique(key)).tolist():
                rows = np.flatnonzero(key == code)
                named = [column.dictionary[column.indices[int(rows[0])].as_py()] for column in coded]
                new = named, np.zeros((3 if weighted else 1, size))
                sums = held.setdefault(tuple(value.as_py() for value in named), new)[1]
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
        for named, sums in held.values():
            used = np.flatnonzero(sums[0])
            columns = [pa.repeat(value, len(used)) for value in named]
            for each in (used, *(sums[kind][used] for kind in (0, len(sums) // 2, -1)), low[used], high[used]):
                of = pa.from_numpy_dtype(each.dtype)
                columns.append(pa.Array.from_buffers(of, len(used), [None, pa.py_buffer(each)]))
            names = [*(f"key{i}" for i in range(width)), "bin", "mass", "squares", "rows", "low", "high"]
            yield pa.RecordBatch.from_arrays(columns, names=names)

    return count


class BinnedRows:
    """Weights of rows in bins that begin at ``edges``, their squares and their number, by combination of the coder."""

    def __init__(self, source: Roles, coder: KeyCoder, edges: Floats) -> None:
        self.source, self.coder = source, coder
        kept = {"mass": True, "squares": are_squared(source), "rows": source.weight is not None}
        self.sums = {name: np.zeros((len(coder.keys), len(edges))) for name in SUMS if kept[name]}
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
        self, codes: NDArray[Any], named: Named, labels: NDArray[np.int8] | None, whole: bool
    ) -> tuple[ScoreTable, QuantisationBound]:
        """Return the table, given the code and label of each combination, and how far it can be off."""
        groups = named.groups
        used = np.flatnonzero(self.low <= self.high)
        low, high = self.low[used], self.high[used]
        # The middle of each bin, whatever the order of the rows; a score alone in its bin stays as it was.
        centres = np.where(low < high, low / 2 + high / 2, low)
        sums = {name: np.zeros((2, len(groups), len(used))) for name in self.sums}  # positives first
        for name, by_key in self.sums.items():
            for key, each in enumerate(by_key):
                sums[name][0 if labels is not None and labels[key] else 1, codes[key]] += each[used]
        mass, counts = sums.pop("mass"), []
        for group in range(len(groups)):
            there = mass[:, group].sum(axis=0) > 0
            sides = mass[:, group, there].astype(np.int64 if whole else np.float64)
            behind: dict[str, Any] = {
                name: tuple(each[:, group, there].astype(np.int64 if name == "rows" else np.float64))
                for name, each in sums.items()
            }
            counts.append(GroupCounts(centres[there], sides[0], sides[1], **behind))
        source = self.source
        known = (None, source.lower_is_riskier, source.high_score_means)
        table = ScoreTable(groups, tuple(counts), labels is not None, *known, **named.known)
        # Only pairs of different scores that share a bin can change.
        mixed = low < high
        pairs = mass[0][:, mixed] @ mass[1][:, mixed].T
        total = np.outer(mass[0].sum(axis=1), mass[1].sum(axis=1))
        share = np.divide(pairs, total, out=np.zeros(pairs.shape), where=total > 0)
        shift = float(np.maximum(centres - low, high - centres).max(initial=0.0))
        return table, QuantisationBound(float(pairs.sum() / max(total.sum(), 1)), share, shift)
