"""Parquet: types as in the file, packed as the input was."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairpot._lineage import KEY
from fairpot._optional import Lazy
from fairpot.exceptions import InputFileError, OutputFileError
from fairpot.rows.database import Allowed
from fairpot.rows.formats import Batches, Format, Layout, Sink, Target, file_batches, same_columns
from fairpot.rows.roles import Roles
from fairpot.rows.streams import MOST_AT_ONCE, arrow_file, check_cell, longest_cell, portions
from fairpot.transport import Floats

if TYPE_CHECKING:
    from fairpot.rows.readers import Applying

pa, pq = Lazy("pyarrow", "cli"), Lazy("pyarrow.parquet", "cli")

READ = f"{KEY}_read"  # the line again, where more is known at the end
_BYTES = 48 << 20  # of a batch, about
_LISTS = 32 << 20  # of lists and structures in a batch, which take several times as much while they are written
_ROWS = 1 << 18
_MOST_GROUPS = 100_000  # row groups, each of which costs time however few rows it has
_WIDTHS = {"BOOLEAN": 1, "INT32": 4, "FLOAT": 4, "INT64": 8, "DOUBLE": 8, "INT96": 12}
_LEVELS = 12  # bytes that go with a value in a list: two levels, and its place


def schema_of(path: Path) -> Any:
    """Read the schema as Arrow has it."""
    return pq.read_schema(arrow_file(path))


def line_of(path: Path) -> bytes:
    """Read what a file says of itself."""
    known = pq.read_metadata(arrow_file(path)).metadata or {}
    return bytes(known.get(READ.encode()) or known.get(KEY.encode(), b""))


def count_rows(path: Path) -> int:
    """Read the number of rows from the footer."""
    return int(pq.read_metadata(arrow_file(path)).num_rows)


def read(path: Path, layout: Layout, places: Sequence[int], allowed: Allowed) -> Iterator[Any]:
    """Yield batches of the columns at some places."""
    names = [layout.columns[place] for place in places]
    for batch in read_batches(path, names):
        yield batch.select(names)


def read_batches(path: Path, columns: Sequence[str] | None = None, coded: Sequence[str] = ()) -> Iterator[Any]:
    """Yield batches of all columns, or of those that are named; small row groups come together in one.

    Columns in ``coded`` come with their dictionary, which is quicker where they hold few texts; but where several row
    groups come together, each of which has a dictionary of its own.
    """
    with closing(_RowGroups(path, columns, coded)) as groups:
        for run, size in groups.runs():
            alone = coded if len(run) == 1 else ()
            file = groups.by_code if alone else groups.file
            for batch in file.iter_batches(batch_size=size, row_groups=run, columns=columns):
                for name in alone:  # a forged file may claim codes that lead out of the dictionary
                    batch.column(name).validate(full=True)
                yield from portions(batch)


def batches(files: dict[Path, Layout], wanted: Format, source: Roles, how: Applying) -> Batches:
    """Read files, a part of a row group at a time; texts of groups come with their dictionary."""
    layout, groups = same_columns(files), source.group_columns
    coded = [name for name, type_ in zip(layout.columns, layout.types) if name in groups and type_ == "string"]
    return file_batches(files, schema_of(next(iter(files))), lambda path, _: read_batches(path, coded=coded))


class _RowGroups:
    """A Parquet file that is opened once, and how many rows of each row group can be held at a time.

    To open a file costs its whole footer, which grows with the row groups: opened for each, it would cost their square.
    """

    def __init__(self, path: Path, columns: Sequence[str] | None, coded: Sequence[str]) -> None:
        self.file = _opened(path)
        if (groups := self.file.metadata.num_row_groups) > _MOST_GROUPS:
            raise InputFileError(
                f"{path} has {groups:,} row groups, more than {_MOST_GROUPS:,}.\nHint: write it with more rows in each."
            )
        self.by_code = _opened(path, coded, self.file.metadata)
        leaves = {i: self.file.schema.column(i) for i in range(len(self.file.schema))}
        if columns is not None:
            inside = tuple(f"{column}." for column in columns)
            leaves = {i: leaf for i, leaf in leaves.items() if f"{leaf.path}.".startswith(inside)}
        self.nested = {i: leaf for i, leaf in leaves.items() if leaf.path != leaf.name}
        flat = [leaf for i, leaf in leaves.items() if i not in self.nested]
        self.width = sum(_width_of(leaf) or 0 for leaf in flat)
        self.texts = {i: leaf.path for i, leaf in leaves.items() if i not in self.nested and _width_of(leaf) is None}
        self.coded = _opened(path, [*self.texts.values()], self.file.metadata)

    def close(self) -> None:
        """Close what was opened."""
        for each in (self.file, self.by_code, self.coded):
            each.close()

    def runs(self) -> Iterator[tuple[list[int], int]]:
        """Yield neighbouring row groups that fit into one batch, or one that does not, and the rows of a batch."""
        run: list[int] = []
        rows, size = 0, _ROWS
        for group in range(self.file.metadata.num_row_groups):
            metadata = self.file.metadata.row_group(group)
            fitting = self._batch_rows(metadata, group)
            if run and rows + metadata.num_rows > min(size, fitting):
                yield run, size
                run, rows, size = [], 0, _ROWS
            run.append(group)
            rows, size = rows + metadata.num_rows, min(size, fitting)
        if run:
            yield run, size

    def _batch_rows(self, metadata: Any, group: int) -> int:
        """Take fewer rows at a time where rows are wide, or what is stored once can be in all."""
        each = max(metadata.total_byte_size / max(metadata.num_rows, 1), self.width, 1)
        longest = max(self._longest_coded(metadata, group), 1)
        return int(max(min(_BYTES / each, MOST_AT_ONCE / longest, self._rows_of_lists(metadata), _ROWS), 1))

    def _longest_coded(self, metadata: Any, group: int) -> int:
        """Return the bytes of the longest texts, one of each column, that a row group's dictionaries hold."""
        columns = {name: metadata.column(i) for i, name in self.texts.items()}
        sizes = {name: column.total_uncompressed_size for name, column in columns.items() if column.has_dictionary_page}
        if sum(sizes.values()) * metadata.num_rows <= MOST_AT_ONCE:  # even the longest they can hold, in every row
            return sum(sizes.values())
        first = next(self.coded.iter_batches(batch_size=1, row_groups=[group], columns=[*sizes]))
        found = [longest_cell(column) for column in first.columns]
        check_cell(max(found))
        return sum(found)

    def _rows_of_lists(self, metadata: Any) -> float:
        """Return how many rows of lists and structures can be held, by what the footer says of them."""
        row = 0.0
        for i, leaf in self.nested.items():
            column = metadata.column(i)
            stored = column.total_uncompressed_size
            inside = column.num_values * (_LEVELS + (_width_of(leaf) or 0)) + (stored if _width_of(leaf) is None else 0)
            row += inside / max(metadata.num_rows, 1)
        return _LISTS / max(row, 1)


