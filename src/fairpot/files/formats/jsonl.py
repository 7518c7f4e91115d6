"""JSON lines: each line stays as it is."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairpot._optional import import_optional
from fairpot.engines.duckdb.relation import Relation
from fairpot.engines.mapper import joined, with_column
from fairpot.engines.values import Kind
from fairpot.exceptions import InputFileError
from fairpot.files.batches import guarded
from fairpot.files.layout import Layout, duckdb_path
from fairpot.files.streams import is_zipped, open_bytes

LINE = "\0line"  # which no field is called
_LINES = 1 << 15
_LOOK = 1000  # lines that are read to learn the keys


def layout(path: Path) -> Layout:
    """Read the keys of the first lines."""
    keys: dict[str, None] = {}
    with open_bytes(path) as stream:
        for number, line in zip(range(1, _LOOK + 1), stream):
            if not line.strip():
                continue
            row = json.loads(line)
            if not isinstance(row, dict):
                raise InputFileError(f"{path}, line {number}, is not a JSON object.\nHint: one object a line.")
            keys.update(dict.fromkeys(row))
    if not keys:
        raise InputFileError(f"{path} has no rows.\nHint: one JSON object a line.")
    return Layout("jsonl", tuple(keys), (), zipped=is_zipped(path))


def relation(found: Layout, paths: list[Path], roles: Mapping[str, str], prefix: str) -> Relation:
    """Let DuckDB read the lines, and take the fields that are needed as JSON."""
    values: dict[str, Any] = {f"{prefix}files": [duckdb_path(p) for p in paths]}
    values |= {f"{prefix}{role}": _pointer(name) for role, name in roles.items()}
    chosen = ", ".join(f"json_extract(json, ${prefix}{role}) AS {role}" for role in roles)
    table = f"read_ndjson_objects(${prefix}files, compression = '{_compression(found)}')"
    return Relation(f"SELECT {chosen} FROM {table}", values)


def typed(found: Layout, paths: list[Path]) -> Relation:
    """Let DuckDB find the types, looking at every row."""
    table = f"read_ndjson($files, sample_size = -1, compression = '{_compression(found)}')"
    return Relation(f"SELECT * FROM {table}", {"files": [duckdb_path(p) for p in paths]})


def _compression(found: Layout) -> str:
    return "gzip" if found.zipped else "none"


def _pointer(key: str) -> str:
    """Write a key of a JSON object as a JSON pointer."""
    return "/" + key.replace("~", "~0").replace("/", "~1")


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
            yield from guarded(self._read(path), path, "jsonl")

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


class JsonSink:
    """JSON lines from typed rows."""

    def __init__(self, stream: Any, schema: Any, column: str | None) -> None:
        self.stream, self.column, self.schema = stream, column, with_column(schema, column)

    def write(self, batch: Any, values: NDArray[np.float64] | None) -> None:
        """Write a batch, one object a row; what is no number in JSON becomes null."""
        rows = joined(batch, values, self.schema, self.column).to_pylist()
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

    def write(self, batch: Any, values: NDArray[np.float64] | None) -> None:
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
