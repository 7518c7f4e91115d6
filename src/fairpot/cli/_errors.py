"""What goes wrong, in one or two lines on standard error, in the command line's words, with its exit code."""

from __future__ import annotations

import errno
import logging
import os
import re
import shlex
import signal
import sys
import threading
import traceback
import warnings
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from time import perf_counter
from types import FrameType
from typing import Any

import click

import fairpot
from fairpot._arguments import NOTHING, spoken_by
from fairpot._log import only_objects, since, tell, written_to_stderr
from fairpot._said import COLUMNS, WORDS
from fairpot.exceptions import MissingDependencyError, UnreachableError
from fairpot.rows.guard import is_about_memory

# Arguments of the library whose options have other names, and the values that hints ask for.
_OPTIONS = {
    **{name: "--" + word.key.replace("_", "-") for name, word in WORDS.items() if word.key},
    **{name: "--" + column for name, column in COLUMNS.items()},
    "overwrite": "--force",
    "cv": "--folds",
    "held_out": "--validate",
    "memory_limit": "--memory",
    **dict.fromkeys(("y", "y_true"), "--label"),
    **dict.fromkeys(("scores", "y_score"), "--score"),
    **dict.fromkeys(("t", "theta", "slope", "shift"), "--strength"),
}
# What other tools and papers call an option of ours.
_ELSEWHERE = {
    "--alpha": "the top of the list is --top: --top 10%, or --top 200 for so many rows",
    "--region": "whose top it is is said by --top-of all or --top-of group",
}
_FLAGS = ("--force", "--replace", "--lower-is-riskier", "--private")
_CHOICES = ("--top-of", "--keep")
_ASKED = {
    **{"--" + (word.key or name).replace("_", "-"): word.value for name, word in WORDS.items() if word.value},
    "--keep": "COLUMN",
    "--reference": "NAME",
    **dict.fromkeys(("--validate", "--changes"), "FILE"),
    "--sql": "'select ... from ...'",
}


def as_option(name: str, value: Any = NOTHING) -> str:
    """Name an argument by its option, with its value: ``--max-gap 0.02``, ``--force``, ``--reference NAME``."""
    option = _OPTIONS.get(name, "--" + name.replace("_", "-"))
    if (name, value) == ("repair", "top"):
        return "--repair-top"
    if isinstance(value, dict):  # bands
        said = (f"{column}:{','.join(map(str, of)) if isinstance(of, list) else of}" for column, of in value.items())
        return " ".join(f"{option} {shlex.quote(each)}" for each in said)
    if value is NOTHING or value is True or option in _FLAGS:
        return option
    if value is ...:
        return f"{option} {_ASKED.get(option, 'VALUE')}"
    named = isinstance(value, str) and option not in _CHOICES
    return f"{option} {shlex.quote(value)}" if named else f"{option} {value}"


OK, ERROR, ABOVE_LIMIT, NOT_CERTIFIED, UNREACHABLE, INTERRUPTED, CLOSED_PIPE = 0, 2, 3, 4, 5, 130, 141
_PACKAGE = str(Path(fairpot.__file__).parent)
_LONGEST = 2000  # characters of a line: names may be long, and groups many
_LOOK = "Hint: this should not happen; run again with --debug to see where it did."

# What DuckDB says of itself around an error that is ours.
_AROUND = re.compile(r"reading the stream registered as '\w+' failed: |\.? Detail: Python exception.*")
# The folder in which standard input and pipes are kept; only what they are called means something to people.
_SCRATCH = re.compile(r"\S*\.scratch\.fairpot-\w+\.tmp[/\\]")


class Failure(click.ClickException):
    """Something the user can put right."""

    exit_code = ERROR


class NotCertified(Failure):
    """An answer, not a mistake: these rows certify no repair within the bound."""

    exit_code = NOT_CERTIFIED


def run(work: Callable[[], Any], arguments: Sequence[str] = (), *, log: str | None = None) -> int:
    """Do the work of a command and return the exit code; the log's last line has it too."""
    begun, said = perf_counter(), list[str]()
    code: Any = None
    with written_to_stderr(log):
        try:
            code = _run(work, said, arguments)
        except SystemExit as ended:  # a signal
            code = ended.code
            raise
        finally:
            error, hint = [*said, None, None][:2]
            level = logging.INFO if code == OK else logging.ERROR
            hint = hint and hint.removeprefix("Hint: ")
            tell("ended", level=level, code=code, error=error, hint=hint, seconds=since(begun))
    return int(code)


def _run(work: Callable[[], Any], said: list[str], arguments: Sequence[str]) -> int:
    """Do the work; what is said of an error is put down in ``said``."""
    interrupts: list[int] = []
    try:
        quiet = not {"--quiet", "-q"}.isdisjoint(arguments)
        with _remembered(interrupts), _warnings_as_lines(quiet), spoken_by(as_option):
            try:
                work()
                code = OK
            except click.exceptions.Exit as done:
                code = done.exit_code
        if sys.stdout is not None:  # it may have been closed from the start
            sys.stdout.flush()
        return code
    except BrokenPipeError:
        with suppress(Exception):  # let nothing more be written to a pipe that nobody reads, not even at the end
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return CLOSED_PIPE
    except (Exception, KeyboardInterrupt) as error:
        if interrupts or isinstance(error, KeyboardInterrupt | click.Abort):
            _say(said, "interrupted.")
            return INTERRUPTED
        if "--debug" in arguments:
            traceback.print_exc(file=sys.stderr)
        _say(said, *explain(error, arguments))
        code = UNREACHABLE if isinstance(error, UnreachableError) else ERROR
        return error.exit_code if isinstance(error, Failure) else code


