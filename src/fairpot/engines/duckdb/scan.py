"""A DuckDB connection with some rows in it: queries come out as Arrow batches, errors as ours."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread
from typing import Any

from fairpot._leftovers import scratch_folder
from fairpot._optional import import_optional
from fairpot.engines.columns import find_column
from fairpot.engines.duckdb.relation import DuckDBRows, Relation, pick
from fairpot.engines.protocol import Progress
from fairpot.engines.values import Kind
from fairpot.exceptions import InputFileError

_BATCH = 1 << 19


class Scan:
    """A DuckDB connection and the rows of a source in it; use as a context manager."""

    def __init__(
        self, source: DuckDBRows, *, memory_limit: str = "2GB", threads: int | None = None, ordered: bool = False
    ) -> None:
        self._duckdb = import_optional("duckdb", "cli")
        self._pyarrow = import_optional("pyarrow", "cli")
        self.source = source
        self._relations = source.relations()
        config: dict[str, Any] = {
            "memory_limit": memory_limit,
            "temp_directory": str(scratch_folder(self)),
            "preserve_insertion_order": ordered,
            "autoinstall_known_extensions": False,
            "python_enable_replacements": False,
        }
        if threads is not None:
            config["threads"] = threads
        self._connection = self._connect(config)
        self.columns = self._columns()
        self._views: list[str] = []

    def __enter__(self) -> Scan:
        return self

    def __exit__(self, *problem: object) -> None:
        self._connection.close()

    def _connect(self, config: dict[str, Any]) -> Any:
        database = self.source.database
        if database is not None and not Path(database).is_file():
            raise InputFileError(f"{os.fspath(database)} is not there.\nHint: the database must be a DuckDB file.")
        try:
            if database is None:
                return self._duckdb.connect(":memory:", config=config)
            return self._duckdb.connect(os.fspath(database), read_only=True, config=config)
        except (self._duckdb.Error, TypeError) as error:
            raise _explained(error, self.source) from error

    @property
    def kind(self) -> Kind:
        """How values of label and group columns come out: typed, as text or as JSON."""
        return self.source.kind

    def rows(self) -> tuple[str, dict[str, Any]]:
        """Return a subquery with a column for each part, and its parameters."""
        if self.source.sql is not None:
            places = {role: find_column(name, self.columns, "the query") for role, name in self.source.roles.items()}
            return pick(self._query(), places, self.columns), {}
        for view in self._views:
            self._connection.unregister(view)
        self._views.clear()
        parameters: dict[str, Any] = {}
        for relation in self._relations:
            parameters |= relation.parameters
            for name, stream in relation.streams.items():
                self._connection.register(name, stream())
                self._views.append(name)
        return " UNION ALL ".join(relation.select for relation in self._relations), parameters

    def types(self) -> dict[str, str]:
        """Return DuckDB's type of each part."""
        text, parameters = self.rows()
        with self.errors():
            relation = self._connection.sql(f"SELECT * FROM ({text})", params=parameters or None)
            return dict(zip(relation.columns, map(str, relation.types)))

    def batches(self, select: str, progress: Progress | None = None) -> Iterator[Any]:
        """Run ``select``, whose ``{rows}`` is the source, and yield Arrow record batches."""
        text, parameters = self.rows()
        with self.errors(), self._reporting(progress):
            query = self._connection.sql(select.format(rows=f"({text})"), params=parameters or None)
            make = getattr(query, "to_arrow_reader", None) or query.fetch_arrow_reader
            yield from make(_BATCH)

    def all_rows(self, select: str) -> list[tuple[Any, ...]]:
        """Run a small query and return its rows."""
        text, parameters = self.rows()
        with self.errors():
            query = self._connection.sql(select.format(rows=f"({text})"), params=parameters or None)
            return list(query.fetchall())

    def whole_rows(self, relation: Relation | None = None) -> Iterator[Any]:
        """Yield the schema of all columns, of the query or of a relation, then batches in the order of the rows."""
        text = f"SELECT * FROM {self._query()}" if relation is None else relation.select
        parameters = None if relation is None else dict(relation.parameters)
        with self.errors():
            query = self._connection.sql(text, params=parameters)
            make = getattr(query, "to_arrow_reader", None) or query.fetch_arrow_reader
            reader = make(1 << 17)
            yield reader.schema
            yield from reader

    @contextmanager
    def one_thread(self) -> Iterator[None]:
        """Let DuckDB take the rows one after the other, so that a random draw can be repeated."""
        [(threads,)] = self._connection.sql("SELECT current_setting('threads')").fetchall()
        self._connection.execute("SET threads = 1")
        try:
            yield
        finally:
            self._connection.execute(f"SET threads = {int(threads)}")

    @contextmanager
    def errors(self) -> Iterator[None]:
        """Turn DuckDB's errors into ours."""
        try:
            yield
        except (self._duckdb.Error, self._pyarrow.ArrowException, UnicodeDecodeError) as error:
            raise _explained(error, self.source) from error

    @contextmanager
    def _reporting(self, progress: Progress | None) -> Iterator[None]:
        """Ask DuckDB from a second thread how far it is."""
        ask = getattr(self._connection, "query_progress", None)
        if progress is None or ask is None:
            yield
            return
        self._connection.execute("SET enable_progress_bar = true")
        self._connection.execute("SET enable_progress_bar_print = false")
        done, best = Event(), 0.0

        def poll() -> None:
            nonlocal best
            while not done.wait(0.1):
                share = float(ask()) / 100
                if share > best:
                    best = min(share, 1.0)
                    progress(best)

        thread = Thread(target=poll, daemon=True)
        thread.start()
        try:
            yield
        finally:
            done.set()
            thread.join()

    def _columns(self) -> tuple[str, ...]:
        if self.source.sql is None:
            return ()
        with self.errors():
            statements = self._connection.extract_statements(self.source.sql)
            if len(statements) != 1 or "SELECT" not in str(statements[0].type):
                raise InputFileError("sql must be a single SELECT.\nHint: fairpot only reads from a database.")
            names = tuple(self._connection.sql(f"SELECT * FROM {self._query()}").columns)
        for name in self.source.roles.values():
            find_column(name, names, "the query")
        return names

    def _query(self) -> str:
        """Return the caller's own SELECT as a subquery; a comment at its end must not swallow the bracket."""
        text = (self.source.sql or "").encode()
        ends = [place for place, _ in self._duckdb.tokenize(text.decode()) if text[place : place + 1] == b";"]
        return f"(\n{text[: min(ends, default=len(text))].decode()}\n)"


def _explained(error: Exception, source: DuckDBRows) -> InputFileError:
    """Put DuckDB's or Arrow's error into one line and a hint."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()] or [type(error).__name__]
    what = source.where
    if "utf-8" in lines[0].lower() or "unicode" in lines[0].lower() or isinstance(error, UnicodeDecodeError):
        return InputFileError(f"{what} is not UTF-8 text.\nHint: convert it, for example with iconv -t utf-8.")
    detail = " ".join(lines[:3]) if "CSV Error" in lines[0] else lines[0]
    if "memory" in lines[0].lower() or "max_temp_directory_size" in str(error):
        hint = "raise memory_limit, or point TMPDIR to a disk with more room"
    elif source.sql is not None:
        hint = "try the query in DuckDB itself"
    else:
        hint = "the file may be damaged, cut short or of another format"
    return InputFileError(f"{what} cannot be read: {detail}\nHint: {hint}.")
