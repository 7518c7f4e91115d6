"""JSON lines: each line stays as it is; one parser reads them all, and a key that comes twice is refused."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from json.encoder import encode_basestring_ascii
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairpot._optional import Lazy
from fairpot._validation import wording
from fairpot.exceptions import InputFileError, OutputFileError
from fairpot.rows.decoding import EXACT
from fairpot.rows.formats.layout import (
    Batches,
    Format,
    Layout,
    Reading,
    file_batches,
    guarded,
    joined,
    partitioned,
    with_column,
)
from fairpot.rows.streams import MAX_LINE, check_lines, not_text, open_bytes, packing_of

pa = Lazy("pyarrow", "cli")

LINE = "\0line"  # which no field is called
_LINES = 1 << 15
_LOOK = 1000  # lines that are read to learn the keys
Row = dict[str, Any]


def layout(path: Path, what: Format, reading: Reading) -> Layout:
    """Read the keys of the first lines."""
    keys: dict[str, None] = {}
    for _, row in islice(rows(path), _LOOK):
        keys.update(dict.fromkeys(row))
    if not keys:
        raise InputFileError(f"{path} has no rows.\nHint: one JSON object a line.")
    return Layout("jsonl", tuple(keys), packed=packing_of(path) is not None)


def lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the number of each line that is not empty, and its text."""
    with open_bytes(path) as stream:
        number = 0
        while line := stream.readline(MAX_LINE + 1):
            number += 1
            if len(line) > MAX_LINE:
                raise InputFileError(
                    f"{path}, line {number}, is longer than {MAX_LINE >> 20} MB.\nHint: one JSON object a line."
                )
            try:
                text = line.decode("utf-8-sig" if number == 1 else "utf-8").strip()
            except UnicodeDecodeError:
                raise InputFileError(not_text(path, None, number)) from None
            if text:
                yield number, text


def rows(path: Path) -> Iterator[tuple[str, Row]]:
    """Yield each line and the object in it."""
    decode = json.JSONDecoder(object_pairs_hook=_distinct).decode
    for number, line in lines(path):
        try:
            row = decode(line)
        except _TwiceError as error:
            raise InputFileError(
                f"{path}, line {number}: a key comes twice in one object{wording.such_as(error.args[0])}.\n"
                "Hint: readers do not agree which of the two counts; leave one."
            ) from None
        except RecursionError:
            raise InputFileError(f"{path}, line {number}, is nested too deeply.\nHint: one object a line.") from None
        except ValueError as error:
            reason = f": {error.msg}, column {error.colno}" if isinstance(error, json.JSONDecodeError) else ""
            raise InputFileError(
                f"{path}, line {number}, is no JSON{reason}.\nHint: the file may be damaged, cut short or of another "
                "format; one JSON object a line."
            ) from None
        if _HALF.search(line) and not _is_text(row):
            raise InputFileError(
                f"{path}, line {number}, holds half of a character (a surrogate without its partner).\n"
                "Hint: the text was cut; write the line again."
            )
        if not isinstance(row, dict):
            raise InputFileError(f"{path}, line {number}, is not a JSON object.\nHint: one object a line.")
        yield line, row


_HALF = re.compile(r"\\u[dD][89a-fA-F]")


def _is_text(value: Any) -> bool:
    """Whether all texts of a value can be written as UTF-8."""
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    return True


class _TwiceError(Exception):
    """A key comes twice."""


def _distinct(pairs: list[tuple[str, Any]]) -> Row:
    made = dict(pairs)
    if len(made) < len(pairs):
        raise _TwiceError(Counter(key for key, _ in pairs).most_common(1)[0][0])
    return made


def read(path: Path, layout: Layout, places: Sequence[int]) -> Iterator[Any]:
    """Yield batches of the JSON of some fields."""
    names = [layout.columns[place] for place in places]
    schema = pa.schema([pa.field(name, pa.string()) for name in names])
    yield from guarded(_turned(path, [(name, as_json) for name in names], schema), path, "jsonl")


def _turned(path: Path, columns: Sequence[tuple[str, Callable[[Any], Any]]], schema: Any) -> Iterator[Any]:
    """Yield batches with a column for each field that is named, as its function turns a value (None if absent)."""
    found = (row for _, row in rows(path))
    while part := list(islice(found, _LINES)):
        made = [[turn(row.get(name)) for row in part] for name, turn in columns]
        arrays = [pa.array(values, field.type) for values, field in zip(made, schema)]
        yield pa.RecordBatch.from_arrays(arrays, schema=schema)


def as_json(value: Any) -> str | None:
    """Write a value as JSON again, as ``json.dumps`` does, but quicker; a missing one stays missing."""
    if value is None or type(value) is str:
        return None if value is None else encode_basestring_ascii(value)
    plain = type(value) is int or (type(value) is float and math.isfinite(value))
    return repr(value) if plain else json.dumps(value)


