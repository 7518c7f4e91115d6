"""The page: one HTML file with its style, script and numbers inside, and a notebook's view of it."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Callable, Mapping
from importlib import resources
from typing import Any

import numpy as np

from fairpot._html import COLOURS, DARK
from fairpot.report import first, queue, sections, words
from fairpot.report.figures import Figure
from fairpot.report.measure import Measured
from fairpot.report.svg import Markup, figure_svg, tag
from fairpot.report.text import LANGUAGE, TEXT
from fairpot.report.words import count, number, percent, points, say


def make_page(found: Measured, summary: Mapping[str, Any], figures: Mapping[str, Figure]) -> str:
    """Write the whole page."""
    live = sections.Live(summary["dial"]["settings"], summary["dial"]["chosen"])
    moving = {name: each for figure in figures.values() for name, each in figure.moving.items()}
    repaired = summary["method"] is not None
    body = [
        first.screen(found, summary, live, moving),
        tag(
            "section",
            tag("h2", TEXT["validator"], id="validator"),
            tag("p", TEXT["validator_lead" if repaired else "validator_lead_audit"], class_="note opens"),
            _bar(summary, live) if repaired else None,
            sections.parts(summary, figures, live, moving, found.start),
            aria_labelledby="validator",
        ),
    ]
    style, script = _asset("page.css") + _palette(), _asset("page.js")
    content = _script_data(found, summary, moving, live)
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
        tag("a", TEXT["skip"], href="#finding", class_="skip"),
        first.header(summary),
        tag("main", body),
        tag("script", Markup(embedded_json(content)), type="application/json", id="data"),
        tag("script", Markup(script)),
    )
    return "<!doctype html>\n" + tag("html", head, page, lang=LANGUAGE) + "\n"


def _bar(summary: Mapping[str, Any], live: sections.Live) -> Markup:
    """Make the slider again, small enough to stay in sight while parts are read."""
    said = live(lambda n: words.live_line(summary, n), "bar")
    return tag(
        "div",
        first.slider(summary, "dial-bar"),
        tag("p", said, class_="live"),
        class_="bar-dial",
        hidden=True,
        data_script=True,
    )


_DASHES = ("none", "7 3", "9 3 2 3", "2 2", "12 3 2 3 2 3")


def _palette() -> str:
    """Write the colours and dashes of the groups, which are those of the pictures in :mod:`fairpot.display`."""
    light, dark = ("".join(f"--c{i}:{each};" for i, each in enumerate(of)) for of in (COLOURS, DARK))
    rules = [f".c{i}{{--own:var(--c{i})}}" for i in range(len(COLOURS))]
    rules += [f".now.d{i},.faint.d{i}{{stroke-dasharray:{each}}}" for i, each in enumerate(_DASHES)]
    return f":root{{{light}}}@media screen and (prefers-color-scheme:dark){{:root{{{dark}}}}}" + "".join(rules)


def _script_data(
    found: Measured, summary: Mapping[str, Any], moving: Mapping[str, Any], live: sections.Live
) -> dict[str, Any]:
    """Collect what the script needs: texts, lines and counts at every setting."""
    size = len(found.thresholds)
    counts = {
        "above": _cells(found.above[:, found.listed]),
        "up": [_cells(setting.up[:, found.listed]) for setting in found.settings],
        "down": [_cells(setting.down[:, found.listed]) for setting in found.settings],
    }
    sizes = [summary["data"]["groups"][g] for g in found.listed]
    return {
        "chosen": summary["dial"]["chosen"],
        "texts": live.texts,
        "moving": moving,
        "queue": queue.moving(found),
        "who": {
            **counts,
            "rows": [each[name] for each in sizes for name in ("positives", "negatives")],
            "labels": [sections.choice_label(choice) for choice in summary["who"]["choices"]],
            "questions": [sections.choice_question(choice) for choice in summary["who"]["choices"]],
            "ranges": {"threshold": [0, size], "top": [size, size + len(found.alphas)]},
            "start": found.start,
            "shown": summary["who"]["shown"],
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
.fairpot-report .band { fill: #0072b2; opacity: .16; } .fairpot-report .aim { fill: #00724f; opacity: .16; }
.fairpot-report .best { fill: none; stroke: #0072b2; stroke-width: 2; }
.fairpot-report .chosen { fill: #b84300; } .fairpot-report .here { fill: none; stroke: currentColor; stroke-width: 4; }
"""


def make_compact(summary: Mapping[str, Any], figures: Mapping[str, Figure]) -> str:
    """Write the compact form."""
    before, after = summary["before"], summary["after"]
    pair = summary["pair"]
    rows: list[tuple[str, Callable[[Mapping[str, Any]], str]]] = [
        (TEXT["col_gap"], lambda n: points(words.headline(summary, n))),
        (TEXT["axis_auc"], lambda n: number(n["auc"])),
        (say("row_xauc", first=pair["lower"], second=pair["higher"]), lambda n: percent(n["xauc_lower"])),
        (say("row_xauc", first=pair["higher"], second=pair["lower"]), lambda n: percent(n["xauc_higher"])),
        *([] if after is None else [(TEXT["moves_caption"], lambda n: count(n["moved"]))]),
    ]
    shown = [before] if after is None else [before, after]
    head = [TEXT["before"], TEXT["after"]][: len(shown)]
    body = [tag("tr", tag("th", name, scope="row"), [tag("td", write(n)) for n in shown]) for name, write in rows]
    top = tag("tr", tag("td"), [tag("th", name, scope="col") for name in head])
    return tag(
        "div",
        tag("style", Markup(_STYLE)),
        [tag("p", sentence) for sentence in words.answer(summary)],
        tag("table", tag("thead", top), tag("tbody", body)),
        _picture(figures["tradeoff"], after) if "tradeoff" in figures and after is not None else None,
        [tag("p", text) for text in words.warnings(summary)],
        class_="fairpot-report",
    )


def _picture(figure: Figure, numbers: Mapping[str, Any]) -> Markup:
    """Show a figure by itself."""
    return figure_svg(None, figure.panels[0][2], aria_label=figure.alt(numbers))
