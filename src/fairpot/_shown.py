"""Results that show themselves: as a frame, as a picture, and in a notebook."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from fairpot._docs import documented
from fairpot._html import html_table, intervals_svg, notes, paragraph
from fairpot._optional import import_optional
from fairpot._optional import make_frame as make_frame


class Bar(NamedTuple):
    """A number with its interval, as pictures draw it; NaN limits where there is none."""

    label: str
    value: float
    low: float = float("nan")
    high: float = float("nan")


def bar(label: str, found: Any) -> Bar:
    """Read a number that may know its limits: an Estimate, or a Change, whose change is meant."""
    value = getattr(found, "change", found)
    known = getattr(found, "reason", None) is None
    ends = [getattr(found, end, None) if known else None for end in ("low", "high")]
    low, high = (float("nan") if end is None else float(end) for end in ends)
    return Bar(label, float("nan") if value is None else float(value), low, high)


def ends_of(name: str, found: Any) -> dict[str, float | None]:
    """Give the columns of a frame for a number: the number, its low and its high; None where there is none."""
    shown = bar(name, found)
    columns = {name: shown.value, f"{name}_low": shown.low, f"{name}_high": shown.high}
    return {key: value if value == value else None for key, value in columns.items()}


def frame_of(rows: Sequence[dict[str, Any]]) -> Any:
    """Make a frame of rows that have the same columns (pandas, Polars or PyArrow, whichever is in use)."""
    return make_frame({name: [_plain(row[name]) for row in rows] for name in rows[0]} if rows else {})


def _plain(value: Any) -> Any:
    return float(value) if isinstance(value, float) else value


def display(name: str) -> Any:
    """Lead to what draws one of the pictures above, by name, when it is asked for."""
    return getattr(import_optional("fairpot.display", "plot"), name)


@documented
class ShownBars:
    """A result whose numbers are drawn one below the other, each with its interval.

    A subclass has ``_listed``, the tidy table, ``_bars``, what the picture shows, and ``_says``, the words.
    """

    _listed: Callable[[], list[dict[str, Any]]]
    _bars: Callable[[], list[Bar]]
    _says: Callable[[], list[str]]

    def frame(self) -> Any:
        """Return the numbers with their limits as a frame (pandas, Polars or PyArrow, whichever is in use)."""
        return frame_of(self._listed())

    def plot(self, ax: Any = None) -> Any:
        """Draw each number with its interval; return the axes.

        {ax}
        """
        return display("draw_intervals")({"": self._bars()}, ax, title=self._says()[0])

    def _repr_html_(self) -> str:
        said, *more = self._says()
        picture = intervals_svg(self._bars(), said)
        return f"<div>{paragraph(said)}{picture}{html_table(self._listed())}{notes(more)}</div>"
