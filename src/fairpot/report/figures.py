"""The figures of a report: SVG as it stands at the reported setting, and where its lines go at the others."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from fairpot.report.measure import Measured, Setting
from fairpot.report.people import LABELS, SMALLEST_BAND
from fairpot.report.svg import Frame, Markup, figure_svg, inside, line, steps, tag
from fairpot.report.text import TEXT
from fairpot.report.words import number, percent, say, score, top_share
from fairpot.transport import Floats


@dataclass(frozen=True)
class Figure:
    """A picture: ``moving`` has, by the name of a line, its places at each setting, for the page's script."""

    name: str
    title: str
    note: str
    svg: Markup
    moving: dict[str, Any] = field(default_factory=dict)
    keys: list[tuple[str, str]] = field(default_factory=list)  # class of a line and what it stands for


def make_figures(found: Measured, summary: Mapping[str, Any]) -> dict[str, Figure]:
    """Draw all figures that there are numbers for."""
    made = [*(_distribution(found, summary, k) for k in (0, 1)), _roc(found, summary), _calibration(found, summary)]
    if summary["method"] is not None:
        made += [_tradeoff(found, summary), _map(found, summary)]
    return {figure.name: figure for figure in made if figure is not None}


def _keys(found: Measured) -> list[tuple[str, str]]:
    return [(f"g{i}", str(found.groups[g])) for i, g in enumerate(found.drawn)]


