"""The page: one HTML file with its style, script and numbers inside."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Sequence
from functools import cache
from importlib import resources
from typing import Any

import numpy as np

from fairpot._svg import COLOURS, DARK, Markup, distinct, escaped, figure_svg, printable, tag
from fairpot.inference import Estimate
from fairpot.report import queue, tables
from fairpot.report.figures import style
from fairpot.report.tables import Text, View
from fairpot.results.ranking import Pair
from fairpot.words import FRACTIONS, meaning, sentence
from fairpot.words import page as words
from fairpot.words.page import SURE, TEXT, count, rate, say, with_limits

_DASHES = ("none", "7 3", "9 3 2 3", "2 2", "12 3 2 3 2 3")
# A bar is drawn a thousand units wide and stretched to its cell.
_WIDE = 1000
# The first screen has room for every group of so many; names of groups and of the outcome are cut there.
_FEW, _GROUPS, _LONGEST, _LONGEST_PAIR, _LONGEST_OUTCOME = 3, (8, 5), 26, 20, 20
_CARE = 3  # more notes than these are folded away


def make_page(view: View) -> str:
    """Write the whole page."""
    script, css = _asset("page.js"), _asset("page.css") + _palette()
    options = {"css": Markup(css), "script": Markup(script), "policy": _policy(css, script)}
    return str(_environment().get_template("page.html").render(v=view, s=Screen(view), **options)) + "\n"


def plain_page(title: str, source: str, body: str) -> str:
    """Write a page of what a notebook shows, in the style of a report and without a script."""
    css = _asset("page.css") + _palette()
    policy = f"default-src 'none'; style-src '{_hash(css)}'; base-uri 'none'; form-action 'none'"
    rows = f"<p>Rows: {escaped(source)}</p>" if source else ""
    return (
        f'<!DOCTYPE html>\n<html lang="en">\n<head><meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{escaped(policy)}">\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><title>{escaped(title)}</title>\n'
        f"<style>{css}</style></head>\n<body><main class='plain'><h1>{escaped(title)}</h1>{rows}{body}</main></body>\n"
        "</html>\n"
    )


class Screen:
    """What only the page shows of a view, each made when the template comes to it."""

    def __init__(self, view: View) -> None:
        self.view, self.report = view, view.report
        self.few, self.crowd = len(view.listed) < _FEW, len(view.listed) > _FEW
        self.lanes = [queue.lane(view, i) for i in range(len(view.found.drawn))]
        self.across = queue.across(view.found)
        self.care, self.more_care = view.notes()[:_CARE], view.notes()[_CARE:]
        self.most_pairs = 3 if self.crowd else 5  # that the first screen has room for
        self.kind = "threshold" if self.report.line.top is None else "top"
        self._cut = distinct(view.listed, _LONGEST)

    @property
    def small_print(self) -> str:
        """What the gap of the first statement means in pairs, where there is room for it."""
        return meaning(self.view.statement, self.view.outcome) if self.view.repaired and not self.crowd else ""

    @property
    def gap_note(self) -> str:
        """Say how to read the bars."""
        higher, lower = self.view.pair
        method, left = self.report.method, len(self.view.pairs()) - self.most_pairs
        said = [TEXT["gap note many"] if self.view.many else say("gap note", higher=higher, lower=lower)]
        said += [say("gap aim", aim=f"{method.aim:g}")] if method is not None and method.aim is not None else []
        said += [say("gap more", left=left)] if left > 0 else []
        return " ".join([*said, *([] if self.view.repaired else self.report.audit.concordant())])

    def above(self, groups: Sequence[Any]) -> list[dict[str, Any]]:
        """Give each group's shares and counts above the line by outcome, before and after."""
        view = self.view
        outcome = view.outcome if len(view.outcome) <= _LONGEST_OUTCOME else "it"
        listed = []
        for group in groups:
            place = view.listed.index(group)
            own = [each for each in view.report.line.crossings if each.group == group]
            name = say("few rows", text=self._cut[group]) if group in view.small else self._cut[group]
            names = [f"{name}, with {outcome}", f"{name}, without"]
            outcomes = []
            for k, each in enumerate(own):
                before, later, weight = each.weights
                both = (("before", before, each.above), ("now", later, each.now))[: 1 + view.repaired]
                cells = [(rate(part, weight), count(n), f"{when} {2 * place + k}") for when, part, n in both]
                outcomes.append((names[k], count(each.rows), cells))
            rows = count(sum(each.rows for each in own))
            listed.append({"name": name, "look": style(view.found.listed[place]), "rows": rows, "outcomes": outcomes})
        return listed

    @property
    def above_groups(self) -> tuple[list[Any], list[Any]]:
        """All groups that the first screen has room for, else the statement's; and the rest."""
        listed = self.view.listed
        if len(listed) <= _GROUPS[self.view.repaired]:
            return listed, []
        return [g for g in listed if g in self.view.pair], [g for g in listed if g not in self.view.pair]

    def auc(self, top: bool) -> tuple[str, Text | str, list[Text | str]]:
        """Give AUC before, at the setting and the change, of all rows or of the top; what got worse by itself."""
        view = self.view
        values = [each.told.auc if top else each.all.auc for each in view.settings]
        name = f"AUC {words.among_top(self.report.audit.told)}:" if top else "AUC"
        now = view.live(lambda k: FRACTIONS.auc(values[k]))
        said = [self._change(values, k, top) for k in range(len(values))]
        parts = [view.live(lambda k, part=part: said[k][part]) for part in (0, 1)]  # type: ignore[misc]
        return f"{name} {FRACTIONS.auc(values[0])} → ", now, parts

    def _change(self, values: Sequence[Estimate | None], place: int, top: bool) -> tuple[str, str]:
        first, now, effect = values[0], values[place], self.report.effect
        if first is None or now is None or top:
            return "", ""
        known = None if effect is None or effect.changes is None else effect.changes.auc
        sure = known is not None and known.reason is None and place == self.view.chosen
        ends = [now - first, *([known.low, known.high] if sure and known is not None else [])]
        said = [FRACTIONS.auc(each, "+") for each in ends]
        if set(said) == {FRACTIONS.auc(0.0)}:
            return " (no visible change)", ""
        if not sure:
            return f" ({said[0]})", ""
        return f" ({said[0]}, {SURE}: {said[1]} to {said[2]})", ", worse" if ends[2] < 0 else ""

    def calibration(self) -> list[Text | str]:
        """Say whose calibration error rises: what comes before that, what got worse, and what comes after it."""
        view = self.view
        said = [words.calibration_cost(view.settings[0], each, tuple(view.small)) for each in view.settings]
        return [view.live(lambda k, part=part: said[k][part]) for part in range(3)]  # type: ignore[misc]

    @property
    def best(self) -> int:
        """The setting with the smallest gap."""
        gaps = [self.view.gap(k) for k in range(len(self.view.settings))]
        return int(np.argmin([np.inf if gap is None else abs(gap) for gap in gaps]))

    def live_line(self, name: str) -> Text | str:
        """Say the few numbers of a setting."""
        view = self.view
        lower, told = view.pair[1], self.report.audit.told
        return view.live(lambda k: words.live_line(view.settings[k], told, lower, view.many, view.gap(k)), name)

    def data(self) -> Markup:
        """Give the script its numbers; called last, when every text is made."""
        return Markup(embedded_json(_script_data(self.view)))


