"""The figures of a report: SVG as it stands at the reported setting, and where its lines go at the others."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from fairpot.auditing.queue import LABELS, SMALLEST_BAND
from fairpot.display.display import COLOURS, LINES
from fairpot.report.measure import Measured, Setting
from fairpot.report.svg import Frame, Markup, direct_labels, inside, line, steps, tag
from fairpot.report.text import TEXT
from fairpot.report.words import number, percent, points, say, score, told, top_of
from fairpot.tradeoff.curve import pareto_mask
from fairpot.transport import Floats

Numbers = Mapping[str, Any]
Tell = Callable[[Numbers], str]


@dataclass(frozen=True)
class Figure:
    """A picture: ``moving`` has, by the name of a line, its places at each setting, for the page's script.

    ``title`` and ``alt`` say what is to be seen at a setting, in one line and for those who do not see it. A picture
    has one panel, or one for each group, with the group's place and name.
    """

    name: str
    title: Tell
    alt: Tell
    note: str
    panels: list[tuple[int, str, Markup]]
    moving: dict[str, Any] = field(default_factory=dict)
    frame: Frame | None = None
    axes: tuple[str, str] = ("", "")


def style(place: int) -> str:
    """Name the colour and the dashes of the group at one place, the same as in :mod:`fairpot.display`."""
    return f"c{place % len(COLOURS)} d{place % len(LINES)}"


def colour(place: int) -> str:
    """Name the colour of the group at one place, where it has a panel of its own and needs no dashes."""
    return f"c{place % len(COLOURS)}"


def make_figures(found: Measured, summary: Numbers) -> dict[str, Figure]:
    """Draw all figures that there are numbers for."""
    made = [_scores(found, summary), _roc(found, summary), _calibration(found, summary)]
    if summary["method"] is not None:
        made += [_tradeoff(found, summary), _map(found, summary)]
    return {figure.name: figure for figure in made if figure is not None}


def _tradeoff(found: Measured, summary: Numbers) -> Figure | None:
    curve = summary["curve"]
    if curve is None:
        return None
    signed = len(found.groups) == 2
    turn = -1.0 if signed and curve["reference"] != summary["pair"]["higher"] else 1.0
    gap = 100 * np.array(curve["signed_gap" if signed else "gap"]) * (turn if signed else 1.0)
    auc = np.array(curve["auc"])
    at = [_point(summary, place, signed) for place in range(len(found.settings))]
    xs, ys = (np.array([p[k] for p in at], dtype=np.float64) for k in (0, 1))
    pareto = np.array(curve["pareto"])
    # The method's own curve looks at small groups too, which carry no headline, and at the top where it was fitted.
    if not signed or summary["before"]["top"] is not None:
        gap, auc, pareto = xs, ys, pareto_mask(np.nan_to_num(xs, nan=np.inf), np.nan_to_num(ys, nan=-np.inf))
    band = summary["band"] or {"low": [], "high": []}
    frame = Frame.around(
        [*gap, *xs, 0.0, *(100 * np.array([*band["low"], *band["high"]]))], [*auc, *ys, *_near_limit(summary, ys)]
    )
    chosen = found.dial.chosen
    best = np.flatnonzero(pareto)
    best = best[np.unique(np.linspace(0, len(best) - 1, min(len(best), 24)).round().astype(np.intp))]
    cx, cy = frame.across(xs), frame.up(ys)
    names = (_axis("axis_gap" if signed else "axis_gap_plain", summary), TEXT["axis_auc"])
    marks = [
        (cx[0], cy[0], TEXT["mark_original"]),
        *([(cx[chosen], cy[chosen], TEXT["mark_reported"])] if chosen else []),
    ]
    body = [
        frame.axes(*names),
        inside(
            _aim(frame, summary, signed),
            tag("path", d=line(frame.across([0, 0]), frame.up(frame.y)), class_="zero"),
            _band(frame, summary, ys),
            _limit(frame, summary, signed),
            tag("path", d=line(frame.across(gap), frame.up(auc)), class_="curve"),
            [
                tag("circle", cx=x, cy=y, r=6, class_="best")
                for x, y in zip(frame.across(gap[best]), frame.up(auc[best]))
            ],
            tag("rect", x=cx[0] - 9, y=cy[0] - 9, width=18, height=18, class_="start"),
            tag("path", d=_star(cx[chosen], cy[chosen]), class_="chosen"),
            tag("circle", cx=cx[chosen], cy=cy[chosen], r=11, class_="here", data_mark="tradeoff"),
        ),
        direct_labels(marks),
    ]
    return Figure(
        "tradeoff",
        lambda n: tradeoff_title(summary, n),
        lambda n: _tradeoff_alt(summary, n),
        _tradeoff_note(summary, signed),
        [(-1, "", Markup("".join(_flat(body))))],
        {"tradeoff": {"cx": cx.tolist(), "cy": cy.tolist()}},
    )


def _flat(parts: Sequence[Any]) -> list[str]:
    """Take lists of markup apart."""
    return [each for part in parts for each in ([part] if isinstance(part, str) else _flat(part))]


def tradeoff_title(summary: Numbers, numbers: Numbers) -> str:
    """Say what the gap of a setting costs."""
    was, now = (told(summary, each)["gap"] for each in (summary["before"], numbers))
    first, later = summary["before"]["auc"], numbers["auc"]
    if now is None or was is None or later is None:
        return TEXT["fig_tradeoff"]
    fields = {"before": points(was), "after": points(now), "auc": number(abs(later - first))}
    if fields["before"] == fields["after"]:
        return say("fig_tradeoff_none", **fields)
    return say("fig_tradeoff_costs" if later <= first else "fig_tradeoff_gains", **fields)


def _tradeoff_note(summary: Numbers, signed: bool) -> str:
    note = TEXT["fig_tradeoff_note"] + _limit_note(summary["limit"])
    if summary["before"]["top"] is not None:
        note += " " + say("fig_top_note", alpha=top_of(summary))
    note += " " + TEXT["fig_band_note"] if summary["band"] else ""
    return note + ("" if signed else " " + TEXT["fig_many_note"])


def _axis(name: str, summary: Numbers) -> str:
    """Name an axis, with the part of the ranking that its numbers are those of."""
    words = say(name, **summary["pair"])
    if summary["before"]["top"] is None:
        return words
    return say("axis_top", name=words, alpha=top_of(summary))


def _point(summary: Numbers, place: int, signed: bool) -> tuple[float, float]:
    """Give gap, in points, and AUC of one setting: the gap of the top, if the report is about one."""
    numbers = summary["dial"]["settings"][place]
    gap = told(summary, numbers)["signed_gap" if signed else "gap"]
    return (np.nan, np.nan) if gap is None else (100 * gap, numbers["auc"])


def _tradeoff_alt(summary: Numbers, numbers: Numbers) -> str:
    was, now = (told(summary, each)["gap"] for each in (summary["before"], numbers))
    names = {"gap_before": points(was), "auc_before": number(summary["before"]["auc"])}
    return say("fig_tradeoff_alt", **names, gap_after=points(now), auc_after=number(numbers["auc"]))


def _aim(frame: Frame, summary: Numbers, signed: bool) -> Markup | None:
    """Shade the gaps that the rule accepts."""
    aim = summary["method"]["aim"]
    if aim is None:
        return None
    left, right = frame.across([max(-100 * aim if signed else 0.0, frame.x[0]), min(100 * aim, frame.x[1])])
    bottom, top = frame.up(frame.y)
    return tag("rect", x=left, y=top, width=max(right - left, 1), height=bottom - top, class_="aim")


def _limit(frame: Frame, summary: Numbers, signed: bool) -> list[Markup] | None:
    """Draw what is within reach, and fainter the limit; the limit alone where the other is not known."""
    limit = summary["limit"]
    if limit is None:
        return None
    if not signed:
        return [_dashed(frame, limit["signed_gap"], limit[name], dim) for name, dim in (("auc", 1.0), ("low", 0.4))]
    known = limit["reachable"] is not None
    lines = [(limit["auc"], 0.4 if known else 1.0)] + ([(limit["reachable"], 1.0)] if known else [])
    return [_dashed(frame, limit["signed_gap"], aucs, opacity) for aucs, opacity in lines]


def _dashed(frame: Frame, gaps: list[float], aucs: list[float], opacity: float) -> Markup:
    gap, auc = 100 * np.array(gaps), np.array(aucs)
    seen = (gap >= frame.x[0]) & (gap <= frame.x[1]) & (auc >= frame.y[0]) & (auc <= frame.y[1])
    faint = {} if opacity == 1 else {"opacity": opacity}
    return tag("path", d=line(frame.across(gap[seen]), frame.up(auc[seen])), class_="limit", **faint)


def _limit_note(limit: Numbers | None) -> str:
    if limit is None:
        return ""
    if "low" in limit:
        return " " + TEXT["fig_bracket_note"]
    if limit["reachable"] is None:
        return " " + say("fig_limit_note_only", reason=limit["reason"])
    chance = max(high - low for high, low in zip(limit["auc"], limit["reachable"]))
    return " " + say("fig_limit_note", chance=number(chance))


def _band(frame: Frame, summary: Numbers, aucs: Floats) -> Markup | None:
    """Shade the interval of the gap at each setting, drawn at the setting's AUC."""
    if summary["band"] is None:
        return None
    low, high = (frame.across(100 * np.array(summary["band"][end])) for end in ("low", "high"))
    corners = np.column_stack((low, high, frame.up(aucs))).tolist()
    # All pieces turn the same way round, so that none is cut out of another where AUC goes back and forth.
    ordered = [sorted(two, key=lambda corner: corner[2]) for two in itertools.pairwise(corners)]
    pieces = [f"M{a[0]} {a[2]}H{a[1]}L{b[1]} {b[2]}H{b[0]}Z" for a, b in ordered]
    return tag("path", d="".join(pieces), class_="band")


