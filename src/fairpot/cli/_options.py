"""Options that several commands share, beside those of rows: kinds of values, outputs, maps, groups, intervals."""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import click

from fairpot._log import FORMS

Command = TypeVar("Command", bound=Callable[..., Any])
Options = dict[str, Any]  # of a command, or of what it calls, by name


# The sections of --help, in their order; a command's own options are what to do.
SECTIONS = ("What to do", "Data: what a row is", "Data: how files are read", "Output")
_OUTPUTS = {"output", "force", "html", "column", "replace", "changes", "keep", "output_format", "types"}
_OUTPUTS |= {"neutralise_formulas", "private", "everything", "as_json", "quiet", "debug"}
_OUTPUTS |= {"settings", "no_settings", "help_all", "key", "expect_sha256", "log_format"}
# What --help leaves to --help-all, with how files are read.
_RARE = {"t", "theta", "slope", "shift", "strength", "net_benefit_at", "smallest_gap", "monotone", "private", "ties"}
_RARE |= {
    "top_of",
    "repair_top",
    "only",
    "weights",
    "debug",
    "quiet",
    "settings",
    "no_settings",
    "key",
    "expect_sha256",
}
_RARE |= {"log_format", "card", "title", "identity", "seed", "neutralise_formulas", "other_scale", "types"}
_EVERYTHING = "every option is shown"


def _show_everything(ctx: click.Context, parameter: click.Parameter, value: bool) -> None:
    if value and not ctx.resilient_parsing:
        ctx.meta[_EVERYTHING] = True
        click.echo(ctx.get_help(), color=ctx.color)
        ctx.exit()


class Placed(click.Option):
    """An option that knows its section of --help."""

    def __init__(self, *names: Any, section: str, **more: Any) -> None:
        super().__init__(*names, **more)
        self.section = section


# What a command calls what others, and papers, know by another name.
_CALLED = {
    "--alpha": "--top 0.1, with --repair-top to move nobody below it",
    "--region": "--top-of group",
    "--capacity": "--top 200",
    "--calibrate": "--keep probabilities",
    "--keep-grid": "--keep grid",
}


