"""How each database writes numbers, texts, names and errors."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from fairpot.export.functions import Name
from fairpot.rows.readers.session import spark_text

# A number that is written out, for databases that take any text for one.
_NUMBER = "^ *[-+]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][-+]?[0-9]+)? *$"

# How the rows t are joined with their pieces p; a range needs to know where a piece ends.
JOINS = {
    "asof": "ASOF LEFT JOIN {name} AS p ON {code} = p.g AND {score} >= p.lo",
    "match": "ASOF JOIN {name} AS p MATCH_CONDITION ({score} >= p.lo) ON {code} = p.g",
    "lateral": "LEFT JOIN LATERAL (SELECT * FROM {name} AS q WHERE q.g = {code} AND q.lo <= {score} "
    "ORDER BY q.lo DESC LIMIT 1) AS p ON TRUE",
    "apply": "OUTER APPLY (SELECT TOP 1 * FROM {name} AS q WHERE q.g = {code} AND q.lo <= {score} "
    "ORDER BY q.lo DESC) AS p",
    "max": "LEFT JOIN {name} AS p ON p.g = {code} AND p.lo = "
    "(SELECT MAX(q.lo) FROM {name} AS q WHERE q.g = {code} AND q.lo <= {score})",
    "range": "LEFT JOIN {name}{named}p ON p.g = {code} AND {score} >= p.lo AND {score} < p.hi",
}


@dataclass(frozen=True)
class Dialect:
    """One database's way of writing SQL."""

    name: str  # as people know the database
    double: str  # its type of 64-bit floats
    text_type: str
    # Write a double, a text and the name of a column so that they are read back exactly.
    number: Callable[[float], str]
    text: Callable[[str], str]
    identifier: Callable[[str], str]
    failing: str  # an expression of doubles that stops the query and quotes its {reason}, made with a {column}
    join: str  # one of JOINS; "" where arrays take the place of a table of pieces
    most_pieces: int = 1000  # that one CASE may have where nothing but an expression will do
    quick_pieces: int = 1000  # up to which one CASE is quicker than the join
    creates_in_transaction: bool = True  # a table can be made within one
    run_by_tests: bool = True  # else it has only been parsed
    least: str = "LEAST"
    greatest: str = "GREATEST"
    array: str = ""  # turns {numbers} with commas into as many rows; much quicker than as many literals
    begin: str = "BEGIN TRANSACTION"
    named: str = " AS "  # between a table and its short name
    names_values: bool = True  # a value can be named in a subquery that looks at the row around it

    def value(self, group: Name) -> str:
        """Write the name of a group."""
        if isinstance(group, bool) and self.name != "SQL Server":
            return "TRUE" if group else "FALSE"
        if isinstance(group, int):
            return str(int(group))
        return self.number(group) if isinstance(group, float) else self.text(group)

    def cast(self, column: str) -> str:
        """Read a column as doubles."""
        return f"{'TRY_CAST' if self.name == 'SQL Server' else 'CAST'}({column} AS {self.double})"

    def joined(self, parts: Sequence[str]) -> str:
        """Write texts as one, which is NULL if any of them is."""
        if self.name == "MySQL":
            return f"CONCAT({', '.join(parts)})"
        return f"({(' + ' if self.name == 'SQL Server' else ' || ').join(parts)})"

    def usable(self, column: str) -> str:
        """Ask whether a score is a finite number; NaN and NULL are not."""
        largest = self.number(math.nextafter(math.inf, 0))
        score = self.cast(column)
        asked = f"{score} >= -{largest} AND {score} <= {largest}"
        # What is no number reads as one: in SQLite and MySQL any text, in SQL Server an empty one.
        if self.name == "SQLite":  # compared with a number, a text is read only if all of it is one
            number = f"typeof({column}) IN ('real', 'integer') OR (typeof({column}) = 'text' AND {score} = {column})"
            return f"({number}) AND {asked}"
        if self.name == "MySQL":
            return f"CAST({column} AS CHAR) REGEXP '{_NUMBER}' AND {asked}"
        return f"CAST({column} AS {self.text_type}) <> N'' AND {asked}" if self.name == "SQL Server" else asked

    def same(self, column: str, group: Name) -> str:
        """Ask whether a group column holds a name, letter by letter."""
        if self.name == "SQLite" and isinstance(group, bool):  # a file that was imported has texts
            return f"({column} = {self.value(group)} OR LOWER({column}) = '{str(group).lower()}')"
        if self.name == "MySQL" and not isinstance(group, float | bool):
            # As bytes: else upper and lower case, accents and blanks at the end are alike, and any text equals 0.
            return f"CONVERT({column} USING utf8mb4) = {_mysql_bytes(str(group))}"
        if self.name == "SQL Server" and isinstance(group, str):  # blanks at the end count only before something else
            text = f"(CAST({column} AS {self.text_type}) + N'.')"
            return f"{text} COLLATE Latin1_General_100_BIN2 = {self.text(group + '.')}"
        if self.name == "Oracle" and group == "":
            raise ValueError("a group is the empty text, which Oracle takes for NULL.\nHint: rename it before fit.")
        collate = " COLLATE BINARY" if self.name == "SQLite" and isinstance(group, str) else ""
        return f"{column}{collate} = {self.value(group)}"


