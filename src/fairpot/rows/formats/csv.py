"""CSV and TSV: every field is the text it is."""

from __future__ import annotations

import codecs
import csv
import io
import os
import re
import shutil
import tempfile
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fairpot._arguments import argument
from fairpot._optional import Lazy
from fairpot._validation import wording
from fairpot._warn import warn_user
from fairpot.exceptions import InputFileError, OutputFileError
from fairpot.rows.database import Allowed, answer, connect
from fairpot.rows.decoding import plain, texts
from fairpot.rows.formats import (
    Batches,
    Format,
    Layout,
    Sink,
    Target,
    byte_stream,
    file_batches,
    same_columns,
    unreadable,
)
from fairpot.rows.output import folder_beside
from fairpot.rows.roles import NUMBERS, Roles
from fairpot.rows.streams import MAX_LINE, Text, check_lines, open_bytes, packing_of
from fairpot.transport import Floats

if TYPE_CHECKING:
    from fairpot.rows.readers import Applying

duckdb, pa, pc = Lazy("duckdb", "cli"), Lazy("pyarrow", "cli"), Lazy("pyarrow.compute", "cli")

_SHOWN = 5  # lines that an error names
_LOOK = 1000  # rows that are looked at for decimal commas
_BATCH = 1 << 17  # rows
_MOST_COLUMNS = 500  # that DuckDB is asked for: each takes about 100 kB of its memory
_FIELDS = 1 << 20  # of a batch that is lists of Python's
_BLOCK = 1 << 20  # bytes


def layout(path: Path, what: Format, source: Any) -> Layout:
    """Read the column names, and find the delimiter among them."""
    encoding = source.encoding or _marked(path)
    with Text(path, encoding) as text:
        line, _ = _first_record(text)
        begin = text.read(_BLOCK)
        filled = bool(begin.strip()) or any(block.strip() for block in iter(lambda: text.read(_BLOCK), b""))
    delimiter = source.delimiter or ("\t" if what == "tsv" else delimiter_of(line))
    columns: list[str] = next(_parser(io.StringIO(line, newline=""), delimiter), [])
    if not any(columns):
        raise InputFileError(f"{path} does not begin with column names.\nHint: the first line must name the columns.")
    if not filled:
        raise InputFileError(f"{path} has column names but no rows.\nHint: is it the right file?")
    decimal, numbers = source.decimal, [name for role, name in source.roles.items() if role in NUMBERS]
    if decimal == "." and _has_commas(begin.decode(errors="ignore"), delimiter, columns, numbers):
        decimal = ","
        warn_user(wording.decimal_commas(path, argument("decimal", ",")), UserWarning)
    return Layout(what, tuple(columns), (), delimiter, decimal, encoding, packing_of(path) is not None)


def _marked(path: Path) -> str | None:
    """Return UTF-16 where a file begins with its mark, which no text in UTF-8 does."""
    with open_bytes(path) as stream:
        if stream.read(2) not in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
            return None
    warn_user(
        f"{path} is UTF-16, by its mark; {argument('encoding', 'utf-16')} says the same without a note.", UserWarning
    )
    return "utf-16"


# A number with a decimal comma, and one whose commas may part thousands: 1,234 can be two things.
_COMMA, _THOUSANDS = (
    re.compile(r"[+-]?[0-9]*,[0-9]+([eE][+-]?[0-9]+)?"),
    re.compile(r"[+-]?[1-9][0-9]{0,2}(,[0-9]{3})+"),
)


def _has_commas(text: str, delimiter: str, columns: Sequence[str], numbers: Sequence[str]) -> bool:
    """Whether the first numbers of a file have decimal commas, beyond doubt."""
    places = [columns.index(name) for name in numbers if name in columns]
    rows = islice(_parser(io.StringIO(text, newline=""), delimiter), _LOOK)
    words = [row[place].strip() for row in rows if len(row) == len(columns) for place in places]
    with_comma = [word for word in words if _COMMA.fullmatch(word)]
    plain = not any("." in word for word in words)
    return bool(with_comma) and plain and not all(map(_THOUSANDS.fullmatch, with_comma))


