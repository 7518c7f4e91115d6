"""Formats of files: told by their name or their first bytes; and what a file looks like."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from fairpot.exceptions import InputFileError
from fairpot.files.streams import open_bytes

Format = Literal["parquet", "csv", "tsv", "arrow", "jsonl"]
FORMATS: tuple[Format, ...] = ("parquet", "csv", "tsv", "arrow", "jsonl")
EXTENSIONS: dict[str, Format] = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
    ".arrows": "arrow",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
}
_LOOK = 1 << 16


@dataclass(frozen=True)
class Layout:
    """What a file looks like: its format and its columns, in order."""

    format: Format
    columns: tuple[str, ...]
    types: tuple[str, ...] = ()  # only where the file itself says
    delimiter: str = ","
    zipped: bool = False


def format_of_name(path: Path) -> Format | None:
    """Tell the format from a file's name; None if the name does not say."""
    suffixes = [s.lower() for s in path.suffixes]
    if suffixes[-1:] == [".gz"]:
        found = EXTENSIONS.get(suffixes[-2]) if len(suffixes) > 1 else None
        return found if found in ("csv", "tsv", "jsonl") else None
    return EXTENSIONS.get(suffixes[-1]) if suffixes else None


def format_of_bytes(path: Path) -> Format:
    """Tell the format from the first bytes of a file."""
    with open_bytes(path) as stream:
        head = stream.read(_LOOK)
    if head[:4] == b"PAR1":
        return "parquet"
    if head[:6] == b"ARROW1" or head[:4] == b"\xff\xff\xff\xff":
        return "arrow"
    first = head.lstrip(b"\xef\xbb\xbf \t\r\n").split(b"\n")[0]
    if first[:1] == b"{":
        return "jsonl"
    return "tsv" if first.count(b"\t") > first.count(b",") else "csv"


def unreadable(path: Path | str, what: str, error: Exception) -> InputFileError:
    """Say why a file cannot be read, in one line and a hint."""
    if isinstance(error, PermissionError):
        return InputFileError(f"{path} cannot be opened: permission denied.\nHint: check who may read it.")
    if isinstance(error, UnicodeDecodeError):
        return InputFileError(f"{path} is not UTF-8 text.\nHint: convert it, for example with iconv -t utf-8.")
    lines = [line for line in str(error).splitlines() if line.strip()] or [type(error).__name__]
    return InputFileError(
        f"{path} cannot be read as {what}: {lines[0].strip()}\n"
        "Hint: the file may be damaged, cut short or of another format; name the format if its name does not say."
    )


def known_endings() -> str:
    """List the endings of names that say a format."""
    return ", ".join([*EXTENSIONS, ".csv.gz", ".tsv.gz", ".jsonl.gz"])


def duckdb_path(path: Path) -> str:
    """Write a path so that DuckDB does not take its characters for a pattern."""
    return "".join(f"[{c}]" if c in "*?[" else c for c in str(path))
