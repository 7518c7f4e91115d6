"""DuckDBReader: files of one machine, counted with one ``GROUP BY`` within a memory limit.

Errors are ours, and say where bad rows are.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray

from fairpot._arguments import argument
from fairpot._optional import Lazy
from fairpot._validation import wording
from fairpot._validation.grouping import Grouping
from fairpot.exceptions import InputFileError
from fairpot.rows.database import Allowed, answer, connect, reader
from fairpot.rows.decoding import MISSING_WORDS, numbers_from_column
from fairpot.rows.formats import Layout, role_batches, role_schema
from fairpot.rows.guard import check_room, guarded
from fairpot.rows.looking import looked_at
from fairpot.rows.output import scratch_folder
from fairpot.rows.readers import DEFAULT_MEMORY, AppliedRows, Applying, CountedRows, Counting, Memory, Progress
from fairpot.rows.readers.query import TOO_LONG, Scan, count
from fairpot.rows.roles import LONGEST_NAME, NUMBERS, Kind, find_column
from fairpot.rows.source import READING, RowSource
from fairpot.transport import ScoreMap

duckdb, pa, pc = Lazy("duckdb", "cli"), Lazy("pyarrow", "cli"), Lazy("pyarrow.compute", "cli")

T = TypeVar("T")
_WAIT = 0.1  # seconds between two looks at the progress
_BATCH = 1 << 19
_SMALLER = 1 << 17  # where all columns come
_LONGEST = 300  # characters of DuckDB's own message
_SHOWN = 5  # bad rows that are named


class DuckDBReader:
    """Read files and queries; what does not fit into memory is spilled to disk, and a large table quantised."""

    where: ClassVar[str] = "in files"
    options: ClassVar[tuple[str, ...]] = (*READING, "memory_limit", "threads", "max_distinct", "progress")
    writes_folders: ClassVar[bool] = False

    def open(self, rows: Any, parts: Mapping[str, Any], options: Mapping[str, Any]) -> RowSource:
        """Name the files, or the query."""
        return RowSource(rows, **parts, **options)

    def count(self, rows: RowSource, how: Counting) -> CountedRows:
        """Count rows into a score table; of bad ones, say where they are."""
        limit = how.memory_limit or DEFAULT_MEMORY
        with _guarded(how), looked_at(rows), rows.by_name():
            try:
                with DuckDBScan(rows, limit, how.threads) as scan:
                    return count(scan, replace(how, memory_limit=limit))
            except InputFileError:
                raise
            except (ValueError, TypeError) as error:
                raise with_places(error, rows, limit, how.threads) from error

    def apply(self, rows: RowSource, maps: Mapping[Hashable, ScoreMap], how: Applying) -> AppliedRows:
        """Write the rows with their adjusted score."""
        from fairpot.rows.rewriting import rewrite  # which is built on this

        if how.output is None:
            raise TypeError(
                "output is missing.\nHint: name the file that the adjusted rows go to, apply(model, rows, output)."
            )
        with _guarded(how), looked_at(rows):
            return rewrite(rows, maps, how)


def _guarded(how: Counting | Applying) -> AbstractContextManager[None]:
    """Hold the process to a limit that was named."""
    if how.memory_limit is None:
        return nullcontext()
    return guarded(how.memory_limit, Memory.of(how.memory_limit).size, how.threads)


class DuckDBScan(Scan):
    """A DuckDB connection and the rows of a source in it, in their order if asked; use as a context manager."""

    def __init__(self, source: RowSource, memory_limit: str, threads: int | None, *, ordered: bool = False) -> None:
        self.source, self.memory_limit = source, memory_limit
        allowed = Memory.of(memory_limit).allowed(threads)
        self._files = _Files(source.files, source.roles, allowed)
        config: dict[str, Any] = {
            "temp_directory": str(scratch_folder(self)),
            "preserve_insertion_order": ordered,
            "python_enable_replacements": False,
        }
        with self.errors():
            self._connection = connect(allowed, **config)
        self._columns = self._names()

    def __enter__(self) -> DuckDBScan:
        return self

    def __exit__(self, *problem: object) -> None:
        self._connection.close()
        pa.default_memory_pool().release_unused()

    @cached_property
    def types(self) -> dict[str, str]:
        """DuckDB's type of each part."""
        text, parameters = self._rows()
        with self.errors():
            relation = self._connection.sql(f"SELECT * FROM ({text})", params=parameters or None)
            return dict(zip(relation.columns, map(str, relation.types)))

    def batches(self, select: str, progress: Progress | None = None) -> Iterator[Any]:
        """Run ``select``, whose ``{rows}`` is the source, and yield Arrow record batches."""
        text, parameters = self._rows()
        yield from self._run(select.format(rows=f"({text})"), parameters, _BATCH, progress)

    def drawn(self, select: str, share: float) -> Iterator[Any]:
        """Yield about a share of the rows; by one thread, so that a draw can be repeated."""
        with DuckDBScan(self.source, self.memory_limit, 1) as scan:
            yield from scan.batches(f"{select} USING SAMPLE {100 * share:.9f}% (bernoulli, 1)")

    def most_rows(self) -> int | None:
        """Return a number that there are surely no more rows than; None for a query."""
        return self.source.most_rows()

    def too_long(self, role: str) -> str:
        """Refuse a long text, which a file may hold once for all rows."""
        if self.types[role] != "VARCHAR":
            return role
        return f"CASE WHEN strlen({role}) > {LONGEST_NAME} THEN error('{TOO_LONG}{role}') ELSE {role} END AS {role}"

    def whole_rows(self) -> Iterator[Any]:
        """Yield the schema of all columns of the query, then batches in the order of the rows."""
        text = f"SELECT * FROM {self._query()}"
        with self.errors():
            yield reader(self._connection.sql(f"{text} LIMIT 0"), 1).schema
        yield from self._run(text, {}, _SMALLER, None)

    def _rows(self) -> tuple[str, dict[str, Any]]:
        """Return a subquery with a column for each part, and its parameters."""
        if self.source.sql is not None:
            roles = self.source.roles.items()
            known = bool({name for _, name in roles} & set(self._columns))
            places = {role: find_column(name, self._columns, "the query", role, known) for role, name in roles}
            return _pick(self._query(), places, self._columns), {}
        self._files.failures.clear()
        for name, stream in self._files.streams.items():
            self._connection.register(name, stream())
        return " UNION ALL BY NAME ".join(self._files.selects), self._files.parameters

    def _run(self, text: str, parameters: dict[str, Any], size: int, progress: Progress | None) -> Iterator[Any]:
        best, ask = 0.0, getattr(self._connection, "query_progress", None)

        def batches() -> Iterator[Any]:
            yield from answer(self._connection, text, parameters or None, size)

        def tell() -> None:
            """Ask DuckDB how far it is."""
            nonlocal best
            share = 0.0 if progress is None or ask is None else min(float(ask()) / 100, 1.0)
            if progress is not None and share > best:
                best = share
                progress(best)

        with self.errors():
            yield from in_background(batches(), self._connection.interrupt, tell)

    @contextmanager
    def errors(self) -> Iterator[None]:
        """Turn DuckDB's errors into ours; what went wrong in a stream of ours is that error again."""
        try:
            yield
        except (duckdb.Error, pa.ArrowException, UnicodeDecodeError, RuntimeError) as error:
            if self._files.failures:
                raise self._files.failures[0] from None
            if type(error) is RuntimeError and "interrupt" in str(error).lower():
                raise KeyboardInterrupt from error
            if isinstance(error, RuntimeError) and not isinstance(error, duckdb.Error):
                raise
            raise _explained(error, self.source) from error

    def _names(self) -> tuple[str, ...]:
        """Return the columns of a query, and insist that it is one that reads."""
        if self.source.sql is None:
            return ()
        with self.errors():
            statements = self._connection.extract_statements(self.source.sql)
            if len(statements) != 1 or "SELECT" not in str(statements[0].type):
                raise InputFileError("sql must be a single SELECT.\nHint: fairpot only reads.")
            names = tuple(self._connection.sql(f"SELECT * FROM {self._query()}").columns)
        for name in self.source.roles.values():
            find_column(name, names, "the query")
        return names

    def _query(self) -> str:
        """Return the caller's own SELECT as a subquery; a comment at its end must not swallow the bracket."""
        text = (self.source.sql or "").encode()
        ends = [place for place, _ in duckdb.tokenize(text.decode()) if text[place : place + 1] == b";"]
        return f"(\n{text[: min(ends, default=len(text))].decode()}\n)"


