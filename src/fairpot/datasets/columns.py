"""From the names of columns to the columns of a table of any kind."""

import difflib
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

import narwhals as nw
from narwhals.exceptions import DuplicateError
from numpy.typing import NDArray

from fairpot._validation.columns import as_column


def group_names(group: Any) -> list[str]:
    """Return the names of the group columns as a list."""
    names = list(group) if isinstance(group, Iterable) and not isinstance(group, str) else [group]
    if not names:
        raise ValueError("group must name at least one column, got an empty list.")
    for name in names:
        require_name(name, "group")
    return names


def require_name(value: Any, argument: str) -> None:
    """Insist on text where a column is named."""
    if not isinstance(value, str):
        raise TypeError(
            f"{argument} must be a column name, got {type(value).__name__}.\n"
            f"Hint: name a column of the frame, such as {argument}='{argument}'."
        )


def read_columns(frame: Any, wanted: list[str]) -> dict[str, NDArray[Any]]:
    """Return the wanted columns as arrays, or say which one is not there."""
    if isinstance(frame, Mapping):
        _require(list(frame), wanted)
        columns = {name: as_column(frame[name], name) for name in wanted}
        if len({len(column) for column in columns.values()}) > 1:
            raise ValueError(
                "the columns must have the same length; got "
                + ", ".join(f"{name}: {len(column)}" for name, column in columns.items())
                + ".\nHint: build them from the same rows."
            )
        return columns
    try:
        table: Any = nw.from_native(frame)
        _require(table.collect_schema().names(), wanted)
    except DuplicateError as error:
        raise ValueError(_repeated(frame)) from error
    except TypeError as error:
        raise TypeError(
            "frame must be a table (pandas, Polars, PyArrow, ... or a dict of columns); "
            f"got {type(frame).__name__}.\n"
            "Hint: for arrays, pass {'score': scores, 'label': labels, 'group': groups}."
        ) from error
    table = table.select(*dict.fromkeys(wanted))
    table = table.collect() if isinstance(table, nw.LazyFrame) else table
    return {name: as_column(table[name].to_native(), name) for name in wanted}


def _repeated(frame: Any) -> str:
    """Name the columns that a frame has more than once."""
    counts = Counter(frame.column_names if hasattr(frame, "column_names") else frame.columns)
    names = ", ".join(f"{name!r} {n} times" for name, n in counts.items() if n > 1)
    return f"the frame has columns of the same name: {names}.\nHint: rename or drop all but one of them."


def _require(present: list[Any], wanted: list[str]) -> None:
    """Raise for a column that is not there and suggest the nearest name."""
    for name in wanted:
        if name not in present:
            near = difflib.get_close_matches(name, [c for c in present if isinstance(c, str)], n=1, cutoff=0.5)
            way_out = f"did you mean {near[0]!r}?" if near else f"the columns are {present[:20]}."
            raise ValueError(f"the frame has no column {name!r}.\nHint: {way_out}")
