"""Values: finite scores, labels 0/1, shares, weights of rules and names of options."""

from __future__ import annotations

import decimal
import numbers
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fairpot._arguments import argument
from fairpot._defaults import LEVEL
from fairpot._optional import Lazy
from fairpot._validation import wording
from fairpot._validation.columns import as_column, as_native_columns, missing

if TYPE_CHECKING:
    import narwhals as nw
else:
    nw = Lazy("narwhals")


def is_number(value: Any) -> bool:
    return isinstance(value, numbers.Real) and not isinstance(value, bool)


def as_double(value: Any) -> float:
    """Return a number as a double; ``np.float32(0.1)`` is the 0.1 that was typed, not the 0.10000000149 of its bits."""
    return float(str(value)) if isinstance(value, np.float32 | np.float16) else float(value)


def check_whole(value: Any, name: str, least: int = 1, hint: str = "") -> int:
    """Check a whole number that is not too small."""
    if not is_number(value) or not float(value).is_integer():
        raise TypeError(f"{name} must be a whole number, at least {least}, got {wording.got(value)}.")
    if value < least:
        raise ValueError(f"{name} must be at least {least}, got {value!r}." + (f"\nHint: {hint}" if hint else ""))
    return int(value)


def check_share(value: Any, name: str, *, zero: bool) -> float:
    """Check a number in [0, 1], or in (0, 1] if ``zero`` is False."""
    rule = "[0, 1]" if zero else "(0, 1]"
    if not is_number(value):
        raise TypeError(f"{name} must be a number in {rule}, got {wording.got(value)}.")
    if not (0 <= value <= 1) or (value == 0 and not zero):
        raise ValueError(f"{name} must lie in {rule}, got {value!r}.")
    return as_double(value)


def check_top(top: Any) -> float:
    """Check a top: a share of the rows, or a whole number of rows, which stays an int."""
    hint = f"Hint: {argument('top', 200)} for 200 rows, {argument('top', 0.1)} for the top 10%."
    whole = isinstance(top, int | np.integer) and not isinstance(top, bool)
    if not whole and not is_number(top):
        raise TypeError(f"top must be a whole number of rows or a share in (0, 1], got {wording.got(top)}.\n{hint}")
    if not (top >= 1 if whole else 0 < top <= 1):
        raise ValueError(
            f"top must be a whole number of rows, at least 1, or a share in (0, 1], got {wording.got(top)}.\n{hint}"
        )
    return int(top) if whole else as_double(top)


def check_threshold(value: Any) -> float:
    """Check a score from which rows are flagged."""
    if not is_number(value) or not -1.7e308 < value < 1.7e308:
        got = wording.got(value)
        raise ValueError(f"threshold must be a finite number, a score from which rows are flagged, got {got}.")
    return as_double(value)


def check_choice(value: Any, name: str, allowed: Sequence[str]) -> str:
    if not isinstance(value, str) or value not in allowed:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, allowed))}, got {wording.got(value)}.")
    return value


def check_scores(scores: Any, name: str = "scores", noun: str = "score") -> NDArray[np.float64]:
    """Check scores, or other real numbers, and return them as a float64 array."""
    array = as_column(scores, name)
    if len(array) == 0:
        raise ValueError(wording.empty(name))
    clean = to_floats(array, name, noun)
    if not (clean.max() < wording.LARGEST and clean.min() > -wording.LARGEST):  # NaN fails both
        raise ValueError(bad_scores(clean, None, name, noun=noun))
    return clean


def bad_scores(
    scores: NDArray[np.float64], rows: NDArray[np.int64] | None, name: str, *, whole: bool = False, noun: str = "score"
) -> str:
    """Say what is wrong with scores, ``rows`` of each; ``whole``: infinite ones are whole numbers beyond doubles."""
    rows = np.ones(len(scores), dtype=np.int64) if rows is None else rows
    missing, infinite = int(rows[np.isnan(scores)].sum()), int(rows[np.isinf(scores)].sum())
    if missing:
        return wording.missing_numbers(name, missing, noun)
    if infinite and whole:
        return wording.beyond_doubles(name)
    if infinite:
        must, odds = "scores must be finite", " (log-odds of a probability of 0 or 1 are infinite)"
        must, odds = (must, odds) if noun == "score" else ("times must be finite", "")
        return f"{name} has {wording.counted(infinite, 'infinite row')}; {must}.\nHint: clip them{odds}."
    return f"{name} reaches {np.abs(scores).max():.3g}; magnitudes from {wording.LARGEST:g} on overflow."


def to_floats(array: NDArray[Any], name: str, noun: str = "score") -> NDArray[np.float64]:
    """Turn a column of numbers into float64; text, booleans and the like are errors, not numbers."""
    kind = array.dtype.kind
    if kind == "c":
        raise ValueError(f"{name} must be real numbers. Complex data not supported.")
    if kind not in "iufO":
        what = {"b": "booleans", "U": "text", "S": "bytes"}.get(kind, str(array.dtype))
        hint = f"pass the {noun} itself, not a class" if kind == "b" else "convert the column to numbers first"
        raise TypeError(wording.wrong_kind(name, what, hint))
    if kind == "O":
        _require_numbers(array, name, noun)
    if _beyond_doubles(array):
        raise ValueError(wording.beyond_doubles(name))
    clean = array.astype(np.float64, copy=False)
    merged = _merged(array, clean) if noun == "score" else 0
    if merged:
        raise ValueError(
            f"{name} holds {merged} values that differ from others only beyond the 16 digits of a double, and would "
            "be tied with them.\nHint: round them yourself, or rank them first."
        )
    return clean


