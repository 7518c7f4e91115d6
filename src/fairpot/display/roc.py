"""ROC and cross-group ROC (xROC) curves."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from fairpot.counts import GroupCounts
from fairpot.display.display import AFTER, TableDisplay, add_legend, look, make_axes, named, stack, states, styled
from fairpot.metrics.wins import WinMatrix, half_wins
from fairpot.table import Maps, ScoreTable


class CrossRocDisplay(TableDisplay):
    """Draw ROC curves inside groups and between them: positives of one group against negatives of the other.

    The area under a cross-group curve is the xAUC, ties counted half; two groups are ranked alike where the
    curves of the two directions lie on each other. The columns are ``state``, ``positive`` and ``negative`` (the two
    groups), ``false_positive_rate``, ``true_positive_rate`` and ``area``.

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
        table : ScoreTable
            Counted rows, with outcomes.
        maps : dict of group to ScoreMap, default None
            Also show what these make of the scores, such as ``repair.maps_``.
        pair : two names of groups, default None
            None takes the two whose xAUC differ most.
        points : int, default 1000
            No curve keeps more points than this; areas are exact all the same.
        ax : matplotlib axes, default None
            None makes a new figure.
        **style
            Passed to matplotlib for the lines, such as ``linewidth=1``.

        Returns
        -------
        The display, drawn: its axes are ``ax_``.

        Examples
        --------
        >>> from fairpot import score_table
        >>> from fairpot.display import CrossRocDisplay
        >>> from fairpot.datasets import make_synthetic
        >>> data = make_synthetic(600, random_state=0, as_frame=False)
        >>> score, y, group = data.probability, data.target, data.group
        >>> table = score_table(y, score, sensitive_features=group)
        >>> shown = CrossRocDisplay.from_table(table, points=100)
        """
        shown = states(table, maps)
        first, second = widest_pair(table) if pair is None else pair
        parts = []
        for state, each in shown.items():
            for g, h in ((first, second), (second, first), (first, first), (second, second)):
                curve = roc_curve(each[g], each[h], points)
                parts.append({"state": state, "positive": str(g), "negative": str(h)} | curve)
        return cls(stack(parts))._drawn(ax, **style)

    def plot(self, ax: Any = None, **style: Any) -> Any:
        """Draw one panel for each state; ``ax`` has as many axes, and ``style`` goes to the lines."""
        found = self.values("state")
        panels = make_axes(ax, len(found))
        for panel, state in zip(panels, found):
            for place, group in enumerate(self.values("positive")):
                for other in self.values("negative"):
                    self._draw(panel, state, group, other, look(place), style)
            panel.plot([0, 1], [0, 1], color="0.6", lw=0.8)
            panel.set(xlabel="share without the outcome above the threshold", title=state if AFTER in found else "")
            panel.set(aspect="equal", xlim=(-0.01, 1.01), ylim=(-0.01, 1.01))
            add_legend(panel, loc="lower right", handlelength=2.0)
        panels[0].set_ylabel("share with the outcome above the threshold")
        return panels if len(panels) > 1 else panels[0]

    def _draw(self, panel: Any, state: str, group: str, other: str, own: dict[str, Any], style: dict[str, Any]) -> None:
        rows = self.where(state=state, positive=group, negative=other)
        if len(rows["area"]) == 0:
            return
        inside = group == other
        name = f"inside {named(group)}" if inside else f"{named(group)} over {named(other)}"
        own |= {"lw": 0.9, "alpha": 0.6} if inside else {"lw": 2.0}
        own["label"] = f"{name}: {rows['area'][0]:.3f}"
        panel.plot(rows["false_positive_rate"], rows["true_positive_rate"], **styled(own, style))


def roc_curve(winners: GroupCounts, losers: GroupCounts, points: int = 1000) -> dict[str, Any]:
    """Trace the share of one group's positives against that of another's negatives from every threshold up.

    Examples
    --------
    >>> group = GroupCounts(np.array([0.2, 0.8]), np.array([1, 3]), np.array([2, 2]))
    >>> roc_curve(group, group)["true_positive_rate"]
    array([0.  , 0.75, 1.  ])
    """
    positives, negatives = float(winners.positive.sum()), float(losers.negative.sum())
    if not positives or not negatives:
        nothing = np.full(1, np.nan)
        return {"false_positive_rate": nothing, "true_positive_rate": nothing, "area": np.nan}
    thresholds = winners.score if winners is losers else np.union1d(winners.score, losers.score)
    kept = np.unique(np.linspace(0, len(thresholds) - 1, min(len(thresholds), points - 1)).round().astype(np.intp))
    thresholds = thresholds[kept][::-1]
    area = float(half_wins(winners, losers, "half")) / 2 / (positives * negatives)
    return {
        "false_positive_rate": _from_above(losers.score, losers.negative, thresholds) / negatives,
        "true_positive_rate": _from_above(winners.score, winners.positive, thresholds) / positives,
        "area": area,
    }


def _from_above(
    scores: NDArray[np.float64], weight: NDArray[Any], thresholds: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Add up the weight at and above each threshold, beginning with none at all."""
    above = np.concatenate((np.cumsum(weight[::-1])[::-1], np.zeros(1)))
    return np.concatenate(([0.0], above[np.searchsorted(scores, thresholds, side="left")]))


def widest_pair(table: ScoreTable) -> tuple[Hashable, Hashable]:
    """Name the two groups whose xAUC differ most, the one that is ahead first."""
    if len(table.groups) < 2:
        raise ValueError(
            f"this picture compares two groups, and there is one, {table.groups[0]!r}.\n"
            "Hint: pass rows of at least two groups as sensitive_features."
        )
    matrix = WinMatrix.of(table, "half")
    pairs = matrix.pairs
    xauc = np.divide(matrix.half_wins / 2, pairs, out=np.full(pairs.shape, np.nan), where=pairs > 0)
    gap = np.nan_to_num(xauc - xauc.T, nan=0.0)
    g, h = divmod(int(np.argmax(gap)), len(gap))
    return (table.groups[g], table.groups[h]) if g != h else (table.groups[0], table.groups[1])
