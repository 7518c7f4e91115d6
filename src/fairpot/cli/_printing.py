"""What commands print: lines and tables that fit the terminal, and JSON for programs."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Self

import click
import numpy as np

from fairpot._optional import import_optional
from fairpot._validation import wording
from fairpot._version import __version__
from fairpot.cli._settings import in_force
from fairpot.results.kinds import INLINE, Group, to_dict
from fairpot.table import QuantisationBound
from fairpot.words import FRACTIONS, name_of, quantised
from fairpot.words.tables import command_lines, table_lines, wrapped

Inline = INLINE  # a field of a document whose own fields stand in its place
# Told the share of a command's work that is done, from 0 to 1, and what it is doing.
Report = Callable[..., object]


@dataclass(frozen=True)
class Value:
    """A number of one group."""

    group: Group
    value: float

    @classmethod
    def each(cls, values: Mapping[Hashable, float]) -> tuple[Self, ...]:
        return tuple(cls(group, float(value)) for group, value in values.items())


@dataclass(frozen=True)
class Quantised:
    """How far AUC, an xAUC and a score can be off where scores were put into bins."""

    auc: float
    xauc: float
    score: float

    @classmethod
    def of(cls, bound: QuantisationBound | None) -> Self | None:
        return None if bound is None else cls(bound.auc, float(bound.xauc.max()), bound.score)

    @property
    def text(self) -> str:
        return quantised(self.auc, self.xauc, self.score)


@dataclass(frozen=True)
class Dial:
    """The repair strength: one, or one for each group."""

    name: str
    value: float | None
    groups: tuple[Value, ...] = ()

    @classmethod
    def of(cls, name: str, value: Any) -> Self:
        return cls(name, None, Value.each(value)) if isinstance(value, Mapping) else cls(name, value)

    def text(self, columns: Sequence[str]) -> str:
        """Show it, with the groups as their columns call them."""
        each = [f"{one.value:.3g} ({shown(name_of(one.group, columns))})" for one in self.groups]
        return f"{self.name} = {', '.join(each) if each else f'{self.value:.3g}'}"


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
    """Where a command's answer goes: one JSON document on standard output, or lines; nothing but errors if quiet."""

    def __init__(self, *, as_json: bool = False, quiet: bool = False) -> None:
        self.as_json = as_json
        self.silent = as_json or quiet
        self.on_terminal = _is_terminal(sys.stdout) and not self.silent

    @property
    def width(self) -> int | None:
        """How wide lines may be; in a pipe they are as long as they are."""
        return max(shutil.get_terminal_size().columns, 20) if self.on_terminal else None

    def document(self, content: Any) -> None:
        """Write a record, or what another distribution's command has, as the JSON document, if that is asked for."""
        if self.as_json:
            if sys.stdout is None:  # closed from the start: nobody can read the answer
                raise BrokenPipeError
            context = click.get_current_context(silent=True)
            command = context.info_name if context else None
            head = {"version": __version__, "document": DOCUMENT, "command": command, "settings": in_force(context)}
            known = content if isinstance(content, dict) else to_dict(content)
            click.echo(json.dumps(plain({"fairpot": head, **known}), allow_nan=False, indent=2))

    def line(self, text: str = "", style: str | None = None) -> None:
        """Write a line of text, broken between words where a terminal is too narrow for it."""
        if self.silent:
            return
        for part in wrapped(text, self.width):
            coloured = style and self.on_terminal and not os.environ.get("NO_COLOR")
            click.echo(click.style(part, **_STYLES[str(style)]) if coloured else part, color=self.on_terminal)

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
        rich = import_optional("rich.progress", "cli")  # loaded where a bar is drawn alone
        console = import_optional("rich.console", "cli").Console(file=sys.stderr)
        columns = (rich.TextColumn("{task.description}", markup=False), rich.BarColumn(), rich.TaskProgressColumn())
        with rich.Progress(*columns, rich.TimeRemainingColumn(), console=console, transient=True) as bar:
            task = bar.add_task(shown(what), total=1.0 if known else None)

            def report(done: float, doing: str | None = None) -> None:
                bar.update(task, completed=done, description=shown(what if doing is None else f"{what}: {doing}"))

            yield report


def _is_terminal(stream: Any) -> bool:
    """Whether people look at a stream: it is a terminal, or somebody says that it is."""
    if os.environ.get("FORCE_COLOR"):
        return True
    return stream is not None and not stream.closed and stream.isatty() and os.environ.get("TERM") != "dumb"


def shown(value: Any) -> str:
    """Show a name as text; what is no printable character is escaped, so that it cannot steer a terminal."""
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in str(value))


figure = FRACTIONS.figure


def count(value: float | None) -> str:
    return "-" if value is None else wording.shown_rows(value)


def percent(part: float, whole: float) -> str:
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
