"""A sheet of panels: what is drawn in each, from which rows, and the legend and footer that all share."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairpot._optional import import_optional
from fairpot_paper.figures.rows import Places, Rows, write_rows
from fairpot_paper.figures.styling import FULL_WIDTH, Look, save_figure
from fairpot.tradeoff import pareto_mask

Array = NDArray[np.float64]
Pick = Callable[[Array], NDArray[np.bool_]]
Span = tuple[float, float]
_ROW_OF_LEGEND = 0.26  # inches, as the next
_ROW_OF_FOOTER = 0.18
_LETTERS_PER_INCH = 13.5


@dataclass
class Sheet:
    """A figure with its panels, and the places of the rows that were drawn in them.

    Attributes
    ----------
    figure : matplotlib Figure
    axes : array of matplotlib Axes, of shape (rows, columns)
    rows : Rows
    """

    figure: Any
    axes: Any
    rows: Rows
    _drawn: list[Places] = field(default_factory=list)
    _legend: dict[str, dict[str, Any]] = field(default_factory=dict)

    @classmethod
    def of(cls, rows: Rows, height: int, width: int, title: str, row_inches: float = 2.5) -> Sheet:
        """Make a sheet with empty panels: full width from four panels on."""
        # A Figure by itself: no window, and the user's choice of where to draw is left alone.
        inches = FULL_WIDTH * (1.0 if width >= 4 else (0.72, 0.72, 0.86)[width - 1])
        make = import_optional("matplotlib.figure", "plot").Figure
        figure = make(figsize=(inches, row_inches * height + 0.6), layout="constrained")
        figure.suptitle(title)
        return cls(figure, figure.subplots(height, width, squeeze=False), rows)

    @property
    def drawn(self) -> list[int]:
        """The places of all rows drawn, each once, in the order of the columns."""
        return sorted({int(place) for places in self._drawn for place in places})

    def note(self, places: Places, label: str, **options: Any) -> None:
        """Remember that rows were drawn, and how, for the legend; what has no label is not in it."""
        if len(places):
            self._drawn.append(places)
            self._legend[label] = self._legend.get(label, {}) | options

    def explain(self, label: str, **options: Any) -> None:
        """Add a line to the legend that is about several methods."""
        self._legend[label] = options

    def finish(self, footer: str) -> Sheet:
        """Put the legend and the footer below the panels, and make room for them."""
        line = import_optional("matplotlib.lines", "plot").Line2D
        width, height = self.figure.get_size_inches()
        text = textwrap.wrap(footer, int(width * _LETTERS_PER_INCH))
        handles = [
            line([], [], **({"linestyle": ""} | look), label=label) for label, look in self._legend.items() if label
        ]
        columns = _columns([handle.get_label() for handle in handles], width)
        low = _ROW_OF_FOOTER * len(text) + 0.08
        room = low + _ROW_OF_LEGEND * -(-len(handles) // columns) + 0.1
        height += room
        self.figure.set_size_inches(width, height)
        self.figure.get_layout_engine().set(rect=(0, room / height, 1, 1 - room / height))
        place = {"loc": "lower center", "bbox_to_anchor": (0.5, low / height), "borderaxespad": 0.0}
        self.figure.legend(handles=handles, ncols=columns, frameon=False, handlelength=3.2, **place)
        self.figure.text(0.5, 0.06 / height, "\n".join(text), ha="center", va="bottom", fontsize=9, color="0.25")
        return self

    def save(self, folder: Path, name: str, **replaced: Sequence[Any]) -> list[Path]:
        """Write the figure and the rows behind it; ``replaced`` are columns that the figure counted anew."""
        paths = save_figure(self.figure, folder / name)
        return [*paths, write_rows({**self.rows.columns, **replaced}, self.drawn, folder / f"{name}.csv")]


def _columns(labels: Sequence[str], width: float) -> int:
    """Return how many columns of a legend fit into a width, filled from above as matplotlib fills them."""
    for columns in range(len(labels), 1, -1):
        parts = np.array_split([0.75 + 0.08 * len(label) for label in labels], columns)
        if sum(part.max() for part in parts) <= width:
            return columns
    return 1


def whole(dial: Array) -> NDArray[np.bool_]:
    """Pick every value of a dial."""
    return np.ones(len(dial), dtype=bool)


def eleven(dial: Array) -> NDArray[np.bool_]:
    """Pick the paper's eleven values.

    Examples
    --------
    >>> eleven(np.array([0.0, 0.05, 0.1, 0.7000000000000001]))
    array([ True, False,  True,  True])
    """
    return np.asarray(np.abs(dial * 10 - np.round(dial * 10)) < 1e-6)


def full(dial: Array) -> NDArray[np.bool_]:
    """Pick the end of a dial from 0 to 1."""
    return dial == 1.0


@dataclass(frozen=True)
class Layer:
    """One method in a panel: which values of its dial, as a line, as marks or as both.

    Limits of a panel are chosen from the layers that are ``framed``; the others are drawn as far as they are inside.
    ``best`` keeps the points that no other of the layer beats, and joins them by steps.
    """

    method: str
    label: str
    look: Look
    pick: Pick = whole
    line: bool = False
    marks: bool = False
    framed: bool = True
    x: str = "gap"
    best: bool = False

    def places(self, rows: Rows, where: Sequence[str], source: str, ties: str) -> Places:
        """Find its rows: fitted on this source, or not fitted at all. ``where`` is data, model and region."""
        found = [rows.at(*where, each, ties, self.method) for each in (source, "test")]
        places = np.concatenate(found)
        places = places[np.argsort(rows.values("dial", places), kind="stable")]
        places = rows.known(places[self.pick(rows.values("dial", places))], self.x, "auc")
        return _frontier(rows, places) if self.best else places


def _frontier(rows: Rows, places: Places) -> Places:
    """Keep the points that no other of these beats, from the smallest gap up."""
    best = places[pareto_mask(rows.values("gap", places), rows.values("auc", places))]
    return best[np.argsort(rows.values("gap", best), kind="stable")]


def span_of(rows: Rows, places: Places, name: str, bars: bool) -> Span:
    """Return the range of the values at these places, with a margin; with bars, of their ends."""
    values = rows.values(name, places)
    reach = np.nan_to_num(rows.values(f"{name}_sd", places)) if bars else np.zeros(len(values))
    low, high = float((values - reach).min()), float((values + reach).max())
    low = min(low, 0.0) if name == "gap" else low
    margin = 0.07 * (high - low) or 0.01
    return low - margin, high + margin


def draw_layer(sheet: Sheet, ax: Any, layer: Layer, places: Places, bars: bool) -> None:
    """Draw the rows at these places; those of a layer that is not framed as far as they are inside the panel."""
    rows, look = sheet.rows, layer.look
    options = look.line_options() if layer.line else {"linestyle": "", "color": look.colour}
    options |= look.mark_options() if layer.marks else {}
    stepwise = {"drawstyle": "steps-post"} if layer.best else {}
    for piece in [places] if layer.framed else _inside(places, rows.values(layer.x, places), ax.get_xlim()):
        x, y = rows.values(layer.x, piece), rows.values("auc", piece)
        ax.plot(x, y, **options, **stepwise, zorder=look.order if layer.marks else 3)
        sheet.note(piece, layer.label, **{key: value for key, value in options.items() if value != ""})
    if bars and layer.marks:
        add_bars(ax, rows, places, layer.x, "auc", look.colour)


def _inside(places: Places, x: Array, limits: Span) -> list[Places]:
    """Return the stretches of a line whose points are between the limits."""
    inside = np.flatnonzero((x >= limits[0]) & (x <= limits[1]))
    return [places[piece] for piece in np.split(inside, np.flatnonzero(np.diff(inside) > 1) + 1) if len(piece)]


def add_bars(ax: Any, rows: Rows, places: Places, x: str, y: str, colour: str) -> None:
    """Add bars of one standard deviation where there is one: a single seed has none. No bars along alpha."""
    places = rows.known(places, f"{y}_sd")
    if len(places):
        across = None if x == "alpha" else rows.values(f"{x}_sd", places)
        options = {"fmt": "none", "ecolor": colour, "elinewidth": 0.9, "alpha": 0.6, "zorder": 2}
        ax.errorbar(
            rows.values(x, places), rows.values(y, places), rows.values(f"{y}_sd", places), xerr=across, **options
        )
