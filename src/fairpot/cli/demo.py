"""``fairpot demo``: the whole job on generated people, command by command."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path

import click

from fairpot.cli._errors import Failure
from fairpot.cli._options import Sectioned, output_options
from fairpot.cli._printing import Output
from fairpot.cli.datasets import scored_table, write_table
from fairpot.datasets import make_synthetic
from fairpot.rows.output import complete_file

_PEOPLE, _SEED = 6000, 7


@dataclass(frozen=True)
class DemoDocument:
    """The files of the demo, and the commands that made them."""

    folder: str
    files: tuple[str, ...]
    commands: tuple[str, ...]


@click.command(cls=Sectioned, short_help="Run the whole job on generated people.")
@click.argument("folder", default="fairpot-demo", metavar="[FOLDER]")
@click.option("--force", is_flag=True, help="Replace files of an earlier run.")
@output_options
def demo(folder: str, force: bool, out: Output) -> None:
    """Run the whole job on generated people: audit, fit, check on held-out rows, apply, audit again.

    Every command is shown before its output, so that it can be repeated with a file of your own.

    \b
    Example:
      fairpot demo
      fairpot demo somewhere/else --force
    """
    place = _folder(folder)
    names = {name: place / name for name in ("past.csv", "new.csv", "map.json", "adjusted.csv", "changes.csv")}
    _write_people(names["past.csv"], names["new.csv"], force, out)
    past, new, model, adjusted, changes = map(str, names.values())
    again = ["--force"] if force else []
    commands = [
        ["audit", past],
        ["fit", past, "--max-gap", "0.02", "--validate", new, "-o", model, *again],
        ["show", model],
        ["apply", model, new, "-o", adjusted, "--changes", changes, "--threshold", "0.5", *again],
        ["audit", adjusted, "--score", "score_adjusted"],
    ]
    for command in commands:
        _run(command, out)
    shown = ["fairpot " + shlex.join(command) for command in commands]
    out.document(DemoDocument(folder, tuple(map(str, names.values())), tuple(shown)))
    out.heading(f"Done. The files are in {folder}; `fairpot audit --help` is where your own file begins.")


def _folder(name: str) -> Path:
    place = Path(name)
    try:
        place.mkdir(parents=True, exist_ok=True)
    except FileExistsError:
        raise Failure(f"{name} is a file, not a folder.\nHint: name another folder for the demo's files.") from None
    return place


def _write_people(past: Path, new: Path, force: bool, out: Output) -> None:
    """Score generated people out of fold, and put half of them into each file."""
    out.line(f"{_PEOPLE:,} generated people, scored by a logistic regression: half of them past, half new.")
    with complete_file(past, overwrite=force) as first, complete_file(new, overwrite=force) as second:
        with out.progress("scoring", known=False):
            table = scored_table(make_synthetic(_PEOPLE, random_state=_SEED), _SEED)
        half = table.num_rows // 2
        write_table(table.slice(0, half), first, past)
        write_table(table.slice(half), second, new)


def _run(command: list[str], out: Output) -> None:
    out.heading("$ fairpot " + shlex.join(command))
    out.line()
    quietly = [*command, "--quiet"] if out.silent else command
    root = click.get_current_context().find_root().command
    with root.make_context("fairpot", quietly) as context:
        root.invoke(context)
