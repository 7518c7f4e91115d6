"""Values as files hold them (typed, as text, as JSON) and what Python would have made of them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

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


def doubles(column: Any) -> NDArray[np.float64]:
    """Return an Arrow column of doubles; missing ones become NaN."""
    return np.asarray(column.to_numpy(zero_copy_only=False), dtype=np.float64)
