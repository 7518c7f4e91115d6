"""What all Displays share: the ways to make one, the table behind the picture, and how groups look."""

from __future__ import annotations

import textwrap
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from fairpot._docs import documented
from fairpot._optional import import_optional, make_frame
from fairpot._svg import COLOURS as COLOURS
from fairpot._svg import short
from fairpot.counting import as_table
from fairpot.table import Maps, ScoreTable

# Eight colours, five lines and nine markers: no two of the three numbers have a divisor in common, so that colour and
# line together repeat after 40 groups only, and colour and marker after 72.
LINES: tuple[Any, ...] = ("-", "--", "-.", ":", (0, (6, 1.5, 1, 1.5, 1, 1.5)))
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">")
# Before and after look alike in every picture, and like no group.
STATES: dict[str, dict[str, Any]] = {
    "before": {"color": "#767676", "marker": "o", "mfc": "white"},
    "after": {"color": "#111111", "marker": "s"},
}
_LONGEST_NAME, _WIDE = 40, 24  # letters of a name, and of a line of it
_MOST_INSIDE = 6  # entries of a legend that leave room for the picture
_LINE_INCHES, _LETTER_INCHES, _HANDLE_INCHES = 0.16, 0.064, 0.6


def look(place: int, *, marked: bool = False) -> dict[str, Any]:
    """Return colour and line (and marker, if ``marked``) of the group at one place: no two of 40 look alike."""
    style = {"color": COLOURS[place % len(COLOURS)], "linestyle": LINES[place % len(LINES)]}
    return style | ({"marker": MARKERS[place % len(MARKERS)]} if marked else {})


def plain(group: Hashable) -> str:
    """Give a group's name on one line, cut if it is very long."""
    return short(group, _LONGEST_NAME)


def named(group: Hashable) -> str:
    """Show a group's name, in lines of bounded width."""
    return wrapped(plain(group), _WIDE)


def wrapped(text: str, wide: int) -> str:
    """Break a text into lines of so many letters, at spaces where there are some; none of it is a formula."""
    lines = "\n".join(textwrap.wrap(text, wide, break_on_hyphens=False))
    # A label that begins with an underscore would be left out of a legend, and $...$ would be set as mathematics.
    return ("\u200b" if text.startswith("_") else "") + lines.replace("$", r"\$")


def make_axes(ax: Any, count: int = 1, *, height: float = 4.4, width: float | None = None, **options: Any) -> list[Any]:
    """Return the axes to draw in: those given, or new ones side by side."""
    plt = import_optional("matplotlib.pyplot", "plot")
    if ax is None:
        wide = (6.4 if count == 1 else 4.8) if width is None else width
        _, made = plt.subplots(1, count, figsize=(wide * count, height), layout="constrained", squeeze=False, **options)
        return list(made[0])
    given = list(ax.ravel()) if hasattr(ax, "ravel") else list(ax) if isinstance(ax, Sequence) else [ax]
    if len(given) != count:
        raise ValueError(
            f"this picture has {count} panels, and ax has {len(given)}.\n"
            f"Hint: figure, axes = plt.subplots(1, {count}), then plot(ax=axes); or leave ax out."
        )
    return given


def one_or_all(panels: Mapping[str, Any]) -> Any:
    """Return the axes of a picture: of one panel itself, of several a list."""
    axes = list(panels.values())
    return axes if len(axes) > 1 else axes[0]


def few(size: int, most: int) -> NDArray[np.intp]:
    """Choose so many places evenly, both ends among them."""
    return np.unique(np.linspace(0, size - 1, min(size, most)).round().astype(np.intp))


def set_title(panel: Any, text: str, state: str = "") -> None:
    """Say above a panel what it shows."""
    panel.set_title(f"{text}, {state}" if state else text, loc="left", fontsize="medium")


