"""The table from distinct combinations: values as files hold them, named and classed as in memory."""

from __future__ import annotations

import decimal
import difflib
import json
import math
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from functools import cache
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from fairpot._arguments import argument
from fairpot._defaults import Weights
from fairpot._optional import import_optional
from fairpot._validation import check_groups, swapped_values, wording
from fairpot._validation.checked_rows import check_weight_of_groups
from fairpot._validation.values import named_label
from fairpot.counting import are_whole, hash_names, number_units, weights_mean
from fairpot.counts import Indices, Units
from fairpot.engines.protocol import CountedRows, Roles, Rules
from fairpot.exceptions import InputFileError, MissingGroupError
from fairpot.table import ScoreTable


def find_column(name: str, columns: Sequence[str], where: str, role: str = "") -> int:
    """Return the place of a column; if there is none of that name, say which come near, or how to name its ``role``."""
    places = [i for i, column in enumerate(columns) if column == name]
    if len(places) == 1:
        return places[0]
    if places:
        raise InputFileError(f"{where} has {len(places)} columns named {name!r}.\nHint: rename one of them.")
    folded = {column.casefold(): column for column in columns}
    # What is nearly the name that was given, whoever gave it knows already.
    near = [folded[c] for c in difflib.get_close_matches(name.casefold(), list(folded), n=3, cutoff=_NEARLY)]
    hint = f"did you mean {' or '.join(map(repr, near))}?" if near else "upper and lower case matter."
    if role and not near:
        part = "group" if role.startswith("group") else role
        hint = f"say which column holds the {part}, {argument(part, ...)}"
    raise InputFileError(f"{where} has no column {name!r} {wording.all_columns(columns)}.\nHint: {hint}")


_NEARLY = 0.75
EXACT = 2**53  # up to here doubles hold every whole number
Kind = Literal["typed", "text", "json"]

# What pandas reads as missing in a text file.
MISSING_WORDS = (
    "",
    "#N/A",
    "#N/A N/A",
    "#NA",
    "-1.#IND",
    "-1.#QNAN",
    "-NaN",
    "-nan",
    "1.#IND",
    "1.#QNAN",
    "<NA>",
    "N/A",
    "NA",
    "NULL",
    "NaN",
    "None",
    "n/a",
    "nan",
    "null",
)
_MISSING = frozenset(MISSING_WORDS)
_INTEGER = re.compile(r"[+-]?[0-9]+")
_FLOAT = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_BOOLEANS = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}


def decoded(values: Sequence[Any], kind: Kind) -> list[Any]:
    """Turn the distinct values of a column into Python objects; None where missing.

    A column of text is taken as integers, numbers or booleans if all its values are, as pandas does.
    """
    if kind == "json":
        return [None if v is None else json.loads(v) for v in values]
    if kind == "typed":
        return list(values)
    texts = [None if v is None or v in _MISSING else v for v in values]
    read = _reader([t.strip() for t in texts if t is not None])
    return [None if t is None else read(t) for t in texts]


def _reader(texts: list[str]) -> Callable[[str], Any]:
    """Choose how to read a column of text from all that is in it."""
    if texts and all(_INTEGER.fullmatch(t) for t in texts):
        return int
    if texts and all(_FLOAT.fullmatch(t) for t in texts):
        return float
    if texts and all(t in _BOOLEANS for t in texts):
        return lambda t: _BOOLEANS[t.strip()]
    return str


def readings(value: Any, kind: Kind) -> list[Any]:
    """Return what a value of a group column may be called, the likeliest first.

    Text says nothing of its type: "1" may have been 1, "true" True where the map was fitted.
    """
    [known] = decoded([value], "json" if kind == "json" else "typed")
    if kind != "text" or known is None:
        return [known]
    if known in _MISSING:
        return [None]
    text = known.strip()
    ways: list[Any] = [known]
    if _INTEGER.fullmatch(text):
        ways.append(int(text))
    if _FLOAT.fullmatch(text):
        ways.append(float(text))
    if text in _BOOLEANS:
        ways.append(_BOOLEANS[text])
    return ways


