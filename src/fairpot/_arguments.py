"""Arguments as messages call them: by their Python names, or, on the command line, by its options."""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any, NoReturn, ParamSpec, TypeVar

from fairpot._docs import documented

Speaker = Callable[[str, Any], str]
NOTHING = object()


def in_python(name: str, value: Any = NOTHING) -> str:
    """Name an argument as one types it in Python: ``max_gap``, ``max_gap=0.02``, or ``reference=...``."""
    if value is NOTHING:
        return name
    return f"{name}=..." if value is ... else f"{name}={value!r}"


_speaker: list[Speaker] = [in_python]


def argument(name: str, value: Any = NOTHING) -> str:
    """Name an argument that a message is about, with its value if one is given; ``...`` asks for one."""
    return _speaker[-1](name, value)


@contextmanager
def spoken_by(speaker: Speaker) -> Iterator[None]:
    """Let messages name arguments in other words; the command line names its options."""
    _speaker.append(speaker)
    try:
        yield
    finally:
        _speaker.pop()


P = ParamSpec("P")
T = TypeVar("T")


def by_name(function: Callable[P, T]) -> Callable[P, T]:
    """Say of arguments that are missing, or given by their place, what the call looks like; fill in its docstring."""
    documented(function)
    known = inspect.signature(function).parameters
    open_ended = [p.name for p in known.values() if p.kind is p.VAR_KEYWORD]
    places = [p.name for p in known.values() if p.kind is p.POSITIONAL_OR_KEYWORD]
    needed = [p.name for p in known.values() if p.default is p.empty and p.kind is not p.VAR_KEYWORD]
    own = [name for name in places if name != "self"]
    groups = ["sensitive_features"] if "rows" in open_ended or "sensitive_features" in known else []
    shown = f"{function.__name__}({', '.join([*own, *(f'{name}=...' for name in groups)])})"

    @functools.wraps(function)
    def checked(*args: P.args, **kwargs: P.kwargs) -> T:
        if len(args) > len(places):
            got = len(args) - (len(places) - len(own))
            first = groups[0] if groups else "every other"
            raise TypeError(
                f"{function.__name__} takes {' and '.join(own)} by their place, and got {got} arguments: {first} goes "
                f"by its name.\nHint: {shown}"
            )
        missing = [name for name in needed if name not in places[: len(args)] and name not in kwargs]
        if missing and (open_ended or known.keys() >= kwargs.keys()):  # else Python names what it does not know
            raise TypeError(f"{function.__name__} needs {' and '.join(missing)}, not given.\nHint: {shown}")
        return function(*args, **kwargs)

    return checked


class _Part(ModuleType):
    """A part of the library whose name reads like a function; calling it leads to what does that."""

    way: str

    def __call__(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise TypeError(f"{self.__name__} is a part of the library, not a function.\nHint: {self.way}")


def leading_to(module: str, way: str) -> None:
    """Let a module that is called like a function say what to call instead."""
    part = sys.modules[module]
    part.__class__ = _Part
    vars(part)["way"] = way
