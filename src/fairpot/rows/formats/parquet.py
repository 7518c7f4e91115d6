"""Parquet: types as in the file, packed as the input was."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

from fairpot._lineage import KEY
from fairpot._optional import Lazy
from fairpot.exceptions import InputFileError, OutputFileError
from fairpot.rows.formats import Batches, Format, Layout, Sink, Target, file_batches, same_columns
from fairpot.rows.roles import Roles
from fairpot.rows.streams import MAX_CELL, MOST_AT_ONCE, arrow_file, check_cell, check_packing, longest_cell, portions
from fairpot.transport import Floats

if TYPE_CHECKING:
    from fairpot.rows.readers import Applying

pa, pc, pq = Lazy("pyarrow", "cli"), Lazy("pyarrow.compute", "cli"), Lazy("pyarrow.parquet", "cli")

READ = f"{KEY}_read"  # the line again, where more is known at the end
_BYTES = 48 << 20  # of a batch, about
_LISTS = 32 << 20  # of lists and structures in a batch, which take several times as much while they are written
_ROWS = 1 << 18

# Of pages, whose own headers hold where the footer lies: they say what a column unfolds to before it is read.
_DICTIONARY, _DATA_2 = 2, 3  # kinds of pages; the older kind of data is 0
_BY_PREFIX, _DEAR = 7, 4  # the encoding of texts by what they have in common, and what it costs to read
_LONGEST_NUMBER = 10  # bytes of one
_LONGEST_VALUE = 1 << 31  # that a header can hold
_DEEPEST = 4  # structures in each other
_MOST_PAGES = 1_000_000  # of a column that are looked at
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


def read(path: Path, layout: Layout, places: Sequence[int]) -> Iterator[Any]:
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
        self.bytes = path.open("rb")

    def close(self) -> None:
        """Close what was opened."""
        for each in (self.file, self.by_code, self.coded, self.bytes):
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
        sizes = {name: _dictionary_bytes(self.bytes, metadata.column(i)) for i, name in self.texts.items()}
        if sum(sizes.values()) * metadata.num_rows <= MOST_AT_ONCE:  # even the longest they can hold, in every row
            return sum(sizes.values())
        coded = [name for name, size in sizes.items() if size]
        first = next(self.coded.iter_batches(batch_size=1, row_groups=[group], columns=coded))
        found = [_longest(column, sizes[name]) for name, column in zip(first.schema.names, first.columns)]
        check_cell(max(found))
        return sum(found)

    def _rows_of_lists(self, metadata: Any) -> float:
        """Return how many rows of lists and structures can be held; refuse those that cannot."""
        leaves = self.nested.items()
        row = sum(_row_bytes(self.bytes, metadata.column(i), leaf, metadata.num_rows) for i, leaf in leaves)
        check_cell(int(row), "lists and structures")
        return _LISTS / max(row, 1)


def _opened(path: Path, coded: Sequence[str] = (), metadata: Any = None) -> Any:
    return pq.ParquetFile(
        arrow_file(path), metadata=metadata, buffer_size=1 << 20, pre_buffer=False, read_dictionary=list(coded)
    )


def _longest(column: Any, size: int) -> int:
    """Return the bytes of a dictionary's longest text, at most: of all of it, if the first page does not show it."""
    seen = pc.sum(pc.binary_length(column.dictionary)).as_py() or 0
    return longest_cell(column) if seen + 4 * len(column.dictionary) >= size else min(size, MAX_CELL)


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


class _Page(NamedTuple):
    """What the header of a page says of it, and where it lies."""

    kind: int
    unpacked: int
    packed: int
    values: int
    encoding: int
    start: int


def _pages_of(stream: BinaryIO, column: Any) -> Iterator[_Page]:
    """Read the headers of a column's pages, as far as Arrow does: until all values are there."""
    before = column.dictionary_page_offset or 0
    place, values = before if 0 < before < column.data_page_offset else column.data_page_offset, 0
    for _ in range(_MOST_PAGES):
        if values >= column.num_values:
            return
        stream.seek(max(place, 0))
        page = _page(_struct(stream), stream)
        values += page.values if page.kind != _DICTIONARY else 0
        place = page.start + page.packed
        yield page
    raise _damaged()


def _width_of(leaf: Any) -> int | None:
    """Return the bytes of a value of a column; None for texts."""
    fixed = leaf.physical_type == "FIXED_LEN_BYTE_ARRAY"
    return int(leaf.length) if fixed else _WIDTHS.get(leaf.physical_type)