def _merged(array: NDArray[Any], clean: NDArray[np.float64]) -> int:
    """Count the distinct values (decimals, fractions, long doubles) that become equal as doubles."""
    if array.dtype.kind == "O":
        return len(set(array.tolist())) - len(set(clean.tolist()))
    return len(np.unique(array)) - len(np.unique(clean)) if array.dtype.itemsize > 8 else 0


def _beyond_doubles(array: NDArray[Any]) -> bool:
    if array.dtype.kind == "O":
        return any(isinstance(v, numbers.Integral) and abs(int(v)) > 2**53 for v in array.tolist())
    return array.dtype.kind in "iu" and len(array) > 0 and max(abs(int(array.min())), abs(int(array.max()))) > 2**53


def restore(result: NDArray[np.float64], like: Any) -> Any:
    """Return a result in the caller's type: series and frames keep library, name and index."""
    wrapped = as_native_columns(like)
    if wrapped is None:
        shape = np.shape(like) if not isinstance(like, list | tuple) or np.ndim(like) == 2 else (len(result),)
        return result.reshape(shape)
    series = wrapped[:, 0] if isinstance(wrapped, nw.DataFrame) else wrapped
    made = nw.new_series(series.name, result, nw.Float64, backend=series.implementation)
    index = nw.maybe_get_index(series)
    if index is not None:
        made = nw.maybe_set_index(made, index=index)
    if isinstance(wrapped, nw.DataFrame):
        return made.to_frame().to_native()
    native = made.to_native()
    # A plain PyArrow array came in, of whatever type: hand a plain one back.
    plain = type(native).__name__ == "ChunkedArray" and type(like).__name__ != "ChunkedArray"
    return native.combine_chunks() if plain else native


def _require_numbers(array: NDArray[Any], name: str, noun: str) -> None:
    gone = missing(array)
    if gone.any():
        raise ValueError(wording.missing_numbers(name, int(gone.sum()), noun))
    wrong = [
        i for i, v in enumerate(array.tolist()) if type(v) is bool or not isinstance(v, numbers.Real | decimal.Decimal)
    ]
    if wrong:
        raise TypeError(wording.no_numbers(name, len(wrong), array[wrong[0]], wrong[0] + 1))


def check_labels(y: Any, rows: int, name: str = "y", pos_label: Any = None) -> NDArray[np.int8]:
    array = as_column(y, name)
    if len(array) != rows:
        raise ValueError(wording.other_length(name, len(array), rows))
    gone = missing(array)
    if gone.any():
        raise ValueError(wording.missing_labels(name, int(gone.sum())))
    if pos_label is not None:
        if np.ndim(pos_label):
            what = f"pos_label must be one label, got {type(pos_label).__name__}."
            raise TypeError(f"{what}\nHint: name the value that means the outcome happened.")
        return np.asarray(array == named_label(_distinct(array, name), pos_label, name)).astype(np.int8)
    kind = array.dtype.kind
    whole = kind == "b" or (kind in "iu" and array.min() >= 0 and array.max() <= 1)
    if whole or (kind == "f" and ((array == 0) | (array == 1)).all()):
        return array.astype(np.int8)
    if kind == "O" and all(isinstance(v, bool | int | float | np.number | np.bool_) for v in array.tolist()):
        return check_labels(np.array(array.tolist(), dtype=np.float64), rows, name)
    _distinct(array, name)
    raise ValueError(wording.not_binary(name, Counter(array.tolist()), "pos_label"))


def swapped_values(labels: NDArray[Any], scores: NDArray[Any]) -> tuple[int, int] | None:
    """Count the distinct values of refused labels (more than two numbers) and of scores (two at most), else None."""
    try:
        outcomes, ranked = (set(column[~missing(column)].tolist()) for column in (labels, scores))
    except TypeError:  # values that cannot be told apart
        return None
    if not len(outcomes) > 2 >= len(ranked) > 0:
        return None
    could_be_scores = all(isinstance(value, decimal.Decimal) or is_number(value) for value in outcomes)
    return (len(outcomes), len(ranked)) if could_be_scores else None


def named_label(values: list[Any], pos_label: Any, name: str) -> Any:
    """Find the value that was named positive; on a command line its type is lost, so text will do."""
    if len(values) > 2:
        raise ValueError(f"{name} must have two values, got {len(values)}: {wording.listed(values)}.")
    for v in values:
        text = str(pos_label).capitalize() if isinstance(v, bool) else str(pos_label)
        if v == pos_label or str(v) == text:
            return v
    raise ValueError(
        f"{argument('pos_label', pos_label)} is not in {name}, which holds {wording.listed(values)}.\n"
        "Hint: upper and lower case matter."
    )


def _distinct(array: NDArray[Any], name: str) -> list[Any]:
    try:
        values = set(array.tolist())
    except TypeError as error:
        raise TypeError(f"{name} must hold plain values (numbers, booleans, text): {error}.") from error
    return wording.in_order(values)


def check_level(level: Any, name: str = "level") -> float:
    if not is_number(level):
        raise TypeError(f"{name} must be a number such as {LEVEL:g}, got {wording.got(level)}.")
    if not 0.5 < level < 1:
        raise ValueError(
            f"{name} must lie between 0.5 and 1, got {level!r}.\nHint: {100 * LEVEL:g}% is {name}={LEVEL:g}."
        )
    return float(level)