def _near_limit(summary: Numbers, aucs: Floats) -> list[float]:
    """Make room for the limit, unless the curve would be squeezed by it."""
    if summary["limit"] is None or not np.isfinite(aucs).any():
        return []
    low, high = float(np.nanmin(aucs)), float(np.nanmax(aucs))
    lines = [*summary["limit"]["auc"], *(summary["limit"]["reachable"] or [])]
    return [a for a in lines if low - (high - low) <= a <= high + (high - low)]


def _star(x: int, y: int, size: float = 17.0) -> str:
    turns = np.pi * (np.arange(10) / 5 - 0.5)
    reach = np.where(np.arange(10) % 2 == 0, size, 0.42 * size)
    corners = np.column_stack((x + reach * np.cos(turns), y + reach * np.sin(turns))).round(1)
    return "M" + "L".join(f"{a:g} {b:g}" for a, b in corners) + "Z"


def _scores(found: Measured, summary: Numbers) -> Figure:
    """Draw the scores of each group in a panel of its own: those with the outcome upwards, those without downwards."""
    shares = [setting.histogram for setting in found.settings]
    top = max((float(s[np.isfinite(s)].max(initial=0.0)) for s in shares), default=0.0)
    frame = Frame((float(found.edges[0]), float(found.edges[-1])), (-1.08 * top or -1.0, 1.08 * top or 1.0))
    edges, base = frame.across(found.edges).tolist(), int(frame.up([0.0])[0])
    moving: dict[str, Any] = {}
    panels = []
    for i, g in enumerate(found.drawn):
        parts = [tag("path", d=line(edges[:: len(edges) - 1], [base, base]), class_="zero")]
        for k, (label, sign) in enumerate(zip(LABELS, (1.0, -1.0))):
            if np.isnan(shares[0][i, k]).any():
                continue
            places = [frame.up(sign * s[i, k]).tolist() for s in shares]
            name, filled = f"{label}-{i}", "filled" if sign > 0 else "hollow"
            parts.append(tag("path", d=steps(edges, places[0], base), class_=f"was {filled} {colour(g)}"))
            now = steps(edges, places[found.dial.chosen], base)
            parts.append(tag("path", d=now, class_=f"now {colour(g)}", data_path=name, data_name=TEXT[_SIDES[k]]))
            if any(p != places[0] for p in places):
                moving[name] = {"edges": edges, "base": base, "tops": places}
        panels.append((g, str(found.groups[g]), Markup("".join((*frame.axes("", "", share=True), inside(parts))))))
    notes = [TEXT["fig_scores_note_repair" if summary["method"] is not None else "fig_scores_note"]]
    notes += [say("fig_few_note", least=SMALLEST_BAND)] if np.isnan(shares[0]).any() else []
    axes = (TEXT["axis_score"], TEXT["axis_share"])
    settings = summary["dial"]["settings"]

    def title(numbers: Numbers) -> str:
        return _scores_title(found, _place(settings, numbers))

    def alt(numbers: Numbers) -> str:
        return say("fig_scores_alt", means=_means(found, _place(settings, numbers)))

    return Figure("scores", title, alt, " ".join(notes), panels, moving, frame, axes)


