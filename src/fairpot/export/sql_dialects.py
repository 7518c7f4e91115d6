"""How each database writes numbers, texts, names and errors."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from fairpot.export.functions import Name
from fairpot.rows.readers.session import spark_text

# A number that is written out, for databases that take any text for one.
_NUMBER = "^ *[-+]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][-+]?[0-9]+)? *$"

Join = Literal["asof", "lateral", "max", "match", "range", "apply"]


@dataclass(frozen=True)
class Dialect:
    """One database's way of writing SQL.

    Attributes
    ----------
    name : str
        As people know the database.
    double : str
        Its type of 64-bit floats.
    text_type : str
        Its type of text.
    number, text, identifier : callables
        Write a double, a text and the name of a column so that they are read back exactly.
    failing : callable
        Make an expression of doubles that stops the query, from the text of a reason and a column.
    join : str
        How the table of pieces is joined; "" where arrays take its place.
    most_pieces : int
        How many pieces one CASE may have where nothing but an expression will do.
    quick_pieces : int
        Up to how many pieces one CASE is quicker than the join.
    creates_in_transaction : bool
        Whether a table can be made within a transaction.
    run_by_tests : bool
        Whether this project's tests run it on the database; if not, it has only been parsed.
    least, greatest : str
    array : callable or None
        Turn a text of numbers with commas into as many rows; much quicker than as many literals.
    begin : str
        What begins a transaction.
    named : str
        What stands between a table and its short name.
    names_values : bool
        Whether a value can be given a name in a subquery that looks at the row around it.
    """

    name: str
    double: str
    text_type: str
    number: Callable[[float], str]
    text: Callable[[str], str]
    identifier: Callable[[str], str]
    failing: Callable[[str, str], str]
    join: Join | Literal[""]
    most_pieces: int = 1000
    quick_pieces: int = 1000
    creates_in_transaction: bool = True
    run_by_tests: bool = True
    least: str = "LEAST"
    greatest: str = "GREATEST"
    array: Callable[[str], str] | None = None
    begin: str = "BEGIN TRANSACTION"
    named: str = " AS "
    names_values: bool = True

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
    """Write a double so that it is not taken for a decimal."""
    text = repr(value)
    return text if "e" in text else f"{text}e0"


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
    return lambda text: mark + _without_nul(text).replace(mark, mark * 2) + mark


def _postgres_text(text: str) -> str:
    plain = _doubled("'")(text)
    if "\\" not in text and text.isprintable():
        return plain
    return "E" + "".join(c if c.isprintable() else f"\\U{ord(c):08x}" for c in plain.replace("\\", "\\\\"))


def _joined(character: Callable[[str], str], plus: str = " || ", mark: str = "") -> Callable[[str], str]:
    """Write a text in pieces; what is no printable character is made by a function, and cannot steer who reads it."""

    def write(text: str) -> str:
        if _without_nul(text).isprintable():
            return mark + _doubled("'")(text)
        made = [
            mark + _doubled("'")("".join(run)) if printable else plus.join(map(character, run))
            for printable, run in itertools.groupby(text, str.isprintable)
        ]
        return f"({plus.join(made)})"

    return write


def _utf16(character: str) -> Iterator[int]:
    data = character.encode("utf-16-be")
    return (int.from_bytes(data[i : i + 2]) for i in range(0, len(data), 2))


def _mysql_text(text: str) -> str:
    # What a backslash means depends on the server's settings, and what other letters are on the client's.
    if _without_nul(text).isprintable() and text.isascii() and "\\" not in text:
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
    return spark_text(_without_nul(text))  # BigQuery and Snowflake know the same escapes


def _bigquery_name(name: str) -> str:
    # Names know the escapes of texts there: a backslash that is not escaped would take the mark that ends the name.
    return f"`{name.translate(_IN_NAMES)}`"


_IN_NAMES = str.maketrans({"\\": "\\\\", "`": "\\`", "\n": "\\n", "\t": "\\t"})


def _without_nul(text: str) -> str:
    if any(c == "\0" or "\ud800" <= c <= "\udfff" for c in text):
        raise ValueError(f"the name {text!r} has a character that SQL texts cannot hold.\nHint: rename it before fit.")
    return text


def _error_call(function: str, double: str, text: Callable[[str], str]) -> Callable[[str, str], str]:
    return lambda reason, column: f"CAST({function}({text(reason)}) AS {double})"


def _failing_cast(reason: str, column: str) -> str:
    # With the column in it the planner cannot work it out beforehand, which would stop every query.
    return f"CAST(CONCAT('{reason}: ', CAST({column} AS text)) AS double precision)"


def _snowflake_cast(reason: str, column: str) -> str:
    return f"CAST('{reason}: ' || COALESCE(CAST({column} AS VARCHAR), 'NULL') AS DOUBLE)"


def _mysql_failing(reason: str, column: str) -> str:
    # Nothing raises there; a number that is too large is an error that quotes how it was made.
    return f"EXP(1000 + LENGTH(CONCAT('{reason}: ', COALESCE({column}, 'NULL'))))"


def _sql_server_failing(reason: str, column: str) -> str:
    # A text that is no whole number is quoted in the error.
    return f"CAST(N'{reason}: ' + COALESCE(CAST({column} AS nvarchar(4000)), N'NULL') AS int)"


def _oracle_failing(reason: str, column: str) -> str:
    return f"TO_BINARY_DOUBLE('{reason}: ' || {column})"


def _sqlite_failing(reason: str, column: str) -> str:
    # There is no function that raises; a path that is none is quoted in the error.
    return f"json_extract('{{}}', '{reason}: ' || COALESCE({column}, 'NULL'))"


DIALECTS = {
    "postgres": Dialect(
        "PostgreSQL", "double precision", "text", _cast_text("float8"), _postgres_text, _doubled('"'), _failing_cast,
        "lateral", most_pieces=2000, quick_pieces=500, array=lambda numbers: f"unnest('{{{numbers}}}'::float8[])",
    ),
    "duckdb": Dialect(
        "DuckDB", "DOUBLE", "VARCHAR", _exponent, _joined(lambda c: f"chr({ord(c)})"), _doubled('"'),
        lambda reason, column: f"CAST(error(CONCAT('{reason}: ', {column})) AS DOUBLE)", "asof",
        quick_pieces=80, array=lambda numbers: f"unnest(string_split('{numbers}', ',')::DOUBLE[])",
    ),
    "sqlite": Dialect(
        "SQLite", "REAL", "TEXT", _sqlite_number, _joined(lambda c: f"char({ord(c)})"), _doubled('"'), _sqlite_failing,
        "max", most_pieces=2000, quick_pieces=2000, least="MIN", greatest="MAX",
    ),
    "spark": Dialect(
        "Spark SQL", "DOUBLE", "STRING", lambda value: f"{value!r}D", _escaped, _doubled("`"),
        _error_call("raise_error", "DOUBLE", _escaped), "", most_pieces=40, quick_pieces=40,
    ),
    "bigquery": Dialect(
        "BigQuery", "FLOAT64", "STRING", _exponent, _escaped, _bigquery_name,
        _error_call("ERROR", "FLOAT64", _escaped), "range", run_by_tests=False,
        creates_in_transaction=False,
    ),
    "snowflake": Dialect(
        "Snowflake", "DOUBLE", "VARCHAR", _cast_text("DOUBLE"), _escaped, _doubled('"'), _snowflake_cast, "match",
        run_by_tests=False, creates_in_transaction=False,
    ),
    "mysql": Dialect(
        "MySQL", "DOUBLE", "CHAR", _exponent, _mysql_text, _doubled("`"), _mysql_failing, "max",
        most_pieces=40_000, quick_pieces=40_000,  # a join that finds a piece by its beginning reads half the table
        creates_in_transaction=False, begin="START TRANSACTION", names_values=False,
    ),
    "sqlserver": Dialect(
        "SQL Server", "float", "nvarchar(4000)", _exponent,
        _joined(lambda c: " + ".join(f"NCHAR({code})" for code in _utf16(c)), " + ", "N"),
        lambda name: f"[{name.replace(']', ']]')}]", _sql_server_failing, "apply", run_by_tests=False,
    ),
    "oracle": Dialect(
        "Oracle", "BINARY_DOUBLE", "VARCHAR2(4000)", _oracle_number,
        _joined(lambda c: f"UNISTR('{''.join(f'{chr(92)}{code:04X}' for code in _utf16(c))}')"),
        _oracle_name, _oracle_failing, "range", run_by_tests=False, begin="", named=" ", names_values=False,
    ),
}  # fmt: skip
