"""From distinct values of group and label columns to names and classes, as in memory; and the types of columns."""

from __future__ import annotations

import decimal
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairpot._validation import check_groups, wording
from fairpot.engines.values import Kind, decoded

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
            raise ValueError(wording.missing_groups(f"column {name!r}", int(rows[gone].sum())))
    given: Any = columns if len(names) > 1 else columns[names[0]]
    codes, groups = check_groups(given, len(keys), f"column {names[0]!r}", several=False)
    if several and len(groups) < 2:
        where = f"column {names[0]!r} has" if len(names) == 1 else f"the columns {list(names)} have"
        raise ValueError(wording.single_group(where, groups[0], int(rows.sum())))
    return codes, groups


def name_labels(values: Sequence[Any], rows: Counts, name: str, kind: Kind, positive: Any) -> NDArray[np.int8]:
    """Tell which values of the label are positive: 0/1, booleans, or two values of which one is named."""
    met = list(dict.fromkeys(values))
    meaning = dict(zip(met, decoded(met, kind)))
    labels = [meaning[v] for v in values]
    gone = np.array([v is None or v != v for v in labels])
    if gone.any():
        raise ValueError(wording.missing_labels(f"column {name!r}", int(rows[gone].sum())))
    distinct = wording.in_order(set(labels))
    if positive is not None:
        chosen = _named(distinct, positive, name)
        return np.array([v == chosen for v in labels], dtype=np.int8)
    if all(isinstance(v, _NUMERIC) and v in (0, 1) for v in distinct):
        return np.array([bool(v) for v in labels], dtype=np.int8)
    of_each: Counter[Any] = Counter()
    for label, count in zip(labels, rows.tolist()):
        of_each[label] += count
    raise ValueError(wording.not_binary(f"column {name!r}", of_each, "positive"))


def _named(distinct: list[Any], positive: Any, name: str) -> Any:
    """Find the value that was named positive; on a command line its type is lost, so text will do."""
    if len(distinct) > 2:
        raise ValueError(wording.too_many_labels(f"column {name!r}", distinct))
    for v in distinct:
        if v == positive or str(v) == str(positive) or (isinstance(v, bool) and str(v) == str(positive).capitalize()):
            return v
    raise ValueError(wording.label_not_there(f"column {name!r}", distinct, "positive", positive))


def name_keys(
    keys: Sequence[tuple[Any, ...]],
    rows: Counts,
    groups: Sequence[str],
    label: str | None,
    kind: Kind,
    positive: Any,
    several: bool,
    called: Callable[[tuple[Any, ...]], Hashable] | None = None,
) -> tuple[NDArray[Any], tuple[Hashable, ...], NDArray[np.int8] | None]:
    """Name groups and labels of distinct combinations, the label last: a code and a label for each.

    ``called`` says what a combination of group values is called, instead of the rules of memory.
    """
    labels = None
    if label is not None:
        labels = name_labels([key[-1] for key in keys], rows, label, kind, positive)
    parts = [key[: len(groups)] for key in keys]
    if called is not None:
        places: dict[Hashable, int] = {}
        codes = np.array([places.setdefault(called(part), len(places)) for part in parts], dtype=np.intp)
        return codes, tuple(places), labels
    codes, names = name_groups(parts, rows, groups, kind, several=several)
    return codes, names, labels


def alike(groups: Sequence[Hashable]) -> list[tuple[str, str]]:
    """Find names of groups that differ only by spaces or case, pair by pair.

    >>> alike(["F", "M", " f", "other"])
    [('F', ' f')]
    """
    seen: dict[str, str] = {}
    pairs = []
    for group in groups:
        if isinstance(group, str):
            same = seen.setdefault(" ".join(group.split()).casefold(), group)
            pairs += [(same, group)] if same != group else []
    return pairs