_SIDES = ("with", "without")


def _place(settings: Sequence[Numbers], numbers: Numbers) -> int:
    return next(i for i, each in enumerate(settings) if each is numbers)


def _scores_title(found: Measured, place: int) -> str:
    """Compare the mean scores of the two groups that the report speaks of."""
    shown = found.drawn.index(found.pair[0]), found.drawn.index(found.pair[1])
    means = [_mean(found, place, i, 0) for i in shown]
    names = {"first": found.groups[found.pair[0]], "second": found.groups[found.pair[1]]}
    if None in means:
        return TEXT["fig_scores"]
    return say("fig_scores_means", **names, one=score(means[0]), other=score(means[1]))


def _mean(found: Measured, place: int, i: int, k: int) -> float | None:
    middles = (found.edges[1:] + found.edges[:-1]) / 2
    shares = found.settings[place].histogram[i, k]
    return None if np.isnan(shares).any() else float(np.dot(shares, middles))


def _means(found: Measured, place: int) -> str:
    """Tell the mean score of each group and outcome, before and at a setting."""
    said = []
    for i, g in enumerate(found.drawn):
        for k, label in enumerate(_SIDES):
            was, now = (score(_mean(found, at, i, k)) for at in (0, place))
            key = "fig_mean" if was != now else "fig_mean_only"
            said.append(say(key, group=found.groups[g], label=TEXT[label], before=was, after=now))
    return " ".join(said)


