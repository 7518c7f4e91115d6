"""Columns of any kind (list, NumPy, pandas, Polars, PyArrow) as NumPy arrays: by name, and in the right order."""

from __future__ import annotations

import decimal
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fairpot._optional import Lazy
from fairpot._said import COLUMNS
from fairpot._validation import wording

if TYPE_CHECKING:
    import narwhals as nw
else:
    nw = Lazy("narwhals")  # takes a while to load, and rows of files do without

_NO_FRAMES = (list, tuple, dict, np.ndarray)


def as_native_columns(values: Any) -> nw.DataFrame[Any] | nw.Series[Any] | None:
    """Wrap a frame or series of any library Narwhals knows; None for anything else."""
    if values is None or type(values) in _NO_FRAMES:
        return None
    if type(values).__module__.startswith("pyarrow") and hasattr(values, "type") and hasattr(values, "cast"):
        values = _as_chunked(values)
    try:
        wrapped = nw.from_native(values, allow_series=True, pass_through=True)
    except nw.exceptions.DuplicateError as error:
        raise ValueError(
            "the frame has two columns of one name.\nHint: rename one, or pass a single column."
        ) from error
    if isinstance(wrapped, nw.LazyFrame):
        raise TypeError("a lazy frame has no rows yet.\nHint: call .collect() on it first.")
    return wrapped if isinstance(wrapped, nw.DataFrame | nw.Series) else None


def has_names(values: Any) -> bool:
    """Whether it is a frame of several columns, or a lazy one: its columns go by their names."""
    if values is None or type(values) in _NO_FRAMES:
        return False
    wrapped = nw.from_native(values, pass_through=True)
    return isinstance(wrapped, nw.LazyFrame) or (isinstance(wrapped, nw.DataFrame) and wrapped.shape[1] > 1)


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
        raise TypeError(f"{name} is missing.\nHint: pass a column with one value a row, {name}=...")
    if hasattr(values, "toarray"):
        raise TypeError(f"{name} is a sparse matrix: sparse data is not supported.\nHint: pass one dense column.")
    if isinstance(values, str | bytes | dict):
        hint = "\nHint: pass the column itself, frame[...]; score_table(frame, score=..., label=..., ...) takes names."
        raise TypeError(
            f"{name} must be a column with one value a row, got {type(values).__name__}."
            + (hint if isinstance(values, str) else "")
        )
    wrapped = as_native_columns(values)
    if wrapped is not None and isinstance(wrapped, nw.DataFrame):
        if wrapped.shape[1] != 1:
            raise ValueError(_one_column(name, wrapped.shape))
        wrapped = wrapped[:, 0]
    if wrapped is not None:
        return series_to_numpy(wrapped)
    reject_masked(values, name)
    try:
        array = np.asarray(values)
    except ValueError as error:
        raise ValueError(
            f"{name} has rows of different lengths.\nHint: pass one flat column, one value a row."
        ) from error
    if array.ndim == 2:
        if array.shape[1] != 1:
            raise ValueError(_one_column(name, array.shape))
        array = array[:, 0]
    if array.ndim != 1:
        what = type(values).__name__ if array.ndim == 0 else f"an array of shape {array.shape}"
        raise ValueError(f"{name} must be a column with one value a row, got {what}.")
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


def without_missing(columns: dict[str, Any]) -> tuple[dict[str, Any], dict[str, int]]:
    """Leave out rows in which a column has no value; count them, in all ("rows") and for each column."""
    lacks = {name: lacking(values) for name, values in columns.items() if values is not None}
    if len({len(rows) for rows in lacks.values()}) != 1:
        return columns, {"rows": 0}
    there, found = _complete(lacks)
    if not found["rows"]:
        return columns, found
    return {name: None if values is None else kept_rows(values, there) for name, values in columns.items()}, found


def lacking_only(name: str, columns: dict[str, Any]) -> dict[str, Any] | None:
    """Keep the rows in which one column alone has no value; None where there are none, or lengths differ."""
    lacks = {each: lacking(values) for each, values in columns.items() if values is not None}
    if name not in lacks or len({len(rows) for rows in lacks.values()}) != 1:
        return None
    there = lacks.pop(name) & ~np.logical_or.reduce([*lacks.values()])
    if not there.any():
        return None
    return {each: None if values is None else kept_rows(values, there) for each, values in columns.items()}


