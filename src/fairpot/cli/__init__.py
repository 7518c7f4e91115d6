"""The command line: ``fairpot audit``, ``fit``, ``apply``, ``report`` and more."""

import _thread
import gc
import sys
import threading
from typing import Any

__all__ = ["main"]

_PARTS = ("click", "rich")
_SOON = 0.01  # seconds


def main() -> None:
    """Run the command line; where its packages are missing, say how to install them."""
    gc.disable()  # until the command is loaded: modules make many objects, and hardly any garbage
    gc.set_threshold(50_000)
    sys.unraisablehook = _unraisable
    try:
        _run()
    except BaseException as error:  # interrupted before a command begins, or after it; a module may call it otherwise
        if not isinstance(error, KeyboardInterrupt) and not isinstance(error.__cause__, KeyboardInterrupt):
            raise
        sys.stderr.write("error: interrupted.\n")
        raise SystemExit(130) from None


def _unraisable(about: Any) -> None:
    """Press Ctrl-C again where Python would only tell of it and go on: in what is called when a module was loaded."""
    if about.exc_type is KeyboardInterrupt:
        threading.Timer(_SOON, _thread.interrupt_main).start()
    else:
        sys.__unraisablehook__(about)


def _run() -> None:
    try:
        from fairpot.cli._app import app
    except ModuleNotFoundError as error:
        missing = (error.name or "").split(".")[0]
        if missing not in _PARTS:
            raise
        sys.stderr.write(f"error: the command line needs the package {missing!r}, which is not installed.\n")
        sys.stderr.write("Hint: pip install 'fairpot[cli]'\n")
        raise SystemExit(2) from None
    app()
