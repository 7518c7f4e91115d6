"""The first screen: what was found, the picture, and beside it the gap, who is above the line, the price, the dial."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fairpot._html import short
from fairpot.report import queue, words
from fairpot.report.figures import style
from fairpot.report.measure import Measured
from fairpot.report.pairs import forest, pairs_of
from fairpot.report.sections import FEW, Live, choice_label, choice_question, listed
from fairpot.report.svg import Markup, tag
from fairpot.report.text import TEXT
from fairpot.report.words import count, number, points, rate, say, signed, told, top_of

Numbers = Mapping[str, Any]
# More pairs and more warnings than these are folded away; more groups than these share a table below.
_WARNINGS, _GROUPS = 3, (8, 5)
# Letters of a group's name, and of the outcome's, in a table of the first screen.
_LONGEST, _LONGEST_OUTCOME = 26, 20
# The calibration errors of so many groups are shown; of more, the one that rises most.
_FEW_ERRORS = 3


def header(summary: Numbers) -> Markup:
    """Name the subject, the rows, the date, and how far the numbers can be trusted."""
    data, made, trust = summary["data"], summary["origin"], summary["trust"]
    about = " · ".join(part for part in (words.subtitle(summary), data["source"], made["created"]) if part)
    badge = None
    if trust is not None:
        text, kind = words.badge(summary)
        badge = tag("p", text, class_=f"badge {kind}")
    off = tag("noscript", tag("p", TEXT["no_script"], class_="note")) if summary["method"] is not None else None
    subject = tag("div", tag("h1", summary["title"]), tag("p", about, class_="sub"), off)
    return tag("header", subject, badge)


def screen(found: Measured, summary: Numbers, live: Live, moving: dict[str, Any]) -> Markup:
    """Make the first screen."""
    repaired = summary["method"] is not None
    lead = live(lambda n: " ".join(words.repaired(summary, n)), "lead") if repaired else None
    cost = _price(summary, live) if repaired else _quality(summary)
    dial = _dial(summary, live) if len(summary["dial"]["settings"]) > 1 else None
    gap, who = _gap(summary, live, moving), _who(summary, repaired)
    crowd = " many" if len(listed(summary)) > FEW else ""
    return tag(
        "section",
        tag("h2", words.finding(summary), id="finding", tabindex=-1),
        tag("p", words.size(summary), " ", lead, class_="lead"),
        tag("p", _small_print(summary), class_="meaning"),
        tag("div", _queue(found, summary), tag("div", gap, who, cost, dial, class_="panels"), class_=f"first{crowd}"),
        _care(summary),
        _card(summary),
        aria_labelledby="finding",
    )


def _small_print(summary: Numbers) -> str:
    """Say what the finding means in pairs, and on what a certificate stands; all else of it is for the validator."""
    certified = summary["method"] is not None and summary["method"]["certificate"] is not None
    said = [words.meaning(summary), words.certified_on(summary) if certified else ""]
    return " ".join(text for text in said if text)


def _queue(found: Measured, summary: Numbers) -> Markup:
    repaired = summary["method"] is not None
    at = summary["who"]["shown"]
    acted = queue.acted(found, summary, at)
    shaded = (
        tag("span", choice_label(summary["who"]["choices"][at]), data_line=True),
        tag("span", acted, data_acted=True),
    )
    title = tag("h3", TEXT["queue"], " ", tag("span", TEXT["queue_shaded"], *shaded, class_="soft"), id="queue-title")
    note = [say("queue_note", outcome=summary["data"]["outcome"])]
    note += [TEXT["queue_note_repair"], queue.meaning(found)] if repaired else []
    note += [TEXT["same_people"]] if repaired and summary["method"]["region"] == "pooled" else []
    drawn, groups = len(found.drawn), len(found.groups)
    note += [queue.mark_sizes(found), say("queue_left_out", drawn=drawn, groups=groups) if drawn < groups else ""]
    button = tag("button", TEXT["queue_png"], type="button", id="png", hidden=True, data_script=True)
    rows = f"lanes {'one-row' if drawn == queue.across(found) else 'two-rows'} n{queue.across(found)}"
    return tag(
        "figure",
        title,
        tag("div", queue.lanes(found, summary), class_=rows, id="queue"),
        tag("figcaption", tag("p", " ".join(filter(None, note)), id="queue-note"), button),
        class_="queue",
    )


def _panel(name: str, title: Any, *parts: Any) -> Markup:
    return tag("div", tag("h3", title, id=f"{name}-title"), parts, class_="panel")


def _gap(summary: Numbers, live: Live, moving: dict[str, Any]) -> Markup:
    method = summary["method"]
    alpha = summary["finding"]["alpha"]
    title = TEXT["panel_gap"] if alpha is None else say("panel_gap_top", alpha=top_of(summary))
    pairs = pairs_of(summary, summary["before"])
    one, most = len(pairs) == 1, _most_pairs(summary)
    note = say("panel_gap_note", **summary["pair"]) if one else TEXT["panel_gap_note_many"]
    if method is not None and method["aim"] is not None:
        note += " " + say("panel_gap_aim", aim=points(method["aim"]))
    if len(pairs) > most:
        note += " " + say("panel_gap_more", left=len(pairs) - most)
    return _panel("gap", title, forest(summary, live, most, moving, "gap"), tag("p", note, class_="note"))


def _most_pairs(summary: Numbers) -> int:
    """Give how many pairs the first screen has room for: more pairs than these are folded away."""
    return 5 if len(listed(summary)) <= FEW else 3


def _who(summary: Numbers, repaired: bool) -> Markup:
    """Show rates and counts above the line by group and outcome."""
    choice = summary["who"]["choices"][summary["who"]["shown"]]
    title: Any = tag("span", choice_question(choice), data_question=True)
    note = tag("p", say("panel_who_note", outcome=summary["data"]["outcome"]), class_="note")
    if len(listed(summary)) < FEW:
        return _panel("above", title, _scrolled(_by_outcome(summary, choice, repaired)), note)
    title = [title, " ", tag("span", TEXT["now_repaired"], class_="soft")] if repaired else title
    shown, more = _in_order(summary, repaired)
    if more:
        summed = tag("summary", say("panel_who_more", left=len(more)), id="above-more")
        others = _scrolled(_by_group(summary, choice, repaired, more), "above-title above-more")
        note = tag("details", summed, others, note, class_="more")
    return _panel("above", title, _scrolled(_by_group(summary, choice, repaired, shown)), note)


def _scrolled(made: Markup, named: str = "above-title") -> Markup:
    return tag("div", made, class_="scroll", role="region", aria_labelledby=named, tabindex=0)


def _in_order(summary: Numbers, repaired: bool) -> tuple[list[int], list[int]]:
    """Give places in the list of groups: all that the first screen has room for, else the finding's; and the rest."""
    groups = listed(summary)
    places = list(range(len(groups)))
    if len(groups) <= _GROUPS[repaired]:
        return places, []
    shown = [i for i in places if groups[i][1]["group"] in summary["pair"].values()]
    return shown, [i for i in places if i not in shown]


