"""What reads rows, chosen once by its name: DuckDB for files, memory for frames, Spark and others by entry points.

A package provides a reader with an entry point of the group ``fairpot.readers`` that leads to a class which keeps the
protocol; Spark's is fairpot's own.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, cast

from fairpot._arguments import argument
from fairpot.exceptions import InputFileError
from fairpot.rows.readers.protocol import AppliedRows, Applying, CountedRows, Counting, Reader

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

__all__ = ["AppliedRows", "Applying", "CountedRows", "Counting", "Reader", "names", "reader"]

GROUP = "fairpot.readers"
_OWN = {"duckdb": ("duckdb", "DuckDBReader"), "memory": ("frames", "FrameReader")}


def names() -> tuple[str, ...]:
    """List the names of all readers without loading them."""
    return (*_OWN, *_others())


def reader(name: str) -> Reader:
    """Load a reader by its name."""
    if name in _OWN:
        module, kind = _OWN[name]
        return cast(Reader, getattr(import_module(f"fairpot.rows.readers.{module}"), kind)())
    if name not in _others():
        import difflib

        near = difflib.get_close_matches(name, names(), n=1)
        hint = f"did you mean {near[0]!r}?" if near else "packages that are installed provide others."
        raise InputFileError(
            f"{argument('engine', name)} is not a reader of rows; known are {', '.join(names())}.\nHint: {hint}"
        )
    return cast(Reader, _others()[name].load()())


@cache
def _others() -> dict[str, EntryPoint]:
    from importlib.metadata import entry_points  # which takes long, and DuckDB is not looked for

    return {found.name: found for found in entry_points(group=GROUP) if found.name not in _OWN}