@contextmanager
def _remembered(interrupts: list[int]) -> Iterator[None]:
    """Remember that Ctrl-C was pressed: a library that is interrupted while it loads may raise anything."""

    def handle(number: int, frame: FrameType | None) -> None:
        interrupts.append(number)
        signal.default_int_handler(number, frame)

    ours = threading.current_thread() is threading.main_thread()
    ours = ours and signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if ours:
        signal.signal(signal.SIGINT, handle)
    try:
        yield
    finally:
        if ours:
            signal.signal(signal.SIGINT, signal.default_int_handler)


def explain(error: Exception, arguments: Sequence[str] = ()) -> list[str]:
    if isinstance(error, click.UsageError):
        name = error.ctx.command_path if error.ctx is not None else "fairpot"
        if isinstance(error, click.NoSuchOption) and error.option_name in _ELSEWHERE:
            return [f"No such option {error.option_name}.", f"Hint: {_ELSEWHERE[error.option_name]}."]
        return [one_line(error.format_message()), f"Hint: run {name} --help for the options and an example."]
    if isinstance(error, click.ClickException):
        return _lines(error.message)
    if is_about_memory(error):
        way = "raise the limit under which it runs (ulimit -v, ulimit -d), or use a larger machine"
        return ["there is not enough memory.", f"Hint: {way}."]
    if isinstance(error, zlib.error):
        return [f"a gzipped input is damaged: {one_line(str(error))}.", "Hint: fetch or write it again."]
    if isinstance(error, UnicodeDecodeError):
        return ["an input is damaged, or no UTF-8 text.", "Hint: write it again, or convert it with iconv -t utf-8."]
    if isinstance(error, OSError):
        return _about_files(error)
    if isinstance(error, ValueError | TypeError | MissingDependencyError) and _is_ours(error):
        what, *hint = _lines(str(error))
        return [what, *([_command(arguments, error.needs)] if hasattr(error, "needs") else hint)]
    return [f"unexpected {type(error).__name__}: {one_line(str(error))}", _LOOK]


def _command(arguments: Sequence[str], needs: dict[str, Any]) -> str:
    """Give the whole command that reads a file: this one, with all that has to be said of it."""
    words, said = [*arguments], {as_option(name): value for name, value in needs.items()}
    for place in reversed([i for i, word in enumerate(words) if word.partition("=")[0] in said]):
        del words[place : place + 1 + ("=" not in words[place])]
    words += [word for flag, value in said.items() for word in (flag, _ASKED[flag] if value is ... else value)]
    return (
        f"Hint: say all that this file needs at once, if the columns are right: fairpot {one_line(shlex.join(words))}"
    )


def _lines(message: str) -> list[str]:
    what, hint, way_out = _AROUND.sub("", message).partition("\nHint:")
    return [one_line(what)] + ([f"Hint: {one_line(way_out)}"] if hint else [])


def one_line(text: str) -> str:
    """Put a text on one line, cut where it is long; what is not printable is escaped: it could steer a terminal."""
    joined = _SCRATCH.sub("", " ".join(line.strip() for line in text.splitlines() if line.strip()))
    short = joined if len(joined) <= _LONGEST else f"{joined[: _LONGEST // 2]} ... {joined[-_LONGEST // 2 :]}"
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in short)


def _is_ours(error: Exception) -> bool:
    """Whether our own code raised it, with a message for people."""
    frames = traceback.extract_tb(error.__traceback__)
    return not frames or frames[-1].filename.startswith(_PACKAGE)


def _about_files(error: OSError) -> list[str]:
    where = f"{one_line(str(error.filename))}: " if error.filename else ""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return [f"{where}the disk is full.", "Hint: free some space, or write to another disk."]
    if error.strerror is None:
        return _lines(str(error))
    return [f"{where}{error.strerror}.", "Hint: check the name, the permissions and the disk."]


def tell_user(kind: str, text: str) -> None:
    """Write a line to standard error that says its kind first; where all lines there are JSON, it is one."""
    if only_objects():
        tell(kind, text=text)
    else:
        click.echo(f"{kind}: {text}", err=True)


def _say(said: list[str], first: str, *more: str) -> None:
    said += [first, *more]
    with suppress(OSError):
        if only_objects():  # the log's last line has it
            return
        sys.stderr.write("\n".join([f"error: {first}", *more]) + "\n")
        sys.stderr.flush()


@contextmanager
def _warnings_as_lines(quiet: bool) -> Iterator[None]:
    """Show warnings for people after the answer, each once, as a line on standard error."""
    seen: dict[str, None] = {}

    def keep(message: Warning | str, *_: Any, **__: Any) -> None:
        seen[one_line(str(message))] = None

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            warnings.simplefilter("always", UserWarning)
            warnings.showwarning = keep
            yield
    finally:
        with suppress(OSError, ValueError, AttributeError):  # the answer first; either may be closed
            sys.stdout.flush()
        for text in () if quiet else seen:
            tell_user("warning", text)
