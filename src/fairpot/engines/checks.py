"""The rules of ``fairpot._validation`` for rows that are already counted: same wording, by number of rows."""

from __future__ import annotations

import decimal
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairpot._validation import check_groups
from fairpot.engines.columns import Kind, decoded

LARGEST = 1e300  # as for scores in memory: larger magnitudes overflow when subtracted or averaged
_EXACT = 2**53
_NUMERIC = (bool, int, float, decimal.Decimal)
Counts = NDArray[np.int64]


def check_score_type(type_name: str, name: str) -> None:
    """Refuse columns that are no numbers."""
    kind = type_name.upper()
    if kind.startswith(("VARCHAR", "ENUM", "STRING", "LARGE_STRING", "DICTIONARY")):
        raise TypeError(f"column {name!r} must be numbers, got text.\nHint: convert the column to numbers first.")
    if kind.startswith("BOOL"):
        raise TypeError(f"column {name!r} must be numbers, got booleans.\nHint: pass the score itself, not a class.")
    if "[" in kind or not kind.startswith(_NUMBERS + _FRACTIONS):
        raise TypeError(f"column {name!r} must be numbers, got {type_name}.\nHint: convert the column first.")


# As DuckDB and Arrow call them.
_NUMBERS = ("TINYINT", "SMALLINT", "INT", "BIGINT", "HUGEINT", "UINT", "UTINYINT", "USMALLINT", "UBIGINT", "UHUGEINT")
_FRACTIONS = ("FLOAT", "DOUBLE", "REAL", "DECIMAL", "HALF")


def check_plain(type_: Any, name: str) -> None:
    """Refuse lists and structures where a value is needed; ``type_`` is DuckDB's or Arrow's."""
    text = str(type_).upper()
    if (text.endswith(("]", ">")) and not text.startswith(("TIME", "DURATION", "DICTIONARY"))) or text.startswith(
        _NESTED
    ):
        raise TypeError(f"column {name!r} must hold plain values (text, numbers, booleans).")


_NESTED = ("STRUCT", "MAP", "UNION", "LIST")


def check_scores(scores: NDArray[np.float64], rows: Counts | None, name: str, *, whole: bool = False) -> None:
    """Check distinct scores, ``rows`` of each (None: one); missing ones are NaN."""
    if len(scores) == 0:
        raise ValueError(f"column {name!r} is empty: there are no rows to work on.")
    if np.abs(scores).max() < (_EXACT if whole else LARGEST):
        return
    raise ValueError(bad_scores(scores, rows, name, whole=whole))


def bad_scores(scores: NDArray[np.float64], rows: Counts | None, name: str, *, whole: bool = False) -> str:
    """Say what is wrong with scores that are not all finite."""
    rows = np.ones(len(scores), dtype=np.int64) if rows is None else rows
    missing, infinite = int(rows[np.isnan(scores)].sum()), int(rows[np.isinf(scores)].sum())
    if missing:
        return missing_scores(missing, name)
    if infinite:
        return infinite_scores(infinite, name)
    if whole:
        return (
            f"column {name!r} holds integers beyond 2**53, which doubles cannot tell apart.\n"
            "Hint: rescale or rank them first."
        )
    return f"column {name!r} reaches {np.abs(scores).max():.3g}; magnitudes from {LARGEST:g} on overflow."


def missing_scores(rows: int, name: str) -> str:
    """Say that scores are missing."""
    return (
        f"column {name!r} has {rows} missing (NaN) rows; every row needs a score.\n"
        "Hint: drop those rows or fill them first."
    )


def infinite_scores(rows: int, name: str) -> str:
    """Say that scores are infinite."""
    return (
        f"column {name!r} has {rows} infinite rows; scores must be finite.\n"
        "Hint: clip them (log-odds of a probability of 0 or 1 are infinite)."
    )


def no_numbers(rows: int, example: Any, name: str) -> str:
    """Say that a column of text holds what is no number."""
    return (
        f"column {name!r} must be numbers, got {rows} rows that are not, such as {example!r}.\n"
        "Hint: convert the column to numbers first; fairpot does not guess what a text means."
    )


def missing_groups(rows: int, name: str) -> str:
    """Say that groups are missing."""
    return (
        f"column {name!r} has {rows} rows without a group.\n"
        "Hint: drop those rows, or give them a group of their own such as 'unknown'."
    )


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
            raise ValueError(missing_groups(int(rows[gone].sum()), name))
    given: Any = columns if len(names) > 1 else columns[names[0]]
    codes, groups = check_groups(given, len(keys), f"column {names[0]!r}", several=False)
    if several and len(groups) < 2:
        where = f"column {names[0]!r} has" if len(names) == 1 else f"the columns {list(names)} have"
        raise ValueError(
            f"{where} a single group, {groups[0]!r}, in all {int(rows.sum())} rows: "
            "there is nothing to compare it with."
        )
    return codes, groups


