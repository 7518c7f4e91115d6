"""From a RowSource to a DuckDB subquery with one column for each part: score, label, weight, group0, ...

No name of a column, no path and no value is ever written into SQL: columns are taken by their place under
aliases of our own, paths and JSON keys are bound as parameters.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread
from typing import Any, Protocol

from fairpot._optional import import_optional
from fairpot.engines.columns import MISSING_WORDS, Kind
from fairpot.engines.formats import Layout, arrow_file
from fairpot.engines.leftovers import scratch_folder
from fairpot.engines.source import RowSource, find_column
from fairpot.exceptions import InputFileError

_BATCH = 1 << 19
_KINDS: dict[str, Kind] = {"csv": "text", "tsv": "text", "jsonl": "json"}


class Progress(Protocol):
    """Told how far a scan is, from 0 to 1."""

    def __call__(self, done: float, /) -> object:
        """Take the share of the work that is done."""


class Scan:
    """A DuckDB connection and the rows of a source in it; use as a context manager."""

    def __init__(
        self, source: RowSource, *, memory_limit: str = "2GB", threads: int | None = None, ordered: bool = False
    ) -> None:
        self._duckdb = import_optional("duckdb", "cli")
        self._pyarrow = import_optional("pyarrow", "cli")
        self.source = source
        self.layouts = source.files
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
        layout = next(iter(self.layouts.values()), None)
        return "typed" if layout is None else _KINDS.get(layout.format, "typed")

    def rows(self) -> tuple[str, dict[str, Any]]:
        """Return a subquery with a column for each part, and its parameters."""
        if self.source.sql is not None:
            return self._pick(self._query(), self.columns), {}
        for view in self._views:
            self._connection.unregister(view)
        parts: list[str] = []
        parameters: dict[str, Any] = {}
        alike: dict[Layout, list[Path]] = {}
        for path, layout in self.layouts.items():
            alike.setdefault(layout, []).append(path)
        for number, (layout, paths) in enumerate(alike.items()):
            text, values = self._read(layout, paths, f"p{number}_")
            parts.append(text)
            parameters |= values
        return " UNION ALL ".join(parts), parameters

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

    def typed_batches(self) -> Iterator[Any]:
        """Yield all columns in the order of the rows, with the types DuckDB gives them."""
        [layout] = set(self.layouts.values()) or [None]
        text, parameters = self._query(), dict[str, Any]()
        if layout is not None:
            text, parameters = _typed_reader(layout, [*self.layouts])
        with self.errors():
            query = self._connection.sql(f"SELECT * FROM {text}", params=parameters or None)
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

    def _pick(self, table: str, columns: tuple[str, ...]) -> str:
        """Take the columns that play a part by their place."""
        places = {role: find_column(name, columns, "the input") for role, name in self.source.roles.items()}
        chosen = ", ".join(f"c{place} AS {role}" for role, place in places.items())
        return f"SELECT {chosen} FROM {table} AS t({', '.join(f'c{i}' for i in range(len(columns)))})"

    def _read(self, layout: Layout, paths: list[Path], prefix: str) -> tuple[str, dict[str, Any]]:
        files = {f"{prefix}files": [_literal(p) for p in paths]}
        if layout.format == "parquet":
            return self._pick(f"read_parquet(${prefix}files, hive_partitioning = false)", layout.columns), files
        if layout.format == "arrow":
            return self._pick(self._registered(paths, prefix, layout), layout.columns), {}
        zipped = "gzip" if layout.zipped else "none"
        if layout.format == "jsonl":
            keys = {f"{prefix}{role}": _pointer(name) for role, name in self.source.roles.items()}
            chosen = ", ".join(f"json_extract(json, ${prefix}{role}) AS {role}" for role in self.source.roles)
            table = f"read_ndjson_objects(${prefix}files, compression = '{zipped}')"
            return f"SELECT {chosen} FROM {table}", files | keys
        spec = ", ".join(f"'c{i}': 'VARCHAR'" for i in range(len(layout.columns)))
        options = f"columns = {{{spec}}}, compression = '{zipped}', {_DIALECT}"
        table = f"read_csv(${prefix}files, delim = ${prefix}delim, {options})"
        return self._pick(table, layout.columns), files | {f"{prefix}delim": layout.delimiter}

    def _registered(self, paths: list[Path], prefix: str, layout: Layout) -> str:
        """Hand Arrow files to DuckDB as a stream; a stream is read once, so each query gets a new one."""
        pa = self._pyarrow

        def stream() -> Iterator[Any]:
            for path in paths:
                opened = arrow_file(path)
                count = getattr(opened, "num_record_batches", None)
                yield from opened if count is None else map(opened.get_batch, range(count))

        name = f"fairpot_{prefix}arrow"
        reader = pa.RecordBatchReader.from_batches(arrow_file(paths[0]).schema, stream())
        self._connection.register(name, reader)
        self._views.append(name)
        return name


_DIALECT = "auto_detect = false, header = true, quote = '\"', escape = '\"'"


def _typed_reader(layout: Layout, paths: list[Path]) -> tuple[str, dict[str, Any]]:
    """Let DuckDB find the types of text files, looking at every row."""
    values: dict[str, Any] = {"files": [_literal(p) for p in paths]}
    zipped = "gzip" if layout.zipped else "none"
    if layout.format == "jsonl":
        return f"read_ndjson($files, sample_size = -1, compression = '{zipped}')", values
    values |= {"delim": layout.delimiter, "words": list(MISSING_WORDS)}
    options = f"header = true, quote = '\"', escape = '\"', sample_size = -1, compression = '{zipped}'"
    return f"read_csv($files, delim = $delim, nullstr = $words, {options})", values


def _literal(path: Path) -> str:
    """Write a path so that DuckDB does not take its characters for a pattern."""
    return "".join(f"[{c}]" if c in "*?[" else c for c in str(path))


def _pointer(key: str) -> str:
    """Write a key of a JSON object as a JSON pointer."""
    return "/" + key.replace("~", "~0").replace("/", "~1")


def _explained(error: Exception, source: RowSource) -> InputFileError:
    """Put DuckDB's or Arrow's error into one line and a hint."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()] or [type(error).__name__]
    what = "the query" if source.sql is not None else ", ".join(map(str, [*source.files][:3]))
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