def _exponent(value: float) -> str:
    text = repr(value)
    return text if "e" in text else f"{text}e0"  # not to be taken for a decimal


def _cast_text(type_: str) -> Callable[[float], str]:
    """Write a double as a text that is cast; a minus may come before it, so negative ones are bracketed."""
    return lambda value: f"'{value!r}'::{type_}" if math.copysign(1, value) > 0 else f"('{value!r}'::{type_})"


def _sqlite_number(value: float) -> str:
    """Write a double for SQLite, which rounds literals wrongly that are short or near the ends of the range."""
    if value == 0 or 1e-290 <= abs(value) <= 1e290:
        return f"{value:.16e}"
    fraction, exponent = math.frexp(value)
    half = (exponent - 53) // 2
    parts = [int(fraction * 2**53), f"{2.0**half:.16e}", f"{2.0 ** (exponent - 53 - half):.16e}"]
    return f"({' * '.join(map(str, parts))})"


def _doubled(mark: str) -> Callable[[str], str]:
    return lambda text: mark + _checked(text).replace(mark, mark * 2) + mark


def _postgres_text(text: str) -> str:
    plain = _doubled("'")(text)
    return "E" + plain.replace("\\", "\\\\") if "\\" in text else plain


def _mysql_text(text: str) -> str:
    # What a backslash means depends on the server's settings, and what other letters are on the client's.
    if _checked(text).isascii() and "\\" not in text:
        return _doubled("'")(text)
    return f"CONVERT(X'{text.encode().hex()}' USING utf8mb4)"


def _mysql_bytes(text: str) -> str:
    made = _mysql_text(text)
    return f"CAST({made} AS BINARY)" if made.startswith("'") else f"X'{text.encode().hex()}'"


def _oracle_name(name: str) -> str:
    if '"' in name:
        raise ValueError(f"Oracle has no names with a quotation mark, such as {name!r}.\nHint: rename the column.")
    return f'"{name}"'


def _oracle_number(value: float) -> str:
    """Write a double; beyond the range of decimals as a text without a decimal mark, which may be a comma there."""
    if value == 0 or 1e-120 <= abs(value) <= 1e120:
        return f"TO_BINARY_DOUBLE({value!r})"
    digits, _, exponent = f"{value:.16e}".partition("e")
    return f"TO_BINARY_DOUBLE('{digits.replace('.', '')}e{int(exponent) - 16}')"


def _escaped(text: str) -> str:
    return spark_text(_checked(text))  # BigQuery and Snowflake know the same escapes


# Names know the escapes of texts in BigQuery: a backslash that is not escaped would take the mark that ends the name.
_IN_NAMES = str.maketrans({"\\": "\\\\", "`": "\\`", "\n": "\\n", "\t": "\\t"})


