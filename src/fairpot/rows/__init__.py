"""Rows of any kind: what they are and which columns play which part, counted into a table, and adjusted."""

from typing import TYPE_CHECKING

from fairpot._lazy import lazy

if TYPE_CHECKING:
    from fairpot._validation.grouping import Grouping as Grouping
    from fairpot.rows.applying import apply as apply
    from fairpot.rows.door import count_rows as count_rows
    from fairpot.rows.door import score_table as score_table
    from fairpot.rows.readers import AppliedRows as AppliedRows
    from fairpot.rows.readers import CountedRows as CountedRows
    from fairpot.rows.readers import Reader as Reader
    from fairpot.rows.readers.session import spark_session as spark_session
    from fairpot.rows.readers.spark import SparkRows as SparkRows
    from fairpot.rows.source import RowSource as RowSource

# Who writes a file needs no reader of rows.
_HOMES = {
    "applying": "apply",
    "door": "count_rows score_table",
    "readers": "AppliedRows CountedRows Reader",
    "readers.session": "spark_session",
    "readers.spark": "SparkRows",
    "roles": "Grouping",
    "source": "RowSource",
}
__getattr__, __dir__, __all__ = lazy(__name__, **_HOMES)
