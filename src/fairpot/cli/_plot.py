"""Small pictures made of characters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fairpot.tradeoff.curve import TradeoffCurve


class Marks(NamedTuple):
    """Points that share a character; later marks lie on top of earlier ones."""

    x: NDArray[np.float64]
    y: NDArray[np.float64]
    mark: str


def picture(layers: Sequence[Marks], *, width: int = 60, height: int = 14) -> list[str]:
    """Draw points with characters, x to the right and y upwards, with the ends of both axes.

    Examples
    --------
    >>> print(*picture([Marks(np.array([0.0, 1.0]), np.array([2.0, 4.0]), "o")], width=5, height=3), sep="\\n")
            4 |    o
              |
            2 |o
              +-----
               0   1
    """
    x, y = (np.concatenate([getattr(layer, axis) for layer in layers]) for axis in "xy")
    canvas = np.full((height, width), " ")
    for layer in layers:
        column = _places(layer.x, float(x.min()), float(x.max()), width)
        row = height - 1 - _places(layer.y, float(y.min()), float(y.max()), height)
        canvas[row, column] = layer.mark
    ends = {0: f"{y.max():.4g}", height - 1: f"{y.min():.4g}"}
    lines = [f"{ends.get(i, ''):>9} |{''.join(row)}".rstrip() for i, row in enumerate(canvas)]
    left, right = f"{x.min():.4g}", f"{x.max():.4g}"
    return [*lines, " " * 10 + "+" + "-" * width, " " * 11 + left + right.rjust(width - len(left))]


def curve_picture(curve: TradeoffCurve, chosen: tuple[float, float] | None, *, width: int = 60) -> list[str]:
    """Draw a trade-off curve, gap to the right and AUC upwards, with the chosen point (gap, AUC)."""
    layers = [Marks(curve.gap, curve.auc, "."), Marks(curve.gap[curve.pareto], curve.auc[curve.pareto], "o")]
    if curve.lam.ndim == 1 and curve.lam[0] == 0:
        layers.append(Marks(curve.gap[:1], curve.auc[:1], "0"))
    if chosen is not None:
        layers.append(Marks(np.array([chosen[0]]), np.array([chosen[1]]), "X"))
    return [
        "AUC",
        *picture(layers, width=width),
        " " * 11 + "xAUC gap".rjust(width),
        f"0 {curve.dial}=0   . other {curve.dial}   o nothing beats it in both   X chosen",
    ]


def _places(values: NDArray[np.float64], low: float, high: float, size: int) -> NDArray[np.intp]:
    span = (high - low) or 1.0
    return np.rint((values - low) / span * (size - 1)).astype(np.intp)
