"""What commands print: lines and tables that fit the terminal, JSON for programs, small pictures."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import click
import numpy as np
from numpy.typing import NDArray

from fairpot._validation import wording
from fairpot._version import __version__
from fairpot.cli._settings import in_force
from fairpot.results.kinds import to_dict
from fairpot.words import FRACTIONS, gap_name
from fairpot.words.tables import command_lines, table_lines, wrapped

if TYPE_CHECKING:
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
        " " * 11 + gap_name(curve.alpha).rjust(width),
        f"0 {curve.dial}=0   . other {curve.dial}   o nothing beats it in both   X chosen",
    ]


def _places(values: NDArray[np.float64], low: float, high: float, size: int) -> NDArray[np.intp]:
    span = (high - low) or 1.0
    return np.rint((values - low) / span * (size - 1)).astype(np.intp)


class Report(Protocol):
    """Told how far a command is, and what it is doing."""

    def __call__(self, done: float, doing: str | None = None, /) -> object:
        """Take the share of the work that is done, from 0 to 1."""


_FEW = 3  # notes that are shown unless all are asked for
# The form of the JSON documents; it changes when a key goes or changes its meaning.
DOCUMENT = 2
_STYLES: dict[str, dict[str, Any]] = {
    "bold": {"bold": True},
    "dim": {"dim": True},
    "good": {"fg": "green"},
    "bad": {"fg": "red", "bold": True},
    "note": {"fg": "yellow"},
}


class Output:
    """Where a command's answer goes.

    Parameters
    ----------
    as_json : bool
        Write one JSON document on standard output and nothing else there.
    quiet : bool
        Write nothing but errors (and the JSON document, if that is asked for).
    """

    def __init__(self, *, as_json: bool = False, quiet: bool = False) -> None:
        self.as_json = as_json
        self.quiet = quiet
        self.silent = as_json or quiet
        self.on_terminal = _is_terminal(sys.stdout) and not self.silent

    @property
    def width(self) -> int | None:
        """How wide lines may be; in a pipe they are as long as they are."""
        return max(shutil.get_terminal_size().columns, 20) if self.on_terminal else None

    @property
    def plot_width(self) -> int:
        """How wide a picture may be."""
        return max(20, min(60, (self.width or 80) - 14))

    def document(self, content: Any) -> None:
        """Write a record, or what another distribution's command has, as the JSON document, if that is asked for."""
        if self.as_json:
            context = click.get_current_context(silent=True)
            head: dict[str, Any] = {
                "version": __version__,
                "document": DOCUMENT,
                "command": context.info_name if context else None,
            }
            head["settings"] = in_force(context)
            known = content if isinstance(content, dict) else to_dict(content)
            click.echo(json.dumps(plain({"fairpot": head, **known}), allow_nan=False, indent=2))

    def line(self, text: str = "", style: str | None = None) -> None:
        """Write a line of text, broken between words where a terminal is too narrow for it."""
        if self.silent:
            return
        for part in wrapped(text, self.width):
            styled = click.style(part, **_STYLES[style]) if style and self.on_terminal and not _plain() else part
            click.echo(styled, color=self.on_terminal)

    def lines(self, texts: Sequence[str]) -> None:
        """Write sentences, the first of them in bold: it is the answer."""
        for place, text in enumerate(texts):
            self.line(shown(text), "bold" if place == 0 else None)

    def command(self, command: Sequence[str]) -> None:
        """Write the command that comes next, ready to be pasted."""
        [first, *others] = command_lines(list(map(shown, command)), None if self.width is None else self.width - 6)
        for line in [] if self.silent else [f"Next: {first}", *others]:
            click.echo(line)

    def heading(self, text: str) -> None:
        """Write what the following lines are about, after an empty line."""
        self.line()
        self.line(text, "bold")

    def table(self, title: str, columns: Sequence[str], rows: Sequence[Sequence[str]], *, texts: int = 1) -> None:
        """Write a table under its title; its first columns are text and its others numbers."""
        if not self.silent:
            self.heading(title)
            for line in table_lines(columns, rows, texts=texts, width=self.width):
                click.echo(line)

    def notes(self, texts: Sequence[str], *, everything: bool = True) -> None:
        """Write notes; those after the third are counted, unless all are asked for."""
        shown_here = texts if everything or len(texts) <= _FEW + 1 else texts[:_FEW]
        for text in shown_here:
            self.note(text)
        if len(shown_here) < len(texts):
            self.line(f"and {len(texts) - len(shown_here)} more notes: --all shows them", "note")

    def note(self, text: str) -> None:
        """Write a note that belongs to the answer, on one line."""
        self.line(f"note: {shown(' '.join(text.split()))}", "note")

    @contextmanager
    def progress(self, what: str, *, known: bool = True) -> Iterator[Report | None]:
        """Give a callable that takes the share done, from 0 to 1, and what is being done; None where nobody looks."""
        if self.silent or not _is_terminal(sys.stderr):
            yield None
            return
        # Loaded where a bar is drawn alone.
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

        console = Console(file=sys.stderr, markup=False, emoji=False)
        columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
        with Progress(*columns, console=console, transient=True) as bar:
            task = bar.add_task(shown(what), total=1.0 if known else None)

            def report(done: float, doing: str | None = None) -> None:
                bar.update(task, completed=done, description=shown(what if doing is None else f"{what}: {doing}"))

            yield report


def _is_terminal(stream: Any) -> bool:
    """Whether people look at a stream: it is a terminal, or somebody says that it is."""
    if os.environ.get("FORCE_COLOR"):
        return True
    return stream is not None and not stream.closed and stream.isatty() and os.environ.get("TERM") != "dumb"


def _plain() -> bool:
    return bool(os.environ.get("NO_COLOR"))


def shown(value: Any) -> str:
    """Show a name as text; what is no printable character is escaped, so that it cannot steer a terminal."""
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in str(value))


figure = FRACTIONS.figure


def count(value: float | None) -> str:
    """Show a number of rows, which weights may have made a fraction."""
    if value is None:
        return "-"
    return wording.shown_rows(value)


def percent(part: float, whole: float) -> str:
    """Show a share."""
    return f"{part / whole:.1%}" if whole else "-"


def plain(value: Any) -> Any:
    """Turn a value into what JSON knows; names of groups keep their type where it has one."""
    if isinstance(value, dict):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    if isinstance(value, np.ndarray | np.generic):
        return plain(value.tolist())
    if isinstance(value, float) and not np.isfinite(value):
        return None
    return value if value is None or isinstance(value, str | int | float | bool) else str(value)
