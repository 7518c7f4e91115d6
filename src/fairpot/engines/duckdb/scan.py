"""A DuckDB connection that reads what it is told to: queries come out as Arrow batches, errors as ours."""

from __future__ import annotations

import glob
import mmap
import os
import queue
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event, Thread
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from fairpot._arguments import argument
from fairpot._leftovers import scratch_folder
from fairpot._optional import import_optional
from fairpot._validation import wording
from fairpot._validation.checked_rows import check_counted_scores, check_weights
from fairpot.engines.naming import EXACT, MISSING_WORDS, Kind, check_plain, check_score_type, doubles, find_column
from fairpot.engines.protocol import Progress, Roles
from fairpot.exceptions import InputFileError

T = TypeVar("T")
_WAIT = 0.1  # seconds between two looks at the progress
_ROOM = 512 << 20  # bytes of addresses that the threads of DuckDB and PyArrow take


def check_room() -> None:
    """Raise where a limit on memory leaves threads no room: PyArrow would wait for them, DuckDB end the process."""
    if sys.platform != "win32":
        try:
            mmap.mmap(-1, _ROOM, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS).close()  # nothing is touched
        except OSError as error:
            raise MemoryError("too little room for threads") from error


def in_background(
    work: Callable[[], Iterator[T]], stop: Callable[[], object], tick: Callable[[], object] | None = None
) -> Iterator[T]:
    """Yield what ``work`` yields, made in a second thread, at most two items ahead.

    Parameters
    ----------
    work : callable
        Gives an iterator; what it raises is raised here.
    stop : callable
        Makes the work end soon; called when this iterator is left early, by Ctrl-C for example.
    tick : callable or None, default None
        Called every tenth of a second meanwhile.
    """
    made: queue.Queue[tuple[str, Any]] = queue.Queue(maxsize=2)
    left = Event()

    def put(what: str, value: Any) -> bool:
        while not left.is_set():
            try:
                made.put((what, value), timeout=_WAIT)
                return True
            except queue.Full:
                continue
        return False

    def run() -> None:
        try:
            for item in work():
                if not put("item", item):
                    return
            put("done", None)
        except BaseException as error:
            put("error", error)

    check_room()
    thread = Thread(target=run, name="fairpot-scan", daemon=True)
    thread.start()
    try:
        while True:
            try:
                what, value = made.get(timeout=_WAIT)
            except queue.Empty:
                if tick is not None:
                    tick()
                continue
            if what == "done":
                return
            if what == "error":
                raise value
            yield value
    finally:
        left.set()
        thread.join(_WAIT)
        while thread.is_alive():
            stop()
            thread.join(_WAIT)


@dataclass(frozen=True)
class Relation:
    """Hold a SELECT, the values of its parameters, and Arrow streams by the names it knows them under.

    A stream is read once, so each is given as a function that opens it anew for every query; what goes wrong in one
    is put into ``failures``. ``reads`` are the files that DuckDB itself opens: no others are open to it.

    Examples
    --------
    >>> from fairpot.engines.duckdb import Relation
    >>> Relation("SELECT * FROM read_parquet($path)", {"path": "scores.parquet"}).parameters
    {'path': 'scores.parquet'}
    """

    select: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    streams: Mapping[str, Callable[[], Any]] = field(default_factory=dict)
    reads: tuple[Path, ...] = ()
    failures: list[BaseException] = field(default_factory=list)


class DuckDBRows(Roles, Protocol):
    """Describe rows that DuckDB can read: in files, or from a query of the caller's.

    Examples
    --------
    >>> from fairpot.engines.duckdb import DuckDBRows
    >>> from fairpot.files import RowSource
    >>> rows: DuckDBRows = RowSource(sql="SELECT 0.4 AS risk, 'F' AS sex", score="risk", groups="sex")
    >>> rows.group_columns
    ('sex',)
    """

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


# Texts in a query: 'one' or "two", a quote inside doubled.
_QUOTED = re.compile(r"""'((?:[^']|'')*)'|"((?:[^"]|"")*)\"""")


_SETTINGS = ("enable_progress_bar = true", "enable_progress_bar_print = false", "allow_persistent_secrets = false")


