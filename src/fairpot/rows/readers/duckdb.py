"""DuckDBReader: files and databases of one machine, counted with one ``GROUP BY`` within a memory limit."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import replace
from typing import Any, ClassVar

from fairpot.exceptions import InputFileError
from fairpot.rows.looking import looked_at
from fairpot.rows.problems import with_places
from fairpot.rows.readers import query
from fairpot.rows.readers.protocol import DEFAULT_MEMORY, AppliedRows, Applying, CountedRows, Counting
from fairpot.rows.readers.scan import DuckDBScan
from fairpot.rows.rewriting import rewrite
from fairpot.rows.source import READING, RowSource
from fairpot.transport import ScoreMap


class DuckDBReader:
    """Read files and queries; what does not fit into memory is spilled to disk, and a large table quantised."""

    where: ClassVar[str] = "in files"
    options: ClassVar[tuple[str, ...]] = (*READING, "memory_limit", "threads", "max_distinct", "progress")
    writes_folders: ClassVar[bool] = False

    def open(self, rows: Any, parts: Mapping[str, Any], options: Mapping[str, Any]) -> RowSource:
        """Name the files, or the query."""
        return RowSource(rows, **parts, **options)

    def count(self, rows: RowSource, how: Counting) -> CountedRows:
        """Count rows into a score table; of bad ones, say where they are."""
        limit = how.memory_limit or DEFAULT_MEMORY
        with looked_at(rows), rows.by_name():
            try:
                with DuckDBScan(rows, limit, how.threads) as scan:
                    return query.count(scan, replace(how, memory_limit=limit))
            except InputFileError:
                raise
            except (ValueError, TypeError) as error:
                raise with_places(error, rows, limit, how.threads) from error

    def apply(self, rows: RowSource, maps: Mapping[Hashable, ScoreMap], how: Applying) -> AppliedRows:
        """Write the rows with their adjusted score."""
        if how.output is None:
            raise TypeError(
                "output is missing.\nHint: name the file that the adjusted rows go to, apply(model, rows, output)."
            )
        with looked_at(rows):
            return rewrite(rows, maps, how)
