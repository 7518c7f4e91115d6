"""The maps themselves: score in, score out."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from fairpot._docs import documented
from fairpot.display.display import (
    Display,
    add_legend,
    look,
    make_axes,
    maps_of,
    named,
    set_title,
    stack,
    styled,
    table_of,
)
from fairpot.display.distributions import MOST_FILLED
from fairpot.table import Maps, ScoreTable

_KNOTS, _GRID, _BARS = 400, 201, 50


@documented
class ScoreMapDisplay(Display):
    """Draw what each group's scores become, and how many people are where.

    The columns are ``group``, ``score``, ``mapped`` and ``below``: the share of the group's rows with a lower score
    (NaN where no table was given).

    Examples
    --------
    >>> from fairpot import FairPOT
    >>> from fairpot.display import ScoreMapDisplay
    >>> fp = FairPOT(lam=1.0).fit([0.9, 0.6, 0.5, 0.1], [1, 0, 1, 0], sensitive_features=["M", "M", "F", "F"])
    >>> rows = ScoreMapDisplay.from_estimator(fp).where(group="F")
    >>> rows["mapped"][rows["score"] == 0.5]
    array([0.9])
    """

    @classmethod
    def from_maps(cls, maps: Maps, table: ScoreTable | None = None, *, ax: Any = None, **style: Any) -> Self:
        """Draw maps.

        Parameters
        ----------
        maps : dict of group to ScoreMap
            The maps to draw.
        table : ScoreTable, default None
            The rows to show along the maps, with or without outcomes.
        {ax, **style}
        """
        low, high = _range(maps, table)
        parts = []
        for group, each in maps.items():
            score = _corners(each, low, high)
            below = np.full(len(score), np.nan) if table is None else _share_below(table, group, score)
            parts.append({"group": str(group), "score": score, "mapped": each(score), "below": below})
        return cls(stack(parts))._drawn(ax, **style)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        scores: Any = None,
        y: Any = None,
        *,
        sensitive_features: Any = None,
        sample_weight: Any = None,
        clusters: Any = None,
        weights: str | None = None,
        ax: Any = None,
        **style: Any,
    ) -> Self:
        """Draw a fitted repair method's maps, with the people of these rows, or of the fitted ones.

        Parameters
        ----------
        estimator : fitted repair method, such as FairPOT
            The repair to show.
        scores : column of shape (n,) or (n, 1), ScoreTable, or None, default None
            The rows to show it on; None takes the fitted rows.
        {y, sensitive_features, sample_weight, clusters, weights, ax, **style}
        """
        table = table_of(estimator, scores, y, sensitive_features, sample_weight, clusters, weights)
        return cls.from_maps(maps_of(estimator, table), table, ax=ax, **style)

    def plot(self, ax: Any = None, **style: Any) -> Any:
        """Draw; a skyline on the floor shows where the people of each group are, and ``style`` goes to the lines."""
        [axes] = make_axes(ax)
        low, high = float(self.columns["score"].min()), float(self.columns["score"].max())
        axes.plot([low, high], [low, high], color="0.6", lw=0.8, label="score stays")
        for place, group in enumerate(self.values("group")):
            rows = self.where(group=group)
            moved = bool((rows["score"] != rows["mapped"]).any())
            own = look(place) | {"lw": 2, "label": named(group) if moved else f"{named(group)} (unchanged)"}
            line = (rows["score"], rows["mapped"]) if moved else ([], [])  # on the diagonal, which is there
            axes.plot(*line, **styled(own, style))
        axes.set(xlabel="score before", ylabel="score after")
        set_title(axes, "What becomes of scores, by group")
        add_legend(axes, grow=ax is None, loc="upper left")
        if low < high and not np.isnan(self.columns["below"]).any():
            axes.set_xlim(low, high)
            self._draw_people(axes, np.linspace(low, high, _BARS + 1))
        return axes

    def _draw_people(self, axes: Any, edges: NDArray[np.float64]) -> None:
        floor = axes.inset_axes((0, 0, 1, 0.2))
        for place, group in enumerate(self.values("group")):
            rows, style = self.where(group=group), look(place)
            share = np.diff(np.interp(edges, rows["score"], rows["below"], left=0.0, right=1.0))
            floor.stairs(share, edges, lw=0.9, **style)
            if len(self.values("group")) <= MOST_FILLED:
                floor.stairs(share, edges, fill=True, alpha=0.15, color=style["color"])
        floor.set_xlim(edges[0], edges[-1])
        floor.set_axis_off()
        note = {"transform": floor.transAxes, "ha": "right", "fontsize": "x-small", "color": "0.35"}
        floor.text(0.99, 1.0, "below: share of each group's rows at this score", **note)


def _range(maps: Maps, table: ScoreTable | None) -> tuple[float, float]:
    knots = [np.asarray(getattr(m, "knots", ())) for m in maps.values()]
    ends = [k[[0, -1]] for k in knots if len(k)]
    if table is not None:
        ends += [c.score[[0, -1]] for c in table.counts if len(c.score)]
    if not ends:
        return 0.0, 1.0
    return float(np.min(ends)), float(np.max(ends))


def _corners(one: Any, low: float, high: float) -> NDArray[np.float64]:
    """Choose scores that show a map as it is: its knots, or enough of them, a grid, and both sides of a jump."""
    knots = np.asarray(getattr(one, "knots", ()), dtype=np.float64)
    if len(knots) > _KNOTS:
        knots = knots[np.unique(np.linspace(0, len(knots) - 1, _KNOTS).round().astype(np.intp))]
    start = getattr(one, "start", None)
    jump = [] if start is None else [np.nextafter(start, -np.inf), start]
    grid = 2 * np.linspace(low / 2, high / 2, _GRID)
    score = np.unique(np.concatenate((knots, grid, jump)))
    return score[(score >= low) & (score <= high)]


def _share_below(table: ScoreTable, group: Any, score: NDArray[np.float64]) -> NDArray[np.float64]:
    counts = table[group]
    total = np.concatenate(([0.0], np.cumsum(counts.weight)))
    return np.asarray(total[np.searchsorted(counts.score, score, side="left")] / total[-1])