def _dictionary_bytes(stream: BinaryIO, column: Any) -> int:
    """Return the bytes of a column's dictionary; 0 without one."""
    first = next(_pages_of(stream, column), None)
    return first.unpacked if first is not None and first.kind == _DICTIONARY else 0


def _row_bytes(stream: BinaryIO, column: Any, leaf: Any, rows: int) -> float:
    """Return the bytes that a row of a leaf of lists or structures takes in memory: at most, or of lists on average.

    Lists that unfold to more than honest ones do are refused: one of their rows may hold all. Texts that are written
    out one by one are not counted: they take what the pages take.
    """
    pages = list(_pages_of(stream, column))
    packed, values = sum(page.packed for page in pages), sum(page.values for page in pages if page.kind != _DICTIONARY)
    check_packing(packed, sum(page.unpacked for page in pages))
    value = _LEVELS + (_width_of(leaf) or _longest_text(stream, column, pages))
    if leaf.max_repetition_level == 0:
        return value
    check_packing(packed, values * value)
    return values * value / max(rows, 1)


def _longest_text(stream: BinaryIO, column: Any, pages: Sequence[_Page]) -> int:
    """Return the bytes of the longest text that is stored once and said again."""
    # As long as a page is what a text can be that has all in common with the one before; they are dear to read.
    prefixed = [_DEAR * page.unpacked for page in pages if page.kind != _DICTIONARY and page.encoding == _BY_PREFIX]
    coded = [page for page in pages if page.kind == _DICTIONARY]
    found = [_longest_of(body) if (body := _unpacked(stream, column, page)) else page.unpacked for page in coded]
    return max([0, *prefixed, *found])


def _unpacked(stream: BinaryIO, column: Any, page: _Page) -> bytes:
    """Unpack the body of a page; nothing where it is not known how."""
    stream.seek(page.start)
    body, packing = stream.read(page.packed), column.compression
    if packing == "UNCOMPRESSED":
        return body
    try:
        codec = pa.Codec("lz4_raw" if packing.startswith("LZ4") else packing.lower())
        return bytes(codec.decompress(body, page.unpacked, asbytes=True))
    except (pa.ArrowException, ValueError, OSError):  # damaged, or the old LZ4, which is framed in another way
        return b""


def _longest_of(body: bytes) -> int:
    """Return the longest of texts that follow each other, each after its length."""
    place = longest = 0
    while place < len(body):
        length = int.from_bytes(body[place : place + 4], "little")
        longest, place = max(longest, length), place + 4 + length
    return longest


def _page(fields: dict[int, Any], stream: BinaryIO) -> _Page:
    newer = fields.get(1) == _DATA_2
    inside = fields.get(8 if newer else 7 if fields.get(1) == _DICTIONARY else 5, {})
    if not isinstance(inside, dict):
        raise _damaged()
    numbers = [*(fields.get(i) for i in (1, 2, 3)), inside.get(1, 0), inside.get(4 if newer else 2, 0)]
    if any(type(each) is not int or each < 0 for each in numbers):
        raise _damaged()
    kind, unpacked, packed, values, encoding = numbers
    return _Page(kind, unpacked, packed, values, encoding, stream.tell())


def _struct(stream: BinaryIO, depth: int = 0) -> dict[int, Any]:
    """Read a structure of Thrift's compact protocol."""
    fields: dict[int, Any] = {}
    number = 0
    while head := _byte(stream):
        number = number + (head >> 4) if head >> 4 else _number(stream)
        kind, fields[number] = head & 15, None
        if kind in (4, 5, 6):
            fields[number] = _number(stream)
        elif kind == 8:  # the least and the greatest value, which may be long
            stream.seek(min(_varint(stream), _LONGEST_VALUE), 1)
        elif kind == 12 and depth < _DEEPEST:
            fields[number] = _struct(stream, depth + 1)
        elif kind in (3, 7):
            stream.read(1 if kind == 3 else 8)
        elif kind not in (1, 2):  # which are booleans; headers have no lists and maps
            raise _damaged()
    return fields


def _byte(stream: BinaryIO) -> int:
    found = stream.read(1)
    if not found:
        raise _damaged()
    return found[0]


def _varint(stream: BinaryIO) -> int:
    found = 0
    for i in range(_LONGEST_NUMBER):
        byte = _byte(stream)
        found |= (byte & 0x7F) << 7 * i
        if byte < 0x80:
            return found
    raise _damaged()


def _number(stream: BinaryIO) -> int:
    found = _varint(stream)
    return found >> 1 ^ -(found & 1)


def _damaged() -> InputFileError:
    return InputFileError("a page has a header that cannot be read.\nHint: the file may be damaged or cut short.")