def complete_rows(frame: nw.DataFrame[Any]) -> tuple[nw.DataFrame[Any], dict[str, int]]:
    """Leave out the rows of a frame in which a column has no value; count them as :func:`without_missing` does."""
    there, found = _complete({name: _lacking_in_series(frame[name]) for name in frame.columns})
    return frame.filter(there.tolist()) if found["rows"] else frame, found


def _complete(lacks: dict[str, NDArray[np.bool_]]) -> tuple[NDArray[np.bool_], dict[str, int]]:
    gone = np.logical_or.reduce(list(lacks.values()))
    return ~gone, {"rows": int(gone.sum()), **{name: int(rows.sum()) for name, rows in lacks.items()}}


def lacking(values: Any) -> NDArray[np.bool_]:
    """Mark the rows of one or several columns that hold no value."""
    if isinstance(values, dict):
        return np.logical_or.reduce([lacking(each) for each in values.values()])
    wrapped = as_native_columns(values)
    if isinstance(wrapped, nw.DataFrame):
        return np.logical_or.reduce([_lacking_in_series(wrapped[name]) for name in wrapped.columns])
    if wrapped is not None:
        return _lacking_in_series(wrapped)
    array = np.asarray(values, dtype=object if isinstance(values, list | tuple) else None)
    return np.asarray(missing(array.reshape(-1)).reshape(len(array), -1).any(axis=1))


def _lacking_in_series(series: nw.Series[Any]) -> NDArray[np.bool_]:
    null = np.asarray(series.is_null().to_numpy(), dtype=bool)
    return null | np.isnan(series.to_numpy().astype(np.float64)) if series.dtype.is_float() else null


def kept_rows(values: Any, rows: NDArray[np.bool_]) -> Any:
    """Take some rows of one or several columns, in the type they came in."""
    if isinstance(values, dict):
        return {name: kept_rows(each, rows) for name, each in values.items()}
    wrapped = as_native_columns(values)
    if wrapped is not None:
        return wrapped.filter(rows.tolist()).to_native()
    if isinstance(values, list | tuple):
        return [each for each, there in zip(values, rows.tolist()) if there]
    return np.asarray(values)[rows]


def _one_column(name: str, shape: tuple[int, ...]) -> str:
    if shape[1] == 0:
        return f"{name} has 0 feature(s) (shape={shape}) while a minimum of 1 is required: it must be one column."
    both = shape[1] == 2 and "score" in name
    hint = "for probabilities of two classes pass that of the outcome, proba[:, 1]" if both else "pick one column"
    return f"{name} must be one column, got {shape[1]} columns.\nHint: {hint}."


def check_column_names(names: Any, name: str = "sensitive_features") -> list[str | int]:
    """Check the name of one column, or its number where columns have no names, or a list of them."""
    listed = [names] if isinstance(names, str | int) else names
    known = isinstance(listed, Sequence) and all(isinstance(c, str | int) and not isinstance(c, bool) for c in listed)
    if not known or not listed:
        raise TypeError(
            f"{name} must be the name of a column of X, or a list of names, got {type(names).__name__}.\n"
            f"Hint: the groups themselves are passed to the call, .fit(X, y, {name}=...)."
        )
    return list(listed)


def check_names(names: Mapping[str, Any]) -> None:
    """Check the names of columns that play some part; of a group there may be several."""
    for part, name in names.items():
        listed = [*name] if part == "group" and isinstance(name, list | tuple) else [name]
        if name is not None and not (listed and all(isinstance(each, str) for each in listed)):
            told = f"{part} must be the name of a column, got {type(name).__name__}.\nHint: name a column, {part}='...'"
            words = [
                f"; the column itself goes by {word}=..." for word, its_name in COLUMNS.items() if its_name == part
            ]
            raise TypeError(told + "".join(words))


def select_columns(X: Any, names: Sequence[str | int]) -> Any:
    """Take columns of a frame by name, of an array by number."""
    if _by_number(X, names):
        columns = {str(number): X[:, number] for number in names}
        return columns if len(names) > 1 else next(iter(columns.values()))
    return _frame_with(X, names).select(*map(str, names)).to_native()


