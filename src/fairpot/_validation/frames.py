"""Group columns that are named instead of handed over: read from, or dropped from, the frame of features."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import narwhals as nw

from fairpot._validation.columns import as_native_columns


def check_column_names(names: Any, name: str = "sensitive_features") -> list[str]:
    """Check the name of one column, or a list of them."""
    listed = [names] if isinstance(names, str) else names
    if not isinstance(listed, Sequence) or not listed or not all(isinstance(c, str) for c in listed):
        raise TypeError(
            f"{name} must be the name of a column of X, or a list of names, got {type(names).__name__}.\n"
            f"Hint: the groups themselves are passed to the call, .fit(X, y, {name}=...)."
        )
    return list(listed)


def select_columns(X: Any, names: Sequence[str]) -> Any:
    """Return the named columns of a frame as a frame of the same library."""
    return _frame_with(X, names).select(*names).to_native()


def drop_columns(X: Any, names: Sequence[str]) -> Any:
    """Return a frame without the named columns."""
    return _frame_with(X, names).drop(*names).to_native()


def _frame_with(X: Any, names: Sequence[str]) -> nw.DataFrame[Any]:
    frame = as_native_columns(X)
    if not isinstance(frame, nw.DataFrame):
        raise TypeError(
            f"sensitive_features={_shown(names)} names columns of X, but X is no frame: {type(X).__name__}.\n"
            "Hint: pass a pandas, Polars or PyArrow frame (in a pipeline, set_output(transform='pandas') on the steps "
            "before), or pass the groups to the call, sensitive_features=..."
        )
    unknown = [c for c in names if c not in frame.columns]
    if unknown:
        raise ValueError(f"X has no column {_shown(unknown)} (columns: {_shortened(frame.columns)}).")
    return frame


def _shown(names: Sequence[str]) -> str:
    return repr(names[0]) if len(names) == 1 else repr(list(names))


def _shortened(columns: Sequence[Any], most: int = 12) -> str:
    shown = ", ".join(map(repr, columns[:most]))
    return shown if len(columns) <= most else f"{shown} and {len(columns) - most} more"
