"""CSV and TSV: every field is the text it is."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fairpot._optional import Lazy
from fairpot.exceptions import InputFileError, OutputFileError
from fairpot.rows.decoding import plain, texts
from fairpot.rows.formats import Batches, Format, Layout, Sink, Target, byte_stream, file_batches, same_columns
from fairpot.rows.roles import Roles
from fairpot.rows.streams import MAX_LINE, RecordCounter, Text, check_lines, packing_of
from fairpot.transport import Floats

if TYPE_CHECKING:
    from fairpot.rows.readers import Applying

pa, pc, parsing = Lazy("pyarrow", "cli"), Lazy("pyarrow.compute", "cli"), Lazy("pyarrow.csv", "cli")

_SHOWN = 5  # lines that an error names


def layout(path: Path, what: Format, source: Any) -> Layout:
    """Read the column names, and find the delimiter among them."""
    with Text(path, source.encoding) as text:
        line = _first_record(text)
        filled = any(block.strip() for block in iter(lambda: text.read(1 << 20), b""))
    delimiter = source.delimiter or ("\t" if what == "tsv" else delimiter_of(line))
    columns = next(csv.reader(io.StringIO(line, newline=""), delimiter=delimiter), [])
    if not any(columns):
        raise InputFileError(f"{path} does not begin with column names.\nHint: the first line must name the columns.")
    if not filled:
        raise InputFileError(f"{path} has column names but no rows.\nHint: is it the right file?")
    packed = packing_of(path) is not None
    return Layout(what, tuple(columns), (), delimiter, source.decimal, source.encoding, packed)


def _first_record(text: Text) -> str:
    """Read the line of column names, in which quotes may hold line ends."""
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
                return head[: end.start()].decode()
        if not block:
            return head.decode()
        if len(head) > MAX_LINE:
            raise InputFileError(
                f"the first line is longer than {MAX_LINE >> 20} MB.\nHint: it must hold the names of the columns."
            )


_LINE_END = re.compile(rb"\r\n|\r|\n")


def delimiter_of(line: str) -> str:
    """Take the commonest of the usual delimiters in the header, outside quotes."""
    bare = "".join(line.split('"')[::2])
    return max(",;\t|", key=bare.count)


class _Body(Text):
    """The text after the column names; its records are counted as it is read."""

    def __init__(self, path: Path, layout: Layout) -> None:
        super().__init__(path, layout.encoding)
        self.failure: InputFileError | None = None
        self.counter = RecordCounter(layout.delimiter)
        line = _first_record(self)
        self.counter = RecordCounter(layout.delimiter, 2 + line.count("\n"))

    def readinto(self, buffer: Any) -> int:
        try:
            size = super().readinto(buffer)
            self.counter.add(buffer[:size])
        except InputFileError as error:  # Arrow would make something else of it
            self.failure = error
            raise
        return size


def read(path: Path, layout: Layout, places: Sequence[int] | None = None) -> Iterator[Any]:
    """Yield batches of text, of all columns or of those at some places, named c0, c1, ...

    A quote that is never closed, ragged lines, what is no text and a lost row are errors.
    """
    rows = 0
    try:
        with _Body(path, layout) as body:
            for batch in _parsed(body, path, layout, places):
                rows += batch.num_rows
                yield batch
            counted = body.counter.finish()
            if body.counter.odd:
                counted = sum(1 for _ in _slowly(path, layout))
            if counted != rows:
                raise InputFileError(
                    f"{rows} rows were read, but there are {counted}.\nHint: look at its quotes and line ends."
                )
    except InputFileError as error:
        raise error if str(path) in str(error) else InputFileError(f"{path}: {error}") from error


def _parsed(body: _Body, path: Path, layout: Layout, places: Sequence[int] | None) -> Iterator[Any]:
    names = [f"c{i}" for i in range(len(layout.columns))]
    wanted = names if places is None else [names[i] for i in places]
    try:
        with parsing.open_csv(
            pa.PythonFile(body, mode="r"),
            read_options=parsing.ReadOptions(column_names=names, block_size=MAX_LINE),
            parse_options=parsing.ParseOptions(delimiter=layout.delimiter, newlines_in_values=True),
            convert_options=parsing.ConvertOptions(
                column_types=dict.fromkeys(wanted, pa.string()), include_columns=wanted
            ),
        ) as reader:
            yield from reader
    except (pa.ArrowException, OSError, InputFileError) as error:
        raise body.failure or _explained(body, path, layout, str(error)) from error


def _explained(body: _Body, path: Path, layout: Layout, reason: str) -> InputFileError:
    """Put what Arrow's parser says into words that hold nothing of the rows."""
    if "straddling" in reason:
        return InputFileError(f"a line is longer than {MAX_LINE >> 20} MB.\nHint: is it a table?")
    if "columns, got" not in reason.lower():
        return InputFileError("it cannot be parsed.\nHint: the file may be damaged, cut short or of another format.")
    try:  # a quote that is never closed may be behind it
        while body.read(1 << 20):
            pass
        body.counter.finish()
    except InputFileError as error:
        return error
    return _ragged(path, layout)


def _slowly(path: Path, layout: Layout) -> Iterator[tuple[int, list[str]]]:
    """Yield the last line of each record, and its fields, as Python's own parser finds them."""
    with io.TextIOWrapper(io.BufferedReader(Text(path, layout.encoding)), encoding="utf-8", newline="") as lines:
        reader = csv.reader(lines, delimiter=layout.delimiter, strict=True)
        csv.field_size_limit(MAX_LINE)
        try:
            next(reader)
            yield from ((reader.line_num, record) for record in reader if record)
        except csv.Error as error:
            raise InputFileError(
                f"line {reader.line_num}: {error}.\nHint: close the quote, or double it where it is part of the text."
            ) from error


def _ragged(path: Path, layout: Layout) -> InputFileError:
    wanted = len(layout.columns)
    wrong = [(line, len(fields)) for line, fields in _slowly(path, layout) if len(fields) != wanted]
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
    found = file_batches(files, schema, read, "text")
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