def numbers_from_text(column: Any, name: str, decimal: str = ".") -> Any:
    """Read an Arrow column of text as doubles: null where missing, NaN where a word is no number.

    Raises
    ------
    ValueError
        For whole numbers that doubles cannot tell apart.
    """
    pa, pc = import_optional("pyarrow", "cli"), import_optional("pyarrow.compute", "cli")
    text = pc.utf8_trim(column, " ")
    text = pc.if_else(pc.is_in(text, _missing_words(pa)), pa.nulls(1, pa.string())[0], text)
    try:
        if decimal != ".":
            raise pa.ArrowInvalid
        found = text.cast(pa.float64())
    except pa.ArrowInvalid:
        found = pa.array([_number(word, decimal) for word in text.to_pylist()], pa.float64())
    if (pc.max(pc.abs(found)).as_py() or 0) >= EXACT and any(map(_too_long, text.to_pylist())):
        raise ValueError(wording.beyond_doubles(name))
    return found


def as_numpy(column: Any) -> NDArray[Any]:
    """Give an Arrow column as an array: numbers without gaps by their memory, as Arrow's own way loads pandas."""
    kinds = {"int32": np.int32, "int64": np.int64, "double": np.float64}
    kind = kinds.get(str(column.type))
    if kind is None or column.null_count or not hasattr(column, "buffers"):
        found: NDArray[Any] = column.to_numpy(zero_copy_only=False)
        return found
    size = column.offset + len(column)
    return np.frombuffer(column.buffers()[1], dtype=kind, count=size)[column.offset :]


@cache
def _missing_words(pa: Any) -> Any:
    """Put the words for what is missing into an Arrow array; from a list or a scalar, Arrow would load pandas."""
    words = [word.encode() for word in MISSING_WORDS]
    ends = np.cumsum([0, *map(len, words)]).astype(np.int32)
    return pa.StringArray.from_buffers(len(words), pa.py_buffer(ends.tobytes()), pa.py_buffer(b"".join(words)))


def _number(word: str | None, decimal: str) -> float | None:
    if word is None:
        return None
    if decimal != "." and "." in word:
        return math.nan
    try:
        return float(word.replace(decimal, ".")) if word.isascii() and "_" not in word else math.nan
    except ValueError:
        return math.nan


def _too_long(word: str | None) -> bool:
    """Whether a text is a whole number beyond what doubles can tell apart."""
    return word is not None and _INTEGER.fullmatch(word) is not None and (len(word) > 20 or abs(int(word)) > EXACT)


def number_from_json(value: Any, name: str) -> float | None:
    """Read a value of JSON as a double: None where missing, NaN where it is no number."""
    if value is None or isinstance(value, float):
        return None if value != value else value
    if isinstance(value, bool) or not isinstance(value, int):
        return math.nan
    if abs(value) > EXACT:
        raise ValueError(wording.beyond_doubles(name))
    return float(value)


def numbers_from_column(column: Any) -> Any:
    """Turn a typed Arrow column of numbers into doubles; whole numbers that they cannot tell apart become infinite."""
    pa = import_optional("pyarrow", "cli")
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if pa.types.is_decimal(column.type):  # through their text, which rounds correctly
        column = column.cast(pa.string())
    elif pa.types.is_integer(column.type):
        return _inside_doubles(column)
    return column if column.type == pa.float64() else column.cast(pa.float64(), safe=False)


def _inside_doubles(column: Any) -> Any:
    pa, pc = import_optional("pyarrow", "cli"), import_optional("pyarrow.compute", "cli")
    found = column.cast(pa.float64(), safe=False)
    if column.type.bit_width < 64:
        return found
    beyond = pc.greater(column, pa.scalar(EXACT, column.type))
    if pa.types.is_signed_integer(column.type):
        beyond = pc.or_(beyond, pc.less(column, pa.scalar(-EXACT, column.type)))
    return pc.if_else(beyond, math.inf, found)


