"""Workbooks of Excel: a sheet that is read becomes JSON lines first; one that is written streams into its place."""

from __future__ import annotations

import datetime
import decimal
import html
import json
import math
import re
import zipfile
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from fairpot._arguments import argument
from fairpot._optional import Lazy, import_optional
from fairpot._validation import wording
from fairpot._warn import warn_user
from fairpot.exceptions import InputFileError, OutputFileError
from fairpot.rows.decoding import EXACT
from fairpot.rows.formats import Batches, Sink, Target
from fairpot.rows.formats.csv import neutralised
from fairpot.transport import Floats

pa = Lazy("pyarrow", "cli")

# What a workbook may have: rows, columns and characters of a cell are what a spreadsheet allows.
MOST_ROWS, _MOST_COLUMNS, LONGEST_CELL = 1_048_576, 16_384, 32_767
MOST_PARTS, MOST_BYTES = 10_000, 2 << 30  # of the parts when they are unpacked
_MOST_STRINGS = 100 << 20  # bytes of the texts that sheets share, each of which is an object
_PROLOGUE = 1 << 16  # bytes in which a part has begun


def convert(path: Path, place: Path, sheet: str | None = None) -> None:
    """Write a sheet of a workbook as JSON lines."""
    with place.open("w", encoding="utf-8") as out:
        for line in _rows_of_sheet(path, sheet):
            out.write(line + "\n")


def _rows_of_sheet(path: Path, named: str | None) -> Iterator[str]:
    """Yield the rows of a sheet: the one that is named, or the only one there is to see."""
    openpyxl = import_optional("openpyxl", "excel")
    with _damaged(path), ExitStack() as open_things:  # openpyxl leaves the file open where it cannot read it
        check_workbook(path)
        file = open_things.enter_context(path.open("rb"))
        book = openpyxl.load_workbook(file, read_only=True, data_only=True)
        open_things.callback(book.close)
        sheet = _chosen(path, book.worksheets, named)
        hidden: list[int] = []
        rows = _rows_in_order(path, sheet, hidden)
        _, first = next(rows, (0, {}))
        names = {place: str(name) for place, name in first.items() if name is not None}
        twice = [name for name, times in Counter(names.values()).items() if times > 1]
        if twice:
            raise InputFileError(
                f"{path} has {len(twice)} columns twice{wording.such_as(twice[0])}.\nHint: rename them."
            )
        for _, row in rows:
            if any(value is not None for value in row.values()):
                yield json.dumps({name: _plain(row.get(place)) for place, name in names.items()})
        if hidden:
            told = f"{path}: {wording.counted(len(hidden), 'row')} that the workbook hides, by hand or by a filter"
            warn_user(f"{told}, count like all others.", UserWarning)


def _rows_in_order(path: Path, sheet: Any, hidden: list[int]) -> Iterator[tuple[int, dict[int, Any]]]:
    """Yield the number of each row that is there, and its cells by their column, as openpyxl's own parser finds them.

    A reader would fill in a thousand million rows, or leave out the second of two rows or cells in one place.
    """
    parsing = import_optional("openpyxl.worksheet._reader", "excel")  # what openpyxl itself does with it loses rows
    book, last = sheet.parent, 0
    formats = {"date_formats": book._date_formats, "timedelta_formats": book._timedelta_formats}
    with sheet._get_source() as source:
        parser = parsing.WorkSheetParser(source, sheet._shared_strings, data_only=True, epoch=book.epoch, **formats)
        for number, cells in parser.parse():
            if not last < number <= MOST_ROWS:
                raise _too_much(path, f"row {number:,} after row {last:,}, and a sheet holds {MOST_ROWS:,} in order")
            row = {cell["column"]: cell["value"] for cell in cells}
            if len(row) < len(cells) or any(cell["row"] != number for cell in cells):
                raise _too_much(path, f"a cell twice, or one of another row, in row {number:,}")
            if any(isinstance(value, str) and len(value) > LONGEST_CELL for value in row.values()):
                raise _too_much(path, f"a text of more than {LONGEST_CELL:,} characters, which no cell holds")
            said = parser.row_dimensions.pop(str(number), {})
            if said.get("hidden") in ("1", "true") and last:  # not the names of columns
                hidden.append(number)
            last = number
            yield number, row


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
    """Refuse parts that unpack to too much, as the archive says, that come twice, or that begin with entities."""
    with zipfile.ZipFile(path) as packed:
        entries = packed.infolist()
        if len(entries) > MOST_PARTS:
            raise _too_much(path, f"{len(entries):,} parts, more than {MOST_PARTS:,}")
        if len({entry.filename.lower() for entry in entries}) < len(entries):
            raise _too_much(path, "a part twice, and readers do not agree which of the two counts")
        shared = sum(entry.file_size for entry in entries if "sharedstrings" in entry.filename.lower())
        for size, most in ((sum(entry.file_size for entry in entries), MOST_BYTES), (shared, _MOST_STRINGS)):
            if size > most:
                raise _too_much(path, f"parts of {size >> 20:,} MB when they are unpacked, more than {most >> 20:,} MB")
        for entry in entries:
            if entry.filename.lower().endswith((".xml", ".rels")):
                with packed.open(entry) as stream:
                    begin = stream.read(_PROLOGUE).replace(b"\0", b"")  # which UTF-16 has beside each letter
                if b"<!DOCTYPE" in begin or (len(begin) == _PROLOGUE and not re.search(rb"<\w", begin)):
                    raise _too_much(path, "a document type, whose entities may stand for anything, or none in sight")


