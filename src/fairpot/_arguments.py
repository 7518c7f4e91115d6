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
    """Say of arguments that are missing, or given by their place and not by name, what the call looks like.

    Its docstring may name shared parameters, see :func:`fairpot._docs.documented`.

    Examples
    --------
    >>> @by_name
    ... def gap(y_true, y_score, *, sensitive_features): ...
    >>> gap([0, 1], [0.1, 0.2], ["F", "M"])
    Traceback (most recent call last):
    ...
    TypeError: gap takes y_true and y_score by their place, and got 3 arguments: sensitive_features goes by its name.
    Hint: gap(y_true, y_score, sensitive_features=...)
    """
    documented(function)
    known = inspect.signature(function).parameters
    parameters = known.values()
    open_ended = any(p.kind is p.VAR_KEYWORD for p in parameters)
    places = [p for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD]
    named = [p for p in parameters if p.kind is p.KEYWORD_ONLY]
    needed = [p.name for p in (*places, *named) if p.default is p.empty]
    own = [p.name for p in places if p.name != "self"]
    of_rows = any(p.kind is p.VAR_KEYWORD and p.name == "rows" for p in parameters)
    groups = ["sensitive_features"] if of_rows or "sensitive_features" in known else []
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
        given = {p.name for p in places[: len(args)]}
        missing = [name for name in needed if name not in given and name not in kwargs]
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