def _explained(error: Exception, source: RowSource) -> InputFileError:
    """Put DuckDB's or Arrow's error into one line and a hint, without what it quotes from the rows."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()] or [type(error).__name__]
    found = re.search(rf"{TOO_LONG}(\w+)", str(error))
    if found is not None:
        return InputFileError(wording.long_text(f"column {source.roles[found[1]]!r}", LONGEST_NAME))
    if "memory" in lines[0].lower() or "max_temp_directory_size" in str(error):
        hint = (
            f"raise {argument('memory_limit')}, point TMPDIR to a disk with more room, or name no column of long texts"
        )
    elif source.sql is not None:
        hint = "try the query in DuckDB itself"
    else:
        hint = "the file may be damaged, cut short or of another format"
    return InputFileError(f"{source.where} cannot be read: {_without_values(error, lines[0])}\nHint: {hint}.")


# Errors about the rows, in which DuckDB quotes values; those about the query and the files it quotes in full.
_OF_ROWS = ("Conversion", "OutOfRange", "Constraint", "TypeMismatch", "InvalidInput", "Data")


def _without_values(error: Exception, line: str) -> str:
    """Return the message of an error, only its kind where it may quote what a row holds."""
    if wording.values_are_shown() or not type(error).__name__.startswith(_OF_ROWS):
        return (wording.without_quotes(line) if isinstance(error, pa.ArrowException) else line)[:_LONGEST]
    return f"{line.split(':')[0][:_LONGEST]} (what it says of the rows is shown with debug)."


def with_places(error: Exception, source: RowSource, memory_limit: str, threads: int | None) -> Exception:
    """Look at every row again; return an error that also says where bad rows are, and what else is wrong with them."""
    try:
        found = _survey(source, memory_limit, threads)
    except Exception:  # what is known is told, whatever else comes up
        return error
    if not found:
        return error
    message, hint, way_out = str(error).partition("\nHint:")
    return type(error)(f"{message}\nRows: {'; '.join(found)}.{hint}{way_out}")


def _survey(source: RowSource, memory_limit: str, threads: int | None) -> list[str]:
    """Look at every row for values that can be judged by themselves: how many are bad, and where the first are."""
    rows: dict[tuple[str, str], int] = {}
    places: dict[tuple[str, str], list[str]] = {}
    known, alone = source.grouping or Grouping(), len(source.group_columns) == 1
    kept = [
        f"group{i}"
        for i, name in enumerate(source.group_columns)
        if known.missing or known.of_column(name, alone=alone)
    ]
    for name, batches in _batches(source, memory_limit, threads):
        first = 1
        for batch in batches:
            for role in batch.schema.names:
                for what, bad in _judged(batch.column(batch.schema.names.index(role)), role, source.kind):
                    if bad.any() and role not in kept:
                        rows[role, what] = rows.get((role, what), 0) + int(bad.sum())
                        named = places.setdefault((role, what), [])
                        named += [f"{name}row {first + i}" for i in np.flatnonzero(bad)[: _SHOWN - len(named)]]
            first += batch.num_rows
    told = []
    for (role, what), n in rows.items():
        more = f" and {n - _SHOWN} more" if n > _SHOWN else ""
        told.append(f"column {source.roles[role]!r}: {n} {what} ({', '.join(places[role, what])}{more})")
    return told


def _batches(source: RowSource, memory_limit: str, threads: int | None) -> Iterator[tuple[str, Iterator[Any]]]:
    """Yield the name of each file, where there are several, and its columns that play a part."""
    if source.sql is not None:
        with DuckDBScan(source, memory_limit, threads, ordered=True) as scan:
            yield "", scan.batches("SELECT * FROM {rows}")
        return
    several = len(source.files) > 1
    for path, layout in source.files.items():
        allowed = Memory.of(memory_limit).allowed(threads)
        yield f"{Path(path).name} " if several else "", role_batches(path, layout, source.roles, allowed)


def _judged(column: Any, role: str, kind: Kind) -> Iterator[tuple[str, NDArray[np.bool_]]]:
    null = column.is_null().to_numpy(zero_copy_only=False)
    if role not in NUMBERS:
        if kind == "text":
            words = pa.array([*MISSING_WORDS], "string")
            null |= pc.is_in(pc.utf8_trim(column, " "), words).to_numpy(zero_copy_only=False)
        yield "missing", null
        return
    values = numbers_from_column(column).to_numpy(zero_copy_only=False)
    nan = np.isnan(values) & ~null
    yield "missing", null | nan if kind == "typed" else null
    if kind != "typed":
        yield "not numbers", nan
    yield "infinite", np.isinf(values)
    if role != "score":
        yield "negative", values < 0
    if role != "weight":
        yield "too large", np.isfinite(values) & (np.abs(values) >= wording.LARGEST)


_END: Any = object()


def in_background(items: Iterator[T], stop: Callable[[], object], tick: Callable[[], object]) -> Iterator[T]:
    """Yield items made in a second thread, one ahead, with a ``tick`` every tenth of a second.

    ``stop`` makes the work end soon, where this iterator is left early, by Ctrl-C for example.
    """
    check_room()
    with ThreadPoolExecutor(1, "fairpot-scan") as behind:
        coming = behind.submit(next, items, _END)
        try:
            while True:
                while wait([coming], _WAIT).not_done:
                    tick()
                item = coming.result()
                if item is _END:
                    return
                coming = behind.submit(next, items, _END)
                yield item
        finally:
            while wait([coming], _WAIT).not_done:
                stop()


# What DuckDB reads as Arrow does; columns of other types go through Arrow.
_ALIKE = ("int", "uint", "float", "double", "bool", "string", "large_string", "decimal128", "date", "timestamp")


class _Files:
    """How DuckDB gets the rows of files: it reads Parquet itself, everything else is read for it in streams.

    Each stream is opened anew for every query.
    """

    def __init__(self, files: Mapping[Path, Layout], roles: Mapping[str, str], allowed: Allowed) -> None:
        self.allowed = allowed
        self.selects: list[str] = []
        self.parameters: dict[str, Any] = {}
        self.streams: dict[str, Callable[[], Any]] = {}
        self.failures: list[BaseException] = []
        same: dict[Layout, list[Path]] = {}
        for path, layout in files.items():
            same.setdefault(layout, []).append(path)
        for number, (layout, paths) in enumerate(same.items()):
            own = layout.places(roles)
            alike = layout.format == "parquet" and all(_alike(layout.types[place]) for place in own.values())
            if not alike or not all(map(_nameable, map(str, paths))):
                self._streamed(paths, layout, roles, f"fairpot_p{number}")
                continue
            prefix = f"p{number}_"
            table = f"read_parquet(${prefix}files, hive_partitioning = false)"
            self.selects.append(_pick(table, own, layout.columns))
            self.parameters[f"{prefix}files"] = [str(path.absolute()) for path in paths]

    def _streamed(self, paths: list[Path], layout: Layout, roles: Mapping[str, str], name: str) -> None:
        schema = role_schema(paths[0], layout, roles)

        def batches() -> Iterator[Any]:
            """Keep what goes wrong: DuckDB would make a text of it."""
            try:
                for path in paths:
                    yield from role_batches(path, layout, roles, self.allowed)
            except Exception as error:
                self.failures.append(error)
                raise

        self.streams[name] = lambda: pa.RecordBatchReader.from_batches(schema, batches())
        self.selects.append(f"SELECT {', '.join(roles)} FROM {name}")


def _nameable(path: str) -> bool:
    """Whether DuckDB takes a path for a file: a pattern would be others, and what is not UTF-8 has no name for it."""
    return not set("*?[") & set(path) and not any("\ud800" <= c <= "\udfff" for c in path)


def _alike(type_: str) -> bool:
    plain = type_.removeprefix("dictionary<values=").split(",")[0]
    return plain.startswith(_ALIKE) and "<" not in plain


def _pick(table: str, places: Mapping[str, int], columns: Sequence[str]) -> str:
    """Take the columns that play a part by their place."""
    chosen = ", ".join(f"c{place} AS {role}" for role, place in places.items())
    return f"SELECT {chosen} FROM {table} AS t({', '.join(f'c{i}' for i in range(len(columns)))})"