def _by_number(X: Any, names: Sequence[str | int]) -> bool:
    """Whether columns are named by their numbers, in an array that has as many."""
    if not isinstance(X, np.ndarray) or not all(isinstance(each, int) for each in names):
        return False
    wide = X.shape[1] if X.ndim == 2 else 0
    if beyond := [each for each in names if not -wide <= int(each) < wide]:
        raise ValueError(f"X has {wide} columns, and none of number {beyond[0]}.\nHint: they are counted from 0 on.")
    return True


def frame_column(frame: Any, name: str | Sequence[str]) -> Any:
    """Take one column of a frame, or several as a frame."""
    wrapped = as_native_columns(frame)
    assert isinstance(wrapped, nw.DataFrame)
    wanted = [name] if isinstance(name, str) else [*name]
    unknown = [each for each in wanted if each not in wrapped.columns]
    if unknown:
        raise ValueError(f"the frame has no column {unknown[0]!r} {wording.all_columns(wrapped.columns)}.")
    return (wrapped[name] if isinstance(name, str) else wrapped.select(*wanted)).to_native()


def drop_columns(X: Any, names: Sequence[str | int]) -> Any:
    """Leave out columns of a frame by name, of an array by number."""
    if _by_number(X, names):
        return np.delete(X, [int(each) for each in names], axis=1)
    return _frame_with(X, names).drop(*map(str, names)).to_native()


def _frame_with(X: Any, names: Sequence[str | int]) -> nw.DataFrame[Any]:
    frame = as_native_columns(X)
    if not isinstance(frame, nw.DataFrame):
        raise TypeError(
            f"sensitive_features={list(names)} names columns of X, but X is no frame: {type(X).__name__}.\n"
            "Hint: pass a pandas, Polars or PyArrow frame (in a pipeline, set_output(transform='pandas') on the steps "
            "before), or pass the groups to the call, sensitive_features=..."
        )
    unknown = [c for c in names if c not in frame.columns]
    if unknown:
        raise ValueError(f"X has no column {unknown[0]!r} {wording.all_columns(frame.columns)}.")
    return frame


def check_alignment(**columns: Any) -> None:
    """Refuse columns whose indices say that they are of other rows, or of the same rows in another order.

    An index that only numbers rows (0, 1, 2, ...) says nothing about which rows they are, so it goes with any other.
    """
    pandas = {k: v for k, v in _flat(columns) if type(v).__module__.split(".")[0] == "pandas"}
    indexed = {
        name: value.index for name, value in pandas.items() if hasattr(value, "index") and hasattr(value, "iloc")
    }
    named = [name for name, index in indexed.items() if not _is_numbering(index)]
    for first in dict.fromkeys([*list(indexed)[:1], *named[:1]]):
        one = indexed[first]
        for name, other in indexed.items():
            if len(one) != len(other) or one.equals(other):  # other lengths are told elsewhere
                continue
            shuffled = one.symmetric_difference(other, sort=False).empty
            if not shuffled and not {first, name} <= set(named):
                continue
            differ = int((np.asarray(one, dtype=object) != np.asarray(other, dtype=object)).sum())
            what, why = f"has other index labels than {first}", "these look like other rows"
            if shuffled:
                what = f"has the index labels of {first} in another order"
                why = "rows are matched by position: outcomes and groups would go to the wrong rows"
            raise ValueError(
                f"{name} {what} ({differ} of {len(other)} rows differ): {why}.\n"
                f"Hint: pass the same rows in one order, as {name}.loc[{first}.index] does where it has them; if "
                "positions are right as they are, pass .to_numpy() or .reset_index(drop=True)."
            )


def _is_numbering(index: Any) -> bool:
    if type(index).__name__ == "RangeIndex":
        return bool(index.start == 0 and index.step == 1)
    return index.dtype.kind in "iu" and bool((index == np.arange(len(index))).all())


def _flat(columns: dict[str, Any]) -> list[tuple[str, Any]]:
    found = []
    for name, value in columns.items():
        if isinstance(value, dict):
            found += [(f"{name}[{key!r}]", each) for key, each in value.items()]
        else:
            found.append((name, value))
    return found
