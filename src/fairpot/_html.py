"""Small tables and pictures for notebooks, as HTML and SVG; everything that comes from the data is escaped."""

from __future__ import annotations

import html
import itertools
from collections.abc import Sequence
from typing import Any

# Longer tables are cut, and say so. Columns of limits end so.
_MOST_ROWS, _ENDS = 20, ("", "_low", "_high")


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
    """Write a row's values, each with its limits in one cell where columns beside it have them.

    Examples
    --------
    >>> _with_limits({"auc": 0.8, "auc_low": 0.75, "auc_high": 0.84})
    {'auc': '0.800 (0.750 to 0.840)'}
    """
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


# The palette of displays, report, notebooks and docs: each colour is dark enough to be read as text on white, 4.5 to 1.
# In the dark a report has the same hues, lighter.
COLOURS = ("#0072b2", "#b84300", "#3a3f47", "#d0337f", "#5b4bb5", "#827717", "#00724f", "#8a2be2")
DARK = ("#5cb8f0", "#ff9a57", "#d5d9e0", "#ff8fbf", "#b3a6ff", "#d8cf5a", "#3fd0a2", "#d69bff")
_WIDTH, _LABEL, _TEXT, _LINE = 600, 190, 150, 22
_LONGEST = 30  # of a label


def short(name: Any, longest: int = _LONGEST) -> str:
    """Cut a long name.

    Examples
    --------
    >>> short("a name that goes on and on and on", 12)
    'a name that…'
    """
    text = " ".join(str(name).split())
    return text if len(text) <= longest else text[: longest - 1].rstrip() + "…"


def intervals_svg(rows: Sequence[tuple[str, float, float, float]], title: str) -> str:
    """Draw numbers with their intervals, one line each, and a line at 0; rows are (label, value, low, high).

    A number without an interval says so beside it.

    Examples
    --------
    >>> intervals_svg([("M over F", 0.13, 0.09, 0.18)], "Gaps").startswith("<svg")
    True
    >>> "no interval" in intervals_svg([("M over F", 0.13, float("nan"), float("nan"))], "Gaps")
    True
    """
    known = [(label, float(value), float(first), float(last)) for label, value, first, last in rows if value == value]
    if not known:
        return ""
    ends = [0.0, *(each for row in known for each in row[1:] if each == each)]
    low, span = min(ends), (max(ends) - min(ends)) or 1.0

    def across(value: float) -> float:
        return round(_LABEL + 10 + (value - low) / span * (_WIDTH - _LABEL - _TEXT - 20), 1)

    height = _LINE * (len(known) + 1)
    zero = f"<line x1='{across(0)}' x2='{across(0)}' y1='0' y2='{height - _LINE}' stroke='currentColor' opacity='.35'/>"
    parts = []
    for line, (label, value, first, last) in enumerate(known):
        y = _LINE * line + _LINE // 2
        parts.append(f"<text x='{_LABEL}' y='{y + 4}' text-anchor='end'>{_named(label)}</text>")
        said = f"{value:.3f}, no interval"
        if first == first and last == last:
            ends_at = f"x1='{across(first)}' x2='{across(last)}' y1='{y}' y2='{y}'"
            parts.append(f"<line {ends_at} stroke='currentColor' stroke-width='3'/>")
            said = f"{value:.3f} ({first:.3f} to {last:.3f})"
        parts.append(f"<circle cx='{across(value)}' cy='{y}' r='4'/>")
        parts.append(f"<text x='{_WIDTH - _TEXT}' y='{y + 4}'>{said}</text>")
    feet = [(across(each), f"{each:.3g}") for each in dict.fromkeys((low, 0.0, low + span))]
    feet = [each for k, each in enumerate(feet) if k == 0 or abs(each[0] - feet[k - 1][0]) > 30]
    parts += [f"<text x='{x}' y='{height - 6}' text-anchor='middle'>{text}</text>" for x, text in feet]
    return _svg(title, height, zero, *parts)


def _named(label: str) -> str:
    """Write a label, cut if it is long, with the whole of it in its title."""
    cut = short(label)
    return escaped(cut) if cut == label else f"{escaped(cut)}<title>{escaped(label)}</title>"


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

    Examples
    --------
    >>> lines_svg([("FairPOT", [0.0, 0.1], [0.7, 0.8])], "Trade-off", ("gap", "AUC")).startswith("<svg")
    True
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

    parts = [
        f"<polygon points='{place(a[0], a[2])} {place(a[1], a[2])} {place(b[1], b[2])} {place(b[0], b[2])}' "
        f"fill='{COLOURS[0]}' opacity='.16'/>"
        for a, b in itertools.pairwise(band)
    ]
    heights: list[float] = []
    for number, (label, xs, ys) in enumerate(lines):
        colour, known = COLOURS[number % len(COLOURS)], [(x, y) for x, y in zip(xs, ys) if x == x and y == y]
        if not known:
            continue
        path = " ".join(place(float(x), float(y)) for x, y in known)
        parts.append(f"<polyline points='{path}' fill='none' stroke='{colour}' stroke-width='2'/>")
        across, up = map(float, place(*map(float, known[-1])).split(","))
        while any(abs(up - other) < 13 for other in heights):  # labels side by side would cover each other
            up += 13
        heights.append(up)
        parts.append(f"<text x='{across + 6:.1f}' y='{up:.1f}' fill='{colour}'>{escaped(short(label, 20))}</text>")
    parts.append(f"<text x='50' y='190'>{escaped(axes[0])}: {left:.3g} to {right:.3g}</text>")
    parts.append(f"<text x='4' y='12'>{escaped(axes[1])}: {bottom:.3g} to {top:.3g}</text>")
    parts += [f"<text x='50' y='206'>{escaped(note)}</text>"] if note else []
    return _svg(title, height, *parts)