def line_batches(files: dict[Path, Layout], fields: Sequence[str]) -> Batches:
    """Read each line as it is, and beside it the JSON of the fields that are needed."""
    wanted = list(dict.fromkeys(fields))
    schema = pa.schema([pa.field(name, pa.string()) for name in [LINE, *wanted]])

    def read_lines(path: Path, _: Layout) -> Iterator[Any]:
        found = rows(path)
        while part := list(islice(found, _LINES)):
            columns = [[line for line, _ in part], *([as_json(row.get(name)) for _, row in part] for name in wanted)]
            yield pa.RecordBatch.from_arrays([pa.array(each, pa.string()) for each in columns], schema=schema)

    columns = list(dict.fromkeys(column for layout in files.values() for column in layout.columns))
    return replace(file_batches(files, schema, read_lines, "json"), columns=columns)


def batches(files: dict[Path, Layout]) -> Batches:
    """Read lines as columns: numbers, booleans and text where all values are; anything else as its JSON."""
    kinds: dict[str, set[str]] = {}
    for path in files:
        for _, row in rows(path):
            for name, value in row.items():
                kinds.setdefault(name, set()).add(_kind(value))
    own = pa.schema([pa.field(name, _type(kind)) for name, kind in kinds.items()])
    turns = [(name, _turn(kind)) for name, kind in kinds.items()]
    schema = partitioned(own, next(iter(files.values())))
    return file_batches(files, schema, lambda path, _: _turned(path, turns, own))


def _kind(value: Any) -> str:
    if isinstance(value, int) and not isinstance(value, bool):
        if abs(value) <= EXACT:
            return "int"
        return "long" if -(2**63) <= value < 2**63 else "other"
    return {bool: "bool", float: "float", str: "str", type(None): "none"}.get(type(value), "other")


def _type(kinds: set[str]) -> Any:
    met = kinds - {"none"}
    if met == {"bool"}:
        return pa.bool_()
    if met and met <= {"int", "long"}:
        return pa.int64()
    if met and met <= {"int", "float"}:
        return pa.float64()
    return pa.string()


def _turn(kinds: set[str]) -> Callable[[Any], Any]:
    met = kinds - {"none"}
    if met <= {"str"} or met == {"bool"} or met <= {"int", "long"} or met <= {"int", "float"}:
        return lambda value: value
    return as_json


class JsonSink:
    """JSON lines from typed rows."""

    def __init__(self, stream: Any, schema: Any, column: str | None) -> None:
        self.stream, self.column, self.schema = stream, column, with_column(schema, column)
        self.rows = 0
        twice = [name for name, times in Counter(self.schema.names).items() if times > 1]
        if twice:
            raise OutputFileError(
                f"JSON cannot have {len(twice)} columns twice{wording.such_as(twice[0])}.\n"
                "Hint: rename them, or write CSV."
            )

    def write(self, batch: Any, values: NDArray[np.float64] | None) -> None:
        """Write a batch, one object a row; what is no number in JSON becomes null."""
        rows = joined(batch, values, self.schema, self.column).to_pylist()
        self.rows += _write(self.stream, [json.dumps(_plain(row), ensure_ascii=False, default=str) for row in rows])

    def close(self) -> None:
        """Finish the file."""
        self.stream.close()


def _write(stream: Any, lines: Sequence[str]) -> int:
    """Write lines; return how many there are now."""
    made = [line.encode() for line in lines]
    check_lines(max(map(len, made), default=0))
    text = b"".join(line + b"\n" for line in made)
    stream.write(text)
    return text.count(b"\n")


def _plain(value: Any) -> Any:
    """Replace what is no number in JSON by null, at any depth."""
    if isinstance(value, dict):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(v) for v in value]
    return None if isinstance(value, float) and not np.isfinite(value) else value


class LineSink:
    """JSON lines that stay as they are but for one field more."""

    def __init__(self, stream: Any, column: str | None) -> None:
        self.stream, self.column = stream, column
        self.rows = 0

    def write(self, batch: Any, values: NDArray[np.float64] | None) -> None:
        """Write a batch of lines."""
        found = batch.column(LINE).to_pylist()
        if self.column is not None and values is not None:
            found = [_with_field(line, self.column, v) for line, v in zip(found, values.tolist())]
        self.rows += _write(self.stream, found)

    def close(self) -> None:
        """Finish the file."""
        self.stream.close()


def _with_field(line: str, name: str, value: float) -> str:
    """Add a field to a JSON object; only where the name is in the line can it be there already."""
    key = json.dumps(name, ensure_ascii=False)
    text = repr(value) if value == value else "null"
    if name in line or json.dumps(name)[1:-1] in line or "\\" in line:
        row = json.loads(line)
        if name in row:
            return json.dumps(row | {name: json.loads(text)}, ensure_ascii=False)
    inside = line[:-1].rstrip()
    return f"{inside}{'' if inside.endswith('{') else ', '}{key}: {text}}}"
