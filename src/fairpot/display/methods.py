"""All methods of a comparison in one picture."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from fairpot.display.display import Display
from fairpot.display.style import add_legend, look, make_axes, named


@dataclass(frozen=True, eq=False)
class ComparisonDisplay(Display):
    """AUC against the xAUC gap for every method that was compared, with the limit.

    The columns are those of ``result.frame()``.

    Examples
    --------
    >>> from fairpot import compare
    >>> from fairpot.datasets import make_synthetic
    >>> from fairpot.display import ComparisonDisplay
    >>> data = make_synthetic(n=600, random_state=5)
    >>> result = compare(data.probability, data.target, sensitive_features=data.group, methods=["FairPOT"], cv=2)
    >>> ComparisonDisplay.from_comparison(result).values("method")
    ['unrepaired', 'FairPOT']
    """

    result: Any

    @classmethod
    def from_comparison(cls, result: Any) -> Self:
        """Make the display of what :func:`fairpot.compare` returned."""
        names = ("method", "dial", "value", "auc", "gap", "signed_gap", "distance_to_limit", "pareto")
        return cls({name: getattr(result, name) for name in names}, result)

    def plot(self, ax: Any = None) -> Any:
        """Draw; points far beyond the gap of the unrepaired scores are left out of sight."""
        [axes] = make_axes(ax)
        signed = bool(np.isfinite(self.columns["signed_gap"]).all())
        gap, auc = self.columns["signed_gap" if signed else "gap"], self.columns["auc"]
        right = 1.15 * float(np.abs(gap[0])) or 0.1
        left = -0.35 * right if signed else -0.02 * right
        seen = (gap >= left) & (gap <= right)
        if self.result.limit is not None:
            line = np.linspace(left, right, 200)
            axes.plot(line, self.result.limit.auc_at(line), color="black", lw=1, label="limit on these rows")
        for place, method in enumerate(self.result.methods):
            rows = np.flatnonzero((self.columns["method"] == method) & seen)
            single = {"marker": "o"} if len(rows) < 3 else {}
            axes.plot(gap[rows], auc[rows], lw=1.7, label=method, **look(place) | single)
        axes.plot(gap[0], auc[0], "s", color="black", ms=7, label="unrepaired", zorder=4)
        if signed:
            axes.axvline(0, color="0.5", lw=0.8)
        ahead = f" (above 0: {named(self.result.reference)} is ahead)" if signed else ""
        axes.set(xlim=(left, right), xlabel=f"xAUC gap{ahead}", ylabel="AUC")
        add_legend(axes)
        return axes
