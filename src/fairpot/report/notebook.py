"""The report in a notebook: the answer, the key numbers and the trade-off, without script."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from fairpot.report import words
from fairpot.report.figures import Figure
from fairpot.report.markup import Markup, tag
from fairpot.report.text import TEXT
from fairpot.report.words import count, number, percent, points, say

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
