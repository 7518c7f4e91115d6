"""Small tables and pictures for notebooks, as HTML and SVG; everything that comes from the data is escaped."""

from __future__ import annotations

import html
from collections.abc import Sequence
from typing import Any


def printable(text: str) -> str:
    """Show what is no character of a text (controls, surrogates, marks that turn its direction) as its code.

    Examples
    --------
    >>> printable("a\\u202eb")
    'a\\\\u202eb'
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in "\n\u200d" else c.encode("unicode_escape").decode() for c in text)


def escaped(text: str) -> str:
    """Write a text of the data so that none of it is taken for HTML."""
    return html.escape(printable(text))


def html_table(rows: list[dict[str, Any]], caption: str = "") -> str:
    """Write rows as a plain table."""
    if not rows:
        return ""
    head = "".join(f"<th scope='col'>{escaped(str(name).replace('_', ' '))}</th>" for name in rows[0])
    body = "".join(
        "<tr>" + "".join(f"<td>{escaped(cell(v, name))}</td>" for name, v in row.items()) + "</tr>" for row in rows
    )
    title = f"<caption>{escaped(caption)}</caption>" if caption else ""
    return f"<table>{title}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def notes(texts: list[str]) -> str:
    """Write remarks as a list."""
    return "<ul>" + "".join(f"<li>{escaped(text)}</li>" for text in texts) + "</ul>" if texts else ""


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


# Colours that can be told apart on white and on black.
_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
_WIDTH, _LABEL, _LINE = 560, 220, 22


def intervals_svg(rows: Sequence[tuple[str, float, float, float]], title: str) -> str:
    """Draw numbers with their intervals, one line each, and a line at 0; rows are (label, value, low, high).

    Examples
    --------
    >>> intervals_svg([("M over F", 0.13, 0.09, 0.18)], "Gaps").startswith("<svg")
    True
    """
    known = [(label, float(value), float(first), float(last)) for label, value, first, last in rows]
    if not known:
        return ""
    ends = [0.0, *(each for row in known for each in row[1:] if isinstance(each, float) and each == each)]
    low, span = min(ends), (max(ends) - min(ends)) or 1.0

    def across(value: float) -> float:
        return round(_LABEL + 10 + (value - low) / span * (_WIDTH - _LABEL - 30), 1)

    height = _LINE * (len(known) + 1)
    zero = f"<line x1='{across(0)}' x2='{across(0)}' y1='0' y2='{height - _LINE}' stroke='currentColor' opacity='.35'/>"
    parts = []
    for place, (label, value, first, last) in enumerate(known):
        y = _LINE * place + _LINE // 2
        parts.append(f"<text x='{_LABEL}' y='{y + 4}' text-anchor='end'>{escaped(label)}</text>")
        if first == first and last == last:
            ends_at = f"x1='{across(first)}' x2='{across(last)}' y1='{y}' y2='{y}'"
            parts.append(f"<line {ends_at} stroke='{_COLOURS[0]}' stroke-width='3'/>")
        parts.append(f"<circle cx='{across(value)}' cy='{y}' r='4' fill='{_COLOURS[0]}'/>")
    feet = [(across(each), f"{each:.3g}") for each in dict.fromkeys((low, 0.0, low + span))]
    parts += [f"<text x='{x}' y='{height - 6}' text-anchor='middle'>{text}</text>" for x, text in feet]
    return _svg(title, height, zero, *parts)


def lines_svg(lines: Sequence[tuple[str, Sequence[float], Sequence[float]]], title: str, axes: tuple[str, str]) -> str:
    """Draw lines, each labelled at its end; lines are (label, x, y), ``axes`` what x and y are.

    Examples
    --------
    >>> lines_svg([("FairPOT", [0.0, 0.1], [0.7, 0.8])], "Trade-off", ("gap", "AUC")).startswith("<svg")
    True
    """
    points = [(float(x), float(y)) for _, xs, ys in lines for x, y in zip(xs, ys) if x == x and y == y]
    if not points:
        return ""
    left, right = min(x for x, _ in points), max(x for x, _ in points)
    bottom, top = min(y for _, y in points), max(y for _, y in points)
    height, wide, high = 200, (right - left) or 1.0, (top - bottom) or 1.0

    def place(x: float, y: float) -> str:
        across, up = 50 + (x - left) / wide * (_WIDTH - 170), 170 - (y - bottom) / high * 150
        return f"{across:.1f},{up:.1f}"

    parts = []
    for number, (label, xs, ys) in enumerate(lines):
        colour, known = _COLOURS[number % len(_COLOURS)], [(x, y) for x, y in zip(xs, ys) if x == x and y == y]
        path = " ".join(place(float(x), float(y)) for x, y in known)
        parts.append(f"<polyline points='{path}' fill='none' stroke='{colour}' stroke-width='2'/>")
        across, up = place(*map(float, known[-1])).split(",") if known else ("50", "20")
        parts.append(f"<text x='{float(across) + 6:.1f}' y='{up}' fill='{colour}'>{escaped(label)}</text>")
    parts.append(f"<text x='50' y='190'>{escaped(axes[0])}: {left:.3g} to {right:.3g}</text>")
    parts.append(f"<text x='4' y='12'>{escaped(axes[1])}: {bottom:.3g} to {top:.3g}</text>")
    return _svg(title, height, *parts)


def _svg(title: str, height: int, *parts: str) -> str:
    style = "font:12px sans-serif;fill:currentColor;max-width:100%"
    head = f"<svg xmlns='http://www.w3.org/2000/svg' role='img' viewBox='0 0 {_WIDTH} {height}' width='{_WIDTH}'"
    return f"{head} height='{height}' style='{style}'><title>{escaped(title)}</title>{''.join(parts)}</svg>"