def histograms_svg(panels: Sequence[tuple[str, Sequence[float], Sequence[float]]], title: str, feet: str) -> str:
    """Draw shares of rows by score, a strip for each group: with the outcome upwards, without it downwards.

    Examples
    --------
    >>> histograms_svg([("F", [0.2, 0.8], [0.9, 0.1])], "Scores", "0 to 1").startswith("<svg")
    True
    """
    strip, most = 56, max((each for _, up, down in panels for each in (*up, *down)), default=0.0) or 1.0
    parts = []
    for number, (label, up, down) in enumerate(panels):
        middle, colour = strip * number + strip // 2, COLOURS[number % len(COLOURS)]
        parts.append(f"<text x='{_LABEL}' y='{middle + 4}' text-anchor='end' fill='{colour}'>{_named(label)}</text>")
        wide = (_WIDTH - _LABEL - 30) / max(len(up), 1)
        for k, (above, below) in enumerate(zip(up, down)):
            x, high, low = _LABEL + 10 + k * wide, above / most * 25, below / most * 25
            parts.append(
                f"<rect x='{x:.1f}' y='{middle - high:.1f}' width='{wide:.1f}' height='{high:.1f}' fill='{colour}'/>"
            )
            parts.append(
                f"<rect x='{x:.1f}' y='{middle}' width='{wide:.1f}' height='{low:.1f}' fill='{colour}' opacity='.35'/>"
            )
    parts.append(f"<text x='{_LABEL + 10}' y='{strip * len(panels) + 14}'>{escaped(feet)}</text>")
    return _svg(title, strip * len(panels) + 20, *parts)


Drawn = tuple[str, Sequence[float], Sequence[float], Sequence[bool], str]


def queue_svg(
    lanes: Sequence[Drawn], title: str, acted: tuple[float, float] | None, repaired: bool, note: str = ""
) -> str:
    """Draw places in the list, a lane for each group; lanes are (label, before, after, with the outcome, colour).

    Places are shares of the list, 0 for the first, which have more room; ``acted`` is how much is acted on, before and
    after. Marks that cross that line are drawn bold.

    Examples
    --------
    >>> queue_svg([("F", [0.3], [0.1], [True], "#0072b2")], "Places", (0.2, 0.2), True).count("<circle")
    2
    """
    top, bottom, wide = 34, 214, _WIDTH / max(len(lanes), 2)

    def down(place: float) -> float:
        return round(top + place**0.5 * (bottom - top), 1)

    parts = []
    for number, (label, before, after, positive, colour) in enumerate(lanes):
        left = number * wide + 40
        right = left + (wide - 70 if repaired else 0)
        if acted is not None:
            was, now = map(down, acted)
            edge = f"{left - 12},{was} {left},{was} {right},{now} {right + 12},{now}"
            parts.append(f"<polygon points='{left - 12},{top} {edge} {right + 12},{top}' opacity='.12'/>")
            parts.append(f"<polyline points='{edge}' fill='none' stroke='currentColor' stroke-dasharray='4 3'/>")
        parts.append(f"<text x='{left - 12}' y='12' font-weight='bold' fill='{colour}'>{_named(label)}</text>")
        heads = [(left, "now"), (right, "repaired")] if repaired else []
        parts += [f"<text x='{x}' y='28' text-anchor='middle'>{text}</text>" for x, text in heads]
        for first, last, has in zip(before, after, positive):
            aside, fill = (-3, colour) if has else (3, "none")
            if repaired:
                over = acted is not None and (first < acted[0]) != (last < acted[1])
                look = "stroke-width='2'" if over else "stroke-width='.8' opacity='.4'"
                ends = f"x1='{left + aside}' y1='{down(first)}' x2='{right + aside}' y2='{down(last)}'"
                parts.append(f"<line {ends} stroke='{colour}' {look}/>")
            for x, place in ((left, first), (right, last))[: 1 + repaired]:
                parts.append(f"<circle cx='{x + aside}' cy='{down(place)}' r='3' fill='{fill}' stroke='{colour}'/>")
    parts += [
        f"<text x='0' y='{down(share) + 4}' opacity='.7'>{text}</text>"
        for share, text in ((0.0, "1st"), (0.1, "10%"), (0.5, "50%"), (1.0, "last"))
    ]
    parts += [f"<text x='0' y='{bottom + 24}'>{escaped(note)}</text>"] if note else []
    return _svg(title, bottom + 30, *parts)


def _svg(title: str, height: int, *parts: str) -> str:
    style = "display:block;font:12px sans-serif;fill:currentColor;max-width:100%"
    head = f"<svg xmlns='http://www.w3.org/2000/svg' role='img' viewBox='0 0 {_WIDTH} {height}' width='{_WIDTH}'"
    return f"{head} height='{height}' style='{style}'><title>{escaped(title)}</title>{''.join(parts)}</svg>"
