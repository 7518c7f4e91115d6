"""AUC against the gap: the curve of one method, its band, what is possible, and all methods of a comparison."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import numpy as np

from fairpot._optional import import_optional
from fairpot._validation import wording
from fairpot.display.axes import COLOURS, add_legend, few, look, make_axes, plain, set_title, wrapped
from fairpot.inference import Band
from fairpot.tradeoff import Limit, TradeoffCurve, TradeoffPoint

_MOST_POINTS = 2000
_BEST = {"color": "black", "lw": 1.0, "ls": ":"}
_ORIGINAL = {"color": "black", "ms": 7, "label": "original", "zorder": 4}


def draw_curve(
    curve: TradeoffCurve,
    ax: Any = None,
    *,
    chosen: TradeoffPoint | float | None = None,
    limit: Limit | None = None,
    band: Band | None = None,
    max_gap: float | None = None,
) -> Any:
    """Draw AUC against the gap over the repair strength: the points nothing beats, a band, the limit, the choice.

    With more than two groups, and with a band, the gap has no sign. See :meth:`fairpot.tradeoff.TradeoffCurve.plot`.
    """
    axes = make_axes(ax)
    signed = len(curve.moved) < 2 and band is None
    gap, auc = curve.signed_gap if signed else curve.gap, curve.auc
    if max_gap is not None:
        axes.axvspan(-max_gap if signed else 0.0, max_gap, color="0.92", lw=0, label=f"gap of at most {max_gap:g}")
    if limit is not None:
        order = np.argsort(gap)
        order = order[few(len(order), _MOST_POINTS)]
        best_auc = limit.along(curve)
        if band is not None:  # of the gap without its sign, whichever group is ranked higher
            best_auc = np.maximum(limit.auc_at(curve.gap), limit.auc_at(-curve.gap))
        axes.plot(gap[order], best_auc[order], label=_best(limit), **_BEST)
    if band is not None:
        _draw_gap_band(axes, band, curve)
    shown = few(len(auc), _MOST_POINTS)
    values = f"every {curve.dial}" if curve.exact else f"{len(curve)} values of {curve.dial}"
    axes.plot(gap[shown], auc[shown], color=COLOURS[0], lw=1.6, label=values)
    best = np.flatnonzero(curve.pareto)
    best = best[few(len(best), 40)]
    axes.plot(gap[best], auc[best], "o", color=COLOURS[0], ms=4, mfc="white", label="nothing beats it in both")
    if curve.unmoved is not None:
        axes.plot(gap[curve.unmoved], auc[curve.unmoved], "s", **_ORIGINAL)
    if chosen is not None:
        # On an exact curve a value lies inside an interval on which nothing changes: it keeps its own name.
        point = replace(curve.at(chosen), lam=float(chosen)) if isinstance(chosen, int | float) else chosen
        star = {"color": COLOURS[1], "ms": 15, "mec": "white", "label": f"chosen: {curve.dial} = {point.lam:.3g}"}
        axes.plot(point.signed_gap if signed else point.gap, point.auc, "*", **star, zorder=5)
    if signed:
        axes.axvline(0, color="0.5", lw=0.8)
    axes.set(xlabel=_gap_label(curve, signed), ylabel="AUC")
    set_title(axes, "Trade-off of AUC and gap")
    axes.margins(x=0.08, y=0.1)
    add_legend(axes, grow=ax is None)
    return axes


def _best(limit: Limit) -> str:
    return "best possible on these rows" + (", at most" if limit.many else "")


def _gap_label(curve: TradeoffCurve, signed: bool) -> str:
    gap = f"xAUC gap{wording.in_top(curve.top)}"
    if signed:
        return wrapped(f"{gap} (above 0: {plain(curve.reference)} ranked higher)", 60)
    return gap if curve.pairs is None else f"{gap}, the largest of any two groups"


def _draw_gap_band(axes: Any, band: Band, curve: TradeoffCurve) -> None:
    """Shade between the limits of the gap, piece by piece: AUC may go back and forth along the dial."""
    places = np.array([int(np.argmin(np.abs(curve.lam - value))) for value in band.values])
    limits = np.column_stack((band.gap.low, band.gap.high, curve.auc[places]))
    limits = limits[np.isfinite(limits[:, :2]).all(axis=1)]
    corners = limits[few(len(limits), _MOST_POINTS)].tolist() if len(limits) else []
    pieces = [sorted(two, key=lambda corner: corner[2]) for two in itertools.pairwise(corners)]
    # All pieces turn the same way round, so that none is cut out of another.
    outlines = [[(a[0], a[2]), (a[1], a[2]), (b[1], b[2]), (b[0], b[2]), (a[0], a[2])] for a, b in pieces]
    if outlines:
        path = import_optional("matplotlib.path", "plot").Path
        patches = import_optional("matplotlib.patches", "plot")
        shape = path.make_compound_path(*(path(outline, closed=True) for outline in outlines))
        axes.add_patch(patches.PathPatch(shape, color=COLOURS[0], alpha=0.15, lw=0, label="interval of the gap"))


def draw_comparison(result: Any, ax: Any = None) -> Any:
    """Draw AUC against the gap for every method; points far beyond the original gap are left out of sight."""
    axes = make_axes(ax)
    points, limit = result.points, result.limit
    signed = bool(np.isfinite(points.signed_gap).all())
    gap, auc = points.signed_gap if signed else points.gap, points.auc
    right = 1.15 * float(np.abs(gap[0])) or 0.1
    left = -0.35 * right if signed else -0.02 * right
    if limit is not None:
        line = np.linspace(left, right, 200)
        axes.plot(line, limit.auc_at(line), label=_best(limit), **_BEST)
    for place, method in enumerate(result.methods):
        rows = np.flatnonzero((points.method == method) & (gap >= left) & (gap <= right))
        single = {"marker": "o"} if len(rows) < 3 else {}
        axes.plot(gap[rows], auc[rows], lw=1.7, label=method, **look(place) | single)
    axes.plot(gap[0], auc[0], "s", **_ORIGINAL)
    if signed:
        axes.axvline(0, color="0.5", lw=0.8)
    ahead = f" (above 0: {plain(result.reference)} ranked higher)" if signed else ""
    axes.set(xlim=(left, right), xlabel=wrapped(f"xAUC gap{ahead}", 60), ylabel="AUC")
    set_title(axes, "Methods on rows that they were not fitted on")
    add_legend(axes, grow=ax is None)
    return axes
