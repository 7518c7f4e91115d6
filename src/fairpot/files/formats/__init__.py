"""One file a format: its columns, its rows as Arrow batches, and its writing."""

from __future__ import annotations

import csv as csv_module
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path

from fairpot.exceptions import InputFileError
from fairpot.files.formats import arrow, csv, jsonl, parquet
from fairpot.files.layout import TEXT, Batches, Format, Layout, Reading, unreadable
from fairpot.files.output import Sink, byte_stream

__all__ = ["arrow", "csv", "jsonl", "open_rows", "open_sink", "parquet", "read_layout"]

_LAYOUTS: dict[Format, Callable[[Path, Reading], Layout]] = {
    "parquet": lambda path, _: parquet.layout(path),
    "arrow": lambda path, _: arrow.layout(path),
    "csv": lambda path, reading: csv.layout(path, "csv", reading),
    "tsv": lambda path, reading: csv.layout(path, "tsv", reading),
    "jsonl": lambda path, _: jsonl.layout(path),
}


def read_layout(path: Path, what: Format, reading: Reading) -> Layout:
    """Read what is needed to know a file's columns, and complain if it is not what it says."""
    try:
        if path.stat().st_size == 0:
            raise InputFileError(f"{path} is empty.\nHint: a file needs at least its column names and a row.")
        return _LAYOUTS[what](path, reading)
    except InputFileError as error:
        raise error if str(path) in str(error) else InputFileError(f"{path}: {error}") from error
    except (OSError, EOFError, ValueError, zlib.error, MemoryError, csv_module.Error) as error:
        raise unreadable(path, what, error) from error


def open_rows(files: dict[Path, Layout], wanted: Format, fields: Sequence[str]) -> Batches:
    """Read so that nothing is lost on the way to the wanted format.

    Text stays text, JSON lines stay the lines they are where they become JSON lines again, and otherwise have the types
    of JSON; Parquet and Arrow keep their types.
    """
    [what] = {"csv" if layout.format in TEXT else layout.format for layout in files.values()}
    if what == "parquet":
        return parquet.ParquetBatches(files, fields[0])
    if what == "arrow":
        return arrow.ArrowBatches(files)
    if what == "jsonl":
        plain = wanted == "jsonl" and not any(layout.partitions for layout in files.values())
        return jsonl.LineBatches(files, fields) if plain else jsonl.FieldBatches(files)
    return csv.TextBatches(files)


def open_sink(
    place: Path,
    name: Path,
    wanted: Format,
    batches: Batches,
    column: str | None,
    *,
    neutralise: bool = False,
) -> Sink:
    """Open the file ``place`` in a format, for ``batches`` and a column more; ``name`` says how it is packed."""
    if wanted == "parquet":
        return parquet.ParquetSink(place, batches, column)
    if wanted == "arrow":
        return arrow.ArrowSink(place, batches.schema, column, packed=name.suffix.lower() == ".feather")
    stream = byte_stream(place, name)
    if wanted == "jsonl":
        raw = isinstance(batches, jsonl.LineBatches)
        return jsonl.LineSink(stream, column) if raw else jsonl.JsonSink(stream, batches.schema, column)
    delimiter, decimal = "\t" if wanted == "tsv" else ",", "."
    if isinstance(batches, csv.TextBatches):
        decimal = batches.layout.decimal
        if batches.layout.format == wanted:
            delimiter = batches.layout.delimiter
    return csv.TextSink(stream, batches.schema, column, delimiter, decimal=decimal, neutralise=neutralise)
