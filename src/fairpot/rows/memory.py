"""What an amount of memory such as 2GB allows: how much the scan may hold, and how large a table may become."""

from __future__ import annotations

import re
from dataclasses import dataclass

from fairpot._arguments import argument
from fairpot.exceptions import InputFileError

_SIZE = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*(?:([KMGT])(i?))?B\s*", re.IGNORECASE)
# What Python and the libraries take before a row is read.
_PROGRAM = 300_000_000
# What the largest work on a table (a fit with its effect, a comparison, a report) takes for each entry, at its peak.
_PER_ENTRY = 320
# What it takes for each row, where rows belong together and are kept one by one.
_PER_CLUSTERED_ROW = 740
# A table of so many entries is kept whatever the limit is, and the scan may hold so much.
_LEAST_ENTRIES, _LEAST_SCAN = 50_000, 100_000_000
DEFAULT_MEMORY = "2GB"
_MOST_SCAN = 10**15  # more is no number that DuckDB takes


@dataclass(frozen=True)
class Memory:
    """An amount of memory for the whole process, libraries included, in bytes."""

    size: int

    @classmethod
    def of(cls, text: str) -> Memory:
        """Read a size such as "500MB", "2GB" or "1.5GiB"."""
        found = _SIZE.fullmatch(str(text))
        if found is None:
            raise InputFileError(
                f"{argument('memory_limit')} is an amount of memory, and {text!r} is not one.\n"
                f"Hint: {argument('memory_limit', '2GB')}, or 500MB."
            )
        number, prefix, binary = found.groups()
        power = "KMGT".index(prefix.upper()) + 1 if prefix else 0
        return cls(int(float(number) * (1024 if binary else 1000) ** power))

    @property
    def scan(self) -> str:
        """What DuckDB may hold before it spills to disk: a quarter, as the table grows beside it."""
        return f"{min(max(self.size // 4, _LEAST_SCAN), _MOST_SCAN)}B"

    @property
    def entries(self) -> int:
        """How many distinct scores of all groups together a table may have, with room for the work on it."""
        return max((self.size - _PROGRAM) // _PER_ENTRY, _LEAST_ENTRIES)

    @property
    def clustered_rows(self) -> int:
        """How many rows that belong together a table may keep, with room for the work on it."""
        return max((self.size - _PROGRAM) // _PER_CLUSTERED_ROW, _LEAST_ENTRIES)

    @staticmethod
    def for_entries(entries: int, clustered: bool = False) -> str:
        """Return a size, in whole gigabytes, in which so many entries or clustered rows fit."""
        each = _PER_CLUSTERED_ROW if clustered else _PER_ENTRY
        return f"{-(-(entries * each + _PROGRAM) // 10**9)}GB"
