"""Bytes of files: unpacked on the fly, checksums verified, text as UTF-8; rows in batches that fit into memory."""

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


class Text(io.RawIOBase):
    """The text of a file as UTF-8 bytes; what is no text in its encoding is an error with its line."""

    def __init__(self, path: Path, encoding: str | None = None, longest: int | None = None) -> None:
        self._path, self._encoding, self._longest = path, encoding, longest
        self._stream = open_bytes(path)
        self._sha256 = hashlib.sha256() if _HASHING and packing_of(path) is None else None
        # UTF-8 is only checked; anything else is turned into it.
        self._decoder = codecs.getincrementaldecoder(encoding or "utf-8")()
        self._checked_only = encoding is None or codecs.lookup(encoding).name == "utf-8"
        self._lines, self._begun, self._left = 0, False, b""
        self._line = 0  # bytes of the line that has begun

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
            self._count(made)
            if not self._begun and made:
                made, self._begun = made.removeprefix(_MARK), True
            if made or not block:
                return made

    def _count(self, made: bytes) -> None:
        """Count lines, and refuse one that is too long; within a block none is."""
        ends = [place for place in (made.find(b"\n"), made.find(b"\r")) if place >= 0]
        self._line += min(ends, default=len(made))
        if self._longest is not None and self._line > self._longest:
            raise InputFileError(
                f"{self._path}, line {self._lines + 1}, is longer than {MAX_LINE >> 20} MB.\nHint: is it a table?"
            )
        self._lines += made.count(b"\n")
        if ends:
            self._line = len(made) - max(made.rfind(b"\n"), made.rfind(b"\r")) - 1


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
