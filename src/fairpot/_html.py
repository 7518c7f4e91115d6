"""Small tables for notebooks, as HTML; everything that comes from the data is escaped."""

from __future__ import annotations

from html import escape
from typing import Any


def html_table(rows: list[dict[str, Any]], caption: str = "") -> str:
    """Write rows as a plain table."""
    if not rows:
        return ""
    head = "".join(f"<th scope='col'>{escape(str(name).replace('_', ' '))}</th>" for name in rows[0])
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(cell(v, name))}</td>" for name, v in row.items()) + "</tr>" for row in rows
    )
    title = f"<caption>{escape(caption)}</caption>" if caption else ""
    return f"<table>{title}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def notes(texts: list[str]) -> str:
    """Write remarks as a list."""
    return "<ul>" + "".join(f"<li>{escape(text)}</li>" for text in texts) + "</ul>" if texts else ""


# Numbers of rows, which weights may have made fractions.
_ROWS = ("rows", "positives", "negatives", "flagged", "moved", "up", "down")


def cell(value: Any, name: str = "") -> str:
    """Show a value: whole numbers with commas, shares with four digits, many rows to the row, nothing as a dash."""
    if value is None:
        return "-"
    if isinstance(value, float):
        if name in _ROWS and abs(value) >= 100:
            return f"{value:,.0f}"
        return f"{value:,.10g}" if value == int(value) and abs(value) >= 2 else f"{value:.4f}"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)
