"""CSV and TSV: every field is the text it is."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from fairpot._optional import import_optional
from fairpot.engines.columns import find_column
from fairpot.engines.duckdb.relation import Relation, pick
from fairpot.engines.mapper import with_column
from fairpot.engines.values import MISSING_WORDS, Kind
from fairpot.exceptions import InputFileError, OutputFileError
from fairpot.files.batches import guarded, same_columns
from fairpot.files.layout import Layout, duckdb_path
from fairpot.files.streams import is_zipped, open_bytes

_LOOK = 1 << 20  # characters of a line with column names
_DIALECT = "header = true, quote = '\"', escape = '\"'"


def layout(path: Path, what: Literal["csv", "tsv"]) -> Layout:
    """Read the column names, and find the delimiter among them."""
    with open_bytes(path) as stream:
        text = io.TextIOWrapper(stream, encoding="utf-8-sig", newline="")
        line = text.readline(_LOOK)
        delimiter = "\t" if what == "tsv" else _delimiter(line)
        columns = next(csv.reader([line], delimiter=delimiter), [])
        if not text.read(1):
            raise InputFileError(f"{path} has column names but no rows.\nHint: is it the right file?")
    if not any(columns):
        raise InputFileError(f"{path} does not begin with column names.\nHint: the first line must name the columns.")
    return Layout(what, tuple(columns), (), delimiter, is_zipped(path))


def _delimiter(line: str) -> str:
    """Take the commonest of the usual delimiters in the header, outside quotes."""
    bare = "".join(line.split('"')[::2])
    return max(",;\t|", key=bare.count)


def relation(found: Layout, paths: list[Path], roles: Mapping[str, str], prefix: str) -> Relation:
    """Let DuckDB read the files, every field as text."""
    places = {role: find_column(name, found.columns, "the input") for role, name in roles.items()}
    spec = ", ".join(f"'c{i}': 'VARCHAR'" for i in range(len(found.columns)))
    options = f"columns = {{{spec}}}, compression = '{_compression(found)}', auto_detect = false, {_DIALECT}"
    table = f"read_csv(${prefix}files, delim = ${prefix}delim, {options})"
    values = {f"{prefix}files": [duckdb_path(p) for p in paths], f"{prefix}delim": found.delimiter}
    return Relation(pick(table, places, found.columns), values)


def typed(found: Layout, paths: list[Path]) -> Relation:
    """Let DuckDB find the types, looking at every row."""
    options = f"{_DIALECT}, sample_size = -1, compression = '{_compression(found)}'"
    values = {"files": [duckdb_path(p) for p in paths], "delim": found.delimiter, "words": list(MISSING_WORDS)}
    return Relation(f"SELECT * FROM read_csv($files, delim = $delim, nullstr = $words, {options})", values)


def _compression(found: Layout) -> str:
    return "gzip" if found.zipped else "none"


class TextBatches:
    """CSV and TSV with every field as the text it is."""

    kind: Kind = "text"
    exact_types = True

    def __init__(self, files: dict[Path, Layout]) -> None:
        pa = import_optional("pyarrow", "cli")
        self.files = files
        self.layout = same_columns(files)
        self.schema = pa.schema([pa.field(name, pa.string()) for name in self.layout.columns])

    def __iter__(self) -> Iterator[Any]:
        """Yield record batches in the order of the rows."""
        for path, layout in self.files.items():
            yield from guarded(self._read(path, layout), path, layout.format)

    def _read(self, path: Path, layout: Layout) -> Iterator[Any]:
        pa, reading = import_optional("pyarrow", "cli"), import_optional("pyarrow.csv", "cli")
        aliases = [f"c{i}" for i in range(len(layout.columns))]
        stream = pa.input_stream(str(path), compression="gzip" if layout.zipped else None)
        with reading.open_csv(
            stream,
            read_options=reading.ReadOptions(column_names=aliases, skip_rows=1, block_size=8 << 20),
            parse_options=reading.ParseOptions(delimiter=layout.delimiter, newlines_in_values=True),
            convert_options=reading.ConvertOptions(column_types=dict.fromkeys(aliases, pa.string())),
        ) as reader:
            for batch in reader:
                yield pa.RecordBatch.from_arrays(batch.columns, schema=self.schema)


class TextSink:
    """CSV or TSV; only what has to be quoted is."""

    def __init__(self, stream: Any, schema: Any, column: str | None, delimiter: str) -> None:
        self.stream, self.column, self.delimiter = stream, column, delimiter
        self.schema = with_column(schema, column)
        header = io.StringIO()
        csv.writer(header, delimiter=delimiter, lineterminator="\n").writerow(self.schema.names)
        stream.write(header.getvalue().encode())

    def write(self, batch: Any, values: NDArray[np.float64] | None) -> None:
        """Write a batch: the fields of a row joined, and the rows one after the other, are the file."""
        if batch.num_rows == 0:
            return
        pc = import_optional("pyarrow.compute", "cli")
        arrays = list(batch.columns)
        if self.column is not None:
            place = self.schema.names.index(self.column)
            arrays[place : place + 1] = [import_optional("pyarrow", "cli").array(values)]
        fields = [self._text(array, name) for array, name in zip(arrays, self.schema.names)]
        between = _scalar(self.delimiter)
        rows = pc.binary_join_element_wise(*fields, between, null_handling="replace", null_replacement="")
        lines = pc.binary_join_element_wise(rows, _scalar("\n"), _scalar(""))
        self.stream.write(_characters(lines))

    def _text(self, array: Any, name: str) -> Any:
        """Turn a column into text, quoted where a reader would stumble."""
        pa, pc = import_optional("pyarrow", "cli"), import_optional("pyarrow.compute", "cli")
        if pa.types.is_dictionary(array.type):
            array = array.cast(array.type.value_type)
        try:
            text = array.cast(pa.large_string())
        except pa.ArrowException as error:
            raise OutputFileError(
                f"the column {name!r} ({array.type}) cannot be written as text.\nHint: write Parquet or JSON lines."
            ) from error
        if not (pa.types.is_string(array.type) or pa.types.is_large_string(array.type)):
            return text
        risky = pc.match_substring_regex(text, f'["\\r\\n{self.delimiter}]')
        alone = len(self.schema.names) == 1
        if alone:  # a line of its own that is empty would be skipped
            risky = pc.or_(risky, pc.equal(text, _scalar("")))
        if not pc.any(risky).as_py():
            return text
        quote = _scalar('"')
        quoted = pc.binary_join_element_wise(quote, pc.replace_substring(text, '"', '""'), quote, _scalar(""))
        return pc.if_else(risky, quoted, text)

    def close(self) -> None:
        """Finish the file."""
        self.stream.close()


def _scalar(text: str) -> Any:
    pa = import_optional("pyarrow", "cli")
    return pa.scalar(text, pa.large_string())


def _characters(lines: Any) -> Any:
    """Return the characters of a column of large strings, which lie one after the other."""
    first, last = lines.offset, lines.offset + len(lines)
    offsets = np.frombuffer(lines.buffers()[1], dtype=np.int64)
    return lines.buffers()[2].slice(int(offsets[first]), int(offsets[last] - offsets[first]))