def forest(view: View, most: int, name: str) -> list[dict[str, Any]]:
    """Draw the gaps of the widest pairs, before and at the setting, with their intervals; the target is shaded.

    Each has its name, cut and whole, its bars, and its texts before and at the setting.
    """
    shown = view.pairs()[:most]
    gaps = [[each.told.pair(pair.first, pair.second).signed_gap for each in view.settings] for pair in shown]
    method = view.report.method
    aim = None if method is None else method.aim
    scale = _scale([row[k] for row in gaps for k in {0, view.chosen}], aim)
    found = []
    for i, (pair, row) in enumerate(zip(shown, gaps)):
        key, was, now = f"{name}-{i}", row[0], row[view.chosen]
        if view.repaired and len({_line(scale, each) + _dot(scale, each) for each in row}) > 1:
            view.moving[f"{key}-bar"] = {"d": [_line(scale, each) for each in row]}
            view.moving[f"{key}-dot"] = {"d": [_dot(scale, each) for each in row]}
        marks = [_marks(scale, was, "original"), _marks(scale, now, "adjusted", key)][: 1 + view.repaired]
        first = [FRACTIONS.gap(was), words.limits(was)]
        after = view.live(lambda k, row=row: with_limits(row[k])) if view.repaired else None  # type: ignore[misc]
        bars = [_bar(scale, aim, *marks)] if view.many else [_bar(scale, aim, each) for each in marks]
        names = {"label": _versus(view, pair, _LONGEST_PAIR), "whole": _versus(view, pair, None)}
        found.append(names | {"bars": bars, "texts": [first, after]})
    return found


