"""Small tables for notebooks; everything that comes from the data is escaped. Pictures are drawn in `_svg`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fairpot._svg import COLOURS as COLOURS
from fairpot._svg import DARK as DARK
from fairpot._svg import escaped as escaped
from fairpot._svg import intervals_svg as intervals_svg
from fairpot._svg import lines_svg as lines_svg
from fairpot._svg import printable as printable
from fairpot._svg import queue_svg as queue_svg
from fairpot._svg import short as short

# Longer tables are cut, and say so. Columns of limits end so.
_MOST_ROWS, _ENDS = 20, ("", "_low", "_high")


def html_table(rows: list[dict[str, Any]], caption: str = "") -> str:
    """Write rows as a plain table, at most 20 of them."""
    if not rows:
        return ""
    if len(rows) > _MOST_ROWS:
        caption = f"{caption}: " if caption else ""
        caption, rows = f"{caption}{_MOST_ROWS} of {len(rows):,} rows; frame() has all", rows[:_MOST_ROWS]
    shown = [_with_limits(row) for row in rows]
    head = "".join(f"<th scope='col'>{escaped(_HEADS.get(name, name.replace('_', ' ')))}</th>" for name in shown[0])
    body = "".join("<tr>" + "".join(f"<td>{escaped(text)}</td>" for text in row.values()) + "</tr>" for row in shown)
    title = f"<caption>{escaped(caption)}</caption>" if caption else ""
    return f"<table>{title}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def paragraph(first: str, *rest: str) -> str:
    """Write what is found, the first sentence bold."""
    return f"<p><b>{escaped(first)}</b> {escaped(' '.join(rest))}</p>"


def notes(texts: Sequence[str]) -> str:
    """Write remarks as a list."""
    return "<ul>" + "".join(f"<li>{escaped(text)}</li>" for text in texts) + "</ul>" if texts else ""


# What tables for people call columns of frames.
_HEADS = {"positives": "with the outcome", "negatives": "without it", "first": "first group", "second": "second group"}
_HEADS |= {"flagged_positives": "flagged with the outcome", "flagged_negatives": "flagged without it"}


def _with_limits(row: dict[str, Any]) -> dict[str, str]:
    """Write a row's values, each with its limits in one cell where columns beside it have them."""
    limits = {f"{name}{end}": name for name in row for end in _ENDS if f"{name}_low" in row and f"{name}_high" in row}
    shown = {}
    for name, value in row.items():
        if limits.get(name, name) != name:
            continue
        low, high = (row.get(f"{name}{end}") for end in _ENDS[1:])
        ends = "" if low is None or high is None else f" ({cell(low)} to {cell(high)})"
        shown[str(name)] = cell(value, name) + ends
    return shown


# Numbers of rows, which weights may have made fractions.
_ROWS = ("rows", "with the outcome", "without it", "positives", "negatives", "flagged", "moved", "up", "down")


def cell(value: Any, name: str = "") -> str:
    """Show a value: whole numbers with commas, shares with three digits, many rows to the row, nothing as a dash."""
    if value is None:
        return "-"
    if isinstance(value, float):
        if name in _ROWS and abs(value) >= 100:
            return f"{value:,.0f}"
        return f"{value:,.10g}" if value == int(value) and abs(value) >= 2 else f"{value:.3f}"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)
