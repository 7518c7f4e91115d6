"""Formats of files: told by their name or their first bytes, and the columns each file has."""

from __future__ import annotations

import csv
import gzip
import io
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Literal

from fairpot._optional import import_optional
from fairpot.exceptions import InputFileError

Format = Literal["parquet", "csv", "tsv", "arrow", "jsonl"]
FORMATS: tuple[Format, ...] = ("parquet", "csv", "tsv", "arrow", "jsonl")
EXTENSIONS: dict[str, Format] = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
    ".arrows": "arrow",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
}
_GZIP = b"\x1f\x8b"
_LOOK = 1 << 16
_JSON_LINES = 1000  # lines that are read to learn the keys


@dataclass(frozen=True)
class Layout:
    """What a file looks like: its format and its columns, in order."""

    format: Format
    columns: tuple[str, ...]
    types: tuple[str, ...] = ()  # only where the file itself says
    delimiter: str = ","
    zipped: bool = False


def format_of_name(path: Path) -> Format | None:
    """Tell the format from a file's name; None if the name does not say."""
    suffixes = [s.lower() for s in path.suffixes]
    if suffixes[-1:] == [".gz"]:
        found = EXTENSIONS.get(suffixes[-2]) if len(suffixes) > 1 else None
        return found if found in ("csv", "tsv", "jsonl") else None
    return EXTENSIONS.get(suffixes[-1]) if suffixes else None


def format_of_bytes(path: Path) -> Format:
    """Tell the format from the first bytes of a file."""
    with open_bytes(path) as stream:
        head = stream.read(_LOOK)
    if head[:4] == b"PAR1":
        return "parquet"
    if head[:6] == b"ARROW1" or head[:4] == b"\xff\xff\xff\xff":
        return "arrow"
    first = head.lstrip(b"\xef\xbb\xbf \t\r\n").split(b"\n")[0]
    if first[:1] == b"{":
        return "jsonl"
    return "tsv" if first.count(b"\t") > first.count(b",") else "csv"


def is_zipped(path: Path) -> bool:
    """Whether a file begins as gzip does."""
    with path.open("rb") as stream:
        return stream.read(2) == _GZIP


def open_bytes(path: Path) -> BinaryIO:
    """Open a file, unzipped on the fly where it is gzip."""
    return gzip.open(path) if is_zipped(path) else path.open("rb")  # type: ignore[return-value]


def read_layout(path: Path, what: Format) -> Layout:
    """Read what is needed to know a file's columns, and complain if it is not what it says."""
    readers: dict[str, Callable[[Path], Layout]] = {
        "parquet": _parquet,
        "arrow": _arrow,
        "csv": lambda p: _delimited(p, "csv"),
        "tsv": lambda p: _delimited(p, "tsv"),
        "jsonl": _json_lines,
    }
    try:
        if path.stat().st_size == 0:
            raise InputFileError(f"{path} is empty.\nHint: a file needs at least its column names and a row.")
        return readers[what](path)
    except InputFileError:
        raise
    except (OSError, EOFError, ValueError, csv.Error) as error:
        raise unreadable(path, what, error) from error


def unreadable(path: Path | str, what: str, error: Exception) -> InputFileError:
    """Say why a file cannot be read, in one line and a hint."""
    if isinstance(error, PermissionError):
        return InputFileError(f"{path} cannot be opened: permission denied.\nHint: check who may read it.")
    if isinstance(error, UnicodeDecodeError):
        return InputFileError(f"{path} is not UTF-8 text.\nHint: convert it, for example with iconv -t utf-8.")
    lines = [line for line in str(error).splitlines() if line.strip()] or [type(error).__name__]
    return InputFileError(
        f"{path} cannot be read as {what}: {lines[0].strip()}\n"
        "Hint: the file may be damaged, cut short or of another format; name the format if its name does not say."
    )


def arrow_file(path: Path) -> Any:
    """Open Arrow IPC, whether written as a file (Feather) or as a stream."""
    pa = import_optional("pyarrow", "cli")
    with path.open("rb") as stream:
        as_file = stream.read(6) == b"ARROW1"
    source = pa.memory_map(str(path))
    return pa.ipc.open_file(source) if as_file else pa.ipc.open_stream(source)


def parquet_rows(path: Path) -> int:
    """Read the number of rows from a Parquet file's footer."""
    return int(import_optional("pyarrow.parquet", "cli").read_metadata(path).num_rows)


def _parquet(path: Path) -> Layout:
    schema = import_optional("pyarrow.parquet", "cli").read_schema(path)
    return Layout("parquet", tuple(schema.names), tuple(map(str, schema.types)))


def _arrow(path: Path) -> Layout:
    schema = arrow_file(path).schema
    return Layout("arrow", tuple(schema.names), tuple(map(str, schema.types)))


def _delimited(path: Path, what: Literal["csv", "tsv"]) -> Layout:
    with open_bytes(path) as stream:
        text = io.TextIOWrapper(stream, encoding="utf-8-sig", newline="")
        line = text.readline(_LOOK * 16)
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


def _json_lines(path: Path) -> Layout:
    keys: dict[str, None] = {}
    with open_bytes(path) as stream:
        for number, line in zip(range(1, _JSON_LINES + 1), stream):
            if not line.strip():
                continue
            row = json.loads(line)
            if not isinstance(row, dict):
                raise InputFileError(f"{path}, line {number}, is not a JSON object.\nHint: one object a line.")
            keys.update(dict.fromkeys(row))
    if not keys:
        raise InputFileError(f"{path} has no rows.\nHint: one JSON object a line.")
    return Layout("jsonl", tuple(keys), (), zipped=is_zipped(path))
