"""The report as Markdown: the same sentences and tables, without pictures."""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from typing import Any

from fairpot._svg import Markup, printable
from fairpot.report import tables
from fairpot.report.tables import Table, View
from fairpot.words import page as words
from fairpot.words.page import HEADS, TEXT, count, rate


def make_markdown(view: View) -> str:
    """Write a view as Markdown."""
    badge, care, card = view.badge, view.notes(), tables.card(view)
    parts = [
        f"# {plain_line(view.report.about.title)}",
        plain_line(tables.subtitle(view)),
        "" if badge is None else f"**{plain_line(badge[0])}**",
        f"## {TEXT['finding']}",
        *(plain_line(sentence) for sentence in tables.answer(view)),
        *([f"### {TEXT['care']}", _items(care)] if care else []),
        *([f"## {TEXT['card']}", _items([f"{name}: {said}" for name, said in card])] if card else []),
        f"## {plain_line(view.line(None, 'who'))}",
        _table(_above(view)),
        f"## {TEXT['part numbers']}",
        *_tables(*tables.numbers(view), tables.stages(view), tables.pairs(view) if view.many else None),
        *(_tables(tables.curve(view), level="##")),
        *(_tables(tables.moves(view), level="##") if view.repaired else []),
        *_tables(_lines(view), tables.bands(view) if view.repaired else None, tables.largest_changes(view)),
        f"## {TEXT['read']}",
        _items(tables.how_to_read(view)),
        f"## {TEXT['not']}",
        _items(words.NOT_SHOWN),
        f"## {TEXT['part origin']}",
        _items([f"{name}: {value}" for name, value in tables.origin(view)]),
        TEXT["privacy ids" if view.report.largest_changes else "privacy counts"],
    ]
    parts = [f"<!-- {view.report.about.origin.made_by} -->", *parts]
    return "\n\n".join(part for part in parts if part) + "\n"


def _tables(*found: Table | None, level: str = "###") -> list[str]:
    parts = []
    for each in found:
        if each is not None:
            parts += [f"{level} {plain_line(each.caption)}", _table(each), plain_line(each.note)]
    return parts


def _above(view: View) -> Table:
    """Show who is above the line, in shares and rows, by group and outcome."""
    rows = []
    for each in tables.crossings(view):
        cells = [f"{rate(n, each.rows)} ({count(n)})" for n in (each.above, each.now)][: 1 + view.repaired]
        rows.append([each.group, TEXT["with" if each.positive else "without"], count(each.rows), *cells])
    head = (*HEADS["crossing"][:3], *(HEADS["both"] if view.repaired else HEADS["share"]))
    return Table("above", "", head, rows, 2)


def _lines(view: View) -> Table:
    """Show a few thresholds and top shares."""
    size = len(view.found.lines.thresholds)
    kinds = [list(range(size)), list(range(size, len(view.report.lines)))]
    shown = 3 if view.repaired else 1
    rows = []
    for i in (i for kind in kinds for i in kind[:: max(1, len(kind) // 4)]):
        for each in tables.crossings(view, i):
            label = TEXT["with" if each.positive else "without"]
            cells = [count(n) for n in (each.above, each.enter, each.leave)][:shown]
            rows.append([view.line(i), each.group, label, *cells])
    return Table("lines", TEXT["rows above"], HEADS["lines"][: 3 + shown], rows, 3)


def plain_line(text: Any) -> str:
    """Write a text so that none of it is taken for Markdown or HTML."""
    line = " ".join(printable(str(text)).split())
    for sign in "\\`*_[]|#":
        line = line.replace(sign, "\\" + sign)
    return line.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _table(found: Table) -> str:
    marks = ["---" if i < found.texts else "---:" for i in range(len(found.head))]
    cells = [[c if i == 1 else _cell(c) for c in line] for i, line in enumerate([found.head, marks, *found.rows])]
    return "\n".join("| " + " | ".join(line) + " |" for line in cells)


def _cell(content: Any) -> str:
    """Write what stands in a cell: the words of markup, and of a text that follows the dial what it says now."""
    text = html.unescape(re.sub(r"<[^>]*>", "", content)) if isinstance(content, Markup) else str(content)
    return plain_line(text)


def _items(items: Sequence[str]) -> str:
    return "\n".join(f"- {plain_line(item)}" for item in items)
