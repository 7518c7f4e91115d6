"""JSON lines: each line stays as it is; one parser reads them all, and a key that comes twice is refused."""

from __future__ import annotations

import io
import json
import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairpot._optional import Lazy
from fairpot._validation import wording
from fairpot.exceptions import InputFileError, OutputFileError
from fairpot.rows.database import Allowed
from fairpot.rows.decoding import EXACT
from fairpot.rows.formats import Batches, Format, Layout, Sink, Target, byte_stream, file_batches
from fairpot.rows.roles import Roles
from fairpot.rows.streams import MAX_LINE, Text, check_lines, packing_of
from fairpot.transport import Floats

if TYPE_CHECKING:
    from fairpot.rows.readers import Applying

pa = Lazy("pyarrow", "cli")

LINE = "\0line"  # which no field is called
_LINES = 1 << 15
_LOOK = 1000  # lines that are read to learn the keys
Row = dict[str, Any]


def layout(path: Path, what: Format, source: Any) -> Layout:
    """Read the keys of the first lines."""
    keys = dict.fromkeys(key for _, row in islice(rows(path), _LOOK) for key in row)
    if not keys:
        raise InputFileError(f"{path} has no rows.\nHint: one JSON object a line.")
    return Layout("jsonl", tuple(keys), packed=packing_of(path) is not None)


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the number of each line that is not empty, and its text."""
    with io.BufferedReader(Text(path), 1 << 20) as stream:
        for number, line in enumerate(iter(lambda: stream.readline(MAX_LINE + 1), b""), start=1):
            if len(line) > MAX_LINE:
                raise InputFileError(
                    f"{path}, line {number}, is longer than {MAX_LINE >> 20} MB.\nHint: one JSON object a line."
                )
            if text := line.decode().strip():
                yield number, text


def rows(path: Path) -> Iterator[tuple[str, Row]]:
    """Yield each line and the object in it."""
    decode = json.JSONDecoder(object_pairs_hook=_distinct).decode
    for number, line in _lines(path):
        try:
            row = decode(line)
            if _HALF.search(line):
                json.dumps(row, ensure_ascii=False).encode()
        except _TwiceError as error:
            raise InputFileError(
                f"{path}, line {number}: a key comes twice in one object{wording.such_as(error.args[0])}.\n"
                "Hint: readers do not agree which of the two counts; leave one."
            ) from None
        except RecursionError:
            raise InputFileError(f"{path}, line {number}, is nested too deeply.\nHint: one object a line.") from None
        except UnicodeEncodeError:
            raise InputFileError(
                f"{path}, line {number}, holds half of a character (a surrogate without its partner).\n"
                "Hint: the text was cut; write the line again."
            ) from None
        except ValueError as error:
            reason = f": {error.msg}, column {error.colno}" if isinstance(error, json.JSONDecodeError) else ""
            raise InputFileError(
                f"{path}, line {number}, is no JSON{reason}.\nHint: the file may be damaged, cut short or of another "
                "format; one JSON object a line."
            ) from None
        if not isinstance(row, dict):
            raise InputFileError(f"{path}, line {number}, is not a JSON object.\nHint: one object a line.")
        yield line, row


_HALF = re.compile(r"\\u[dD][89a-fA-F]")


class _TwiceError(Exception):
    """A key comes twice."""


def _distinct(pairs: list[tuple[str, Any]]) -> Row:
    made = dict(pairs)
    if len(made) < len(pairs):
        raise _TwiceError(Counter(key for key, _ in pairs).most_common(1)[0][0])
    return made


def read(path: Path, layout: Layout, places: Sequence[int], allowed: Allowed) -> Iterator[Any]:
    """Yield batches of the JSON of some fields."""
    schema = _texts([layout.columns[place] for place in places])
    return _turned(path, dict.fromkeys(schema.names, as_json), schema)


def _texts(names: Sequence[str]) -> Any:
    return pa.schema([pa.field(name, pa.string()) for name in names])


def _turned(path: Path, columns: Mapping[str, Callable[[Any], Any]], schema: Any) -> Iterator[Any]:
    """Yield batches: the line itself where the schema asks for it, and fields as their functions turn their values."""
    found = rows(path)
    while part := list(islice(found, _LINES)):
        made = [[line for line, _ in part]] if LINE in schema.names else []
        made += [[turn(row.get(name)) for _, row in part] for name, turn in columns.items()]
        arrays = [pa.array(values, field.type) for values, field in zip(made, schema)]
        yield pa.RecordBatch.from_arrays(arrays, schema=schema)


def as_json(value: Any) -> str | None:
    """Write a value as JSON again; a missing one stays missing."""
    return None if value is None else json.dumps(value)


def batches(files: dict[Path, Layout], wanted: Format, source: Roles, how: Applying) -> Batches:
    """Read lines as they are where they become lines again, and else as columns."""
    layouts = files.values()
    if wanted != "jsonl":
        return _columns(files)
    needed = dict.fromkeys([source.score, *source.group_columns, *how.keep], as_json)
    schema = _texts([LINE, *needed])
    found = file_batches(files, schema, lambda path, _: _turned(path, needed, schema), "json")
    return replace(found, columns=list(dict.fromkeys(column for layout in layouts for column in layout.columns)))


def _columns(files: dict[Path, Layout]) -> Batches:
    """Read numbers, booleans and text where all values are; anything else as its JSON."""
    kinds: dict[str, set[str]] = {}
    for path in files:
        for _, row in rows(path):
            for name, value in row.items():
                kinds.setdefault(name, set()).add(_kind(value))
    types = {name: _type(met - {"none"}) for name, met in kinds.items()}
    turns = {name: as_json if type_ is None else lambda value: value for name, type_ in types.items()}
    schema = pa.schema([pa.field(name, type_ or pa.string()) for name, type_ in types.items()])
    mixed = frozenset(place for place, type_ in enumerate(types.values()) if type_ is None)
    return replace(file_batches(files, schema, lambda path, _: _turned(path, turns, schema)), mixed=mixed)


def _kind(value: Any) -> str:
    if isinstance(value, int) and not isinstance(value, bool):
        if abs(value) <= EXACT:
            return "int"
        return "long" if -(2**63) <= value < 2**63 else "other"
    return {bool: "bool", float: "float", str: "str", type(None): "none"}.get(type(value), "other")


def _type(kinds: set[str]) -> Any:
    """Return the type that values of some kinds have in common; None if there is none."""
    if kinds <= {"str"}:
        return pa.string()
    if kinds == {"bool"}:
        return pa.bool_()
    if kinds <= {"int", "long"}:
        return pa.int64()
    return pa.float64() if kinds <= {"int", "float"} else None


class Writer(Sink):
    """JSON lines: those that were read, but for one field more; or one object for each typed row."""

    def __init__(self, batches: Batches, target: Target) -> None:
        twice = [name for name, times in Counter(batches.schema.names).items() if times > 1]
        if twice:  # before a file is open
            raise OutputFileError(
                f"JSON cannot have {len(twice)} columns twice{wording.such_as(twice[0])}.\n"
                "Hint: rename them, or write CSV."
            )
        super().__init__(byte_stream(target), batches, target)
        self.raw = batches.columns is not None

    def write(self, batch: Any, values: Floats | None) -> None:
        """Write a batch; what is no number in JSON becomes null."""
        if self.raw:
            lines = batch.column(LINE).to_pylist()
            if self.column is not None and values is not None:
                lines = [_with_field(line, self.column, value) for line, value in zip(lines, values.tolist())]
        else:
            rows = self.joined(batch, values).to_pylist()
            lines = [json.dumps(_plain(row), ensure_ascii=False, default=str) for row in rows]
        made = [line.encode() for line in lines]
        check_lines(max(map(len, made), default=0))
        self.stream.write(b"".join(line + b"\n" for line in made))


def _plain(value: Any) -> Any:
    """Replace what is no number in JSON by null, at any depth."""
    if isinstance(value, dict):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(v) for v in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


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
