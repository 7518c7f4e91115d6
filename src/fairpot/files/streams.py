"""Bytes of files, unzipped on the fly."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import BinaryIO

_GZIP = b"\x1f\x8b"


def is_zipped(path: Path) -> bool:
    """Whether a file begins as gzip does."""
    with path.open("rb") as stream:
        return stream.read(2) == _GZIP


def open_bytes(path: Path) -> BinaryIO:
    """Open a file, unzipped on the fly where it is gzip."""
    return gzip.open(path) if is_zipped(path) else path.open("rb")  # type: ignore[return-value]
