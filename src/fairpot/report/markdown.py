"""The report as Markdown: the same sentences and numbers, without pictures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fairpot._html import printable
from fairpot.report import words
from fairpot.report.first import card_lines
from fairpot.report.sections import (
    MOVES,
    SHIFTS,
    choice_label,
    choice_question,
    cost_rows,
    curve_head,
    how_to_read,
    listed,
    origin_facts,
    pair_rows,
    pairs_note,
    stage_head,
    stage_rows,
)
from fairpot.report.text import NOT_SHOWN, TEXT
from fairpot.report.words import change, count, number, points, rate, score


def make_markdown(summary: Mapping[str, Any]) -> str:
    """Write a summary as Markdown."""
    data, made, trust = summary["data"], summary["origin"], summary["trust"]
    about = " · ".join(part for part in (words.subtitle(summary), data["source"], made["created"]) if part)
    badge = "" if trust is None else f"**{plain_line(words.badge(summary)[0])}**"
    parts = [
        f"# {plain_line(summary['title'])}",
        plain_line(about),
        badge,
        f"## {TEXT['finding']}",
        *(plain_line(sentence) for sentence in words.answer(summary)),
        *_warnings(summary),
        *_card(summary),
        *_above(summary),
        *_numbers(summary),
        *_stages(summary),
        *_pairs(summary),
        *_settings(summary),
        *_moves(summary),
        *_who(summary),
        *_changes(summary),
        f"## {TEXT['read']}",
        _items(how_to_read(summary)),
        f"## {TEXT['not']}",
        _items(NOT_SHOWN),
        f"## {TEXT['part_origin']}",
        _items([f"{name}: {value}" for name, value in origin_facts(summary) if value]),
        TEXT["privacy_ids" if summary["largest_changes"] else "privacy_counts"],
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _card(summary: Mapping[str, Any]) -> list[str]:
    """Show the model card as its owner wrote it."""
    if summary["card"] is None:
        return []
    return [f"## {TEXT['card']}", _items([f"{name}: {'; '.join(lines)}" for name, lines in card_lines(summary)])]


def _above(summary: Mapping[str, Any]) -> list[str]:
    """Show who is above the line, in rates and rows, by group and outcome."""
    choice, repaired = summary["who"]["choices"][summary["who"]["shown"]], summary["after"] is not None
    head = [TEXT[f"col_{name}"] for name in ("group", "outcome", "rows")]
    rows = []
    for g, size in listed(summary):
        for k, label in enumerate(("with", "without")):
            people = size["positives" if label == "with" else "negatives"]
            was, enter, leave = (choice[name][g][k] for name in ("above", "enter", "leave"))
            cells = [f"{rate(each, people)} ({count(each)})" for each in (was, was + enter - leave)]
            rows.append([size["group"], TEXT[label], count(people), *cells[: 1 + repaired]])
    head += [TEXT["now"], TEXT["repaired"]] if repaired else [TEXT["col_share"]]
    return [f"## {plain_line(choice_question(choice))}", table(head, rows, texts=2)]


def plain_line(text: Any) -> str:
    """Write a text so that none of it is taken for Markdown or HTML.

    Examples
    --------
    >>> plain_line("a|b <i>")
    'a\\\\|b &lt;i&gt;'
    """
    line = " ".join(printable(str(text)).split())
    for sign in "\\`*_[]|#":
        line = line.replace(sign, "\\" + sign)
    return line.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def table(head: Sequence[str], rows: Sequence[Sequence[Any]], texts: int = 1) -> str:
    """Write a table whose first columns are texts."""
    marks = ["---" if i < texts else "---:" for i in range(len(head))]
    lines = [head, marks, *rows]
    cells = [[c if i == 1 else plain_line(c) for c in line] for i, line in enumerate(lines)]
    return "\n".join("| " + " | ".join(line) + " |" for line in cells)


def _items(items: Sequence[str]) -> str:
    return "\n".join(f"- {plain_line(item)}" for item in items)


def _warnings(summary: Mapping[str, Any]) -> list[str]:
    if not summary["warnings"]:
        return []
    return [f"### {TEXT['warnings']}", _items(words.warnings(summary))]


def _stages(summary: Mapping[str, Any]) -> list[str]:
    rows = stage_rows(summary)
    if not rows:
        return []
    return [f"### {TEXT['stages']}", table(stage_head(), rows, texts=2), plain_line(TEXT["stages_note"])]


def _numbers(summary: Mapping[str, Any]) -> list[str]:
    after = summary["after"]
    head = [TEXT["col_number"], *([TEXT["col_value"]] if after is None else [TEXT["col_before"], TEXT["col_now"]])]
    rows = [
        [name, write(read(summary["before"])), *([] if after is None else [write(read(after))])]
        for name, write, read in cost_rows(summary)
    ]
    return [f"## {TEXT['part_numbers']}", table(head, rows)]


def _pairs(summary: Mapping[str, Any]) -> list[str]:
    """Show every pair of three groups and more, at the reported setting."""
    if not words.many(summary):
        return []
    now, (head, cells) = summary["after"] or summary["before"], pair_rows(summary)
    rows = [
        [pair["first"], pair["second"], *(write(read(now)) for write, read in each)]
        for pair, each in zip(now["pairs"], cells)
    ]
    return [f"### {TEXT['pairs_caption']}", table(head, rows, texts=2), plain_line(pairs_note(summary))]


def _settings(summary: Mapping[str, Any]) -> list[str]:
    settings, chosen = summary["dial"]["settings"], summary["dial"]["chosen"]
    if len(settings) < 3:
        return []
    few = sorted({round(k * (len(settings) - 1) / 10) for k in range(11)} | {chosen})
    rows = [
        [
            words.dial_setting(summary, i, whole=True) + (" ★" if i == chosen else ""),
            points(words.headline(summary, settings[i])),
            number(settings[i]["auc"]),
            count(settings[i]["moved"]),
        ]
        for i in few
    ]
    return [f"## {TEXT['part_tradeoff']}", table(curve_head(summary), rows)]


def _moves(summary: Mapping[str, Any]) -> list[str]:
    if summary["after"] is None:
        return []
    head = [TEXT[f"col_{n}"] for n in MOVES]
    rows = []
    for g, size in listed(summary):
        each = summary["after"]["groups"][g]
        counted = [count(each[name]) for name in ("rows", "moved", "up", "down")]
        rows.append([size["group"], *counted, *(change(each[name]) for name in SHIFTS), score(each["largest_shift"])])
    return [f"## {TEXT['moves_caption']}", table(head, rows)]


def _who(summary: Mapping[str, Any]) -> list[str]:
    """Show a few thresholds and top shares."""
    choices = summary["who"]["choices"]
    kinds = [[c for c in choices if kind in c] for kind in ("threshold", "top")]
    few = [c for kind in kinds for c in kind[:: max(1, len(kind) // 4)]]
    head = [TEXT["choose_value"]] + [TEXT[f"col_{n}"] for n in ("group", "outcome", "above_before", "enter", "leave")]
    rows = [
        [choice_label(c), size["group"], TEXT[label], *(count(c[n][g][k]) for n in ("above", "enter", "leave"))]
        for c in few
        for g, size in listed(summary)
        for k, label in enumerate(("with", "without"))
    ]
    return [f"### {TEXT['who_caption']}", table(head, rows, texts=3)]


def _changes(summary: Mapping[str, Any]) -> list[str]:
    changes = summary["largest_changes"]
    if not changes:
        return []
    head = [TEXT[f"col_{n}"] for n in ("id", "group", "score_before", "score_after")]
    rows = [[c["id"], c["group"], score(c["before"]), score(c["after"])] for c in changes]
    return [f"### {TEXT['changes_caption']}", table(head, rows, texts=2)]