def doubles(column: Any) -> NDArray[np.float64]:
    """Return an Arrow column of doubles; missing ones become NaN."""
    return np.asarray(as_numpy(column), dtype=np.float64)


_NUMERIC = (bool, int, float, decimal.Decimal)
Counts = NDArray[np.int64]


def check_score_type(type_name: str, name: str) -> None:
    """Refuse columns that are no numbers."""
    kind = type_name.upper()
    if kind.startswith(("VARCHAR", "ENUM", "STRING", "LARGE_STRING", "DICTIONARY")):
        raise TypeError(
            wording.wrong_kind(
                f"column {name!r}",
                "text",
                "convert the column to numbers first (apply from CSV writes numbers with types='auto')",
            )
        )
    if kind.startswith("BOOL"):
        raise TypeError(wording.wrong_kind(f"column {name!r}", "booleans", "pass the score itself, not a class"))
    if "[" in kind or not kind.startswith(_NUMBERS + _FRACTIONS):
        raise TypeError(wording.wrong_kind(f"column {name!r}", type_name, "convert the column first"))


# As DuckDB and Arrow call them.
_NUMBERS = ("TINYINT", "SMALLINT", "INT", "BIGINT", "HUGEINT", "UINT", "UTINYINT", "USMALLINT", "UBIGINT", "UHUGEINT")
_FRACTIONS = ("FLOAT", "DOUBLE", "REAL", "DECIMAL", "HALF")


def check_plain(type_: Any, name: str) -> None:
    """Refuse lists and structures where a value is needed; ``type_`` is DuckDB's or Arrow's."""
    text = str(type_).upper()
    if (text.endswith(("]", ">")) and not text.startswith(("TIME", "DURATION", "DICTIONARY"))) or text.startswith(
        _NESTED
    ):
        raise TypeError(wording.not_plain(f"column {name!r}"))


_NESTED = ("STRUCT", "MAP", "UNION", "LIST")


def name_groups(
    keys: Sequence[tuple[Any, ...]], rows: Counts, names: Sequence[str], kind: Kind, *, several: bool
) -> tuple[NDArray[np.intp], tuple[Hashable, ...]]:
    """Name the groups that distinct combinations of values form, as in memory; return a code for each."""
    if not names:
        return np.zeros(len(keys), dtype=np.intp), ("all",)
    columns: dict[str, list[Any]] = {}
    for j, name in enumerate(names):
        values = list(dict.fromkeys(key[j] for key in keys))
        meaning = dict(zip(values, decoded(values, kind)))
        columns[name] = [meaning[key[j]] for key in keys]
        gone = np.array([v is None or v != v for v in columns[name]])
        if gone.any():
            raise MissingGroupError(wording.missing_groups(f"column {name!r}", int(rows[gone].sum())))
    given: Any = columns if len(names) > 1 else columns[names[0]]
    codes, groups = check_groups(given, len(keys), f"column {names[0]!r}", several=False)
    if several and len(groups) < 2:
        where = f"column {names[0]!r} has" if len(names) == 1 else f"the columns {list(names)} have"
        raise ValueError(wording.single_group(where, groups[0], int(rows.sum())))
    return codes, groups