def _first_record(text: Text) -> tuple[str, str]:
    """Read the line of column names, in which quotes may hold line ends, and how it ends."""
    head, seen, quotes = bytearray(), 0, 0
    while True:
        block = text.read(1 << 20)
        head += block
        for end in _LINE_END.finditer(head, seen):
            if end.end() == len(head) and block:
                break  # a line feed may follow a carriage return
            quotes += head.count(b'"', seen, end.start())
            seen = end.end()
            if quotes % 2 == 0:
                text.unread(bytes(head[seen:]))
                return head[: end.start()].decode(), end[0].decode()
        if not block:
            return head.decode(), "\n"
        if len(head) > MAX_LINE:
            raise InputFileError(
                f"the first line is longer than {MAX_LINE >> 20} MB.\nHint: it must hold the names of the columns."
            )


_LINE_END = re.compile(rb"\r\n|\r|\n")


def delimiter_of(line: str) -> str:
    """Take the commonest of the usual delimiters in the header, outside quotes."""
    bare = "".join(line.split('"')[::2])
    return max(",;\t|", key=bare.count)


def read(path: Path, layout: Layout, places: Sequence[int], allowed: Allowed) -> Iterator[Any]:
    """Yield batches of text, of the columns at some places, named c0, c1, ...

    DuckDB's strict parser reads them. What it refuses, and very wide files, for which it needs much memory, Python's
    own reads, slowly: line ends of several kinds are fine; a quote that is never closed, ragged lines and what is no
    text are errors that say where.
    """
    rows, refused = 0, len(places) > _MOST_COLUMNS
    try:
        for batch in [] if refused else _parsed(path, layout, places, allowed):
            rows += batch.num_rows
            yield batch
    except (duckdb.Error, pa.ArrowException, OSError) as error:
        refused = "CSV" in str(error)
        if not refused:
            raise unreadable(path, layout.format, error) from error
    except InputFileError as error:
        raise error if str(path) in str(error) else InputFileError(f"{path}: {error}") from error
    if refused:
        yield from _slowly(path, layout, places, rows)


_OPTIONS = {
    "quote": '"',
    "escape": '"',
    "header": False,
    "auto_detect": False,
    "strict_mode": True,
    "nullstr": "",
    "compression": "none",
    "max_line_size": MAX_LINE,
    "buffer_size": 2 * MAX_LINE,
}


def _parsed(path: Path, layout: Layout, places: Sequence[int], allowed: Allowed) -> Iterator[Any]:
    names = [f"c{i}" for i in range(len(layout.columns))]
    text = Text(path, layout.encoding, MAX_LINE)
    _, end = _first_record(text)
    delimiter = layout.delimiter.replace("'", "''")
    options = _OPTIONS | {"new_line": end, "columns": dict.fromkeys(names, "VARCHAR"), "force_not_null": names}
    # What Python writes of plain texts, numbers, lists and dicts, DuckDB reads; and so it calls line ends.
    told = ", ".join(f"{name} = {value!r}" for name, value in options.items()) + f", delim = '{delimiter}'"
    chosen = ", ".join(names[place] for place in places)
    with _as_file(text) as (name, failures), closing(connect(allowed)) as connection:
        query = f"SELECT {chosen} FROM read_csv('{name}', {told})"
        with closing(answer(connection, query, None, _BATCH)) as batches:
            for batch in chain(batches, [None]):
                if failures:  # the last rows may be cut
                    raise failures[0]
                if batch is not None:
                    yield batch


@contextmanager
def _as_file(text: Text) -> Iterator[tuple[str, list[BaseException]]]:
    """Give a text, from where it is, a name under which it can be read once, and what goes wrong on the way."""
    failures: list[BaseException] = []
    if not os.path.exists("/dev/fd"):
        with text, folder_beside(Path(tempfile.gettempdir(), "scratch")) as folder:
            with (folder / "rows").open("wb") as out:
                shutil.copyfileobj(text, out, _BLOCK)
            yield str(folder / "rows").replace("'", "''"), failures
        return
    end, begin = os.pipe()

    def feed() -> None:
        """Write until nobody reads any more."""
        with text, open(begin, "wb", buffering=0) as pipe, suppress(BrokenPipeError):
            try:
                while block := memoryview(text.read(_BLOCK)):
                    while block:
                        block = block[pipe.write(block) :]
            except InputFileError as error:
                failures.append(error)

    feeding = threading.Thread(target=feed, name="fairpot-text", daemon=True)
    feeding.start()
    try:
        yield f"/dev/fd/{end}", failures
    finally:
        os.close(end)
        feeding.join()


