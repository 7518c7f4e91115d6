"""A text file that could not be read is looked at once: all that has to be said of it, not one fault a try."""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from difflib import get_close_matches
from itertools import islice
from pathlib import Path
from typing import Any

from fairpot._arguments import argument
from fairpot.rows.formats import TEXT, format_of_name
from fairpot.rows.formats.csv import delimiter_of
from fairpot.rows.source import RowSource
from fairpot.rows.streams import open_bytes

_LOOK, _ROWS = 1 << 20, 1000
_FEW = 20  # values that a column of groups may have
_NUMBER = {".": re.compile(r"[+-]?\d*\.?\d+([eE][+-]?\d+)?"), ",": re.compile(r"[+-]?\d*,?\d+")}
_YES = {*("ja", "j", "yes", "y", "oui", "o", "si", "sí", "sì", "s", "sim", "tak", "ano", "evet", "wahr", "vrai")}
_FOREIGN = {"encoding", "decimal", "pos_label"}
_PLAIN = ({"0", "1"}, {"true", "false"})


@contextmanager
def looked_at(source: RowSource) -> Iterator[None]:
    """Let an error about a text file say all that it needs, in a hint and as ``needs``, where it is several."""
    try:
        yield
    except (ValueError, TypeError) as error:
        needs: dict[str, Any] = {}
        with suppress(Exception):  # what is known is told, whatever else comes up
            needs = _needed(source)
        if len(needs) < 2 or not needs.keys() & _FOREIGN:  # the error says it all
            raise
        message, _, _ = str(error).partition("\nHint:")
        said = ", ".join(argument(name, value) for name, value in needs.items())
        told = type(error)(f"{message}\nHint: say all that this file needs at once, if the columns are right: {said}")
        told.__dict__ |= error.__dict__ | {"needs": needs}
        raise told from error


def _needed(source: RowSource) -> dict[str, Any]:
    """Look how a text file begins: its encoding, its decimal mark, its columns and what an outcome means."""
    if not isinstance(source.path, str) or (source.format or format_of_name(Path(source.path))) not in TEXT:
        return {}
    with open_bytes(Path(source.path)) as stream:
        begin = stream.read(_LOOK)
    needs: dict[str, Any] = {}
    encoding = source.encoding or _encoding(begin)
    if encoding not in (source.encoding, "utf-8"):
        needs["encoding"] = encoding
    columns = _columns(begin.decode(encoding, "ignore").removeprefix("\ufeff"), source.delimiter)
    marks = {name: _mark(values) for name, values in columns.items()}
    if source.decimal == "." and "," in marks.values():
        needs["decimal"] = ","
    return needs | (_parts(source, columns, marks) if _has_header(columns) else {})


def _encoding(begin: bytes) -> str:
    if begin.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    if b"\0" in begin[:1000]:  # letters of our alphabets have a zero before or after them
        return "utf-16-be" if begin[:1] == b"\0" else "utf-16-le"
    for name in ("utf-8", "cp1252"):
        with suppress(UnicodeDecodeError):
            codecs.getincrementaldecoder(name)().decode(begin)  # the last character may be cut
            return name
    return "latin-1"


def _columns(text: str, delimiter: str | None) -> dict[str, list[str]]:
    """Read the values of the first rows, column by column."""
    records = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter or delimiter_of(text.partition("\n")[0]))
    header = next(records)
    rows = [row for row in islice(records, _ROWS) if len(row) == len(header)]
    return {name: [row[i].strip() for row in rows] for i, name in enumerate(header)}


def _has_header(columns: dict[str, list[str]]) -> bool:
    """Whether the first line names columns: it may be a row, and what rows hold is not told."""
    return all(
        name.strip() and name.isprintable() and _mark([name]) is None and name not in values
        for name, values in columns.items()
    )


def _mark(values: Sequence[str]) -> str | None:
    """Return the decimal mark with which all values are numbers; None where they are none."""
    filled = [value for value in values if value]
    return next((mark for mark, form in _NUMBER.items() if filled and all(map(form.fullmatch, filled))), None)


def _parts(source: RowSource, columns: dict[str, list[str]], marks: dict[str, str | None]) -> dict[str, Any]:
    """Find columns for the parts whose names are not in the file, and the value that means the outcome."""
    free = [name for name in columns if name not in source.roles.values()]
    distinct = {name: {value for value in columns[name] if value} for name in columns}
    answers = [name for name in free if len(distinct[name]) == 2]
    answers.sort(key=lambda name: distinct[name] not in _PLAIN and not any(map(_is_yes, distinct[name])))
    numbers = [name for name in free if marks[name] is not None and len(distinct[name]) > 2]
    numbers.sort(key=lambda name: -len(distinct[name]))
    few = [name for name in free if 2 <= len(distinct[name]) <= _FEW]
    group = source.group_columns[0] if len(source.group_columns) == 1 else None
    needs: dict[str, Any] = {}
    for part, wanted, likely in (
        ("label", source.label, answers),
        ("score", source.score, numbers),
        ("group", group, few),
    ):
        if wanted is not None and wanted not in columns:
            found = [*get_close_matches(wanted, free, n=1, cutoff=0.75), *likely]
            needs[part] = next((name for name in found if name not in needs.values()), ...)
    values = distinct.get(str(needs.get("label", source.label)), set())
    if source.pos_label is None and len(values) == 2 and {value.casefold() for value in values} not in _PLAIN:
        yes = [value for value in values if _is_yes(value)]
        needs["pos_label"] = yes[0] if len(yes) == 1 else ...
    return needs


def _is_yes(value: str) -> bool:
    return value.casefold() in _YES