def _tradeoff(found: Measured, summary: Mapping[str, Any]) -> Figure | None:
    curve = summary["curve"]
    if curve is None:
        return None
    signed = len(found.groups) == 2
    turn = -1.0 if signed and curve["reference"] != summary["pair"]["ahead"] else 1.0
    gap = 100 * np.array(curve["signed_gap" if signed else "gap"]) * (turn if signed else 1.0)
    auc = np.array(curve["auc"])
    at = [_point(summary, place, signed) for place in range(len(found.settings))]
    xs, ys = (np.array([p[k] for p in at], dtype=np.float64) for k in (0, 1))
    band = summary["band"] or {"low": [], "high": []}
    frame = Frame.around(
        [*gap, *xs, 0.0, *(100 * np.array([*band["low"], *band["high"]]))], [*auc, *ys, *_near_limit(summary, ys)]
    )
    chosen = found.dial.chosen
    best = np.flatnonzero(curve["pareto"])
    best = best[np.unique(np.linspace(0, len(best) - 1, min(len(best), 24)).round().astype(np.intp))]
    cx, cy = frame.across(xs), frame.up(ys)
    svg = figure_svg(
        TEXT["fig_tradeoff"],
        _tradeoff_alt(summary, at),
        "tradeoff",
        frame.axes(*(_axis(name, summary) for name in ("axis_gap" if signed else "axis_gap_plain", "axis_auc"))),
        inside(
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
    )
    note = TEXT["fig_tradeoff_note"] + _limit_note(summary["limit"])
    if summary["before"]["top"] is not None:
        note += " " + say("fig_top_note", alpha=top_share(summary["method"]["alpha"]))
    note += " " + TEXT["fig_band_note"] if summary["band"] else ""
    note += "" if signed else " " + TEXT["fig_many_note"]
    return Figure("tradeoff", TEXT["fig_tradeoff"], note, svg, {"tradeoff": {"cx": cx.tolist(), "cy": cy.tolist()}})


def _axis(name: str, summary: Mapping[str, Any]) -> str:
    """Name an axis, with the part of the ranking that its numbers are those of."""
    words = say(name, **summary["pair"])
    if summary["before"]["top"] is None:
        return words
    return say("axis_top", name=words, alpha=top_share(summary["method"]["alpha"]))


def _point(summary: Mapping[str, Any], place: int, signed: bool) -> tuple[float, float]:
    """Give gap, in points, and AUC of one setting: inside the region, if the repair works on one."""
    numbers = summary["dial"]["settings"][place]
    within = numbers["top"] or numbers
    gap = within["signed_gap"] if signed else within["gap"]
    turn = -1.0 if signed and numbers["top"] and summary["curve"]["reference"] != summary["pair"]["ahead"] else 1.0
    return (np.nan, np.nan) if gap is None else (100 * turn * gap, within["auc"])


def _tradeoff_alt(summary: Mapping[str, Any], at: list[tuple[float, float]]) -> str:
    (gap, auc), (later, after) = at[0], at[summary["dial"]["chosen"]]
    names = {"gap_before": f"{gap:.1f}", "auc_before": number(auc), "gap_after": f"{later:.1f}"}
    return say("fig_tradeoff_alt", **names, auc_after=number(after))


def _limit(frame: Frame, summary: Mapping[str, Any], signed: bool) -> list[Markup] | None:
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


def _limit_note(limit: Mapping[str, Any] | None) -> str:
    if limit is None:
        return ""
    if "low" in limit:
        return " " + TEXT["fig_bracket_note"]
    if limit["reachable"] is None:
        return " " + say("fig_limit_note_only", reason=limit["reason"])
    chance = max(high - low for high, low in zip(limit["auc"], limit["reachable"]))
    return " " + say("fig_limit_note", chance=f"{chance:.4f}")


def _band(frame: Frame, summary: Mapping[str, Any], aucs: Floats) -> Markup | None:
    """Shade the interval of the gap at each setting, drawn at the setting's AUC."""
    if summary["band"] is None:
        return None
    low, high = (frame.across(100 * np.array(summary["band"][end])) for end in ("low", "high"))
    corners = np.column_stack((low, high, frame.up(aucs))).tolist()
    # All pieces turn the same way round, so that none is cut out of another where AUC goes back and forth.
    ordered = [sorted(two, key=lambda corner: corner[2]) for two in itertools.pairwise(corners)]
    pieces = [f"M{a[0]} {a[2]}H{a[1]}L{b[1]} {b[2]}H{b[0]}Z" for a, b in ordered]
    return tag("path", d="".join(pieces), class_="band")


def _near_limit(summary: Mapping[str, Any], aucs: Floats) -> list[float]:
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


def _distribution(found: Measured, summary: Mapping[str, Any], k: int) -> Figure:
    name = LABELS[k]
    shares = [setting.histogram[:, k] for setting in found.settings]
    top = max((float(s[np.isfinite(s)].max(initial=0.0)) for s in shares), default=0.0)
    frame = Frame((float(found.edges[0]), float(found.edges[-1])), (0.0, 1.08 * top or 1.0))
    edges, base = frame.across(found.edges).tolist(), int(frame.up([0.0])[0])
    moving: dict[str, Any] = {}
    parts = []
    for i in range(len(found.drawn)):
        if np.isnan(shares[0][i]).any():
            continue
        places = [frame.up(s[i]).tolist() for s in shares]
        parts.append(tag("path", d=steps(edges, places[0], base), class_=f"was g{i}"))
        now = steps(edges, places[found.dial.chosen], base)
        parts.append(tag("path", d=now, class_=f"now g{i}", data_path=f"{name}-{i}"))
        if any(p != places[0] for p in places):
            moving[f"{name}-{i}"] = {"edges": edges, "base": base, "tops": places}
    title = say(f"fig_{name}", outcome=summary["data"]["outcome"])
    alt = say("fig_distribution_alt", means=_means(found, k))
    axes = frame.axes(TEXT["axis_score"], TEXT["axis_share"], share=True)
    notes = [TEXT["fig_distribution_note"]] if summary["method"] is not None else []
    notes += [say("fig_few_note", least=SMALLEST_BAND)] if np.isnan(shares[0]).any() else []
    note = " ".join(notes)
    return Figure(name, title, note, figure_svg(title, alt, name, axes, inside(parts)), moving, _keys(found))


def _means(found: Measured, k: int) -> str:
    """Tell the mean score of each group, before and at the reported setting."""
    middles = (found.edges[1:] + found.edges[:-1]) / 2
    told = []
    for i, g in enumerate(found.drawn):
        shares = [found.settings[place].histogram[i, k] for place in (0, found.dial.chosen)]
        means = [score(None if np.isnan(s).any() else float(np.dot(s, middles))) for s in shares]
        key = "fig_mean" if means[0] != means[1] else "fig_mean_only"
        told.append(say(key, group=found.groups[g], before=means[0], after=means[1]))
    return " ".join(told)


def _map(found: Measured, summary: Mapping[str, Any]) -> Figure:
    values = [setting.mapped for setting in found.settings]
    ends = [found.grid, *(v.ravel() for v in values)]
    frame = Frame.around(found.grid, np.concatenate(ends), margin=0.02)
    xs = frame.across(found.grid).tolist()
    moving: dict[str, Any] = {}
    parts = [tag("path", d=line(xs, frame.up(found.grid)), class_="zero")]
    for i in range(len(found.drawn)):
        parts.append(tag("path", d=_hills(found, frame, i), class_=f"was g{i}"))
        places = [frame.up(v[i]).tolist() for v in values]
        if all(p == places[0] for p in places):
            continue
        moving[f"map-{i}"] = {"x": xs, "y": places}
        parts.append(tag("path", d=line(xs, places[found.dial.chosen]), class_=f"now g{i}", data_path=f"map-{i}"))
    axes = frame.axes(TEXT["axis_before"], TEXT["axis_after"])
    title = TEXT["fig_map"]
    svg = figure_svg(title, TEXT["fig_map_alt"], "map", axes, inside(parts))
    return Figure("map", title, TEXT["fig_map_note"], svg, moving, _keys(found))


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


def _roc(found: Measured, summary: Mapping[str, Any]) -> Figure | None:
    values = [setting.roc for setting in found.settings]
    if np.isnan(values[0]).any():
        return None
    frame = Frame((0.0, 1.0), (0.0, 1.0))
    grid = np.linspace(0, 1, values[0].shape[1])
    xs = frame.across(grid).tolist()
    moving: dict[str, Any] = {}
    keys: list[tuple[str, str]] = []
    parts = [tag("path", d=line(xs, frame.up(grid)), class_="zero")]
    names = [str(found.groups[g]) for g in found.pair]
    for i in (0, 1):
        style = f"g{found.drawn.index(found.pair[i])}"
        places = [frame.up(v[i]).tolist() for v in values]
        if any(p != places[0] for p in places):
            parts.append(tag("path", d=line(xs, places[0]), class_=f"faint {style}"))
            moving[f"roc-{i}"] = {"x": xs, "y": places}
        parts.append(tag("path", d=line(xs, places[found.dial.chosen]), class_=f"now {style}", data_path=f"roc-{i}"))
        keys.append((style, say("over", first=names[i], second=names[1 - i])))
    numbers = summary["after"] or summary["before"]
    areas = {name: percent(numbers[name]) for name in ("xauc_ahead", "xauc_behind")}
    alt = say("fig_roc_alt", **summary["pair"], **areas)
    axes = frame.axes(TEXT["axis_false"], TEXT["axis_true"])
    svg = figure_svg(TEXT["fig_roc"], alt, "roc", axes, inside(parts))
    return Figure("roc", TEXT["fig_roc"], TEXT["fig_roc_note"], svg, moving, keys)


def _calibration(found: Measured, summary: Mapping[str, Any]) -> Figure | None:
    if any(setting.reliability is None for setting in found.settings):
        return None
    values = [setting.reliability or [] for setting in found.settings]
    ends = np.concatenate([each[name] for v in values for each in v for name in ("mean_score", "rate")])
    high = 1.04 * float(ends.max(initial=0.0)) or 1.0
    frame = Frame((0.0, min(high, 1.0)), (0.0, min(high, 1.0)))
    moving: dict[str, Any] = {}
    parts = [tag("path", d=line(frame.across(frame.x), frame.up(frame.y)), class_="zero")]
    for i in range(len(found.drawn)):
        places = [_pairs(frame, v[i]) for v in values]
        parts.append(tag("path", d=line(*places[0]), class_=f"faint g{i}"))
        now = line(*places[found.dial.chosen])
        parts.append(tag("path", d=now, class_=f"now marked g{i}", data_path=f"calibration-{i}"))
        if any(p != places[0] for p in places):
            moving[f"calibration-{i}"] = {"xs": [p[0] for p in places], "y": [p[1] for p in places]}
    axes = frame.axes(TEXT["axis_mean"], TEXT["axis_rate"])
    title = TEXT["fig_calibration"]
    svg = figure_svg(title, TEXT["fig_calibration_alt"], "calibration", axes, inside(parts))
    return Figure("calibration", title, TEXT["fig_calibration_note"], svg, moving, _keys(found))


def _pairs(frame: Frame, each: Mapping[str, Floats]) -> tuple[list[int], list[int]]:
    return frame.across(each["mean_score"]).tolist(), frame.up(each["rate"]).tolist()