def connect(
    database: str | os.PathLike[str] | None, config: dict[str, Any], reads: Iterable[Path], sql: str | None
) -> Any:
    """Open a database for reading, or an empty one in memory, and close everything else.

    A database of somebody else's may hold views that read and write other files. So files other than the database,
    those in ``reads`` and those that the caller's own query names are out of reach, extensions are neither installed
    nor loaded, and no setting can be changed any more. Macros that stand in for functions of DuckDB are refused.
    """
    duckdb = import_optional("duckdb", "cli")
    closed = {"autoinstall_known_extensions": False, "autoload_known_extensions": False}
    if database is None:
        connection = duckdb.connect(":memory:", config=config | closed)
    else:
        path = Path(database)
        if not path.is_file():
            raise InputFileError(f"{path} was not found.\nHint: the database must be a DuckDB file.")
        connection = duckdb.connect(str(path.absolute()), read_only=True, config=config | closed)
    try:
        _refuse_macros(connection, database)
        _close(connection, [*reads], [] if sql is None else _named_in(sql))
    except BaseException:
        connection.close()
        raise
    return connection


def _refuse_macros(connection: Any, database: str | os.PathLike[str] | None) -> None:
    """Refuse a database whose macros have names of functions: they would be called instead, in every query of ours."""
    # The full name, and no function or operator beside it: those could be macros too.
    listed = "SELECT function_name, internal, schema_name FROM system.main.duckdb_functions()"
    functions = [] if database is None else connection.execute(listed).fetchall()
    known = {name.lower() for name, internal, _ in functions if internal}
    found = sorted({name for name, internal, schema in functions if not internal and schema == "main"})
    shadowing = [name for name in found if name.lower() in known]
    if shadowing:
        raise InputFileError(
            f"{database} has {wording.counted(len(shadowing), 'macro')} with the name of a function of DuckDB, which "
            f"would be called instead of it: {wording.listed(shadowing)}.\n"
            "Hint: DROP MACRO in a copy of it, or write the table to Parquet and name that."
        )


def _close(connection: Any, reads: list[Path], named: list[str]) -> None:
    duckdb = import_optional("duckdb", "cli")
    for setting in _SETTINGS:
        with suppress(duckdb.Error):
            connection.execute(f"SET {setting}")
    paths = [str(path) for path in reads]
    folders = [_folder(name) for name in named if glob.has_magic(name)]
    paths += [
        way for name in named if not glob.has_magic(name) for way in {name, os.path.abspath(os.path.expanduser(name))}
    ]
    open_to_files = bool(paths or folders)
    if open_to_files:
        try:
            connection.execute(f"SET allowed_paths = {_listed(paths)}")
            connection.execute(f"SET allowed_directories = {_listed(folders)}")
        except duckdb.Error:  # before DuckDB 1.2 there is only all or nothing
            connection.execute("SET lock_configuration = true")
            return
    connection.execute("SET enable_external_access = false")
    connection.execute("SET lock_configuration = true")


def _named_in(sql: str) -> list[str]:
    """List the files that a query names: texts in it that are paths or patterns of some."""
    texts = [(one or two).replace("''", "'").replace('""', '"') for one, two in _QUOTED.findall(sql)]
    return [text for text in dict.fromkeys(texts) if text and _is_path(text)]


def _is_path(text: str) -> bool:
    try:
        return os.path.exists(os.path.expanduser(text)) or (
            glob.has_magic(text) and next(glob.iglob(os.path.expanduser(text), recursive=True), None) is not None
        )
    except (OSError, ValueError):
        return False


def _folder(pattern: str) -> str:
    """Return the folder that a pattern begins in."""
    fixed = re.split(r"[*?\[]", os.path.abspath(os.path.expanduser(pattern)))[0]
    return os.path.dirname(fixed) + os.sep


def _listed(texts: Iterable[str]) -> str:
    quoted = ", ".join("'" + text.replace("'", "''") + "'" for text in texts)
    return f"[{quoted}]"


