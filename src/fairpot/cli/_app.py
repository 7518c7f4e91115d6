"""The group of all commands, each imported when it is called, and the settings that stand beside the data."""

from __future__ import annotations

import difflib
import importlib
import importlib.util
import os
import sys
import tomllib
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn

import click

from fairpot._version import __version__
from fairpot.cli._errors import Failure, run

NAME = "fairpot.toml"
# Keys of the file, by the parameter of the commands that they set.
_COLUMNS = {"score": "score", "label": "label", "group": "groups", "weight": "weight", "positive": "positive"}
_OPTIONS = {
    "alpha": "alpha",
    "region": "region",
    "ties": "ties",
    "reference": "reference",
    "threshold": "threshold",
    "min_group": "min_group",
    "bound": "bound",
    "level": "level",
    "max_gap": "max_gap",
    "confidence": "confidence",
    "memory": "memory",
}


def find_settings(arguments: Sequence[str]) -> Path | None:
    """Find the settings that are named with --settings, else those beside the first file that is named."""
    for place, word in enumerate(arguments):
        if word == "--settings":
            return Path(arguments[place + 1]) if place + 1 < len(arguments) else None
        if word.startswith("--settings="):
            return Path(word.removeprefix("--settings="))
    for word in arguments[1:]:
        if not word.startswith("-") and os.path.exists(word):
            folder = Path(word) if os.path.isdir(word) else Path(word).parent
            if (folder / NAME).is_file():
                return folder / NAME
    return None


def read_settings(path: Path) -> dict[str, Any]:
    """Read a settings file; return defaults by the names of parameters.

    A file holds ``[columns]`` with score, label, group, weight, positive, and options such as ``alpha = 0.1`` or
    ``bound = 0.05`` at the top. A key that is not known is an error, so that a typing mistake is not a silent default.
    """
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise Failure(f"{path}: {error.strerror}.\nHint: --settings names a file such as {NAME}.") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise Failure(f"{path} is no TOML file: {error}.\nHint: lines such as alpha = 0.1, and [columns].") from error
    columns = content.pop("columns", {})
    if not isinstance(columns, dict):
        raise Failure(f"{path}: columns must be a section, [columns].")
    found = _renamed(columns, _COLUMNS, f"{path}, [columns]") | _renamed(content, _OPTIONS, str(path))
    if isinstance(found.get("groups"), str):
        found["groups"] = [found["groups"]]
    return found


def _renamed(given: dict[str, Any], known: dict[str, str], where: str) -> dict[str, Any]:
    unknown = [key for key in given if key not in known]
    if unknown:
        way_out = f"known are {', '.join(known)}"
        if unknown[0] in _COLUMNS:
            way_out = f"{unknown[0]} is the name of a column: put it under [columns]"
        raise Failure(f"{where} has a key that is not known, {unknown[0]!r}.\nHint: {way_out}.")
    return {known[key]: value for key, value in given.items()}


def settings_option(command: Any) -> Any:
    """Add --settings, which is read before the other options are."""
    text = f"File with defaults for options; without it, {NAME} beside the data is read."
    return click.option("--settings", metavar="FILE", expose_value=False, help=text)(command)


# In the order they are used. The texts stand here as well, so that --help loads none of the commands.
COMMANDS = {
    "audit": "Measure who is ranked above whom.",
    "fit": "Learn a repair and show what it costs.",
    "apply": "Adjust the scores of files with a map.",
    "show": "Show what a map does and where it comes from.",
    "report": "Write a page that a committee can read.",
    "compare": "Compare all methods on one file.",
    "plan": "How many rows it takes to detect or certify a gap.",
    "export": "Write a map as SQL, ONNX, Python or JavaScript.",
    "sign": "Sign a map with a key.",
    "verify": "Check a map's signature.",
    "datasets": "Data to try every command on.",
    "reproduce": "Rerun the paper's experiments.",
    "demo": "Run the whole job on generated people.",
}


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
        self._main_shell_completion({}, "fairpot")  # leaves here if a shell asks for completions
        sys.exit(run(lambda: self._invoke(arguments), debug="--debug" in arguments, quiet=_is_quiet(arguments)))

    def _invoke(self, arguments: list[str]) -> None:
        found = find_settings(arguments)
        defaults: dict[str, Any] = {}
        if found is not None and arguments:
            defaults = {arguments[0]: self._defaults(arguments[0], read_settings(found))}
            if not _is_quiet(arguments) and "--json" not in arguments:
                click.echo(f"settings: {found}", err=True)
        with self.make_context("fairpot", arguments, default_map=defaults) as context:
            self.invoke(context)

    def _defaults(self, name: str, settings: dict[str, Any]) -> dict[str, Any]:
        """Put settings into the form that a command's options take: a list where one may be given several times."""
        command = self.get_command(click.Context(self), name)
        several = {p.name for p in command.params if getattr(p, "multiple", False)} if command is not None else set()
        return {key: [v] if key in several and not isinstance(v, list) else v for key, v in settings.items()}

    def list_commands(self, ctx: click.Context) -> list[str]:
        """List the commands in the order they are used."""
        return [name for name in COMMANDS if _exists(name)]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a command."""
        if cmd_name == "help":
            return help_
        if cmd_name not in COMMANDS or not _exists(cmd_name):
            return None
        command: click.Command = getattr(importlib.import_module(f"fairpot.cli.{cmd_name}"), cmd_name)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command that was named; suggest the nearest where there is none."""
        if args and self.get_command(ctx, args[0]) is None and not args[0].startswith("-"):
            near = difflib.get_close_matches(args[0], self.list_commands(ctx), n=1)
            ctx.fail(f"No such command {args[0]!r}." + (f" Did you mean {near[0]!r}?" if near else ""))
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, COMMANDS[name]) for name in self.list_commands(ctx)])


def _exists(name: str) -> bool:
    return importlib.util.find_spec(f"fairpot.cli.{name}") is not None


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

    Columns are called score, label and group unless --score, --label and --group say otherwise, or a settings file
    fairpot.toml beside the data does. Files may be Parquet, CSV, TSV, Arrow or JSON lines. `fairpot help COMMAND` has
    an example of each command; --json makes any of them answer a program. Tab completion for bash:
    eval "$(_FAIRPOT_COMPLETE=bash_source fairpot)" (zsh_source and fish_source for the others).

    Exit codes: 0 fine, 2 an error, 3 above the limit of --fail-above or not what --require asks for, 130 interrupted.
    """
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


@click.command("help", short_help="Show the help of a command.")
@click.argument("command", required=False)
@click.pass_context
def help_(ctx: click.Context, command: str | None) -> None:
    """Show what a command does, with its options and examples."""
    parent = ctx.parent
    assert parent is not None
    if command is None:
        click.echo(parent.get_help())
        return
    found = app.get_command(parent, command)
    if found is None:
        raise click.UsageError(f"no such command {command!r}; there are {', '.join(app.list_commands(parent))}.")
    with click.Context(found, info_name=command, parent=parent) as inner:
        click.echo(found.get_help(inner))
