"""Where adjusted rows go: one class a format, each adding the new column to what it is given."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from fairpot._optional import import_optional
from fairpot.engines.batches import LINE, Batches, LineBatches, ParquetBatches, TextBatches
from fairpot.engines.formats import EXTENSIONS, Format, format_of_name
from fairpot.exceptions import OutputFileError

Floats = NDArray[np.float64]


class Sink(Protocol):
    """Takes batches and, where a column is added, its values."""

    def write(self, batch: Any, values: Floats | None) -> None:
        """Write a batch."""

    def close(self) -> None:
        """Finish the file."""


def format_of_output(target: Path) -> Format:
    """Tell the format of an output from its name."""
    found = format_of_name(target)
    if found is None:
        known = ", ".join([*EXTENSIONS, ".csv.gz", ".tsv.gz", ".jsonl.gz"])
        raise OutputFileError(f"the name of {target} does not say its format.\nHint: it must end in one of {known}.")
    return found


def open_sink(place: Path, target: Path, batches: Batches, column: str | None) -> Sink:
    """Open the file ``place`` in the format that ``target`` names, for rows of ``batches`` and a column more."""
    wanted = format_of_output(target)
    if wanted == "parquet":
        return ParquetSink(place, batches, column)
    if wanted == "arrow":
        return ArrowSink(place, batches.schema, column, packed=target.suffix.lower() == ".feather")
    stream = _stream(place, target)
    if wanted == "jsonl":
        raw = isinstance(batches, LineBatches)
        return LineSink(stream, column) if raw else JsonSink(stream, batches.schema, column)
    delimiter = "\t" if wanted == "tsv" else ","
    if wanted == "csv" and isinstance(batches, TextBatches) and batches.layout.format == "csv":
        delimiter = batches.layout.delimiter
    return TextSink(stream, batches.schema, column, delimiter)


def _stream(place: Path, target: Path) -> Any:
    """Open a stream of bytes, zipped where the target's name says so."""
    pa = import_optional("pyarrow", "cli")
    file = pa.OSFile(str(place), "wb")
    return pa.CompressedOutputStream(file, "gzip") if target.suffix.lower() == ".gz" else file


def with_column(schema: Any, column: str | None) -> Any:
    """Add a column of doubles to a schema, in place of one of that name if there is one."""
    if column is None:
        return schema
    field = import_optional("pyarrow", "cli").field(column, import_optional("pyarrow", "cli").float64())
    return schema.set(schema.names.index(column), field) if column in schema.names else schema.append(field)


def _joined(batch: Any, values: Floats | None, schema: Any, column: str | None) -> Any:
    pa = import_optional("pyarrow", "cli")
    arrays = list(batch.columns)
    if column is not None:
        place = schema.names.index(column)
        arrays[place : place + 1] = [pa.array(values)]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


class ParquetSink:
    """Parquet, packed the way the input was where that was Parquet too."""

    def __init__(self, place: Path, batches: Batches, column: str | None) -> None:
        self.column, self.schema = column, with_column(batches.schema, column)
        options: dict[str, Any] = {}
        if isinstance(batches, ParquetBatches):
            options = _like(batches.metadata)
        parquet = import_optional("pyarrow.parquet", "cli")
        self.writer = parquet.ParquetWriter(place, self.schema, **options)

    def write(self, batch: Any, values: Floats | None) -> None:
        """Write a batch as a row group."""
        if batch.num_rows:
            self.writer.write_batch(_joined(batch, values, self.schema, self.column))

    def close(self) -> None:
        """Write the footer."""
        self.writer.close()


def _like(metadata: Any) -> dict[str, Any]:
    """Use the codec of the input, and dictionaries for the columns that have them there."""
    if metadata.num_row_groups == 0 or metadata.num_columns == 0:
        return {}
    group = metadata.row_group(0)
    columns = [group.column(i) for i in range(group.num_columns)]
    codec = columns[0].compression
    coded = [c.path_in_schema for c in columns if c.has_dictionary_page]
    return {
        "compression": "none" if codec == "UNCOMPRESSED" else codec.lower().removesuffix("_raw"),
        "use_dictionary": coded or False,
    }


class ArrowSink:
    """Arrow IPC; ``.feather`` is packed with LZ4, as Feather is."""

    def __init__(self, place: Path, schema: Any, column: str | None, *, packed: bool) -> None:
        pa = import_optional("pyarrow", "cli")
        self.column, self.schema = column, with_column(schema, column)
        options = pa.ipc.IpcWriteOptions(compression="lz4" if packed else None)
        self.file = pa.OSFile(str(place), "wb")
        self.writer = pa.ipc.new_file(self.file, self.schema, options=options)

    def write(self, batch: Any, values: Floats | None) -> None:
        """Write a batch."""
        self.writer.write_batch(_joined(batch, values, self.schema, self.column))

    def close(self) -> None:
        """Write the footer."""
        self.writer.close()
        self.file.close()


class TextSink:
    """CSV or TSV; only what has to be quoted is."""

    def __init__(self, stream: Any, schema: Any, column: str | None, delimiter: str) -> None:
        self.stream, self.column, self.delimiter = stream, column, delimiter
        self.schema = with_column(schema, column)
        header = io.StringIO()
        csv.writer(header, delimiter=delimiter, lineterminator="\n").writerow(self.schema.names)
        stream.write(header.getvalue().encode())

    def write(self, batch: Any, values: Floats | None) -> None:
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


class JsonSink:
    """JSON lines from typed rows."""

    def __init__(self, stream: Any, schema: Any, column: str | None) -> None:
        self.stream, self.column, self.schema = stream, column, with_column(schema, column)

    def write(self, batch: Any, values: Floats | None) -> None:
        """Write a batch, one object a row; what is no number in JSON becomes null."""
        rows = _joined(batch, values, self.schema, self.column).to_pylist()
        text = "".join(json.dumps(_plain(row), ensure_ascii=False, default=str) + "\n" for row in rows)
        self.stream.write(text.encode())

    def close(self) -> None:
        """Finish the file."""
        self.stream.close()


def _plain(row: dict[str, Any]) -> dict[str, Any]:
    return {k: None if isinstance(v, float) and not np.isfinite(v) else v for k, v in row.items()}


class LineSink:
    """JSON lines that stay as they are but for one field more."""

    def __init__(self, stream: Any, column: str | None) -> None:
        self.stream, self.column = stream, column

    def write(self, batch: Any, values: Floats | None) -> None:
        """Write a batch of lines."""
        lines = batch.column(LINE).to_pylist()
        if self.column is not None and values is not None:
            lines = [_with_field(line, self.column, v) for line, v in zip(lines, values.tolist())]
        self.stream.write("".join(line + "\n" for line in lines).encode())

    def close(self) -> None:
        """Finish the file."""
        self.stream.close()


def _with_field(line: str, name: str, value: float) -> str:
    """Add a field to a JSON object; only where the name is in the line can it be there already."""
    key = json.dumps(name, ensure_ascii=False)
    if name in line or json.dumps(name)[1:-1] in line:
        row = json.loads(line)
        if name in row:
            return json.dumps(row | {name: value}, ensure_ascii=False)
    inside = line[:-1].rstrip()
    return f"{inside}{'' if inside.endswith('{') else ', '}{key}: {value!r}}}"
