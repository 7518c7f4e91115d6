"""Pages of Parquet by their own headers, which hold where the footer lies: what a column unfolds to, unread."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO

from fairpot._optional import Lazy
from fairpot.exceptions import InputFileError
from fairpot.rows.streams import check_packing

pa = Lazy("pyarrow", "cli")

_DICTIONARY, _DATA_2 = 2, 3  # kinds of pages; the older kind of data is 0
_BY_PREFIX, _DEAR = 7, 4  # the encoding of texts by what they have in common, and what it costs to read
_LONGEST_NUMBER = 10  # bytes of one
_LONGEST_VALUE = 1 << 31  # that a header can hold
_DEEPEST = 4  # structures in each other
_MOST_PAGES = 1_000_000  # of a column that are looked at
_WIDTHS = {"BOOLEAN": 1, "INT32": 4, "FLOAT": 4, "INT64": 8, "DOUBLE": 8, "INT96": 12}
_LEVELS = 12  # bytes that go with a value in a list: two levels, and its place


@dataclass(frozen=True)
class Page:
    """What the header of a page says of it, and where it lies."""

    kind: int
    unpacked: int
    packed: int
    values: int
    encoding: int
    start: int


def pages_of(stream: BinaryIO, column: Any) -> Iterator[Page]:
    """Read the headers of a column's pages, as far as Arrow does: until all values are there."""
    before = column.dictionary_page_offset or 0
    place, values = before if 0 < before < column.data_page_offset else column.data_page_offset, 0
    for _ in range(_MOST_PAGES):
        if values >= column.num_values:
            return
        stream.seek(max(place, 0))
        page = _page(_struct(stream), stream)
        values += page.values if page.kind != _DICTIONARY else 0
        place = page.start + page.packed
        yield page
    raise _damaged()


def width_of(leaf: Any) -> int | None:
    """Return the bytes of a value of a column; None for texts."""
    fixed = leaf.physical_type == "FIXED_LEN_BYTE_ARRAY"
    return int(leaf.length) if fixed else _WIDTHS.get(leaf.physical_type)


def dictionary_bytes(stream: BinaryIO, column: Any) -> int:
    """Return the bytes of a column's dictionary; 0 without one."""
    first = next(pages_of(stream, column), None)
    return first.unpacked if first is not None and first.kind == _DICTIONARY else 0


def row_bytes(stream: BinaryIO, column: Any, leaf: Any, rows: int) -> float:
    """Return the bytes that a row of a leaf of lists or structures takes in memory: at most, or of lists on average.

    Lists that unfold to more than honest ones do are refused: one of their rows may hold all. Texts that are written
    out one by one are not counted: they take what the pages take.
    """
    pages = list(pages_of(stream, column))
    packed, values = sum(page.packed for page in pages), sum(page.values for page in pages if page.kind != _DICTIONARY)
    check_packing(packed, sum(page.unpacked for page in pages))
    value = _LEVELS + (width_of(leaf) or _longest_text(stream, column, pages))
    if leaf.max_repetition_level == 0:
        return value
    check_packing(packed, values * value)
    return values * value / max(rows, 1)


def _longest_text(stream: BinaryIO, column: Any, pages: Sequence[Page]) -> int:
    """Return the bytes of the longest text that is stored once and said again."""
    # As long as a page is what a text can be that has all in common with the one before; they are dear to read.
    prefixed = [_DEAR * page.unpacked for page in pages if page.kind != _DICTIONARY and page.encoding == _BY_PREFIX]
    coded = [page for page in pages if page.kind == _DICTIONARY]
    found = [_longest_of(body) if (body := _unpacked(stream, column, page)) else page.unpacked for page in coded]
    return max([0, *prefixed, *found])


def _unpacked(stream: BinaryIO, column: Any, page: Page) -> bytes:
    """Unpack the body of a page; nothing where it is not known how."""
    stream.seek(page.start)
    body, packing = stream.read(page.packed), column.compression
    if packing == "UNCOMPRESSED":
        return body
    try:
        codec = pa.Codec("lz4_raw" if packing.startswith("LZ4") else packing.lower())
        return bytes(codec.decompress(body, page.unpacked, asbytes=True))
    except (pa.ArrowException, ValueError, OSError):  # damaged, or the old LZ4, which is framed in another way
        return b""


def _longest_of(body: bytes) -> int:
    """Return the longest of texts that follow each other, each after its length."""
    place = longest = 0
    while place < len(body):
        length = int.from_bytes(body[place : place + 4], "little")
        longest, place = max(longest, length), place + 4 + length
    return longest


def _page(fields: dict[int, Any], stream: BinaryIO) -> Page:
    newer = fields.get(1) == _DATA_2
    inside = fields.get(8 if newer else 7 if fields.get(1) == _DICTIONARY else 5, {})
    if not isinstance(inside, dict):
        raise _damaged()
    numbers = [*(fields.get(i) for i in (1, 2, 3)), inside.get(1, 0), inside.get(4 if newer else 2, 0)]
    if any(type(each) is not int or each < 0 for each in numbers):
        raise _damaged()
    return Page(*numbers, stream.tell())


def _struct(stream: BinaryIO, depth: int = 0) -> dict[int, Any]:
    """Read a structure of Thrift's compact protocol."""
    fields: dict[int, Any] = {}
    number = 0
    while head := _byte(stream):
        number = number + (head >> 4) if head >> 4 else _number(stream)
        fields[number] = _value(stream, head & 15, depth)
    return fields


def _value(stream: BinaryIO, kind: int, depth: int) -> Any:
    if kind in (1, 2):
        return kind == 1
    if kind in (4, 5, 6):
        return _number(stream)
    if kind == 8:  # the least and the greatest value, which may be long
        stream.seek(min(_varint(stream), _LONGEST_VALUE), 1)
        return None
    if kind == 12 and depth < _DEEPEST:
        return _struct(stream, depth + 1)
    if kind in (3, 7):
        return stream.read(1 if kind == 3 else 8)
    raise _damaged()  # headers have no lists and maps


def _byte(stream: BinaryIO) -> int:
    found = stream.read(1)
    if not found:
        raise _damaged()
    return found[0]


def _varint(stream: BinaryIO) -> int:
    found = 0
    for i in range(_LONGEST_NUMBER):
        byte = _byte(stream)
        found |= (byte & 0x7F) << 7 * i
        if byte < 0x80:
            return found
    raise _damaged()


def _number(stream: BinaryIO) -> int:
    found = _varint(stream)
    return found >> 1 ^ -(found & 1)


def _damaged() -> InputFileError:
    return InputFileError("a page has a header that cannot be read.\nHint: the file may be damaged or cut short.")
