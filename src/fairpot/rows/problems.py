"""Where the bad rows of files are: a second look at every row, once it is known that some are bad."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairpot._optional import Lazy
from fairpot._validation import wording
from fairpot.rows.decoding import MISSING_WORDS, numbers_from_column, numbers_from_text
from fairpot.rows.formats import csv, role_batches
from fairpot.rows.readers.scan import DuckDBScan
from fairpot.rows.roles import NUMBERS, Kind
from fairpot.rows.source import RowSource

pa, pc = Lazy("pyarrow", "cli"), Lazy("pyarrow.compute", "cli")

_SHOWN = 5  # rows that are named


@dataclass
class _Problem:
    """One kind of bad value in one column."""

    rows: int = 0
    places: list[str] = field(default_factory=list)

    def add(self, bad: NDArray[np.bool_], first: int, name: str) -> None:
        self.rows += int(bad.sum())
        for row in np.flatnonzero(bad)[: _SHOWN - len(self.places)].tolist():
            self.places.append(f"{name}row {first + row}")

    @property
    def where(self) -> str:
        more = f" and {self.rows - _SHOWN} more" if self.rows > _SHOWN else ""
        return ", ".join(self.places) + more


def with_places(error: Exception, source: RowSource, memory_limit: str, threads: int | None) -> Exception:
    """Return an error about rows that also says where they are, and what else is wrong with the rows.

    What the rows hold it says only where values may be shown.
    """
    try:
        found = _survey(source, memory_limit, threads)
        if wording.values_are_shown():
            _add_examples(found, source)
    except Exception:  # what is known is told, whatever else comes up
        return error
    if not found:
        return error
    message, hint, way_out = str(error).partition("\nHint:")
    told = [f"{name}: {problem.rows} {what} ({problem.where})" for (name, what), problem in found.items()]
    return type(error)(f"{message}\nRows: {'; '.join(told)}.{hint}{way_out}")


def _survey(source: RowSource, memory_limit: str, threads: int | None) -> dict[tuple[str, str], _Problem]:
    """Look at every row for values that can be judged by themselves."""
    found: dict[tuple[str, str], _Problem] = {}
    for name, batches in _batches(source, memory_limit, threads):
        first = 1
        for batch in batches:
            for role in batch.schema.names:
                for what, bad in _judged(batch.column(batch.schema.names.index(role)), role, source.kind):
                    if bad.any():
                        column = f"column {source.roles[role]!r}"
                        found.setdefault((column, what), _Problem()).add(bad, first, name)
            first += batch.num_rows
    return found


def _add_examples(found: dict[tuple[str, str], _Problem], source: RowSource) -> None:
    """Show the first word that is no number, of each column of text."""
    for role in NUMBERS:
        name = source.roles.get(role)
        problem = found.get((f"column {name!r}", "no numbers"))
        if problem is not None and source.kind == "text":
            word = next(_words(source, name), None)
            problem.places[-1:] = [f"{problem.places[-1]}, such as {wording.quoted(word)}"]


def _words(source: RowSource, name: str | None) -> Iterator[str]:
    for path, layout in source.files.items():
        for batch in csv.read(path, layout, [layout.columns.index(str(name))]):
            numbers = numbers_from_text(batch.column(0), f"column {name!r}", layout.decimal)
            nan = pc.is_nan(numbers).to_pylist()
            yield from (word for word, bad in zip(batch.column(0).to_pylist(), nan) if bad)


def _batches(source: RowSource, memory_limit: str, threads: int | None) -> Iterator[tuple[str, Iterator[Any]]]:
    """Yield the name of each file, where there are several, and its columns that play a part."""
    if source.sql is not None:
        with DuckDBScan(source, memory_limit, threads, ordered=True) as scan:
            yield "", scan.batches("SELECT * FROM {rows}")
        return
    several = len(source.files) > 1
    for path, layout in source.files.items():
        yield f"{Path(path).name} " if several else "", role_batches(path, layout, source.roles)


def _judged(column: Any, role: str, kind: Kind) -> Iterator[tuple[str, NDArray[np.bool_]]]:
    null = column.is_null().to_numpy(zero_copy_only=False)
    if role not in NUMBERS:
        if kind == "text":
            words = pa.array([*MISSING_WORDS], "string")
            null |= pc.is_in(column, words).to_numpy(zero_copy_only=False)
        yield "missing", null
        return
    values = numbers_from_column(column).to_numpy(zero_copy_only=False)
    nan = np.isnan(values) & ~null
    yield "missing", null | nan if kind == "typed" else null
    if kind != "typed":
        yield "no numbers", nan
    yield "infinite", np.isinf(values)
    if role == "weight":
        yield "negative", values < 0
    else:
        yield "too large", np.isfinite(values) & (np.abs(values) >= wording.LARGEST)