def name_labels(values: Sequence[Any], rows: Counts, name: str, kind: Kind, pos_label: Any) -> NDArray[np.int8]:
    """Tell which values of the label are positive: 0/1, booleans, or two values of which one is named."""
    met = list(dict.fromkeys(values))
    meaning = dict(zip(met, decoded(met, kind)))
    labels = [meaning[v] for v in values]
    gone = np.array([v is None or v != v for v in labels])
    if gone.any():
        raise ValueError(wording.missing_labels(f"column {name!r}", int(rows[gone].sum())))
    distinct = wording.in_order(set(labels))
    if pos_label is not None:
        chosen = named_label(distinct, pos_label, f"column {name!r}")
        return np.array([v == chosen for v in labels], dtype=np.int8)
    if all(isinstance(v, _NUMERIC) and v in (0, 1) for v in distinct):
        return np.array([bool(v) for v in labels], dtype=np.int8)
    of_each: Counter[Any] = Counter()
    for label, count in zip(labels, rows.tolist()):
        of_each[label] += count
    raise ValueError(wording.not_binary(f"column {name!r}", of_each, "pos_label"))


def name_keys(
    keys: Sequence[tuple[Any, ...]],
    rows: Counts,
    source: Roles,
    kind: Kind,
    several: bool,
    called: Callable[[tuple[Any, ...]], Hashable] | None = None,
    scored: tuple[str, NDArray[np.float64]] | None = None,
) -> tuple[NDArray[Any], tuple[Hashable, ...], NDArray[np.int8] | None]:
    """Name groups and labels of distinct combinations, the label last: a code and a label for each.

    ``called`` says what a combination of group values is called, instead of the rules of memory; ``scored`` is the
    score column and what it holds, to tell whether it was swapped with the label.
    """
    labels = None
    if source.label is not None:
        values = [key[-1] for key in keys]
        try:
            labels = name_labels(values, rows, source.label, kind, source.pos_label)
        except ValueError:
            if scored is not None:
                refuse_swapped(values, source.label, kind, *scored)
            raise
    groups = source.group_columns
    parts = [key[: len(groups)] for key in keys]
    if called is not None:
        places: dict[Hashable, int] = {}
        codes = np.array([places.setdefault(called(part), len(places)) for part in parts], dtype=np.intp)
        return codes, tuple(places), labels
    codes, names = name_groups(parts, rows, groups, kind, several=several)
    return codes, names, labels


def refuse_swapped(
    labels: Sequence[Any], label: str, kind: Kind, score: str, scores: NDArray[np.float64], *, more: bool = False
) -> None:
    """Say of labels that were refused that their column looks swapped with that of the scores, where it does."""
    met = decoded(list(dict.fromkeys(labels)), kind)
    values = swapped_values(np.array([*met, None], dtype=object)[:-1], scores)  # the None keeps lists from unfolding
    if values is not None:
        right = f"name the columns the other way round, {argument('score', label)} and {argument('label', score)}."
        raise ValueError(wording.swapped(f"column {label!r}", f"column {score!r}", values, right, more=more)) from None


def alike(groups: Sequence[Hashable]) -> list[tuple[str, str]]:
    """Find names of groups that differ only by spaces, case or code points that look the same, pair by pair.

    >>> alike(["F", "M", " f", "other", "M\\u200b"])
    [('F', ' f'), ('M', 'M\\u200b')]
    """
    seen: dict[str, str] = {}
    pairs = []
    for group in groups:
        if isinstance(group, str):
            same = seen.setdefault(_looks(group), group)
            pairs += [(same, group)] if same != group else []
    return pairs


def _looks(text: str) -> str:
    """Reduce a text to what is seen of it: accents in one piece, no marks without a width, one space, no case."""
    seen = "".join(c for c in unicodedata.normalize("NFKC", text) if unicodedata.category(c) != "Cf")
    return " ".join(seen.split()).casefold()


Key = tuple[Any, ...]
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

    def encode(self, columns: Sequence[Any], rows: int) -> NDArray[np.int32]:
        """Return the number of each row's combination; missing values are values of their own."""
        if not columns:
            self._place(())
            return np.zeros(rows, dtype=np.int32)
        coded = [_dictionary(column) for column in columns]
        self.limit(max(len(values) for _, values in coded))
        sizes = [len(values) for _, values in coded]
        combined = coded[0][0]
        for (codes, _), size in zip(coded[1:], sizes[1:]):
            combined = combined * size + codes
        if len(sizes) == 1:  # every value is met
            return np.array([self._place((value,)) for value in coded[0][1]], dtype=np.int32)[combined]
        met, inverse = _distinct(combined, int(np.prod(sizes, dtype=np.int64)))
        places = np.empty(len(met), dtype=np.int32)
        for i, where in enumerate(zip(*np.unravel_index(met, sizes))):
            places[i] = self._place(tuple(values[int(j)] for j, (_, values) in zip(where, coded)))
        return places[inverse]

    def _place(self, key: Key) -> int:
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


