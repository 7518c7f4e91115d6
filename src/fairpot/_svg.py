"""Elements of SVG and HTML, axes and lines; everything that comes from the data is escaped."""

from __future__ import annotations

import html
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


def printable(text: str) -> str:
    """Show what is no character of a text (controls, surrogates, marks that turn its direction) as its code."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in "\n\u200d" else c.encode("unicode_escape").decode() for c in text)


def escaped(text: str) -> str:
    return html.escape(printable(text))


class Markup(str):
    """Text that is markup already."""

    __slots__ = ()

    def __html__(self) -> str:
        return self


def tag(name: str, /, *children: Any, **attributes: Any) -> Markup:
    """Make an element: texts are escaped, None and False left out; ``class_`` is class, ``data_k`` data-k."""
    written = "".join(_attribute(key, value) for key, value in attributes.items())
    return Markup(f"<{name}{written}>{join(*children)}</{name}>")


def join(*children: Any) -> Markup:
    """Put children one after another; lists are taken apart."""
    parts: list[str] = []
    for child in children:
        if isinstance(child, list | tuple):
            parts.append(join(*child))
        elif child is not None and child is not False:
            parts.append(child if isinstance(child, Markup) else html.escape(printable(str(child)), quote=False))
    return Markup("".join(parts))


def _attribute(key: str, value: Any) -> str:
    if value is None or value is False:
        return ""
    name = key.rstrip("_").replace("_", "-")
    return f" {name}" if value is True else f' {name}="{html.escape(printable(str(value)))}"'


WIDTH, HEIGHT = 420, 302
_LEFT, _RIGHT, _TOP, _BOTTOM = 76, 408, 12, 246
# Lines are drawn twice as large and shrunk, so that whole numbers are fine enough.
FINE = 2


@dataclass(frozen=True)
class Frame:
    """The inside of a figure: from data to places."""

    x: tuple[float, float]
    y: tuple[float, float]

    @classmethod
    def around(cls, xs: Any, ys: Any, *, margin: float = 0.05) -> Frame:
        """Fit a frame around data, with a margin."""
        return cls(_widened(xs, margin), _widened(ys, margin))

    def across(self, values: Any) -> NDArray[np.int64]:
        return _placed(values, self.x, _LEFT, _RIGHT)

    def up(self, values: Any) -> NDArray[np.int64]:
        return _placed(values, self.y, _BOTTOM, _TOP)

    def axes(self, xlabel: str, ylabel: str, *, share: bool = False) -> list[Markup]:
        """Draw ticks, grid lines and labels; that below may have two lines."""
        parts = [tag("rect", x=_LEFT, y=_TOP, width=_RIGHT - _LEFT, height=_BOTTOM - _TOP, class_="frame")]
        for value in ticks(*self.x):
            at = self.across([value])[0] / FINE
            parts.append(tag("path", d=f"M{at:g} {_TOP}V{_BOTTOM}", class_="grid"))
            parts.append(tag("text", tick_text(value, self.x), x=f"{at:g}", y=_BOTTOM + 15, class_="tick mid"))
        for value in ticks(*self.y):
            at = self.up([value])[0] / FINE
            parts.append(tag("path", d=f"M{_LEFT} {at:g}H{_RIGHT}", class_="grid"))
            written = f"{100 * abs(value):g}%" if share else tick_text(value, self.y)
            parts.append(tag("text", written, x=_LEFT - 6, y=f"{at + 4:g}", class_="tick end"))
        middle = (_LEFT + _RIGHT) / 2
        for k, said in enumerate(xlabel.split("\n")):
            parts.append(tag("text", said, x=f"{middle:g}", y=_BOTTOM + 33 + 16 * k, class_="axis mid"))
        turned = f"rotate(-90 14 {(_TOP + _BOTTOM) / 2:g})"
        return [*parts, tag("text", ylabel, x=14, y=f"{(_TOP + _BOTTOM) / 2:g}", class_="axis mid", transform=turned)]


def _widened(values: Any, margin: float) -> tuple[float, float]:
    clean = np.asarray(values, dtype=np.float64)
    clean = clean[np.isfinite(clean)]
    if len(clean) == 0:
        return 0.0, 1.0
    low, high = float(clean.min()), float(clean.max())
    room = margin * (high / 2 - low / 2) * 2
    if low == high:
        room = max(abs(low), 1.0) * 0.05
    return low - room, high + room


def _placed(values: Any, span: tuple[float, float], start: int, end: int) -> NDArray[np.int64]:
    low, high = span
    # Halved, since the widest range of floats is wider than a float.
    share = (np.asarray(values, dtype=np.float64) / 2 - low / 2) / (high / 2 - low / 2)
    return np.rint(FINE * (start + np.clip(share, -0.2, 1.2) * (end - start))).astype(np.int64)


def ticks(low: float, high: float, about: int = 5) -> list[float]:
    """Choose round values inside a range."""
    rough = (high / 2 - low / 2) / about * 2
    size = 10.0 ** math.floor(math.log10(rough))
    step = next(size * nice for nice in (1, 2, 5, 10) if size * nice >= rough * 0.99)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [round(k * step, 12 - math.floor(math.log10(step))) + 0.0 for k in range(first, last + 1)]


def tick_text(value: float, span: Sequence[float]) -> str:
    """Write a tick with the decimals that its axis needs."""
    width = abs(span[1] / 2 - span[0] / 2) * 2
    size = max(abs(span[0]), abs(span[1]))
    if size >= 1e5 or size < 1e-3:
        mantissa, exponent = f"{value:.1e}".split("e")
        return "0" if value == 0 else f"{mantissa}e{int(exponent)}"
    digits = max(0, math.ceil(-math.log10(width) + 0.7)) if width < 20 else 0
    return f"{value:.{digits}f}"


def line(xs: Iterable[int], ys: Iterable[int]) -> str:
    corners = "L".join(f"{x} {y}" for x, y in zip(xs, ys))
    return "M" + corners if corners else ""


def steps(edges: Sequence[int], tops: Sequence[int], base: int) -> str:
    """Write a histogram as a closed path on its base."""
    return f"M{edges[0]} {base}" + "".join(f"V{top}H{edge}" for top, edge in zip(tops, edges[1:])) + f"V{base}"


def figure_svg(label: str, body: Markup) -> Markup:
    """Wrap the inside of a figure into an SVG picture; ``label`` has the ids of what names and describes it."""
    return tag("svg", body, viewBox=f"0 0 {WIDTH} {HEIGHT}", role="img", aria_labelledby=label, class_="chart")


# About how wide a letter of a label is, and how far apart lines of text stand.
_LETTER, _STEP, _LONGEST = 8.4, 16, 38


def direct_labels(labels: Sequence[tuple[int, int, str] | tuple[int, int, str, str]]) -> Markup:
    """Write names beside lines and marks, given in half-pixels, none on top of another and all inside the frame."""
    parts: list[Markup] = []
    used: list[tuple[float, float, float]] = []
    for x, y, name, *look in labels:
        name = short(name, _LONGEST)
        width = _LETTER * len(name)
        left = min(max(x / FINE + 8, _LEFT + 4), max(_RIGHT - 4 - width, _LEFT + 4))
        down = min(max(y / FINE - 6, _TOP + 11), _BOTTOM - 4)
        heights = [down, *(down + sign * k * _STEP for k in range(1, 20) for sign in (1, -1))]
        beside = [at for first, right, at in used if left < right and first < left + width]
        free = [h for h in heights if _TOP + 11 <= h <= _BOTTOM - 4 and all(abs(h - at) >= _STEP for at in beside)]
        down = free[0] if free else down
        used.append((left, left + width, down))
        parts.append(tag("text", name, x=f"{left:g}", y=f"{down:g}", class_=" ".join(("direct", *look))))
    return tag("g", parts)


def inside(*parts: Any) -> Markup:
    return tag("g", *parts, transform=f"scale({1 / FINE:g})", class_="lines")


def short(name: Any, longest: int = 30) -> str:
    """Cut a long name in its middle, between words if it can be: names that begin alike often differ at their ends."""
    text = " ".join(str(name).split())
    if len(text) <= longest:
        return text
    text = " ".join(text.replace("…", " ").split())  # it may have been cut before
    at = text.find(" ", len(text) - longest // 3 - 1)
    tail = text[(text.rfind(" ") if at < 0 else at) + 1 :]
    tail = tail if len(tail) <= longest // 2 else text[-(longest // 3) :]
    room = longest - len(tail) - 3
    head = text[: room + 1].rpartition(" ")[0]
    return f"{head if len(head) > room // 3 else text[:room]} … {tail}"


def distinct(names: Iterable[Any], longest: int) -> dict[Any, str]:
    """Cut long names, each by its name; where two would look alike, all are cut less."""
    known = list(names)
    for size in range(longest, max((len(str(name)) for name in known), default=0) + 4, 4):
        cut = {name: short(name, size) for name in known}
        if len(set(cut.values())) == len(cut):
            return cut
    return {name: str(name) for name in known}  # they differ in their spaces alone


# The palette of pictures, report, notebooks and docs: each colour is dark enough to be read as text on white, 4.5 to 1.
# In the dark a report has the same hues, lighter.
COLOURS = ("#0072b2", "#b84300", "#3a3f47", "#d0337f", "#5b4bb5", "#827717", "#00724f", "#8a2be2")
DARK = ("#5cb8f0", "#ff9a57", "#d5d9e0", "#ff8fbf", "#b3a6ff", "#d8cf5a", "#3fd0a2", "#d69bff")
