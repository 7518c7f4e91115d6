"""Numbers with their intervals, one below the other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from fairpot._shown import Bar, bar
from fairpot._svg import short
from fairpot.display.axes import add_legend, make_axes, set_title, wrapped
from fairpot.results import Audit, Effect
from fairpot.results.ranking import Pair, Ranking
from fairpot.words import flagged, gap_name

# Before and after look alike in every picture, and like no group.
_STATES: dict[str, dict[str, Any]] = {
    "before": {"color": "#767676", "marker": "o", "mfc": "white"},
    "after": {"color": "#111111", "marker": "s"},
}
_MOST = 20  # lines that fit into a picture
_WIDE, _LONGEST = 30, 76  # letters of a line of a label, and of all its names
_GAPS = {"axis": "gap: xAUC of the first over the second, minus the reverse", "of": "pairs"}


def draw_audit(audit: Audit, ax: Any = None) -> Any:
    """Draw the gap of every two groups; of the top, where one was asked for. Without outcomes, draw selection rates."""
    if not audit.ranking.labelled:
        first = audit.spoken.rates[0]
        shares = {"": [bar(str(each.group), each.value) for each in first["selection_rate"].groups]}
        title = flagged(first, audit.lower_is_riskier)
        return draw_intervals(shares, ax, title=title, axis="selection rate", of="groups")
    told = audit.spoken.told
    return draw_intervals({"": [_gap(pair) for pair in _known(told)]}, ax, title=_title(told), **_GAPS)


def draw_effect(effect: Effect, ax: Any = None) -> Any:
    """Draw the gap of every two groups before and after."""
    before, after = effect.before.spoken.told, effect.after.spoken.told
    pairs = _known(before)
    later = [_gap(after.pair(pair.first, pair.second)) for pair in pairs]
    states = dict(zip(_STATES, ([_gap(pair) for pair in pairs], later)))
    return draw_intervals(states, ax, title=f"{_title(before)}, before and after", **_GAPS)


def draw_intervals(
    states: Mapping[str, Sequence[Bar]], ax: Any = None, *, title: str, axis: str = "", of: str = "numbers"
) -> Any:
    """Draw one line for each label, with a mark and an interval for each state, before and after where there are both.

    Of more than 20 labels the rest are left out, and the title says so; ``of`` says what a line is of.
    """
    every = len(next(iter(states.values())))
    names = [_cut(each.label) for each in next(iter(states.values()))[:_MOST]]
    high = len(names) * max(0.3, 0.16 * max((name.count("\n") + 1 for name in names), default=1))
    axes = make_axes(ax, height=max(2.6, 1.4 + high), width=7.2)
    for place, (state, bars) in enumerate(states.items()):
        heights = np.arange(len(names)) + 0.15 * (2 * place - 1) * (len(states) > 1)
        style = _STATES[state or "after"] | {"linestyle": "none", "label": state or None}
        _draw_bars(axes, bars[:_MOST], heights, style)
    axes.axvline(0.0, color="0.6", linewidth=0.8, zorder=0)
    axes.set_yticks(range(len(names)), names, fontsize="small")
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.set_xlabel(axis)
    left_out = f", {len(names)} of {every} {of}" if len(names) < every else ""
    set_title(axes, wrapped(title, 60) + left_out)
    if len(states) > 1:
        add_legend(axes, grow=ax is None)
    return axes


def _title(told: Ranking) -> str:
    return f"{'Gap' if told.top is None else gap_name(told.top).capitalize()} of every two groups"


def _known(told: Ranking) -> list[Pair]:
    """Give the pairs that can be measured, the largest gap first, the group ranked higher before the other."""
    return sorted((pair.ranked for pair in told.gaps if pair.known), key=lambda pair: -pair.size)


def _gap(pair: Pair) -> Bar:
    return bar(f"{pair.first} over {pair.second}", pair.signed_gap)


def _cut(label: str) -> str:
    """Show a label in lines, its names cut to what fits into three of them."""
    names = label.split(" over ")
    return wrapped(" over ".join(short(name, _LONGEST // len(names)) for name in names), _WIDE)


def _draw_bars(axes: Any, bars: Sequence[Bar], heights: Any, style: dict[str, Any]) -> None:
    value, low, high = np.array([each[1:] for each in bars], dtype=np.float64).reshape(-1, 3).T
    ends = np.nan_to_num(np.array([value - low, high - value]))
    axes.errorbar(value, heights, xerr=np.maximum(ends, 0.0), capsize=2, **style)
    beside = {"xytext": (6, 0), "textcoords": "offset points", "va": "center", "fontsize": "x-small"}
    for place in np.flatnonzero(np.isfinite(value) & ~(np.isfinite(low) & np.isfinite(high))):
        axes.annotate("no interval", (value[place], heights[place]), **beside)