def _slowly(path: Path, layout: Layout, places: Sequence[int], done: int) -> Iterator[Any]:
    """Yield batches as Python's own parser finds them, after the rows that are done."""
    names = [f"c{place}" for place in places]
    rows = islice(_records(path, layout), done, None)
    while part := list(islice(rows, max(_FIELDS // len(layout.columns), 1))):
        if any(len(fields) != len(layout.columns) for _, fields in part):
            raise _ragged(path, layout)
        columns = [pa.array([fields[place] for _, fields in part], pa.string()) for place in places]
        yield pa.RecordBatch.from_arrays(columns, names=names)


def _parser(lines: Iterable[str], delimiter: str, strict: bool = False) -> Any:
    """Return Python's own parser, which takes fields of 128 kB unless it is told to take longer ones."""
    csv.field_size_limit(MAX_LINE)
    return csv.reader(lines, delimiter=delimiter, strict=strict)


def _records(path: Path, layout: Layout) -> Iterator[tuple[int, list[str]]]:
    """Yield the last line of each record, and its fields, as Python's own parser finds them."""
    raw = io.BufferedReader(Text(path, layout.encoding, MAX_LINE), _BLOCK)
    with io.TextIOWrapper(raw, encoding="utf-8", newline="") as lines:
        reader = _parser(lines, layout.delimiter, strict=True)
        begin = 1
        try:
            for number, record in enumerate(reader):
                if number and record:
                    yield reader.line_num, record
                begin = reader.line_num + 1
        except csv.Error as error:
            raise _badly_quoted(path, begin, reader.line_num, str(error)) from error


def _badly_quoted(path: Path, line: int, last: int, reason: str) -> InputFileError:
    """Say what is wrong with a record that begins in a line."""
    where = f"{path}, line {line}"
    if "field larger" in reason:
        what = (
            f"{where}, is longer than {MAX_LINE >> 20} MB.\nHint: is it a table? A quote that is not closed makes one"
        )
        return InputFileError(f"{what} line of all that follow.")
    if "unexpected end" in reason:
        reason = "a quote that opens in this row is never closed"
    if "expected after" in reason:
        reason = f"a quote that opens in this row is closed in line {last}, but no field ends there"
    hint = "close the quote, or double it where it is part of the text; all after an open quote would be one field."
    return InputFileError(f"{where}: {reason}.\nHint: {hint}")


def _ragged(path: Path, layout: Layout) -> InputFileError:
    wanted = len(layout.columns)
    wrong = [(line, len(fields)) for line, fields in _records(path, layout) if len(fields) != wanted]
    shown = ", ".join(f"line {line} has {found}" for line, found in wrong[:_SHOWN])
    more = f", and {len(wrong) - _SHOWN} more" if len(wrong) > _SHOWN else ""
    return InputFileError(
        f"{path} cannot be read as {layout.format}: {len(wrong)} lines do not have the {wanted} fields that its first "
        f"line names ({shown}{more}).\nHint: look for delimiters that are not in quotes, or name the delimiter."
    )


def batches(files: dict[Path, Layout], wanted: Format, source: Roles, how: Applying) -> Batches:
    """Read every field as the text it is; for a workbook, find the columns that hold numbers alone."""
    layout = same_columns(files)
    schema = pa.schema([pa.field(name, pa.string()) for name in layout.columns])
    every = range(len(layout.columns))
    found = file_batches(files, schema, lambda path, known: read(path, known, every, how.allowed), "text")
    return replace(found, numbers=_number_columns(found, layout.decimal)) if wanted == "xlsx" else found


def _number_columns(rows: Batches, decimal: str) -> frozenset[int]:
    """Find the columns in which every field is a number, or empty; one with a leading zero is a code."""
    number = rf"^(-?(0|[1-9][0-9]{{0,14}})({re.escape(decimal)}[0-9]+)?([eE][+-]?[0-9]+)?)?$"
    left = set(range(len(rows.schema.names)))
    for batch in rows:
        left = {i for i in left if pc.all(pc.match_substring_regex(batch.column(i), number)).as_py()}
    return frozenset(left)


class Writer(Sink):
    """CSV or TSV; only what has to be quoted is."""

    def __init__(self, batches: Batches, target: Target) -> None:
        super().__init__(byte_stream(target), batches, target)
        layout = batches.layout
        self.delimiter = "\t" if target.format == "tsv" else ","
        if layout is not None and layout.format == target.format:
            self.delimiter = layout.delimiter
        self.decimal, self.neutralise = "." if layout is None else layout.decimal, target.neutralise
        header = io.StringIO()
        csv.writer(header, delimiter=self.delimiter, lineterminator="\n").writerow(self.names)
        self.stream.write(header.getvalue().encode())

    def write(self, batch: Any, values: Floats | None) -> None:
        """Write a batch: the fields of a row joined, and the rows one after the other, are the file."""
        if batch.num_rows == 0:
            return
        arrays = self.columns(batch, values)
        if self.column is not None and values is not None and self.decimal != ".":  # that of other scores
            arrays[self.place] = pc.replace_substring(arrays[self.place].cast(pa.string()), ".", self.decimal)
        fields = [self._text(array, name) for array, name in zip(arrays, self.names)]
        between = _scalar(self.delimiter)
        rows = pc.binary_join_element_wise(*fields, between, null_handling="replace", null_replacement="")
        lines = pc.binary_join_element_wise(rows, _scalar("\n"), _scalar(""))
        check_lines(int(pc.max(pc.binary_length(lines)).as_py()))
        self.stream.write(_characters(lines))

    def _text(self, array: Any, name: str) -> Any:
        """Turn a column into text, quoted where a reader would stumble."""
        array = plain(array)
        try:
            text = array.cast(pa.large_string())
        except pa.ArrowException as error:
            raise OutputFileError(
                f"the column {name!r} ({array.type}) cannot be written as text.\nHint: write Parquet or JSON lines."
            ) from error
        if array.type not in (pa.string(), pa.large_string()):
            return text
        if self.neutralise:
            text = neutralised(text)
        risky = pc.match_substring_regex(text, f'["\\r\\n{re.escape(self.delimiter)}]')
        if len(self.names) == 1:  # a line of its own that is empty would be skipped
            risky = pc.or_(risky, pc.equal(text, _scalar("")))
        if not pc.any(risky).as_py():
            return text
        quote = _scalar('"')
        quoted = pc.binary_join_element_wise(quote, pc.replace_substring(text, '"', '""'), quote, _scalar(""))
        return pc.if_else(risky, quoted, text)


def neutralised(text: Any) -> Any:
    """Put an apostrophe before what a spreadsheet would run as a formula; numbers with a sign stay."""
    risky = pc.match_substring_regex(text, r"^\s*[=+\-@\t\r]")
    number = pc.match_substring_regex(text, r"^\s*[+-]?([0-9]+[.,]?[0-9]*|[.,][0-9]+)([eE][+-]?[0-9]+)?\s*$")
    marked = pc.binary_join_element_wise(_scalar("'"), text, _scalar(""))
    return pc.if_else(pc.and_not(risky, number), marked, text)


def _scalar(text: str) -> Any:
    return texts(text).cast(pa.large_string())[0]


def _characters(lines: Any) -> Any:
    """Return the characters of a column of large strings, which lie one after the other."""
    first, last = lines.offset, lines.offset + len(lines)
    offsets = np.frombuffer(lines.buffers()[1], dtype=np.int64)
    return lines.buffers()[2].slice(int(offsets[first]), int(offsets[last] - offsets[first]))
