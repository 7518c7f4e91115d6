"""Inputs that become JSON lines first: JSON arrays, and sheets of Excel."""

from __future__ import annotations

import datetime
import io
import json
import re
import zipfile
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Any, cast
from xml.parsers import expat

from fairpot._arguments import argument
from fairpot._optional import import_optional
from fairpot._validation import wording
from fairpot.exceptions import InputFileError
from fairpot.rows.streams import MAX_LINE, Text, packing_of

_BLOCK = 1 << 20
_BLANKS, _BETWEEN = re.compile(r"[ \t\r\n]*+"), re.compile(r"[ \t\r\n,]*+")  # before the first object, and others
# What a workbook may have: rows and characters of a cell are what a spreadsheet allows.
MOST_ROWS, LONGEST_CELL, MOST_PARTS, DEEPEST = 1_048_576, 32_767, 10_000, 100
LONGEST_TAG = 4 << 20
MOST_SHEET, MOST_STRINGS, MOST_OTHER = 1 << 30, 100 << 20, 20 << 20  # bytes of a part when it is unpacked


CONVERTED = (".xlsx", ".xlsm", ".json")  # of the last, arrays alone


def is_workbook(path: Path) -> bool:
    """Whether a name is that of a workbook."""
    return path.suffix.lower() in CONVERTED[:2]


def converts(path: Path) -> bool:
    """Whether a file is one of those that become JSON lines first."""
    return is_workbook(path) or (path.suffix.lower() == ".json" and path.is_file() and _is_array(path))


def convert(path: Path, place: Path, sheet: str | None = None) -> None:
    """Write a JSON array, or a sheet of a workbook, as JSON lines."""
    lines = _objects(path) if path.suffix.lower() == ".json" else _rows_of_sheet(path, sheet)
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
    decode = json.JSONDecoder().raw_decode
    with io.TextIOWrapper(io.BufferedReader(Text(path)), encoding="utf-8", newline="") as text:
        buffer, place, number = text.read(_BLOCK).lstrip()[1:], 0, 0
        while True:
            place = cast(re.Match[str], (_BETWEEN if number else _BLANKS).match(buffer, place)).end()
            if buffer[place : place + 1] == "]":
                return
            try:
                _, end = decode(buffer, place)
            except (ValueError, RecursionError):
                end = 0
            if end and end < len(buffer):
                number += 1
                yield " ".join(buffer[place:end].split("\n")).replace("\r", " ")
                place = end
                continue
            more = text.read(_BLOCK)
            if not more or len(buffer) - place > MAX_LINE:
                raise InputFileError(
                    f"{path}: object {number + 1} of the array is damaged, cut short or too long.\n"
                    "Hint: a JSON file is an array of objects, or has one object a line."
                )
            buffer, place = buffer[place:] + more, 0


def _rows_of_sheet(path: Path, named: str | None) -> Iterator[str]:
    """Yield the rows of a sheet: the one that is named, or the only one there is to see."""
    openpyxl = import_optional("openpyxl", "excel")
    with _damaged(path):
        check_workbook(path)
    with ExitStack() as open_things:  # openpyxl leaves the file open where it cannot read it
        with _damaged(path):
            file = open_things.enter_context(path.open("rb"))
            book = openpyxl.load_workbook(file, read_only=True, data_only=True)
            open_things.callback(book.close)
            sheet = _chosen(path, book.worksheets, named)
            sheet.reset_dimensions()  # a sheet that is longer than it says would be cut
            rows = sheet.iter_rows(values_only=True)
            names = {place: str(name) for place, name in enumerate(next(rows, ())) if name is not None}
        twice = [name for name, times in Counter(names.values()).items() if times > 1]
        if twice:
            raise InputFileError(
                f"{path} has {len(twice)} columns twice{wording.such_as(twice[0])}.\nHint: rename them."
            )
        while True:
            with _damaged(path):
                row = next(rows, None)
            if row is None:
                return
            if any(value is not None for value in row):
                yield json.dumps({name: _plain(row[i]) if i < len(row) else None for i, name in names.items()})


