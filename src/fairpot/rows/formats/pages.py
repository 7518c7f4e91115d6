"""Pages of Parquet by their own headers, which hold where the footer lies: what a column unfolds to, unread."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from fairpot._optional import Lazy
from fairpot.exceptions import InputFileError
from fairpot.rows.streams import check_packing

pa = Lazy("pyarrow", "cli")

_DICTIONARY, _DATA_2 = 2, 3  # kinds of pages; the older kind of data is 0
_BY_PREFIX, _DEAR = 7, 4  # the encoding of texts by what they have in common, and what it costs to read
_AS_RUNS = 3  # that of levels; the other one is older than all files that are met
_LONGEST_NUMBER = 10  # bytes of one
_LONGEST_VALUE = 1 << 31  # that a header can hold
_DEEPEST = 4  # structures in each other
_MOST_PAGES, _MOST_RUNS = 1_000_000, 2_000_000  # of a column, and of levels in a page, that are looked at
_DENSE = 20  # times as large as in the file, which does no harm
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
    levels: int | None  # bytes of repetition levels before what is packed; None where they are packed with the rest
    as_runs: bool
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


class Nested:
    """A leaf of lists or structures in one row group, and the bytes that its values take in memory at most.

    Texts that are written out one by one are not counted: they take what the pages take.
    """

    def __init__(self, stream: BinaryIO, column: Any, leaf: Any) -> None:
        self.stream, self.column, self.leaf = stream, column, leaf
        self.pages = list(pages_of(stream, column))
        self.data = [page for page in self.pages if page.kind != _DICTIONARY]
        # As long as a page is what a text can be that has all in common with the one before; they are dear to read.
        self.prefixed = _DEAR * max((page.unpacked for page in self.data if page.encoding == _BY_PREFIX), default=0)
        self.values = sum(page.values for page in self.data)
        check_packing(sum(page.packed for page in self.pages), sum(page.unpacked for page in self.pages))

    def whole(self) -> int:
        """Return the bytes of all rows, were every text as long as all of the dictionary."""
        texts = max(self.prefixed, dictionary_bytes(self.stream, self.column))
        return self.values * (_LEVELS + (width_of(self.leaf) or texts))

    def row(self) -> int:
        """Return the bytes of the longest row."""
        width = width_of(self.leaf) or self._longest_text()
        return (_LEVELS + width) * (self._longest_row() if self.leaf.max_repetition_level else 1)

    def mean(self, rows: int) -> float | None:
        """Return the bytes of a row on average, where no row can be much longer than the file is; else None."""
        whole = self.values * (_LEVELS + (width_of(self.leaf) or self._longest_text()))
        return whole / rows if whole <= _DENSE * sum(page.packed for page in self.pages) else None

    def _longest_row(self) -> int:
        """Count the values of the longest row; all there are, where that cannot be told."""
        row = longest = 0
        for page in self.data:
            runs = _runs(self._levels(page), self.leaf.max_repetition_level.bit_length(), page.values)
            if runs is None:
                return self.values
            begins, length = runs
            if len(begins):
                longest = max(longest, row + int(begins[0]), int(np.diff(begins).max(initial=0)))
            row = length - int(begins[-1]) if len(begins) else row + length
        return max(longest, row)

    def _longest_text(self) -> int:
        """Return the bytes of the longest text that is stored once and said again."""
        coded = [page for page in self.pages if page.kind == _DICTIONARY]
        found = [_longest_of(body) if (body := self._unpacked(page)) else page.unpacked for page in coded]
        return max([self.prefixed, *found])

    def _levels(self, page: Page) -> bytes:
        """Return the repetition levels of a page, as runs; nothing where they are written in another way."""
        if page.levels is not None:
            self.stream.seek(page.start)
            return self.stream.read(page.levels)
        body = self._unpacked(page)
        return body[4 : 4 + int.from_bytes(body[:4], "little")] if page.as_runs else b""

    def _unpacked(self, page: Page) -> bytes:
        """Unpack the body of a page; nothing where it is not known how."""
        self.stream.seek(page.start)
        body, packing = self.stream.read(page.packed), self.column.compression
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


def _runs(levels: bytes, width: int, values: int) -> tuple[NDArray[np.int64], int] | None:
    """Find where rows begin among the values of a page, which is at level 0, and how many values there are.

    Of more than two rows with one value each, one after the other, two are counted: no row is longer by the others.
    None where the levels do not say it, or not in so many runs.
    """
    place, left, length = 0, values, 0
    alone: list[int] = []  # places of rows that are said by a run of one level
    packed: list[tuple[int, int, int]] = []  # where other levels are said, each by itself: place, bytes, rows before
    while left > 0 and place < len(levels) and len(packed) + len(alone) <= _MOST_RUNS:
        head, place = _varint_at(levels, place)
        count = min((head >> 1) * (8 if head & 1 else 1), left)
        left -= count
        if head & 1:
            packed.append((place, (head >> 1) * width, length))
            place += (head >> 1) * width
        else:
            if not any(levels[place : place + (width + 7) // 8]):
                count = min(count, 2)
                alone += range(length, length + count)
            place += (width + 7) // 8
        length += count
    if left > 0:
        return None
    said = np.frombuffer(b"".join(levels[at : at + size] for at, size, _ in packed), dtype=np.uint8)
    sizes = np.array([size for _, size, _ in packed], dtype=np.int64) * 8 // width
    bits = np.unpackbits(said, bitorder="little")
    zero = np.flatnonzero(bits[: len(bits) // width * width].reshape(-1, width).max(axis=1, initial=0) == 0)
    first = np.cumsum(sizes) - sizes
    run = np.searchsorted(first, zero, side="right") - 1
    begins = zero - first[run] + np.array([before for _, _, before in packed], dtype=np.int64)[run]
    return np.sort(np.concatenate((begins[begins < length], np.array(alone, dtype=np.int64)))), length


def _varint_at(data: bytes, place: int) -> tuple[int, int]:
    found = shift = 0
    for byte in data[place : place + _LONGEST_NUMBER]:
        found, shift, place = found | (byte & 0x7F) << shift, shift + 7, place + 1
        if byte < 0x80:
            return found, place
    raise _damaged()


def _page(fields: dict[int, Any], stream: BinaryIO) -> Page:
    newer = fields.get(1) == _DATA_2
    inside = fields.get(8 if newer else 7 if fields.get(1) == _DICTIONARY else 5, {})
    if not isinstance(inside, dict):
        raise _damaged()
    levels = inside.get(6, 0) if newer else None
    numbers = [*(fields.get(i) for i in (1, 2, 3)), inside.get(1, 0), inside.get(4 if newer else 2, 0)]
    if any(type(each) is not int or each < 0 for each in [*numbers, levels or 0]):
        raise _damaged()
    kind, unpacked, packed, values, encoding = numbers
    as_runs = newer or inside.get(4) == _AS_RUNS
    return Page(kind, unpacked, packed, values, encoding, levels, as_runs, stream.tell())


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