def _map(found: Measured, summary: Numbers) -> Figure:
    values = [setting.mapped for setting in found.settings]
    ends = [found.grid, *(v.ravel() for v in values)]
    frame = Frame.around(found.grid, np.concatenate(ends), margin=0.02)
    xs = frame.across(found.grid).tolist()
    moving: dict[str, Any] = {}
    parts = [tag("path", d=line(xs, frame.up(found.grid)), class_="zero")]
    labels = []
    for i, g in enumerate(found.drawn):
        parts.append(tag("path", d=_hills(found, frame, i), class_=f"was {style(g)}"))
        places = [frame.up(v[i]).tolist() for v in values]
        if all(p == places[0] for p in places):
            continue
        name, now = str(found.groups[g]), places[found.dial.chosen]
        moving[f"map-{i}"] = {"x": xs, "y": places}
        parts.append(tag("path", d=line(xs, now), class_=f"now {style(g)}", data_path=f"map-{i}", data_name=name))
        far = int(np.argmax(np.abs(np.array(now) - frame.up(found.grid))))
        labels.append((xs[far], now[far], name, style(g)))
    names = (TEXT["axis_before"], TEXT["axis_after"])
    body = Markup("".join((*frame.axes(*names), inside(parts), direct_labels(labels))))
    return Figure("map", _map_title, _map_title, TEXT["fig_map_note"], [(-1, "", body)], moving, frame, names)


def _map_title(numbers: Numbers) -> str:
    """Name the largest change of a score, and whose it is."""
    far = max(numbers["groups"], key=lambda each: abs(each["largest_shift"] or 0.0))
    if not far["largest_shift"]:
        return TEXT["fig_map_none"]
    return say("fig_map", largest=score(abs(far["largest_shift"])), group=far["group"])


def _hills(found: Measured, frame: Frame, i: int) -> str:
    """Show along the floor where the people of a group are."""
    first: Setting = found.settings[0]
    counts = found.people.counts[found.drawn[i]]
    rows = np.array([counts.positive.sum(), counts.negative.sum()], dtype=np.float64)
    known = np.nan_to_num(first.histogram)
    share = rows @ known[i] / rows.sum()
    top = max(float(known.max()), 1e-300)
    height = 0.3 * (frame.y[1] - frame.y[0])
    tops = frame.up(frame.y[0] + height * share / top).tolist()
    return steps(frame.across(found.edges).tolist(), tops, int(frame.up([frame.y[0]])[0]))


