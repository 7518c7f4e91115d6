"""One file a format: its columns, its way into DuckDB, its rows as Arrow batches, and its writing."""

from __future__ import annotations

import csv as csv_module
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from fairpot.engines.duckdb.relation import Relation
from fairpot.exceptions import InputFileError
from fairpot.files.batches import Batches
from fairpot.files.formats import arrow, csv, jsonl, parquet
from fairpot.files.layout import Format, Layout, unreadable
from fairpot.files.sinks import Sink, byte_stream, format_of_output

__all__ = ["arrow", "csv", "jsonl", "open_rows", "open_sink", "parquet", "read_layout", "relations"]

TEXT: tuple[Format, ...] = ("csv", "tsv")
_LAYOUTS: dict[Format, Callable[[Path], Layout]] = {
    "parquet": parquet.layout,
    "arrow": arrow.layout,
    "csv": lambda path: csv.layout(path, "csv"),
    "tsv": lambda path: csv.layout(path, "tsv"),
    "jsonl": jsonl.layout,
}
_RELATIONS: dict[Format, Callable[[Layout, list[Path], Mapping[str, str], str], Relation]] = {
    "parquet": parquet.relation,
    "arrow": arrow.relation,
    "csv": csv.relation,
    "tsv": csv.relation,
    "jsonl": jsonl.relation,
}


def read_layout(path: Path, what: Format) -> Layout:
    """Read what is needed to know a file's columns, and complain if it is not what it says."""
    try:
        if path.stat().st_size == 0:
            raise InputFileError(f"{path} is empty.\nHint: a file needs at least its column names and a row.")
        return _LAYOUTS[what](path)
    except InputFileError:
        raise
    except (OSError, EOFError, ValueError, csv_module.Error) as error:
        raise unreadable(path, what, error) from error


def relations(files: Mapping[Path, Layout], roles: Mapping[str, str]) -> list[Relation]:
    """Say how DuckDB reads the files: those that look alike at once."""
    alike: dict[Layout, list[Path]] = {}
    for path, layout in files.items():
        alike.setdefault(layout, []).append(path)
    return [
        _RELATIONS[layout.format](layout, paths, roles, f"p{number}_")
        for number, (layout, paths) in enumerate(alike.items())
    ]


def open_rows(files: dict[Path, Layout], wanted: Format, fields: Sequence[str]) -> Batches | None:
    """Choose how to read so that nothing is lost on the way to the wanted format; None where DuckDB is needed.

    Text to text stays text and JSON lines stay the lines they are; Parquet and Arrow keep their types.
    """
    formats = {layout.format for layout in files.values()}
    if formats == {"parquet"}:
        return parquet.ParquetBatches(files)
    if formats == {"arrow"}:
        return arrow.ArrowBatches(files)
    if formats and formats <= set(TEXT) and wanted in TEXT:
        return csv.TextBatches(files)
    if formats == {"jsonl"} == {wanted}:
        return jsonl.LineBatches(files, dict.fromkeys(fields))
    return None


def typed_relation(files: dict[Path, Layout]) -> Relation:
    """Let DuckDB find the types of text files or JSON lines."""
    [layout] = set(files.values())
    return (jsonl if layout.format == "jsonl" else csv).typed(layout, [*files])


def open_sink(place: Path, target: Path, batches: Batches, column: str | None) -> Sink:
    """Open the file ``place`` in the format that ``target`` names, for rows of ``batches`` and a column more."""
    wanted = format_of_output(target)
    if wanted == "parquet":
        return parquet.ParquetSink(place, batches, column)
    if wanted == "arrow":
        return arrow.ArrowSink(place, batches.schema, column, packed=target.suffix.lower() == ".feather")
    stream = byte_stream(place, target)
    if wanted == "jsonl":
        raw = isinstance(batches, jsonl.LineBatches)
        return jsonl.LineSink(stream, column) if raw else jsonl.JsonSink(stream, batches.schema, column)
    delimiter = "\t" if wanted == "tsv" else ","
    if wanted == "csv" and isinstance(batches, csv.TextBatches) and batches.layout.format == "csv":
        delimiter = batches.layout.delimiter
    return csv.TextSink(stream, batches.schema, column, delimiter)