def _versus(view: View, pair: Pair, longest: int | None) -> str:
    """Name a pair, its names cut to what a line has room for, and say if it is small."""
    cut = {} if longest is None else distinct([each.group for each in view.report.audit.ranking.groups], longest)
    first, second = (cut.get(g, g) for g in (pair.first, pair.second))
    label = f"{first} over {second}"
    small = {pair.first, pair.second} & set(view.report.audit.told.small_groups)
    return say("few rows", text=label) if small else label


def _scale(gaps: Sequence[Estimate | None], aim: float | None) -> tuple[float, float]:
    """Choose the ends of the axis: they hold every bar that is known before and at the reported setting, and 0."""
    values = [0.0, *([] if aim is None else [-aim, aim])]
    for gap in gaps:
        values += [] if gap is None else [each for each in (float(gap), gap.low, gap.high) if each == each]
    low, high = min(values), max(values)
    room = 0.04 * (high - low) or 0.01
    return low - room, high + room


def _x(scale: tuple[float, float], value: float) -> int:
    return round(_WIDE * float(np.clip((value - scale[0]) / (scale[1] - scale[0]), 0.0, 1.0)))


def _line(scale: tuple[float, float], gap: Estimate | None) -> str:
    if gap is None:
        return ""
    low, high = (gap.low, gap.high) if gap.low == gap.low else (float(gap), float(gap))
    return f"M{_x(scale, low)} 11H{_x(scale, high)}"


def _dot(scale: tuple[float, float], gap: Estimate | None) -> str:
    return "" if gap is None else f"M{_x(scale, float(gap))} 11h.1"


def _marks(scale: tuple[float, float], gap: Estimate | None, kind: str, name: str = "") -> list[Markup]:
    bar, dot = ({"data_path": f"{name}-{part}"} if name else {} for part in ("bar", "dot"))
    return [
        tag("path", d=_line(scale, gap), class_=f"whisker {kind}", **bar),
        tag("path", d=_dot(scale, gap), class_=f"dot {kind}", **dot),
    ]


def _bar(scale: tuple[float, float], aim: float | None, *marks: list[Markup]) -> Markup:
    shaded = None
    if aim is not None:
        left, right = _x(scale, -aim), _x(scale, aim)
        shaded = tag("rect", x=left, y=0, width=right - left, height=22, class_="aim")
    zero = tag("path", d=f"M{_x(scale, 0.0)} 0V22", class_="zero")
    fixed = {"viewBox": f"0 0 {_WIDE} 22", "preserveAspectRatio": "none", "aria_hidden": "true", "class_": "bar"}
    return tag("svg", shaded, zero, list(marks), **fixed)


