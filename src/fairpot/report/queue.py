"""The queue: everybody's place in the list before and after, a pair of columns for each group, a mark for every few."""

from __future__ import annotations

from typing import Any

import numpy as np

from fairpot._svg import Markup, distinct, tag
from fairpot.report.figures import style
from fairpot.report.measure import Measured
from fairpot.report.tables import View
from fairpot.table import Top
from fairpot.transport import Floats
from fairpot.words.page import TEXT, count, percent, say

# Places are whole numbers of millionths; the script draws from them.
_MILLION = 1_000_000
_WIDTH, _TOP, _LEFT, _RIGHT = 256, 26, 70, 250
# Marks with the outcome stand this far to the left, those without it to the right.
_SIDE, _FILLS = 5, ("no", "yes")
_LONGEST, _NARROW = 34, 28  # letters of a lane's name
_TICKS = ((0.0, "1st"), (0.05, "5%"), (0.1, "10%"), (0.2, "20%"), (0.5, "50%"), (1.0, "last"))


def across(found: Measured) -> int:
    """Give how many lanes stand side by side: of more than four, half."""
    drawn = len(found.drawn)
    return drawn if drawn <= 4 else (drawn + 1) // 2


def _height(found: Measured) -> int:
    """Give the height of a lane: lower where there are two rows of them."""
    return 400 if len(found.drawn) <= 4 else {3: 216, 4: 240}[across(found)]


def _down(place: Any, bottom: int) -> Any:
    """Give the height of a place in the list: the first places have more room, since they are acted on."""
    return _TOP + np.sqrt(np.asarray(place, dtype=np.float64)) * (bottom - _TOP)


def _columns(repaired: bool) -> tuple[int, ...]:
    return (102, 214) if repaired else (158,)


def lane(view: View, i: int) -> dict[str, Any]:
    """Draw a lane for a group, and count its rows above the line that is shown first, before and at the setting."""
    found, g = view.found, view.found.drawn[i]
    numbers = view.report.audit.ranking.groups[g]
    own = [each for each in view.report.line.crossings if each.group == numbers.group]
    was, now = sum(each.above for each in own), sum(each.now for each in own)
    rows = f"of {count(sum(each.rows for each in own))}"
    groups = [view.report.audit.ranking.groups[each].group for each in found.drawn]
    small, ways = numbers.group in view.small, _ways(found)
    gain = None
    if view.repaired and ways is not None and not small:
        gain = ways[now < was] if now != was else ""
    return {
        "group": str(numbers.group),
        "name": distinct(groups, _LONGEST if len(groups) <= 3 else _NARROW)[numbers.group],
        "look": style(g),
        "place": found.listed.index(g),
        "before": count(was),
        "now": count(now),
        "rows": say("few rows", text=rows) if small else rows,
        "gain": gain,
        "svg": _svg(view, i),
    }


def _svg(view: View, i: int) -> Markup:
    found, repaired, at = view.found, view.repaired, view.found.shown
    tall = _height(found)
    bottom = tall - 8
    ends = [found.pictures[place] for place in (0, view.chosen)]
    was, now = (_down(each.queue[i], bottom) for each in ends)
    lines = [float(_down(each.acted[at], bottom)) for each in ends]
    before, after = (each.queue[i] < each.acted[at] for each in ends)
    left, right = _columns(repaired)[0], _columns(repaired)[-1]
    heads = [(left, "now"), (right, "repaired")] if repaired else []
    rule = f"M{_LEFT} {lines[0]:.1f}H{left}L{right} {lines[1]:.1f}H{_RIGHT}"
    parts = [*_frame(bottom), *(tag("text", key, x=x, y=14, class_="tick mid") for x, key in heads)]
    parts.append(tag("path", d=f"{rule}V{_TOP}H{_LEFT}Z", class_="acted", data_shade=i))
    aside = np.where(found.marks[i].positive, -_SIDE, _SIDE).tolist()
    if repaired:
        for j, (a, b, over, s) in enumerate(zip(was, now, before != after, aside)):
            way, kind = f"M{left + s} {a:.1f}L{right + s} {b:.1f}", "go cross" if over else "go"
            parts.append(tag("path", d=way, class_=kind, data_go_mark=f"{i} {j}"))
    for x, heights, name in ((left, was, "was"), (right, now, "now"))[: 1 + repaired]:
        parts += [
            tag("circle", cx=x + s, cy=f"{y:.1f}", r=4, class_=f"mark {_FILLS[s < 0]}", data_dot=f"{name} {i} {j}")
            for j, (y, s) in enumerate(zip(heights, aside))
        ]
    parts.append(tag("path", d=rule, class_="rule", data_rule=i))
    size = {"viewBox": f"0 0 {_WIDTH} {tall}", "class_": f"lane {style(found.drawn[i])}"}
    return tag("svg", parts, role="img", aria_labelledby=f"lane-{i}", **size)


