"""Bytes of files: unpacked on the fly, checksums verified, text as UTF-8, records of CSV counted, rows in batches."""

from __future__ import annotations

import codecs
import gzip
import hashlib
import io
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, Literal

import numpy as np
from numpy.typing import NDArray

from fairpot._arguments import argument
from fairpot._optional import Lazy
from fairpot.exceptions import InputFileError, OutputFileError

pa, pc = Lazy("pyarrow", "cli"), Lazy("pyarrow.compute", "cli")

Packing = Literal["gzip", "zstd"]
PACKED: dict[str, Packing] = {".gz": "gzip", ".zst": "zstd"}
_MAGIC: dict[bytes, Packing] = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd"}
_MARK = codecs.BOM_UTF8


def packing_of(path: Path) -> Packing | None:
    """Tell from its first bytes how a file is packed."""
    with path.open("rb") as stream:
        head = stream.read(4)
    return next((packing for magic, packing in _MAGIC.items() if head.startswith(magic)), None)


def open_bytes(path: Path) -> BinaryIO:
    """Open a file, unpacked on the fly; what is damaged or cut short is an error, at its end at the latest."""
    packing = packing_of(path)
    if packing == "gzip":
        return gzip.open(path)  # type: ignore[return-value]
    if packing == "zstd":
        return io.BufferedReader(pa.CompressedInputStream(arrow_file(path), "zstd"), 1 << 20)
    return path.open("rb")


def arrow_file(path: Path, mode: Literal["rb", "wb"] = "rb") -> Any:
    """Open a file for Arrow by the bytes of its name, which need not be UTF-8."""
    return pa.OSFile(os.fsencode(path), mode)


_HASHING: list[dict[Path, str]] = []  # of those who want to know


@contextmanager
def hashing() -> Iterator[dict[Path, str]]:
    """Collect the SHA-256 of each text file that is read whole in the block; nothing is read for it."""
    found: dict[Path, str] = {}
    _HASHING.append(found)
    try:
        yield found
    finally:
        _HASHING[:] = [each for each in _HASHING if each is not found]


class HashedFile(io.RawIOBase):
    """A file that is written from its beginning to its end, and its SHA-256."""

    def __init__(self, path: Path) -> None:
        self._file, self._sha256 = path.open("wb"), hashlib.sha256()

    def write(self, data: Any) -> int:
        """Write bytes."""
        self._sha256.update(data)
        return self._file.write(data)

    def close(self) -> None:
        """Close the file."""
        self._file.close()
        super().close()

    @property
    def sha256(self) -> str:
        """The SHA-256 of what was written."""
        return self._sha256.hexdigest()


class Text(io.RawIOBase):
    """The text of a file as UTF-8 bytes; what is no text in its encoding is an error with its line."""

    def __init__(self, path: Path, encoding: str | None = None) -> None:
        self._path, self._encoding = path, encoding
        self._stream = open_bytes(path)
        self._sha256 = hashlib.sha256() if _HASHING and packing_of(path) is None else None
        # UTF-8 is only checked; anything else is turned into it.
        self._decoder = codecs.getincrementaldecoder(encoding or "utf-8")()
        self._checked_only = encoding is None or codecs.lookup(encoding).name == "utf-8"
        self._lines, self._begun, self._left = 0, False, b""

    def readable(self) -> bool:
        """Say that it can be read."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Read the next bytes."""
        self._left = self._left or self._next(len(buffer))
        part, self._left = self._left[: len(buffer)], self._left[len(buffer) :]
        buffer[: len(part)] = part
        return len(part)

    def unread(self, data: bytes) -> None:
        """Give back what was read too much."""
        self._left = data + self._left

    def close(self) -> None:
        """Close the file."""
        if not self.closed:
            self._stream.close()
        super().close()

    def _next(self, size: int) -> bytes:
        while True:
            block = self._stream.read(size)
            if self._sha256 is not None:
                self._sha256.update(block)
                for found in [] if block else _HASHING:
                    found[self._path] = self._sha256.hexdigest()
            try:
                text = self._decoder.decode(block, final=not block)
            except UnicodeDecodeError as error:
                line = self._lines + 1 + error.object[: error.start].count(b"\n")
                raise InputFileError(not_text(self._path, self._encoding, line)) from None
            made = block if self._checked_only else text.encode()
            self._lines += made.count(b"\n")
            if not self._begun and made:
                made, self._begun = made.removeprefix(_MARK), True
            if made or not block:
                return made


