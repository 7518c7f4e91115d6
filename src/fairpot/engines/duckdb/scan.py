"""A DuckDB connection with some rows in it: queries come out as Arrow batches, errors as ours."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from fairpot._arguments import argument
from fairpot._leftovers import scratch_folder
from fairpot._optional import import_optional
from fairpot._validation import wording
from fairpot.engines.columns import find_column
from fairpot.engines.duckdb.background import in_background
from fairpot.engines.duckdb.connection import connect
from fairpot.engines.duckdb.relation import DuckDBRows, pick
from fairpot.engines.protocol import Progress
from fairpot.engines.values import Kind
from fairpot.exceptions import InputFileError

_BATCH = 1 << 19
_SMALLER = 1 << 17  # where all columns come
_LONGEST = 300  # characters of DuckDB's own message


class Scan:
    """A DuckDB connection and the rows of a source in it; use as a context manager."""

    def __init__(
        self, source: DuckDBRows, *, memory_limit: str = "2GB", threads: int | None = None, ordered: bool = False
    ) -> None:
        self._duckdb = import_optional("duckdb", "cli")
        self._pyarrow = import_optional("pyarrow", "cli")
        self.source, self.memory_limit = source, memory_limit
        self._relations = source.relations()
        config: dict[str, Any] = {
            "memory_limit": memory_limit,
            "temp_directory": str(scratch_folder(self)),
            "preserve_insertion_order": ordered,
            "python_enable_replacements": False,
        }
        if threads is not None:
            config["threads"] = threads
        reads = [path for relation in self._relations for path in relation.reads]
        with self.errors():
            try:
                self._connection = connect(source.database, config, reads, source.sql)
            except TypeError as error:
                raise _explained(error, source) from error
        self._views: list[str] = []
        self.columns = self._columns()

    def __enter__(self) -> Scan:
        return self

    def __exit__(self, *problem: object) -> None:
        self._connection.close()

    def alone(self) -> Scan:
        """Return another scan of the same rows by one thread, so that a random draw can be repeated."""
        return Scan(self.source, memory_limit=self.memory_limit, threads=1)

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
        return " UNION ALL BY NAME ".join(relation.select for relation in self._relations), parameters

    def types(self) -> dict[str, str]:
        """Return DuckDB's type of each part."""
        text, parameters = self.rows()
        with self.errors():
            relation = self._connection.sql(f"SELECT * FROM ({text})", params=parameters or None)
            return dict(zip(relation.columns, map(str, relation.types)))

    def batches(self, select: str, progress: Progress | None = None) -> Iterator[Any]:
        """Run ``select``, whose ``{rows}`` is the source, and yield Arrow record batches."""
        text, parameters = self.rows()
        yield from self._run(select.format(rows=f"({text})"), parameters, _BATCH, progress)

    def all_rows(self, select: str) -> list[tuple[Any, ...]]:
        """Run a small query and return its rows."""
        return [tuple(row.values()) for batch in self.batches(select) for row in batch.to_pylist()]

    def whole_rows(self) -> Iterator[Any]:
        """Yield the schema of all columns of the query, then batches in the order of the rows."""
        text = f"SELECT * FROM {self._query()}"
        with self.errors():
            query = self._connection.sql(f"{text} LIMIT 0")
            yield _reader(query, 1).schema
        yield from self._run(text, {}, _SMALLER, None)

    def _run(self, text: str, parameters: dict[str, Any], size: int, progress: Progress | None) -> Iterator[Any]:
        def work() -> Iterator[Any]:
            yield from _answer(self._connection, text, parameters or None, size)

        with self.errors():
            yield from in_background(work, self._connection.interrupt, self._teller(progress))

    def _teller(self, progress: Progress | None) -> Any:
        """Return what asks DuckDB how far it is, and tells."""
        ask = getattr(self._connection, "query_progress", None)
        if progress is None or ask is None:
            return None
        best = 0.0

        def tell() -> None:
            nonlocal best
            share = min(float(ask()) / 100, 1.0)
            if share > best:
                best = share
                progress(best)

        return tell

    @contextmanager
    def errors(self) -> Iterator[None]:
        """Turn DuckDB's errors into ours; what went wrong in a stream of ours is that error again."""
        try:
            yield
        except (self._duckdb.Error, self._pyarrow.ArrowException, UnicodeDecodeError, RuntimeError) as error:
            for failure in (failure for relation in self._relations for failure in relation.failures):
                raise failure from None
            if type(error) is RuntimeError and "interrupt" in str(error).lower():
                raise KeyboardInterrupt from error
            if isinstance(error, RuntimeError) and not isinstance(error, self._duckdb.Error):
                raise
            raise _explained(error, self.source) from error

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


def _answer(connection: Any, text: str, parameters: dict[str, Any] | None, size: int) -> Any:
    """Run a query and return a reader of its record batches."""
    if hasattr(connection, "to_arrow_reader"):
        return _reader(connection.sql(text, params=parameters), size)
    # Older ones make all of the answer at once in `sql` with parameters; to read a large one kills 1.1 to 1.3.
    return connection.execute(text, parameters).fetch_record_batch(size)


def _reader(query: Any, size: int) -> Any:
    make = getattr(query, "to_arrow_reader", None) or query.fetch_arrow_reader
    return make(size)


def _explained(error: Exception, source: DuckDBRows) -> InputFileError:
    """Put DuckDB's or Arrow's error into one line and a hint, without what it quotes from the rows."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()] or [type(error).__name__]
    what = source.where
    if "memory" in lines[0].lower() or "max_temp_directory_size" in str(error):
        hint = f"raise {argument('memory_limit')}, or point TMPDIR to a disk with more room"
    elif "file system operations are disabled" in lines[0]:
        hint = "only the files that the query itself names are open to it, whatever a view in the database says"
    elif source.sql is not None:
        hint = "try the query in DuckDB itself"
    else:
        hint = "the file may be damaged, cut short or of another format"
    return InputFileError(f"{what} cannot be read: {_without_values(error, lines[0])}\nHint: {hint}.")


# Errors about the rows, in which DuckDB quotes values; those about the query and the files it quotes in full.
_OF_ROWS = ("Conversion", "OutOfRange", "Constraint", "TypeMismatch", "InvalidInput", "Data")


def _without_values(error: Exception, line: str) -> str:
    """Return the message of an error, only its kind where it may quote what a row holds."""
    if wording.values_are_shown() or not type(error).__name__.startswith(_OF_ROWS):
        return line[:_LONGEST]
    return f"{line.split(':')[0][:_LONGEST]} (what it says of the rows is shown with debug)."
