"""A task that failed, as a result: what went wrong, in words that are the same on every machine."""

from __future__ import annotations

import os
import re
import signal
import sys
import tempfile
from contextlib import suppress
from dataclasses import dataclass

# A quoted absolute path may hold spaces; a bare one ends at the first. Addresses on the web are kept.
_WEB = r"\b(?!file:)[a-z][a-z0-9+.-]*://[^\s'\"]+"
_QUOTED = r"(?P<quote>['\"])(?P<inner>(?:file://)?(?:[A-Za-z]:)?[\\/][^'\"\n]*)(?P=quote)"
_BARE = r"(?:file://|(?<![\w.\\/]))(?:[A-Za-z]:)?[\\/]+(?:[^\s'\"\\/:,;()]+[\\/]+)+[^\s'\"\\/:,;()]*"
_PATHS = re.compile(f"(?P<web>{_WEB})|{_QUOTED}|{_BARE}")
_ADDRESS = re.compile(r"\b0x[0-9a-fA-F]{6,}\b")


@dataclass(frozen=True)
class Failure:
    """What became of a task that raised, or whose worker died.

    Attributes
    ----------
    kind : str
        The name of the exception's class, or ``"WorkerDied"``.
    message : str
        Its message without a traceback, folders and addresses in memory, which differ between machines and runs.
    """

    kind: str
    message: str


def failure_of(error: BaseException) -> Failure:
    """Return an exception as a failure.

    Examples
    --------
    >>> failure_of(FileNotFoundError(2, "No such file or directory", "/home/ada/scores.csv"))
    Failure(kind='FileNotFoundError', message="[Errno 2] No such file or directory: 'scores.csv'")
    """
    try:
        message = str(error)
    except Exception:  # a faulty __str__ of somebody's class
        message = ""
    return Failure(type(error).__name__, without_folders(message))


def death(exit_code: int | None) -> Failure:
    """Return the failure of a task whose worker died on it.

    Examples
    --------
    >>> death(-9).message
    'the worker process died on this task: killed by SIGKILL (often: memory ran out)'
    """
    if exit_code is None:
        how = "exit code unknown"
    elif exit_code >= 0:
        how = f"exit code {exit_code}"
    else:
        try:
            how = f"killed by {signal.Signals(-exit_code).name}"
        except ValueError:
            how = f"killed by signal {-exit_code}"
        how += " (often: memory ran out)" if exit_code == -9 else ""
    return Failure("WorkerDied", f"the worker process died on this task: {how}")


def without_folders(message: str) -> str:
    """Replace absolute paths in a message by their last part, and addresses in memory by dots.

    Examples
    --------
    >>> without_folders("cannot read /data/bank/full.csv: <Reader object at 0x7f3a5c21d0>")
    'cannot read full.csv: <Reader object at 0x...>'
    """
    home = os.path.expanduser("~")
    if len(home) > 1:  # its last part is the user's name
        message = re.sub(re.escape(home) + r"(?![\w.\\/-])", "~", message)
    for folder in _known_folders():
        message = message.replace(folder + os.sep, f"{os.sep}...{os.sep}")
    return _ADDRESS.sub("0x...", _PATHS.sub(_last_part, message))


def _known_folders() -> list[str]:
    """Return folders to look for as they are: names with spaces are not told from words where nothing quotes them."""
    folders = {os.path.expanduser("~"), tempfile.gettempdir(), sys.prefix}
    with suppress(OSError):  # the working directory may have been removed
        folders.add(os.getcwd())
    return sorted((folder for folder in folders if len(folder) > 1), key=lambda folder: (-len(folder), folder))


def _last_part(match: re.Match[str]) -> str:
    if match["web"] is not None:
        return match["web"]
    path = match["inner"] or match[0]
    quote = match["quote"] or ""
    return quote + re.split(r"[\\/]+", path.rstrip("\\/"))[-1] + quote
