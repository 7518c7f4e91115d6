"""All methods, by the name they have on the command line: fairpot's own and those that others provide.

A package provides a method with an entry point of the group ``fairpot.methods`` that leads to a ``learn`` function:
rules, certificates, curves, comparison, files, report and command line then have it.
"""

from __future__ import annotations

import dataclasses
import difflib
from collections.abc import Callable
from functools import cache
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from inspect import signature
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fairpot.repair.estimator import Repair

GROUP = "fairpot.methods"
# The own methods' classes, by their names on the command line, from the one list there is.
_OWN = {file.replace("_", "-"): kind for kind, file in import_module("fairpot.methods").HOMES.items()}


@cache
def _outside() -> dict[str, EntryPoint]:
    """Find the methods that other packages provide."""
    return {found.name: found for found in entry_points(group=GROUP) if found.name not in _OWN}


def names() -> tuple[str, ...]:
    """List the names of all methods without loading them."""
    return (*_OWN, *_outside())


def method(name: str) -> type[Repair]:
    """Load a method by its name on the command line."""
    if name in _OWN:
        found: type[Repair] = getattr(import_module("fairpot.methods"), _OWN[name])
        return found
    return _made(name, _outside()[name].load())


def methods() -> dict[str, type[Repair]]:
    """Load all methods."""
    return {name: method(name) for name in names()}


def method_of(kind: str) -> type[Repair] | None:
    """Load a method by the name of its class; None where there is none."""
    return next((method(name) for name in names() if _kind(name) == kind), None)


def find_method(name: str) -> type[Repair]:
    """Find a method by its name or that of its class, whatever the case; suggest the nearest."""
    known = {_plain(key): key for key in names()} | {_plain(kind): key for key, kind in _OWN.items()}
    if _plain(name) in known:
        return method(known[_plain(name)])
    near = difflib.get_close_matches(_plain(name), known, n=1, cutoff=0.4)
    hint = f"did you mean {_kind(known[near[0]])!r}?" if near else "pass an estimator for any other method."
    listed = ", ".join(repr(_kind(key)) for key in names())
    raise ValueError(f"unknown method {name!r}; known are {listed}.\nHint: {hint}")


def method_name(kind: type[Repair]) -> str:
    """Return the name of a method on the command line."""
    return next(name for name in names() if _kind(name) == kind.__name__)


def takes_reference(kind: type) -> bool:
    """Whether a method leaves one group's scores as they are, and lets its name be given; others move all groups."""
    learn = getattr(kind, "learn", None)
    return learn is None or "reference" in signature(learn).parameters


@cache
def _made(name: str, learn: Callable[..., Any]) -> type[Repair]:
    """Make the estimator of a ``learn`` function: its own parameters and a strength."""
    from fairpot.repair.estimator import Repair

    kind, shared = _kind(name), {each.name for each in dataclasses.fields(Repair)}
    own = [p for p in list(signature(learn).parameters.values())[1:] if p.name not in shared]
    fields: list[Any] = [("strength", Any, dataclasses.field(default=None))]
    fields += [(p.name, Any, dataclasses.field(default=p.default, kw_only=True)) for p in own]
    told = f"{(learn.__doc__ or name).strip()}\n\nMade of {learn.__module__}.{learn.__qualname__}."
    space = {"learn": staticmethod(learn), "__doc__": told, "__module__": __name__}
    made = dataclasses.make_dataclass(kind, fields, bases=(Repair,), namespace=space, eq=False, repr=False)
    globals()[kind] = made  # where a pickle looks for it
    return made


def __getattr__(name: str) -> Any:
    """Make the class of a method from outside where a pickle names it."""
    for each in _outside():
        if _kind(each) == name:
            return method(each)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def _kind(name: str) -> str:
    """Name the class of a method."""
    return _OWN.get(name) or "".join(part.capitalize() for part in name.replace("_", "-").split("-"))


def _plain(name: str) -> str:
    return name.lower().replace("_", "").replace("-", "").replace(" ", "")
