"""All methods, by the name they have on the command line: fairpot's own and those that others provide.

A package provides a method with an entry point of the group ``fairpot.methods`` that leads to a subclass of ``Repair``
or to a ``learn`` function: rules, certificates, curves, comparison, files, report and command line then have it.
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

from fairpot._moved import MOVED, WHERE

if TYPE_CHECKING:
    from fairpot.repair.estimator import Repair

GROUP = "fairpot.methods"
_HOME = import_module("fairpot.methods")
# The own methods' classes, by their names on the command line, from the one list there is.
_OWN = {file.replace("_", "-"): kind for kind, file in _HOME.HOMES.items()}


@cache
def _outside() -> dict[str, EntryPoint]:
    return {found.name: found for found in entry_points(group=GROUP) if found.name not in _OWN}


def names() -> tuple[str, ...]:
    """List the names of all methods without loading them."""
    return (*_OWN, *_outside())


def method(name: str) -> type[Repair]:
    """Load a method by its name on the command line."""
    if name in _OWN:
        own: type[Repair] = getattr(_HOME, _OWN[name])
        return own
    return _from_outside(name)


def methods() -> dict[str, type[Repair]]:
    """Load all methods."""
    return {name: method(name) for name in names()}


def method_of(kind: str) -> type[Repair] | None:
    """Load a method by the name of its class; None where there is none."""
    return next((method(name) for name in names() if _kind(name) == kind), None)


def find_method(name: str) -> type[Repair]:
    """Find a method by its name or that of its class, whatever the case; suggest the nearest."""
    by_name = {_plain(key): key for key in names()} | {_plain(_kind(key)): key for key in names()}
    if _plain(name) in by_name:
        return method(by_name[_plain(name)])
    listed = ", ".join(repr(_kind(key)) for key in names())
    raise ValueError(f"unknown method {name!r}; known are {listed}.\n{hint_for(name)}")


def hint_for(name: str) -> str:
    """Say what may be meant by a name that no method has: one that has moved, or the nearest."""
    moved = next((kind for kind in MOVED if _plain(kind) == _plain(name)), None)
    if moved is not None:
        return f"Hint: {moved} {WHERE}."
    by_name = {_plain(_kind(key)): key for key in names()}
    near = difflib.get_close_matches(_plain(name), by_name, n=1, cutoff=0.4)
    meant = f"did you mean {_kind(by_name[near[0]])!r}?" if near else "pass an estimator for any other method."
    return f"Hint: {meant}"


def such_as(suits: Callable[[type[Repair]], bool]) -> str:
    """Name the methods that suit, for a hint."""
    return " or ".join(kind.__name__ for kind in methods().values() if suits(kind))


def method_name(kind: type[Repair]) -> str:
    """Return the name of a method on the command line."""
    return next(name for name in names() if _kind(name) == kind.__name__)


def takes_reference(kind: type) -> bool:
    """Whether a method leaves one group's scores as they are, and lets its name be given; others move all groups."""
    learn = getattr(kind, "learn", None)
    return learn is None or "reference" in signature(learn).parameters


@cache
def _from_outside(name: str) -> type[Repair]:
    """Load what an entry point leads to: an estimator, or a ``learn`` function that one is made of."""
    from fairpot.repair.estimator import Repair

    point = _outside()[name]
    loaded = point.load()
    whole = isinstance(loaded, type) and issubclass(loaded, Repair) and hasattr(loaded, "learn")
    if whole and loaded.__name__ == _kind(name):
        kind: type[Repair] = loaded
        return kind
    if isinstance(loaded, type) or not callable(loaded):
        raise TypeError(
            f"the entry point {name!r} of {GROUP} leads to {point.value}, which is no method.\n"
            "Hint: it names a subclass of fairpot.repair.Repair, whose name has a capital, or a learn function."
        )
    return _made(name, loaded)


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
    """Name the class of a method without loading it: what an entry point names with a capital is one."""
    if name in _OWN:
        return _OWN[name]
    named = _outside()[name].attr.rpartition(".")[2]
    return named if named[:1].isupper() else "".join(part.capitalize() for part in name.replace("_", "-").split("-"))


def _plain(name: str) -> str:
    return name.lower().replace("_", "").replace("-", "").replace(" ", "")
