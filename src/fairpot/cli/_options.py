"""How commands declare options, as --help shows them: sections, kinds of values, and the options they share."""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any, TypeVar

import click

from fairpot._defaults import UNMAPPED
from fairpot._log import FORMS
from fairpot._said import WORDS

Command = TypeVar("Command", bound=Callable[..., Any])
Decorator = Callable[..., Any]
Options = dict[str, Any]  # of a command, or of what it calls, by name
# The sections of --help, in their order; how files are read is left to --help-all.
SECTIONS = TASK, ROWS, FILES, OUTPUT = "What to do", "Data: what a row is", "Data: how files are read", "Output"
_EVERYTHING = "every option is shown"


class Option(click.Option):
    """An option that knows its section of --help; a rare one is left to --help-all."""

    def __init__(self, *names: Any, section: str = TASK, rare: bool = False, **more: Any) -> None:
        super().__init__(*names, **more)
        self.section, self.rare = section, rare or section == FILES

    def get_help_extra(self, ctx: click.Context) -> Any:
        extra = super().get_help_extra(ctx)
        extra.pop("range", None)  # "x>=0": the error says it in words
        return extra


def option(said: str, text: str, name: str | None = None, *, default: Any = None, **more: Any) -> Decorator:
    """Declare an option as --help shows it: its names, then its value or its choices; a flag has neither.

    ``option("--ties half|strict", "How equal scores count.", default="half")``; ``type`` may be a tuple of choices.
    """
    words = said.split()
    flags = [word for word in words if word.startswith("-")]
    value = " ".join(words[len(flags) :])
    if "|" in value and "type" not in more:
        more["type"], value = tuple(value.split("|")), ""
    if isinstance(more.get("type"), tuple):
        more["type"] = click.Choice(more["type"])
    if value:
        more["metavar"] = value
    if not value and "type" not in more:
        more["is_flag"] = True
    elif default:
        more["show_default"] = True
    if default is not None:
        more["default"] = default
    return click.option(*flags, *([name] if name else []), cls=Option, help=text, **more)


def together(*options: Decorator) -> Decorator:
    """Make one decorator of several; --help shows options in this order."""
    return lambda command: functools.reduce(lambda inner, each: each(inner), reversed(options), command)


output_option = functools.partial(option, section=OUTPUT)
force_option = output_option("--force", "Replace an output that already exists.")