def _frame(bottom: int) -> list[Markup]:
    middle = (_TOP + bottom) // 2
    turned = {"class_": "tick mid", "transform": f"rotate(-90 8 {middle})"}
    parts = [tag("text", f"place{' in the list' if bottom > 300 else ''} (not linear)", x=8, y=middle, **turned)]
    for place, name in _TICKS:
        y = float(_down(place, bottom))
        parts.append(tag("path", d=f"M{_LEFT} {y:.1f}H{_RIGHT}", class_="grid"))
        parts.append(tag("text", name, x=_LEFT - 4, y=f"{y + 4:.1f}", class_="tick end"))
    return parts


def _ways(found: Measured) -> tuple[str, str] | None:
    """Give what more rows above the line are to a group, and fewer: by what a high place does, if that was said."""
    ways = ", gains", ", loses"
    return {None: None, "help": ways, "harm": ways[::-1]}[found.table.ranked_high_means]


def note(view: View) -> str:
    """Say what marks and lines mean, and what a high place does to a person, if it is known."""
    found, means = view.found, view.found.table.ranked_high_means
    said = [say("filled", outcome=view.outcome), TEXT["scale"]]
    if view.repaired:
        said += [TEXT["bold"], "" if means is None else TEXT[means]]
    drawn, groups = len(found.drawn), len(found.table.groups)
    said += [_mark_sizes(view), say("lanes left out", drawn=drawn, groups=groups) if drawn < groups else ""]
    return " ".join(filter(None, said))


def acted(view: View) -> str:
    """Say how much of the list is above the line, before and at the reported setting, where its name does not."""
    places = (0, view.chosen)[: 1 + view.repaired]
    shares = list(dict.fromkeys(percent(view.found.pictures[place].acted[view.found.shown]) for place in places))
    named = view.report.line.top
    return "" if named is not None and shares == [percent(named)] else say("acted", acted=" → ".join(shares))


def _mark_sizes(view: View) -> str:
    known = [round(each.rows) for each in view.found.marks]
    sizes = ["one row" if each == 1 else f"about {count(each)} rows" for each in known]
    if len(set(known)) == 1:
        return say("each", rows=sizes[0])
    if len(sizes) > 3:
        return say("each many", least=count(min(known)), most=count(max(known)))
    groups = [view.report.audit.ranking.groups[g].group for g in view.found.drawn]
    return say("each named", groups=", ".join(f"{n} of {g}" for n, g in zip(sizes, groups)))


def moving(view: View) -> dict[str, Any]:
    """Give the script what it draws the queue from: places of marks and of the line, in millionths, at each setting."""
    found = view.found
    lines = found.lines
    return {
        "top": _TOP,
        "bottom": _height(found) - 8,
        "left": _LEFT,
        "right": _RIGHT,
        "columns": _columns(len(found.dial) > 1),
        "aside": [np.where(each.positive, -_SIDE, _SIDE).tolist() for each in found.marks],
        "places": [[_millionths(each) for each in drawn.queue] for drawn in found.pictures],
        "ways": _ways(found) or (),
        "said": TEXT["acted"],
        "named": [None] * len(lines.thresholds) + [_size(each) for each in lines.tops],
        "acted": [_millionths(drawn.acted) for drawn in found.pictures],
    }


def _size(top: Top) -> str:
    return percent(top.share) if top.rows is None else count(top.rows)


def _millionths(places: Floats) -> list[int]:
    return [int(each) for each in np.rint(places * _MILLION)]