def _too_much(path: Path, what: str) -> InputFileError:
    return InputFileError(
        f"{path} is no workbook that can be read: it has {what}.\nHint: save the sheet as CSV or Parquet."
    )


def _plain(value: Any) -> Any:
    if isinstance(value, datetime.date | datetime.time):
        return value.isoformat()
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)


# What XML has no place for, and what a spreadsheet reads as the number of a character.
_REFUSED = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]|_x[0-9A-Fa-f]{4}_")
_HEAD = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_TYPE = "application/vnd.openxmlformats-officedocument.spreadsheetml"
_PARTS = {
    "[Content_Types].xml": f'<Types xmlns="{_PACKAGE}/content-types"><Default Extension="rels" '
    'ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
    f'<Override PartName="/xl/workbook.xml" ContentType="{_TYPE}.sheet.main+xml"/>'
    f'<Override PartName="/xl/worksheets/sheet1.xml" ContentType="{_TYPE}.worksheet+xml"/></Types>',
    "_rels/.rels": f'<Relationships xmlns="{_PACKAGE}/relationships">'
    f'<Relationship Id="rId1" Type="{_OFFICE}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
    "xl/workbook.xml": f'<workbook xmlns="{_MAIN}" xmlns:r="{_OFFICE}"><sheets>'
    '<sheet name="Scores" sheetId="1" r:id="rId1"/></sheets></workbook>',
    "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{_PACKAGE}/relationships">'
    f'<Relationship Id="rId1" Type="{_OFFICE}/worksheet" Target="worksheets/sheet1.xml"/></Relationships>',
}


class Writer(Sink):
    """An Excel workbook; text is text, so that none of it runs as a formula."""

    def __init__(self, batches: Batches, target: Target) -> None:
        self._book = zipfile.ZipFile(target.place, "w", zipfile.ZIP_DEFLATED)
        for name, text in _PARTS.items():
            self._book.writestr(_part(name), _HEAD + text)
        sheet = self._book.open(_part("xl/worksheets/sheet1.xml"), "w", force_zip64=True)
        super().__init__(sheet, batches, target)
        self._rows, self._neutralise = 0, target.neutralise
        self._numbers = batches.numbers - {self.place}
        self._mixed = batches.mixed
        self._decimal = "." if batches.layout is None else batches.layout.decimal
        self.stream.write(f'{_HEAD}<worksheet xmlns="{_MAIN}"><sheetData>'.encode())
        if len(self.names) > _MOST_COLUMNS:
            raise _cannot_hold(f"{len(self.names):,} columns, and a sheet holds {_MOST_COLUMNS:,}")
        self._add([map(_cell, self.names)])

    def write(self, batch: Any, values: Floats | None) -> None:
        """Write a batch."""
        columns = self.joined(batch, values).columns
        cells = []
        for place, column in enumerate(columns):
            if place in self._numbers:  # their text is what a workbook holds of them
                texts = (text.replace(self._decimal, ".") for text in column.to_pylist())
                cells.append([f"<c><v>{text}</v></c>" if text else "<c/>" for text in texts])
                continue
            if place in self._mixed:
                column = pa.array([_as_text(value) for value in column.to_pylist()], pa.string())
            if self._neutralise and column.type in (pa.string(), pa.large_string()):
                column = neutralised(column.cast(pa.large_string()))
            cells.append([_cell(value) for value in column.to_pylist()])
        self._add(zip(*cells))

    def _add(self, rows: Iterable[Iterable[str]]) -> None:
        made = [f"<row>{''.join(row)}</row>" for row in rows]
        self._rows += len(made)
        if self._rows > MOST_ROWS:
            raise _cannot_hold(f"more than {MOST_ROWS - 1:,} rows, which is all a sheet holds")
        self.stream.write("".join(made).encode())

    def close(self) -> None:
        """Finish the workbook."""
        try:
            self.stream.write(b"</sheetData></worksheet>")
            super().close()
        finally:
            self._book.close()


def _as_text(value: str | None) -> str | None:
    """Write a text of JSON without its quotes, and anything else as its JSON."""
    return json.loads(value) if value is not None and value.startswith('"') else value


def _part(name: str) -> zipfile.ZipInfo:
    """Name a part, without the time: the same rows give the same bytes."""
    part = zipfile.ZipInfo(name)
    part.compress_type = zipfile.ZIP_DEFLATED
    return part


def _cell(value: Any) -> str:
    """Write a cell: numbers that a spreadsheet holds exactly as numbers, anything else as text."""
    if value is None or (isinstance(value, float | decimal.Decimal) and not math.isfinite(value)):
        return "<c/>"
    if isinstance(value, bool):
        return f'<c t="b"><v>{int(value)}</v></c>'
    if isinstance(value, float | decimal.Decimal) or (isinstance(value, int) and abs(value) <= EXACT):
        return f"<c><v>{value!s}</v></c>"
    if isinstance(value, datetime.date | datetime.time):
        value = value.isoformat()
    text = json.dumps(value, default=str) if isinstance(value, list | dict) else str(value)
    if len(text) > LONGEST_CELL:
        raise _cannot_hold(f"a text of {len(text):,} characters, and a cell holds {LONGEST_CELL:,}")
    if _REFUSED.search(text):
        raise _cannot_hold("a text with control characters, or with one written as _x0041_")
    written = html.escape(text, quote=False).replace("\r", "&#13;")
    return f'<c t="inlineStr"><is><t xml:space="preserve">{written}</t></is></c>'


def _cannot_hold(what: str) -> OutputFileError:
    return OutputFileError(f"a workbook cannot hold these rows: they have {what}.\nHint: write CSV or Parquet.")