def _by_outcome(summary: Numbers, choice: Numbers, repaired: bool) -> Markup:
    """Make a row for each group and outcome."""
    head = [TEXT["col_group"], TEXT["col_rows"]]
    head += [TEXT["now"], TEXT["repaired"]] if repaired else [TEXT["col_share"]]
    outcome = summary["data"]["outcome"]
    outcome = outcome if len(outcome) <= _LONGEST_OUTCOME else TEXT["it"]  # the note below names it
    rows = []
    for place, (g, size) in enumerate(listed(summary)):
        for k, label in enumerate(("with", "without")):
            people = count(size["positives" if label == "with" else "negatives"])
            written = say(f"group_{label}", group=_named(summary, size), outcome=outcome)
            name = tag("span", written, class_=f"name {style(g)}")
            cells = [tag("td", cell) for cell in _rates(size, choice, g, place, k, repaired)]
            rows.append(tag("tr", tag("th", name, scope="row"), tag("td", people), cells))
    return _who_table(head, rows)


def _by_group(summary: Numbers, choice: Numbers, repaired: bool, places: Sequence[int]) -> Markup:
    """Make a row for each group, with its outcomes side by side: many groups would be twice as many rows."""
    head = [TEXT[f"col_{name}"] for name in ("group", "rows", "with", "without")]
    rows, groups = [], listed(summary)
    for place in places:
        g, size = groups[place]
        cells = []
        for k in (0, 1):
            both = [tag("span", each, class_="whole") for each in _rates(size, choice, g, place, k, repaired)]
            cells.append(tag("td", both[0], *([" → ", both[1]] if repaired else [])))
        name = tag("span", _named(summary, size), class_=f"name {style(g)}")
        rows.append(tag("tr", tag("th", name, scope="row"), tag("td", count(size["rows"])), cells))
    return _who_table(head, rows, "who tight")