def _roc(found: Measured, summary: Numbers) -> Figure | None:
    """Draw both cross-group curves with their steps, from corner to corner."""
    values = [setting.roc for setting in found.settings]
    if not all(len(x) for x, _ in values[0]):
        return None
    frame = Frame((0.0, 1.0), (0.0, 1.0))
    moving: dict[str, Any] = {}
    parts = [tag("path", d=line(frame.across([0, 1]), frame.up([0, 1])), class_="zero")]
    labels = []
    names = [str(found.groups[g]) for g in found.pair]
    for i in (0, 1):
        look = style(found.pair[i])
        places = [(frame.across(v[i][0]).tolist(), frame.up(v[i][1]).tolist()) for v in values]
        if any(p != places[0] for p in places):
            parts.append(tag("path", d=line(*places[0]), class_=f"faint {look}"))
            moving[f"roc-{i}"] = {"xs": [p[0] for p in places], "y": [p[1] for p in places]}
        now = places[found.dial.chosen]
        name = say("over", first=names[i], second=names[1 - i])
        parts.append(tag("path", d=line(*now), class_=f"now {look}", data_path=f"roc-{i}", data_name=name))
        middle = int(
            np.searchsorted(
                np.array(now[0]) - np.array(now[1]), np.mean([now[0][0] - now[1][0], now[0][-1] - now[1][-1]])
            )
        )
        middle = min(middle, len(now[0]) - 1)
        labels.append((now[0][middle] + 8, now[1][middle] + 26 * (1 + i), name, look))
    axes = (TEXT["axis_false"], TEXT["axis_true"])
    body = Markup("".join((*frame.axes(*axes), inside(parts), direct_labels(labels))))

    def title(numbers: Numbers) -> str:
        areas = {name: percent(numbers[name]) for name in ("xauc_higher", "xauc_lower")}
        return say("fig_roc", **summary["pair"], **areas)

    return Figure("roc", title, title, TEXT["fig_roc_note"], [(-1, "", body)], moving, frame, axes)


def _calibration(found: Measured, summary: Numbers) -> Figure | None:
    """Draw the share with the outcome over the mean score, with intervals, a panel for each group."""
    if any(setting.reliability is None for setting in found.settings):
        return None
    values = [setting.reliability or [] for setting in found.settings]
    ends = np.concatenate([each[name] for v in values for each in v for name in ("mean_score", "rate_high")])
    high = min(1.04 * float(ends.max(initial=0.0)) or 1.0, 1.0)
    frame = Frame((0.0, high), (0.0, high))
    moving: dict[str, Any] = {}
    panels = []
    for i, g in enumerate(found.drawn):
        parts = [tag("path", d=line(frame.across(frame.x), frame.up(frame.y)), class_="zero")]
        places = [_pairs(frame, v[i]) for v in values]
        bars = [_bars(frame, v[i]) for v in values]
        chosen, look = found.dial.chosen, colour(g)
        if any(p != places[0] for p in places):
            parts.append(tag("path", d=line(*places[0]), class_=f"faint {look}"))
            moving[f"calibration-{i}"] = {"xs": [p[0] for p in places], "y": [p[1] for p in places]}
            moving[f"bars-{i}"] = {"d": bars}
        parts.append(tag("path", d=bars[chosen], class_=f"bars {look}", data_path=f"bars-{i}"))
        name = TEXT["axis_rate"]
        parts.append(
            tag("path", d=line(*places[chosen]), class_=f"now {look}", data_path=f"calibration-{i}", data_name=name)
        )
        panels.append((g, str(found.groups[g]), Markup("".join((*frame.axes("", ""), inside(parts))))))
    axes = (TEXT["axis_mean"], TEXT["axis_rate"])
    note = TEXT["fig_calibration_note" + ("_repair" if summary["method"] is not None else "")]
    return Figure("calibration", _calibration_title, _calibration_title, note, panels, moving, frame, axes)


def _calibration_title(numbers: Numbers) -> str:
    """Name the calibration error of the groups, the largest first."""
    known = [
        (g["calibration"]["expected_calibration_error"], g["group"]) for g in numbers["groups"] if g["calibration"]
    ]
    if not known:
        return TEXT["fig_calibration_none"]
    known.sort(key=lambda each: -each[0])
    listed = ", ".join(f"{group} {number(error)}" for error, group in known[:3])
    return say("fig_calibration", groups=listed + (", …" if len(known) > 3 else ""))


def _pairs(frame: Frame, each: Mapping[str, Floats]) -> tuple[list[int], list[int]]:
    return frame.across(each["mean_score"]).tolist(), frame.up(each["rate"]).tolist()


def _bars(frame: Frame, each: Mapping[str, Floats]) -> str:
    """Write the interval of each rate as an upright line."""
    x, low, high = frame.across(each["mean_score"]), frame.up(each["rate_low"]), frame.up(each["rate_high"])
    return "".join(f"M{a} {b}V{c}" for a, b, c in zip(x.tolist(), low.tolist(), high.tolist()))