_BATCH = 1 << 19
_SMALLER = 1 << 17  # where all columns come
_LONGEST = 300  # characters of DuckDB's own message
LONGEST_NAME = 2000  # bytes of a text that names a group, an outcome or a cluster
_TOO_LONG = "fairpot: a long text in "


class Scan:
    """A DuckDB connection and the rows of a source in it; use as a context manager."""

    def __init__(
        self, source: DuckDBRows, *, memory_limit: str = "2GB", threads: int | None = None, ordered: bool = False
    ) -> None:
        check_room()
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
            roles = self.source.roles.items()
            places = {role: find_column(name, self.columns, "the query", role) for role, name in roles}
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
    found = re.search(rf"{_TOO_LONG}(\w+)", str(error))
    if found is not None:
        return InputFileError(wording.long_text(f"column {source.roles[found[1]]!r}", LONGEST_NAME))
    if "memory" in lines[0].lower() or "max_temp_directory_size" in str(error):
        hint = (
            f"raise {argument('memory_limit')}, point TMPDIR to a disk with more room, or name no column of long texts"
        )
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
        return (wording.without_quotes(line) if _of_arrow(error) else line)[:_LONGEST]
    return f"{line.split(':')[0][:_LONGEST]} (what it says of the rows is shown with debug)."


def _of_arrow(error: Exception) -> bool:
    return isinstance(error, import_optional("pyarrow", "cli").ArrowException)


class Size(NamedTuple):
    """About how much there is to count."""

    distinct: int
    rows: int
    groups: int


