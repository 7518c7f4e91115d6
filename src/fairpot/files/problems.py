"""Where the bad rows of files are: a second look at every row, once it is known that some are bad."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairpot._optional import import_optional
from fairpot._validation import wording
from fairpot.engines.duckdb import DuckDBEngine
from fairpot.engines.values import MISSING_WORDS, Kind, numbers_from_column
from fairpot.files.roles import NUMBERS, role_batches
from fairpot.files.source import RowSource

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


def with_places(error: Exception, source: RowSource, engine: DuckDBEngine) -> Exception:
    """Return an error about rows that also says where they are, and what else is wrong with the rows."""
    try:
        found = _survey(source, engine)
    except Exception:  # what is known is told, whatever else comes up
        return error
    if not found:
        return error
    message, hint, way_out = str(error).partition("\nHint:")
    told = [f"{name}: {problem.rows} {what} ({problem.where})" for (name, what), problem in found.items()]
    return type(error)(f"{message}\nRows: {'; '.join(told)}.{hint}{way_out}")


def _survey(source: RowSource, engine: DuckDBEngine) -> dict[tuple[str, str], _Problem]:
    """Look at every row for values that can be judged by themselves."""
    found: dict[tuple[str, str], _Problem] = {}
    for name, batches in _batches(source, engine):
        first = 1
        for batch in batches:
            for role in batch.schema.names:
                for what, bad in _judged(batch.column(batch.schema.names.index(role)), role, source.kind):
                    if bad.any():
                        column = f"column {source.roles[role]!r}"
                        found.setdefault((column, what), _Problem()).add(bad, first, name)
            first += batch.num_rows
    return found


def _batches(source: RowSource, engine: DuckDBEngine) -> Iterator[tuple[str, Iterator[Any]]]:
    """Yield the name of each file, where there are several, and its columns that play a part."""
    if source.sql is not None:
        with engine.scan(source, ordered=True) as scan:
            yield "", scan.batches("SELECT * FROM {rows}")
        return
    several = len(source.files) > 1
    for path, layout in source.files.items():
        yield f"{Path(path).name} " if several else "", role_batches(path, layout, source.roles)


def _judged(column: Any, role: str, kind: Kind) -> Iterator[tuple[str, NDArray[np.bool_]]]:
    pc = import_optional("pyarrow.compute", "cli")
    null = column.is_null().to_numpy(zero_copy_only=False)
    if role not in NUMBERS:
        if kind == "text":
            words = import_optional("pyarrow", "cli").array([*MISSING_WORDS], "string")
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
