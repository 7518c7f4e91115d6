"""Formats of files: told by their name or their first bytes; what a file looks like, and its rows in batches."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol

from fairpot._arguments import argument
from fairpot._optional import import_optional
from fairpot._validation import wording
from fairpot.engines.naming import Kind
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
        f"{path} cannot be read as {what}: {wording.without_quotes(lines[0].strip())[:_LONGEST]}\n"
        "Hint: the file may be damaged, cut short or of another format; name the format "
        f"({argument('format', ...)}) if its name does not say."
    )


def way_out(path: Path) -> str:
    """Say what to do with a file whose format is not read."""
    return _TOLD.get(path.suffix.lower(), f"known are {known_endings()}; or name the format, {argument('format', ...)}")


def known_endings() -> str:
    """List the endings of names that say a format."""
    return ", ".join([*EXTENSIONS, *(f".{f}{packed}" for f in ("csv", "tsv", "jsonl") for packed in PACKED)])


class Batches(Protocol):
    """An Arrow schema, and batches that keep to it."""

    schema: Any
    kind: Kind
    exact_types: bool  # False where types were found by looking, so that groups may read otherwise than in fit

    def __iter__(self) -> Iterator[Any]:
        """Yield record batches in the order of the rows."""


def same_columns(files: dict[Path, Layout]) -> Layout:
    """Insist that files which become one have the same columns in the same order."""
    [first, layout], *rest = files.items()
    for path, other in rest:
        if other.all_columns != layout.all_columns or other.types != layout.types:
            odd = sorted(set(other.all_columns) ^ set(layout.all_columns))
            told = odd if odd and wording.names_are_shown() else f"{len(odd)} of them" if odd else "order or types"
            raise InputFileError(
                f"{first} and {path} differ in their columns: {told}.\n"
                "Hint: files that become one need the same columns in the same order; apply to each by itself."
            )
    return layout


def guarded(batches: Iterator[Any], path: Path, what: str) -> Iterator[Any]:
    """Turn what goes wrong while reading into our own error."""
    pa = import_optional("pyarrow", "cli")
    try:
        yield from batches
    except InputFileError:
        raise
    except (pa.ArrowException, OSError, EOFError, UnicodeError, zlib.error, MemoryError) as error:
        raise unreadable(path, what, error) from error


def with_partitions(batch: Any, layout: Layout, schema: Any) -> Any:
    """Give a batch the names of a schema, and the columns that the names of folders make."""
    pa = import_optional("pyarrow", "cli")
    constant = [pa.repeat(pa.scalar(value, pa.string()), batch.num_rows) for _, value in layout.partitions]
    return pa.RecordBatch.from_arrays([*batch.columns, *constant], schema=schema)


def partitioned(schema: Any, layout: Layout) -> Any:
    """Add to a schema the columns that the names of folders make."""
    pa = import_optional("pyarrow", "cli")
    for name, _ in layout.partitions:
        schema = schema.append(pa.field(name, pa.string()))
    return schema