def _named(summary: Numbers, size: Numbers) -> str:
    """Name a group, as far as a line has room, and say if it is small."""
    group = str(size["group"])
    name = short(group, _LONGEST)
    return say("few_rows", text=name) if group in summary["data"]["small_groups"] else name


def _rates(size: Numbers, choice: Numbers, g: int, place: int, k: int, repaired: bool) -> list[list[Any]]:
    """Write rate and count above the line, before and after."""
    people = size[("positives", "negatives")[k]]
    was, enter, leave = (choice[name][g][k] for name in ("above", "enter", "leave"))
    shown = []
    for name, value in (("before", was), ("now", was + enter - leave))[: 1 + repaired]:
        at = f"{name} {2 * place + k}"
        shown.append(
            [tag("b", rate(value, people), data_rate=at), " ", tag("span", count(value), class_="soft", data_who=at)]
        )
    return shown


def _who_table(head: Sequence[str], rows: Sequence[Markup], kind: str = "who") -> Markup:
    top = tag("tr", [tag("th", name, scope="col", class_=None if i else "text") for i, name in enumerate(head)])
    return tag("table", tag("thead", top), tag("tbody", rows), class_=kind, aria_labelledby="above-title")


def _price(summary: Numbers, live: Live) -> Markup:
    before, changes = summary["before"], summary["changes"]
    alpha = summary["finding"]["alpha"]
    chosen = summary["dial"]["settings"][summary["dial"]["chosen"]]
    known = None if changes is None or changes["auc"]["reason"] is not None else changes["auc"]

    def sure(numbers: Numbers) -> str:
        if numbers is not chosen or known is None or known["low"] is None:
            change = signed(_difference(numbers["auc"], before["auc"]))
            return TEXT["cost_same"] if change == signed(0.0) else f" ({change})"
        fields = {name: signed(known[name]) for name in ("change", "low", "high")}
        return TEXT["cost_same"] if set(fields.values()) == {signed(0.0)} else say("cost_change", **fields)

    lines = [
        tag("p", say("cost_auc", before=number(before["auc"])), tag("b", live(lambda n: number(n["auc"]))), live(sure))
    ]
    if alpha is not None:
        inside = told(summary, before)["auc"]
        text = say("cost_auc_top", alpha=top_of(summary), before=number(inside))
        lines.insert(0, tag("p", text, tag("b", live(lambda n: number(told(summary, n)["auc"])))))
    lines.append(tag("p", live(lambda n: _calibration(summary, n))))
    if len(listed(summary)) <= FEW:
        lines.append(tag("p", say("cost_auc_means", outcome=summary["data"]["outcome"]), class_="note"))
    return _panel("cost", TEXT["panel_cost"], lines)


def _difference(one: float | None, other: float | None) -> float | None:
    return None if one is None or other is None else one - other


def _calibration(summary: Numbers, numbers: Numbers) -> str:
    """Say what becomes of calibration, the groups that lose most first."""
    if summary["before"]["calibration"] is None:
        return TEXT["cost_no_probabilities"]
    key = "expected_calibration_error"
    known, small = [], summary["data"]["small_groups"]
    for was, now in zip(summary["before"]["groups"], numbers["groups"]):
        if was["calibration"] is not None and (was["group"] not in small or len(small) == len(numbers["groups"])):
            after = None if now["calibration"] is None else now["calibration"][key]
            known.append((was["group"], was["calibration"][key], after))
    known.sort(key=lambda each: each[1] - (each[2] if each[2] is not None else 1.0))
    if len(known) > _FEW_ERRORS and numbers is not summary["before"]:
        group, was, now = known[0]
        rises = number(now) != number(was) and (now is None or now > was)
        worst = say("cost_calibration_group", group=short(group, 20), before=number(was), after=number(now))
        return say("cost_calibration_most", group=worst) if rises else TEXT["cost_calibration_none"]
    said = [
        say(
            "cost_calibration_same" if number(was) == number(now) else "cost_calibration_group",
            group=short(group, 24),
            before=number(was),
            after=number(now),
        )
        for group, was, now in known[:_FEW_ERRORS]
    ]
    return say("cost_calibration", groups=", ".join(said)) if said else ""


