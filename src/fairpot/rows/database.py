"""DuckDB connections: each with the memory and threads it was allowed, none that can load or change anything."""

from __future__ import annotations

from contextlib import suppress
from typing import Any, NamedTuple

from fairpot._optional import Lazy
from fairpot.rows.guard import check_room

duckdb = Lazy("duckdb", "cli")

_SETTINGS = ("enable_progress_bar = true", "enable_progress_bar_print = false", "allow_persistent_secrets = false")


class Allowed(NamedTuple):
    """What each connection may take: memory as DuckDB writes it, and threads, None for as many as there are cores."""

    memory: str | None = None
    threads: int | None = None


def connect(allowed: Allowed, **config: Any) -> Any:
    """Open an empty database in memory: no extension is loaded, and no setting can be changed any more."""
    check_room()
    config |= {"autoinstall_known_extensions": False, "autoload_known_extensions": False}
    limits = {"memory_limit": allowed.memory, "threads": allowed.threads}
    config |= {name: value for name, value in limits.items() if value is not None}
    connection = duckdb.connect(":memory:", config=config)
    for setting in _SETTINGS:
        with suppress(duckdb.Error):
            connection.execute(f"SET {setting}")
    connection.execute("SET lock_configuration = true")
    return connection


def answer(connection: Any, text: str, parameters: dict[str, Any] | None, size: int) -> Any:
    """Run a query and return a reader of its record batches."""
    if hasattr(connection, "to_arrow_reader"):
        return reader(connection.sql(text, params=parameters), size)
    # Older ones make all of the answer at once in `sql` with parameters; to read a large one kills 1.1 to 1.3.
    return connection.execute(text, parameters).fetch_record_batch(size)


def reader(query: Any, size: int) -> Any:
    """Return a reader of the record batches of a query that was made."""
    make = getattr(query, "to_arrow_reader", None) or query.fetch_arrow_reader
    return make(size)