class Parts:
    """The expressions for score and weight, and what can be asked about them."""

    def __init__(self, scan: Scan, drop_missing: bool = False) -> None:
        self.scan, self.source, self.drop_missing = scan, scan.source, drop_missing
        self.types = scan.types()
        self.keys = [f"group{i}" for i in range(len(self.source.group_columns))]
        self.keys += ["label"] if self.source.label is not None else []
        self.whole = False
        for role in ("score", "weight"):
            if role in self.types:
                check_score_type(self.types[role], self.source.roles[role])
        self.whole = "INT" in self.types["score"]
        self.others = ["cluster"] if "cluster" in self.types else []
        self._check_plain()

    def number(self, role: str) -> str:
        """Return a part, already grouped, as a double; a score of which a low one means high risk, with a minus.

        Decimals go through their text, which rounds correctly; whole numbers that doubles cannot tell apart become
        infinite.
        """
        found = self._double(role)
        return f"(0::DOUBLE - {found})" if role == "score" and self.source.lower_is_riskier else found

    def _double(self, role: str) -> str:
        type_ = self.types[role]
        if type_.startswith("DECIMAL"):
            return f"CAST(CAST({role} AS VARCHAR) AS DOUBLE)"
        if "INT" in type_:
            inside = f"{role} BETWEEN -{EXACT} AND {EXACT}"
            return f"(CASE WHEN {inside} THEN CAST({role} AS DOUBLE) WHEN {role} IS NOT NULL THEN 'inf'::DOUBLE END)"
        return role if type_ == "DOUBLE" else f"CAST({role} AS DOUBLE)"

    def _lacks(self, role: str) -> str:
        """Return the condition that a part has no value; NaN in a score of text is a word that is no number."""
        text = self.scan.kind != "typed"
        if text and role not in ("score", "weight"):
            words = ", ".join(f"'{word}'" for word in (MISSING_WORDS if self.scan.kind == "text" else ("NaN",)))
            return f"({role} IS NULL OR {role} IN ({words}))"
        if not text and self.types[role] in ("DOUBLE", "FLOAT"):
            return f"({role} IS NULL OR isnan({role}))"
        return f"{role} IS NULL"

    @property
    def rows(self) -> str:
        """The rows that are counted."""
        if not self.drop_missing:
            return "{rows}"
        return f"(SELECT * FROM {{rows}} WHERE NOT ({' OR '.join(map(self._lacks, self.types))}))"

    def missing(self) -> dict[str, int] | None:
        """Count the rows that are dropped, in all and for each column; None where none are to be."""
        if not self.drop_missing:
            return None
        each = [self._lacks(role) for role in self.types]
        wanted = ", ".join(f"count(*) FILTER (WHERE {condition})" for condition in [" OR ".join(each), *each])
        [found] = self.scan.all_rows(f"SELECT {wanted} FROM {{rows}}")
        return dict(zip(["rows", *(self.source.roles[role] for role in self.types)], found))

    def plain(self) -> str:
        """Select all parts, row by row."""
        return f"SELECT {self._columns()} FROM (SELECT {self._raw()} FROM {self.rows})"

    def grouped(self) -> str:
        """Select the distinct combinations of all parts, with their number of rows."""
        inner = f"SELECT {self._raw()}, count(*) AS n FROM {self.rows} GROUP BY ALL"
        return f"SELECT {self._columns()}, n FROM ({inner})"

    def _raw(self) -> str:
        numbers = [role for role in ("score", "weight") if role in self.types]
        return ", ".join([*map(self._short, self.keys), *numbers, *map(self._short, self.others)])

    def _short(self, role: str) -> str:
        """Select a part that names something; refuse long texts, which a file may hold once for all rows."""
        if self.types[role] != "VARCHAR":
            return role
        return f"CASE WHEN strlen({role}) > {LONGEST_NAME} THEN error('{_TOO_LONG}{role}') ELSE {role} END AS {role}"

    def _columns(self) -> str:
        numbers = [f"{self.number(role)} AS {role}" for role in ("score", "weight") if role in self.types]
        return ", ".join([*self.keys, *numbers, *self.others])

    def combinations(self) -> str:
        """Select the distinct combinations of groups and labels, with their number of rows."""
        return f"SELECT {', '.join([*map(self._short, self.keys), 'count(*) AS n'])} FROM {self.rows} GROUP BY ALL"

    def estimate(self) -> Size:
        """Estimate how many distinct scores, rows and groups there are."""
        groups = ", ".join(f"group{i}" for i in range(len(self.source.group_columns))) or "1"
        what = f"approx_count_distinct(score), count(*), approx_count_distinct(hash({groups}))"
        [found] = self.scan.all_rows(f"SELECT {what} FROM {self.rows}")
        return Size(*map(int, found))

    def sample(self, rows: int, limit: int) -> NDArray[np.float64]:
        """Draw scores at random, the same each time."""
        share = min(100.0, 100.0 * 4 * min(limit, 500_000) / max(rows, 1))
        drawn = f"SELECT {self.number('score')} AS score FROM {self.rows} USING SAMPLE {share:.9f}% (bernoulli, 1)"
        with self.scan.alone() as scan:
            parts = [doubles(batch.column(0)) for batch in scan.batches(drawn)]
        scores = np.concatenate([*parts, np.empty(0)])
        return scores[np.isfinite(scores)]

    def explain(self, scores: NDArray[np.float64], rows: NDArray[np.int64] | None, words: int = 0) -> None:
        """Check the scores, ``words`` rows of which were no numbers."""
        name = f"column {self.source.score!r}"
        if words:
            raise TypeError(wording.no_numbers(name, words, in_text=self.source.kind == "text"))
        check_counted_scores(scores, rows, name, whole=self.whole)

    def explain_weights(self, weight: NDArray[np.float64], rows: NDArray[np.int64], words: int = 0) -> None:
        """Check the weights likewise."""
        name = f"column {self.source.weight!r}"
        if words:
            raise TypeError(wording.no_numbers(name, words, in_text=self.source.kind == "text"))
        check_weights(weight, rows, name)

    def words(self, column: Any, rows: NDArray[np.int64] | None = None) -> int:
        """Count the rows whose text was no number: they come as NaN, missing ones as null."""
        if self.scan.kind == "typed":
            return 0
        if column.null_count:
            pc = import_optional("pyarrow.compute", "cli")
            bad = pc.is_nan(column).fill_null(False).to_numpy(zero_copy_only=False)
        else:
            bad = np.isnan(doubles(column))
        return int(bad.sum() if rows is None else rows[bad].sum())

    def _check_plain(self) -> None:
        for key in [*self.keys, *self.others]:
            check_plain(self.types[key], self.source.roles[key])
