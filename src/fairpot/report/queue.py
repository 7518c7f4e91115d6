"""The queue: everybody's place in the list before and after, a pair of columns for each group, a mark for every few."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from fairpot.report.figures import style
from fairpot.report.measure import Measured
from fairpot.report.svg import Markup, tag
from fairpot.report.text import TEXT
from fairpot.report.words import count, percent, say
from fairpot.transport import Floats

# Places are whole numbers of millionths; the script draws from them.
MILLION = 1_000_000
WIDTH, TOP = 220, 26
_LEFT, _RIGHT = 34, 214
# Marks with the outcome stand this far to the left, those without it to the right.
_SIDE, _FILLS = 5, ("no", "yes")
_TICKS = ((0.0, "tick_first"), (0.05, "5%"), (0.1, "10%"), (0.2, "20%"), (0.5, "50%"), (1.0, "tick_last"))


def height(found: Measured) -> int:
    """Give the height of a lane: lower where there are two rows of them."""
    return 400 if len(found.drawn) <= 4 else {3: 216, 4: 240}[across(found)]


def across(found: Measured) -> int:
    """Give how many lanes stand side by side: of more than four, half."""
    drawn = len(found.drawn)
    return drawn if drawn <= 4 else (drawn + 1) // 2


def down(place: Any, bottom: int) -> Any:
    """Give the height of a place in the list: the first places have more room, since they are acted on."""
    return TOP + np.sqrt(np.asarray(place, dtype=np.float64)) * (bottom - TOP)


def columns(repaired: bool) -> tuple[int, ...]:
    """Give the columns of a lane: before and after, or one."""
    return (66, 178) if repaired else (122,)


def lanes(found: Measured, summary: Mapping[str, Any]) -> list[Markup]:
    """Draw a lane for each group, at the reported setting and the line that is shown first."""
    return [_lane(found, summary, i) for i in range(len(found.drawn))]


def _lane(found: Measured, summary: Mapping[str, Any], i: int) -> Markup:
    g, repaired = found.drawn[i], summary["method"] is not None
    tall, chosen, at = height(found), found.dial.chosen, summary["who"]["shown"]
    bottom = tall - 8
    was, now = (down(found.settings[place].queue[i], bottom) for place in (0, chosen))
    lines = [float(down(found.settings[place].acted[at], bottom)) for place in (0, chosen)]
    crossed = _crossed(found, i, at, chosen)
    shown = found.marks[i]
    left, right = columns(repaired)[0], columns(repaired)[-1]
    parts = [*_frame(bottom), _head(left, "queue_now") if repaired else None]
    parts += [_head(right, "queue_repaired")] if repaired else []
    parts.append(tag("path", d=shade(lines, repaired), class_="acted", data_shade=i))
    aside = np.where(shown.positive, -_SIDE, _SIDE).tolist()
    if repaired:
        parts += [
            tag(
                "path",
                d=f"M{left + s} {a:.1f}L{right + s} {b:.1f}",
                class_=f"{'go cross' if over else 'go'}",
                data_go_mark=f"{i} {j}",
            )
            for j, (a, b, over, s) in enumerate(zip(was, now, crossed, aside))
        ]
    for x, heights, name in ((left, was, "was"), (right, now, "now"))[: 2 if repaired else 1]:
        parts += [
            tag("circle", cx=x + s, cy=f"{y:.1f}", r=4, class_=f"mark {_FILLS[s < 0]}", data_dot=f"{name} {i} {j}")
            for j, (y, s) in enumerate(zip(heights, aside))
        ]
    parts.append(tag("path", d=rule(lines, repaired), class_="rule", data_rule=i))
    svg = tag(
        "svg", parts, viewBox=f"0 0 {WIDTH} {tall}", role="img", aria_labelledby=f"lane-{i}", class_=f"lane {style(g)}"
    )
    rows = say("queue_of", rows=count(summary["data"]["groups"][g]["rows"]))
    rows = say("few_rows", text=rows) if g not in found.large else rows
    name = tag("h4", str(found.groups[g]), class_=f"name {style(g)}", title=str(found.groups[g]))
    counted = tag("p", _counted(found, summary, g), " ", rows, _gain(found, summary, g), id=f"lane-{i}")
    return tag("div", name, counted, svg, class_="queue-lane")


def _ways(found: Measured) -> tuple[str, str] | None:
    """Give what more rows above the line are to a group, and fewer: by what a high place does, if that was said."""
    ways = TEXT["queue_gains"], TEXT["queue_loses"]
    return {None: None, "help": ways, "harm": ways[::-1]}[found.table.ranked_high_means]


def _gain(found: Measured, summary: Mapping[str, Any], g: int) -> Markup | None:
    """Say whether a group gains or loses above the line."""
    ways = _ways(found)
    if summary["method"] is None or ways is None or g not in found.large:
        return None
    choice = summary["who"]["choices"][summary["who"]["shown"]]
    more = sum(choice["enter"][g]) - sum(choice["leave"][g])
    return tag("span", ways[more < 0] if more else "", data_gain=found.listed.index(g))


def meaning(found: Measured) -> str:
    """Say what a high place does to a person, if it is known."""
    means = found.table.ranked_high_means
    return "" if means is None else TEXT["queue_help" if means == "help" else "queue_harm"]


def acted(found: Measured, summary: Mapping[str, Any], at: int) -> str:
    """Say how much of the list is above the line, before and at the reported setting, where its name does not."""
    places = (0, found.dial.chosen)[: 1 + (summary["method"] is not None)]
    shares = list(dict.fromkeys(percent(found.settings[place].acted[at]) for place in places))
    named = summary["who"]["choices"][at].get("top")
    return "" if named is not None and shares == [percent(named)] else say("queue_acted", acted=" → ".join(shares))


def mark_sizes(found: Measured) -> str:
    """Say how many rows a mark stands for."""
    sizes = [count(round(each.rows)) for each in found.marks]
    if len(set(sizes)) == 1:
        return say("queue_each", rows=sizes[0])
    if len(sizes) > 3:
        known = sorted(each.rows for each in found.marks)
        return say("queue_each_many", least=count(round(known[0])), most=count(round(known[-1])))
    named = [say("queue_each_of", rows=rows, group=found.groups[g]) for rows, g in zip(sizes, found.drawn)]
    return say("queue_each_named", groups=", ".join(named))


def _counted(found: Measured, summary: Mapping[str, Any], g: int) -> list[Any]:
    """Write how many of a group are above the line, before and at the reported setting."""
    choice, place = summary["who"]["choices"][summary["who"]["shown"]], found.listed.index(g)
    was = sum(choice["above"][g])
    now = was + sum(choice["enter"][g]) - sum(choice["leave"][g])
    before = tag("b", count(was), data_lane=f"before {place}")
    return [before] if summary["method"] is None else [before, " → ", tag("b", count(now), data_lane=f"now {place}")]


def _crossed(found: Measured, i: int, at: int, place: int) -> Any:
    """Tell which marks cross the line."""
    was, now = (found.settings[k].queue[i] < found.settings[k].acted[at] for k in (0, place))
    return was != now


def _frame(bottom: int) -> list[Markup]:
    parts = []
    for place, name in _TICKS:
        y = float(down(place, bottom))
        parts.append(tag("path", d=f"M{_LEFT} {y:.1f}H{_RIGHT}", class_="grid"))
        parts.append(tag("text", TEXT.get(name, name), x=_LEFT - 4, y=f"{y + 4:.1f}", class_="tick end"))
    return parts


def _head(x: int, key: str) -> Markup:
    return tag("text", TEXT[key], x=x, y=14, class_="tick mid")


def rule(lines: list[float], repaired: bool) -> str:
    """Write the line of action: level beside the columns, and from its place before to that after between them."""
    left, right = columns(repaired)[0], columns(repaired)[-1]
    return f"M{_LEFT} {lines[0]:.1f}H{left}L{right} {lines[1]:.1f}H{_RIGHT}"


def shade(lines: list[float], repaired: bool) -> str:
    """Write the part of the list that is acted on, as a path."""
    return f"{rule(lines, repaired)}V{TOP}H{_LEFT}Z"


def moving(found: Measured) -> dict[str, Any]:
    """Give the script what it draws the queue from: places of marks and of the line, in millionths, at each setting."""
    return {
        "top": TOP,
        "bottom": height(found) - 8,
        "left": _LEFT,
        "right": _RIGHT,
        "columns": columns(len(found.dial) > 1),
        "aside": [np.where(each.positive, -_SIDE, _SIDE).tolist() for each in found.marks],
        "places": [[_whole(np.rint(each * MILLION)) for each in setting.queue] for setting in found.settings],
        "ways": _ways(found) or (),
        "said": TEXT["queue_acted"],
        "named": [None] * len(found.thresholds) + [percent(alpha) for alpha in found.alphas[::-1]],
        "acted": [_whole(np.rint(setting.acted * MILLION)) for setting in found.settings],
    }


def _whole(values: Floats) -> list[int]:
    return [int(value) for value in values]