def _dictionary(column: Any) -> tuple[NDArray[np.int64], list[Any]]:
    """Code one Arrow column; a missing value gets a code like any other."""
    if hasattr(column, "combine_chunks") and hasattr(column, "chunks"):
        column = column.combine_chunks()
    if hasattr(column, "dictionary"):
        column = column.cast(column.type.value_type)
    encoded = column.dictionary_encode(null_encoding="encode")
    return as_numpy(encoded.indices).astype(np.int64), encoded.dictionary.to_pylist()


# Weights that are not whole are added up one by one, as in memory, up to this many rows.
_ONE_BY_ONE = 50_000_000


class Checks(Rules, Protocol):
    """What an engine can say about scores and weights that cannot be used."""

    def words(self, column: Any, rows: Counts | None = None) -> int:
        """Count the rows, ``rows`` of each value, whose text was no number."""


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
        whole = import_optional("pyarrow", "cli").chunked_array(self.pieces)
        self.pieces = []
        coded = whole.dictionary_encode(null_encoding="encode")
        if len({len(chunk.dictionary) for chunk in coded.chunks}) > 1:  # one for all, as far as is known
            coded = coded.unify_dictionaries()
        codes = np.concatenate([as_numpy(chunk.indices) for chunk in coded.chunks])
        names = self._decoded(coded.chunk(0).dictionary.to_pylist())
        gone = np.array([v is None or v != v for v in names])
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
        return [None if v in _MISSING else v for v in values] if self.kind == "text" else values


class GroupedRows:
    """Distinct combinations of group, label, score and weight, and how many rows have each; or rows one by one.

    Parameters
    ----------
    source : Roles
    kind : str
        How values of group and label columns come.
    checks : Checks
    """

    def __init__(self, source: Roles, kind: Kind, checks: Checks) -> None:
        self.source, self.kind, self.checks = source, kind, checks
        self.coder = KeyCoder([*source.group_columns, *([] if source.label is None else [source.label])])
        self.numbers = ("score", "weight") if source.weight is not None else ("score",)
        self.columns: dict[str, list[NDArray[Any]]] = {"key": [], "score": [], "weight": [], "n": []}
        self.words = {"score": 0, "weight": 0}
        self.clusters = None if source.cluster is None else ClusterColumn(source.cluster, kind)
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
            self.words[role] += self.checks.words(batch.column(role), n)
        if self.clusters is not None:
            self.clusters.add(batch.column("cluster"))
        self.fetched += batch.num_rows
        return self.fetched

    def finish(self, several: bool, called: Callable[[Key], Hashable] | None = None) -> CountedRows:
        """Check what was counted and put it into a table; ``called`` names groups, instead of the rules of memory."""
        n = self._whole("n") if self.columns["n"] else None
        scores, key = self._whole("score"), self._whole("key")
        self.checks.explain(scores, n, self.words["score"])
        rows = np.bincount(key, weights=n, minlength=len(self.coder.keys)).astype(np.int64)
        scored = (self.source.score, scores)
        codes, groups, labels = name_keys(self.coder.keys, rows, self.source, self.kind, several, called, scored)
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
            refuse_swapped(labels, self.source.label, self.kind, self.source.score, scores, more=True)

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
        ones = np.ones(len(weight), dtype=np.int64) if n is None else n
        self.checks.explain_weights(weight, ones, self.words["weight"])
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