class WholeWords(click.HelpFormatter):
    """Write help whose lines end between words: an option's name is not cut at its hyphens, nor in a narrow column."""

    _HYPHEN = "\x1f"  # textwrap knows it for no place to break a line

    def write_text(self, text: str) -> None:
        """Write a paragraph."""
        super().write_text(text.replace("-", self._HYPHEN))

    def write_dl(self, rows: Iterable[tuple[str, str]], col_max: int = 30, col_spacing: int = 2) -> None:
        """Write names and what they mean."""
        whole = [(name, text.replace("-", self._HYPHEN)) for name, text in rows]
        super().write_dl(whole, min(col_max, self.width // 3), col_spacing)

    def getvalue(self) -> str:
        """Return all of it."""
        return super().getvalue().replace(self._HYPHEN, "-")


class WholeContext(click.Context):
    """What a command runs in, with help in whole words."""

    formatter_class = WholeWords


class Sectioned(click.Command):
    """A command whose --help has what most people need, and whose --help-all has every option, in sections."""

    context_class = WholeContext

    def __init__(self, *names: Any, **more: Any) -> None:
        super().__init__(*names, **more)
        text = "Show every option: also how files are read, and rare ones."
        self.params.append(
            click.Option(
                ["--help-all"], is_flag=True, is_eager=True, expose_value=False, help=text, callback=_show_everything
            )
        )

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the options; one that goes by another name here is told so."""
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            known = {name for each in self.params for name in each.opts}
            said = _CALLED.get(error.option_name, "")
            if said.split(",")[0].split(" ")[0] not in known:
                raise
            raise click.UsageError(f"No such option: {error.option_name}. Here it is {said}.", ctx) from None

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options in sections."""
        found: dict[str, list[tuple[str, str]]] = {section: [] for section in SECTIONS}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx) if isinstance(parameter, click.Option) else None
            if record is not None:
                own = SECTIONS[3] if parameter.name in _OUTPUTS or "--help" in parameter.opts else SECTIONS[0]
                section = getattr(parameter, "section", own)
                if _EVERYTHING in ctx.meta or (section != SECTIONS[2] and parameter.name not in _RARE):
                    found[section].append(record)
        for section, records in found.items():
            if records:
                with formatter.section(section):
                    formatter.write_dl(records)


class Number(click.ParamType):  # type: ignore[type-arg]
    """A finite number in a range; of a range up to 1, 10% is 0.1."""

    name = "number"

    def __init__(self, low: float = 0.0, high: float = math.inf, *, above: bool = False, below: bool = False) -> None:
        self.low, self.high, self.above, self.below = low, high, above, below

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Read a number, or say what it should have been."""
        try:
            found = math.nan if isinstance(value, bool) else self._read(value)  # a settings file may say true
        except (TypeError, ValueError):
            self.fail(f"{value!r} is not a number.", param, ctx)
        inside = self.low < found if self.above else self.low <= found
        inside &= found < self.high if self.below else found <= self.high
        if not (math.isfinite(found) and inside):
            self.fail(f"{value} is not {self.rule}.", param, ctx)
        return found

    def _read(self, value: Any) -> float:
        text = str(value).strip()
        if text.endswith("%") and self.high <= 1:
            return float(text[:-1]) / 100
        return float(value)

    @property
    def rule(self) -> str:
        """Say what is allowed."""
        if self.high == math.inf:
            return f"a finite number {'above' if self.above else 'from'} {self.low:g}{'' if self.above else ' on'}"
        return f"in {'(' if self.above else '['}{self.low:g}, {self.high:g}{')' if self.below else ']'}"


class Top(click.ParamType):  # type: ignore[type-arg]
    """So many rows, 200, or a share of all, 10% or 0.1."""

    name = "top"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int | float:
        """Read a whole number as rows, anything else as a share."""
        text = str(value).strip()
        try:
            if re.fullmatch(r"[0-9]+", text):
                found: int | float = int(text)
            else:
                found = float(text[:-1]) / 100 if text.endswith("%") else float(text)
        except ValueError:
            found = 0.0
        if not (found > 0 and (isinstance(found, int) or found <= 1)):
            self.fail(f"{value!r} is not a number of rows, such as 200, nor a share, such as 10% or 0.1.", param, ctx)
        return found


class Size(click.ParamType):  # type: ignore[type-arg]
    """An amount of memory, such as 2GB."""

    name = "size"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Check how a size is written."""
        if not re.fullmatch(r"[0-9]+(\.[0-9]+)? ?([KMGT]i?)?B", str(value), re.IGNORECASE):
            self.fail(f"{value!r} is not a size such as 500MB or 2GB.", param, ctx)
        return str(value)


SHARE = Number(0, 1)
TOP_SHARE = Number(0, 1, above=True)
FACTOR = Number(0, above=True)
LIMIT = Number(0)
SCORE = Number(-1e300, 1e300)
LEVEL = Number(0.5, 0.999999, above=True)
SIZE = Size()
TOP = Top()
INNER_SHARE = Number(0, 1, above=True, below=True)


def with_options(command: Callable[..., Any], options: Sequence[Callable[..., Any]]) -> Callable[..., Any]:
    """Add options to a command; --help shows them in this order."""
    for option in reversed(options):
        command = option(command)
    return command


def typed(values: Options) -> Options:
    """Keep the values of parameters that the command line gave; what settings say is a default, which gives way."""
    return {name: value if was_given(name) else None for name, value in values.items()}


def needs(name: str, what: str) -> None:
    """Refuse an option that was typed and would change nothing; ``what`` says what it needs."""
    if was_given(name):
        raise click.UsageError(f"--{name.replace('_', '-')} {what}")


def was_given(name: str) -> bool:
    """Tell whether the command line itself, not a default or a settings file, gave a parameter."""
    source = click.get_current_context().get_parameter_source(name)
    return source is click.core.ParameterSource.COMMANDLINE


def said_again(*names: str) -> list[str]:
    """Say options of this command again, for one that comes next: those that are not as they are by default."""
    context = click.get_current_context()
    words = []
    for parameter in context.command.params:
        value = context.params.get(str(parameter.name))
        if parameter.name in names and value is not None and value != parameter.default:
            for each in value if isinstance(value, tuple) else (value,):
                words += [max(parameter.opts, key=len), str(each)]
    return words


def output_options(command: Command) -> Callable[..., Any]:
    """Add --json, --quiet and --debug to a command, which then takes an ``out``."""

    @functools.wraps(command)
    def inner(*, as_json: bool, quiet: bool, debug: bool, **values: Any) -> Any:
        from fairpot._validation import wording
        from fairpot.cli._printing import Output
        from fairpot.rows.output import ending_cleanly

        with ending_cleanly(), wording.showing_values(debug):
            return command(out=Output(as_json=as_json, quiet=quiet), **values)

    return with_options(
        inner,
        [
            click.option("--json", "as_json", is_flag=True, help="Print JSON, with every number in full."),
            click.option("-q", "--quiet", is_flag=True, help="Print nothing but errors and the settings in force."),
            click.option("--debug", is_flag=True, help="Show the traceback and the offending values."),
            click.option(
                "--log-format",
                type=click.Choice(FORMS),
                expose_value=False,
                help="Log what is read, counted, refused and written to standard error; json: one object a line.",
            ),
        ],
    )


def map_options(*names: str, text: str | None = None) -> Callable[[Command], Callable[..., Any]]:
    """Add a map and the options that say which map alone will do; the command takes them as one, ``map_file``.

    The map is the argument MAP unless ``names`` make it an option, whose help is ``text`` and which may be left out:
    then ``map_file`` is None.
    """
    named: Callable[..., Any] = click.argument("model_file", metavar="MAP")
    if names:
        named = click.option(*names, "model_file", metavar="FILE", help=text)

    def decorate(command: Command) -> Callable[..., Any]:
        @functools.wraps(command)
        def inner(*, model_file: str | None, expect_sha256: str | None, **values: Any) -> Any:
            if model_file is None and expect_sha256 is not None:
                raise click.UsageError(f"--expect-sha256 says which map alone will do: it needs {names[0]}.")
            found = None if model_file is None else MapFile(model_file, expect_sha256)
            return command(map_file=found, **values)

        return with_options(inner, [named, only_this_map])

    return decorate


only_this_map = click.option("--expect-sha256", metavar="HEX", help="Refuse any map but the one with this SHA-256.")


@dataclass(frozen=True)
class MapFile:
    """A map that was named, and how it is told from others."""

    path: str
    expect_sha256: str | None = None

    def load(self) -> Any:
        """Load the map."""
        from fairpot.repair.fair_maps import load

        return load(self.path, expect_sha256=self.expect_sha256)

    def stored(self) -> Any:
        """Load what applying the map needs, which is quicker."""
        from fairpot.repair.stored import stored_maps

        return stored_maps(self.path, expect_sha256=self.expect_sha256)


def group_options(command: Command) -> Callable[..., Any]:
    """Add --min-group and --groups."""
    return with_options(
        command,
        [
            click.option(
                "--min-group",
                type=click.IntRange(0),
                default=0,
                metavar="ROWS",
                help="Leave groups with fewer rows out of the comparison.",
            ),
            click.option("--groups", "only", metavar="A,B", help="Compare only these groups."),
        ],
    )


def interval_options(command: Command) -> Callable[..., Any]:
    """Add --level, --bound and --require."""
    return with_options(
        command,
        [
            click.option(
                "--level",
                type=LEVEL,
                default=0.95,
                show_default=True,
                metavar="LEVEL",
                help="Confidence level.",
            ),
            click.option("--bound", type=SHARE, metavar="GAP", help="Say whether the gap is at most GAP."),
            click.option(
                "--require",
                type=click.Choice(["within"]),
                help="With --bound: exit with 3 unless the gap is shown to be at most that.",
            ),
        ],
    )


all_option = click.option("--all", "everything", is_flag=True, help="Print every table and every note.")


def one_or_several(given: tuple[float, ...]) -> float | list[float] | None:
    """Give what an option was given: nothing, one value, or a list of several."""
    return list(given) if len(given) > 1 else given[0] if given else None


_TIES = click.option(
    "--ties",
    type=click.Choice(["half", "strict"]),
    default="half",
    show_default=True,
    help="Count equal scores as half a win (as scikit-learn) or as none (as the paper).",
)


def ranking_options(alpha: str, reference: str) -> Callable[[Command], Callable[..., Any]]:
    """Add --alpha, --region, --ties and --reference, with what the first and the last do in this command."""
    options = [
        click.option("--alpha", "--top", "alpha", type=TOP_SHARE, multiple=True, metavar="SHARE", help=alpha),
        click.option(
            "--region",
            type=click.Choice(["pooled", "group"]),
            default="pooled",
            show_default=True,
            help="Take the top of the whole list, or of each group.",
        ),
        _TIES,
        click.option("--reference", metavar="GROUP", help=reference),
    ]
    return lambda command: with_options(command, options)


def repair_options(top: str, *, several: bool = False) -> Callable[[Command], Callable[..., Any]]:
    """Add what says which part of the list a repair is about, how ties count and which group stays."""
    options = [
        click.option("--top", type=TOP, multiple=several, metavar="ROWS|SHARE", help=top),
        click.option(
            "--top-of",
            type=click.Choice(["all", "group"]),
            default="all",
            show_default=True,
            help="Take the top of the whole list, or of each group.",
        ),
        click.option("--repair-top", is_flag=True, help="Move nobody below that top."),
        _TIES,
        click.option(
            "--reference",
            metavar="GROUP",
            help="Group whose scores do not change; default: ranked highest, or lowest if a high score harms.",
        ),
    ]
    return lambda command: with_options(command, options)
