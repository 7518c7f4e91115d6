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
_FRACTION = {".", ","}
_FEW = 20  # values that a column of groups may have
_NUMBER = {".": re.compile(r"[+-]?\d*\.?\d+([eE][+-]?\d+)?"), ",": re.compile(r"[+-]?\d*,?\d+")}
_YES = {*("ja", "j", "yes", "y", "oui", "o", "si", "sí", "sì", "s", "sim", "tak", "ano", "evet", "wahr", "vrai")}
_NO = {*("nein", "n", "no", "non", "não", "nao", "nie", "ne", "hayır", "falsch", "faux", "nej", "nee")}
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
    """Look at the first text file: its encoding, its decimal mark, its columns and what an outcome means."""
    paths = [Path(source.path)] if isinstance(source.path, str) else []
    if not paths or (source.format or format_of_name(paths[0])) not in TEXT:
        return {}
    needs: dict[str, Any] = {}
    encoding = source.encoding or _encoding(paths[0])
    if encoding != source.encoding and encoding != "utf-8":
        needs["encoding"] = encoding
    columns = _columns(paths[0], encoding, source.delimiter)
    marks = {name: _mark(values) for name, values in columns.items()}
    if source.decimal == "." and "," in marks.values():
        needs["decimal"] = ","
    return needs | (_parts(source, columns, marks) if _has_header(columns) else {})


def _encoding(path: Path) -> str:
    with open_bytes(path) as stream:
        head = stream.read(1000)
        if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            return "utf-16"
        if b"\0" in head:  # letters of our alphabets have a zero before or after them
            return "utf-16-be" if head[:1] == b"\0" else "utf-16-le"
        found = {name: codecs.getincrementaldecoder(name)() for name in ("utf-8", "cp1252")}
        block = head + stream.read(_LOOK)
        while block and found:
            for name in [*found]:
                try:
                    found[name].decode(block)
                except UnicodeDecodeError:
                    del found[name]
            block = stream.read(_LOOK)
    return next(iter(found), "latin-1")


def _columns(path: Path, encoding: str, delimiter: str | None) -> dict[str, list[str]]:
    """Read the values of the first rows, column by column."""
    with open_bytes(path) as stream:
        text = stream.read(_LOOK).decode(encoding, "ignore").removeprefix("\ufeff")
    first = text.partition("\n")[0]
    records = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter or delimiter_of(first))
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
    needs: dict[str, Any] = {}

    def take(part: str, wanted: str | None, found: Iterator[str]) -> Any:
        if wanted is None or wanted in columns:
            return wanted
        near = get_close_matches(wanted, free, n=1, cutoff=0.75)
        needs[part] = next(iter(near), None) or next(found, ...)
        if needs[part] in free:
            free.remove(needs[part])
        return needs[part]

    two = [name for name in free if len(distinct[name]) == 2]
    label = take("label", source.label, iter(sorted(two, key=lambda name: not _is_answer(distinct[name]))))
    numbers = [name for name in free if marks[name] is not None and len(distinct[name]) > 2]
    numbers.sort(key=lambda name: (not _FRACTION & set("".join(distinct[name])), -len(distinct[name])))
    take("score", source.score, iter(numbers))
    if len(source.group_columns) == 1:
        few = (name for name in free if 2 <= len(distinct[name]) <= _FEW)
        take("group", source.group_columns[0], few)
    values = {value.casefold() for value in distinct.get(str(label), ())}
    if source.pos_label is None and len(values) == 2 and values not in _PLAIN:
        yes = [value for value in distinct[str(label)] if value.casefold() in _YES]
        needs["pos_label"] = yes[0] if len(yes) == 1 else ...
    return needs


def _is_answer(values: set[str]) -> bool:
    """Whether two values are those of an outcome, as far as words tell."""
    folded = {value.casefold() for value in values}
    return folded in _PLAIN or folded <= _YES | _NO
