"""The group of all commands."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, NoReturn

import click

from fairpot._version import __version__
from fairpot.cli._errors import run
from fairpot.cli.apply import apply
from fairpot.cli.audit import audit
from fairpot.cli.compare import compare
from fairpot.cli.datasets import datasets
from fairpot.cli.demo import demo
from fairpot.cli.export import export
from fairpot.cli.fit import fit
from fairpot.cli.plan import plan
from fairpot.cli.report import report
from fairpot.cli.show import show


class App(click.Group):
    """A group of commands whose errors are one or two lines and an exit code."""

    def main(  # type: ignore[override]
        self, args: Sequence[str] | None = None, prog_name: str | None = None, **extra: Any
    ) -> NoReturn:
        """Run one command and leave with its exit code."""
        arguments = sys.argv[1:] if args is None else list(args)
        for stream in (sys.stdout, sys.stderr):
            with suppress(AttributeError, ValueError):  # names of groups may not fit the terminal's encoding
                stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
        sys.exit(run(lambda: self._invoke(arguments), debug="--debug" in arguments, quiet=_is_quiet(arguments)))

    def _invoke(self, arguments: list[str]) -> None:
        with self.make_context("fairpot", arguments) as context:
            self.invoke(context)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """List the commands in the order they are used."""
        return list(self.commands)


def _is_quiet(arguments: Sequence[str]) -> bool:
    return "--quiet" in arguments or "-q" in arguments


@click.group(cls=App, invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="fairpot")
@click.pass_context
def app(ctx: click.Context) -> None:
    """Audit and repair risk scores: is one group ranked behind another, and what does it cost to change that?

    \b
    A table with a score, an outcome and a group is all it takes:
      fairpot datasets write synthetic scores.csv      something real to try
      fairpot audit scores.csv                         who is ranked above whom
      fairpot fit scores.csv --max-gap 0.02 -o map.json
      fairpot apply map.json scores.csv -o fair.csv

    Columns are called score, label and group unless --score, --label and --group say otherwise. Files may be
    Parquet, CSV, TSV, Arrow or JSON lines. `fairpot COMMAND --help` has an example of each command; --json makes any
    of them answer a program. Exit codes: 0 fine, 2 an error, 3 above the limit of --fail-above, or
    not what --require asks for.
    """
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


for command in (audit, fit, apply, report, export, show, compare, plan, datasets, demo):
    app.add_command(command)
