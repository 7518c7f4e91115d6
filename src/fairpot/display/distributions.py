"""Score distributions by group and outcome, before and after."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from fairpot._docs import documented
from fairpot.counts import Counts
from fairpot.display.display import (
    AFTER,
    TableDisplay,
    add_legend,
    look,
    make_axes,
    named,
    set_title,
    stack,
    states,
    styled,
)
from fairpot.table import Maps, ScoreTable

LABELS = ("positive", "negative")
MOST_FILLED = 4  # hills of more groups than these hide each other


@documented
class ScoreDistributionDisplay(TableDisplay):
    """Draw histograms of the scores of each group, positives upwards and negatives downwards.

    The columns are ``state`` ("before", "after"), ``group``, ``label`` ("positive", "negative"), ``low`` and ``high``
    (the bin), ``weight`` (the rows in it) and ``share`` (of all rows of that group and label).

    Examples
    --------
    >>> from fairpot.display import ScoreDistributionDisplay
    >>> y, sex = [0, 1, 0, 1], ["F", "F", "M", "M"]
    >>> shown = ScoreDistributionDisplay.from_predictions(y, [0.1, 0.3, 0.2, 0.9], sensitive_features=sex, bins=2)
    >>> shown.where(group="M", label="positive")["share"]
    array([0., 1.])
    """

    @classmethod
    def from_table(
        cls, table: ScoreTable, maps: Maps | None = None, *, bins: int = 40, ax: Any = None, **style: Any
    ) -> Self:
        """Draw counted rows, before and, with maps, after a repair.

        Parameters
        ----------
        {table, maps}
        bins : int, default 40
            Bins of equal width, the same for all.
        {ax, **style}
        """
        shown = states(table, maps)
        edges = score_edges(list(shown.values()), bins)
        parts = []
        for state, each in shown.items():
            for group, counts in zip(each.groups, each.counts):
                for label in LABELS:
                    weight = histogram(counts.score, getattr(counts, label), edges)
                    share = weight / max(float(weight.sum()), 1e-300)
                    parts.append({"state": state, "group": str(group), "label": label} | _bins(edges, weight, share))
        return cls(stack(parts))._drawn(ax, **style)

    def plot(self, ax: Any = None, **style: Any) -> Any:
        """Draw one panel for each state; ``ax`` has as many axes, and ``style`` goes to the lines."""
        found = self.values("state")
        panels = make_axes(ax, len(found), sharey=True)
        for panel, state in zip(panels, found):
            for place, group in enumerate(self.values("group")):
                self._draw(panel, state, group, styled(look(place) | {"lw": 1.6}, style))
            _finish(panel, state if AFTER in found else "")
        top = float(self.columns["share"][self.columns["label"] == LABELS[0]].max())
        panels[0].set_ylim(top=1.3 * top)  # room for a legend inside
        panels[0].set_ylabel("without outcome ← share of rows → with outcome", fontsize="small")
        add_legend(panels[-1], grow=ax is None, loc="upper right", ncols=2)
        return panels if len(panels) > 1 else panels[0]

    def _draw(self, panel: Any, state: str, group: str, style: dict[str, Any]) -> None:
        for label, sign in zip(LABELS, (1, -1)):
            rows = self.where(state=state, group=group, label=label)
            edges = np.append(rows["low"], rows["high"][-1])
            name = {"label": named(group)} if label == LABELS[0] else {}
            panel.stairs(sign * rows["share"], edges, **name | style)
            if len(self.values("group")) <= MOST_FILLED:
                panel.stairs(sign * rows["share"], edges, fill=True, alpha=0.13, color=style["color"])


def _bins(edges: NDArray[np.float64], weight: NDArray[Any], share: NDArray[np.float64]) -> dict[str, Any]:
    return {"low": edges[:-1], "high": edges[1:], "weight": weight, "share": share}


def _finish(panel: Any, state: str) -> None:
    panel.axhline(0, color="0.3", lw=0.8)
    panel.set(xlabel="score")
    set_title(panel, "Scores by group and outcome", state)
    panel.yaxis.set_major_formatter(lambda value, _: f"{abs(value):.3g}")


def score_edges(tables: list[ScoreTable], bins: int) -> NDArray[np.float64]:
    """Return the edges of bins of equal width over all scores; over [0, 1] where these nearly fill it."""
    if not isinstance(bins, int | np.integer) or bins < 1:
        raise ValueError(f"bins must be a whole number, at least 1, got {bins!r}.")
    scores = [c.score for table in tables for c in table.counts if len(c.score)]
    low, high = min(float(s[0]) for s in scores), max(float(s[-1]) for s in scores)
    if low >= 0 and high <= 1 and high - low >= 0.5:
        low, high = 0.0, 1.0
    if low == high:  # one score alone gets a bin around it
        reach = max(abs(low), 1.0) / 2
        low, high = low - reach, high + reach
    # Halved before they are subtracted: the width of the widest range of floats is no float.
    return 2 * np.linspace(low / 2, high / 2, int(bins) + 1)


def histogram(scores: NDArray[np.float64], weight: Counts, edges: NDArray[np.float64]) -> NDArray[Any]:
    """Add up weights by bin, of ascending scores; what lies outside goes to the nearest bin."""
    total = np.concatenate((np.zeros(1, dtype=weight.dtype), np.cumsum(weight)))
    places = np.searchsorted(scores, edges[1:-1], side="left")
    return np.diff(total[np.concatenate(([0], places, [len(scores)]))])
