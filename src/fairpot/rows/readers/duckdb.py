"""DuckDBReader: files and databases of one machine, counted with one ``GROUP BY`` within a memory limit."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import replace
from typing import Any, ClassVar

from fairpot._defaults import Region
from fairpot.exceptions import InputFileError
from fairpot.rows.memory import DEFAULT_MEMORY
from fairpot.rows.problems import with_places
from fairpot.rows.readers import query
from fairpot.rows.readers.protocol import AppliedRows, Applying, CountedRows, Counting
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
        how = _limited(how)
        with rows.by_name():
            try:
                with _scan(rows, how) as scan:
                    return query.count(scan, how)
            except InputFileError:
                raise
            except (ValueError, TypeError) as error:
                raise with_places(error, rows, how.memory_limit, how.threads) from error

    def thresholds(
        self, rows: RowSource, alpha: float, region: Region, how: Counting, counted: CountedRows | None = None
    ) -> dict[Hashable, float]:
        """Find the lowest score of each group's top-alpha region; see :func:`fairpot.rows.score_thresholds`."""
        bare, how = rows.bare(), _limited(replace(how, several=False))
        with rows.by_name(), _scan(bare, how) as scan:
            return query.thresholds(scan, counted or query.count(scan, how), alpha, region, how)

    def apply(self, rows: RowSource, maps: Mapping[Hashable, ScoreMap], how: Applying) -> AppliedRows:
        """Write the rows with their adjusted score."""
        if how.output is None:
            raise TypeError(
                "output is missing.\nHint: name the file that the adjusted rows go to, apply(model, rows, output)."
            )
        return rewrite(rows, maps, how)


def _limited(how: Counting) -> Counting:
    return how if how.memory_limit is not None else replace(how, memory_limit=DEFAULT_MEMORY)


def _scan(rows: RowSource, how: Counting) -> DuckDBScan:
    return DuckDBScan(rows, how.memory_limit or DEFAULT_MEMORY, how.threads)
