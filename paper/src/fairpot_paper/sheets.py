"""How a figure is made: rows of tidy columns by key, panels with a legend and a footer, one look for all.

A figure is drawn half as large again as it is printed (17 cm), so sizes in points here are 1.5 times those on paper.
"""

from __future__ import annotations

import csv
import math
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairpot._optional import import_optional
from fairpot.display.axes import COLOURS
from fairpot.tradeoff import pareto_mask

Columns = Mapping[str, Sequence[Any]]
Places = NDArray[np.intp]
CURVE_KEYS = ("data", "model", "region", "source", "ties", "method")
ALPHA_KEYS = ("data", "model", "region", "ties")


class Rows:
    """Columns of the same length, with the places of the rows that share a key.

    Examples
    --------
    >>> rows = Rows({"data": ["bank", "bank", "compas"], "auc": [0.8, 0.7, 0.6]}, ["data"])
    >>> rows.values("auc", rows.at("bank"))
    array([0.8, 0.7])
    """

    def __init__(self, columns: Columns, keys: Sequence[str]) -> None:
        self.columns = columns
        found: dict[tuple[Any, ...], list[int]] = {}
        for place, key in enumerate(zip(*(columns.get(name, ()) for name in keys))):
            found.setdefault(key, []).append(place)
        self._places = {key: np.array(places, dtype=np.intp) for key, places in found.items()}
        self._numbers: dict[str, NDArray[np.float64]] = {}

    def at(self, *key: str) -> Places:
        """Return the places of the rows with this key, in their order; none where there are none."""
        return self._places.get(key, np.zeros(0, dtype=np.intp))

    def values(self, name: str, places: Places) -> NDArray[np.float64]:
        """Return the numbers of one column at these places."""
        if not len(places):  # a table without rows need not have columns
            return np.zeros(0)
        if name not in self._numbers:
            self._numbers[name] = np.asarray(self.columns[name], dtype=np.float64)
        return self._numbers[name][places]

    def known(self, places: Places, *names: str) -> Places:
        """Leave out the rows in which one of these columns is not a number."""
        good = np.ones(len(places), dtype=bool)
        for name in names:
            good &= np.isfinite(self.values(name, places))
        return places[good]


def write_rows(columns: Columns, places: Iterable[int], path: Path) -> Path:
    """Write the rows at these places as CSV; a number that is not there is an empty field."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(columns)
        for place in places:
            writer.writerow(_field(values[place]) for values in columns.values())
    return path


def read_rows(path: Path) -> list[dict[str, Any]]:
    """Read rows that `write_rows` wrote: numbers as numbers, an empty field as None."""
    with path.open(newline="", encoding="utf-8") as file:
        return [{name: _value(text) for name, text in row.items()} for row in csv.DictReader(file)]


def _value(text: str) -> Any:
    if not text:
        return None
    try:
        return float(text)
    except ValueError:
        return text


def _field(value: Any) -> Any:
    return "" if isinstance(value, float) and math.isnan(value) else value


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
    "xorder": Look(COLOURS[1], (0, (8, 2)), 0.8, "D", size=6.0),
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
        figure.draw_without_rendering()
        figure.set_layout_engine("none")
        for ax in figure.axes:  # the layout's last digits change from run to run, and SVG names its parts by all digits
            ax.set_position(np.round(ax.get_position(original=True).bounds, 6))
        figure.savefig(svg, format="svg", metadata={"Date": None, "Creator": None})
        figure.savefig(png, format="png", dpi=150, metadata={"Software": None})
    return [svg, png]


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