def _checked(text: str) -> str:
    """Refuse characters that SQL texts cannot hold, or that are not seen and steer who reads them."""
    if any(unicodedata.category(c) in _UNSEEN and c not in _SEEN for c in text):
        raise ValueError(f"the name {text!r} has a character that SQL texts cannot hold.\nHint: rename it before fit.")
    return text


_UNSEEN, _SEEN = ("Cc", "Cf", "Cs", "Zl", "Zp"), "\n\t\u200c\u200d"  # the last two join letters, and stay


# Where nothing raises, a query is stopped by an error that quotes how a value was made. It holds the column, or the
# planner would work it out beforehand and stop every query.
DIALECTS = {
    "postgres": Dialect(
        "PostgreSQL", "double precision", "text", _cast_text("float8"), _postgres_text, _doubled('"'),
        "CAST(CONCAT('{reason}: ', CAST({column} AS text)) AS double precision)", "lateral",
        most_pieces=2000, quick_pieces=500, array="unnest('{{{numbers}}}'::float8[])",
    ),
    "duckdb": Dialect(
        "DuckDB", "DOUBLE", "VARCHAR", _exponent, _doubled("'"), _doubled('"'),
        "CAST(error(CONCAT('{reason}: ', {column})) AS DOUBLE)", "asof",
        quick_pieces=80, array="unnest(string_split('{numbers}', ',')::DOUBLE[])",
    ),
    "sqlite": Dialect(
        "SQLite", "REAL", "TEXT", _sqlite_number, _doubled("'"), _doubled('"'),
        "json_extract('{{}}', '{reason}: ' || COALESCE({column}, 'NULL'))", "max",
        most_pieces=2000, quick_pieces=2000, least="MIN", greatest="MAX",
    ),
    "spark": Dialect(
        "Spark SQL", "DOUBLE", "STRING", lambda value: f"{value!r}D", _escaped, _doubled("`"),
        "CAST(raise_error('{reason}') AS DOUBLE)", "", most_pieces=40, quick_pieces=40,
    ),
    "bigquery": Dialect(
        "BigQuery", "FLOAT64", "STRING", _exponent, _escaped, lambda name: f"`{name.translate(_IN_NAMES)}`",
        "CAST(ERROR('{reason}') AS FLOAT64)", "range", run_by_tests=False, creates_in_transaction=False,
    ),
    "snowflake": Dialect(
        "Snowflake", "DOUBLE", "VARCHAR", _cast_text("DOUBLE"), _escaped, _doubled('"'),
        "CAST('{reason}: ' || COALESCE(CAST({column} AS VARCHAR), 'NULL') AS DOUBLE)", "match",
        run_by_tests=False, creates_in_transaction=False,
    ),
    "mysql": Dialect(
        "MySQL", "DOUBLE", "CHAR", _exponent, _mysql_text, _doubled("`"),
        "EXP(1000 + LENGTH(CONCAT('{reason}: ', COALESCE({column}, 'NULL'))))", "max",
        most_pieces=40_000, quick_pieces=40_000,  # a join that finds a piece by its beginning reads half the table
        creates_in_transaction=False, begin="START TRANSACTION", names_values=False,
    ),
    "sqlserver": Dialect(
        "SQL Server", "float", "nvarchar(4000)", _exponent,
        lambda text: "N" + _doubled("'")(text), lambda name: f"[{name.replace(']', ']]')}]",
        "CAST(N'{reason}: ' + COALESCE(CAST({column} AS nvarchar(4000)), N'NULL') AS int)", "apply", run_by_tests=False,
    ),
    "oracle": Dialect(
        "Oracle", "BINARY_DOUBLE", "VARCHAR2(4000)", _oracle_number, _doubled("'"), _oracle_name,
        "TO_BINARY_DOUBLE('{reason}: ' || {column})", "range",
        run_by_tests=False, begin="", named=" ", names_values=False,
    ),
}  # fmt: skip
