"""Columns with an index (pandas) that hold the same labels in another order: matched by position they are wrong."""

from __future__ import annotations

from typing import Any


def check_alignment(**columns: Any) -> None:
    """Refuse columns whose indices hold the same labels as the first one's, but in another order.

    Labels that merely differ, as those of an array made into a series do, leave rows matched by position.
    """
    indexed = {name: value for name, value in _flat(columns) if _has_index(value)}
    if len(indexed) < 2:
        return
    (first, column), *others = indexed.items()
    for name, other in others:
        moved = _in_another_order(column.index, other.index)
        if moved:
            raise ValueError(
                f"{name} has the index labels of {first} in another order ({moved} of {len(other)} rows differ), and "
                f"rows are matched by position: outcomes and groups would go to the wrong rows.\n"
                f"Hint: bring them into one order, {name}.loc[{first}.index]; if positions are right as they are, "
                "pass .to_numpy() or .reset_index(drop=True)."
            )


def _flat(columns: dict[str, Any]) -> list[tuple[str, Any]]:
    found = []
    for name, value in columns.items():
        if isinstance(value, dict):
            found += [(f"{name}[{key!r}]", each) for key, each in value.items()]
        else:
            found.append((name, value))
    return found


def _has_index(value: Any) -> bool:
    return type(value).__module__.split(".")[0] == "pandas" and hasattr(value, "index") and hasattr(value, "iloc")


def _in_another_order(one: Any, other: Any) -> int:
    """Count the places at which two indices with the same labels differ; 0 if the labels are not the same."""
    if len(one) != len(other) or one.equals(other):
        return 0
    try:
        same = one.sort_values().equals(other.sort_values())
    except TypeError:  # labels that cannot be ordered
        same = sorted(map(repr, one)) == sorted(map(repr, other))
    return int((one != other).sum()) if same else 0
