"""A workbook of one sheet, as an output; it is written as it streams, so that no copy of the rows lies elsewhere."""

from __future__ import annotations

import datetime
import decimal
import json
import math
import re
import zipfile
from collections.abc import Iterable
from typing import Any
from xml.sax.saxutils import escape

from fairpot._optional import Lazy
from fairpot.exceptions import OutputFileError
from fairpot.rows.decoding import EXACT
from fairpot.rows.formats.csv import neutralised
from fairpot.rows.formats.layout import Batches, Sink, Target
from fairpot.rows.formats.workbook import LONGEST_CELL, MOST_ROWS
from fairpot.transport import Floats

pa = Lazy("pyarrow", "cli")

_MOST_COLUMNS = 16_384
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
        self.stream.write(f'{_HEAD}<worksheet xmlns="{_MAIN}"><sheetData>'.encode())
        if len(self.schema.names) > _MOST_COLUMNS:
            raise _too_much(f"{len(self.schema.names):,} columns, and a sheet holds {_MOST_COLUMNS:,}")
        self._add([self.schema.names])

    def write(self, batch: Any, values: Floats | None) -> None:
        """Write a batch."""
        columns = self.joined(batch, values).columns
        if self._neutralise:
            columns = [neutralised(c.cast(pa.large_string())) if _is_text(c.type) else c for c in columns]
        self._add(zip(*(column.to_pylist() for column in columns)))

    def _add(self, rows: Iterable[Iterable[Any]]) -> None:
        made = [f"<row>{''.join(map(_cell, row))}</row>" for row in rows]
        self._rows += len(made)
        if self._rows > MOST_ROWS:
            raise _too_much(f"more than {MOST_ROWS - 1:,} rows, which is all a sheet holds")
        self.stream.write("".join(made).encode())

    def close(self) -> None:
        """Finish the sheet and the workbook."""
        try:
            self.stream.write(b"</sheetData></worksheet>")
            super().close()
        finally:
            self._book.close()


def _part(name: str) -> zipfile.ZipInfo:
    """Name a part, without the time: the same rows give the same bytes."""
    part = zipfile.ZipInfo(name)
    part.compress_type = zipfile.ZIP_DEFLATED
    return part


def _is_text(type_: Any) -> bool:
    return bool(pa.types.is_string(type_) or pa.types.is_large_string(type_))


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
        raise _too_much(f"a text of {len(text):,} characters, and a cell holds {LONGEST_CELL:,}")
    if _REFUSED.search(text):
        raise _too_much("a text with control characters, or with one written as _x0041_")
    return f'<c t="inlineStr"><is><t xml:space="preserve">{escape(text, _RETURN)}</t></is></c>'


_RETURN = {"\r": "&#13;"}


def _too_much(what: str) -> OutputFileError:
    return OutputFileError(f"a workbook cannot hold these rows: they have {what}.\nHint: write CSV or Parquet.")
