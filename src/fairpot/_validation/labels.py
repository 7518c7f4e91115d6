"""Labels: 0/1 or booleans; other two-valued labels through ``pos_label``."""

from collections import Counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairpot._validation import wording
from fairpot._validation.columns import as_column, missing


def check_labels(y: Any, rows: int, name: str = "y", pos_label: Any = None) -> NDArray[np.int8]:
    """Check labels and return them as 0 and 1."""
    array = as_column(y, name)
    if len(array) != rows:
        raise ValueError(f"{name} has {len(array)} rows, but there are {rows} scores.")
    gone = missing(array)
    if gone.any():
        raise ValueError(wording.missing_labels(name, int(gone.sum())))
    if pos_label is not None:
        return _by_name(array, name, pos_label)
    if array.dtype.kind == "b":
        return array.astype(np.int8)
    if array.dtype.kind in "iu" and array.min() >= 0 and array.max() <= 1:
        return array.astype(np.int8)
    if array.dtype.kind == "f" and ((array == 0) | (array == 1)).all():
        return array.astype(np.int8)
    if array.dtype.kind == "O" and all(
        isinstance(v, bool | int | float | np.number | np.bool_) for v in array.tolist()
    ):
        return check_labels(np.array(array.tolist(), dtype=np.float64), rows, name)
    raise ValueError(_not_binary(array, name))


def _by_name(array: NDArray[Any], name: str, pos_label: Any) -> NDArray[np.int8]:
    if np.ndim(pos_label):
        raise TypeError(f"pos_label must be one label, got {type(pos_label).__name__}.")
    values = _distinct(array, name)
    if len(values) > 2:
        raise ValueError(wording.too_many_labels(name, values))
    if pos_label not in values:
        raise ValueError(wording.label_not_there(name, values, "pos_label", pos_label))
    return np.asarray(array == pos_label).astype(np.int8)


def _not_binary(array: NDArray[Any], name: str) -> str:
    _distinct(array, name)
    return wording.not_binary(name, Counter(array.tolist()), "pos_label")


def _distinct(array: NDArray[Any], name: str) -> list[Any]:
    try:
        values = set(array.tolist())
    except TypeError as error:
        raise TypeError(f"{name} must hold plain values (numbers, booleans, text): {error}.") from error
    return wording.in_order(values)
