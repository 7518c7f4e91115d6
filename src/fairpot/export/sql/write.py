"""to_sql: the choice of a form, and the text around it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from fairpot._version import __version__
from fairpot.engines.spark.expression import array_lookup
from fairpot.export.groups import Exportable, Formulas, check_choice, count_pieces, formulas_of, note_of
from fairpot.export.sql.case import pieces_case, sigmoid
from fairpot.export.sql.dialects import DIALECTS, Dialect
from fairpot.export.sql.lookup import create_table, join, looked_up
from fairpot.transport.pieces import Pieces, Sigmoid

_REASON = "fairpot: no map for this group, or no finite score"


def to_sql(
    maps: Exportable,
    *,
    dialect: str,
    score: str = "score",
    group: str | Sequence[str] = "group",
    table: str | Sequence[str] | None = None,
    column: str | None = None,
    unknown: Literal["null", "error"] = "null",
    form: Literal["auto", "case", "table"] = "auto",
    pieces_table: str = "fairpot_pieces",
) -> str:
    """Write maps as SQL that gives the numbers ``transform`` gives.

    Small maps become one CASE expression, large ones a table of pieces and a join (for Spark, arrays). Where
    the numbers are the same bit for bit, docs/export-sql.md says.

    Parameters
    ----------
    maps : dict of group to ScoreMap
        The ``maps_`` of a fitted method or of a loaded model file.
    dialect : {"postgres", "duckdb", "sqlite", "spark", "bigquery", "snowflake"}
        BigQuery and Snowflake are written and parsed, but not run by this project's tests.
    score : str, default "score"
        Name of the column with the score.
    group : str or list of str, default "group"
        Name of the column with the group; several form intersections, named as in ``fit``.
    table : str, list of str or None, default None
        The table to read: the result is a SELECT of its columns and the new one. None gives the expression
        alone. A dot separates schema and table; a list names the parts one by one.
    column : str or None, default None
        Name of the new column; None takes that of the score and ``_fair``.
    unknown : {"null", "error"}, default "null"
        What a row gets whose group has no map, or whose score is missing or not finite: NULL, or it stops the
        query. Never the score as it was.
    form : {"auto", "case", "table"}, default "auto"
        The form of the maps; "auto" chooses by their number of pieces.
    pieces_table : str, default "fairpot_pieces"
        Name of the table of pieces, where there is one; it is created by the statements that come first.

    Returns
    -------
    str
        An expression, a SELECT, or statements that end in a SELECT; each statement ends in a semicolon where there
        are several.

    Examples
    --------
    >>> from fairpot.export import to_sql
    >>> from fairpot.transport import ScoreMap
    >>> print(to_sql({"F": ScoreMap([0.2], [0.5]), "M": ScoreMap.identity()}, dialect="duckdb", group="sex"))
    ... # doctest: +ELLIPSIS
    /* fairpot ...: 2 groups, 2 pieces */ CASE WHEN ... THEN CASE WHEN "sex" = 'F' THEN 0.5e0 WHEN "sex" = 'M' ...
    """
    check_choice(dialect, "dialect", tuple(DIALECTS))
    check_choice(unknown, "unknown", ("null", "error"))
    check_choice(form, "form", ("auto", "case", "table"))
    writer = _Writer(
        DIALECTS[dialect], formulas_of(maps), score, group, unknown == "error", qualified=table is not None
    )
    writer.note = note_of(maps)
    small = form == "case" or (form == "auto" and count_pieces(writer.formulas) <= writer.dialect.most_pieces)
    named = writer.name(f"{score}_fair" if column is None else column)
    if small or writer.dialect.join == "":
        expression = writer.expression(arrays=not small)
        if table is None:
            return f"{writer.comment()} {expression}"
        return f"{writer.comment()}\nSELECT t.*, {expression} AS {named}\nFROM {writer.table(table)} AS t"
    if table is None:
        raise ValueError(
            f"the maps have {count_pieces(writer.formulas)} pieces: too many for one expression in "
            f"{writer.dialect.name}, and a join needs to know the table.\n"
            "Hint: pass table=..., simplify the maps first, or insist with form='case'."
        )
    return writer.script(writer.table(table), named, writer.table(pieces_table))


class _Writer:
    """The columns of one export, and what can be written about them."""

    def __init__(
        self, dialect: Dialect, formulas: Formulas, score: str, group: str | Sequence[str], fails: bool, qualified: bool
    ) -> None:
        self.dialect, self.formulas, self.note = dialect, formulas, ""
        self.prefix = "t." if qualified else ""
        self.column = self.prefix + self.name(score)
        self.score = dialect.cast(self.column)
        groups = [group] if isinstance(group, str) else list(group)
        if not groups:
            raise ValueError("group names no column.")
        self.group = self._group(groups)
        self.bad = dialect.failing(_REASON, self.group) if fails else "NULL"

    def name(self, column: str) -> str:
        """Write the name of a column."""
        if not isinstance(column, str) or not column or "\0" in column:
            raise ValueError(f"the name of a column must be a text that is not empty, got {column!r}.")
        return self.dialect.identifier(column)

    def table(self, table: str | Sequence[str]) -> str:
        """Write the name of a table."""
        return ".".join(map(self.name, table.split(".") if isinstance(table, str) else table))

    def comment(self) -> str:
        """Say where the text comes from, in a comment that fits anywhere; no name of a group goes into it."""
        untried = "" if self.dialect.run_by_tests else f"; written for {self.dialect.name}, parsed but never run there"
        groups, found = len(self.formulas), count_pieces(self.formulas)
        return f"/* fairpot {__version__}: {groups} groups, {found} pieces{self.note}{untried} */"

    def expression(self, *, arrays: bool) -> str:
        """Write all maps as one expression."""
        arms = " ".join(
            f"WHEN {self.dialect.same(self.group, group)} THEN {self._value(found, arrays)}"
            for group, found in self.formulas.items()
        )
        return f"CASE WHEN {self.dialect.usable(self.column)} THEN CASE {arms} ELSE {self.bad} END ELSE {self.bad} END"

    def script(self, table: str, column: str, pieces: str) -> str:
        """Write the table of pieces and the SELECT that uses it."""
        sigmoids = [(g, f) for g, f in self.formulas.items() if isinstance(f, Sigmoid)]
        arms = [f"WHEN NOT ({self.dialect.usable(self.column)}) OR {self.column} IS NULL THEN {self.bad}"]
        arms += [
            f"WHEN {self.dialect.same(self.group, g)} THEN {sigmoid(self.dialect, self.score, f)}" for g, f in sigmoids
        ]
        arms += [f"WHEN p.lo IS NULL THEN {self.bad} ELSE {looked_up(self.dialect, self.score)}"]
        codes = " ".join(
            f"WHEN {self.dialect.same(self.group, group)} THEN {code}" for code, group in enumerate(self.formulas)
        )
        joined = join(self.dialect, pieces, self.score, f"CASE {codes} END")
        select = f"SELECT t.*, CASE {' '.join(arms)} END AS {column}\nFROM {table} AS t\n{joined}"
        statements = [*create_table(self.dialect, pieces, self.formulas), select]
        return self.comment() + "\n" + "".join(f"{each};\n" for each in statements)

    def _value(self, found: Pieces | Sigmoid, arrays: bool) -> str:
        if isinstance(found, Sigmoid):
            return sigmoid(self.dialect, self.score, found)
        if arrays and found.size > self.dialect.most_pieces:
            return array_lookup(self.score, found)
        return pieces_case(self.dialect, self.score, found)

    def _group(self, columns: list[str]) -> str:
        """Write the group: a column, or an intersection named as ``fit`` does it for texts and whole numbers."""
        if len(columns) == 1:
            return self.prefix + self.name(columns[0])
        parts = [
            self.dialect.text((", " if i else "") + f"{c}=")
            + f" || CAST({self.prefix}{self.name(c)} AS {self.dialect.text_type})"
            for i, c in enumerate(columns)
        ]
        return f"({' || '.join(parts)})"
