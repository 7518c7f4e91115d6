"""What opens for the validator: every pair, the curve, scores, calibration, who crosses the line, all numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from fairpot._validation import wording
from fairpot.auditing.queue import SMALLEST_BAND
from fairpot.metrics.cells import SMALL
from fairpot.report import words
from fairpot.report.figures import Figure, style
from fairpot.report.pairs import forest, heat_map, pairs_of
from fairpot.report.svg import Markup, figure_svg, join, tag
from fairpot.report.text import HOW_TO_READ, HOW_TO_READ_REPAIR, NOT_SHOWN, TEXT
from fairpot.report.words import change, count, number, percent, points, say, score, signed, signed_points, told

Numbers = Mapping[str, Any]
Write = Callable[[Any], str]
Read = Callable[[Mapping[str, Any]], Any]
_MOST_PAIRS = 24
# The first screen has room for every group of so many.
FEW = 3
# The table of moves: its columns, and the means among them.
MOVES = ("group", "rows", "moved", "up", "down", "mean_shift_moved", "mean_shift_all", "largest")
SHIFTS = ("mean_shift", "mean_shift_of_all")


@dataclass
class Live:
    """Texts that follow the dial: what each says at every setting."""

    settings: list[Numbers]
    chosen: int
    texts: dict[str, list[str]] = field(default_factory=dict)

    def __call__(self, say_it: Callable[[Numbers], str], name: str = "") -> Markup:
        """Make a text that is ``say_it`` of the setting; where it never changes, a plain one."""
        said = [say_it(numbers) for numbers in self.settings]
        if len(set(said)) == 1 and not name:
            return join(said[0])
        key = name or f"t{len(self.texts)}"
        self.texts[key] = said
        return tag("span", said[self.chosen], data_k=key)


def table(
    caption: Any, head: Sequence[str], rows: Sequence[Sequence[Any]], *, texts: int = 1, note: str = "", name: str
) -> Markup:
    """Make a table whose first columns are texts; it scrolls by itself where it is too wide."""
    top = tag("tr", [tag("th", cell, scope="col", class_="text" if i < texts else None) for i, cell in enumerate(head)])
    body = [
        tag(
            "tr",
            tag("th", row[0], scope="row"),
            [tag("td", c, class_="text" if i + 1 < texts else None) for i, c in enumerate(row[1:])],
        )
        for row in rows
    ]
    made = tag("table", tag("caption", caption, id=f"{name}-caption"), tag("thead", top), tag("tbody", body))
    scroll = tag("div", made, class_="scroll", role="region", aria_labelledby=f"{name}-caption", tabindex=0)
    return join(scroll, tag("p", note, class_="note") if note else None)


def part(name: str, title: str, *content: Any) -> Markup | None:
    """Make a part that opens; None where it has nothing to show."""
    shown = [each for each in content if each]
    return tag("details", tag("summary", tag("h3", title)), shown, id=name, class_="part") if shown else None


def parts(
    summary: Numbers, figures: Mapping[str, Figure], live: Live, moving: dict[str, Any], start: Mapping[str, int]
) -> list[Markup | None]:
    """Make all parts, in order."""
    repaired = "" if summary["method"] is not None else "_audit"
    shown = {name: figure(each, live, len(summary["dial"]["settings"]) > 2) for name, each in figures.items()}
    return [
        part("pairs", TEXT["part_pairs"], *_pairs(summary, live, moving)) if words.many(summary) else None,
        part("tradeoff", TEXT["part_tradeoff"], shown.get("tradeoff"), _curve_table(summary)),
        part("scores", TEXT[f"part_scores{repaired}"], shown.get("scores"), shown.get("map")),
        part("roc", TEXT["part_roc"], shown.get("roc")),
        part("calibration", TEXT["part_calibration"], shown.get("calibration"), _stages(summary)),
        part("who", TEXT[f"part_who{repaired}"], *_who(summary, live, start)),
        part("numbers", TEXT["part_numbers"], *_numbers(summary, live)),
        part("read", TEXT["part_read"], _reading(summary)),
        part("origin", TEXT["part_origin"], _origin(summary)),
    ]


def stage_rows(summary: Numbers) -> list[list[str]]:
    """List calibration of every group step by step: bias with its interval, errors, and what is left over."""
    rows = []
    for each in summary["calibration"] or []:
        steps = [step for step in ("before", "repaired", "recalibrated") if each[step] is not None]
        for step in steps:
            found = each[step]
            bias = found["error_in_the_large"]
            errors = [number(found[name]) for name in ("expected_calibration_error", "error_by_chance")]
            price = number(each.get("price"), 4) if step == steps[-1] and each.get("price") is not None else ""
            name = TEXT["all_rows"] if each["group"] is None else each["group"]
            limits = [signed(bias["estimate"]), signed(bias["low"]), signed(bias["high"])]
            rows.append([name, TEXT[f"step_{step}"], *limits, *errors, price])
    return rows


def stage_head() -> list[str]:
    """Name the columns of calibration step by step."""
    return [TEXT[f"stage_{name}"] for name in ("group", "step", "bias", "low", "high", "error", "chance", "price")]


def _stages(summary: Numbers) -> Markup | None:
    rows = stage_rows(summary)
    if not rows:
        return None
    return table(TEXT["stages"], stage_head(), rows, texts=2, note=TEXT["stages_note"], name="stages")


def figure(one: Figure, live: Live, turns: bool) -> Markup:
    """Show a figure under what it says, with what it means; values are read by pointing or with the arrow keys."""
    label = f"{one.name}-title {one.name}-alt"
    title = tag("h4", live(one.title), id=f"{one.name}-title")
    alt = tag("p", live(one.alt), id=f"{one.name}-alt", class_="unseen")
    hint = TEXT["reading_dial" if one.name == "tradeoff" and turns else "reading_hint"]
    plots = [_plot(one, place, name, body, label, turns) for place, name, body in one.panels]
    note = tag("p", one.note, " ", tag("span", hint, hidden=True, data_script=True), class_="note")
    reading = tag("output", class_="reading", id=f"{one.name}-reading", aria_live="polite")
    several = len(plots) > 1 or one.panels[0][0] >= 0
    names = tag("p", say("across_up", x=one.axes[0], y=one.axes[1]), class_="note") if several else None
    shown = tag("div", plots, class_="multiples" if several else None)
    return tag(
        "figure", tag("figcaption", title, alt), shown, names, reading, note, class_=None if several else "single"
    )


def _plot(one: Figure, place: int, name: str, body: Markup, label: str, turns: bool) -> Markup:
    heading = tag("h5", name, class_=f"name {style(place)}") if place >= 0 else None
    svg = figure_svg(label, body, aria_label=None)
    known: dict[str, Any] = {}
    if one.frame is not None:
        (left, right), (low, high) = one.frame.x, one.frame.y
        known = {"data_frame": f"{left!r} {right!r} {low!r} {high!r}", "data_axes": one.axes[0]}
        if one.name == "scores":
            known["data_share"] = True
    if one.name == "tradeoff" and turns:
        known = {"data_turn": True}
    named = f"{name}: {one.axes[1]}" if place >= 0 else None
    by = {"aria_label": named} if named else {"aria_labelledby": f"{one.name}-title"}
    return tag(
        "div",
        heading,
        svg,
        class_="plot",
        tabindex=0 if known else None,
        role="group",
        data_reading=f"{one.name}-reading",
        **by,
        **known,
    )


def _curve_table(summary: Numbers) -> Markup | None:
    """Give some of the settings as a table, for those who do not see the picture."""
    settings = summary["dial"]["settings"]
    if len(settings) < 3:
        return None
    few = sorted({round(k * (len(settings) - 1) / 10) for k in range(11)} | {summary["dial"]["chosen"]})
    rows = [
        [
            words.dial_setting(summary, i, whole=True) + (" ★" if i == summary["dial"]["chosen"] else ""),
            points(words.headline(summary, settings[i])),
            number(settings[i]["auc"]),
            count(settings[i]["moved"]),
        ]
        for i in few
    ]
    head = curve_head(summary)
    return tag("details", tag("summary", TEXT["figure_table"]), table(TEXT["figure_table"], head, rows, name="curve"))


def curve_head(summary: Numbers) -> list[str]:
    """Name the columns of the curve as a table."""
    gap = TEXT["axis_gap_plain" if words.many(summary) else "axis_gap_two"]
    return [TEXT["dial_label"], gap, TEXT["axis_auc"], TEXT["col_moved"]]


def _who(summary: Numbers, live: Live, start: Mapping[str, int]) -> list[Any]:
    """Count who is above a line, who comes and who goes."""
    repaired = summary["method"] is not None
    return [
        tag("p", TEXT["who_lead"], hidden=True, data_script=True),
        _choose(summary, start),
        _who_table(summary, repaired),
        _moves_table(summary, live) if repaired else None,
        _bands_table(summary) if repaired else None,
        _changes_table(summary),
    ]


def _choose(summary: Numbers, start: Mapping[str, int]) -> Markup:
    choices = summary["who"]["choices"]
    sizes = {kind: sum(kind in c for c in choices) for kind in ("threshold", "top")}
    at = summary["who"]["shown"]
    first = "top" if "top" in choices[at] else "threshold"

    def radio(kind: str, text: str) -> Markup:
        checked = kind == first
        return tag("label", tag("input", type="radio", name="who-kind", value=kind, checked=checked), " ", text)

    slider = tag(
        "input",
        type="range",
        id="who-value",
        min=0,
        max=sizes[first] - 1,
        step=1,
        value=start[first],
        aria_valuetext=choice_label(choices[at]),
        autocomplete="off",
    )
    kinds = tag(
        "fieldset",
        tag("legend", TEXT["choose_kind"]),
        radio("threshold", TEXT["by_threshold"]),
        radio("top", TEXT["by_top"]),
    )
    value = tag("div", tag("label", TEXT["choose_value"], for_="who-value"), slider, class_="value")
    return tag("div", kinds, value, class_="choose", hidden=True, data_script=True)


def choice_label(choice: Numbers) -> str:
    """Name a threshold or a top share."""
    return _choice(choice, "choice")


def choice_question(choice: Numbers) -> str:
    """Ask who is above a threshold or in a top share."""
    return _choice(choice, "who")


def _choice(choice: Numbers, key: str) -> str:
    if choice.get("below"):
        return say(f"{key}_below", value=score(-choice["threshold"]))
    if "threshold" in choice:
        return say(f"{key}_threshold", value=score(choice["threshold"]))
    return say(f"{key}_top", value=words.top_share(choice["top"]))


def _who_table(summary: Numbers, repaired: bool) -> Markup:
    choice = summary["who"]["choices"][summary["who"]["shown"]]
    head = [TEXT[f"col_{name}"] for name in ("group", "outcome", "rows", "above_before")]
    head += [TEXT[f"col_{name}"] for name in ("above_now", "enter", "leave")] if repaired else []
    rows = []
    for place, (g, size) in enumerate(listed(summary)):
        for k, label in enumerate(("with", "without")):
            people = size["positives"] if label == "with" else size["negatives"]
            was, enter, leave = (choice[name][g][k] for name in ("above", "enter", "leave"))
            values = {"before": was, "now": was + enter - leave, "enter": enter, "leave": leave}
            shown = list(values) if repaired else ["before"]
            cells = [tag("span", count(values[name]), data_who=f"{name} {2 * place + k}") for name in shown]
            rows.append([size["group"], TEXT[label], count(people), *cells])
    caption = join(TEXT["who_caption"], ": ", tag("span", choice_label(choice), id="who-label", data_line=True))
    made = table(caption, head, rows, texts=2, name="crossing")
    left = len(summary["data"]["groups"]) - len(summary["listed"])
    return join(made, tag("p", say("groups_left_out", left=left), class_="note") if left > 0 else None)


def _moves_table(summary: Numbers, live: Live) -> Markup:
    head = [TEXT[f"col_{n}"] for n in MOVES]
    writes = [
        ("moved", count),
        ("up", count),
        ("down", count),
        *((n, change) for n in SHIFTS),
        ("largest_shift", score),
    ]
    rows = []
    for g, size in listed(summary):
        cells = [live(_written(write, _of(g, name))) for name, write in writes]
        rows.append([size["group"], count(size["rows"]), *cells])
    return table(TEXT["moves_caption"], head, rows, name="moves")


def _bands_table(summary: Numbers) -> Markup | None:
    moving = {each["group"] for each in summary["bands"] if each["largest_change"]}
    rows = [
        [
            each["group"],
            tag("span", say("band", low=score(each["from"]), high=score(each["to"])), class_="whole"),
            count(each["rows"]),
            change(each["mean_change"]),
            change(each["largest_change"]),
        ]
        for each in summary["bands"]
        if each["group"] in moving
    ]
    if not rows:
        return None
    head = [TEXT[f"col_{n}"] for n in ("group", "band", "rows", "mean_shift", "largest")]
    caption = f"{TEXT['bands_caption']} ({TEXT['to_chosen']})"
    return table(caption, head, rows, texts=2, note=say("bands_note", least=SMALLEST_BAND), name="bands")


def _changes_table(summary: Numbers) -> Markup | None:
    changes = summary["largest_changes"]
    if not changes:
        return None
    head = [TEXT[f"col_{n}"] for n in ("id", "group", "score_before", "score_after", "largest")]
    rows = [
        [str(c["id"]), c["group"], score(c["before"]), score(c["after"]), change(c["after"] - c["before"])]
        for c in changes
    ]
    return table(TEXT["changes_caption"], head, rows, texts=2, name="changes")


def _numbers(summary: Numbers, live: Live) -> list[Any]:
    """Show all numbers before and at the setting."""
    repaired = summary["method"] is not None
    head = [TEXT["col_number"], *([TEXT["col_before"], TEXT["col_now"]] if repaired else [TEXT["col_value"]])]
    rows = []
    for name, write, read in cost_rows(summary):
        before = write(read(summary["before"]))
        if before == words.number(None) and not repaired:
            continue
        rows.append([name, before, *([live(_written(write, read))] if repaired else [])])
    caption = TEXT["cost_caption" if repaired else "cost_caption_audit"]
    return [table(caption, head, rows, note=TEXT["rank_note"] if repaired else "", name="all")]


def cost_rows(summary: Numbers) -> list[tuple[str, Write, Read]]:
    """List what is compared before and after: its name, how it is written and where it stands."""
    pair, groups = summary["pair"], listed(summary)
    rows: list[tuple[str, Write, Read]] = [
        (TEXT["row_auc"], number, lambda n: n["auc"]),
        (say("row_gap", **pair), signed_points, lambda n: n["signed_gap"]),
        (say("row_xauc", first=pair["lower"], second=pair["higher"]), percent, lambda n: n["xauc_lower"]),
        (say("row_xauc", first=pair["higher"], second=pair["lower"]), percent, lambda n: n["xauc_higher"]),
    ]
    if len(groups) > 2:
        rows.append((TEXT["row_largest_gap"], points, lambda n: n["gap"]))
    if summary["before"]["top"] is not None:
        alpha = words.top_of(summary)
        rows.append((say("row_auc_top", alpha=alpha), number, lambda n: n["top"]["auc"]))
        rows.append((say("row_gap_top", alpha=alpha), points, lambda n: n["top"]["gap"]))
    rows += [(say("row_inside", group=g["group"]), number, _of(i, "auc")) for i, g in groups]
    if summary["before"]["calibration"] is not None:
        large, error = "error_in_the_large", "expected_calibration_error"
        rows += [(say("row_large", group=g["group"]), signed, _of(i, "calibration", large)) for i, g in groups]
        rows += [(say("row_ece", group=g["group"]), number, _of(i, "calibration", error)) for i, g in groups]
    if summary["method"] is None:
        return rows
    for i, g in groups:
        for key, label in (("positive", TEXT["with"]), ("negative", TEXT["without"])):
            name = say("row_rank", group=g["group"], label=label)
            rows.append((name, lambda v: signed(v, 1), _of(i, "rank_change", key)))
    return rows


def listed(summary: Numbers) -> list[tuple[int, Numbers]]:
    """Give place and sizes of the groups that tables list."""
    return [(g, summary["data"]["groups"][g]) for g in summary["listed"]]


def _written(write: Write, read: Read) -> Callable[[Numbers], str]:
    return lambda numbers: write(read(numbers))


def _of_pair(place: int, name: str) -> Read:
    return lambda numbers: numbers["pairs"][place][name]


def _of(place: int, *keys: str) -> Read:
    """Read a number of one group; None where it was not measured."""

    def read(numbers: Numbers) -> Any:
        value: Any = numbers["groups"][place]
        for key in keys:
            value = None if value is None else value[key]
        return value

    return read


def pair_rows(summary: Numbers) -> tuple[list[str], list[list[tuple[Write, Read]]]]:
    """Give the head of the table of pairs, and how the cells of each pair are written and where they stand."""
    head = [TEXT[f"col_{name}"] for name in ("first", "second", "over", "under", "gap", "limits")]
    cells: list[tuple[str, Write]] = [("xauc_first", percent), ("xauc_second", percent), ("signed_gap", signed_points)]
    cells.append(("limits", _limits))
    shown = range(len(summary["before"]["pairs"][:_MOST_PAIRS]))
    return head, [[(write, _of_pair(i, name)) for name, write in cells] for i in shown]


def _limits(found: Sequence[float] | None) -> str:
    if found is None:
        return number(None)
    return say("limits", low=signed_points(found[0]), high=signed_points(found[1]))


def _pairs(summary: Numbers, live: Live, moving: dict[str, Any]) -> list[Any]:
    """Show every pair of three groups and more: a heat map, a forest of intervals, a table."""
    head, cells = pair_rows(summary)
    rows = [
        [pair["first"], pair["second"], *(live(_written(write, read)) for write, read in each)]
        for pair, each in zip(summary["before"]["pairs"], cells)
    ]
    shown = min(len(pairs_of(summary, summary["before"])), _MOST_PAIRS)
    heat = tag(
        "div", heat_map(summary, live), class_="scroll", role="region", aria_labelledby="heat-caption", tabindex=0
    )
    return [
        heat,
        tag("p", say("heat_note", least=SMALL), class_="note") if summary["data"]["small_groups"] else None,
        tag("h4", TEXT["forest_title"], id="forest-title"),
        tag(
            "div",
            forest(summary, live, shown, moving, "forest"),
            class_="scroll",
            tabindex=0,
            role="region",
            aria_labelledby="forest-title",
        ),
        table(TEXT["pairs_caption"], head, rows, texts=2, note=pairs_note(summary), name="pairs"),
    ]


def pairs_note(summary: Numbers) -> str:
    """Say what the intervals are of, and how many pairs are left out."""
    left = math.comb(len(summary["data"]["groups"]), 2) - min(len(summary["before"]["pairs"]), _MOST_PAIRS)
    settings = summary["dial"]["settings"]
    known = all(any(pair["limits"] is not None for pair in told(summary, n).get("pairs") or ()) for n in settings)
    note = TEXT["pairs_note"] if known or len(settings) < 3 else f"{TEXT['pairs_note']} {TEXT['pairs_note_few']}"
    return " ".join([note, *([say("pairs_left_out", left=left)] if left else [])])


def _reading(summary: Numbers) -> Markup:
    """Explain the terms, and what is not here."""
    return join(
        tag("h4", TEXT["read"]),
        tag("ul", [tag("li", item) for item in how_to_read(summary)]),
        tag("h4", TEXT["not"]),
        tag("ul", [tag("li", item) for item in NOT_SHOWN]),
    )


def how_to_read(summary: Numbers) -> list[str]:
    """List what a reader needs to know; of a repair only where there is one."""
    return [*HOW_TO_READ, *(HOW_TO_READ_REPAIR if summary["method"] is not None else ())]


def _origin(summary: Numbers) -> Markup:
    """Say where the numbers come from and how to make them again."""
    privacy = TEXT["privacy_ids" if summary["largest_changes"] else "privacy_counts"]
    facts = [(name, value) for name, value in origin_facts(summary) if value]
    listed = [
        (tag("dt", name), tag("dd", tag("code", value) if name == TEXT["origin_command"] else value))
        for name, value in facts
    ]
    return join(tag("dl", listed, class_="facts"), tag("h4", TEXT["privacy"]), tag("p", privacy))


def origin_facts(summary: Numbers) -> list[tuple[str, str]]:
    """List what is known of the method, the data and the making of the report."""
    method, made, curve = summary["method"], summary["origin"], summary["curve"]
    columns = summary["data"]["columns"]
    facts = [(TEXT["origin_method"], TEXT["origin_no_method"] if method is None else method["name"])]
    if method is not None:
        setting = words.dial_setting(summary, summary["dial"]["chosen"], whole=True)
        facts[0] = (facts[0][0], f"{method['name']}, {setting}")
        facts.append((TEXT["origin_rule"], words.rule(summary)))
        facts.append((TEXT["origin_certificate"], words.trust(summary) if method["certificate"] is not None else ""))
        facts.append((TEXT["origin_reference"], method["reference"] or ""))
        facts.append((TEXT["origin_parameters"], ", ".join(f"{k}={v}" for k, v in method["parameters"].items())))
    if curve is not None:
        key = "curve_exact" if curve["exact"] else "curve_grid"
        stops = len(summary["dial"]["settings"])
        facts.append((TEXT["origin_curve"], say(key, points=count(curve["points"]), stops=stops)))
    return [
        *facts,
        (TEXT["origin_source"], summary["data"]["source"]),
        (TEXT["origin_columns"], ", ".join(f"{part}: {name}" for part, name in columns.items() if name)),
        (TEXT["origin_weights"], wording.weights_taken(summary["data"]["weights"], summary["data"]["rows"])),
        (TEXT["origin_ties"], TEXT[f"ties_{summary['ties']}"]),
        (TEXT["origin_version"], made["library_version"]),
        (TEXT["origin_created"], made["created"]),
        (TEXT["origin_command"], made["command"]),
    ]
