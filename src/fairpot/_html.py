"""Small tables and pictures for notebooks; everything that comes from the data is escaped."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fairpot._svg import escaped, short, tag

# Longer tables are cut, and say so. Columns of limits end so.
_MOST_ROWS, _ENDS = 20, ("", "_low", "_high")


def html_table(rows: list[dict[str, Any]], caption: str = "") -> str:
    """Write rows as a plain table, at most 20 of them."""
    if not rows:
        return ""
    if len(rows) > _MOST_ROWS:
        caption = f"{caption}: " if caption else ""
        caption, rows = f"{caption}{_MOST_ROWS} of {len(rows):,} rows; frame() has all", rows[:_MOST_ROWS]
    shown = [with_limits(row) for row in rows]
    head = "".join(f"<th scope='col'>{escaped(head_of(name))}</th>" for name in shown[0])
    body = "".join("<tr>" + "".join(f"<td>{escaped(text)}</td>" for text in row.values()) + "</tr>" for row in shown)
    title = f"<caption>{escaped(caption)}</caption>" if caption else ""
    return f"<table>{title}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def paragraph(first: str, *rest: str) -> str:
    return f"<p><b>{escaped(first)}</b> {escaped(' '.join(rest))}</p>"


def notes(texts: Sequence[str]) -> str:
    return "<ul>" + "".join(f"<li>{escaped(text)}</li>" for text in texts) + "</ul>" if texts else ""


# What tables for people call columns of frames.
_HEADS = {"positives": "with the outcome", "negatives": "without it", "first": "first group", "second": "second group"}
_HEADS |= {"flagged_positives": "flagged with the outcome", "flagged_negatives": "flagged without it"}
_HEADS |= {"q10": "10%", "q25": "25%", "q75": "75%", "q90": "90%", "deviation": "std. deviation", "against": "beside"}


def head_of(name: str) -> str:
    """Write the name of a column as people call it."""
    return _HEADS.get(name, name.replace("_", " "))


def with_limits(row: dict[str, Any]) -> dict[str, str]:
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
    if value is None or value != value:
        return "-"
    if isinstance(value, float):
        if name in _ROWS and abs(value) >= 100:
            return f"{value:,.0f}"
        return f"{value:,.10g}" if value == int(value) and abs(value) >= 2 else f"{value:.3f}"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)


_WIDTH, _LABEL, _TEXT, _LINE = 600, 190, 150, 22


def intervals_svg(rows: Sequence[tuple[str, float, float, float]], title: str) -> str:
    """Draw numbers with their intervals, (label, value, low, high), one line each, and a line at 0."""
    known = [(label, float(value), float(first), float(last)) for label, value, first, last in rows if value == value]
    if not known:
        return ""
    ends = [0.0, *(each for row in known for each in row[1:] if each == each)]
    low, span = min(ends), (max(ends) - min(ends)) or 1.0

    def across(value: float) -> float:
        return round(_LABEL + 10 + (value - low) / span * (_WIDTH - _LABEL - _TEXT - 20), 1)

    height = _LINE * (len(known) + 1)
    parts = [tag("path", d=f"M{across(0)} 0V{height - _LINE}", stroke="currentColor", opacity=".35")]
    for row, (label, value, first, last) in enumerate(known):
        y, said = _LINE * row + _LINE // 2, f"{value:.3f}, no interval"
        parts.append(tag("text", short(label), tag("title", label), x=_LABEL, y=y + 4, text_anchor="end"))
        if first == first and last == last:
            parts.append(tag("path", d=f"M{across(first)} {y}H{across(last)}", stroke="currentColor", stroke_width=3))
            said = f"{value:.3f} ({first:.3f} to {last:.3f})"
        parts.append(tag("circle", cx=across(value), cy=y, r=4))
        parts.append(tag("text", said, x=_WIDTH - _TEXT, y=y + 4))
    feet = [(across(each), f"{each:.3g}") for each in dict.fromkeys((low, 0.0, low + span))]
    feet = [each for k, each in enumerate(feet) if k == 0 or abs(each[0] - feet[k - 1][0]) > 30]
    parts += [tag("text", text, x=x, y=height - 6, text_anchor="middle") for x, text in feet]
    style = "display:block;font:12px sans-serif;fill:currentColor;max-width:100%"
    size = {"viewBox": f"0 0 {_WIDTH} {height}", "width": _WIDTH, "height": height}
    return tag("svg", tag("title", title), *parts, xmlns="http://www.w3.org/2000/svg", role="img", **size, style=style)