def add_legend(ax: Any, *, grow: bool = False, of_all: bool = True, **options: Any) -> None:
    """Put a short legend where it covers least, and one that is long, or of long names, below the axes.

    ``grow`` makes the figure higher by the legend, where the figure is ours to change; ``of_all`` if the legend is that
    of all its panels.
    """
    drawn = dict(zip(*reversed(ax.get_legend_handles_labels())))  # what is drawn again is named once
    style = {"frameon": False, "fontsize": "small", "handlelength": 3.2, "handles": list(drawn.values())}
    letters = max((len(line) for name in drawn for line in name.split("\n")), default=0)
    lines = max((name.count("\n") + 1 for name in drawn), default=1)
    if len(drawn) <= _MOST_INSIDE and lines == 1 and letters <= 2 * _WIDE:
        ax.legend(**style | options)
        return
    figure, box = ax.figure, ax.get_window_extent()
    inches = figure.get_figwidth() - 0.3 if grow and of_all else box.width / figure.dpi
    columns = max(int(inches / (_HANDLE_INCHES + _LETTER_INCHES * letters)), 1)
    high = _LINE_INCHES * lines * -(-len(drawn) // columns) + 0.2
    if grow:
        figure.set_figheight(figure.get_figheight() + high)
    if grow and of_all:
        figure.legend(**style, loc="outside lower left", ncols=columns)
        return
    below = 0.62  # inches, for the ticks and their label
    place = {"loc": "upper left", "borderaxespad": 0.0, "ncols": columns}
    ax.legend(**style, **place, bbox_to_anchor=(0.0, -below / max(box.height / figure.dpi, 1.0)))
    if figure.get_layout_engine() is None:  # an engine makes room by itself
        _make_room(ax, (high + below) / figure.get_figheight())


def _make_room(ax: Any, below: float) -> None:
    """Lift axes by so much of the figure, of which half stays theirs."""
    place = ax.get_subplotspec()
    box = ax.get_position() if place is None else place.get_position(ax.figure)
    lifted = max(box.y0, min(below, box.y0 + box.height / 2))
    ax.set_position((box.x0, lifted, box.width, box.y1 - lifted))


Columns = dict[str, NDArray[Any]]
BEFORE, AFTER = "before", "after"


@dataclass(frozen=True, eq=False, repr=False)
class Display:
    """A picture and the tidy table it is drawn from. What begins with ``from_`` draws at once; ``plot`` draws again."""

    columns: Columns  # the table, one array a column, all of the same length
    ax_: Any = field(default=None, init=False)  # where ``from_`` drew; a picture of two panels has two
    figure_: Any = field(default=None, init=False)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(next(iter(self.columns.values())))} rows: {', '.join(self.columns)})"

    def frame(self) -> Any:
        """Return the table that the picture shows (pandas, Polars or PyArrow, whichever is in use)."""
        return make_frame(self.columns)

    def plot(self, ax: Any = None) -> Any:
        """Draw."""
        raise NotImplementedError

    def _drawn(self, ax: Any, **options: Any) -> Self:
        plot: Any = self.plot  # each display has options of its own
        axes = plot(ax, **options)
        object.__setattr__(self, "ax_", axes)
        object.__setattr__(self, "figure_", (axes[0] if isinstance(axes, list) else axes).figure)
        return self

    def where(self, **values: Any) -> Columns:
        """Return the rows in which columns have these values."""
        keep = np.ones(len(next(iter(self.columns.values()))), dtype=bool)
        for name, value in values.items():
            keep &= self.columns[name] == value
        return {name: column[keep] for name, column in self.columns.items()}

    def values(self, name: str) -> list[Any]:
        """List the different values of a column in the order in which they come."""
        return list(dict.fromkeys(self.columns[name].tolist()))


