"""Several scores of the same rows, row by row: what a paired comparison of models in files needs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fairpot._arguments import argument
from fairpot.exceptions import InputFileError
from fairpot.rows.readers import DEFAULT_MEMORY, Memory
from fairpot.rows.readers.duckdb import DuckDBScan
from fairpot.rows.readers.grouped import GroupedRows
from fairpot.rows.readers.query import Query
from fairpot.rows.roles import Roles
from fairpot.rows.source import RowSource
from fairpot.table import ScoreTable
from fairpot.transport import Floats


def side_by_side(
    source: Roles, scores: Sequence[str], memory_limit: str | None = None, threads: int | None = None
) -> tuple[ScoreTable, list[Floats]]:
    """Read several scores of the same rows, in their order; the table has one entry a row, known by its number."""
    assert isinstance(source, RowSource)
    limit = memory_limit or DEFAULT_MEMORY
    read = [_read(source.but(score=name), limit, threads) for name in scores]
    columns = [np.concatenate(each.pieces["score"]) for each in read]
    first, keys = read[0], [np.concatenate(each.pieces["key"]) for each in read]
    if any(len(key) != len(keys[0]) or (key != keys[0]).any() for key in keys[1:]):
        raise InputFileError(
            "the rows came in another order when they were read again.\nHint: write them to a file, and audit that."
        )
    first.pieces["score"], first.whole = [np.arange(len(keys[0]), dtype=np.float64)], False
    return first.finish(several=True).table, columns


def _read(source: RowSource, limit: str, threads: int | None) -> GroupedRows:
    """Fetch every row of a source, in order."""
    most = Memory.of(limit).clustered_rows
    with source.by_name(), DuckDBScan(source, limit, threads, ordered=True) as scan:
        query = Query(scan)
        found = GroupedRows(source, query.whole)
        for batch in scan.batches(query.plain()):
            found.add(batch)
            if found.fetched > most:
                raise ValueError(
                    f"there are more than {most:,} rows, and scores are compared row by row.\n"
                    f"Hint: compare a part of them, or {argument('memory_limit', '8GB')}."
                )
    return found
