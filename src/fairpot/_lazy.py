"""Names of a package that are imported when they are first asked for."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any

Lazy = tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]


def lazy(package: str, **places: str) -> Lazy:
    """Give ``__getattr__``, ``__dir__`` and ``__all__`` of a package; ``places``: names by submodule."""
    here = {name: module for module, names in places.items() for name in names.split()}
    every = sorted(here)

    def find(name: str) -> Any:
        if name not in here:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        found = getattr(import_module(f"{package}.{here[name]}"), name)
        setattr(sys.modules[package], name, found)
        return found

    return find, lambda: every, every
