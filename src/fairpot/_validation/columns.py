"""From whatever holds a column (list, NumPy, pandas, Polars, PyArrow) to a NumPy array."""

import decimal
from typing import Any

import narwhals as nw
import numpy as np
from narwhals.exceptions import DuplicateError
from numpy.typing import NDArray


def as_native_columns(values: Any) -> nw.DataFrame[Any] | nw.Series[Any] | None:
    """Wrap a frame or series of any library Narwhals knows; None for anything else."""
    if type(values).__module__.startswith("pyarrow") and hasattr(values, "type") and hasattr(values, "cast"):
        values = _as_chunked(values)
    try:
        wrapped = nw.from_native(values, allow_series=True, pass_through=True)
    except DuplicateError as error:
        raise ValueError(
            "the frame has two columns of one name.\nHint: rename one, or pass a single column."
        ) from error
    if isinstance(wrapped, nw.LazyFrame):
        raise TypeError("a lazy frame has no rows yet.\nHint: call .collect() on it first.")
    return wrapped if isinstance(wrapped, nw.DataFrame | nw.Series) else None


def _as_chunked(values: Any) -> Any:
    """Turn a PyArrow array, dictionary-encoded or not, into the chunked array that Narwhals reads."""
    import pyarrow as pa  # the caller's own: a PyArrow array was handed in

    if isinstance(values, pa.Scalar):
        return values
    chunked = values if isinstance(values, pa.ChunkedArray) else pa.chunked_array([values])
    return chunked.cast(chunked.type.value_type) if pa.types.is_dictionary(chunked.type) else chunked


def as_column(values: Any, name: str) -> NDArray[Any]:
    """Return one column as a one-dimensional array, not yet checked for its content."""
    if values is None:
        raise TypeError(f"{name} is missing: pass a column with one value a row.")
    if hasattr(values, "toarray"):
        raise TypeError(f"{name} is a sparse matrix: sparse data is not supported.\nHint: pass one dense column.")
    if isinstance(values, str | bytes | dict):
        raise TypeError(f"{name} must be a column with one value a row, got {type(values).__name__}.")
    wrapped = as_native_columns(values)
    if isinstance(wrapped, nw.DataFrame):
        if wrapped.shape[1] != 1:
            raise ValueError(_one_column(name, wrapped.shape))
        wrapped = wrapped[:, 0]
    if wrapped is not None:
        return series_to_numpy(wrapped)
    reject_masked(values, name)
    try:
        array = np.asarray(values)
    except ValueError as error:
        raise ValueError(f"{name} has rows of different lengths: it must be one flat column.") from error
    if array.ndim == 2:
        if array.shape[1] != 1:
            raise ValueError(_one_column(name, array.shape))
        array = array[:, 0]
    if array.ndim != 1:
        raise ValueError(f"{name} must be a column with one value a row, got {_describe(values, array)}.")
    if array.dtype.kind in "US" and isinstance(values, list | tuple) and not set(map(type, values)) <= {str, bytes}:
        array = np.array(values, dtype=object)  # NumPy turns None and numbers beside text into text
    return array


def reject_masked(values: Any, name: str) -> None:
    """Refuse an array that hides some of its rows: NumPy would use what is behind the mask."""
    if np.ma.isMaskedArray(values) and np.ma.getmaskarray(values).any():
        raise ValueError(
            f"{name} has {int(np.ma.getmaskarray(values).sum())} masked rows.\nHint: drop or fill them first."
        )


def series_to_numpy(series: nw.Series[Any]) -> NDArray[Any]:
    """Return a series as an array; missing values become NaN or None, never numbers."""
    if (series.dtype.is_integer() or series.dtype == nw.Boolean) and series.null_count():
        return np.array(series.to_list(), dtype=object)
    return np.asarray(series.to_numpy())


def missing(array: NDArray[Any]) -> NDArray[np.bool_]:
    """Mark the rows that hold None, NaN, NaT or a library's own missing value."""
    if array.dtype.kind in "fc":
        return np.isnan(array)
    if array.dtype.kind in "mM":
        return np.isnat(array)
    if array.dtype.kind != "O":
        return np.zeros(len(array), dtype=bool)
    return np.fromiter(map(_is_missing, array.tolist()), dtype=bool, count=len(array))


def _is_missing(value: Any) -> bool:
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    if isinstance(value, decimal.Decimal):
        return value.is_nan()
    return isinstance(value, float | np.floating) and bool(value != value)


def _one_column(name: str, shape: tuple[int, ...]) -> str:
    if shape[1] == 0:
        return f"{name} has 0 feature(s) (shape={shape}) while a minimum of 1 is required: it must be one column."
    both = shape[1] == 2 and "score" in name
    hint = "for probabilities of two classes pass the positive one, proba[:, 1]" if both else "pick one column"
    return f"{name} must be one column, got {shape[1]} columns.\nHint: {hint}."


def _describe(values: Any, array: NDArray[Any]) -> str:
    return type(values).__name__ if array.ndim == 0 else f"an array of shape {array.shape}"
