"""How rows are put before DuckDB: a SELECT with one column for each part, its parameters and its streams.

No name of a column, no path and no value is ever written into SQL: columns are taken by their place under
aliases of our own; paths and JSON keys are bound as parameters.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from fairpot.engines.protocol import Roles
from fairpot.engines.values import Kind


@dataclass(frozen=True)
class Relation:
    """A SELECT, the values of its parameters, and Arrow streams by the names it knows them under.

    A stream is read once, so each is given as a function that opens it anew for every query; what goes wrong in one
    is put into ``failures``. ``reads`` are the files that DuckDB itself opens: no others are open to it.
    """

    select: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    streams: Mapping[str, Callable[[], Any]] = field(default_factory=dict)
    reads: tuple[Path, ...] = ()
    failures: list[BaseException] = field(default_factory=list)


class DuckDBRows(Roles, Protocol):
    """Rows that DuckDB can read: in files, or behind a query of the caller's."""

    @property
    def roles(self) -> dict[str, str]:
        """The part each column plays: "score", "label", "weight", "group0", ..."""

    @property
    def sql(self) -> str | None:
        """The caller's own SELECT, if the rows come from one."""

    @property
    def database(self) -> str | os.PathLike[str] | None:
        """The DuckDB file that it asks."""

    @property
    def kind(self) -> Kind:
        """How values of label and group columns come out: typed, as text or as JSON."""

    @property
    def where(self) -> str:
        """What to call the place of the rows in an error."""

    def relations(self) -> list[Relation]:
        """Return what DuckDB reads; nothing for a query."""

    def most_rows(self) -> int | None:
        """Return a number that there are surely no more rows than; None if nothing is known."""

    def bare(self) -> DuckDBRows:
        """Return the same rows without label and weight."""


def pick(table: str, places: Mapping[str, int], columns: Sequence[str], more: str = "") -> str:
    """Take the columns that play a part by their place, and ``more``."""
    chosen = ", ".join(f"c{place} AS {role}" for role, place in places.items()) + more
    return f"SELECT {chosen} FROM {table} AS t({', '.join(f'c{i}' for i in range(len(columns)))})"
