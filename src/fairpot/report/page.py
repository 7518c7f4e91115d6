"""The page: one HTML file with its style, script and numbers inside, and a notebook's view of it."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Callable, Mapping
from importlib import resources
from typing import Any

import numpy as np

from fairpot.report import sections, words
from fairpot.report.figures import Figure
from fairpot.report.measure import Measured
from fairpot.report.svg import Markup, tag
from fairpot.report.text import LANGUAGE, TEXT
from fairpot.report.words import count, number, percent, points, say


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


_STYLE = """
.fairpot-report { max-width: 44rem; line-height: 1.45; }
.fairpot-report table { border-collapse: collapse; margin: .4rem 0; }
.fairpot-report th, .fairpot-report td { text-align: right; padding: .15rem .7rem; border-bottom: 1px solid #8884; }
.fairpot-report th[scope=row] { text-align: left; font-weight: normal; }
.fairpot-report svg { max-width: 26rem; display: block; }
.fairpot-report svg text { fill: currentColor; font-size: 12px; }
.fairpot-report .mid { text-anchor: middle; } .fairpot-report .end { text-anchor: end; }
.fairpot-report .frame, .fairpot-report .grid, .fairpot-report .zero { fill: none; stroke: #8885; }
.fairpot-report .curve { fill: none; stroke: #0072b2; stroke-width: 4; }
.fairpot-report .limit { fill: none; stroke: currentColor; stroke-width: 2; stroke-dasharray: 10 8; }
.fairpot-report .band { fill: #0072b2; opacity: .16; }
.fairpot-report .best { fill: none; stroke: #0072b2; stroke-width: 2; }
.fairpot-report .chosen { fill: #d55e00; } .fairpot-report .here { fill: none; stroke: currentColor; stroke-width: 4; }
"""


def make_compact(summary: Mapping[str, Any], figures: Mapping[str, Figure]) -> str:
    """Write the compact form."""
    before, after = summary["before"], summary["after"]
    pair = summary["pair"]
    rows: list[tuple[str, Callable[[Mapping[str, Any]], str]]] = [
        (TEXT["card_gap"], lambda n: say("points", value=points(n["signed_gap"]))),
        (TEXT["card_auc"], lambda n: number(n["auc"])),
        (say("card_behind", **pair), lambda n: percent(n["xauc_behind"])),
        (say("card_ahead", **pair), lambda n: percent(n["xauc_ahead"])),
        (TEXT["card_moved"], lambda n: count(n["moved"])),
    ]
    shown = [before] if after is None else [before, after]
    head = [TEXT["before"], TEXT["after"]][: len(shown)]
    body = [tag("tr", tag("th", name, scope="row"), [tag("td", write(n)) for n in shown]) for name, write in rows]
    top = tag("tr", tag("th", "", scope="col"), [tag("th", name, scope="col") for name in head])
    return tag(
        "div",
        tag("style", Markup(_STYLE)),
        [tag("p", sentence) for sentence in words.answer(summary)],
        tag("table", tag("thead", top), tag("tbody", body)),
        figures["tradeoff"].svg if "tradeoff" in figures else None,
        [tag("p", words.warning(found)) for found in summary["warnings"]],
        class_="fairpot-report",
    )
