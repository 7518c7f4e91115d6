"""Calibration by group: does a score mean the same for each?"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from fairpot._docs import documented
from fairpot.counts import GroupCounts
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

# Two-sided 95 %: the interval of a share by Wilson's method.
_Z = 1.959963984540054


@documented
class GroupCalibrationDisplay(TableDisplay):
    """Draw the share of positives against the mean score, in bins, for each group.

    The columns are ``state``, ``group``, ``mean_score``, ``rate``, ``rate_low`` and ``rate_high`` (Wilson's 95%
    interval) and ``weight``. Bins hold about as many rows each; equal scores stay together.

    Examples
    --------
    >>> from fairpot.display import GroupCalibrationDisplay
    >>> y, sex = [0, 1, 1, 1], ["F", "F", "M", "M"]
    >>> shown = GroupCalibrationDisplay.from_predictions(y, [0.2, 0.2, 0.7, 0.9], sensitive_features=sex, bins=1)
    >>> shown.where(group="M")["mean_score"]
    array([0.8])
    """

    @classmethod
    def from_table(
        cls, table: ScoreTable, maps: Maps | None = None, *, bins: int = 10, ax: Any = None, **style: Any
    ) -> Self:
        """Draw counted rows, before and, with maps, after a repair.

        Parameters
        ----------
        table : ScoreTable
            Counted rows, with outcomes; the scores must be probabilities.
        {maps}
        bins : int, default 10
            Bins of about equally many rows.
        {ax, **style}
        """
        shown = states(table, maps)
        outside = sum(int(c.weight[(c.score < 0) | (c.score > 1)].sum()) for c in table.counts)
        if outside:
            raise ValueError(
                f"{outside} rows have a score outside [0, 1]: calibration compares probabilities with outcomes.\n"
                "Hint: turn the scores into probabilities first, or look at the other displays."
            )
        parts = [
            {"state": state, "group": str(group)} | reliability(counts, bins)
            for state, each in shown.items()
            for group, counts in zip(each.groups, each.counts)
        ]
        return cls(stack(parts))._drawn(ax, **style)

    def plot(self, ax: Any = None, **style: Any) -> Any:
        """Draw one panel for each state; ``ax`` has as many axes, and ``style`` goes to the lines."""
        found = self.values("state")
        panels = make_axes(ax, len(found), sharey=True)
        high = max(float(self.columns["mean_score"].max()), float(self.columns["rate"].max())) * 1.05
        for panel, state in zip(panels, found):
            panel.plot([0, high], [0, high], color="0.6", lw=0.8, label="score = rate")
            for place, group in enumerate(self.values("group")):
                rows = self.where(state=state, group=group)
                own = styled(look(place, marked=True) | {"ms": 5, "lw": 1.4, "label": named(group)}, style)
                panel.plot(rows["mean_score"], rows["rate"], **own)
                panel.vlines(rows["mean_score"], rows["rate_low"], rows["rate_high"], color=own["color"], lw=0.8)
            panel.set(xlabel="mean score")
            set_title(panel, "Calibration by group", state if AFTER in found else "")
        panels[0].set_ylabel("share with the outcome")
        add_legend(panels[-1], grow=ax is None, loc="upper left")
        return panels if len(panels) > 1 else panels[0]


def reliability(counts: GroupCounts, bins: int) -> dict[str, NDArray[np.float64]]:
    """Give mean score, rate and its interval in bins of about equal weight."""
    if not isinstance(bins, int | np.integer) or bins < 1:
        raise ValueError(f"bins must be a whole number, at least 1, got {bins!r}.")
    weight = counts.weight.astype(np.float64)
    middle = np.cumsum(weight) - weight / 2
    place = np.minimum((middle * (bins / weight.sum())).astype(np.intp), bins - 1)
    first = np.flatnonzero(np.diff(place, prepend=-1))
    size, positive = np.add.reduceat(weight, first), np.add.reduceat(counts.positive.astype(np.float64), first)
    low, high = wilson(positive, size)
    mean = np.add.reduceat(weight * counts.score, first) / size
    return {"mean_score": mean, "rate": positive / size, "rate_low": low, "rate_high": high, "weight": size}


def wilson(positive: NDArray[np.float64], size: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return Wilson's 95 % interval of a share."""
    share = positive / size
    scale = 1 + _Z**2 / size
    centre = (share + _Z**2 / (2 * size)) / scale
    reach = _Z * np.sqrt(share * (1 - share) / size + _Z**2 / (4 * size**2)) / scale
    return np.clip(centre - reach, 0.0, 1.0), np.clip(centre + reach, 0.0, 1.0)