class WholeWords(click.HelpFormatter):
    """Write help whose lines end between words: an option's name is not cut at its hyphens, nor in a narrow column."""

    _HYPHEN = "\x1f"  # textwrap knows it for no place to break a line

    def write_text(self, text: str) -> None:
        super().write_text(text.replace("-", self._HYPHEN))

    def write_dl(self, rows: Iterable[tuple[str, str]], col_max: int = 30, col_spacing: int = 2) -> None:
        whole = [(name, text.replace("-", self._HYPHEN)) for name, text in rows]
        super().write_dl(whole, min(col_max, self.width // 3), col_spacing)

    def getvalue(self) -> str:
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
        how: Options = {"is_eager": True, "expose_value": False, "callback": _show_everything}
        self.params.append(Option(["--help-all"], is_flag=True, section=OUTPUT, help=text, **how))

    def invoke(self, ctx: click.Context) -> Any:
        """Do the work of a command; where it reads rows here, within the memory that it may use."""
        size = ctx.params.get("memory")
        if size is None or ctx.params.get("engine", "duckdb") != "duckdb":
            return super().invoke(ctx)
        from fairpot.rows.guard import guarded
        from fairpot.rows.readers import Memory

        memory = Memory.of(size)
        memory.check_least()
        with guarded(size, memory.size, ctx.params.get("threads")):
            return super().invoke(ctx)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        found: dict[str, list[tuple[str, str]]] = {section: [] for section in SECTIONS}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx) if isinstance(parameter, click.Option) else None
            if record is not None and (_EVERYTHING in ctx.meta or not getattr(parameter, "rare", False)):
                found[getattr(parameter, "section", OUTPUT)].append(record)
        for section, records in found.items():
            if records:
                with formatter.section(section):
                    formatter.write_dl(records)


def _show_everything(ctx: click.Context, parameter: click.Parameter, value: bool) -> None:
    if value and not ctx.resilient_parsing:
        ctx.meta[_EVERYTHING] = True
        click.echo(ctx.get_help(), color=ctx.color)
        ctx.exit()


class Kind(click.ParamType):  # type: ignore[type-arg]
    """A kind of value: ``read`` makes it of what was given, or raises a ValueError that says what is wrong."""

    def __init__(self, name: str, read: Callable[[Any], Any]) -> None:
        self.name, self.read = name, read

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        try:
            return self.read(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)


def number(low: float = 0.0, high: float = math.inf, *, above: bool = False) -> Kind:
    """Make the kind of finite numbers in a range; of a range up to 1, 10% is 0.1."""
    rule = f"a number {'above' if above else 'from'} {low:g} {'and up ' if above else ''}to {high:g}"
    if high == math.inf:
        rule = f"a finite number {'above' if above else 'from'} {low:g}{'' if above else ' on'}"
    elif high == 1:
        rule += ", such as 0.1 or 10%"

    def read(value: Any) -> float:
        text = str(value).strip()
        try:
            found = float(text[:-1]) / 100 if text.endswith("%") and high <= 1 else float(text)
        except ValueError:
            if not isinstance(value, bool):  # a settings file may say true
                raise ValueError(f"{value!r} is not a number.") from None
            found = math.nan
        inside = (low < found if above else low <= found) and found <= high
        if not (math.isfinite(found) and inside):
            raise ValueError(f"{value} is not {rule}.")
        return found

    return Kind("number", read)


def _top(value: Any) -> int | float:
    """Read a whole number as so many rows, anything else as a share."""
    text = str(value).strip()
    with suppress(ValueError):
        found: int | float = int(text) if re.fullmatch(r"[0-9]+", text) else TOP_SHARE.read(text)
        if found > 0:
            return found
    raise ValueError(f"{value!r} is not a number of rows, such as 200, nor a share, such as 10% or 0.1.")


def written_top(top: float) -> str:
    """Write a top as it is typed: so many rows, or a share."""
    return str(top) if isinstance(top, int) else f"{100 * top:.4g}%"


def _size(value: Any) -> str:
    if not re.fullmatch(r"[0-9]+(\.[0-9]+)? ?([KMGT]i?)?B", str(value), re.IGNORECASE):
        raise ValueError(f"{value!r} is not a size such as 500MB or 2GB.")
    return str(value)


SHARE, TOP_SHARE = number(0, 1), number(0, 1, above=True)
SCORE = number(-1e300, 1e300)
LEVEL = number(0.5, 0.999999, above=True)
TOP, SIZE = Kind("top", _top), Kind("size", _size)
SEED = click.IntRange(0, 2**32 - 1)


def was_given(name: str) -> bool:
    source = click.get_current_context().get_parameter_source(name)
    return source is click.core.ParameterSource.COMMANDLINE


def without_outcomes(*names: str) -> None:
    """Refuse what needs outcomes beside --no-label, or a rule that needs none; what settings say gives way."""
    by_rule = click.get_current_context().params.get("rule") is not None and not was_given("no_label")
    why = ", which --for takes into account only where --label names them"
    why = why if by_rule else ", and --no-label says that there are none"
    for name in names:
        if was_given(name):
            raise click.UsageError(f"{flag_of(name)} needs outcomes{why}.")


def needs(name: str, what: str) -> None:
    """Refuse an option that was typed and would change nothing; ``what`` says what it needs."""
    if was_given(name):
        raise click.UsageError(f"{flag_of(name)} {what}")


def flag_of(name: str) -> str:
    """Call a parameter of this command by its option."""
    known = click.get_current_context().command.params
    return next(flag for each in known if each.name == name for flag in each.opts if flag.startswith("--"))


def said_again(*names: str) -> list[str]:
    """Say parameters again that were given, here or in settings, for a command that comes next; no names: all."""
    context = click.get_current_context()
    given = (click.core.ParameterSource.COMMANDLINE, click.core.ParameterSource.DEFAULT_MAP)
    words = []
    for parameter in context.command.params:
        name = str(parameter.name)
        if name in (names or context.params) and context.get_parameter_source(name) in given:
            value = context.params[name]
            flag = [each for each in parameter.opts if each.startswith("--")][:1]
            for each in value if isinstance(value, tuple) else (value,):
                words += flag + ([] if each is True else [str(each)])
    return words


_PRINTED = together(
    output_option("--json", "Print JSON, with every number in full.", "as_json"),
    output_option("-q --quiet", "Print nothing but errors and the settings in force.", rare=True),
    output_option("--debug", "Show the traceback and the offending values.", rare=True),
    output_option(
        "--log-format",
        "Log what is read, counted, refused and written to standard error; json: one object a line.",
        type=tuple(FORMS),
        expose_value=False,
        rare=True,
    ),
)


def output_options(command: Command) -> Callable[..., Any]:
    """Add --json, --quiet and --debug to a command, which then takes an ``out``."""

    @functools.wraps(command)
    def inner(*, as_json: bool, quiet: bool, debug: bool, **values: Any) -> Any:
        from fairpot._validation import wording
        from fairpot.cli._printing import Output
        from fairpot.rows.output import ending_cleanly

        with ending_cleanly(), wording.showing_values(debug):
            return command(out=Output(as_json=as_json, quiet=quiet), **values)

    return _PRINTED(inner)


only_this_map = output_option("--expect-sha256 HEX", "Refuse any map but the one with this SHA-256.", rare=True)


map_options = together(click.argument("model_file", metavar="MAP"), only_this_map)


def _word(word: str, name: str | None = None, **more: Any) -> Decorator:
    """Declare the option of a word about rows."""
    said = WORDS[word]
    flag = f"--{word.replace('_', '-')} {said.value}"
    return option(flag, said.says, name, default=said.default, rare=said.rare, **more)


group_options = together(_word("min_group", type=click.IntRange(0)), _word("groups", "only"))
threshold_option = option(
    "--threshold SCORE", "Also show who is flagged at this score or above; repeatable.", type=SCORE, multiple=True
)
all_option = output_option("--all", "Print every table and every note.", "everything")
ties_option = option(
    "--ties half|strict",
    "Count equal scores as half a win (as scikit-learn) or as none (as the paper).",
    default="half",
    rare=True,
)
unmapped_options = together(
    option(
        "--unknown-group",
        "Rows whose group the map does not know: an error, the score as it is, or no adjusted score.",
        type=UNMAPPED,
        default="error",
    ),
    option("--missing-group", "Rows without a group: likewise.  [default: error]", type=UNMAPPED),
)
top_of_option = option(
    "--top-of all|group", "Take the top of the whole list, or of each group.", default="all", rare=True
)


def repair_options(top: str, *, several: bool = False) -> Decorator:
    """Add what says which part of the list a repair is about, how ties count and which group stays."""
    kept = "Group whose scores do not change; default: ranked highest, or lowest if a high score harms."
    return together(
        option("--top ROWS|SHARE", top, type=TOP, multiple=several),
        top_of_option,
        option("--repair-top", "Move nobody below that top.", rare=True),
        ties_option,
        option("--reference GROUP", kept),
    )
