"""The figures of a report: SVG as it stands at the reported setting, and where its lines go at the others."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from fairpot._svg import COLOURS, Frame, Markup, direct_labels, inside, join, line, short, steps, tag
from fairpot.display.axes import few
from fairpot.display.scores import LABELS
from fairpot.report.content import Report, Setting, Within
from fairpot.report.measure import Measured
from fairpot.report.people import FEWEST
from fairpot.tradeoff.curve import pareto_mask
from fairpot.transport import Floats
from fairpot.words import FRACTIONS
from fairpot.words import page as words
from fairpot.words.page import TEXT, percent, say, score

Tell = Callable[[int], str]  # what is said at a setting, by its place
_DASHES = 5  # kinds of lines


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
    return f"{colour(place)} d{place % _DASHES}"


def colour(place: int) -> str:
    """Name the colour of the group at one place, where it has a panel of its own and needs no dashes."""
    return f"c{place % len(COLOURS)}"


def make_figures(found: Measured, report: Report) -> dict[str, Figure]:
    """Draw all figures that there are numbers for."""
    made = [_scores(found, report), _roc(found, report), _calibration(found, report)]
    if report.method is not None:
        made += [_tradeoff(found, report), _map(found, report)]
    return {figure.name: figure for figure in made if figure is not None}


def told_gap(report: Report, setting: Setting) -> float | None:
    """Give the gap that a report turns on: of two groups with its sign, seen as before; else the largest."""
    if len(report.audit.ranking.groups) > 2:
        return setting.told.gap
    pair = report.audit.told.leading
    return None if pair is None else setting.told.pair(pair.first, pair.second).signed_gap


def _tradeoff(found: Measured, report: Report) -> Figure | None:
    curve, settings, leading = report.curve, report.dial.settings, report.audit.told.leading
    if curve is None or leading is None:
        return None
    signed = len(found.table.groups) == 2
    turn = -1.0 if signed and curve.reference != leading.first else 1.0
    gap = turn * np.array(curve.signed_gap if signed else curve.gap)
    auc, pareto = np.array(curve.auc), np.array(curve.pareto)
    at = [(told_gap(report, each), each.all.auc) for each in settings]
    xs, ys = (np.array([np.nan if None in p else p[k] for p in at], dtype=np.float64) for k in (0, 1))
    # The method's own curve looks at the top where it was fitted.
    if not signed or report.audit.told.top is not None:
        gap, auc, pareto = xs, ys, pareto_mask(np.nan_to_num(xs, nan=np.inf), np.nan_to_num(ys, nan=-np.inf))
    band = _limits_at(report) if signed else None
    ends = [] if band is None else band.ravel().tolist()
    frame = Frame.around([*gap, *xs, 0.0, *ends], [*auc, *ys, *_near_limit(report.limit, ys)])
    chosen = report.dial.chosen
    best = np.flatnonzero(pareto)
    best = best[few(len(best), 24)]
    front = zip(frame.across(gap[best]), frame.up(auc[best]))
    cx, cy = frame.across(xs), frame.up(ys)
    names = (_axis("gap" if signed else "overall gap", report), "AUC")
    marks = [(cx[0], cy[0], "original")]
    marks += [(cx[chosen], cy[chosen], "★ reported")] if chosen else []
    body = join(
        frame.axes(*names),
        inside(
            _aim(frame, report, signed),
            tag("path", d=line(frame.across([0, 0]), frame.up(frame.y)), class_="zero"),
            None if band is None else _band(frame, band, ys),
            _limit(frame, report.limit),
            tag("path", d=line(frame.across(gap), frame.up(auc)), class_="curve"),
            [tag("circle", cx=x, cy=y, r=6, class_="best") for x, y in front],
            tag("rect", x=cx[0] - 9, y=cy[0] - 9, width=18, height=18, class_="start"),
            tag("path", d=_star(cx[chosen], cy[chosen]), class_="chosen"),
            tag("circle", cx=cx[chosen], cy=cy[chosen], r=11, class_="here", data_mark="tradeoff"),
        ),
        direct_labels(marks),
    )
    return Figure(
        "tradeoff",
        lambda k: words.tradeoff_title(settings[0], settings[k]),
        lambda k: _tradeoff_alt(settings[0], settings[k]),
        _tradeoff_note(report, signed, band is not None),
        [(-1, "", body)],
        {"tradeoff": {"cx": cx.tolist(), "cy": cy.tolist()}},
    )


def _tradeoff_note(report: Report, signed: bool, band: bool) -> str:
    told = report.audit.told
    notes = [TEXT["tradeoff note"], *([] if report.limit is None else [TEXT["limit"]])]
    notes += [] if told.top is None else [say("top note", among=words.among_top(told))]
    notes += [TEXT["band note"]] if band else []
    return " ".join([*notes, *([] if signed else [TEXT["many note"]])])


def _axis(name: str, report: Report) -> str:
    """Name an axis, with the part of the ranking that its numbers are those of."""
    ranking = report.audit.told
    told = name if ranking.top is None else f"{name}, {words.among_top(ranking)}"
    higher = "" if ranking.leading is None else short(ranking.leading.first, 16)
    return f"{told}\nabove 0: {higher} ranked higher" if len(report.audit.ranking.groups) == 2 else told


def _tradeoff_alt(before: Setting, now: Setting) -> str:
    names = {"gap_before": FRACTIONS.gap(before.told.gap), "auc_before": FRACTIONS.auc(before.all.auc)}
    return say("tradeoff alt", **names, gap_after=FRACTIONS.gap(now.told.gap), auc_after=FRACTIONS.auc(now.all.auc))


def _aim(frame: Frame, report: Report, signed: bool) -> Markup | None:
    """Shade the gaps that the rule accepts."""
    aim = None if report.method is None else report.method.aim
    if aim is None:
        return None
    left, right = frame.across([max(-aim if signed else 0.0, frame.x[0]), min(aim, frame.x[1])])
    bottom, top = frame.up(frame.y)
    return tag("rect", x=left, y=top, width=max(right - left, 1), height=bottom - top, class_="aim")


def _limit(frame: Frame, limit: Within | None) -> list[Markup]:
    """Draw the limit."""
    if limit is None:
        return []
    gap, auc = np.array(limit.gap), np.array(limit.auc)
    seen = (gap >= frame.x[0]) & (gap <= frame.x[1]) & (auc >= frame.y[0]) & (auc <= frame.y[1])
    return [tag("path", d=line(frame.across(gap[seen]), frame.up(auc[seen])), class_="limit")]


def _limits_at(report: Report) -> Floats | None:
    """Give the limits of the gap of two groups at each setting; None where one has none, or in a top."""
    gaps = [told_gap(report, each) for each in report.dial.settings]
    unknown = any(getattr(g, "low", np.nan) != getattr(g, "low", 0.0) for g in gaps)
    if report.audit.told.top is not None or len(gaps) < 3 or unknown:
        return None
    return np.array([[g.low, g.high] for g in gaps])  # type: ignore[union-attr]


def _band(frame: Frame, limits: Floats, aucs: Floats) -> Markup:
    corners = np.column_stack((*frame.across(limits).T, frame.up(aucs))).tolist()
    # All pieces turn the same way round, so that none is cut out of another where AUC goes back and forth.
    ordered = [sorted(two, key=lambda corner: corner[2]) for two in itertools.pairwise(corners)]
    pieces = [f"M{a[0]} {a[2]}H{a[1]}L{b[1]} {b[2]}H{b[0]}Z" for a, b in ordered]
    return tag("path", d="".join(pieces), class_="band")


def _near_limit(limit: Within | None, aucs: Floats) -> list[float]:
    """Make room for the limit, unless the curve would be squeezed by it."""
    if limit is None or not np.isfinite(aucs).any():
        return []
    low, high = float(np.nanmin(aucs)), float(np.nanmax(aucs))
    return [a for a in limit.auc if low - (high - low) <= a <= high + (high - low)]


def _star(x: int, y: int) -> str:
    turns = np.pi * (np.arange(10) / 5 - 0.5)
    reach = np.where(np.arange(10) % 2 == 0, 17.0, 0.42 * 17.0)
    corners = np.column_stack((x + reach * np.cos(turns), y + reach * np.sin(turns))).round(1)
    return "M" + "L".join(f"{a:g} {b:g}" for a, b in corners) + "Z"


def _scores(found: Measured, report: Report) -> Figure:
    """Draw the scores of each group in a panel of its own: those with the outcome upwards, those without downwards."""
    shares, groups = [each.histogram for each in found.pictures], report.audit.ranking.groups
    top = max((float(s[np.isfinite(s)].max(initial=0.0)) for s in shares), default=0.0)
    frame = Frame((float(found.edges[0]), float(found.edges[-1])), (-1.08 * top or -1.0, 1.08 * top or 1.0))
    axes = ("score", "share of rows")
    edges, base = frame.across(found.edges).tolist(), int(frame.up([0.0])[0])
    moving: dict[str, Any] = {}
    panels = []
    for i, g in enumerate(found.drawn):
        parts, few = [tag("path", d=line(edges[:: len(edges) - 1], [base, base]), class_="zero")], []
        for k, (label, sign) in enumerate(zip(LABELS, (1.0, -1.0))):
            if np.isnan(shares[0][i, k]).any():
                few.append((edges[0], base - int(sign * 60), f"{_SIDES[k]}: too few to draw"))
                continue
            places = [frame.up(sign * s[i, k]).tolist() for s in shares]
            name, filled = f"{label}-{i}", "filled" if sign > 0 else "hollow"
            parts.append(tag("path", d=steps(edges, places[0], base), class_=f"was {filled} {colour(g)}"))
            now = steps(edges, places[found.dial.chosen], base)
            parts.append(tag("path", d=now, class_=f"now {colour(g)}", data_path=name, data_name=_SIDES[k]))
            if any(p != places[0] for p in places):
                moving[name] = {"edges": edges, "base": base, "tops": places}
        body = join(frame.axes(*axes, share=True), inside(parts), direct_labels(few) if few else None)
        panels.append((g, str(groups[g].group), body))
    notes = [TEXT["scores note"], *([TEXT["scores note repair"]] if report.method is not None else [])]
    notes += [say("few note", least=FEWEST)] if np.isnan(shares[0]).any() else []

    def alt(place: int) -> str:
        return f"Histograms of scores by group. {_means(found, report, place)}"

    return Figure(
        "scores", lambda k: _scores_title(found, report, k), alt, " ".join(notes), panels, moving, frame, axes
    )


_SIDES = ("with the outcome", "without it")


def _scores_title(found: Measured, report: Report, place: int) -> str:
    """Compare the mean scores of the two groups that the report speaks of."""
    means = [_mean(found, place, found.drawn.index(g), 0) for g in found.pair]
    if None in means:
        return "Scores by group and outcome"
    first, second = (report.audit.ranking.groups[g].group for g in found.pair)
    return say("scores means", first=first, second=second, one=score(means[0]), other=score(means[1]))


def _mean(found: Measured, place: int, i: int, k: int) -> float | None:
    middles = (found.edges[1:] + found.edges[:-1]) / 2
    shares = found.pictures[place].histogram[i, k]
    return None if np.isnan(shares).any() else float(np.dot(shares, middles))


def _means(found: Measured, report: Report, place: int) -> str:
    said = []
    for i, g in enumerate(found.drawn):
        for k, label in enumerate(_SIDES):
            was, now = (score(_mean(found, at, i, k)) for at in (0, place))
            group = report.audit.ranking.groups[g].group
            said.append(say("mean" if was != now else "mean only", group=group, label=label, before=was, after=now))
    return " ".join(said)


def _map(found: Measured, report: Report) -> Figure:
    values = [each.mapped for each in found.pictures]
    frame = Frame.around(found.grid, np.concatenate([found.grid, *(v.ravel() for v in values)]), margin=0.02)
    xs = frame.across(found.grid).tolist()
    moving: dict[str, Any] = {}
    parts = [tag("path", d=line(xs, frame.up(found.grid)), class_="zero")]
    labels = []
    for i, g in enumerate(found.drawn):
        places = [frame.up(v[i]).tolist() for v in values]
        if all(p == places[0] for p in places):
            continue
        name, now = str(report.audit.ranking.groups[g].group), places[found.dial.chosen]
        moving[f"map-{i}"] = {"x": xs, "y": places}
        parts.append(tag("path", d=line(xs, now), class_=f"now {style(g)}", data_path=f"map-{i}", data_name=name))
        far = int(np.argmax(np.abs(np.array(now) - frame.up(found.grid))))
        labels.append((xs[far], now[far], name, style(g)))
    names = ("score before", "score after")
    body = join(frame.axes(*names), inside(parts), direct_labels(labels))

    def title(place: int) -> str:
        far = max(report.dial.settings[place].groups, key=lambda each: each.moved.largest_shift)
        if not far.moved.largest_shift:
            return "No score changes"
        return say("map", largest=score(far.moved.largest_shift), group=far.group)

    return Figure("map", title, title, TEXT["map note"], [(-1, "", body)], moving, frame, names)


def _roc(found: Measured, report: Report) -> Figure | None:
    """Draw both cross-group curves with their steps, from corner to corner."""
    values = [each.roc for each in found.pictures]
    if not all(len(x) for x, _ in values[0]):
        return None
    frame = Frame((0.0, 1.0), (0.0, 1.0))
    moving: dict[str, Any] = {}
    parts = [tag("path", d=line(frame.across([0, 1]), frame.up([0, 1])), class_="zero")]
    labels = []
    names = [report.audit.ranking.groups[g].group for g in found.pair]
    for i in (0, 1):
        look = style(found.pair[i])
        places = [(frame.across(v[i][0]).tolist(), frame.up(v[i][1]).tolist()) for v in values]
        if any(p != places[0] for p in places):
            parts.append(tag("path", d=line(*places[0]), class_=f"faint {look}"))
            moving[f"roc-{i}"] = {"xs": [p[0] for p in places], "y": [p[1] for p in places]}
        now = places[found.dial.chosen]
        name = f"{short(names[i], 16)} over {short(names[1 - i], 16)}"
        parts.append(tag("path", d=line(*now), class_=f"now {look}", data_path=f"roc-{i}", data_name=name))
        slope = np.array(now[0]) - np.array(now[1])
        middle = min(int(np.searchsorted(slope, (slope[0] + slope[-1]) / 2)), len(slope) - 1)
        labels.append((now[0][middle] + 8, now[1][middle] + 26 * (1 + i), name, look))
    axes = ("share above, without the outcome", "share above, with the outcome")
    body = join(frame.axes(*axes), inside(parts), direct_labels(labels))

    def title(place: int) -> str:
        pair = report.dial.settings[place].all.pair(*names)
        there, back = percent(pair.xauc_first), percent(pair.xauc_second)
        return say("roc", first=names[0], second=names[1], there=there, back=back)

    return Figure("roc", title, title, TEXT["roc note"], [(-1, "", body)], moving, frame, axes)


def _calibration(found: Measured, report: Report) -> Figure | None:
    """Draw the share with the outcome over the mean score, with intervals, a panel for each group."""
    if any(each.reliability is None for each in found.pictures):
        return None
    values = [each.reliability or [] for each in found.pictures]
    ends = np.concatenate([each[name] for v in values for each in v for name in ("mean_score", "rate_high")])
    high = min(1.04 * float(ends.max(initial=0.0)) or 1.0, 1.0)
    frame = Frame((0.0, high), (0.0, high))
    turned = " turned" if found.turned else ""
    axes = ("1 − mean score" if found.turned else "mean score", "share with the outcome")
    moving: dict[str, Any] = {}
    panels = []
    for i, g in enumerate(found.drawn):
        parts = [tag("path", d=line(frame.across(frame.x), frame.up(frame.y)), class_="zero")]
        places = [(frame.across(v[i]["mean_score"]).tolist(), frame.up(v[i]["rate"]).tolist()) for v in values]
        bars = [_bars(frame, v[i]) for v in values]
        chosen, look = found.dial.chosen, colour(g)
        if any(p != places[0] for p in places):
            parts.append(tag("path", d=line(*places[0]), class_=f"faint {look}"))
            moving[f"calibration-{i}"] = {"xs": [p[0] for p in places], "y": [p[1] for p in places]}
            moving[f"bars-{i}"] = {"d": bars}
        parts.append(tag("path", d=bars[chosen], class_=f"bars {look}", data_path=f"bars-{i}"))
        named = {"data_path": f"calibration-{i}", "data_name": axes[1]}
        parts.append(tag("path", d=line(*places[chosen]), class_=f"now {look}", **named))
        panels.append((g, str(report.audit.ranking.groups[g].group), join(frame.axes(*axes), inside(parts))))
    notes = [TEXT[f"calibration note{turned}"]]
    notes += [TEXT["calibration note repair"]] if report.method is not None else []

    def title(place: int) -> str:
        return words.calibration_title(report.dial.settings[place])

    return Figure("calibration", title, title, " ".join(notes), panels, moving, frame, axes)


def _bars(frame: Frame, each: Mapping[str, Floats]) -> str:
    x, low, high = frame.across(each["mean_score"]), frame.up(each["rate_low"]), frame.up(each["rate_high"])
    return "".join(f"M{a} {b}V{c}" for a, b, c in zip(x.tolist(), low.tolist(), high.tolist()))
