"""Arrow IPC, as a file (Feather) or as a stream; every batch is validated before anything looks into it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairpot._lineage import KEY
from fairpot._optional import Lazy
from fairpot.rows.database import Allowed
from fairpot.rows.formats import Batches, Format, Layout, Sink, Target, file_batches, same_columns
from fairpot.rows.roles import Roles
from fairpot.rows.streams import arrow_file, portions
from fairpot.transport import Floats

if TYPE_CHECKING:
    from fairpot.rows.readers import Applying

pa = Lazy("pyarrow", "cli")

_BATCH = 1 << 18  # rows
_MAGIC = b"ARROW1"


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


def read(
    path: Path, layout: Layout | None = None, places: Sequence[int] | None = None, allowed: Allowed | None = None
) -> Iterator[Any]:
    """Yield the batches, of all columns or of those at some places.

    A damaged or forged file can claim lengths, offsets and codes that lead out of its own bytes: the full validation
    looks at every value (about 0.02 s a million rows).
    """
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
