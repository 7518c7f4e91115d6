"""A map as SQL: one CASE expression, arrays, or a table of pieces and a join."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

from fairpot._defaults import ADJUSTED, Unmapped
from fairpot._docs import documented
from fairpot._validation import check_choice
from fairpot._validation.grouping import MISSING, lacks_part
from fairpot.export.closed import CLOSED
from fairpot.export.functions import Exportable, Formulas, Name, Outside, count_pieces, formulas_of
from fairpot.export.sql_dialects import DIALECTS, JOINS, Dialect
from fairpot.rows.readers.session import array_lookup
from fairpot.transport.pieces import LARGEST, Formula, Pieces


def pieces_case(dialect: Dialect, score: str, pieces: Pieces, first: int = 0, end: int | None = None) -> str:
    """Write the tree over the pieces from ``first`` to before ``end``."""
    end = pieces.size if end is None else end
    if end - first > 1:
        middle = (first + end) // 2
        lower = pieces_case(dialect, score, pieces, first, middle)
        upper = pieces_case(dialect, score, pieces, middle, end)
        return f"CASE WHEN {score} < {dialect.number(float(pieces.lo[middle]))} THEN {lower} ELSE {upper} END"
    _, x0, w, v0, d, vmin, vmax = (float(field[first]) for field in pieces)
    if (vmin, vmax) == (-LARGEST, LARGEST):  # nothing holds it: the score, or the score and a constant
        return score if v0 == 0 else f"{score} + {dialect.number(v0)}"
    if d == 0:
        return dialect.number(v0)
    return line(dialect, score, *map(dialect.number, (x0, w, v0, d, vmin, vmax)))


def line(dialect: Dialect, s: str, x0: str, w: str, v0: str, d: str, vmin: str, vmax: str) -> str:
    """Write one piece as a formula; brackets fix the order of its operations."""
    return f"{dialect.least}({dialect.greatest}({v0} + (({s} - {x0}) / {w}) * {d}, {vmin}), {vmax})"


_COLUMNS = ("lo", "x0", "w", "v0", "d", "vmin", "vmax")
_INFINITY = {"BigQuery": "CAST('inf' AS FLOAT64)", "Oracle": "BINARY_DOUBLE_INFINITY"}
_ROWS = 500  # of one INSERT
_LONGEST = 50  # name, before the hash; PostgreSQL's names have 63 bytes


def create_table(dialect: Dialect, name: str, formulas: Formulas) -> Iterator[str]:
    """Write the statements that make and fill the table of pieces, in one transaction; run again, they do it again."""
    keyed = ", PRIMARY KEY (g, lo)" if dialect.join in ("lateral", "max", "apply") else ""
    whole = "INT64" if dialect.name == "BigQuery" else "INTEGER"
    names = (*_COLUMNS, "hi") if dialect.join == "range" else _COLUMNS
    columns = f"(g {whole}, {', '.join(f'{c} {dialect.double}' for c in names)}{keyed})"
    made = [f"CREATE TABLE IF NOT EXISTS {name} {columns}", f"DELETE FROM {name} WHERE 1 = 1"]
    if dialect.name == "SQL Server":  # it does not know IF NOT EXISTS
        made = [f"DROP TABLE IF EXISTS {name}", f"CREATE TABLE {name} {columns}"]
    if dialect.begin:
        made.insert(0 if dialect.creates_in_transaction else 1, dialect.begin)
    yield from made
    for code, found in enumerate(formulas.values()):
        if isinstance(found, Pieces):
            yield from _filled(dialect, name, code, found)
    yield "COMMIT"


def _filled(dialect: Dialect, name: str, code: int, found: Pieces) -> Iterator[str]:
    if dialect.array:
        fields = ", ".join(dialect.array.format(numbers=",".join(map(repr, field.tolist()))) for field in found)
        yield f"INSERT INTO {name} SELECT {code}, {fields}"
        return
    begins = list(map(dialect.number, found.lo.tolist()))
    ends = [f", {end}" for end in (*begins[1:], _INFINITY.get(dialect.name, ""))]
    rows = []
    for place, row in enumerate(zip(*(field.tolist() for field in found))):
        end = ends[place] if dialect.join == "range" else ""
        rows.append(f"({code}, {', '.join(map(dialect.number, row))}{end})")
    for first in range(0, len(rows), _ROWS):
        yield f"INSERT INTO {name} VALUES\n" + ",\n".join(rows[first : first + _ROWS])


def table_of(name: str, formulas: Formulas) -> str:
    """Add to the name of a table what tells the maps in it from all others: two maps never share one."""
    if not isinstance(name, str) or not 0 < len(name.rpartition(".")[2]) <= _LONGEST:
        raise ValueError(
            f"pieces_table must be a name of 1 to {_LONGEST} characters, got {name!r}.\n"
            "Hint: what tells this map from others is added to it, and databases cut longer names."
        )
    found = hashlib.sha256()
    for group, each in formulas.items():  # the map that follows is written into the SELECT
        numbers = [field.tobytes() for field in each] if isinstance(each, Pieces) else list(each)
        found.update(repr((type(group).__name__, group, numbers)).encode())
    return f"{name}_{found.hexdigest()[:12]}"


def _found_among(dialect: Dialect, value: str, pieces: Pieces) -> str:
    """Write a look-up among pieces that are rows of their own, for a value that can have no name."""
    begins = list(map(dialect.number, pieces.lo.tolist()))
    none = " FROM dual" if dialect.name == "Oracle" else ""
    rows = []
    for row, end in zip(zip(*(field.tolist() for field in pieces)), [*begins[1:], "NULL"]):
        numbers = zip((*map(dialect.number, row), end), (*_COLUMNS, "hi"))
        rows.append("SELECT " + ", ".join(f"{number} AS {name}" for number, name in numbers) + none)
    inside = f"m.lo <= {value} AND (m.hi IS NULL OR {value} < m.hi)"
    formula = line(dialect, value, *(f"m.{name}" for name in _COLUMNS[1:]))
    return f"(SELECT {formula} FROM ({' UNION ALL '.join(rows)}){dialect.named}m WHERE {inside})"


_ENDS = str.maketrans("", "", "\n\t")  # not printable, but every database has names with them
BY = "_by"  # ends the name of the column that says which map made a score
_REASON = "fairpot: no map for this group, or no finite score"


@documented
def to_sql(
    maps: Exportable,
    *,
    dialect: str,
    score: str = "score",
    group: str | Sequence[str] = "group",
    table: str | Sequence[str] | None = None,
    column: str | None = None,
    unknown_group: Unmapped = "error",
    missing_group: Unmapped = "error",
    outside: Outside = "refuse",
    form: Literal["auto", "case", "table"] = "auto",
    pieces_table: str = "fairpot_pieces",
) -> str:
    """Write maps as SQL that gives the numbers ``transform`` gives.

    Small maps become one CASE expression, large ones a table of pieces and a join (for Spark, arrays).
    https://fairpot.github.io/fairpot/reference/sql-dialects.html says where the numbers are the same bit for bit.

    Parameters
    ----------
    {exported}
    dialect : {"postgres", "duckdb", "sqlite", "spark", "mysql", "bigquery", "snowflake", "sqlserver", "oracle"}
        "mysql" is also for MariaDB. The last four are written and parsed, but not run by this project's tests.
    score : str, default "score"
        Name of the column with the score.
    group : str or list of str, default "group"
        Name of the column with the group; several form intersections, in the order of ``fit``.
    table : str, list of str or None, default None
        The table to select from, None for the expression alone. A dot separates schema and table, as a list does.
    column : str or None, default None
        Name of the new column; None takes that of the score and ``_adjusted``.
    unknown_group : {"error", "keep", "null"}, default "error"
        For a row whose group has no map: stop the query, keep the original score, or return NULL. A score that is
        missing, not a number or not finite stops the query with "error" and gives NULL otherwise.
    missing_group : {"error", "keep", "null"}, default "error"
        What a row gets that has no group (NULL; in SQLite also an empty text, which ``.import`` makes of it).
    {beyond}
    form : {"auto", "case", "table"}, default "auto"
        The form of the maps; "auto" chooses by their number of pieces.
    pieces_table : str, default "fairpot_pieces"
        How the name of the table of pieces begins, where there is one; the map's hash ends it.

    Returns
    -------
    str
        An expression, a SELECT, or statements that end in a SELECT and in semicolons.

    Examples
    --------
    >>> from fairpot.export import to_sql
    >>> from fairpot.transport import ScoreMap
    >>> print(to_sql({"F": ScoreMap([0.2], [0.5]), "M": ScoreMap.identity()}, dialect="duckdb", group="sex"))
    ... # doctest: +ELLIPSIS
    /* fairpot ...: 2 groups, 2 pieces */ CASE WHEN ... THEN CASE WHEN "sex" = 'F' THEN 0.5e0 WHEN "sex" = 'M' ...
    """
    check_choice(dialect, "dialect", tuple(DIALECTS))
    check_choice(form, "form", ("auto", "case", "table"))
    unmapped = (unknown_group, missing_group)
    formulas = formulas_of(maps, outside, unmapped)
    writer = _Writer(DIALECTS[dialect], formulas, score, group, unmapped, "" if table is None else "t.")
    limit = writer.dialect.most_pieces if table is None else writer.dialect.quick_pieces
    own = sum(each.size for each in formulas.values() if isinstance(each, Pieces))
    small = form == "case" or (form == "auto" and own <= limit)
    column = f"{score}{ADJUSTED}" if column is None else column
    named = writer.name(column)
    if formulas.map_sha256 is not None:
        named += f", {writer.dialect.text(formulas.made_by)} AS {writer.name(column + BY)}"
    if small or writer.dialect.join == "":
        expression = writer.expression(arrays=not small)
        if table is None:
            return f"{writer.comment()} {expression}"
        rows = f"{writer.table(table)}{writer.dialect.named}t"
        return f"{writer.comment()}\nSELECT t.*, {expression} AS {named}\nFROM {rows}"
    if table is None:
        raise ValueError(
            f"the maps have {count_pieces(formulas)} pieces: too many for one expression in "
            f"{writer.dialect.name}, and a join needs to know the table.\n"
            "Hint: pass table=..., simplify the maps first, or insist with form='case'."
        )
    return writer.script(writer.table(table), named, writer.table(table_of(pieces_table, formulas)))


class _Writer:
    """The columns of one export, and what can be written about them."""

    def __init__(
        self,
        dialect: Dialect,
        formulas: Formulas,
        score: str,
        group: str | Sequence[str],
        unmapped: tuple[str, str],
        prefix: str,
    ) -> None:
        self.dialect, self.formulas, self.prefix = dialect, formulas, prefix
        self.column = self.prefix + self.name(score)
        self.score = original = dialect.cast(self.column)
        self.refused = formulas.limits is not None and not formulas.clamped
        if formulas.limits is not None and formulas.clamped:
            low, high = map(dialect.number, formulas.limits)
            self.score = f"{dialect.least}({dialect.greatest}({original}, {low}), {high})"
        groups = [group] if isinstance(group, str) else list(group)
        if not groups:
            raise ValueError("group names no column.")
        self.group = self._group(groups)
        failing = dialect.failing.format(reason=_REASON, column=self.group)
        value = {"error": failing, "keep": original, "null": "NULL"}
        self.unknown, self.missing = value[unmapped[0]], value[unmapped[1]]
        self.bad = value["error"] if unmapped[0] == "error" else "NULL"
        self.gone = self._gone(groups)

    def name(self, column: str) -> str:
        """Write a name."""
        if not isinstance(column, str) or not column or not column.translate(_ENDS).isprintable():
            raise ValueError(
                f"the name of a column must be a printable text that is not empty, got {column!r}.\n"
                "Hint: rename the column."
            )
        return self.dialect.identifier(column)

    def table(self, table: str | Sequence[str]) -> str:
        """Write the name of a table."""
        return ".".join(map(self.name, table.split(".") if isinstance(table, str) else table))

    def comment(self) -> str:
        """Say where the text comes from, in a comment that fits anywhere; no name of a group goes into it."""
        untried = "" if self.dialect.run_by_tests else f"; written for {self.dialect.name}, parsed but never run there"
        groups, found = len(self.formulas), count_pieces(self.formulas)
        return f"/* {self.formulas.made_by}: {groups} groups, {found} pieces{self.formulas.note}{untried} */"

    def expression(self, *, arrays: bool) -> str:
        """Write all maps as one expression."""
        known = self._known(self.formulas)
        arms = " ".join(f"WHEN {self._is(g)} THEN {self._value(found, arrays)}" for g, found in self.formulas.items())
        if self.formulas.then is not None:  # written once, for all groups
            arms = f"WHEN {known} THEN {self._then(f'CASE {arms} END')}"
        if self.refused:
            arms = f"WHEN ({self._far()}) AND ({known}) THEN NULL {arms}"
        if self.missing != self.unknown:
            arms += f" WHEN {self.gone} THEN {self.missing}"
        found = f"CASE {arms} ELSE {self.unknown} END"
        return f"CASE WHEN {self.dialect.usable(self.column)} THEN {found} ELSE {self.bad} END"

    def script(self, table: str, column: str, pieces: str) -> str:
        """Write the table of pieces and the SELECT that uses it."""
        closed = {g: f for g, f in self.formulas.items() if not isinstance(f, Pieces)}
        arms = [f"WHEN NOT ({self.dialect.usable(self.column)}) OR {self.column} IS NULL THEN {self.bad}"]
        none = "p.lo IS NULL" + (f" AND CASE WHEN {self._known(closed)} THEN 0 ELSE 1 END = 1" if closed else "")
        if self.missing != self.unknown:
            arms += [f"WHEN {none} AND {self.gone} THEN {self.missing}"]
        value = line(self.dialect, self.score, *(f"p.{name}" for name in _COLUMNS[1:]))
        if closed:
            formed = [f"WHEN {self._is(g)} THEN {self._value(f, arrays=False)}" for g, f in closed.items()]
            value = f"CASE {' '.join(formed)} ELSE {value} END"
        arms += [f"WHEN {none} THEN {self.unknown}"]
        if self.refused:
            arms += [f"WHEN {self._far()} THEN NULL"]
        arms += [f"ELSE {self._then(value)}"]
        codes = " ".join(f"WHEN {self._is(group)} THEN {code}" for code, group in enumerate(self.formulas))
        parts = {"name": pieces, "score": self.score, "code": f"CASE {codes} END", "named": self.dialect.named}
        joined = JOINS[self.dialect.join].format(**parts)
        select = f"SELECT t.*, CASE {' '.join(arms)} END AS {column}\nFROM {table}{self.dialect.named}t\n{joined}"
        statements = [*create_table(self.dialect, pieces, self.formulas), select]
        return self.comment() + "\n" + "".join(f"{each};\n" for each in statements)

    def _is(self, group: Name) -> str:
        same = self.dialect.same(self.group, group)
        if group != MISSING:
            return same
        return f"({same} OR {self.gone})" if all(isinstance(each, str) for each in self.formulas) else self.gone

    def _known(self, groups: Iterable[Name]) -> str:
        return " OR ".join(map(self._is, groups))

    def _far(self) -> str:
        low, high = map(self.dialect.number, self.formulas.limits or ())
        return f"{self.score} < {low} OR {self.score} > {high}"

    def _then(self, value: str) -> str:
        """Write the map that follows all others, with a name for the value that it is looked up by."""
        then = self.formulas.then
        if then is None:
            return value
        if self.dialect.name == "Spark SQL":
            return array_lookup(value, then)
        if not self.dialect.names_values:
            return _found_among(self.dialect, value, then)
        # Without a fence PostgreSQL copies the value to every place that names it: minutes for a thousand rows.
        fence = " OFFSET 0" if self.dialect.name == "PostgreSQL" else ""
        return f"(SELECT {pieces_case(self.dialect, 'm.r', then)} FROM (SELECT {value} AS r{fence}) AS m)"

    def _value(self, found: Formula, arrays: bool) -> str:
        if not isinstance(found, Pieces):
            return CLOSED[type(found)].sql(self.dialect, self.score, found)
        if arrays and found.size > self.dialect.quick_pieces:
            return array_lookup(self.score, found)
        return pieces_case(self.dialect, self.score, found)

    def _gone(self, columns: list[str]) -> str:
        """Ask whether a row has no group; an intersection with a part that is NULL is NULL itself."""
        if self.dialect.name != "SQLite" or "" in self.formulas:
            return f"{self.group} IS NULL"
        empty = " OR ".join(f"{self.prefix}{self.name(column)} = ''" for column in columns)
        return f"({self.group} IS NULL OR {empty})"

    def _group(self, columns: list[str]) -> str:
        """Write the group: a column, or an intersection named as ``fit`` does it for texts and whole numbers."""
        if len(columns) == 1:
            return self.prefix + self.name(columns[0])
        parts, own = [], any(map(lacks_part, self.formulas))
        for i, column in enumerate(columns):
            parts.append(self.dialect.text((", " if i else "") + f"{column}="))
            part = f"CAST({self.prefix}{self.name(column)} AS {self.dialect.text_type})"
            parts.append(f"COALESCE({part}, {self.dialect.text(MISSING)})" if own else part)
        whole = self.dialect.joined(parts)
        if own or self.dialect.name != "Oracle":
            return whole
        there = " AND ".join(f"{self.prefix}{self.name(column)} IS NOT NULL" for column in columns)
        return f"CASE WHEN {there} THEN {whole} END"  # NULL is the empty text there
