"""How the figures look: one style for all, told apart by marker and line as well as by colour.

A figure is drawn half as large again as it is printed (17 cm), so sizes in points here are 1.5 times those on paper.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fairpot._optional import import_optional
from fairpot.display.display import COLOURS, LINES

FULL_WIDTH = 1.5 * 17 / 2.54
_STYLE: dict[str, Any] = {
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.labelsize": 10.5,
    "axes.linewidth": 0.8,
    "axes.titlesize": 10.5,
    "figure.titlesize": 12,
    "font.family": "DejaVu Sans",  # comes with matplotlib: the same letters everywhere
    "font.size": 10,
    "grid.color": "0.9",
    "grid.linewidth": 0.6,
    "legend.fontsize": 10,
    "svg.hashsalt": "fairpot",
    "xtick.labelsize": 9.5,
    "ytick.labelsize": 9.5,
}


@dataclass(frozen=True)
class Look:
    """Colour, line and marker of one method."""

    colour: str
    line: Any = "-"
    width: float = 1.2
    marker: str = ""
    filled: bool = True
    size: float = 6.0
    edge: float = 1.1
    order: float = 4.0

    def line_options(self) -> dict[str, Any]:
        """Return what draws its line."""
        return {"color": self.colour, "linestyle": self.line, "linewidth": self.width}

    def mark_options(self) -> dict[str, Any]:
        """Return what draws its marks; a white edge keeps neighbours apart."""
        face, edge = (self.colour, "white") if self.filled else ("none", self.colour)
        width = 0.5 if self.filled else self.edge
        options = {"marker": self.marker, "markersize": self.size}
        return options | {"markerfacecolor": face, "markeredgecolor": edge, "markeredgewidth": width}


BLACK = "#000000"
# The square is a frame, above all others: a method's own first point is seen in it.
LOOKS: dict[str, Look] = {
    "fairpot": Look(COLOURS[0], "-", 1.8, "o", size=6.5),
    "fairpot_boundary": Look(COLOURS[0], ":", 1.3, "o", filled=False, size=9.0),
    "fairpot_switched": Look(COLOURS[1], "--", 1.3, "D", filled=False, size=6.5),
    "xorder": Look(COLOURS[1], LINES[6], 0.8, "D", size=6.0),
    "post_logit": Look(COLOURS[2], "", 0.0, "P", size=9.0),
    "wasserstein": Look(COLOURS[3], "-.", 1.3, "v", size=8.5),
    "optimal_merge": Look(COLOURS[4], "-", 0.9),
    "limit": Look(BLACK, "--", 1.0),
    "unadjusted": Look(BLACK, "", 0.0, "s", filled=False, size=10.0, edge=1.8, order=5.0),
    "xgboost": Look(BLACK, "", 0.0, "^", size=9.0, order=4.5),
}
# Models against alpha, in the order of a legend.
MODEL_LOOKS: tuple[Look, ...] = (
    Look(BLACK, "--", 1.2, "s", size=6.0),
    Look(COLOURS[0], "-", 1.4, "o", size=6.5),
    Look(COLOURS[1], "-.", 1.4, "D", size=6.0),
    Look(COLOURS[2], ":", 1.6, "^", size=7.5),
)


def print_style() -> AbstractContextManager[None]:
    """Return a context in which matplotlib has this style and nothing of the user's own; both come back after it."""
    made: AbstractContextManager[None] = import_optional("matplotlib.style", "plot").context(["default", _STYLE])
    return made


def save_figure(figure: Any, stem: Path) -> list[Path]:
    """Write a figure as SVG and as PNG, the same bytes each time."""
    stem.parent.mkdir(parents=True, exist_ok=True)
    svg, png = (stem.with_name(f"{stem.name}.{kind}") for kind in ("svg", "png"))
    with print_style():
        figure.savefig(svg, format="svg", metadata={"Date": None, "Creator": None})
        figure.savefig(png, format="png", dpi=150, metadata={"Software": None})
    return [svg, png]
