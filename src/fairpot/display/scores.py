"""The scores of each group by outcome, and what a repair makes of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairpot.counts import Counts
from fairpot.display.axes import add_legend, few, look, make_axes, named, set_title
from fairpot.table import Maps, ScoreTable
from fairpot.transport import Floats

LABELS = ("positive", "negative")
_BINS = 40
_MOST_FILLED = 4  # hills of more groups than these hide each other
_KNOTS, _GRID = 400, 201  # points that are drawn of a map: its breakpoints, and a grid


def draw_scores(table: ScoreTable, ax: Any = None) -> Any:
    """Draw histograms of the scores of each group, positives upwards and negatives downwards."""
    table.require("this picture")
    axes = make_axes(ax)
    edges, top = score_edges([table], _BINS), 0.0
    for place, (group, counts) in enumerate(zip(table.groups, table.counts)):
        style = look(place)
        for label, sign in zip(LABELS, (1, -1)):
            weight = histogram(counts.score, getattr(counts, label), edges)
            share = sign * weight / max(float(weight.sum()), 1e-300)
            top = max(top, float(share.max()))
            axes.stairs(share, edges, lw=1.6, **style, **({"label": named(group)} if sign > 0 else {}))
            if len(table.groups) <= _MOST_FILLED:
                axes.stairs(share, edges, fill=True, alpha=0.13, color=style["color"])
    axes.axhline(0, color="0.3", lw=0.8)
    axes.set_xlabel("score")
    axes.set_ylabel("without outcome ← share of rows → with outcome", fontsize="small")
    axes.set_ylim(top=1.3 * top or 1.0)  # room for a legend inside
    axes.yaxis.set_major_formatter(lambda value, _: f"{abs(value):.3g}")
    set_title(axes, "Scores by group and outcome")
    add_legend(axes, grow=ax is None, loc="upper right", ncols=2)
    return axes


def score_edges(tables: Sequence[ScoreTable], bins: int) -> Floats:
    """Return the edges of bins of equal width over all scores; over [0, 1] where these nearly fill it."""
    scores = [c.score for table in tables for c in table.counts if len(c.score)]
    low, high = min(float(s[0]) for s in scores), max(float(s[-1]) for s in scores)
    if low >= 0 and high <= 1 and high - low >= 0.5:
        low, high = 0.0, 1.0
    if low == high:  # one score alone gets a bin around it
        reach = max(abs(low), 1.0) / 2
        low, high = low - reach, high + reach
    # Halved before they are subtracted: the width of the widest range of floats is no float.
    return 2 * np.linspace(low / 2, high / 2, bins + 1)


def histogram(scores: Floats, weight: Counts, edges: Floats) -> NDArray[Any]:
    """Add up weights by bin, of ascending scores; what lies outside goes to the nearest bin."""
    total = np.concatenate((np.zeros(1, dtype=weight.dtype), np.cumsum(weight)))
    places = np.searchsorted(scores, edges[1:-1], side="left")
    return np.diff(total[np.concatenate(([0], places, [len(scores)]))])


def draw_maps(maps: Maps, table: ScoreTable | None = None, ax: Any = None) -> Any:
    """Draw what each group's scores become; a group that nothing happens to is named only.

    ``table`` has rows, with or without outcomes, whose scores are to be seen too.
    """
    axes = make_axes(ax)
    low, high = _range(maps, table)
    axes.plot([low, high], [low, high], color="0.6", lw=0.8, label="score stays")
    for place, (group, each) in enumerate(maps.items()):
        score = _corners(each, low, high)
        mapped = np.asarray(each(score))
        moved = bool((score != mapped).any())
        line = (score, mapped) if moved else ([], [])
        axes.plot(*line, lw=2, label=named(group) if moved else f"{named(group)} (unchanged)", **look(place))
    axes.set(xlabel="score before", ylabel="score after")
    set_title(axes, "What becomes of scores, by group")
    add_legend(axes, grow=ax is None, loc="upper left")
    return axes


def _range(maps: Maps, table: ScoreTable | None) -> tuple[float, float]:
    """Give the lowest and the highest score that a picture of maps shows."""
    knots = [np.asarray(getattr(each, "knots", ())) for each in maps.values()]
    ends = [each[[0, -1]] for each in knots if len(each)]
    if table is not None:
        ends += [c.score[[0, -1]] for c in table.counts if len(c.score)]
    return (float(np.min(ends)), float(np.max(ends))) if ends else (0.0, 1.0)


def _corners(one: Any, low: float, high: float) -> Floats:
    """Choose scores that show a map as it is: its knots, or enough of them, a grid, and both sides of a jump."""
    knots = one.knots[few(len(one.knots), _KNOTS)]
    start = getattr(one, "start", None)
    jump = [] if start is None else [np.nextafter(start, -np.inf), start]
    grid = 2 * np.linspace(low / 2, high / 2, _GRID)
    score = np.unique(np.concatenate((knots, grid, jump)))
    return score[(score >= low) & (score <= high)]