def _chosen(path: Path, sheets: list[Any], named: str | None) -> Any:
    """Choose a sheet; where nobody can know which, say what they are called."""
    titles = [sheet.title for sheet in sheets if sheet.sheet_state == "visible"]
    told = wording.listed(titles)
    if named is not None:
        found = next((sheet for sheet in sheets if sheet.title == named), None)
        if found is None:
            raise InputFileError(f"{path} has no sheet {named!r}.\nHint: name one of those there are: {told}.")
        return found
    if sheets[0].sheet_state != "visible":
        raise _too_much(path, "a first sheet that is hidden, so that you would look at another")
    if len(titles) > 1:
        raise InputFileError(
            f"{path} has {len(titles)} sheets: {told}.\nHint: say which of them has the rows, {argument('sheet', ...)}."
        )
    return sheets[0]


@contextmanager
def _damaged(path: Path) -> Iterator[None]:
    """Turn what goes wrong in a workbook into our own error: a damaged one fails in many ways."""
    try:
        yield
    except InputFileError:
        raise
    except Exception as error:
        raise InputFileError(
            f"{path} cannot be read as a workbook ({type(error).__name__}).\nHint: save the sheet as CSV."
        ) from error


def check_workbook(path: Path) -> None:
    """Look through the parts of a workbook as a stream, before anything of it is kept in memory.

    Refused are parts that unpack to too much, text and nesting that no spreadsheet writes, entities, and rows that are
    not in order: a reader would fill in a thousand million rows, or leave out the second of two.
    """
    with zipfile.ZipFile(path) as packed:
        entries = packed.infolist()
        if len(entries) > MOST_PARTS:
            raise _too_much(path, f"{len(entries):,} parts, more than {MOST_PARTS:,}")
        if len({entry.filename.lower() for entry in entries}) < len(entries):
            raise _too_much(path, "a part twice, and readers do not agree which of the two counts")
        for entry in entries:
            if entry.filename.lower().endswith((".xml", ".rels")):
                with packed.open(entry) as stream:
                    _Part(path).read(stream)


def _too_much(path: Path, what: str) -> InputFileError:
    return InputFileError(
        f"{path} is no workbook that can be read: it has {what}.\nHint: save the sheet as CSV or Parquet."
    )


class _Part:
    """One part of a workbook, read by a parser that keeps nothing."""

    def __init__(self, path: Path) -> None:
        self._path, self._depth, self._text, self._row, self._most = path, 0, 0, 0, MOST_OTHER
        self._parser = expat.ParserCreate()
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.CharacterDataHandler = self._characters
        self._parser.StartDoctypeDeclHandler = self._doctype

    def read(self, stream: IO[bytes]) -> None:
        """Read all of it."""
        size = 0
        while block := stream.read(_BLOCK):
            size += len(block)
            self._parser.Parse(block, False)
            if size > self._most:
                raise _too_much(self._path, f"a part of more than {self._most >> 20} MB when it is unpacked")
            if size - self._parser.CurrentByteIndex > LONGEST_TAG:  # the parser begins it again with each block
                raise _too_much(self._path, f"a tag or comment of more than {LONGEST_TAG >> 20} MB")
        self._parser.Parse(b"", True)

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        local = name.rpartition(":")[2]
        if self._depth == 0:
            self._most = {"worksheet": MOST_SHEET, "sst": MOST_STRINGS}.get(local, MOST_OTHER)
        self._depth, self._text = self._depth + 1, 0
        if self._depth > DEEPEST:
            raise _too_much(self._path, f"parts nested deeper than {DEEPEST}")
        if local == "row":
            self._check_row(attributes.get("r", str(self._row + 1)))

    def _check_row(self, number: str) -> None:
        if not (number.isascii() and number.isdigit() and len(number) < 10):
            raise _too_much(self._path, f"a row with the number {number[:20]!r}")
        found = int(number)
        if found > MOST_ROWS:
            raise _too_much(self._path, f"a row with the number {found:,}, more than a sheet holds ({MOST_ROWS:,})")
        if found <= self._row:
            raise _too_much(self._path, f"row {found} after row {self._row}, so that one would be lost")
        self._row = found

    def _end(self, name: str) -> None:
        self._depth -= 1

    def _characters(self, text: str) -> None:
        self._text += len(text)
        if self._text > LONGEST_CELL:
            raise _too_much(self._path, f"a text of more than {LONGEST_CELL:,} characters, which no cell holds")

    def _doctype(self, *_: object) -> None:
        raise _too_much(self._path, "a document type, whose entities may stand for anything")


def _plain(value: Any) -> Any:
    if isinstance(value, datetime.date | datetime.time):
        return value.isoformat()
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)
