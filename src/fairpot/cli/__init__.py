"""The command line: ``fairpot audit``, ``fit``, ``apply``, ``report`` and more."""

import sys

__all__ = ["main"]

_PARTS = ("click", "rich")


def main() -> None:
    """Run the command line; where its packages are missing, say how to install them."""
    try:
        from fairpot.cli._app import app
    except KeyboardInterrupt:  # while Python is still loading
        sys.stderr.write("error: interrupted.\n")
        raise SystemExit(130) from None
    except ModuleNotFoundError as error:
        missing = (error.name or "").split(".")[0]
        if missing not in _PARTS:
            raise
        sys.stderr.write(f"error: the command line needs the package {missing!r}, which is not installed.\n")
        sys.stderr.write("Hint: pip install 'fairpot[cli]'\n")
        raise SystemExit(2) from None
    app()
