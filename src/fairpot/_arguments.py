"""Arguments as messages call them: by their Python names, or, on the command line, by its options."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

Speaker = Callable[[str, Any], str]
NOTHING = object()


def in_python(name: str, value: Any = NOTHING) -> str:
    """Name an argument as one types it in Python: ``max_gap``, ``max_gap=0.02``, or ``reference=...``."""
    if value is NOTHING:
        return name
    return f"{name}=..." if value is ... else f"{name}={value!r}"


_speaker: list[Speaker] = [in_python]


def argument(name: str, value: Any = NOTHING) -> str:
    """Name an argument that a message is about, with its value if one is given; ``...`` asks for one.

    Examples
    --------
    >>> argument("max_gap", 0.02), argument("reference", ...)
    ('max_gap=0.02', 'reference=...')
    """
    return _speaker[-1](name, value)


@contextmanager
def spoken_by(speaker: Speaker) -> Iterator[None]:
    """Let messages name arguments in other words; the command line names its options."""
    _speaker.append(speaker)
    try:
        yield
    finally:
        _speaker.pop()
