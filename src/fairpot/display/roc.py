"""ROC and cross-group ROC (xROC) curves."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from fairpot._docs import documented
from fairpot._shown import bar
from fairpot.counts import GroupCounts
from fairpot.display.display import (
    AFTER,
    BEFORE,
    TableDisplay,
    add_legend,
    look,
    make_axes,
    plain,
    set_title,
    stack,
    states,
    styled,
    wrapped,
)
from fairpot.results import Ranking, rank
from fairpot.table import Maps, ScoreTable


@documented
class CrossRocDisplay(TableDisplay):
    """Draw ROC curves inside groups and between them: positives of one group against negatives of the other.

    The area under a cross-group curve is the xAUC, ties counted half; two groups are ranked alike where the
    curves of the two directions lie on each other. The columns are ``state``, ``positive`` and ``negative`` (the two
    groups), ``false_positive_rate``, ``true_positive_rate``, and ``area`` with ``area_low`` and ``area_high``.

    Examples
    --------
    >>> from fairpot.display import CrossRocDisplay
    >>> y, sex = [0, 1, 0, 1], ["F", "F", "M", "M"]
    >>> shown = CrossRocDisplay.from_predictions(y, [0.1, 0.3, 0.5, 0.9], sensitive_features=sex)
    >>> shown.where(positive="F", negative="M")["area"][0]
    np.float64(0.0)
    """

    @classmethod
    def from_table(
        cls,
        table: ScoreTable,
        maps: Maps | None = None,
        *,
        pair: tuple[Hashable, Hashable] | None = None,
        points: int = 1000,
        ax: Any = None,
        **style: Any,
    ) -> Self:
        """Draw counted rows, before and, with maps, after a repair.

        Parameters
        ----------
        {table, maps}
        pair : two names of groups, default None
            None takes the two that an audit speaks of: those with the largest gap.
        points : int, default 1000
            No curve keeps more points than this; areas are exact all the same.
        {ax, **style}
        """
        rankings = {
            state: (each, rank(each)) for state, each in states(table.require("this picture", groups=2), maps).items()
        }
        first, second = _told(*rankings[BEFORE]) if pair is None else pair
        parts = []
        for state, (each, ranking) in rankings.items():
            for g, h in ((first, second), (second, first), (first, first), (second, second)):
                area = bar("", ranking.group(g).auc if g == h else ranking.cell(g, h).xauc)
                curve = roc_curve(each[g], each[h], points)
                ends = {"area": area.value, "area_low": area.low, "area_high": area.high}
                parts.append({"state": state, "positive": str(g), "negative": str(h)} | curve | ends)
        return cls(stack(parts))._drawn(ax, **style)

    def plot(self, ax: Any = None, **style: Any) -> Any:
        """Draw one panel for each state; ``ax`` has as many axes, and ``style`` goes to the lines."""
        found = self.values("state")
        panels = make_axes(ax, len(found), height=5.2, width=5.2 if len(found) == 1 else 4.8)
        for panel, state in zip(panels, found):
            for place, group in enumerate(self.values("positive")):
                for other in self.values("negative"):
                    self._draw(panel, state, group, other, look(place), style)
            panel.plot([0, 1], [0, 1], color="0.6", lw=0.8)
            panel.set(xlabel="share without the outcome above the threshold", aspect="equal")
            set_title(panel, "ROC inside groups and between them", state if AFTER in found else "")
            panel.set(xlim=(-0.01, 1.01), ylim=(-0.01, 1.01))
            add_legend(panel, grow=ax is None and panel is panels[0], of_all=False, loc="lower right", handlelength=2.0)
        panels[0].set_ylabel("share with the outcome above the threshold")
        return panels if len(panels) > 1 else panels[0]

    def _draw(self, panel: Any, state: str, group: str, other: str, own: dict[str, Any], style: dict[str, Any]) -> None:
        rows = self.where(state=state, positive=group, negative=other)
        if len(rows["area"]) == 0:
            return
        inside = group == other
        name = f"inside {plain(group)}" if inside else f"{plain(group)} over {plain(other)}"
        own |= {"lw": 0.9, "alpha": 0.6} if inside else {"lw": 2.0}
        area, low, high = (rows[column][0] for column in ("area", "area_low", "area_high"))
        own["label"] = wrapped(f"{name}: {area:.3f}" + (f" ({low:.3f} to {high:.3f})" if low == low else ""), 44)
        panel.plot(rows["false_positive_rate"], rows["true_positive_rate"], **styled(own, style))


def roc_curve(winners: GroupCounts, losers: GroupCounts, points: int = 1000) -> dict[str, Any]:
    """Trace the share of one group's positives against that of another's negatives from every threshold up."""
    positives, negatives = float(winners.positive.sum()), float(losers.negative.sum())
    if not positives or not negatives:
        return dict.fromkeys(("false_positive_rate", "true_positive_rate"), np.full(1, np.nan))
    thresholds = winners.score if winners is losers else np.union1d(winners.score, losers.score)
    kept = np.unique(np.linspace(0, len(thresholds) - 1, min(len(thresholds), points - 1)).round().astype(np.intp))
    thresholds = thresholds[kept][::-1]
    return {
        "false_positive_rate": _from_above(losers.score, losers.negative, thresholds) / negatives,
        "true_positive_rate": _from_above(winners.score, winners.positive, thresholds) / positives,
    }


def _from_above(
    scores: NDArray[np.float64], weight: NDArray[Any], thresholds: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Add up the weight at and above each threshold, beginning with none at all."""
    above = np.concatenate((np.cumsum(weight[::-1])[::-1], np.zeros(1)))
    return np.concatenate(([0.0], above[np.searchsorted(scores, thresholds, side="left")]))


def _told(table: ScoreTable, ranking: Ranking) -> tuple[Hashable, Hashable]:
    """Name the two groups that an audit speaks of, the one ranked higher first."""
    told = ranking.told
    return (table.groups[0], table.groups[1]) if told is None else (told.first, told.second)
