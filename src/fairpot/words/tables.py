"""Tables as text: columns where they fit, shorter heads and names on several lines where not, else a block per row."""

from __future__ import annotations

import html
import itertools
import re
import shlex
import textwrap
from collections.abc import Sequence
from typing import Any
from unicodedata import east_asian_width

from fairpot._svg import printable

# What a head becomes where a table is too wide.
SHORT = {
    "ranked higher": "higher",
    "ranked lower": "lower",
    "less risky": "less",
    "with outcome": "with",
    "with the outcome": "with",
    "without it": "without",
    "calibration error": "cal. error",
    "share before": "before %",
    "share after": "after %",
    "breakpoints": "points",
    "mean change of changed": "mean of changed",
    "expected error": "error",
    "mean score - rate": "bias",
    "precision": "prec.",
    "standard error": "std. error",
    "change for 1,000 rows": "per 1,000",
    "difference": "diff.",
    "ratio to the highest": "ratio",
}
_NARROW = 12  # the fewest places that a name is broken to


def table_lines(
    heads: Sequence[str], rows: Sequence[Sequence[str]], *, texts: int = 1, width: int | None = None
) -> list[str]:
    """Write a table whose first columns are text and whose others are numbers; no number and no word is ever split."""
    short = [SHORT.get(head, head) for head in heads]
    longest = max((_width(cell) for row in rows for cell in row[:texts]), default=0)
    narrower = range(min(longest, width or 0), _NARROW - 1, -1)
    folded = (_folded([short, *rows], texts, most) for most in narrower)
    whole: list[list[Sequence[str]]] = [[heads, *rows], [short, *rows]]
    for cells in itertools.chain(whole, folded):
        lines = _aligned(cells, texts)
        if width is None or max(map(_width, lines)) <= width:
            return lines
    return [line for row in rows for line in _block(heads, row, width or 80)]


def markdown_lines(heads: Sequence[str], rows: Sequence[Sequence[str]], *, texts: int = 1) -> list[str]:
    """Write a table as Markdown, none of whose cells is taken for more than text."""
    marks = ["---" if place < texts else "---:" for place in range(len(heads))]
    cells = [[plain_line(cell) for cell in row] for row in rows]
    return [f"| {' | '.join(row)} |" for row in (heads, marks, *cells)]


def plain_line(text: Any) -> str:
    """Write a text so that none of it is taken for Markdown or HTML."""
    line = re.sub(r"([\\`*_\[\]|#])", r"\\\1", " ".join(printable(str(text)).split()))
    return html.escape(line, quote=False)


def wrapped(text: str, width: int | None) -> list[str]:
    """Break a line between words; what follows stands as far to the right as the line began."""
    if width is None or _width(text) <= width:
        return [text]
    indent = " " * (len(text) - len(text.lstrip()))
    return _broken(text, width, indent)


def _broken(text: str, width: int, indent: str) -> list[str]:
    broken = textwrap.wrap(text, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)
    return broken or [text]


def command_lines(command: Sequence[str], width: int | None) -> list[str]:
    """Write a command so that it can be pasted: where it is too wide, a line ends as a shell wants it to."""
    lines = [""]
    for word in map(shlex.quote, command):
        if width is not None and lines[-1].strip() and _width(f"{lines[-1]} {word}") > width - 2:
            lines.append(f"  {word}")
        else:
            lines[-1] = f"{lines[-1]} {word}" if lines[-1] else word
    return [*(f"{line} \\" for line in lines[:-1]), lines[-1]]


def _aligned(cells: Sequence[Sequence[str]], texts: int) -> list[str]:
    widths = [max(map(_width, column)) for column in zip(*cells)]
    return ["  ".join(_padded(c, w, i < texts) for i, (c, w) in enumerate(zip(row, widths))).rstrip() for row in cells]


def _folded(cells: Sequence[Sequence[str]], texts: int, most: int) -> list[Sequence[str]]:
    """Break names of more than so many places between words; the rest stands below, further to the right."""
    found: list[Sequence[str]] = []
    for row in cells:
        parts = [_broken(cell, most, "  ") if _width(cell) > most else [cell] for cell in row[:texts]]
        for k in range(max(map(len, parts))):
            names = [part[k] if k < len(part) else "" for part in parts]
            found.append([*names, *(row[texts:] if k == 0 else [""] * len(row[texts:]))])
    return found


def _padded(cell: str, width: int, left: bool) -> str:
    space = " " * (width - _width(cell))
    return cell + space if left else space + cell


def _block(heads: Sequence[str], row: Sequence[str], width: int) -> list[str]:
    """Write a row as lines of names and values; the first of them says what it is of."""
    said = [f"{head}: {cell}" if head else cell for head, cell in zip(heads, row) if cell]
    first, *others = said or [""]
    return [*wrapped(first, width), *(line for each in others for line in wrapped(f"  {each}", width))]


def _width(text: str) -> int:
    """Count the places that a text takes on a screen."""
    return sum(2 if east_asian_width(c) in "WF" else 1 for c in text)