def _opened(path: Path, coded: Sequence[str] = (), metadata: Any = None) -> Any:
    return pq.ParquetFile(
        arrow_file(path), metadata=metadata, buffer_size=1 << 20, pre_buffer=False, read_dictionary=list(coded)
    )


class Writer(Sink):
    """Parquet, packed the way the input was where that was Parquet too."""

    def __init__(self, batches: Batches, target: Target) -> None:
        super().__init__(arrow_file(target.place, "wb"), batches, target)
        self._waiting: list[Any] = []
        self._rows = self._bytes = 0  # that wait
        first, layout = next(iter(batches.files.items()), (target.place, None))
        options = {} if layout is None or layout.format != "parquet" else _like(first, target)
        try:
            self.writer = pq.ParquetWriter(self.stream, self.schema, **options)
        except NotImplementedError as error:  # of Arrow, which has types that Parquet does not
            raise OutputFileError(f"Parquet cannot hold a column: {error}.\nHint: write Arrow (.arrow).") from error

    def write(self, batch: Any, values: Floats | None) -> None:
        """Take a batch; batches become a row group once they are as large as one that is read."""
        made = self.joined(batch, values)
        self._waiting.append(made)
        self._rows, self._bytes = self._rows + made.num_rows, self._bytes + made.nbytes
        if self._rows >= _ROWS or self._bytes >= _BYTES:
            self._write()

    def _write(self) -> None:
        if self._rows:
            table = pa.Table.from_batches(self._waiting, self.schema)
            self.writer.write_table(table, row_group_size=self._rows)
        self._waiting, self._rows, self._bytes = [], 0, 0

    def close(self) -> None:
        """Write what waits, and the footer."""
        self._write()
        if self.made_by is not None and (line := self.made_by()).encode() != self.schema.metadata[KEY.encode()]:
            self.writer.add_key_value_metadata({READ: line})  # by now the input has been read
        self.writer.close()
        super().close()


def _like(path: Path, target: Target) -> dict[str, Any]:
    """Use the codec of a file, and dictionaries for the columns that are at most half as large by them there."""
    metadata = pq.read_metadata(arrow_file(path))
    if metadata.num_row_groups == 0 or metadata.num_columns == 0:
        return {}
    group, leaves = metadata.row_group(0), list(map(metadata.schema.column, range(metadata.num_columns)))
    codec, coded = group.column(0).compression, []
    for column, leaf in zip(map(group.column, range(group.num_columns)), leaves):
        if 2 * column.total_uncompressed_size < (_width_of(leaf) or 8) * column.num_values:
            coded.append(leaf.path)
    if target.column is not None and target.score in coded:
        coded.append(target.column)  # where scores are few, adjusted ones are
    return {
        "compression": "none" if codec == "UNCOMPRESSED" else codec.lower().removesuffix("_raw"),
        "use_dictionary": coded or False,
    }


def _width_of(leaf: Any) -> int | None:
    """Return the bytes of a value of a column; None for texts."""
    fixed = leaf.physical_type == "FIXED_LEN_BYTE_ARRAY"
    return int(leaf.length) if fixed else _WIDTHS.get(leaf.physical_type)
