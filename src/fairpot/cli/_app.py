"""The group of all commands, those of other distributions among them; each is imported when it is called."""

from __future__ import annotations

import gc
import importlib
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NoReturn

import click

from fairpot._log import FORMS, tell
from fairpot._version import __version__
from fairpot.cli._errors import Failure, one_line, run, tell_user
from fairpot.cli._options import WholeContext
from fairpot.cli._settings import NAME, TOLD, Settings, find_settings, read_settings, said_early

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    from click.shell_completion import CompletionItem

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
    "datasets": "Data to try every command on.",
}
# Other distributions add commands under this group of entry points; the text of --help is their one-line summary.
PLUGINS = "fairpot.commands"
# Commands that people look for and that are not here, with the distribution that brings them.
ELSEWHERE = {"reproduce": "fairpot-paper"}


class App(click.Group):
    """A group of commands whose errors are one or two lines and an exit code."""

    context_class = WholeContext

    def main(  # type: ignore[override]
        self, args: Sequence[str] | None = None, prog_name: str | None = None, **extra: Any
    ) -> NoReturn:
        """Run one command and leave with its exit code."""
        arguments = sys.argv[1:] if args is None else list(args)
        if arguments[:1] == ["help"]:  # as `fairpot COMMAND --help`
            arguments = [*arguments[1:2], "--help"]
        for stream in (sys.stdout, sys.stderr):
            with suppress(AttributeError, ValueError):  # names of groups may not fit the terminal's encoding
                stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
        try:
            self._main_shell_completion({}, "fairpot")  # leaves here if a shell asks for completions
        except click.ClickException:  # nothing is known of what follows a command that cannot be found or loaded
            sys.exit(1)
        said = said_early(arguments, "--log-format")[-1:]  # the log has what is wrong with other options, too
        sys.exit(run(lambda: self._invoke(arguments), arguments, log=said[0] if said and said[0] in FORMS else None))

    def _invoke(self, arguments: list[str]) -> None:
        tell("began", command=next(iter(arguments), None), version=__version__)
        command = self.get_command(click.Context(self), arguments[0]) if arguments else None
        if not gc.isenabled():  # what is loaded stays: no collection looks through it, nor does the one at the end
            gc.freeze()
            gc.enable()
        parameters = [] if command is None else command.params
        found = find_settings(arguments) if any(each.name == "settings" for each in parameters) else None
        defaults = {} if found is None else {arguments[0]: _defaults(parameters, read_settings(found))}
        with self.make_context("fairpot", arguments, default_map=defaults) as context:
            if found is not None:
                context.meta[NAME] = str(found)
            try:
                self.invoke(context)
            except Exception as error:
                if found is not None and TOLD not in context.meta and not isinstance(error, click.exceptions.Exit):
                    tell_user("settings", one_line(str(found)))
                raise

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_texts())

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a command; other distributions are looked at only for a name that is not ours."""
        if cmd_name in COMMANDS:
            command: click.Command = getattr(importlib.import_module(f"fairpot.cli.{cmd_name}"), cmd_name)
            return command
        found = _plugins().get(cmd_name)
        if found is not None:
            return _loaded(found)
        if cmd_name in ELSEWHERE:
            raise Failure(f"the command {cmd_name!r} comes with `pip install {ELSEWHERE[cmd_name]}`.")
        return None

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        from click.shell_completion import CompletionItem

        named = [CompletionItem(name, help=text) for name, text in _texts().items() if name.startswith(incomplete)]
        return [*named, *click.Command.shell_complete(self, ctx, incomplete)]

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and self.get_command(ctx, args[0]) is None and not args[0].startswith("-"):
            import difflib

            near = difflib.get_close_matches(args[0], [*self.list_commands(ctx), *ELSEWHERE], n=1)
            ctx.fail(f"No such command {args[0]!r}." + (f" Did you mean {near[0]!r}?" if near else ""))
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(_texts().items()))


def _defaults(parameters: Sequence[click.Parameter], settings: Settings) -> Settings:
    """Put settings into the form that a command's options take: a list where one may be given several times."""
    several = {p.name for p in parameters if getattr(p, "multiple", False)}
    for each in parameters:
        whole = isinstance(each.type, click.types.IntParamType)
        if whole and type(settings.get(str(each.name), 0)) is not int:
            raise Failure(f"the settings give {each.name} {settings[str(each.name)]!r}.\nHint: give a whole number.")
    return {key: [v] if key in several and not isinstance(v, list) else v for key, v in settings.items()}


def _texts() -> dict[str, str]:
    """Return every command that can be called and what it does, in a line."""
    others = _plugins()
    return COMMANDS | {name: (point.dist and point.dist.metadata["Summary"]) or "" for name, point in others.items()}


def _plugins() -> dict[str, EntryPoint]:
    """Find the commands of other distributions, by name; they do not replace ours."""
    from importlib.metadata import entry_points  # looks through all that is installed: not for a command of ours

    return {point.name: point for point in entry_points(group=PLUGINS) if point.name not in COMMANDS}


def _loaded(point: EntryPoint) -> click.Command:
    """Import a command of another distribution; whatever keeps it from that is its fault, and told so."""
    owner = point.dist.name if point.dist is not None else point.value
    try:
        command = point.load()
        if not isinstance(command, click.Command):
            raise TypeError(f"{point.value} is not a click command.")
    except Exception as error:
        raise Failure(
            f"the command {point.name!r} of {owner} cannot be loaded: {type(error).__name__}: {error}\n"
            f"Hint: pip install --upgrade fairpot {owner} brings versions that go together."
        ) from error
    return command


@click.group(
    cls=App,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, prog_name="fairpot")
@click.pass_context
def app(ctx: click.Context) -> None:
    """Audit and repair risk scores: is one group ranked higher than another, and what does it cost to change that?

    \b
    All it takes is a table with a score, an outcome and a group. Try it:
      fairpot datasets write synthetic scores.csv
      fairpot audit scores.csv
      fairpot fit scores.csv --max-gap 0.05 -o map.json

    Columns are called score, label and group unless --score, --label and --group say otherwise, or fairpot.toml in the
    working directory does. Files may be Parquet, CSV, TSV, Excel, Arrow or JSON lines. `fairpot help COMMAND` has
    an example of each command; --json makes any of them answer a program. Tab completion for bash:
    eval "$(_FAIRPOT_COMPLETE=bash_source fairpot)" (zsh_source and fish_source for the others).

    Exit codes: 0 fine, 2 an error, 3 above --fail-above or not what --require asks for, 4 no repair could be certified
    with --confidence, 5 a Spark cluster cannot be reached, 130 interrupted (Ctrl-C), 141 nobody reads the output, 129
    and 143 ended by SIGHUP and SIGTERM. Killed (137), a run leaves its outputs as they were before, or complete.
    """
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())
