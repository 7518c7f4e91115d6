"""The sections of the page, from the summary and the figures."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from fairpot._validation import wording
from fairpot.report import words
from fairpot.report.figures import Figure
from fairpot.report.people import SMALLEST_BAND
from fairpot.report.svg import Markup, join, tag
from fairpot.report.text import HOW_TO_READ, NOT_SHOWN, TEXT
from fairpot.report.words import change, count, number, percent, points, say, score, signed

Numbers = Mapping[str, Any]
Write = Callable[[Any], str]
Read = Callable[[Mapping[str, Any]], Any]
_MOST_PAIRS = 24
# The table of moves: its columns, and the means among them.
MOVES = ("group", "people", "moved", "up", "down", "mean_shift_moved", "mean_shift_all", "largest")
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
    caption: str, head: Sequence[str], rows: Sequence[Sequence[Any]], *, texts: int = 1, note: str = ""
) -> Markup:
    """Make a table whose first columns are texts; it scrolls by itself where it is too wide."""
    top = tag("tr", [tag("th", name, scope="col", class_="text" if i < texts else None) for i, name in enumerate(head)])
    body = [
        tag(
            "tr",
            tag("th", row[0], scope="row"),
            [tag("td", c, class_="text" if i + 1 < texts else None) for i, c in enumerate(row[1:])],
        )
        for row in rows
    ]
    made = tag("table", tag("caption", caption), tag("thead", top), tag("tbody", body))
    scroll = tag("div", made, class_="scroll", role="region", aria_label=caption, tabindex=0)
    return join(scroll, tag("p", note, class_="note") if note else None)


def answer(summary: Numbers) -> Markup:
    """Say what was found, with the few numbers that matter."""
    said = [tag("p", sentence) for sentence in words.answer(summary)]
    listed = [tag("li", words.warning(found)) for found in summary["warnings"]]
    care = tag("div", tag("h3", TEXT["warnings"]), tag("ul", listed), class_="warnings") if listed else None
    return tag(
        "section",
        tag("h2", TEXT["answer"], id="answer", tabindex=-1),
        tag("div", said, class_="lead"),
        _cards(summary),
        care,
        aria_labelledby="answer",
    )


def _cards(summary: Numbers) -> Markup:
    before, after = summary["before"], summary["after"]
    now = after or before
    pair, rows = summary["pair"], count(summary["data"]["rows"])
    gap = (TEXT["card_gap_many"], "gap", _width, "gap")
    if not words.many(summary):
        gap = (TEXT["card_gap"], "signed_gap", _width, "pair_gap")

    def card(title: str, name: str, write: Callable[[float | None], str], limits: str = "") -> Markup:
        lines = [tag("dd", write(now[name]), class_="big")]
        if after is not None:
            lines.append(tag("dd", say("was", value=write(before[name])), class_="small"))
        if (limits or name) in (now["intervals"] or {}):
            lines.append(tag("dd", _interval(now["intervals"][limits or name], write), class_="small"))
        return tag("div", tag("dt", title), lines)

    cards = [
        card(*gap),
        card(TEXT["card_auc"], "auc", number),
        card(say("card_behind", **pair), "xauc_behind", percent),
        card(say("card_ahead", **pair), "xauc_ahead", percent),
    ]
    if after is not None:
        moved = tag("dd", count(after["moved"]), class_="big")
        share = say("people_of", share=percent(after["moved_share"]), rows=rows)
        cards.append(tag("div", tag("dt", TEXT["card_moved"]), moved, tag("dd", share, class_="small")))
    return tag("dl", cards, class_="cards")


def _width(gap: float | None) -> str:
    """Write a gap without its sign, which the sentences tell."""
    return say("points", value=points(None if gap is None else abs(gap)))


def _interval(limits: Sequence[float] | None, write: Callable[[float | None], str]) -> str:
    if limits is None:
        return TEXT["no_interval"]
    low = points(limits[0]) if write is _width else write(limits[0])
    return say("interval", low=low, high=write(limits[1]))


def explore(summary: Numbers) -> Markup:
    """Open what follows the dial."""
    settings = summary["dial"]["settings"]
    kind = "explore" if len(settings) > 2 else "explore_fixed" if len(settings) == 2 else "explore_audit"
    lead = tag("p", TEXT[f"{kind}_lead"]) if len(settings) > 1 else None
    return tag("section", tag("h2", TEXT[kind], id="explore"), lead, aria_labelledby="explore", class_="joined")


def pictures(summary: Numbers, figures: Mapping[str, Figure]) -> Markup:
    """Show the figures."""
    names = ("tradeoff", "roc", "positive", "negative", "map", "calibration")
    shown = [figure(figures[name]) for name in names if name in figures]
    drawn, groups = len(figures["positive"].keys), len(summary["data"]["groups"])
    return join(
        tag("p", say("drawn", drawn=drawn, groups=groups), class_="note") if drawn < groups else None,
        tag("div", shown, class_="figures"),
        _curve_table(summary),
    )


def turning(summary: Numbers, live: Live) -> Markup | None:
    """Make the control that everything after it follows; None where there is nothing to turn."""
    dial = summary["dial"]
    settings = dial["settings"]
    if len(settings) < 2:
        return None
    best = min(range(len(settings)), key=lambda i: _gap_to_close(summary, settings[i]))
    setting = live(lambda n: words.dial_setting(summary, _place(settings, n)), "setting")
    row = [
        tag(
            "input",
            type="range",
            id="dial",
            min=0,
            max=len(settings) - 1,
            step=1,
            value=dial["chosen"],
            aria_valuetext=words.dial_setting(summary, dial["chosen"]),
            autocomplete="off",
        ),
        [
            tag("button", TEXT[key], type="button", data_go=place)
            for key, place in (("to_before", 0), ("to_best", best), ("to_chosen", dial["chosen"]))
            if len(settings) > 2 or key != "to_best"
        ],
    ]
    said = live(lambda n: _live_line(summary, n), "live")
    return tag(
        "div",
        tag("label", TEXT["dial_label"], for_="dial"),
        tag("span", ": ", setting, class_="live"),
        tag("div", row, class_="row", hidden=True, data_script=True),
        tag("output", said, for_="dial", class_="live small", aria_live="polite"),
        class_="dial",
    )


def _gap_to_close(summary: Numbers, numbers: Numbers) -> float:
    """Give the size of the gap that the repair is after: in the top, if it works there."""
    gap = words.headline(summary, numbers) if numbers["top"] is None else numbers["top"]["gap"]
    return float("inf") if gap is None else abs(gap)


def _place(settings: Sequence[Numbers], numbers: Numbers) -> int:
    return next(i for i, each in enumerate(settings) if each is numbers)


def _live_line(summary: Numbers, numbers: Numbers) -> str:
    fields = {
        "gap": points(words.headline(summary, numbers)),
        "auc": number(numbers["auc"]),
        "moved": count(numbers["moved"]),
    }
    top = numbers["top"]
    if top is None:
        return say("live", **fields)
    return say("live_top", **fields, gap_top=points(top["gap"]), auc_top=number(top["auc"]))


def figure(one: Figure) -> Markup:
    """Show a figure with its name, what it means, and what its lines stand for."""
    keys = tag("ul", [_key(style, name) for style, name in one.keys], class_="keys") if one.keys else None
    note = tag("p", one.note) if one.note else None
    return tag("figure", tag("figcaption", tag("h3", one.title), note, keys), one.svg)


def _key(style: str, name: str) -> Markup:
    sample = tag("path", d="M1 6H33", class_=f"now {style}")
    return tag("li", tag("svg", sample, viewBox="0 0 34 12", aria_hidden="true"), tag("span", name))


def _curve_table(summary: Numbers) -> Markup | None:
    """Give some of the settings as a table, for those who do not see the picture."""
    settings = summary["dial"]["settings"]
    if len(settings) < 3:
        return None
    few = sorted({round(k * (len(settings) - 1) / 10) for k in range(11)} | {summary["dial"]["chosen"]})
    rows = [
        [
            words.dial_setting(summary, i) + (" ★" if i == summary["dial"]["chosen"] else ""),
            points(words.headline(summary, settings[i]), 2),
            number(settings[i]["auc"]),
            count(settings[i]["moved"]),
        ]
        for i in few
    ]
    head = [TEXT["dial_label"], TEXT["axis_gap_plain"], TEXT["axis_auc"], TEXT["card_moved"]]
    return tag("details", tag("summary", TEXT["figure_table"]), table(TEXT["figure_table"], head, rows))


def who(summary: Numbers, live: Live, start: Mapping[str, int]) -> Markup:
    """Count who is above a line, who comes and who goes."""
    repaired = summary["method"] is not None
    kind = "who" if repaired else "who_audit"
    return tag(
        "section",
        tag("h2", TEXT[kind], id="who"),
        tag("p", TEXT[f"{kind}_lead"]),
        _choose(summary, start),
        _who_table(summary, start["threshold"], repaired),
        _moves_table(summary, live) if repaired else None,
        _bands_table(summary) if repaired else None,
        _changes_table(summary),
        aria_labelledby="who",
    )


def _choose(summary: Numbers, start: Mapping[str, int]) -> Markup:
    choices = summary["who"]["choices"]
    sizes = {kind: sum(kind in c for c in choices) for kind in ("threshold", "top")}

    def radio(kind: str, text: str) -> Markup:
        checked = kind == "threshold"
        return tag("label", tag("input", type="radio", name="who-kind", value=kind, checked=checked), " ", text)

    slider = tag(
        "input",
        type="range",
        id="who-value",
        min=0,
        max=sizes["threshold"] - 1,
        step=1,
        value=start["threshold"],
        aria_valuetext=choice_label(choices[start["threshold"]]),
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
    if "threshold" in choice:
        return say("choice_threshold", value=score(choice["threshold"]))
    return say("choice_top", value=words.top_share(choice["top"]))


def _who_table(summary: Numbers, at: int, repaired: bool) -> Markup:
    choice = summary["who"]["choices"][at]
    head = [TEXT[f"col_{name}"] for name in ("group", "outcome", "people", "above_before")]
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
    label = tag("span", choice_label(choice), id="who-label")
    caption = join(TEXT["who_caption"], ": ", tag("span", label, aria_live="polite"))
    made = table(caption, head, rows, texts=2)
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
    return table(TEXT["moves_caption"], head, rows)


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
    head = [TEXT[f"col_{n}"] for n in ("group", "band", "people", "mean_shift", "largest")]
    caption = f"{TEXT['bands_caption']} ({TEXT['to_chosen']})"
    return table(caption, head, rows, texts=2, note=say("bands_note", least=SMALLEST_BAND))


def _changes_table(summary: Numbers) -> Markup | None:
    changes = summary["largest_changes"]
    if not changes:
        return None
    head = [TEXT[f"col_{n}"] for n in ("id", "group", "score_before", "score_after", "largest")]
    rows = [
        [str(c["id"]), c["group"], score(c["before"]), score(c["after"]), change(c["after"] - c["before"])]
        for c in changes
    ]
    return table(TEXT["changes_caption"], head, rows, texts=2)


def cost(summary: Numbers, live: Live) -> Markup:
    """Show all numbers before and at the setting."""
    repaired = summary["method"] is not None
    head = [TEXT["col_number"], TEXT["col_before"], *([TEXT["col_now"]] if repaired else [])]
    rows = []
    for name, write, read in cost_rows(summary):
        before = write(read(summary["before"]))
        if before == words.number(None) and not repaired:
            continue
        rows.append([name, before, *([live(_written(write, read))] if repaired else [])])
    overshoot = (
        live(lambda n: say("overshoot_yes", **summary["pair"]) if words.goes_past(n) else "") if repaired else ""
    )
    return tag(
        "section",
        tag("h2", TEXT["cost" if repaired else "cost_audit"], id="cost"),
        tag("p", tag("strong", overshoot), role="status") if repaired else None,
        table(TEXT["cost_caption"], head, rows, note=TEXT["rank_note"] if repaired else ""),
        _pairs_table(summary, live) if len(summary["data"]["groups"]) > 2 else None,
        aria_labelledby="cost",
    )


def cost_rows(summary: Numbers) -> list[tuple[str, Write, Read]]:
    """List what is compared before and after: its name, how it is written and where it stands."""
    pair, groups = summary["pair"], listed(summary)
    rows: list[tuple[str, Write, Read]] = [
        (TEXT["row_auc"], number, lambda n: n["auc"]),
        (say("row_gap", **pair), signed, lambda n: n["signed_gap"]),
        (say("row_xauc", first=pair["behind"], second=pair["ahead"]), number, lambda n: n["xauc_behind"]),
        (say("row_xauc", first=pair["ahead"], second=pair["behind"]), number, lambda n: n["xauc_ahead"]),
    ]
    if len(groups) > 2:
        rows.append((TEXT["row_largest_gap"], number, lambda n: n["gap"]))
    if summary["before"]["top"] is not None:
        alpha = words.top_share(summary["method"]["alpha"])
        rows.append((say("row_auc_top", alpha=alpha), number, lambda n: n["top"]["auc"]))
        rows.append((say("row_gap_top", alpha=alpha), number, lambda n: n["top"]["gap"]))
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
            rows.append((name, lambda v: signed(v, 2), _of(i, "rank_change", key)))
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
    cells: list[tuple[str, Write]] = [("xauc_first", number), ("xauc_second", number), ("signed_gap", signed)]
    cells.append(("limits", _limits))
    shown = range(len(summary["before"]["pairs"][:_MOST_PAIRS]))
    return head, [[(write, _of_pair(i, name)) for name, write in cells] for i in shown]


def _limits(found: Sequence[float] | None) -> str:
    return number(None) if found is None else say("limits", low=signed(found[0]), high=signed(found[1]))


def _pairs_table(summary: Numbers, live: Live) -> Markup:
    head, cells = pair_rows(summary)
    rows = [
        [pair["first"], pair["second"], *(live(_written(write, read)) for write, read in each)]
        for pair, each in zip(summary["before"]["pairs"], cells)
    ]
    caption = TEXT["pairs_caption"] + (f" ({TEXT['now']})" if summary["method"] is not None else "")
    return table(caption, head, rows, texts=2, note=pairs_note(summary))


def pairs_note(summary: Numbers) -> str:
    """Say what the intervals are of, and how many pairs are left out."""
    left = math.comb(len(summary["data"]["groups"]), 2) - min(len(summary["before"]["pairs"]), _MOST_PAIRS)
    return " ".join([TEXT["pairs_note"], *([say("pairs_left_out", left=left)] if left else [])])


def reading() -> Markup:
    """Explain the terms, and what is not here."""
    return tag(
        "section",
        tag("h2", TEXT["read"], id="read"),
        tag("ul", [tag("li", item) for item in HOW_TO_READ]),
        tag("h2", TEXT["not"], id="not"),
        tag("ul", [tag("li", item) for item in NOT_SHOWN]),
        aria_labelledby="read",
    )


def origin(summary: Numbers) -> Markup:
    """Say where the numbers come from and how to make them again."""
    privacy = TEXT["privacy_ids" if summary["largest_changes"] else "privacy_counts"]
    facts = [(name, value) for name, value in origin_facts(summary) if value]
    listed = [
        (tag("dt", name), tag("dd", tag("code", value) if name == TEXT["origin_command"] else value))
        for name, value in facts
    ]
    return tag(
        "section",
        tag("h2", TEXT["origin"], id="origin"),
        tag("dl", listed, class_="facts"),
        tag("h3", TEXT["privacy"]),
        tag("p", privacy),
        aria_labelledby="origin",
    )


def origin_facts(summary: Numbers) -> list[tuple[str, str]]:
    """List what is known of the method, the data and the making of the report."""
    method, made, curve = summary["method"], summary["origin"], summary["curve"]
    columns = summary["data"]["columns"]
    facts = [(TEXT["origin_method"], TEXT["origin_no_method"] if method is None else method["name"])]
    if method is not None:
        setting = words.dial_setting(summary, summary["dial"]["chosen"])
        facts[0] = (facts[0][0], f"{method['name']}, {setting}")
        facts.append((TEXT["origin_reference"], method["reference"] or ""))
        facts.append((TEXT["origin_parameters"], ", ".join(f"{k}={v}" for k, v in method["parameters"].items())))
    if curve is not None:
        key = "curve_exact" if curve["exact"] else "curve_grid"
        stops = len(summary["dial"]["settings"])
        facts.append((TEXT["origin_curve"], say(key, points=count(curve["points"]), stops=stops)))
    return [
        *facts,
        (TEXT["origin_columns"], ", ".join(f"{part}: {name}" for part, name in columns.items() if name)),
        (TEXT["origin_weights"], wording.weights_taken(summary["data"]["weights"], summary["data"]["rows"])),
        (TEXT["origin_ties"], TEXT[f"ties_{summary['ties']}"]),
        (TEXT["origin_version"], made["library_version"]),
        (TEXT["origin_created"], made["created"]),
        (TEXT["origin_command"], made["command"]),
    ]
