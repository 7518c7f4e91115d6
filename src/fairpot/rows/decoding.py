"""Values as files hold them: text, JSON and typed columns as names and as numbers."""

from __future__ import annotations

import json
import math
import re
import unicodedata
from collections.abc import Callable, Hashable, Sequence
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairpot._optional import Lazy
from fairpot._validation import wording
from fairpot.rows.roles import Kind

pa, pc = Lazy("pyarrow", "cli"), Lazy("pyarrow.compute", "cli")
EXACT = 2**53  # up to here doubles hold every whole number

# What pandas reads as missing in a text file.
MISSING_WORDS = (
    *("", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN"),
    *("<NA>", "N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null"),
)
_MISSING = frozenset(MISSING_WORDS)
_INTEGER = re.compile(r"[+-]?[0-9]+")
_CODE = re.compile(r"[+-]?0[0-9]+")
_FLOAT = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_BOOLEANS = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
# What texts may stand for, the likeliest first: whether one does, and what it is then.
_WAYS: tuple[tuple[Callable[[str], object], Callable[[str], Any]], ...] = (
    (_INTEGER.fullmatch, int),
    (_FLOAT.fullmatch, float),
    (_BOOLEANS.__contains__, _BOOLEANS.__getitem__),
)


def decoded(values: Sequence[Any], kind: Kind) -> list[Any]:
    """Turn the distinct values of a column into Python objects; text as integers, numbers or booleans if all are."""
    if kind == "json":
        return [None if v is None else json.loads(v) for v in values]
    if kind == "typed":
        return list(values)
    trimmed = [None if v is None else v.strip(" ") for v in values]
    texts = [None if v in _MISSING else v for v in trimmed]
    filled = [t for t in texts if t is not None]
    read = next((read for fits, read in _WAYS if filled and all(map(fits, filled))), None)
    if any(map(_CODE.fullmatch, filled)):  # 01 and 1 are two names
        read = None
    return [t if t is None or read is None else read(t) for t in texts]


def readings(value: Any, kind: Kind) -> list[Any]:
    """Return what a value of a group column may be called, the likeliest first: "1" may have been 1 in fit."""
    [known] = decoded([value], "json" if kind == "json" else "typed")
    if kind != "text" or known is None:
        return [known]
    known = known.strip(" ")
    if known in _MISSING:
        return [None]
    return [known, *(read(known) for fits, read in _WAYS if fits(known))]


def numbers_from_text(column: Any, name: str, decimal: str = ".") -> Any:
    """Read an Arrow column of text as doubles: null where missing, NaN where a word is no number."""
    text = pc.utf8_trim(column, " ")
    text = pc.if_else(pc.is_in(text, texts(*MISSING_WORDS)), pa.nulls(1, pa.string())[0], text)
    try:
        if decimal != ".":
            raise pa.ArrowInvalid
        found = text.cast(pa.float64())
    except pa.ArrowInvalid:
        found = pa.array([_number(word, decimal) for word in text.to_pylist()], pa.float64())
    if (pc.max(pc.abs(found)).as_py() or 0) >= EXACT and any(map(_too_long, text.to_pylist())):
        raise ValueError(wording.beyond_doubles(name))
    return found


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
    return word is not None and _INTEGER.fullmatch(word) is not None and (len(word) > 20 or abs(int(word)) > EXACT)


def numbers(column: Any, kind: Kind, name: str, decimal: str = ".") -> Any:
    """Read an Arrow column as doubles, however its values come."""
    if kind == "typed":
        return numbers_from_column(column)
    if kind == "text":
        return numbers_from_text(column, name, decimal)
    with suppress(pa.ArrowInvalid):  # plain numbers, as nearly always; anything else is looked at by itself
        found = column.cast(pa.float64())
        if (pc.max(pc.abs(found)).as_py() or 0) < EXACT and not pc.any(pc.is_nan(found)).as_py():
            return found
    values = (None if text is None else json.loads(text) for text in column.to_pylist())
    return pa.array([_number_from_json(value, name) for value in values], pa.float64())


def _number_from_json(value: Any, name: str) -> float | None:
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
    column = plain(column)
    if pa.types.is_decimal(column.type):  # through their text, which rounds correctly
        column = column.cast(pa.string())
    found = column if column.type == pa.float64() else column.cast(pa.float64(), safe=False)
    if not pa.types.is_integer(column.type) or column.type.bit_width < 64:
        return found
    beyond = pc.greater(column, pa.scalar(EXACT, column.type))
    if pa.types.is_signed_integer(column.type):
        beyond = pc.or_(beyond, pc.less(column, pa.scalar(-EXACT, column.type)))
    return pc.if_else(beyond, math.inf, found)


def plain(column: Any, type_: Any = None) -> Any:
    """Return an Arrow column without a dictionary, as a type if one is given."""
    wanted = type_ or (column.type.value_type if hasattr(column, "dictionary") else column.type)
    return column if column.type == wanted else column.cast(wanted)


# PyArrow's own ways between arrays and NumPy import pandas, which takes longer than all else that a small file needs.


def as_numpy(column: Any) -> NDArray[Any]:
    """Return an Arrow column of numbers; missing ones become NaN."""
    if column.null_count or not pa.types.is_primitive(column.type) or column.type.bit_width < 8:
        return np.asarray(column.to_numpy(zero_copy_only=False))
    dtype = np.dtype(column.type.to_pandas_dtype())
    return np.frombuffer(column.buffers()[1], dtype, len(column), column.offset * dtype.itemsize)


def as_arrow(values: NDArray[np.float64]) -> Any:
    """Return doubles as an Arrow column; NaN becomes a missing value."""
    if np.isnan(values).any():
        return pa.array(values, from_pandas=True)
    return pa.Array.from_buffers(pa.float64(), len(values), [None, pa.py_buffer(np.ascontiguousarray(values))])


def texts(*words: str) -> Any:
    """Return some words as an Arrow column."""
    ends = np.cumsum([0, *(len(word.encode()) for word in words)], dtype=np.int32)
    return pa.StringArray.from_buffers(len(words), pa.py_buffer(ends), pa.py_buffer("".join(words).encode()))


def doubles(column: Any) -> NDArray[np.float64]:
    """Return an Arrow column as doubles; missing ones become NaN."""
    return np.asarray(as_numpy(column), dtype=np.float64)


def count_words(column: Any, kind: Kind, rows: NDArray[np.int64] | None = None) -> int:
    """Count the rows, ``rows`` of each value, whose text was no number: they come as NaN, missing ones as null."""
    number = 0 if kind == "typed" else int(pc.sum(pc.is_nan(column)).as_py() or 0)
    if number == 0 or rows is None:
        return number
    return int(rows[pc.is_nan(column).fill_null(False).to_numpy(zero_copy_only=False)].sum())


def check_score_type(type_name: str, name: str) -> None:
    """Refuse columns that are no numbers."""
    kind = type_name.upper()
    if kind.startswith(("VARCHAR", "ENUM", "STRING", "LARGE_STRING", "DICTIONARY")):
        raise TypeError(wording.wrong_kind(f"column {name!r}", "text", "convert the column to numbers first"))
    if kind.startswith("BOOL"):
        raise TypeError(wording.wrong_kind(f"column {name!r}", "booleans", "pass the score itself, not a class"))
    if "[" in kind or not kind.startswith(_NUMBERS):
        raise TypeError(wording.wrong_kind(f"column {name!r}", type_name, "convert the column first"))


# As DuckDB and Arrow call them.
_NUMBERS = (
    *("TINYINT", "SMALLINT", "INT", "BIGINT", "HUGEINT", "UINT", "UTINYINT", "USMALLINT", "UBIGINT", "UHUGEINT"),
    *("FLOAT", "DOUBLE", "REAL", "DECIMAL", "HALF"),
)


def check_plain(type_: Any, name: str) -> None:
    """Refuse lists and structures where a value is needed; ``type_`` is DuckDB's or Arrow's."""
    text = str(type_).upper()
    nested = text.endswith(("]", ">")) and not text.startswith(("TIME", "DURATION", "DICTIONARY"))
    if nested or text.startswith(("STRUCT", "MAP", "UNION", "LIST")):
        raise TypeError(wording.not_plain(f"column {name!r}"))


def alike(groups: Sequence[Hashable]) -> list[tuple[str, str]]:
    """Find names of groups that differ only by spaces, case or code points that look the same, pair by pair."""
    seen: dict[str, str] = {}
    pairs = [(seen.setdefault(_looks(group), group), group) for group in groups if isinstance(group, str)]
    return [(same, group) for same, group in pairs if same != group]


def _looks(text: str) -> str:
    """Reduce a text to what is seen of it: accents in one piece, no marks without a width, one space, no case."""
    seen = "".join(c for c in unicodedata.normalize("NFKC", text) if unicodedata.category(c) != "Cf")
    return " ".join(seen.split()).casefold()
