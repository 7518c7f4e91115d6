"""CSV with the types its fields seem to have, where that is asked for: two passes, the first looks at every field."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from fairpot._optional import import_optional
from fairpot.engines.values import Kind, numbers_from_text
from fairpot.files.formats.csv import TextBatches
from fairpot.files.layout import Layout

# In this order: the first that fits every field of a column. A leading zero is part of a code, not of a number.
_PATTERNS = {
    "int64": r"^-?(0|[1-9][0-9]{0,17})$",
    "double": r"^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$",
    "bool": r"^(true|false|True|False|TRUE|FALSE)$",
}


class TypedTextBatches:
    """CSV and TSV: whole numbers, numbers and booleans where all fields of a column are; an empty field is missing.

    The score is a number in any case.
    """

    kind: Kind = "typed"
    exact_types = False

    def __init__(self, files: dict[Path, Layout], score: str) -> None:
        pa = import_optional("pyarrow", "cli")
        self._text = TextBatches(files)
        self._layout = self._text.layout
        names = self._text.schema.names
        self._types = _found(self._text, len(self._layout.columns))
        self._score = names.index(score)
        self._types[self._score] = "double"
        types = [*self._types, *(["string"] * len(self._layout.partitions))]
        self.schema = pa.schema([pa.field(name, type_) for name, type_ in zip(names, types)])

    def __iter__(self) -> Iterator[Any]:
        """Yield record batches in the order of the rows."""
        pa, pc = import_optional("pyarrow", "cli"), import_optional("pyarrow.compute", "cli")
        for batch in self._text:
            columns = []
            for place, (column, type_) in enumerate(zip(batch.columns, self.schema.types)):
                if place == self._score:
                    column = numbers_from_text(column, f"column {batch.schema.names[place]!r}", self._layout.decimal)
                elif type_ != pa.string():
                    column = pc.if_else(pc.equal(column, ""), pa.scalar(None, pa.string()), column).cast(type_)
                columns.append(column)
            yield pa.RecordBatch.from_arrays(columns, schema=self.schema)


def _found(text: TextBatches, columns: int) -> list[str]:
    """Find the type of each column."""
    pc = import_optional("pyarrow.compute", "cli")
    left = [list(_PATTERNS) for _ in range(columns)]
    filled = [False] * columns
    for batch in text:
        for place, fits in enumerate(left):
            column = batch.column(place)
            empty = pc.equal(column, "")
            filled[place] = filled[place] or not pc.all(empty).as_py()
            for name in [*fits]:
                if not pc.all(pc.or_(empty, pc.match_substring_regex(column, _PATTERNS[name]))).as_py():
                    fits.remove(name)
    return [fits[0] if fits and some else "string" for fits, some in zip(left, filled)]
