"""Partial AUC and partial xAUC gap against the share of the ranking that is looked at."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from fairpot._defaults import REGIONS, TIES, Region, Ties
from fairpot._validation import check_choice, check_share
from fairpot.display.display import AFTER, TableDisplay, add_legend, look, make_axes, stack, states, styled
from fairpot.metrics.wins import WinMatrix
from fairpot.table import Maps, ScoreTable

METRICS = {"auc": "partial AUC", "gap": "gap in the top"}


class PartialAucDisplay(TableDisplay):
    """Draw AUC or gap among the rows with the highest scores, over their share.

    The columns are ``state``, ``alpha``, ``auc``, ``gap`` and ``rows``; what has no pairs to count is NaN.

    Examples
    --------
    >>> from fairpot.display import PartialAucDisplay
    >>> y, sex = [0, 1, 0, 1], ["F", "F", "M", "M"]
    >>> shown = PartialAucDisplay.from_predictions(y, [0.1, 0.3, 0.5, 0.9], sensitive_features=sex, alphas=[0.5, 1])
    >>> shown.columns["auc"]
    array([1.  , 0.75])
    """

    @classmethod
    def from_table(
        cls,
        table: ScoreTable,
        maps: Maps | None = None,
        *,
        alphas: Any = None,
        region: Region = "pooled",
        ties: Ties = "half",
        metric: str = "auc",
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
        alphas : list of numbers in (0, 1], default None
            None takes 0.02, 0.04, ..., 1.
        region : {"pooled", "group"}, default "pooled"
            The top of all rows, or the top of each group.
        ties : {"half", "strict"}, default "half"
            Whether equal scores count as half a win or as none.
        metric : {"auc", "gap"}, default "auc"
            What is drawn.
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
        >>> from fairpot.display import PartialAucDisplay
        >>> from fairpot.datasets import make_synthetic
        >>> data = make_synthetic(600, random_state=0, as_frame=False)
        >>> score, y, group = data.probability, data.target, data.group
        >>> table = score_table(y, score, sensitive_features=group)
        >>> shown = PartialAucDisplay.from_table(table, alphas=[0.1, 0.5, 1.0])
        """
        check_choice(region, "region", REGIONS)
        check_choice(ties, "ties", TIES)
        listed = np.arange(1, 51) / 50 if alphas is None else np.unique(np.asarray(alphas, dtype=np.float64))
        shares = np.array([check_share(alpha, "alphas", zero=False) for alpha in listed])
        parts = []
        for state, each in states(table, maps).items():
            found = np.array([_inside(each.top(float(alpha), region), ties) for alpha in shares])
            parts.append({"state": state, "alpha": shares} | dict(zip(("auc", "gap", "rows"), found.T)))
        return cls(stack(parts))._drawn(ax, metric=metric, **style)

    def plot(self, ax: Any = None, *, metric: str = "auc", **style: Any) -> Any:
        """Draw ``metric``, "auc" or "gap"; ``style`` goes to the lines."""
        check_choice(metric, "metric", tuple(METRICS))
        [axes] = make_axes(ax)
        for place, state in enumerate(self.values("state")):
            rows = self.where(state=state)
            axes.plot(rows["alpha"], rows[metric], **styled(look(place) | {"lw": 1.8, "label": state}, style))
        axes.set(xlabel="top share of the ranking (alpha)", ylabel=METRICS[metric], xlim=(0, 1.02))
        if metric == "gap":
            axes.set_ylim(bottom=0)
        if AFTER in self.values("state"):
            add_legend(axes)
        return axes


def _inside(top: ScoreTable, ties: Ties) -> tuple[float, float, float]:
    """Give AUC, largest gap and size of a region."""
    matrix = WinMatrix.of(top, ties)
    pairs = matrix.pairs
    rows = float(matrix.positives.sum() + matrix.negatives.sum())
    total = float(pairs.sum())
    auc = float(matrix.half_wins.sum()) / 2 / total if total else np.nan
    return auc, _largest_gap(matrix, pairs), rows


def _largest_gap(matrix: WinMatrix, pairs: NDArray[np.float64]) -> float:
    xauc = np.divide(matrix.half_wins / 2, pairs, out=np.full(pairs.shape, np.nan), where=pairs > 0)
    gaps = np.abs(xauc - xauc.T)[np.triu_indices(len(pairs), 1)]
    gaps = gaps[np.isfinite(gaps)]
    return float(gaps.max()) if len(gaps) else float("nan")