def not_text(path: Path | str, encoding: str | None, line: int | None = None) -> str:
    """Say that a file is not text in its encoding."""
    where = "" if line is None else f" (line {line})"
    if encoding is not None:
        return f"{path} is not text in the encoding {encoding!r}{where}.\nHint: name its encoding."
    return (
        f"{path} is not UTF-8 text{where}.\n"
        f"Hint: name its encoding ({argument('encoding', 'latin-1')}, cp1252, utf-16, ...), "
        "or convert it: iconv -f latin1 -t utf-8 OLD > NEW."
    )


# The longest cell, and the memory that the texts of some rows may take at once.
MAX_CELL = 64 << 20
MOST_AT_ONCE = 256 << 20
_PACKED_WELL = 100  # times smaller than they are, which honest data rarely get
_LEVELS = 12  # bytes that go with a value in a list when it is written


def longest_cell(column: Any) -> int:
    """Return the bytes of the longest text of an Arrow column; 0 for other types."""
    values = column.dictionary if hasattr(column, "dictionary") else column
    return int(pc.max(pc.binary_length(values)).as_py() or 0) if is_text(values.type) else 0


def check_cell(longest: int, what: str = "text") -> None:
    """Refuse a cell that is too long."""
    if longest > MAX_CELL:
        raise InputFileError(
            f"a cell has {longest >> 20} MB of {what}, more than {MAX_CELL >> 20} MB.\nHint: leave the long column out."
        )


def check_packing(packed: int, unpacked: int) -> None:
    """Refuse, before it is unpacked, what is packed as no honest data are."""
    if unpacked > max(MOST_AT_ONCE, _PACKED_WELL * packed):
        raise InputFileError(
            f"{packed:,} bytes unfold to {unpacked >> 20} MB at once, more than {MOST_AT_ONCE >> 20} MB and "
            f"{_PACKED_WELL} times as many.\nHint: leave the long column out, or write fewer rows at a time."
        )


def portions(batch: Any) -> Iterator[Any]:
    """Cut a batch of Parquet or Arrow so that no part takes much more memory once written out; refuse long cells."""
    check_cell(max(map(longest_cell, batch.columns), default=0))
    # Columns that may hold less than they show: what they hold once may stand in many rows.
    types, is_run = pa.types, lambda type_: hasattr(type_, "run_end_type")
    kinds = (types.is_nested, types.is_dictionary, is_run)
    folded = [i for i, column in enumerate(batch.columns) if any(is_kind(column.type) for is_kind in kinds)]
    yield from _cut(batch, folded) if folded else [batch]


def _cut(batch: Any, folded: list[int]) -> Iterator[Any]:
    if sum(unfolded(batch.column(place)) for place in folded) <= MAX_CELL:
        yield batch
    elif batch.num_rows > 1:
        half = batch.num_rows // 2
        yield from _cut(batch.slice(0, half), folded)
        yield from _cut(batch.slice(half), folded)
    else:
        lists = [batch.column(place) for place in folded if not hasattr(batch.column(place), "dictionary")]
        check_cell(sum(map(unfolded, lists)), "lists and structures")
        yield batch


def is_text(type_: Any) -> bool:
    """Whether an Arrow type is of text or bytes."""
    return any(type_ == kind for kind in (pa.string(), pa.large_string(), pa.binary(), pa.large_binary()))


def unfolded(column: Any) -> int:
    """Return the bytes that the values of a column take when each is written out, or a little more."""
    types, type_, rows = pa.types, column.type, len(column)
    if isinstance(column, pa.ExtensionArray):
        return unfolded(column.storage)
    if types.is_dictionary(type_):
        most = rows * _widest(column.dictionary)
        if most <= MAX_CELL or not is_text(type_.value_type):
            return most
        return int(pc.sum(pc.take(pc.binary_length(column.dictionary), column.indices)).as_py() or 0)
    if hasattr(type_, "run_end_type"):
        return rows * _widest(column.values)
    inside = 0
    if hasattr(column, "sizes"):  # views of lists, which may show the same values again and again
        inside = int(pc.sum(column.sizes).as_py() or 0) * _widest(column.values)
    elif types.is_struct(type_):
        inside = sum(map(unfolded, column.flatten()))
    elif types.is_union(type_):
        inside = sum(unfolded(column.field(i)) for i in range(type_.num_fields))
    elif types.is_map(type_) and rows:  # which no function flattens
        first, last = column.offsets[0].as_py(), column.offsets[-1].as_py()
        inside = sum(unfolded(each[first:last]) for each in (column.keys, column.items))
    elif types.is_nested(type_):
        inside = unfolded(column.flatten()) if rows else 0
    elif not types.is_null(type_):
        inside = column.nbytes
    return _LEVELS * rows + inside


def _widest(values: Any) -> int:
    if is_text(values.type):
        return longest_cell(values) + _LEVELS
    if pa.types.is_primitive(values.type):
        return 8 + _LEVELS
    return unfolded(values)


