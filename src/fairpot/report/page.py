"""The page: one HTML file with its style, its script and its numbers inside, that asks nobody for anything."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping
from importlib import resources
from typing import Any

import numpy as np

from fairpot.report import sections
from fairpot.report.figures import Figure
from fairpot.report.markup import Markup, tag
from fairpot.report.measure import Measured
from fairpot.report.text import LANGUAGE, TEXT
from fairpot.report.words import count, percent, say


def make_page(found: Measured, summary: Mapping[str, Any], figures: Mapping[str, Figure]) -> str:
    """Write the whole page."""
    live = sections.Live(summary["dial"]["settings"], summary["dial"]["chosen"])
    following = tag(
        "div",
        sections.explore(summary),
        sections.turning(summary, live),
        sections.pictures(summary, figures),
        sections.who(summary, live, found.start),
        sections.cost(summary, live),
    )
    body = [
        sections.answer(summary),
        following,
        sections.reading(),
        sections.origin(summary),
    ]
    style, script = (_asset(name) for name in ("page.css", "page.js"))
    content = _script_data(found, summary, figures, live)
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=_policy(style, script)),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="referrer", content="no-referrer"),
        tag("title", summary["title"]),
        tag("style", Markup(style)),
    )
    page = tag(
        "body",
        tag("a", TEXT["skip"], href="#answer", class_="skip"),
        _header(summary),
        tag("main", body),
        tag("script", Markup(embedded_json(content)), type="application/json", id="data"),
        tag("script", Markup(script)),
    )
    return "<!doctype html>\n" + tag("html", head, page, lang=LANGUAGE) + "\n"


def _header(summary: Mapping[str, Any]) -> Markup:
    data = summary["data"]
    said = say(
        "subtitle",
        rows=count(data["rows"]),
        groups=len(data["groups"]),
        positives=count(data["positives"]),
        rate=percent(data["rate"]),
        outcome=data["outcome"],
    )
    groups = ", ".join(f"{g['group']} {count(g['rows'])}" for g in data["groups"][:12])
    source = tag("p", say("source", source=data["source"]), class_="sub") if data["source"] else None
    more = "" if len(data["groups"]) <= 12 else " …"
    off = tag("noscript", tag("p", TEXT["no_script"], class_="note"))
    return tag("header", tag("h1", summary["title"]), tag("p", f"{said}: {groups}{more}", class_="sub"), source, off)


def _script_data(
    found: Measured,
    summary: Mapping[str, Any],
    figures: Mapping[str, Figure],
    live: sections.Live,
) -> dict[str, Any]:
    """Collect what the script needs: texts, lines and counts at every setting."""
    size = len(found.thresholds)
    counts = {
        "above": _cells(found.above[:, found.listed]),
        "up": [_cells(setting.up[:, found.listed]) for setting in found.settings],
        "down": [_cells(setting.down[:, found.listed]) for setting in found.settings],
    }
    return {
        "chosen": summary["dial"]["chosen"],
        "texts": live.texts,
        "moving": {name: moving for figure in figures.values() for name, moving in figure.moving.items()},
        "who": {
            **counts,
            "labels": [sections.choice_label(choice) for choice in summary["who"]["choices"]],
            "ranges": {"threshold": [0, size], "top": [size, size + len(found.alphas)]},
            "start": found.start,
        },
    }


def _cells(counts: Any) -> list[Any]:
    """Flatten groups x outcomes; whole numbers are written as such."""
    flat = np.asarray(counts).reshape(len(counts), -1)
    whole = bool((flat == np.rint(flat)).all())
    return flat.astype(np.int64).tolist() if whole else flat.round(3).tolist()


def embedded_json(content: Any) -> str:
    """Write JSON that cannot end the element it stands in.

    Examples
    --------
    >>> embedded_json({"name": "</script>"})
    '{"name":"\\\\u003c/script\\\\u003e"}'
    """
    text = json.dumps(content, allow_nan=False, separators=(",", ":"), ensure_ascii=True)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _policy(style: str, script: str) -> str:
    """Allow this style and this script by their hashes, and nothing else."""
    rules = [
        "default-src 'none'",
        f"style-src '{_hash(style)}'",
        f"script-src '{_hash(script)}'",
        "base-uri 'none'",
        "form-action 'none'",
    ]
    return "; ".join(rules)


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _asset(name: str) -> str:
    return resources.files("fairpot.report").joinpath(name).read_text(encoding="utf-8")