@documented
class TableDisplay(Display):
    """A Display of a score table, and with maps of what they make of it."""

    @classmethod
    def from_table(cls, table: ScoreTable, maps: Maps | None = None, *, ax: Any = None) -> Self:
        """Draw counted rows, before and, with maps, after a repair."""
        raise NotImplementedError

    def _panels(self, ax: Any, title: str, **options: Any) -> dict[str, Any]:
        """Give the axes to draw each state in, and say above them what they show."""
        found = self.values("state")
        panels = dict(zip(found, make_axes(ax, len(found), **options)))
        for state, panel in panels.items():
            set_title(panel, title, state if len(found) > 1 else "")
        return panels

    @classmethod
    def from_predictions(
        cls,
        y_true: Any,
        y_score: Any,
        *,
        sensitive_features: Any,
        sample_weight: Any = None,
        clusters: Any = None,
        weights: str | None = None,
        pos_label: Any = None,
        maps: Maps | None = None,
        ax: Any = None,
        **options: Any,
    ) -> Self:
        """Draw rows, before and, with maps, after a repair.

        Parameters
        ----------
        {y_true, y_score, sensitive_features, sample_weight, clusters, weights, pos_label, maps, ax}
        **options
            What ``from_table`` takes.
        """
        known = {"sample_weight": sample_weight, "clusters": clusters, "weights": weights, "pos_label": pos_label}
        table = as_table(y_true, y_score, sensitive_features=sensitive_features, **known)
        make: Any = cls.from_table  # each display has options of its own
        return make(table, maps, ax=ax, **options)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        scores: Any = None,
        y: Any = None,
        *,
        sensitive_features: Any = None,
        sample_weight: Any = None,
        clusters: Any = None,
        weights: str | None = None,
        ax: Any = None,
        **options: Any,
    ) -> Self:
        """Draw what a fitted repair method does, before and after.

        Parameters
        ----------
        estimator : fitted repair method, such as FairPOT
            The repair to show.
        scores : column of shape (n,) or (n, 1), ScoreTable, or None, default None
            The rows to show it on; None takes the fitted rows.
        {y, sensitive_features, sample_weight, clusters, weights, ax}
        **options
            What ``from_table`` takes.
        """
        table = table_of(estimator, scores, y, sensitive_features, sample_weight, clusters, weights)
        maps = estimator if hasattr(estimator, "maps_on") else estimator.fair_maps_
        make: Any = cls.from_table
        return make(table, maps.maps_on(table), ax=ax, **options)


def table_of(
    estimator: Any,
    scores: Any,
    y: Any,
    sensitive_features: Any,
    sample_weight: Any,
    clusters: Any = None,
    weights: str | None = None,
) -> ScoreTable:
    """Count the rows to show an estimator on; without any, take those it was fitted on."""
    if all(given is None for given in (scores, y, sensitive_features, sample_weight, clusters, weights)):
        table = getattr(estimator, "table_", None)
        if table is None:
            raise ValueError(
                f"this {type(estimator).__name__} does not keep the rows it was fitted on.\n"
                "Hint: pass scores, y and sensitive_features."
            )
        return table
    return as_table(
        y,
        scores,
        sensitive_features=sensitive_features,
        sample_weight=sample_weight,
        clusters=clusters,
        weights=weights,
        grouped=sensitive_features is not None,
        pos_label=None if isinstance(scores, ScoreTable) else getattr(estimator, "pos_label", None),
        names=("y", "scores"),
    )


def states(table: ScoreTable, maps: Maps | None) -> dict[str, ScoreTable]:
    """Return the table before and, with maps, after they are applied."""
    if not table.labelled:
        raise ValueError("this picture shows outcomes, and the table has no labels.\nHint: count rows with y_true.")
    if maps is None:
        return {BEFORE: table}
    return {BEFORE: table, AFTER: table.rescored(maps)}


def stack(parts: Sequence[Mapping[str, Any]]) -> Columns:
    """Put parts with the same columns under one another; a single value stands in every row of its part."""
    whole = []
    for part in parts:
        size = max((len(v) for v in part.values() if isinstance(v, np.ndarray)), default=1)
        whole.append({name: _filled(value, size) for name, value in part.items()})
    return {name: np.concatenate([part[name] for part in whole]) for name in whole[0]}


def _filled(value: Any, size: int) -> NDArray[Any]:
    if isinstance(value, np.ndarray):
        return value
    return np.full(size, value, dtype=object if isinstance(value, str) else None)
