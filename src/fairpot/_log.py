"""What is read, counted, refused and written, told to ``logging`` as fairpot; quiet unless somebody listens."""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from time import perf_counter
from typing import Any

_LOG = logging.getLogger("fairpot")
_LOG.addHandler(logging.NullHandler())
FORMS = ("text", "json")


def tell(event: str, *, level: int = logging.INFO, **facts: Any) -> None:
    """Log an event with its facts; a record carries them as ``event`` and ``facts``, too."""
    if _LOG.isEnabledFor(level):
        known = {name: value for name, value in facts.items() if value is not None}
        words = " ".join([event, *(f"{name}={json.dumps(value, default=str)}" for name, value in known.items())])
        _LOG.log(level, "%s", words, extra={"event": event, "facts": known})


@contextmanager
def telling(event: str, **facts: Any) -> Iterator[dict[str, Any]]:
    """Log an event with the seconds that it took; what is raised instead is logged as refused, and why."""
    begun = perf_counter()
    try:
        yield facts
    except Exception as error:
        if not error.__dict__.setdefault("told", False):  # it is told where it comes up first
            error.__dict__["told"] = True
            why, _, _ = str(error).partition("\n")
            tell("refused", level=logging.ERROR, **facts, why=why, seconds=since(begun))
        raise
    tell(event, **facts, seconds=since(begun))


def since(begun: float) -> float:
    return round(perf_counter() - begun, 3)


class _Lines(logging.Handler):
    def __init__(self, form: str) -> None:
        super().__init__()
        self.form = form

    def emit(self, record: logging.LogRecord) -> None:
        """Write a record; nothing stops because standard error is closed."""
        time = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        head = {"time": time, "level": record.levelname.lower(), "event": getattr(record, "event", None)}
        facts = getattr(record, "facts", {"text": record.getMessage()})
        line = f"{time} {record.levelname} {record.getMessage()}"
        try:
            print(json.dumps(head | facts, default=str) if self.form == "json" else line, file=sys.stderr, flush=True)
        except (OSError, ValueError, AttributeError):
            return


@contextmanager
def written_to_stderr(form: str | None) -> Iterator[None]:
    """Write the log to standard error while the block lasts."""
    if form is None:
        yield
        return
    lines, before = _Lines(form), _LOG.level
    _LOG.addHandler(lines)
    _LOG.setLevel(logging.INFO)
    try:
        yield
    finally:
        _LOG.removeHandler(lines)
        _LOG.setLevel(before)


def only_objects() -> bool:
    """Whether every line of standard error is to be a JSON object."""
    return any(isinstance(each, _Lines) and each.form == "json" for each in _LOG.handlers)
