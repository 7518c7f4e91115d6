"""Small tables and pictures for notebooks; everything that comes from the data is escaped."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

from fairpot._svg import COLOURS, Markup, escaped, short, tag

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


_WIDTH, _LABEL, _TEXT, _LINE = 600, 190, 150, 22


def intervals_svg(rows: Sequence[tuple[str, float, float, float]], title: str) -> str:
    """Draw numbers with their intervals, one line each, and a line at 0; rows are (label, value, low, high).

    A number without an interval says so beside it.
    """
    known = [(label, float(value), float(first), float(last)) for label, value, first, last in rows if value == value]
    if not known:
        return ""
    ends = [0.0, *(each for row in known for each in row[1:] if each == each)]
    low, span = min(ends), (max(ends) - min(ends)) or 1.0

    def across(value: float) -> float:
        return round(_LABEL + 10 + (value - low) / span * (_WIDTH - _LABEL - _TEXT - 20), 1)

    height = _LINE * (len(known) + 1)
    parts = [_straight(across(0), 0, across(0), height - _LINE, stroke="currentColor", opacity=".35")]
    for row, (label, value, first, last) in enumerate(known):
        y, said = _LINE * row + _LINE // 2, f"{value:.3f}, no interval"
        parts.append(_label(label, x=_LABEL, y=y + 4, text_anchor="end"))
        if first == first and last == last:
            parts.append(_straight(across(first), y, across(last), y, stroke="currentColor", stroke_width=3))
            said = f"{value:.3f} ({first:.3f} to {last:.3f})"
        parts.append(tag("circle", cx=across(value), cy=y, r=4))
        parts.append(tag("text", said, x=_WIDTH - _TEXT, y=y + 4))
    feet = [(across(each), f"{each:.3g}") for each in dict.fromkeys((low, 0.0, low + span))]
    feet = [each for k, each in enumerate(feet) if k == 0 or abs(each[0] - feet[k - 1][0]) > 30]
    parts += [tag("text", text, x=x, y=height - 6, text_anchor="middle") for x, text in feet]
    return _picture(title, height, parts)


def _straight(x1: float, y1: float, x2: float, y2: float, **look: Any) -> Markup:
    return tag("line", x1=x1, y1=y1, x2=x2, y2=y2, **look)


def _label(label: str, **look: Any) -> Markup:
    cut = short(label)
    return tag("text", cut, None if cut == label else tag("title", label), **look)


Line = tuple[str, Sequence[float], Sequence[float]]


def lines_svg(
    lines: Sequence[Line],
    title: str,
    axes: tuple[str, str],
    shaded: Sequence[Sequence[float]] = (),
    note: str = "",
) -> str:
    """Draw lines, each labelled at its end; lines are (label, x, y), ``axes`` what x and y are.

    ``shaded`` is a band, (x low, x high, y) one after the other, and ``note`` is written below the picture.
    """
    points = [(float(x), float(y)) for _, xs, ys in lines for x, y in zip(xs, ys) if x == x and y == y]
    if not points:
        return ""
    band = [[float(each) for each in row] for row in shaded if all(each == each for each in row)]
    across_all = [x for x, _ in points] + [x for row in band for x in row[:2]]
    left, right = min(across_all), max(across_all)
    bottom, top = min(y for _, y in points), max(y for _, y in points)
    height, wide, high = 200 + 16 * bool(note), (right - left) or 1.0, (top - bottom) or 1.0

    def place(x: float, y: float) -> str:
        return f"{50 + (x - left) / wide * (_WIDTH - 190):.1f},{170 - (y - bottom) / high * 150:.1f}"

    parts = []
    for a, b in itertools.pairwise(band):
        corners = (place(a[0], a[2]), place(a[1], a[2]), place(b[1], b[2]), place(b[0], b[2]))
        parts.append(tag("polygon", points=" ".join(corners), fill=COLOURS[0], opacity=".16"))
    heights: list[float] = []
    for number, (label, xs, ys) in enumerate(lines):
        colour, known = COLOURS[number % len(COLOURS)], [(x, y) for x, y in zip(xs, ys) if x == x and y == y]
        if not known:
            continue
        path = " ".join(place(float(x), float(y)) for x, y in known)
        parts.append(tag("polyline", points=path, fill="none", stroke=colour, stroke_width=2))
        across, up = map(float, place(*map(float, known[-1])).split(","))
        while any(abs(up - other) < 13 for other in heights):  # labels side by side would cover each other
            up += 13
        heights.append(up)
        parts.append(tag("text", short(label, 20), x=f"{across + 6:.1f}", y=f"{up:.1f}", fill=colour))
    parts.append(tag("text", f"{axes[0]}: {left:.3g} to {right:.3g}", x=50, y=190))
    parts.append(tag("text", f"{axes[1]}: {bottom:.3g} to {top:.3g}", x=4, y=12))
    parts += [tag("text", note, x=50, y=206)] if note else []
    return _picture(title, height, parts)


def _picture(title: str, height: int, parts: Sequence[Markup]) -> Markup:
    size = {"viewBox": f"0 0 {_WIDTH} {height}", "width": _WIDTH, "height": height}
    style = "display:block;font:12px sans-serif;fill:currentColor;max-width:100%"
    known = {"xmlns": "http://www.w3.org/2000/svg", "role": "img", **size, "style": style}
    return tag("svg", tag("title", title), *parts, **known)