def name_labels(values: Sequence[Any], rows: Counts, name: str, kind: Kind, positive: Any) -> NDArray[np.int8]:
    """Tell which values of the label are positive: 0/1, booleans, or two values of which one is named."""
    met = list(dict.fromkeys(values))
    meaning = dict(zip(met, decoded(met, kind)))
    labels = [meaning[v] for v in values]
    gone = np.array([v is None or v != v for v in labels])
    if gone.any():
        raise ValueError(
            f"column {name!r} has {int(rows[gone].sum())} missing rows.\n"
            "Hint: drop the rows whose outcome is not known."
        )
    distinct = _sorted(set(labels))
    if positive is not None:
        chosen = _named(distinct, positive, name)
        return np.array([v == chosen for v in labels], dtype=np.int8)
    if all(isinstance(v, _NUMERIC) and v in (0, 1) for v in distinct):
        return np.array([bool(v) for v in labels], dtype=np.int8)
    raise ValueError(_not_binary(labels, distinct, rows, name))


def _named(distinct: list[Any], positive: Any, name: str) -> Any:
    """Find the value that was named positive; on a command line its type is lost, so text will do."""
    if len(distinct) > 2:
        raise ValueError(f"column {name!r} must have two values, got {len(distinct)}: {_listed(distinct)}.")
    for v in distinct:
        if v == positive or str(v) == str(positive) or (isinstance(v, bool) and str(v) == str(positive).capitalize()):
            return v
    raise ValueError(f"positive={positive!r} is not in column {name!r}, which holds {_listed(distinct)}.")


def _not_binary(labels: list[Any], distinct: list[Any], rows: Counts, name: str) -> str:
    if len(distinct) == 2:
        hint = f"Hint: name the positive one, positive={distinct[-1]!r}."
        return f"column {name!r} must be 0/1 or booleans, got {_listed(distinct)}.\n{hint}"
    odd = int(rows[[v not in (0, 1) for v in labels]].sum())
    return (
        f"column {name!r} must be 0/1 or booleans, got {len(distinct)} values in all, {odd} rows other than 0/1: "
        f"{_listed(distinct)}.\nHint: a label says whether the outcome happened; compare or cut the column first."
    )


def name_keys(
    keys: Sequence[tuple[Any, ...]],
    rows: Counts,
    groups: Sequence[str],
    label: str | None,
    kind: Kind,
    positive: Any,
    several: bool,
) -> tuple[NDArray[Any], tuple[Hashable, ...], NDArray[np.int8] | None]:
    """Name groups and labels of distinct combinations, the label last: a code and a label for each."""
    labels = None
    if label is not None:
        labels = name_labels([key[-1] for key in keys], rows, label, kind, positive)
    parts = [key[: len(groups)] for key in keys]
    codes, names = name_groups(parts, rows, groups, kind, several=several)
    return codes, names, labels


def check_weights(weight: NDArray[np.float64], rows: Counts, name: str) -> None:
    """Check distinct weights, ``rows`` of each; missing ones are NaN."""
    bad = ~np.isfinite(weight)
    if bad.any():
        raise ValueError(f"column {name!r} has {int(rows[bad].sum())} missing or infinite rows.")
    below = weight < 0
    if below.any():
        raise ValueError(
            f"column {name!r} has {int(rows[below].sum())} negative rows, the least is {weight.min():g}; "
            "weights count rows and cannot be below 0."
        )
    if not weight.any():
        raise ValueError(f"column {name!r} is 0 in every row.")


def check_weight_of_groups(total: NDArray[Any], groups: Sequence[Hashable], name: str) -> None:
    """Insist that every group has some weight."""
    empty = [group for group, weight in zip(groups, total) if not weight > 0]
    if empty:
        raise ValueError(f"column {name!r} is 0 in all rows of the group {empty[0]!r}.\nHint: drop those rows.")


def _sorted(values: set[Any]) -> list[Any]:
    try:
        return sorted(values)
    except TypeError:
        return sorted(values, key=lambda v: (type(v).__name__, str(v)))


def _listed(values: list[Any]) -> str:
    return ", ".join(map(repr, values[:5])) + (", ..." if len(values) > 5 else "")
