"""Inputs that become JSON lines first: JSON arrays, and sheets of Excel."""

from __future__ import annotations

import datetime
import json
import zipfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from fairpot._optional import import_optional
from fairpot._validation import wording
from fairpot.exceptions import InputFileError
from fairpot.files.streams import MAX_LINE, Text, packing_of

_BLOCK = 1 << 20
_MOST_BYTES = 2 << 30  # that a workbook may have when it is unpacked


CONVERTED = (".xlsx", ".xlsm", ".json")  # of the last, arrays alone


def converts(path: Path) -> bool:
    """Whether a file is one of those that become JSON lines first."""
    suffix = path.suffix.lower()
    return suffix in CONVERTED[:2] or (suffix == ".json" and path.is_file() and _is_array(path))


def convert(path: Path, place: Path) -> None:
    """Write a JSON array, or the first sheet of a workbook, as JSON lines."""
    lines = _objects(path) if path.suffix.lower() == ".json" else _sheet(path)
    with place.open("w", encoding="utf-8") as out:
        for line in lines:
            out.write(line + "\n")


def _is_array(path: Path) -> bool:
    if packing_of(path) is not None:
        return False
    with path.open("rb") as stream:
        return stream.read(1000).lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"[")


def _objects(path: Path) -> Iterator[str]:
    """Yield the text of each object in an array, on one line; at most a block beyond it is in memory."""
    text, decode = Text(path), json.JSONDecoder().raw_decode
    try:
        buffer, place, number, ended = text.read(_BLOCK).decode().lstrip()[1:], 0, 0, False
        while True:
            place = _skipped(buffer, place, " \t\r\n," if number else " \t\r\n")
            if buffer[place : place + 1] == "]":
                return
            try:
                _, end = decode(buffer, place)
            except (ValueError, RecursionError):
                end = 0
            if end and (end < len(buffer) or ended):
                number += 1
                yield " ".join(buffer[place:end].split("\n")).replace("\r", " ")
                place = end
                continue
            more = text.read(_BLOCK).decode()
            if not more or len(buffer) - place > MAX_LINE:
                raise InputFileError(
                    f"{path}: object {number + 1} of the array is damaged, cut short or too long.\n"
                    "Hint: a JSON file is an array of objects, or has one object a line."
                )
            buffer, place = buffer[place:] + more, 0
    finally:
        text.close()


def _skipped(buffer: str, place: int, blanks: str) -> int:
    while place < len(buffer) and buffer[place] in blanks:
        place += 1
    return place


def _sheet(path: Path) -> Iterator[str]:
    """Yield the rows of the first sheet."""
    openpyxl = import_optional("openpyxl", "excel")
    try:
        with zipfile.ZipFile(path) as packed:
            if sum(entry.file_size for entry in packed.infolist()) > _MOST_BYTES:
                raise InputFileError(f"{path} is too large a workbook.\nHint: save the sheet as CSV or Parquet.")
        book = openpyxl.load_workbook(path, read_only=True, data_only=True)
    except InputFileError:
        raise
    except Exception as error:  # a damaged workbook fails in many ways
        raise InputFileError(
            f"{path} cannot be read as a workbook ({type(error).__name__}).\nHint: save the sheet as CSV."
        ) from error
    try:
        rows = book.worksheets[0].iter_rows(values_only=True)
        names = [str(name) for name in next(rows, ()) if name is not None]
        twice = [name for name, times in Counter(names).items() if times > 1]
        if twice:
            raise InputFileError(
                f"{path} has {len(twice)} columns twice{wording.such_as(twice[0])}.\nHint: rename them."
            )
        for row in rows:
            if any(value is not None for value in row):
                yield json.dumps({name: _plain(value) for name, value in zip(names, row)})
    finally:
        book.close()


def _plain(value: Any) -> Any:
    if isinstance(value, datetime.date | datetime.time):
        return value.isoformat()
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)
