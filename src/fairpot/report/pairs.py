"""Pairs of groups: a forest of their gaps with intervals, and a heat map of all of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from fairpot._html import short
from fairpot.report.svg import Markup, tag
from fairpot.report.text import TEXT
from fairpot.report.words import many, pair_limits, points, say, signed_points, told

Numbers = Mapping[str, Any]
# A bar is drawn a thousand units wide and stretched to its cell.
_WIDE = 1000
# Letters of a group's name beside a bar.
_LONGEST = 30
# Gaps this much wider have the next shade, in points.
STEP = 4.0


def forest(
    summary: Numbers, live: Callable[[Callable[[Numbers], str]], Markup], most: int, moving: dict[str, Any], name: str
) -> Markup:
    """Show the gaps of the widest pairs, before and at the setting, with their intervals; the target is shaded."""
    settings, chosen = summary["dial"]["settings"], summary["dial"]["chosen"]
    repaired = summary["method"] is not None
    pairs = pairs_of(summary, summary["before"])[:most]
    one = not many(summary)
    aim = summary["method"]["aim"] if repaired else None
    scale = _scale(summary, len(pairs), aim)
    rows = []
    for i, pair in enumerate(pairs):
        gap, limits = pair["signed_gap"], pair["limits"]
        key, ends = f"{name}-{i}", [_ends(summary, k, i) for k in range(len(settings))]
        if repaired and len({str(each) for each in ends}) > 1:
            moving[f"{key}-bar"] = {"d": [_line(scale, *each) for each in ends]}
            moving[f"{key}-dot"] = {"d": [_dot(scale, each) for each, _ in ends]}
        was, now = (
            _marks(scale, gap, limits, "original"),
            _marks(scale, ends[chosen][0], ends[chosen][1], "adjusted", key),
        )
        before = [tag("b", points(gap)), " ", _limits_text(limits)]
        after = live(_after(settings, ends)) if repaired else None
        if one:
            rows.append(
                _row(TEXT["now"], _bar(scale, aim, was), before)
                if repaired
                else _row("", _bar(scale, aim, was), before)
            )
            rows += [_row(TEXT["repaired"], _bar(scale, aim, now), tag("b", after))] if repaired else []
        else:
            label, whole = (_versus(pair, longest) for longest in (_LONGEST, None))
            text = [points(gap), " → ", tag("b", after)] if repaired else before
            rows.append(_row(label, _bar(scale, aim, *([was, now] if repaired else [was])), text, whole))
    return tag("table", tag("tbody", rows), class_="forest" + ("" if one else " many"), aria_labelledby=f"{name}-title")


def _versus(pair: Numbers, longest: int | None) -> str:
    """Name a pair, its names cut to what a line has room for, and say if it is small."""
    first, second = (pair[name] if longest is None else short(pair[name], longest) for name in ("first", "second"))
    label = say("versus", first=first, second=second)
    return say("few_rows", text=label) if pair["small"] else label


def _row(label: str, bar: Markup, text: Any, whole: str = "") -> Markup:
    title = {"title": whole} if whole not in ("", label) else {}
    head = tag("th", tag("span", label), scope="row", **title) if label else None
    return tag("tr", head, tag("td", bar), tag("td", text, class_="text"))


def pairs_of(summary: Numbers, numbers: Numbers) -> list[Numbers]:
    """List the pairs at one setting: of the top, if the repair works there; those that can carry a headline first."""
    inside = told(summary, numbers)
    pairs = inside.get("pairs") or numbers["pairs"]
    if numbers["top"] is not None and "pairs" not in inside:
        pairs = [{**pair, "signed_gap": None, "limits": None} for pair in pairs]
    known = [p for p in pairs if not p["small"]] or pairs
    return [*known, *(p for p in pairs if p not in known)]


def _ends(summary: Numbers, place: int, i: int) -> tuple[float | None, Sequence[float] | None]:
    """Give the gap of one pair and its limits at a setting, as far as they are known there."""
    numbers = summary["dial"]["settings"][place]
    first = pairs_of(summary, summary["before"])[i]
    same = {(p["first"], p["second"]): p for p in pairs_of(summary, numbers)}
    pair = same.get((first["first"], first["second"]))
    if pair is None:
        return None, None
    gap, limits = pair["signed_gap"], pair["limits"]
    if len(summary["data"]["groups"]) == 2:
        gap, limits = told(summary, numbers)["signed_gap"], pair_limits(summary, numbers)
    return gap, limits


def _after(
    settings: Sequence[Numbers], ends: list[tuple[float | None, Sequence[float] | None]]
) -> Callable[[Numbers], str]:
    def said(numbers: Numbers) -> str:
        gap, limits = next(each for each, setting in zip(ends, settings) if setting is numbers)
        return f"{points(gap)} {_limits_text(limits)}".strip()

    return said


def _limits_text(limits: Sequence[float] | None) -> str:
    return "" if limits is None else say("limits_plain", low=points(limits[0]), high=points(limits[1]))


def _scale(summary: Numbers, shown: int, aim: float | None) -> tuple[float, float]:
    """Choose the ends of the axis: they hold every bar that is known before and at the reported setting, and 0."""
    values = [0.0, *([-aim, aim] if aim is not None else [])]
    for place in {0, summary["dial"]["chosen"]}:
        for i in range(shown):
            gap, limits = _ends(summary, place, i)
            values += [each for each in (gap, *(limits or ())) if each is not None]
    low, high = min(values), max(values)
    room = 0.04 * (high - low) or 0.01
    return low - room, high + room


def _x(scale: tuple[float, float], value: float) -> int:
    share = (value - scale[0]) / (scale[1] - scale[0])
    return round(_WIDE * float(np.clip(share, 0.0, 1.0)))


def _line(scale: tuple[float, float], gap: float | None, limits: Sequence[float] | None) -> str:
    low, high = limits or (gap, gap)
    return "" if low is None or high is None else f"M{_x(scale, low)} 11H{_x(scale, high)}"


def _dot(scale: tuple[float, float], gap: float | None) -> str:
    return "" if gap is None else f"M{_x(scale, gap)} 11h.1"


def _marks(
    scale: tuple[float, float], gap: float | None, limits: Sequence[float] | None, kind: str, name: str = ""
) -> list[Markup]:
    """Draw a gap as a dot on its interval."""
    line, dot = ({"data_path": f"{name}-{part}"} if name else {} for part in ("bar", "dot"))
    return [
        tag("path", d=_line(scale, gap, limits), class_=f"whisker {kind}", **line),
        tag("path", d=_dot(scale, gap), class_=f"dot {kind}", **dot),
    ]


def _bar(scale: tuple[float, float], aim: float | None, *marks: list[Markup]) -> Markup:
    zero, shaded = _x(scale, 0.0), None
    if aim is not None:
        left, right = _x(scale, -aim), _x(scale, aim)
        shaded = tag("rect", x=left, y=0, width=right - left, height=22, class_="aim")
    line = tag("path", d=f"M{zero} 0V22", class_="zero")
    fixed = {"viewBox": f"0 0 {_WIDE} 22", "preserveAspectRatio": "none", "aria_hidden": "true", "class_": "bar"}
    return tag("svg", shaded, line, list(marks), **fixed)


def heat_map(summary: Numbers, live: Callable[..., Markup]) -> Markup:
    """Show the signed gap of every two groups that tables list; cells with small groups are hatched."""
    names = [summary["data"]["groups"][g]["group"] for g in summary["listed"]]
    small = set(summary["data"]["small_groups"])
    rows = [
        tag(
            "tr",
            tag("th", first, scope="row"),
            [_cell(summary, live, first, second, bool({first, second} & small)) for second in names],
        )
        for first in names
    ]
    head = tag("tr", tag("td"), [tag("th", name, scope="col") for name in names])
    caption = tag("caption", TEXT["heat_caption"], id="heat-caption")
    return tag("table", caption, tag("thead", head), tag("tbody", rows), class_="heatmap")


def _cell(summary: Numbers, live: Callable[..., Markup], first: str, second: str, hatched: bool) -> Markup:
    if first == second:
        return tag("td", class_="none")

    def said(numbers: Numbers) -> str:
        for pair in pairs_of(summary, numbers):
            if {pair["first"], pair["second"]} == {first, second}:
                gap = pair["signed_gap"]
                return signed_points(gap if gap is None or pair["first"] == first else -gap)
        return signed_points(None)

    chosen = said(summary["dial"]["settings"][summary["dial"]["chosen"]])
    shade = shade_of(chosen)
    return tag("td", live(said), class_=f"heat {'hatched ' if hatched else ''}{shade}", data_heat=True)


def shade_of(written: str) -> str:
    """Name the shade of a gap as it is written.

    Examples
    --------
    >>> shade_of("+9.3"), shade_of("-0.4"), shade_of("–")
    ('p3', 'n1', '')
    """
    try:
        gap = float(written.replace("−", "-"))
    except ValueError:
        return ""
    return f"{'n' if gap < 0 else 'p'}{min(5, int(abs(gap) / STEP) + 1)}"
