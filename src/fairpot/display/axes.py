"""What all pictures share: axes, legends that leave room, names of groups, and how each group looks."""

from __future__ import annotations

import textwrap
from collections.abc import Hashable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairpot._optional import import_optional
from fairpot._svg import COLOURS as COLOURS
from fairpot._svg import short

# Eight colours and five lines: without a common divisor, so that both together repeat after 40 groups only.
LINES: tuple[Any, ...] = ("-", "--", "-.", ":", (0, (6, 1.5, 1, 1.5, 1, 1.5)))
_LONGEST_NAME, _WIDE = 40, 24  # letters of a name, and of a line of it
_MOST_INSIDE = 6  # entries of a legend that leave room for the picture
_LINE_INCHES, _LETTER_INCHES, _HANDLE_INCHES = 0.16, 0.064, 0.6


def look(place: int) -> dict[str, Any]:
    """Return colour and line of the group at one place: no two of 40 look alike."""
    return {"color": COLOURS[place % len(COLOURS)], "linestyle": LINES[place % len(LINES)]}


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


def make_axes(ax: Any, *, height: float = 4.4, width: float = 6.4) -> Any:
    """Return the axes to draw in: those given, or new ones."""
    plt = import_optional("matplotlib.pyplot", "plot")
    if ax is None:
        return plt.subplots(figsize=(width, height), layout="constrained")[1]
    if not hasattr(ax, "plot"):
        raise TypeError(f"ax must be one matplotlib axes, got {type(ax).__name__}.\nHint: figure, ax = plt.subplots().")
    return ax


def few(size: int, most: int) -> NDArray[np.intp]:
    """Choose so many places evenly, both ends among them."""
    return np.unique(np.linspace(0, size - 1, min(size, most)).round().astype(np.intp))


def set_title(panel: Any, text: str) -> None:
    """Say above a panel what it shows."""
    panel.set_title(text, loc="left", fontsize="medium")


def add_legend(ax: Any, *, grow: bool = False, **options: Any) -> None:
    """Put a legend where it covers least; a long one below, in a figure of ours, which may ``grow`` by it."""
    drawn = dict(zip(*reversed(ax.get_legend_handles_labels())))  # what is drawn again is named once
    style = {"frameon": False, "fontsize": "small", "handlelength": 3.2, "handles": list(drawn.values())}
    letters = max((len(line) for name in drawn for line in name.split("\n")), default=0)
    lines = max((name.count("\n") + 1 for name in drawn), default=1)
    if not grow or (len(drawn) <= _MOST_INSIDE and lines == 1 and letters <= 2 * _WIDE):
        ax.legend(**style | options)
        return
    figure = ax.figure
    columns = max(int((figure.get_figwidth() - 0.3) / (_HANDLE_INCHES + _LETTER_INCHES * letters)), 1)
    figure.set_figheight(figure.get_figheight() + _LINE_INCHES * lines * -(-len(drawn) // columns) + 0.2)
    figure.legend(**style, loc="outside lower left", ncols=columns)
