"""How groups look in a picture: colours that colour-blind people tell apart, and a line and a marker for greyscale."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

from fairpot._optional import import_optional

# Okabe and Ito's palette without its yellow, which nobody sees on white.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")
LINES: tuple[Any, ...] = ("-", "--", "-.", ":", (0, (6, 1.5, 1, 1.5, 1, 1.5)), (0, (1, 1)), (0, (8, 2)))
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
_LONGEST_NAME = 40


def look(place: int, *, marked: bool = False) -> dict[str, Any]:
    """Return colour and line (and marker, if ``marked``) of the group at one place; later ones begin again.

    Examples
    --------
    >>> look(1)
    {'color': '#d55e00', 'linestyle': '--'}
    """
    style = {"color": COLOURS[place % len(COLOURS)], "linestyle": LINES[place % len(LINES)]}
    return style | ({"marker": MARKERS[place % len(MARKERS)]} if marked else {})


def named(group: Hashable) -> str:
    """Show a group's name as plain text of bounded length: no part of it is read as a formula.

    Examples
    --------
    >>> named("under $25")
    'under \\\\$25'
    """
    text = " ".join(str(group).split())
    text = text if len(text) <= _LONGEST_NAME else text[: _LONGEST_NAME - 1] + "…"
    # A label that begins with an underscore would be left out of a legend, and $...$ would be set as mathematics.
    return ("\u200b" if text.startswith("_") else "") + text.replace("$", r"\$")


def make_axes(ax: Any, count: int = 1, **options: Any) -> list[Any]:
    """Return the axes to draw in: those given, or new ones side by side."""
    plt = import_optional("matplotlib.pyplot", "plot")
    if ax is None:
        width = 6.4 if count == 1 else 4.8 * count
        _, made = plt.subplots(1, count, figsize=(width, 4.2), layout="constrained", squeeze=False, **options)
        return list(made[0])
    given = list(ax.ravel()) if hasattr(ax, "ravel") else list(ax) if isinstance(ax, Sequence) else [ax]
    if len(given) != count:
        raise ValueError(
            f"this picture has {count} panels, and ax has {len(given)}.\n"
            f"Hint: figure, axes = plt.subplots(1, {count}), then plot(ax=axes); or leave ax out."
        )
    return given


def add_legend(ax: Any, **options: Any) -> None:
    """Put a legend where it covers least."""
    ax.legend(frameon=False, fontsize="small", **options)
