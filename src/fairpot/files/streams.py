"""Bytes of files: unpacked on the fly, checksums verified, and text as UTF-8 whatever it was."""

from __future__ import annotations

import codecs
import gzip
import io
from pathlib import Path
from typing import Any, BinaryIO, Literal

from fairpot._arguments import argument
from fairpot._optional import import_optional
from fairpot.exceptions import InputFileError

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
        pa = import_optional("pyarrow", "cli")
        return _Unpacked(pa.CompressedInputStream(pa.OSFile(str(path)), "zstd"))
    return path.open("rb")


class _Unpacked(io.BufferedReader):
    """An Arrow stream with the manners of a file."""

    def __init__(self, stream: Any) -> None:
        super().__init__(_Raw(stream), 1 << 20)


class _Raw(io.RawIOBase):
    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        found = self._stream.read(len(buffer))
        buffer[: len(found)] = found
        return len(found)

    def close(self) -> None:
        self._stream.close()
        super().close()


class Text:
    """The text of a file as UTF-8 bytes, block by block; what is no text in its encoding is an error with its line.

    Parameters
    ----------
    path : Path
    encoding : str or None, default None
        None is UTF-8.
    """

    def __init__(self, path: Path, encoding: str | None = None) -> None:
        self._path, self._encoding = path, encoding
        self._stream = open_bytes(path)
        # UTF-8 is only checked; anything else is turned into it.
        self._decoder = codecs.getincrementaldecoder(encoding or "utf-8")()
        self._checked_only = encoding is None or codecs.lookup(encoding).name == "utf-8"
        self._lines = 0
        self._begun = False

    def read(self, size: int) -> bytes:
        """Return about ``size`` bytes; nothing at the end."""
        while True:
            block = self._stream.read(size)
            text = self._decoded(block, final=not block)
            made = block if self._checked_only else text.encode()
            self._lines += made.count(b"\n")
            if not self._begun and made:
                made, self._begun = made.removeprefix(_MARK), True
            if made or not block:
                return made

    def close(self) -> None:
        """Close the file."""
        self._stream.close()

    def _decoded(self, block: bytes, *, final: bool) -> str:
        try:
            return self._decoder.decode(block, final)
        except UnicodeDecodeError as error:
            line = self._lines + 1 + error.object[: error.start].count(b"\n")
            raise InputFileError(not_text(self._path, self._encoding, line)) from None


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
