"""The trade-off curve with what can be chosen from it, and all methods of a comparison in one picture."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from fairpot._docs import documented
from fairpot._optional import import_optional
from fairpot.display.display import COLOURS, Display, add_legend, few, look, make_axes, plain, set_title, wrapped
from fairpot.inference import Band
from fairpot.tradeoff import Limit, TradeoffCurve, TradeoffPoint, UpperLimit

_MOST_POINTS = 2000


@documented
@dataclass(frozen=True, eq=False, repr=False)
class TradeoffDisplay(Display):
    """Draw AUC against the gap over the repair strength: the points nothing beats, a band, the limit, the choice.

    The columns are the repair strength (named as the method calls it), ``auc``, ``gap``, ``signed_gap``, ``pareto``,
    and where they are known ``limit_auc`` (the most that is possible at that gap on these rows; of more than two groups
    what nothing is above), ``reachable_auc`` (without what chance adds to it),
    ``gap_low`` and ``gap_high``. With more than two groups the gap is drawn without its sign, and ``first`` and
    ``second`` name the pair that it is the gap of.

    Attributes
    ----------
    curve : TradeoffCurve
    chosen : TradeoffPoint or None
    max_gap : float or None
        The gap that is allowed, drawn as a strip.
    signless : bool
        Whether the gap is drawn without its sign, as a band has none.

    Examples
    --------
    >>> from fairpot import FairPOT
    >>> from fairpot.display import TradeoffDisplay
    >>> score, y, sex = [0.9, 0.6, 0.4, 0.2, 0.5, 0.1], [1, 0, 1, 0, 1, 0], list("MMMMFF")
    >>> fp = FairPOT(lam=0.5).fit(score, y, sensitive_features=sex)
    >>> TradeoffDisplay.from_estimator(fp).chosen.lam
    0.5
    """

    curve: TradeoffCurve
    chosen: TradeoffPoint | None = None
    max_gap: float | None = None
    signless: bool = False

    @classmethod
    def from_curve(
        cls,
        curve: TradeoffCurve,
        *,
        chosen: TradeoffPoint | float | None = None,
        limit: Limit | UpperLimit | None = None,
        band: Band | tuple[Any, Any] | None = None,
        max_gap: float | None = None,
        ax: Any = None,
    ) -> Self:
        """Draw a curve.

        Parameters
        ----------
        curve : TradeoffCurve
            What ``tradeoff`` of a fitted method returned.
        chosen : TradeoffPoint, repair strength, or None, default None
            The point to mark.
        limit : Limit or UpperLimit, default None
            Of the same rows, see :func:`fairpot.tradeoff.auc_limit`.
        band : Band, or two arrays of shape (len(curve),), default None
            What ``curve.band()`` returns, limits of the gap without its sign; or lower and upper limits of the
            signed gap.
        max_gap : float, default None
            The largest gap that you accept, drawn as a strip.
        {ax}
        """
        columns: dict[str, NDArray[Any]] = dict(curve.settings())
        columns |= {name: getattr(curve, name) for name in ("auc", "gap", "signed_gap", "pareto")}
        columns |= curve.pair_columns()
        if limit is not None:
            columns |= limit.along(curve, signed=not isinstance(band, Band))
        if band is not None:
            columns |= dict(zip(("gap_low", "gap_high"), _limits(curve, band)))
        # On an exact curve a value lies inside an interval on which nothing changes: it keeps its own name.
        point = replace(curve.at(chosen), lam=float(chosen)) if isinstance(chosen, int | float) else chosen
        return cls(columns, curve, point, max_gap, signless=isinstance(band, Band))._drawn(ax)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        scores: Any = None,
        y: Any = None,
        *,
        sensitive_features: Any = None,
        sample_weight: Any = None,
        **options: Any,
    ) -> Self:
        """Draw a fitted repair method's curve, with its own point marked.

        Parameters
        ----------
        estimator : fitted repair method, such as FairPOT
            Its own point is marked.
        scores : column of shape (n,) or (n, 1), ScoreTable, or None, default None
            The rows to trace it on; None takes the fitted rows.
        {y, sensitive_features, sample_weight}
        **options
            What ``from_curve`` takes, ``ax`` among them.
        """
        weights = {"sensitive_features": sensitive_features, "sample_weight": sample_weight}
        curve = estimator.tradeoff(scores, y, **weights)
        if "chosen" not in options:
            value = float(estimator.strength_)
            try:
                options["chosen"] = replace(curve.at(value), lam=value)
            except ValueError:  # a grid without it
                options["chosen"] = estimator.tradeoff(scores, y, **weights, lams=[estimator.strength_]).point(0)
        options.setdefault("max_gap", getattr(estimator, "max_gap", None))
        return cls.from_curve(curve, **options)

    @property
    def signed(self) -> bool:
        """Whether the gap is drawn with its sign: it has one where two groups are compared."""
        return len(self.curve.moved) < 2 and not self.signless

    def plot(self, ax: Any = None) -> Any:
        """Draw."""
        [axes] = make_axes(ax)
        gap, auc = self.columns["signed_gap" if self.signed else "gap"], self.columns["auc"]
        shown = few(len(auc), _MOST_POINTS)
        if self.max_gap is not None:
            left = -self.max_gap if self.signed else 0.0
            axes.axvspan(left, self.max_gap, color="0.92", lw=0, label=f"gap of at most {self.max_gap:g}")
        self._draw_limit(axes, gap)
        if "gap_low" in self.columns:
            self._draw_band(axes, auc)
        dial, exact = self.curve.dial, self.curve.exact
        values = f"every {dial}" if exact else f"{len(self.curve)} values of {dial}"
        axes.plot(gap[shown], auc[shown], color=COLOURS[0], lw=1.6, label=values)
        best = np.flatnonzero(self.columns["pareto"])
        best = best[few(len(best), 40)]
        axes.plot(gap[best], auc[best], "o", color=COLOURS[0], ms=4, mfc="white", label="nothing beats it in both")
        self._draw_points(axes, gap, auc)
        if self.signed:
            axes.axvline(0, color="0.5", lw=0.8)
        axes.set(xlabel=self._gap_label(), ylabel="AUC")
        set_title(axes, "Trade-off of AUC and gap")
        axes.margins(x=0.08, y=0.1)
        add_legend(axes, grow=ax is None)
        return axes

    def _gap_label(self) -> str:
        alpha = self.curve.alpha
        gap = "xAUC gap" if alpha is None else f"xAUC gap in the top {100 * alpha:.4g}%"
        if self.signed:
            return wrapped(f"{gap} (above 0: {plain(self.curve.reference)} ranked higher)", 60)
        return gap if self.curve.pairs is None else f"{gap}, the largest of any two groups"

    def _draw_band(self, axes: Any, auc: NDArray[np.float64]) -> None:
        """Shade between the limits, piece by piece: AUC may go back and forth along the dial."""
        low, high = self.columns["gap_low"], self.columns["gap_high"]
        known = np.flatnonzero(np.isfinite(low) & np.isfinite(high))
        known = known[few(len(known), _MOST_POINTS)] if len(known) else known
        corners = np.column_stack((low[known], high[known], auc[known])).tolist()
        pieces = [sorted(two, key=lambda corner: corner[2]) for two in itertools.pairwise(corners)]
        # All pieces turn the same way round, so that none is cut out of another.
        outlines = [[(a[0], a[2]), (a[1], a[2]), (b[1], b[2]), (b[0], b[2]), (a[0], a[2])] for a, b in pieces]
        if outlines:
            path = import_optional("matplotlib.path", "plot").Path
            patches = import_optional("matplotlib.patches", "plot")
            shape = path.make_compound_path(*(path(outline, closed=True) for outline in outlines))
            patch = patches.PathPatch(shape, color=COLOURS[0], alpha=0.15, lw=0, label="interval of the gap")
            axes.add_patch(patch)

    def _draw_limit(self, axes: Any, gap: NDArray[np.float64]) -> None:
        if "limit_auc" in self.columns:
            order = np.argsort(gap)
            order = order[few(len(order), _MOST_POINTS)]
            most = "best possible on these rows" + (", at most" if len(self.curve.moved) > 1 else "")
            for name, ls, label in (("limit_auc", ":", most), ("reachable_auc", "--", "within reach")):
                if np.isfinite(self.columns[name]).any():
                    axes.plot(gap[order], self.columns[name][order], color="black", lw=1.0, ls=ls, label=label)

    def _draw_points(self, axes: Any, gap: NDArray[np.float64], auc: NDArray[np.float64]) -> None:
        unmoved = self.curve.unmoved
        if unmoved is not None:
            axes.plot(gap[unmoved], auc[unmoved], "s", color="black", ms=7, label="original", zorder=4)
        if self.chosen is not None:
            x = self.chosen.signed_gap if self.signed else self.chosen.gap
            label = f"chosen: {self.curve.dial} = {self.chosen.lam:.3g}"
            axes.plot(x, self.chosen.auc, "*", color=COLOURS[1], ms=15, mec="white", label=label, zorder=5)


def _limits(curve: TradeoffCurve, band: Band | tuple[Any, Any]) -> list[NDArray[np.float64]]:
    """Give lower and upper limits at each point of the curve; NaN where a band, which may have fewer, has none."""
    if not isinstance(band, Band):
        return [np.asarray(end, dtype=np.float64) for end in band]
    places = [int(np.argmin(np.abs(curve.lam - value))) for value in band.values]
    ends = [np.full(len(curve), np.nan) for _ in range(2)]
    for end, values in zip(ends, (band.gap.low, band.gap.high)):
        end[places] = values
    return ends


@documented
@dataclass(frozen=True, eq=False, repr=False)
class ComparisonDisplay(Display):
    """Draw AUC against the gap for every method that was compared, with the limit.

    The columns are those of ``result.frame()``.

    Examples
    --------
    >>> from fairpot import compare
    >>> from fairpot.datasets import make_synthetic
    >>> from fairpot.display import ComparisonDisplay
    >>> data = make_synthetic(n=600, random_state=5)
    >>> result = compare(data.target, data.probability, sensitive_features=data.group, methods=["FairPOT"], cv=2)
    >>> ComparisonDisplay.from_comparison(result).values("method")
    ['unrepaired', 'FairPOT']
    """

    result: Any

    @classmethod
    def from_comparison(cls, result: Any, *, ax: Any = None) -> Self:
        """Draw what :func:`fairpot.compare` returned.

        Parameters
        ----------
        result : Comparison
            What :func:`fairpot.compare` returned.
        {ax}
        """
        names = ("method", "dial", "value", "auc", "gap", "signed_gap", "distance_to_limit", "pareto")
        return cls({name: getattr(result.points, name) for name in names}, result)._drawn(ax)

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
            several = isinstance(self.result.limit, UpperLimit)
            most = "best possible on these rows, at most" if several else "best possible on these rows"
            axes.plot(line, self.result.limit.auc_at(line), color="black", lw=1, ls=":", label=most)
            if self.result.limit.optimism is not None:
                axes.plot(line, self.result.limit.reachable_at(line), color="black", lw=1, label="within reach")
        for place, method in enumerate(self.result.methods):
            rows = np.flatnonzero((self.columns["method"] == method) & seen)
            single = {"marker": "o"} if len(rows) < 3 else {}
            axes.plot(gap[rows], auc[rows], lw=1.7, label=method, **look(place) | single)
        axes.plot(gap[0], auc[0], "s", color="black", ms=7, label="original", zorder=4)
        if signed:
            axes.axvline(0, color="0.5", lw=0.8)
        ahead = f" (above 0: {plain(self.result.reference)} ranked higher)" if signed else ""
        axes.set(xlim=(left, right), xlabel=wrapped(f"xAUC gap{ahead}", 60), ylabel="AUC")
        set_title(axes, "Methods on rows that they were not fitted on")
        add_legend(axes, grow=ax is None)
        return axes