# The longest line of text or JSON that is read; a quote that is not closed swallows all that follows.
MAX_LINE = 8 << 20


def check_lines(longest: int) -> None:
    """Refuse to write a line that would not be read again."""
    if longest > MAX_LINE:
        raise OutputFileError(
            f"a row has {longest >> 20} MB as text, more than the {MAX_LINE >> 20} MB of a line that is read again.\n"
            "Hint: write Parquet or Arrow, or leave the long column out."
        )


_QUOTE, _FEED, _RETURN = b'"'[0], b"\n"[0], b"\r"[0]


class RecordCounter:
    """Count records block by block: a line end outside quotes ends one, an empty line is none.

    Inside is where the number of quotes so far is odd. Where a quote stands neither around a field nor doubled inside,
    ``odd`` becomes True and the count means nothing.
    """

    def __init__(self, delimiter: str, lines: int = 1) -> None:
        self._delimiter = ord(delimiter)
        self._last = _FEED  # what came before the block: the line of column names has ended
        self._inside = False
        self._closing = False  # whether the last byte was a quote that ends a field, or the first of two
        self._length = 0  # of the record that has begun
        self.records = 0
        self.lines = lines  # the number of the line that has begun
        self.opened = 0  # the line in which the last quote opened
        self.odd = False

    def add(self, block: Any) -> None:
        """Take the next bytes."""
        if len(block) == 0 or self.odd:
            return
        data = np.frombuffer(block, dtype=np.uint8)
        quotes = np.flatnonzero(data == _QUOTE)
        if len(quotes) or self._closing:
            self._check_quotes(data, quotes)
        ends = self._line_ends(data)
        inside = (np.searchsorted(quotes, ends) + self._inside) % 2 == 1
        opening = quotes[int(self._inside) :: 2]
        if len(opening):
            self.opened = self.lines + int(np.searchsorted(ends, opening[-1]))
        self._count(data, ends[~inside])
        self.lines += len(ends)
        self._inside = bool((len(quotes) + self._inside) % 2)
        self._last = int(data[-1])

    def finish(self) -> int:
        """Return the number of records; a quote that is still open is an error."""
        if self._inside and not self.odd:
            raise InputFileError(
                f"a quote that opens in line {self.opened} is never closed.\n"
                "Hint: close it, or double it where it is part of the text; everything after it would be one field."
            )
        return self.records + (self._length > 0)

    def _check_quotes(self, data: NDArray[np.uint8], quotes: NDArray[np.intp]) -> None:
        """See whether quotes open after, and close before, a delimiter, a line end or another quote."""
        allowed = np.array([self._delimiter, _FEED, _RETURN, _QUOTE], dtype=np.uint8)
        opening = quotes[int(self._inside) :: 2]
        closing = quotes[1 - int(self._inside) :: 2]
        before = np.where(opening > 0, data[np.maximum(opening - 1, 0)], self._last)
        after = data[closing[closing + 1 < len(data)] + 1]
        if self._closing:
            after = np.append(after, data[0])
        self.odd = not (np.isin(before, allowed).all() and np.isin(after, allowed).all())
        self._closing = len(closing) > 0 and int(closing[-1]) == len(data) - 1

    def _line_ends(self, data: NDArray[np.uint8]) -> NDArray[np.intp]:
        """Find line ends; a line feed after a carriage return belongs to it."""
        feeds, returns = np.flatnonzero(data == _FEED), np.flatnonzero(data == _RETURN)
        if len(returns) == 0 and self._last != _RETURN:
            return feeds
        before = np.where(feeds > 0, data[np.maximum(feeds - 1, 0)], self._last)
        return np.sort(np.concatenate((feeds[before != _RETURN], returns)))

    def _count(self, data: NDArray[np.uint8], ends: NDArray[np.intp]) -> None:
        """Add the records that end in a block, and see that none is too long."""
        if len(ends) == 0:
            rest = self._last == _RETURN and data[0] == _FEED and not self._length  # of a line end
            self._length += len(data) - int(rest)
            self._limit(self._length, 0)
            return
        before = np.where(ends > 0, data[np.maximum(ends - 1, 0)], self._last)
        self.records += int((~np.isin(before, (_FEED, _RETURN))).sum())
        lengths = np.diff(ends, prepend=-1 - self._length)
        self._limit(int(lengths.max()), int(lengths.argmax()))
        left = data[ends[-1] :]
        self._length = len(left) - 1 - int(len(left) > 1 and left[0] == _RETURN and left[1] == _FEED)

    def _limit(self, length: int, after: int) -> None:
        if length > MAX_LINE:
            raise InputFileError(
                f"line {self.lines + after} is longer than {MAX_LINE >> 20} MB.\n"
                "Hint: is it a table? A quote that is not closed makes one line of all that follow."
            )
