"""Arguments as messages call them: by their Python names, or, on the command line, by its options."""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import ModuleType
from typing import Any, NoReturn, ParamSpec, TypeVar, overload

from fairpot._docs import documented
from fairpot._said import WORDS, Said, is_said, near

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
Parameters = dict[str, inspect.Parameter]


@overload
def by_name(function: Callable[P, T], /) -> Callable[P, T]: ...
@overload
def by_name(*, but: Mapping[str, str]) -> Callable[[Callable[P, T]], Callable[P, T]]: ...
def by_name(function: Any = None, /, *, but: Mapping[str, str] | None = None) -> Any:
    """Say of arguments that are missing, misspelt, or given by their place, what the call looks like.

    What is said of rows, taken as ``**rows: Unpack[Said]``, is spelled out for ``help`` and completion, and so is the
    docstring. ``but`` names words that mean nothing here, and says why.
    """
    if function is None:
        return functools.partial(_by_name, but=but or {})
    return _by_name(function, {})


def _by_name(function: Callable[P, T], but: Mapping[str, str]) -> Callable[P, T]:
    known = _spelled_out(function, but)
    open_ended = any(p.kind is p.VAR_KEYWORD for p in known.values())
    places = [p.name for p in known.values() if p.kind is p.POSITIONAL_OR_KEYWORD]
    needed = [p.name for p in known.values() if p.default is p.empty and p.kind is not p.VAR_KEYWORD]
    own = [name for name in places if name != "self"]
    groups = ["sensitive_features"] if "rows" in known or "sensitive_features" in known else []
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
        for name in [] if open_ended else [name for name in kwargs if name not in known]:
            if name not in but:
                told = f"{function.__name__}() got an unexpected keyword argument {name!r}"
                raise TypeError(f"{told}.{near(name, known)}")
            if is_said(name, kwargs.pop(name)):
                raise TypeError(f"{function.__name__} takes no {name}: {but[name]}")
        missing = [name for name in needed if name not in places[: len(args)] and name not in kwargs]
        if missing:
            raise TypeError(f"{function.__name__} needs {' and '.join(missing)}, not given.\nHint: {shown}")
        return function(*args, **kwargs)

    vars(checked)["__signature__"] = inspect.Signature(list(known.values()))
    return documented(checked)


def _spelled_out(function: Callable[..., Any], but: Mapping[str, str]) -> Parameters:
    """Give the parameters of a function, with every word in the place of ``**rows``."""
    known = dict(inspect.signature(function).parameters)
    said = next((p for p in known.values() if p.kind is p.VAR_KEYWORD and "Said]" in str(p.annotation)), None)
    if said is None:
        return known
    by_place = {name: p for name, p in known.items() if p.kind is p.POSITIONAL_OR_KEYWORD}
    words = {name: _parameter(name) for name in WORDS if name not in (*known, *but)}
    return by_place | words | {name: p for name, p in known.items() if name not in by_place and p is not said}


def _parameter(name: str) -> inspect.Parameter:
    hint = Said.__annotations__[name].__origin__
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=WORDS[name].default, annotation=hint)


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
