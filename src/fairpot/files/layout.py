"""Formats of files: told by their name or their first bytes; and what a file looks like."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from fairpot._arguments import argument
from fairpot.exceptions import InputFileError
from fairpot.files.streams import PACKED, not_text, open_bytes

Format = Literal["parquet", "csv", "tsv", "arrow", "jsonl"]
FORMATS: tuple[Format, ...] = ("parquet", "csv", "tsv", "arrow", "jsonl")
TEXT: tuple[Format, ...] = ("csv", "tsv")
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
_TOLD = {
    ".xls": "save the sheet as .xlsx or .csv; the old format is not read",
    ".ods": "save the sheet as .xlsx or .csv",
    ".sav": "save the data as .csv or Parquet",
    ".dta": "save the data as .csv or Parquet",
    ".sas7bdat": "save the data as .csv or Parquet",
    ".zip": "unpack it first, or pack single files with gzip",
}
_LOOK = 1 << 16
_LONGEST = 300  # characters of somebody else's error message


@dataclass(frozen=True)
class Reading:
    """How text is to be read, where the files do not say.

    Parameters
    ----------
    delimiter : str or None, default None
        Between the fields of CSV; None finds it in the first line.
    decimal : {".", ","}, default "."
        The decimal mark of scores and weights in CSV.
    encoding : str or None, default None
        Of CSV; None is UTF-8.
    partitions : bool, default False
        Whether names of folders such as ``sex=F`` are columns.
    """

    delimiter: str | None = None
    decimal: str = "."
    encoding: str | None = None
    partitions: bool = False


@dataclass(frozen=True)
class Layout:
    """What a file looks like: its format and its columns, in order."""

    format: Format
    columns: tuple[str, ...]
    types: tuple[str, ...] = ()  # only where the file itself says
    delimiter: str = ","
    decimal: str = "."
    encoding: str | None = None
    packed: bool = False
    partitions: tuple[tuple[str, str], ...] = ()  # columns that the names of folders make, and their values

    @property
    def all_columns(self) -> tuple[str, ...]:
        """The columns of the file, then those of its folders."""
        return self.columns + tuple(name for name, _ in self.partitions)


def format_of_name(path: Path) -> Format | None:
    """Tell the format from a file's name; None if the name does not say."""
    suffixes = [s.lower() for s in path.suffixes]
    if suffixes and suffixes[-1] in PACKED:
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


def unreadable(path: Path | str, what: str, error: BaseException) -> InputFileError:
    """Say why a file cannot be read, in one line and a hint."""
    if isinstance(error, PermissionError):
        return InputFileError(f"{path} cannot be opened: permission denied.\nHint: check who may read it.")
    if isinstance(error, UnicodeError):
        return InputFileError(not_text(path, None))
    lines = [line for line in str(error).splitlines() if line.strip()] or [type(error).__name__]
    return InputFileError(
        f"{path} cannot be read as {what}: {lines[0].strip()[:_LONGEST]}\n"
        "Hint: the file may be damaged, cut short or of another format; name the format "
        f"({argument('format', ...)}) if its name does not say."
    )


def way_out(path: Path) -> str:
    """Say what to do with a file whose format is not read."""
    return _TOLD.get(path.suffix.lower(), f"known are {known_endings()}; or name the format, {argument('format', ...)}")


def known_endings() -> str:
    """List the endings of names that say a format."""
    return ", ".join([*EXTENSIONS, *(f".{f}{packed}" for f in ("csv", "tsv", "jsonl") for packed in PACKED)])
