"""What commands print: rich tables on a terminal, plain columns in a pipe, JSON for programs, small pictures."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import click
import numpy as np
from numpy.typing import NDArray
from rich import box
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from fairpot._validation import wording
from fairpot._version import __version__
from fairpot.cli._settings import in_force
from fairpot.words import gap_name

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


_FEW = 3  # warnings that are shown unless all are asked for
# The form of the JSON documents; it changes when a key goes or changes its meaning.
DOCUMENT = 1


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
        self.console = Console(file=sys.stdout, markup=False, emoji=False, highlight=False)

    @property
    def on_terminal(self) -> bool:
        """Whether people look at a terminal: room for colours and pictures."""
        return self.console.is_terminal and not self.silent

    @property
    def plot_width(self) -> int:
        """How wide a picture may be."""
        return max(20, min(60, self.console.width - 14))

    def document(self, content: dict[str, Any]) -> None:
        """Write the JSON document, if that is asked for."""
        if self.as_json:
            context = click.get_current_context(silent=True)
            head: dict[str, Any] = {
                "version": __version__,
                "document": DOCUMENT,
                "command": context.info_name if context else None,
            }
            head["settings"] = in_force(context)
            click.echo(json.dumps(plain({"fairpot": head, **content}), allow_nan=False, indent=2))

    def line(self, text: str = "", style: str | None = None) -> None:
        """Write a line of text."""
        if self.silent:
            return
        if self.on_terminal:
            self.console.print(Text(text, style or ""))
        else:
            click.echo(text)

    def heading(self, text: str) -> None:
        """Write what the following lines are about, after an empty line."""
        self.line()
        self.line(text, "bold")

    def table(self, columns: Sequence[str], rows: Sequence[Sequence[str]], *, texts: int = 1) -> None:
        """Write a table whose first columns are text and whose others are numbers."""
        if self.silent:
            return
        if not self.on_terminal:
            for line in plain_table(columns, rows, texts):
                click.echo(line)
            return
        for part in fitting(columns, rows, texts, self.console.width):
            made = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
            for place in part:
                text = place < texts
                made.add_column(
                    Text(columns[place]), justify="left" if text else "right", no_wrap=not text, overflow="fold"
                )
            for row in rows:
                made.add_row(*(Text(row[place]) for place in part))
            self.console.print(made)

    def warnings(self, texts: Sequence[str], *, everything: bool = True) -> None:
        """Write warnings; those after the third are counted, unless all are asked for."""
        shown_here = texts if everything or len(texts) <= _FEW + 1 else texts[:_FEW]
        for text in shown_here:
            self.warning(text)
        if len(shown_here) < len(texts):
            self.line(f"and {len(texts) - len(shown_here)} more warnings: --all shows them", "yellow")

    def warning(self, text: str) -> None:
        """Write a warning that belongs to the answer, on one line."""
        self.line(f"warning: {shown(' '.join(text.split()))}", "yellow")

    @contextmanager
    def progress(self, what: str, *, known: bool = True) -> Iterator[Report | None]:
        """Give a callable that takes the share done, from 0 to 1, and what is being done; None where nobody looks."""
        console = Console(file=sys.stderr, markup=False, emoji=False)
        if self.silent or not console.is_terminal:
            yield None
            return
        columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
        with Progress(*columns, console=console, transient=True) as bar:
            task = bar.add_task(shown(what), total=1.0 if known else None)

            def report(done: float, doing: str | None = None) -> None:
                bar.update(task, completed=done, description=shown(what if doing is None else f"{what}: {doing}"))

            yield report


def fitting(columns: Sequence[str], rows: Sequence[Sequence[str]], texts: int, width: int) -> list[list[int]]:
    """Share out columns over as many tables as it takes: numbers are never cut, texts are repeated in each.

    Examples
    --------
    >>> fitting(["group", "a", "b"], [["F", "0.1234", "0.5678"]], 1, 18)
    [[0, 1], [0, 2]]
    """
    widths = [max(len(row[i]) for row in [columns, *rows]) + 2 for i in range(len(columns))]
    named = list(range(texts))
    room = max(width - min(sum(widths[:texts]), width // 2), 1)
    parts: list[list[int]] = [[]]
    used = 0
    for place in range(texts, len(columns)):
        if parts[-1] and used + widths[place] > room:
            parts.append([])
            used = 0
        parts[-1].append(place)
        used += widths[place]
    return [[*named, *part] for part in parts]


def plain_table(columns: Sequence[str], rows: Sequence[Sequence[str]], texts: int = 1) -> list[str]:
    """Align columns with spaces; no line ends in one."""
    cells = [list(columns), *map(list, rows)]
    widths = [max(len(row[i]) for row in cells) for i in range(len(columns))]
    lines = []
    for row in cells:
        padded = [c.ljust(w) if i < texts else c.rjust(w) for i, (c, w) in enumerate(zip(row, widths))]
        lines.append("  ".join(padded).rstrip())
    return lines


def shown(value: Any) -> str:
    """Show a name as text; what is no printable character is escaped, so that it cannot steer a terminal."""
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in str(value))


def number(value: float | None, digits: int = 3) -> str:
    """Show a number; what cannot be measured is a dash."""
    return "-" if value is None else f"{value:.{digits}f}"


def signed(value: float | None, digits: int = 3) -> str:
    """Show a number with its sign."""
    return "-" if value is None else f"{round(value, digits) + 0.0:+.{digits}f}"


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