def _script_data(view: View) -> dict[str, Any]:
    found, listed = view.found, view.found.listed
    size = len(found.lines.thresholds)
    lines = range(len(view.report.lines))
    return {
        "chosen": view.chosen,
        "texts": view.texts,
        "moving": view.moving,
        "queue": queue.moving(view),
        "who": {
            "above": _cells(found.above.rows[:, listed]),
            "up": [_cells(each.up.rows[:, listed]) for each in found.pictures],
            "down": [_cells(each.down.rows[:, listed]) for each in found.pictures],
            "rows": [each.rows for each in tables.crossings(view)],
            "weighed": _weighed(view, listed) if found.table.importance else None,
            "labels": [view.line(i) for i in lines],
            "questions": [view.line(i, "who") for i in lines],
            "ranges": {"threshold": [0, size], "top": [size, size + len(found.lines.tops)]},
            "start": found.start,
            "shown": found.shown,
        },
    }


def _weighed(view: View, listed: Any) -> dict[str, Any]:
    """Give the script what those above the line weigh, which shares are made of."""
    found = view.found
    return {
        "above": _cells(found.above.weight[:, listed]),
        "up": [_cells(each.up.weight[:, listed]) for each in found.pictures],
        "down": [_cells(each.down.weight[:, listed]) for each in found.pictures],
        "rows": [each.weights[-1] for each in tables.crossings(view)],
    }


def _cells(counts: Any) -> list[Any]:
    """Flatten groups x outcomes; whole numbers are written as such."""
    flat = np.asarray(counts).reshape(len(counts), -1)
    whole = bool((flat == np.rint(flat)).all())
    return flat.astype(np.int64).tolist() if whole else flat.round(3).tolist()


@cache
def _environment() -> Any:
    """Make templates escape everything that is not markup, and show what is no character as its code."""
    import jinja2

    def finalize(value: Any) -> Any:
        return value if hasattr(value, "__html__") else "" if value is None else printable(str(value))

    blocks = {"trim_blocks": True, "lstrip_blocks": True, "undefined": jinja2.StrictUndefined}
    loader = jinja2.PackageLoader("fairpot.report", "")
    made = jinja2.Environment(loader=loader, autoescape=True, finalize=finalize, **blocks)  # type: ignore[arg-type]
    made.globals |= {"T": TEXT, "SURE": SURE, "say": say, "words": words, "tables": tables, "queue": queue}
    made.globals |= {"FRACTIONS": FRACTIONS, "sentence": sentence, "meaning": meaning, "forest": forest}
    made.globals |= {"figure_svg": figure_svg, "most_pairs": tables.MOST_PAIRS, "style": style}
    return made


def _palette() -> str:
    """Write the colours and dashes of the groups, which are those of the pictures in :mod:`fairpot.display`."""
    light, dark = ("".join(f"--c{i}:{each};" for i, each in enumerate(of)) for of in (COLOURS, DARK))
    rules = [f".c{i}{{--own:var(--c{i})}}" for i in range(len(COLOURS))]
    rules += [f".now.d{i},.faint.d{i}{{stroke-dasharray:{each}}}" for i, each in enumerate(_DASHES)]
    return f":root{{{light}}}@media screen and (prefers-color-scheme:dark){{:root{{{dark}}}}}" + "".join(rules)


def embedded_json(content: Any) -> str:
    """Write JSON that cannot end the element it stands in."""
    text = json.dumps(content, allow_nan=False, separators=(",", ":"), ensure_ascii=True)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _policy(style: str, script: str) -> str:
    """Allow this style and this script by their hashes, and nothing else."""
    rules = ["default-src 'none'", f"style-src '{_hash(style)}'", f"script-src '{_hash(script)}'"]
    return "; ".join([*rules, "base-uri 'none'", "form-action 'none'"])


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _asset(name: str) -> str:
    return resources.files("fairpot.report").joinpath(name).read_text(encoding="utf-8")
