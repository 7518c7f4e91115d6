"""Tables as text: columns where they fit, heads and names on several lines where not, else a block per row."""

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
    halves = [*zip(*map(_halves, short))]
    longest = max((_width(cell) for row in rows for cell in row[:texts]), default=0)
    narrower = range(min(longest, width or 0), _NARROW - 1, -1)
    folded = (_folded([*halves, *rows], texts, most) for most in narrower)
    tried: list[Sequence[Sequence[str]]] = [[heads, *rows], [short, *rows], [*halves, *rows]]
    for cells in itertools.chain(tried, folded):
        lines = _aligned(cells, texts)
        if width is None or max(map(_width, lines)) <= width:
            return lines
    return [line for row in rows for line in _block(heads, row, width or 80, texts)]


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
    lines, parts = [""], list(map(shlex.quote, command))
    for k in range(len(parts) - 1, 0, -1):  # an option and its value stay on one line
        if re.fullmatch(r"--?[a-z][a-z-]*", parts[k - 1]) and not parts[k].startswith("-"):
            parts[k - 1 : k + 1] = [f"{parts[k - 1]} {parts[k]}"]
    for word in parts:
        if width is not None and lines[-1].strip() and _width(f"{lines[-1]} {word}") > width - 2:
            lines.append(f"  {word}")
        else:
            lines[-1] = f"{lines[-1]} {word}" if lines[-1] else word
    return [*(f"{line} \\" for line in lines[:-1]), lines[-1]]


def _aligned(cells: Sequence[Sequence[str]], texts: int) -> list[str]:
    widths = [max(map(_width, column)) for column in zip(*cells)]
    return ["  ".join(_padded(c, w, i < texts) for i, (c, w) in enumerate(zip(row, widths))).rstrip() for row in cells]


def _folded(cells: Sequence[Sequence[str]], texts: int, most: int) -> list[list[str]]:
    """Break names of more than so many places between words; the rest stands below, further to the right."""
    found = []
    for row in cells:
        parts = [_broken(cell, most, "  ") if _width(cell) > most else [cell] for cell in row[:texts]]
        for k in range(max(map(len, parts))):
            names = [part[k] if k < len(part) else "" for part in parts]
            found.append([*names, *(row[texts:] if k == 0 else [""] * len(row[texts:]))])
    return found


def _padded(cell: str, width: int, left: bool) -> str:
    space = " " * (width - _width(cell))
    return cell + space if left else space + cell


def _halves(head: str) -> tuple[str, str]:
    """Part a head between two words so that it is narrow; one word stands in the lower line."""
    words = head.split(" ")
    parts = [(" ".join(words[:place]), " ".join(words[place:])) for place in range(len(words))]
    return min(parts, key=lambda part: max(map(_width, part)))


def _block(heads: Sequence[str], row: Sequence[str], width: int, texts: int) -> list[str]:
    """Write a row as a line that says of what it is, and below it its numbers, each beside its interval."""
    said: list[str] = []
    for head, cell in zip(heads, row):
        if head == "from" and said:
            said[-1] += f" ({cell}" if cell not in ("", "-") else ""
        elif head == "to" and said:
            said[-1] += f" to {cell})" if cell not in ("", "-") else ""
        elif cell:
            said.append(f"{head} {cell}".strip())
    whole = [each.replace(" ", "\xa0") if _width(each) < width - 2 else each for each in said[texts:]]
    numbers = wrapped(f"  {'; '.join(whole)}", width) if whole else []
    return [*wrapped("; ".join(said[:texts]), width), *(line.replace("\xa0", " ") for line in numbers)]


def _width(text: str) -> int:
    """Count the places that a text takes on a screen."""
    return sum(2 if east_asian_width(c) in "WF" else 1 for c in text)
