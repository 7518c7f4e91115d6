"""A large map as a table with one row for each piece, and the join that finds a score's row."""

from __future__ import annotations

from collections.abc import Iterator

from fairpot.export.groups import Formulas
from fairpot.export.sql.case import line
from fairpot.export.sql.dialects import Dialect
from fairpot.transport.pieces import Pieces

_COLUMNS = ("lo", "x0", "w", "v0", "d", "vmin", "vmax")
_END: tuple[tuple[str, ...], ...] = ((), ("hi",))  # a range join needs to know where a piece ends
_ROWS = 500  # of one INSERT


def create_table(dialect: Dialect, name: str, formulas: Formulas) -> Iterator[str]:
    """Write the statements that make and fill the table of pieces."""
    keyed = ", PRIMARY KEY (g, lo)" if dialect.join in ("asof", "lateral", "max") else ""
    whole = "INT64" if dialect.name == "BigQuery" else "INTEGER"
    columns = ", ".join(f"{c} {dialect.double}" for c in _COLUMNS + _END[dialect.join == "range"])
    yield f"CREATE TABLE {name} (g {whole}, {columns}{keyed})"
    for code, found in enumerate(formulas.values()):
        if isinstance(found, Pieces):
            if dialect.array is not None:
                fields = ", ".join(dialect.array(",".join(map(repr, field.tolist()))) for field in found)
                yield f"INSERT INTO {name} SELECT {code}, {fields}"
            else:
                rows = list(_rows(dialect, code, found))
                for first in range(0, len(rows), _ROWS):
                    yield f"INSERT INTO {name} VALUES\n" + ",\n".join(rows[first : first + _ROWS])


def _rows(dialect: Dialect, code: int, found: Pieces) -> Iterator[str]:
    begins = list(map(dialect.number, found.lo.tolist()))
    ends = [f", {end}" for end in (*begins[1:], "CAST('inf' AS FLOAT64)")]
    for place, row in enumerate(zip(*(field.tolist() for field in found))):
        end = ends[place] if dialect.join == "range" else ""
        yield f"({code}, {', '.join(map(dialect.number, row))}{end})"


def join(dialect: Dialect, name: str, score: str, code: str) -> str:
    """Write the join of the rows ``t`` with their pieces ``p``."""
    if dialect.join == "asof":
        return f"ASOF LEFT JOIN {name} AS p ON {code} = p.g AND {score} >= p.lo"
    if dialect.join == "lateral":
        found = f"SELECT * FROM {name} AS q WHERE q.g = {code} AND q.lo <= {score} ORDER BY q.lo DESC LIMIT 1"
        return f"LEFT JOIN LATERAL ({found}) AS p ON TRUE"
    if dialect.join == "max":
        found = f"SELECT MAX(q.lo) FROM {name} AS q WHERE q.g = {code} AND q.lo <= {score}"
        return f"LEFT JOIN {name} AS p ON p.g = {code} AND p.lo = ({found})"
    if dialect.join == "match":
        return f"ASOF JOIN {name} AS p MATCH_CONDITION ({score} >= p.lo) ON {code} = p.g"
    return f"LEFT JOIN {name} AS p ON p.g = {code} AND {score} >= p.lo AND {score} < p.hi"


def looked_up(dialect: Dialect, score: str) -> str:
    """Write the formula on the row that was found."""
    return line(dialect, score, *(f"p.{name}" for name in _COLUMNS[1:]))
