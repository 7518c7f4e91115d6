"""Rows in their order as Arrow record batches, a bounded number of bytes at a time."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, Protocol

from fairpot._optional import import_optional
from fairpot.engines.columns import Kind
from fairpot.engines.formats import Format, Layout, arrow_file, open_bytes, parquet_rows, unreadable
from fairpot.engines.scan import Scan
from fairpot.engines.source import RowSource, find_column
from fairpot.exceptions import InputFileError

_BYTES = 48 << 20  # of a batch, about
_ROWS = 1 << 18
_LINES = 1 << 15
LINE = "\0line"  # which no field is called
TEXT: tuple[Format, ...] = ("csv", "tsv")


class Batches(Protocol):
    """An Arrow schema, and batches that keep to it."""

    schema: Any
    kind: Kind
    exact_types: bool  # False where types were found by looking, so that groups may read otherwise than in fit

    def __iter__(self) -> Iterator[Any]:
        """Yield record batches in the order of the rows."""


def open_batches(source: RowSource, wanted: Format, keep: Sequence[str], memory_limit: str) -> Batches:
    """Choose how to read so that nothing is lost on the way to the wanted format.

    Text to text stays text and JSON lines stay the lines they are; Parquet and Arrow keep their types. Only
    between formats, and for a query, does DuckDB find the types.
    """
    formats = {layout.format for layout in source.files.values()}
    if formats == {"parquet"}:
        return ParquetBatches(source.files)
    if formats == {"arrow"}:
        return ArrowBatches(source.files)
    if formats <= set(TEXT) and formats and wanted in TEXT:
        return TextBatches(source.files)
    if formats == {"jsonl"} == {wanted}:
        return LineBatches(source.files, dict.fromkeys([source.score, *source.group_columns, *keep]))
    return QueryBatches(source, memory_limit)


def count_rows(source: RowSource) -> int:
    """Count the rows: from the footers where the format has them."""
    if source.files and all(layout.format == "parquet" for layout in source.files.values()):
        return sum(map(parquet_rows, source.files))
    with Scan(source.bare()) as scan:
        return int(scan.all_rows("SELECT count(*) FROM {rows}")[0][0])


def _same_columns(files: dict[Path, Layout]) -> Layout:
    """Insist that files which become one have the same columns in the same order."""
    [first, layout], *rest = files.items()
    for path, other in rest:
        if other.columns != layout.columns or other.types != layout.types:
            odd = sorted(set(other.columns) ^ set(layout.columns)) or "their order or types"
            raise InputFileError(
                f"{first} and {path} differ in their columns: {odd}.\n"
                "Hint: files that become one need the same columns in the same order; apply to each by itself."
            )
    return layout


def _guarded(batches: Iterator[Any], path: Path, what: str) -> Iterator[Any]:
    """Turn what goes wrong while reading into our own error."""
    pa = import_optional("pyarrow", "cli")
    try:
        yield from batches
    except (pa.ArrowException, OSError, EOFError, UnicodeDecodeError, json.JSONDecodeError) as error:
        raise unreadable(path, what, error) from error


class ParquetBatches:
    """Parquet files, a part of a row group at a time."""

    kind: Kind = "typed"
    exact_types = True

    def __init__(self, files: dict[Path, Layout]) -> None:
        self.files = [*files]
        _same_columns(files)
        first = self._open(self.files[0])
        self.schema, self.metadata = first.schema_arrow, first.metadata

    def _open(self, path: Path) -> Any:
        return import_optional("pyarrow.parquet", "cli").ParquetFile(path, buffer_size=1 << 20, pre_buffer=False)

    def __iter__(self) -> Iterator[Any]:
        """Yield record batches in the order of the rows."""
        for path in self.files:
            with self._open(path) as file:
                yield from _guarded(file.iter_batches(batch_size=_batch_rows(file.metadata)), path, "parquet")


def _batch_rows(metadata: Any) -> int:
    """Take fewer rows at a time where rows are wide."""
    size = sum(metadata.row_group(i).total_byte_size for i in range(metadata.num_row_groups))
    each = max(size / max(metadata.num_rows, 1), 1)
    return int(min(max(_BYTES / each, 1024), _ROWS))


class ArrowBatches:
    """Arrow IPC files, batch by batch as they were written."""

    kind: Kind = "typed"
    exact_types = True

    def __init__(self, files: dict[Path, Layout]) -> None:
        self.files = [*files]
        _same_columns(files)
        self.schema = arrow_file(self.files[0]).schema

    def __iter__(self) -> Iterator[Any]:
        """Yield record batches in the order of the rows."""
        for path in self.files:
            yield from _guarded(self._read(path), path, "arrow")

    def _read(self, path: Path) -> Iterator[Any]:
        opened = arrow_file(path)
        count = getattr(opened, "num_record_batches", None)
        for batch in opened if count is None else map(opened.get_batch, range(count)):
            yield from (batch.slice(start, _ROWS) for start in range(0, batch.num_rows, _ROWS))


class TextBatches:
    """CSV and TSV with every field as the text it is."""

    kind: Kind = "text"
    exact_types = True

    def __init__(self, files: dict[Path, Layout]) -> None:
        pa = import_optional("pyarrow", "cli")
        self.files = files
        self.layout = _same_columns(files)
        self.schema = pa.schema([pa.field(name, pa.string()) for name in self.layout.columns])

    def __iter__(self) -> Iterator[Any]:
        """Yield record batches in the order of the rows."""
        for path, layout in self.files.items():
            yield from _guarded(self._read(path, layout), path, layout.format)

    def _read(self, path: Path, layout: Layout) -> Iterator[Any]:
        pa, csv = import_optional("pyarrow", "cli"), import_optional("pyarrow.csv", "cli")
        aliases = [f"c{i}" for i in range(len(layout.columns))]
        stream = pa.input_stream(str(path), compression="gzip" if layout.zipped else None)
        with csv.open_csv(
            stream,
            read_options=csv.ReadOptions(column_names=aliases, skip_rows=1, block_size=8 << 20),
            parse_options=csv.ParseOptions(delimiter=layout.delimiter, newlines_in_values=True),
            convert_options=csv.ConvertOptions(column_types=dict.fromkeys(aliases, pa.string())),
        ) as reader:
            for batch in reader:
                yield pa.RecordBatch.from_arrays(batch.columns, schema=self.schema)


class LineBatches:
    """JSON lines: each line as it is, and beside it the JSON of the fields that are needed."""

    kind: Kind = "json"
    exact_types = True

    def __init__(self, files: dict[Path, Layout], fields: dict[str, None]) -> None:
        pa = import_optional("pyarrow", "cli")
        self.files, self.fields = files, list(fields)
        self.columns = list(dict.fromkeys(c for layout in files.values() for c in layout.columns))
        self.schema = pa.schema([pa.field(name, pa.string()) for name in [LINE, *self.fields]])

    def __iter__(self) -> Iterator[Any]:
        """Yield record batches in the order of the rows."""
        for path in self.files:
            yield from _guarded(self._read(path), path, "jsonl")

    def _read(self, path: Path) -> Iterator[Any]:
        pa = import_optional("pyarrow", "cli")
        with open_bytes(path) as stream:
            texts = (line.decode("utf-8-sig").strip() for line in stream)
            filled = (text for text in texts if text)
            while lines := list(islice(filled, _LINES)):
                rows = [json.loads(line) for line in lines]
                columns = [[json.dumps(row[f]) if f in row else None for row in rows] for f in self.fields]
                yield pa.RecordBatch.from_arrays(
                    [pa.array(c, pa.string()) for c in [lines, *columns]], schema=self.schema
                )


class QueryBatches:
    """What DuckDB reads, with the types it finds."""

    kind: Kind = "typed"

    def __init__(self, source: RowSource, memory_limit: str) -> None:
        if source.files:
            _same_columns(source.files)
        self.exact_types = not source.files
        self.scan = Scan(source, memory_limit=memory_limit, ordered=True)
        self._stream = self.scan.typed_batches()
        self.schema = next(self._stream)
        for name in source.roles.values():
            find_column(name, self.schema.names, "the input")

    def __iter__(self) -> Iterator[Any]:
        """Yield record batches in the order of the rows."""
        with self.scan:
            yield from self._stream
