"""Arrow IPC, as a file (Feather) or as a stream; every batch is validated before anything looks into it."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

from fairpot._lineage import KEY
from fairpot._optional import Lazy
from fairpot.exceptions import InputFileError
from fairpot.rows.formats import Batches, Format, Layout, Sink, Target, file_batches, same_columns
from fairpot.rows.roles import Roles
from fairpot.rows.streams import arrow_file, check_packing, portions
from fairpot.transport import Floats

if TYPE_CHECKING:
    from fairpot.rows.readers import Applying

pa = Lazy("pyarrow", "cli")

_BATCH = 1 << 18  # rows
_MAGIC = b"ARROW1"
_DICTIONARY, _ROWS = 2, 3  # kinds of messages
_MARK = -1  # stands before the length of a message, but in the oldest files


def schema_of(path: Path) -> Any:
    """Read the schema as Arrow has it."""
    with opened(path) as file:
        return file.schema


def line_of(path: Path) -> bytes:
    """Read what a file says of itself."""
    return bytes((schema_of(path).metadata or {}).get(KEY.encode(), b""))


def opened(path: Path) -> Any:
    """Open Arrow IPC, whether written as a file (Feather) or as a stream.

    The file is read, not mapped into memory: one that is cut while it is read must be an error, not a signal.
    """
    with path.open("rb") as stream:
        as_file = stream.read(6) == _MAGIC
    source = arrow_file(path)
    return pa.ipc.open_file(source) if as_file else pa.ipc.open_stream(source)


def read(path: Path, layout: Layout | None = None, places: Sequence[int] | None = None) -> Iterator[Any]:
    """Yield the batches, of all columns or of those at some places.

    A damaged or forged file can claim lengths, offsets and codes that lead out of its own bytes: the full validation
    looks at every value (about 0.02 s a million rows).
    """
    _check_messages(path)
    with opened(path) as file:
        count = getattr(file, "num_record_batches", None)
        for batch in file if count is None else map(file.get_batch, range(count)):
            batch.validate(full=True)
            chosen = batch if places is None else batch.select(list(places))
            for start in range(0, chosen.num_rows, _BATCH):
                yield from portions(chosen.slice(start, _BATCH))


def batches(files: dict[Path, Layout], wanted: Format, source: Roles, how: Applying) -> Batches:
    """Read files batch by batch as they were written."""
    same_columns(files)
    return file_batches(files, schema_of(next(iter(files))), read)


class Writer(Sink):
    """Arrow IPC; ``.feather`` is packed with LZ4, as Feather is."""

    def __init__(self, batches: Batches, target: Target) -> None:
        super().__init__(arrow_file(target.place, "wb"), batches, target)
        options = pa.ipc.IpcWriteOptions(compression="lz4" if target.name.suffix.lower() == ".feather" else None)
        self.writer = pa.ipc.new_file(self.stream, self.schema, options=options)

    def write(self, batch: Any, values: Floats | None) -> None:
        """Write a batch."""
        self.writer.write_batch(self.joined(batch, values))

    def close(self) -> None:
        """Write the footer."""
        self.writer.close()
        super().close()


def _check_messages(path: Path) -> None:
    """Refuse rows, or a dictionary, that are packed as no honest data are: by what FlatBuffers say they unpack to."""
    try:
        with path.open("rb") as stream:
            if stream.read(len(_MAGIC)) == _MAGIC:
                for place in _listed(stream):
                    _check(stream, place)
                return
            following: int | None = 0
            while following is not None:
                following = _check(stream, following)
    except (struct.error, OverflowError, OSError) as error:
        raise InputFileError(
            f"{path} has a message that cannot be read.\nHint: the file may be damaged or cut short."
        ) from error


class _Table(NamedTuple):
    """A table of FlatBuffers."""

    data: bytes
    place: int

    def field(self, number: int) -> int | None:
        """Return where a field lies; None if it is not there."""
        rules = self.place - self.number(self.place, "i")
        there = 4 + 2 * number < self.number(rules, "H")
        offset = self.number(rules + 4 + 2 * number, "H") if there else 0
        return self.place + offset if offset else None

    def number(self, place: int, form: str) -> int:
        """Read a number."""
        return int(struct.unpack_from(f"<{form}", self.data, max(place, 0))[0])

    def table(self, number: int) -> _Table | None:
        """Return a table that is a field."""
        place = self.field(number)
        return None if place is None else _Table(self.data, place + self.number(place, "I"))

    def structs(self, number: int, form: str) -> Iterator[tuple[Any, ...]]:
        """Yield the structures of a vector that is a field."""
        place = self.field(number)
        if place is not None:
            begin = place + self.number(place, "I")
            for i in range(self.number(begin, "I")):
                yield struct.unpack_from(form, self.data, begin + 4 + i * struct.calcsize(form))


def _root(data: bytes) -> _Table:
    return _Table(data, *struct.unpack_from("<I", data))


def _listed(stream: BinaryIO) -> list[int]:
    end = len(_MAGIC) + 4
    stream.seek(-end, 2)
    [size] = struct.unpack_from("<i", stream.read(4))
    stream.seek(-end - max(size, 0), 2)
    footer = _root(stream.read(size))
    return [block[0] for number in (2, 3) for block in footer.structs(number, "<qi4xq")]


def _check(stream: BinaryIO, place: int) -> int | None:
    """Check the message at a place, and return where the next is; None after the last."""
    stream.seek(max(place, 0))
    head = stream.read(8)
    marked = head[:4] == struct.pack("<i", _MARK)
    [length] = struct.unpack_from("<i", head, 4 if marked else 0) if len(head) == 8 else [0]
    if length <= 0:
        return None
    body = place + (8 if marked else 4) + length
    stream.seek(body - length)
    message = _root(stream.read(length))
    kind, size, inside = message.field(1), message.field(3), message.table(2)
    what = 0 if kind is None or inside is None else message.number(kind, "B")
    rows = inside if what == _ROWS else inside.table(1) if inside is not None and what == _DICTIONARY else None
    if rows is not None and rows.table(3) is not None:  # they are packed
        _check_buffers(stream, rows, body)
    return body + (0 if size is None else max(message.number(size, "q"), 0))


def _check_buffers(stream: BinaryIO, rows: _Table, body: int) -> None:
    packed = unpacked = 0
    for offset, length in rows.structs(2, "<qq"):
        if length > 0:
            stream.seek(max(body + offset, 0))
            [size] = struct.unpack("<q", stream.read(8))
            packed, unpacked = packed + length, unpacked + (length if size < 0 else size)  # -1: as it is
    check_packing(packed, unpacked)
