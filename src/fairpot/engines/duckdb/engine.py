"""DuckDBEngine: the engine for files and databases of one machine."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from fairpot._defaults import ADJUSTED, Region
from fairpot._optional import import_optional
from fairpot._validation import check_share
from fairpot.engines.adjusting import Mapper, with_column
from fairpot.engines.duckdb.counting import Wishes, count, refined_thresholds
from fairpot.engines.duckdb.scan import DuckDBRows, Parts, Scan
from fairpot.engines.memory import Memory
from fairpot.engines.protocol import MOST_DISTINCT, CountedRows, Progress
from fairpot.transport import ScoreMap


@dataclass(frozen=True)
class DuckDBEngine:
    """Count rows with one ``GROUP BY``, within a memory limit; what does not fit is spilled to disk.

    Parameters
    ----------
    memory_limit : str, default "2GB"
        What the process may use: the scan spills to the temporary directory, and a table that would not fit is
        quantised.
    threads : int or None, default None
        None takes all cores.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import mkdtemp
    >>> from fairpot.engines import DuckDBEngine
    >>> from fairpot.files import RowSource
    >>> path = Path(mkdtemp()) / "scores.csv"
    >>> _ = path.write_text("risk,died,sex\\n0.9,1,F\\n0.2,0,F\\n0.7,1,M\\n0.4,0,M\\n")
    >>> DuckDBEngine(memory_limit="1GB").count(RowSource(path, score="risk", label="died", groups="sex")).rows
    4
    """

    memory_limit: str = "2GB"
    threads: int | None = None

    def count(
        self,
        rows: DuckDBRows,
        *,
        several: bool = True,
        max_distinct: int = MOST_DISTINCT,
        progress: Progress | None = None,
        drop_missing: bool = False,
        called: Callable[[tuple[Any, ...]], Hashable] | None = None,
    ) -> CountedRows:
        """Count rows into a score table; see :class:`fairpot.engines.Engine`.

        ``called`` says what a combination of values of the group columns is called, instead of the rules of memory.
        """
        wishes = Wishes(several, max_distinct, drop_missing, called, Memory.of(self.memory_limit))
        with self.scan(rows) as scan:
            return count(scan, wishes, progress)

    def thresholds(
        self,
        rows: DuckDBRows,
        alpha: float,
        *,
        region: Region = "pooled",
        counted: CountedRows | None = None,
        drop_missing: bool = False,
        called: Callable[[tuple[Any, ...]], Hashable] | None = None,
    ) -> dict[Hashable, float]:
        """Find the lowest score of each group's top-alpha region; see :class:`fairpot.engines.Engine`.

        ``called`` is that of the count.
        """
        check_share(alpha, "alpha", zero=False)
        bare = rows.bare()
        if counted is None:
            counted = self.count(bare, several=False, drop_missing=drop_missing, called=called)
        found = counted.table.thresholds(alpha, region)
        if counted.quantisation is None:
            return found
        with self.scan(bare) as scan:
            return refined_thresholds(Parts(scan, drop_missing), counted.table, found, alpha, region, called)

    def apply(self, rows: DuckDBRows, maps: Mapping[Hashable, ScoreMap], *, column: str | None = None) -> Any:
        """Return the rows of a query in their order, with the adjusted score, as a stream of Arrow batches."""
        stream = self.whole_rows(rows)
        schema = next(stream)
        mapper = Mapper(rows.score, rows.group_columns, schema, maps)
        column = column or f"{rows.score}{ADJUSTED}"
        wanted = with_column(schema, column)

        def adjusted() -> Iterator[Any]:
            total = 0
            for batch in stream:
                total += batch.num_rows
                yield mapper.extended(batch, wanted, column)
            mapper.complain(total)

        return import_optional("pyarrow", "cli").RecordBatchReader.from_batches(wanted, adjusted())

    def count_rows(self, rows: DuckDBRows) -> int:
        """Count the rows, whatever they hold."""
        with self.scan(rows.bare()) as scan:
            return int(scan.all_rows("SELECT count(*) FROM {rows}")[0][0])

    def whole_rows(self, rows: DuckDBRows) -> Iterator[Any]:
        """Yield the schema of all columns of a query, then Arrow batches of all rows in their order."""
        with self.scan(rows, ordered=True) as scan:
            yield from scan.whole_rows()

    def scan(self, rows: DuckDBRows, *, ordered: bool = False) -> Scan:
        """Open a connection with the rows in it."""
        return Scan(rows, memory_limit=Memory.of(self.memory_limit).scan, threads=self.threads, ordered=ordered)