def _quality(summary: Numbers) -> Markup:
    before = summary["before"]
    interval = (before["intervals"] or {}).get("auc")
    limits = "" if interval is None else say("cost_interval", low=number(interval[0]), high=number(interval[1]))
    auc = tag("p", tag("b", say("cost_auc_only", auc=number(before["auc"]))), limits)
    means = tag("p", say("cost_auc_means", outcome=summary["data"]["outcome"]), class_="note")
    return _panel("cost", TEXT["panel_quality"], auc, tag("p", _calibration(summary, before)), means)


def _dial(summary: Numbers, live: Live) -> Markup:
    """Make the control that everything follows, with the rule that set it."""
    dial = summary["dial"]
    settings = dial["settings"]
    best = min(range(len(settings)), key=lambda i: _gap_to_close(summary, settings[i]))
    buttons = [
        tag("button", TEXT[key], type="button", data_go=place)
        for key, place in (("to_before", 0), ("to_best", best), ("to_chosen", dial["chosen"]))
        if len(settings) > 2 or key != "to_best"
    ]
    rule = tag("span", say("rule", rule=words.rule(summary)), class_="soft")
    setting = live(lambda n: words.dial_setting(summary, _place(settings, n)), "setting")
    said = live(lambda n: words.live_line(summary, n), "live")
    return _panel(
        "turn",
        [TEXT["panel_dial"], " ", rule],
        tag(
            "div",
            slider(summary, "dial"),
            tag("div", buttons, class_="buttons"),
            class_="turn",
            hidden=True,
            data_script=True,
        ),
        tag("p", tag("b", setting), class_="setting"),
        tag("output", said, for_="dial", class_="live", aria_live="polite"),
    )


def slider(summary: Numbers, name: str) -> Markup:
    """Make a slider over the settings; there may be several, which move together."""
    dial = summary["dial"]
    return tag(
        "input",
        type="range",
        id=name,
        min=0,
        max=len(dial["settings"]) - 1,
        step=1,
        value=dial["chosen"],
        aria_label=TEXT["dial_label"],
        aria_valuetext=words.dial_setting(summary, dial["chosen"]),
        autocomplete="off",
        data_dial=True,
    )


def _gap_to_close(summary: Numbers, numbers: Numbers) -> float:
    gap = told(summary, numbers)["gap"]
    return float("inf") if gap is None else abs(gap)


def _place(settings: Sequence[Numbers], numbers: Numbers) -> int:
    return next(i for i, each in enumerate(settings) if each is numbers)


def _care(summary: Numbers) -> Markup | None:
    """List what to read with care, a line a group, the first few open."""
    said = words.warnings(summary)
    if not said:
        return None
    shown, more = ([tag("li", text) for text in part] for part in (said[:_WARNINGS], said[_WARNINGS:]))
    rest = tag("details", tag("summary", say("warnings_more", left=len(more))), tag("ul", more)) if more else None
    return tag("div", tag("h3", TEXT["warnings"]), tag("ul", shown), rest, class_="warnings")


def _card(summary: Numbers) -> Markup | None:
    """Show the model card as its owner wrote it."""
    if summary["card"] is None:
        return None
    items = [(tag("dt", name), tag("dd", "; ".join(lines))) for name, lines in card_lines(summary)]
    return tag("div", tag("h3", TEXT["card"]), tag("dl", items, class_="facts"), class_="card")


def card_lines(summary: Numbers) -> list[tuple[str, list[str]]]:
    """Give what a card says, under names for people."""
    return [(TEXT.get(f"card_{name}", name.replace("_", " ")), lines) for name, lines in summary["card"].items()]
