"""Rows of any kind: what they are and which columns play which part, counted into a table, and adjusted."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fairpot.rows.applying import apply
    from fairpot.rows.door import count_rows, score_table
    from fairpot.rows.readers.protocol import AppliedRows, CountedRows, Reader
    from fairpot.rows.readers.session import spark_session
    from fairpot.rows.readers.spark import SparkRows
    from fairpot.rows.source import RowSource

__all__ = ["AppliedRows", "CountedRows", "Reader", "RowSource", "SparkRows"]
__all__ += ["apply", "count_rows", "score_table", "spark_session"]

_HOMES = dict.fromkeys(("AppliedRows", "CountedRows", "Reader"), "readers.protocol") | {
    "RowSource": "source",
    "SparkRows": "readers.spark",
    "apply": "applying",
    "count_rows": "door",
    "score_table": "door",
    "spark_session": "readers.session",
}


def __getattr__(name: str) -> Any:
    """Import a name when it is first asked for: who writes a file needs no reader of rows."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
